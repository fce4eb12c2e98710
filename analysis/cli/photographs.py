"""The command that makes a dataset of your own pictures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .terminal import FAILED, console, plural, progress_bars, show, show_first

__all__ = ["NAMED"]


def import_pictures(
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="A folder, or a COCO annotations file.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The dataset: a new directory.")],
    form: Annotated[str, typer.Option("--from", metavar="FORM", help="folder or coco.")] = "folder",
    band: Annotated[
        str | None,
        typer.Option(
            metavar="BAND", help="day, evening or night, for pictures that no table tells it of."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help="person or empty: what pictures show that no folder, mask or table tells it of.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A CSV file: file, and any of person, band, action, scenery, subject, distance_m, "
            "px_per_m, illuminance_lx, azimuth_deg, elevation_deg.",
        ),
    ] = None,
) -> None:
    """Make a dataset of photographs, so that they are checked, developed, asked about, reported.

    Pictures lie in folders person/ and empty/, have masks in masks/, or COCO annotations. Stopped
    at any time, the same command goes on.

    Example: [bold]limen import --from folder photos photos-dataset --band night[/bold]
    """
    from ..photographs import Defaults, import_photographs

    if target not in (None, "person", "empty"):
        raise typer.BadParameter(f"--target is '{target}': person or empty is allowed")
    person = None if target is None else target == "person"
    with progress_bars() as progress:
        summary = import_photographs(
            form,
            source,
            out,
            defaults=Defaults(band, person),
            table=table,
            progress=partial(progress, "importing"),
        )
    there = f", {summary.there:,} were there" if summary.there else ""
    show(f"{plural(summary.made, 'photograph')} imported{there} -> {out}")
    show(f"next: limen check {out}, limen evaluate {out} --model hog --variant clean")
    if summary.failed:
        console().print(f"[bold]{plural(len(summary.failed), 'picture')} failed[/]")
        show_first(summary.failed, "picture")
        raise typer.Exit(FAILED)


NAMED = {"import": import_pictures}
