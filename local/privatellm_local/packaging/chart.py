"""What one chart is generated from: its name, the type of its values, and the page that lists them."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from privatellm_local.packaging.value_types import Group
from privatellm_local.packaging.values import Values


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart whose values are a type.

    Attributes:
        name: Name of the chart and of its folder.
        values: The type of its values; every member has a default.
        source: Module of that type, for the headers of generated files.
        page: Name of the reference page below ``docs/reference``.
        guide: Sentence with a link for who wants to install it.
    """

    name: str
    values: type[Group]
    source: str
    page: str
    guide: str

    @property
    def directory(self) -> PurePosixPath:
        """Its folder in the repository."""
        return PurePosixPath("charts") / self.name


OPERATOR = Chart(
    name="private-llm-operator",
    values=Values,
    source="values.py",
    page="chart-values.md",
    guide=("[Install with Helm](../how-to/helm-install.md) says how to install\nand upgrade."),
)
