"""What ``up --kcp`` adds: a kcp, a provider's workspace with our export, a customer's bound to it.

The kcp is our double (:mod:`privatellm_local.kcp`) in front of an API server of its own. The sync agent is
a pod of the cluster with the rights that its guide names. What is made here is made as a provider and a
customer would make it, so the customer's kubeconfig shows what a customer of a real kcp has.
"""
