"""The model server of the embedded environment: llama.cpp's HTTP server, however it is installed.

In a cluster the container image brings `llama-server`. On a laptop the host node runs
`python -m privatellm_local.modelserver` with the very same arguments. A `llama-server` found on
the search path replaces this process and is the judge of its own arguments; without one, PyPI's
`xllamacpp` (the same C++ server, compiled into a wheel) serves in this process.

What it deliberately does not do: it never serves the web UI or the slots endpoint, whatever the
arguments say; it does not restart, supervise or download anything (the host node and the fetcher
do); and it does not know Kubernetes.

Modules: `arguments` (what may be asked for), `parameters` (how xllamacpp is told), `drain` (when a
stopping server may go), `launcher` (the order of events), `errors`.
"""
