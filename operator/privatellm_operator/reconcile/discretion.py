"""What customers may read of words that an API server or a node wrote.

A status travels: through kcp it goes up into workspaces whose owners know neither this cluster, nor what
their namespace is called in it, nor under which account we work. So what names those is left out, and the
rest of a sentence stays, because it often says what to do. The log keeps every word.
"""

import re

_REQUEST = re.compile(r"\b[A-Z]+ (https?://[^/\s]+)?/apis?/\S* failed: ")
"""How our own client begins: the request, with its path."""

_USER = re.compile(r'\bUser "[^"]*"')
_ACCOUNT = re.compile(r"\bsystem:[\w:.-]*\w")


def for_customers(text: str, namespace: str) -> str:
    """Return a text without requests, accounts and the name of the namespace.

    Args:
        text: What a server or a node said, alone or in a sentence of ours.
        namespace: The namespace of the object that the text is about.
    """
    name = re.escape(namespace)
    text = _REQUEST.sub("", text)
    text = _USER.sub("the operator", text)
    text = _ACCOUNT.sub("an account of the platform", text)
    text = re.sub(rf"\b(the )?namespaces? ([\"']?){name}\2(?!\.?[\w-])", "this namespace", text)
    return re.sub(rf"(?<![\w./-]){name}/", "", text)
