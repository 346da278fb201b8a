"""The portal content server: one JSON document over HTTP, for the portal of a Platform Mesh.

It is a process of its own with no right in any cluster and no credential: it reads one file, which the
chart wrote, and answers with it. It never writes, fetches or renders anything.
"""
