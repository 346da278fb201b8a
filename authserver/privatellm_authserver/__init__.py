"""The ForwardAuth service: may this request reach that model server?

Traefik asks before it forwards anything. The path of one question, in the order of the modules:
``asgi`` receives it, ``headers`` turns it into facts, ``decision`` judges them against ``index``,
``answers`` holds the replies, ``metrics`` and ``audit`` take note. ``feed`` keeps the index equal to the
verifiers in the token namespace. ``worker`` is one process of that; ``supervisor`` starts several and
collects their ``reports``, which ``admin`` serves on a port of its own.

The service reads one namespace's verifiers and nothing else, writes nothing, and knows no token.
"""
