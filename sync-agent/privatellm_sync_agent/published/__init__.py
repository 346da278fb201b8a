"""``PublishedResource``: what a provider asks us to publish, with upstream's fields and meanings."""
