"""One pass over an LLMInstance: gather, decide, apply, report.

Children go by their ownerReferences; the finalizer exists only so that no key outlives the instance. A
spec that is not accepted changes nothing that runs already.
"""
