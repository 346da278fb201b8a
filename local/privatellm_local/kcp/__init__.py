"""A kcp double: many workspaces in front of one real kube-apiserver.

Resource versions, watches, bookmarks, chunking, optimistic locks, finalizers, defaulting, CEL and
server-side apply are the API server's own. This front adds what makes it kcp: workspaces and logical
clusters, APIExports, APIBindings and endpoint slices, permission claims, the virtual workspace of an export
with its wildcard, and its refusals. A fault port cuts, delays and refuses, so that a client can be tested
against what goes wrong.

How it stores: an object of namespace ``n`` in cluster ``c`` lives in the namespace ``w-<c>-<hash of n>``;
one without a namespace is called ``<c>.<name>``; a label carries the cluster. One wildcard list is so one
list of the API server behind it, as in kcp.

What it is not: no shards, no RBAC inside workspaces, no admission of kcp's, and one schema for a group and
resource in the whole server. kcp allows one for each identity; here a second one is refused in the
conditions of its binding.
"""
