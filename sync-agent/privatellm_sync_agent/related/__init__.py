"""Objects that travel with the published one: which they are, and what may be copied of them."""
