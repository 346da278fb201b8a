"""Look at an installation and say what is missing or unsafe, and what to do.

Three parts: ``gathering`` reads (whatever may not be read is left out and named), the ``checks`` judge the
facts and are pure, ``report`` shows. Nothing is changed, and nothing is guessed: what cannot be seen with
the rights of this user is reported as unknown and not as healthy.

What is deliberately not done: models are not downloaded and their hubs not asked, because it is the nodes
that must reach them and not this machine.
"""
