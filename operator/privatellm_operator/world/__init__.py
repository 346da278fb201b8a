"""The operator's picture of the cluster: what is watched, what was last seen of it, how it stays true."""
