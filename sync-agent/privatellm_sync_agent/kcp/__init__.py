"""Where the agent is at home in kcp: the workspace of its export, the export, and its endpoints."""
