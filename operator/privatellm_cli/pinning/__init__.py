"""Pin a model to the bytes that its hub has now: the hub is asked, and what is declared is compared.

``hub`` asks, ``answers`` reads what the hub says, ``models`` reads and changes manifests; only ``hub`` does
anything but think. Nothing is downloaded: the hub knows the digest of every large file. It is the hub's
word; whoever wants the publisher's compares the digest with the one that the publisher tells.
"""
