"""Command lines of the control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.

Pure functions from addresses and paths to what the supervisor runs. Each remedy for running without
root, on loopback and beside strangers is written at the flag that is the remedy.
"""
