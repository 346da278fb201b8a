"""The fetcher: brings one model file to one place, verified, and says in words why when it cannot.

It runs as the init container ``fetch-model`` of an instance, and as the container of the Job that
fills a shared cache. It is a command with arguments and no shell; everything it learns leaves
through its exit code, its log lines and the last line of its log (see :mod:`.errors`).

The path of a request: ``arguments`` parse the command line into a frozen ``request``; ``fetch`` is
the recipe (look, lock, obtain, verify, publish); ``local`` and ``download`` obtain; ``storage``
and ``marker`` own the files; ``resume`` and ``retry`` are pure decisions; ``client``, ``transport``
and ``addresses`` keep the network within the platform's rules; ``progress`` reports.

What it deliberately does not do: it trusts no cache without a digest or a record of its own, it
follows no redirect into a private network, it gives credentials to no host but the configured
one, it uses no proxy from the environment (a proxy would resolve names out of our sight; platforms
without direct access configure a mirror), and it never removes a file that it did not make.
"""
