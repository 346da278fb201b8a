"""The sync agent: mirrors objects of kcp workspaces into a service cluster, and what became of them back.

A provider publishes kinds of its service cluster with ``PublishedResource`` objects. The agent makes them
an APIExport; customers bind it in their workspaces. Each object a customer creates gets a copy in the
service cluster; status and related objects (a Secret with a key) travel back.

Rooms, from pure to busy: ``templates`` (the Go-template subset), ``published`` (what a provider may ask
for), ``naming``, ``projection``, ``mutation``, ``objects`` (metadata, merging, ownership), ``related``;
then ``engine`` (informer, queue, the ladder for one object), ``kcp`` (exports, schemas, endpoints) and
``main``.

What it never does: take an absence for a deletion, overwrite an object it does not own, keep a secret
value in its state, or delete a schema or an export entry.
"""
