"""The edge: a real Traefik that serves Ingresses of the class ``traefik`` on loopback.

Configuration is one file made by a pure function, and every option in it is there for a reason written
beside it. The edge's user may read what Traefik has to read and write nothing.
"""
