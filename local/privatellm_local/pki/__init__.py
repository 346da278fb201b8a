"""Certificates, keys and kubeconfigs of one environment.

Three authorities that do not trust each other: the cluster's, etcd's (so that no cluster certificate
opens the database) and the front proxy's (whose clients may speak for others). What certificates exist
is data (:mod:`~privatellm_local.pki.inventory`); making and renewing them is
:mod:`~privatellm_local.pki.store`. Keys never leave the state directory and are 0600.

There is no revocation: an environment whose keys leaked is purged and made again.
"""
