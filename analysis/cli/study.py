"""Commands on a study: render it and all that follows, export its grid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import LimitOption, StudyArg
from .dataset import check_and_show
from .evaluation import ask_and_show
from .report import report_and_show
from .terminal import FAILED, OK, WRONG_USE, duration, fail, plural, say, show, size

__all__ = ["COMMANDS"]


def run(
    study: StudyArg,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the dataset goes.")],
    limit: LimitOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before rendering.")] = False,
    assets: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where licensed bodies lie.")
    ] = None,
    blender: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Render with this Blender, not with the bpy wheel."),
    ] = None,
) -> None:
    """Render a study, check it, evaluate the built-in models and write a report.

    Says beforehand what it costs. Stopped at any time, the same command goes on.

    Example: [bold]limen run demo --out demo --limit 12[/bold]
    """
    from ...addon.core.study import load_study
    from .. import run as runs

    study_file = runs.find_study(study)
    runs.check_output(out, load_study(study_file))
    command = runs.render_command(study_file, out, limit, assets, blender)
    say("Estimating ...")
    cost = runs.estimate(command)
    if cost.done:
        say(f"{plural(cost.done, 'view')} {'is' if cost.done == 1 else 'are'} done already.")
    status = runs.DONE
    if cost.views:
        say(
            f"{plural(cost.views, 'view')}, {plural(cost.images, 'image')}, "
            f"{plural(cost.plates, 'background')}: about {duration(cost.seconds)} and "
            f"{size(cost.bytes)} in {out}"
        )
        runs.check_space(out, cost)
        _confirm(yes)
        status = runs.render(command)
    if status not in (runs.DONE, runs.PARTLY):
        raise typer.Exit(status)
    if status == runs.PARTLY:
        say(
            f"Some views of {study_file.name} are missing in {out} (its log.jsonl says why). "
            "The same command renders them; going on with what is there."
        )
    sound = check_and_show(out, quick=False, complete=False)
    answered = ask_and_show(out, ["hog", "always-yes", "always-no"], "presence", "clean", None)
    report_and_show(out, None)
    if status == runs.PARTLY:
        raise typer.Exit(status)
    if not (sound and answered):
        raise typer.Exit(FAILED)


def grid(
    study: StudyArg,
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .csv or .jsonl file.")],
) -> None:
    """Export the factor grid of a study: every view that it draws, with its factors.

    Example: [bold]limen grid demo --out grid.csv[/bold]
    """
    from ...addon.core.factors import export_grid, poses_by_action
    from ...addon.core.poses import load_poses
    from ...addon.core.study import load_study
    from ..run import find_study

    if out.suffix not in (".csv", ".jsonl"):
        raise typer.BadParameter(f"{out.name}: a grid is written as .csv or .jsonl")
    loaded = load_study(find_study(study))
    actions = {name: pose.action for name, pose in load_poses().items()}
    export_grid(loaded, poses_by_action(loaded, actions), out)
    show(str(out))


def _confirm(yes: bool) -> None:
    import sys

    if yes:
        return
    if not sys.stdin.isatty():
        fail("there is no terminal to ask: --yes renders without asking", WRONG_USE)
    if not typer.confirm("Go on?", default=True):
        raise typer.Exit(OK)


COMMANDS = (run, grid)
