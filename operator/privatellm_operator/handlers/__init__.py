"""The border to the events: a change becomes keys in the queue, and nothing else happens here.

Of kopf only ``on.event`` is used, because every other handler of it writes annotations or finalizers to
users' objects. kopf never retries it either, so a handler must not be able to fail: it takes note and
enqueues. What comes of parents is followed by watches of our own: it makes most of the events, for each of
which kopf does more than we need, and Secrets and middlewares may be read in few namespaces only.
"""
