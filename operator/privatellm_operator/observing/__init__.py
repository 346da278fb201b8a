"""Watching ourselves work: figures of objects, fetches that ended, passes as traces and as log lines.

Nothing here decides or writes anything in the cluster, and no pass waits for it.
"""
