"""What leaves this repository at a release: images, charts and the component that holds them all together.

``python -m privatellm_local.packaging.delivery`` writes the component's constructor, and a new version into
every place that has one. Nothing here reaches a registry; that is the workflow's part
(``.github/workflows/release.yml``).
"""
