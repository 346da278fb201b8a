"""The border to kopf: events become keys in the queue, and nothing else happens here.

Only ``on.event`` is used, because every other handler of kopf writes annotations or finalizers to users'
objects. kopf never retries it either, so a handler must not be able to fail: it takes note and enqueues.
"""
