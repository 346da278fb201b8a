"""Reference pages that are made from the code: ``python -m privatellm_operator.reference DIRECTORY``.

The texts are the docstrings under each setting and each reason, so that who changes one sees the sentence
that people will read. A test compares the pages with what would be made now.
"""

from privatellm_operator.reference.conditions import conditions_page
from privatellm_operator.reference.settings import settings_page

PAGES = {
    "conditions.md": conditions_page,
    "operator-settings.md": settings_page,
}
"""Each page's maker, by its file's name."""
