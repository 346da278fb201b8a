"""What a kind of the service cluster looks like in kcp: renamed, narrowed, and turned into a schema."""
