"""Passes over models: what was recorded of them, who fetches them for the platform, and who keeps them.

A model's weights are fetched in three places, and only one is believed: a Job of the platform in the
operator's own namespace. Its report is recorded as the model's digest (``status.sha256``), to which every
later fetch is held. Nothing that comes out of a tenant's namespace is ever recorded.
"""
