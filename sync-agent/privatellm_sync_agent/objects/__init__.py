"""What can be said about one object without asking anybody: metadata, ownership, merging, selectors."""
