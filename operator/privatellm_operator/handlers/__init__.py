"""The border to the events: a change becomes keys in the queue, and nothing else happens here.

Of kopf only ``on.event`` is used, because every other handler of it writes annotations or finalizers to
users' objects. kopf never retries it either, so a handler must not be able to fail: it takes note and
enqueues. Secrets and middlewares, which may be read in few namespaces only, come from watches of our own.
"""
