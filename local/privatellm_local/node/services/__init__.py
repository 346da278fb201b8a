"""Cluster IPs: listeners in front of the ready pods of each Service."""
