"""What kcp does by itself: small level-triggered sweeps over the registry, one file a concern."""
