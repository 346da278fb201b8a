"""Every metric of every part, by name: what programs expose, dashboards draw and alerts ask for.

A metric is declared here once, with its type, its labels and a sentence. The programs build what they
expose from these values, the reference page is written from them, and tests compare dashboards, alerts and
what the programs really show with them. Nothing here needs a metrics library, so everybody may read it.

Labels are bounded: a label either has values that are written in the code, or one value for each object
of a kind, and then its series vanish with the object. No label holds a key or its
id, what a request asked for, or who sent it.
"""

from privatellm.telemetry.families import authserver, operator, sync_agent
from privatellm.telemetry.families.family import Family, FamilyType, Label, Part, families_of

PARTS = (
    Part("Operator", "port `metrics` (8080)", families_of(operator)),
    Part("ForwardAuth service", "port `admin` (8091)", families_of(authserver)),
    Part("Sync agent", "port `metrics` (8085)", families_of(sync_agent)),
)
"""What each part exposes at ``/metrics``."""

__all__ = ["PARTS", "Family", "FamilyType", "Label", "Part"]
