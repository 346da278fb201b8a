"""How Sphinx makes the documentation a web site: ``make docs`` writes it to ``build/site``.

The pages are Markdown that reads well without Sphinx too. The site is built and read without a network: no
font, script or picture comes from elsewhere, which ``tests/contract/docs`` checks. It does not import our
packages; what is made from the code is made by ``make crds`` and committed.
"""

from importlib import metadata

project = "Private LLM"
author = "The Private LLM maintainers"
copyright = "The Private LLM maintainers, Apache License 2.0"  # noqa: A001 - Sphinx' name
release = metadata.version("private-llm")

extensions = ["myst_parser"]
exclude_patterns = ["examples/**/README.md", "examples/javascript/node_modules"]

myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # Templates and logs are no language.

html_theme = "furo"
html_title = "Private LLM"
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
