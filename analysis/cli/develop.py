"""The command that develops images."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .arguments import DatasetArg, LimitOption
from .terminal import FAILED, console, plural, processors, progress_bars, show, show_first

__all__ = ["COMMANDS"]


def develop(
    dataset: DatasetArg,
    isp: Annotated[
        str, typer.Option(metavar="NAME", help="A preset of night vision.")
    ] = "neutral-v1",
    denoiser: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="bm3d (licensed for non-commercial use), nlm or none, instead of the preset's.",
        ),
    ] = None,
    sensor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A sensor model. Default: colour, with the study's pixels."
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(metavar="VARIANT", help="camera or nv. Repeatable; both by default."),
    ] = None,
    bands: Annotated[
        str, typer.Option(metavar="BANDS", help="Of day, evening and night, or all.")
    ] = "evening,night",
    limit: LimitOption = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes. Default: one per processor, at most 8."),
    ] = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Make images anew, also those of other settings.")
    ] = False,
    preview: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only write a page that shows every stage of one image."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page. Default: develop/ID.html in the dataset."),
    ] = None,
) -> None:
    """Develop images: what the camera's sensor records, and night vision of it.

    Goes on where it was stopped; images that are there are not made again.

    Example: [bold]limen develop demo[/bold], [bold]limen develop demo --preview ID[/bold]
    """
    if preview is not None:
        from ..develop.preview import build_preview

        page = out or dataset / "develop" / f"{preview}.html"
        build_preview(dataset, preview, page, isp_name=isp, denoiser=denoiser, sensor=sensor)
        show(f"preview: {page}")
        return
    from ...addon.core.lighting import BANDS
    from ..develop.run import develop_dataset
    from ..develop.table import VARIANTS

    with progress_bars() as progress:
        summary = develop_dataset(
            dataset,
            isp=isp,
            denoiser=denoiser,
            sensor=sensor,
            variants=tuple(variant or VARIANTS),
            bands=BANDS if bands == "all" else tuple(bands.split(",")),
            limit=limit,
            workers=workers or min(8, processors()),
            redo=redo,
            progress=partial(progress, "developing"),
        )
    if summary.made or summary.failed:
        there = f", {summary.there:,} were there" if summary.there else ""
        text = f"{plural(summary.made, 'image')} made{there}"
    else:
        text = f"nothing to do, all {plural(summary.there, 'image')} are there"
    show(f"{text} -> {dataset / 'media'}")
    if summary.failed:
        console().print(f"[bold]{plural(len(summary.failed), 'view')} failed[/]")
        show_first(summary.failed, "view")
        raise typer.Exit(FAILED)


COMMANDS = (develop,)
