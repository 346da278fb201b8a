"""Errors of the command line itself; the cluster's are the kernel's.

::

    PrivateLLMError
    ├── UsageError           options that do not go together
    ├── NoClusterError       no kubeconfig that can be used
    ├── HubError             a model hub refused, did not answer, or has other bytes
    ├── EndpointError        an instance's endpoint refused, or did not answer
    ├── UnreachedError       what was waited for will not come about by itself
    └── OverdueError         what was waited for did not come about in time

Every message is one line for a person at a terminal: what is wrong, what we got, what to do.
"""

from privatellm.errors import PrivateLLMError


class UsageError(PrivateLLMError):
    """The options do not go together."""


class NoClusterError(PrivateLLMError):
    """No cluster is named, or its kubeconfig cannot be used."""


class EndpointError(PrivateLLMError):
    """The endpoint of an instance refused a request or did not answer it."""


class HubError(PrivateLLMError):
    """A model hub does not say what was asked, or says something else than was declared."""


class UnreachedError(PrivateLLMError):
    """What was waited for will not come about unless somebody acts."""


class OverdueError(PrivateLLMError):
    """What was waited for did not come about in the time it was given."""
