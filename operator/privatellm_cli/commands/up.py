"""``privatellm up``: bring the embedded environment up."""

from typing import Annotated

import typer

from privatellm_cli.display import progress_for
from privatellm_cli.errors import UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption
from privatellm_cli.running import InterruptedByUserError, run
from privatellm_local.addresses import HIGHEST_EDGE_PORT, LOWEST_EDGE_PORT
from privatellm_local.paths import cache_paths, state_paths


def up(
    state: StateOption = None,
    *,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return when everything is ready; keep it running.")
    ] = False,
    no_demo: Annotated[
        bool, typer.Option("--no-demo", help="Do not order the demo's private LLM.")
    ] = False,
    no_platform: Annotated[
        bool,
        typer.Option(
            "--no-platform",
            help="Leave out operator, ForwardAuth service and catalogue, to install them with Helm.",
        ),
    ] = False,
    kcp: Annotated[
        bool,
        typer.Option(
            "--kcp",
            help="Run a kcp too, with a customer's workspace that private LLMs are ordered in. Stays.",
        ),
    ] = False,
    edge_port: Annotated[
        int | None,
        typer.Option(
            "--edge-port",
            metavar="N",
            min=LOWEST_EDGE_PORT,
            max=HIGHEST_EDGE_PORT,
            help="Port of the edge on 127.0.0.1 (default: chosen from the state directory).",
            show_default=False,
        ),
    ] = None,
) -> ExitCode:
    """Start Kubernetes, edge, node and platform on this machine.

    The control plane is a real one. Without --detach the command stays, and Ctrl-C stops everything.
    """
    if kcp and no_platform:
        raise UsageError("Workspaces need the platform: leave out --kcp or --no-platform.")
    # Needs the `local` extra, which a customer's command line does without.
    from privatellm_cli.starting import bring_up  # noqa: PLC0415
    from privatellm_local.steps import Options  # noqa: PLC0415

    options = Options(
        paths=state_paths(state),
        cache=cache_paths(),
        edge_port=edge_port,
        demo=not no_demo,
        platform=not no_platform,
        kcp=kcp,
        attached=not detach,
    )
    progress = progress_for()
    try:
        run(bring_up(options, progress))
    except InterruptedByUserError as error:
        raise InterruptedByUserError("Interrupted; run it again to go on.") from error
    finally:
        progress.close()
    return ExitCode.OK
