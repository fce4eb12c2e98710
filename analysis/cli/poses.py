"""Commands on the pose library: list it, take poses from motions, select them from BABEL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .terminal import FAILED, console, plural, progress_bars, say, show, visible

if TYPE_CHECKING:
    from ...addon.core.poses import Pose

__all__ = ["GROUP"]

GROUP = typer.Typer(
    name="poses",
    help="List poses, take them from recorded movements, select them from BABEL.",
    no_args_is_help=True,
)


@GROUP.command("list")
def list_poses(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Default: the poses that Limen brings.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw each from two sides, a .png.")
    ] = None,
) -> None:
    """List a pose library: actions, poses, where they come from.

    Example: [bold]limen poses list --sheet poses.png[/bold]
    """
    from rich.markup import escape
    from rich.table import Table

    from ...addon.core.poses import actions, load_poses

    if sheet and sheet.suffix.lower() != ".png":
        raise typer.BadParameter(f"{sheet.name}: a sheet is written as .png")
    library = load_poses(directory)
    table = Table("action", "poses", "licence", "source", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for action, poses in actions(library).items():
        licences = ", ".join(sorted({pose.licence for pose in poses}))
        sources = sorted({pose.source for pose in poses})
        source = sources[0] if len(sources) == 1 else f"{len(sources)} sources"
        cells = (visible(text) for text in (action, f"{len(poses)}", licences, source))
        table.add_row(*map(escape, cells))
    console().print(table)
    if sheet:
        _draw(list(library.values()), sheet)


@GROUP.command("import")
def import_pose(
    motion: Annotated[
        Path, typer.Argument(metavar="MOTION", help="AMASS .npz, .bvh or DeepMimic .txt.")
    ],
    action: Annotated[str, typer.Option(metavar="NAME", help="The action it shows.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="ACTION.toml goes here.")],
    at: Annotated[
        list[float] | None,
        typer.Option(metavar="SECONDS", help="The moments. Repeatable; default: the best one."),
    ] = None,
    licence: Annotated[
        str, typer.Option(metavar="SPDX", help="The motion's licence.")
    ] = "LicenseRef-unknown",
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw each from two sides, a .png.")
    ] = None,
) -> None:
    """Keep moments of a recorded movement as poses of an action.

    Example: [bold]limen poses import run.bvh --action running --at 0.4 --at 0.9 --out poses[/bold]
    """
    from ..motion.take import take_poses

    if sheet and sheet.suffix.lower() != ".png":
        raise typer.BadParameter(f"{sheet.name}: a sheet is written as .png")
    poses = take_poses(motion, action, tuple(at or ()), licence, out)
    show(f"{plural(len(poses), 'pose')} of {action} -> {out / f'{action}.toml'}")
    if sheet:
        _draw(poses, sheet)


@GROUP.command()
def select(
    babel: Annotated[Path, typer.Option(metavar="DIR", help="BABEL's .json files.")],
    amass: Annotated[Path, typer.Option(metavar="DIR", help="AMASS's motions, in any folders.")],
    actions: Annotated[Path, typer.Option(metavar="FILE", help="What is wanted: docs/poses.md.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Pose files and all reasons go here.")],
    judge: Annotated[
        str, typer.Option(metavar="MODEL", help="openai:NAME or hf:ORG/NAME scores the texts.")
    ],
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server.")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The judge's prompt, instead of Limen's.")
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A sentence-transformers model for the shortlist."),
    ] = None,
    shortlist: Annotated[
        int, typer.Option(min=1, metavar="N", help="Texts of an action that the judge sees.")
    ] = 100,
    threshold: Annotated[
        int, typer.Option(min=0, max=10, metavar="N", help="Least score that is taken.")
    ] = 7,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw each from two sides, a .png.")
    ] = None,
) -> None:
    """Select poses of wanted actions from BABEL's texts and AMASS's motions.

    Texts near to an action's description are scored by a language model; of the best segments one
    frame each becomes a pose. Scores are kept as they come: stopped, the same command goes on and
    asks nothing twice.

    Example: [bold]limen poses select --babel babel --amass amass --actions actions.toml
    --judge openai:qwen3 --base-url http://127.0.0.1:8000/v1 --out poses[/bold]
    """
    from ..embedding import OFFLINE_EMBEDDER, load_embedder
    from ..motion.babel import MotionIndex, read_babel
    from ..motion.judge import DEFAULT_PROMPT, make_judge, read_prompt
    from ..motion.select import read_actions, select_poses

    wanted = read_actions(actions)
    text = read_prompt(prompt or DEFAULT_PROMPT)
    motions = MotionIndex(amass)
    segments = read_babel(babel)
    ask = make_judge(judge, base_url)
    embed = load_embedder(embedder or OFFLINE_EMBEDDER)
    with progress_bars() as progress:
        found = select_poses(
            segments,
            motions,
            wanted,
            embed,
            ask,
            judge,
            text,
            out,
            shortlisted=shortlist,
            threshold=threshold,
            progress=progress,
        )
    if found.missing:
        say(f"{plural(len(found.missing), 'motion')} that BABEL names: not in {amass}")
    short = []
    for action in wanted:
        count = len(found.poses[action.name])
        show(f"{action.name}: {count} of {plural(action.poses, 'pose')}")
        if not count:
            short.append(action.name)
    show(f"poses, scores and reasons -> {out}")
    if sheet:
        _draw([pose for its in found.poses.values() for pose in its], sheet)
    if short:
        say(f"No pose of {', '.join(short)}: {out / 'selection.jsonl'} says why for each text.")
        raise typer.Exit(FAILED)


def _draw(poses: Sequence[Pose], path: Path) -> None:
    from ...addon.core.assets import find_body
    from ...addon.core.study import Subject
    from ..motion.sheet import draw_sheet

    if poses:
        draw_sheet(poses, find_body(Subject(name="sheet"), None), path)
        show(f"sheet: {path}")
