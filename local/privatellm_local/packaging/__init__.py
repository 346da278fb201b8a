"""What the Helm chart takes from Python types, written by one command.

``python -m privatellm_local.packaging`` writes the chart's ``values.yaml`` and ``values.schema.json``, the
files that its templates read (CRDs, catalogue, admission policies, Traefik's definitions) and the reference
page of the values. A test compares, so none of them is edited by hand.

The templates themselves are not generated: they are the chart, and people read them.
"""
