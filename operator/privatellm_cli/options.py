"""Options that several subcommands share."""

from pathlib import Path
from typing import Annotated

import typer

StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        help="State directory of the environment (default: private-llm below XDG_STATE_HOME).",
        show_default=False,
    ),
]
