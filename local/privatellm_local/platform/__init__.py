"""Our own parts as an embedded environment runs them: the same objects a cluster would run.

Operator and ForwardAuth service are Deployments with service accounts and real RBAC; only values are
particular to this environment (addresses, image names, the catalogue). Builders are pure, one concern
a file; :mod:`privatellm_local.platform.install` is the only one that writes to the API server.
"""
