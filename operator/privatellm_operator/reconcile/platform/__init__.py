"""Passes over what all instances share: the middlewares and the catalogue."""
