"""The supervisor: one background process that owns every other process of an environment.

It starts components in order of their dependencies, calls a component ready only when its probe says
so, restarts what crashes, and stops everything in reverse order. What it shall run is a file; what it
runs is another file; ``SIGHUP`` makes it read the first again and ``SIGTERM`` makes it stop. There is
no other channel, so there is nothing to authenticate and nothing to time out.

It deliberately knows nothing about Kubernetes, and it does not restart itself: when it dies, by
whatever signal, the kernel kills its children with it, and the next ``up`` starts from the files.
"""
