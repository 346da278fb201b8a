"""Names of local copies: rendered from the provider's rules, checked, and never shortened silently."""
