"""The command that develops images."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import DatasetArg, LimitOption
from .terminal import FAILED, console, plural, processors, progress_bars, show, show_first

if TYPE_CHECKING:
    from ..develop.compression import Compression

__all__ = ["COMMANDS"]


def _motion(text: str) -> tuple[float, float]:
    try:
        right, down = map(float, text.split(","))
    except ValueError:
        raise typer.BadParameter(
            f"'{text}' is no motion: pixels a second to the right and down are, as in 200,0"
        ) from None
    return right, down


def develop(
    dataset: DatasetArg,
    isp: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="A preset of night vision, or a TOML file.")
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
            metavar="NAME|FILE", help="A sensor model. Default: colour, with the study's pixels."
        ),
    ] = None,
    lens: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Bend images, masks and joints: barrel-mild, barrel-wide, pincushion-mild or a "
            "TOML file.",
        ),
    ] = None,
    motion: Annotated[
        Any,
        typer.Option(
            metavar="RIGHT,DOWN",
            parser=_motion,
            help="Blur as of a turning camera, in pixels a second.",
        ),
    ] = None,
    jpeg: Annotated[
        int | None,
        typer.Option(min=1, max=100, metavar="QUALITY", help="Compress the images as JPEG."),
    ] = None,
    video: Annotated[
        int | None,
        typer.Option(
            min=0, max=51, metavar="CRF", help="Compress them as key frames of an H.264 video."
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
        typer.Option(
            min=1, max=256, metavar="N", help="Processes. Default: one per processor, at most 8."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="local, or ray: a cluster's nodes share the work.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Of a running Ray cluster. Default: one started here."
        ),
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

    Example: [bold]limen develop demo[/bold], [bold]limen develop demo --lens barrel-wide --jpeg
    60[/bold], [bold]limen develop demo --preview ID[/bold]
    """
    optics: dict[str, Any] = {"lens": lens, "motion_px_s": motion}
    optics["compression"] = _compression(jpeg, video)
    if preview is not None:
        from ..develop.preview import build_preview

        page = out or dataset / "develop" / f"{preview}.html"
        build_preview(
            dataset, preview, page, isp_name=isp, denoiser=denoiser, sensor=sensor, **optics
        )
        show(f"preview: {page}")
        return
    if out is not None:
        raise typer.BadParameter("--out names the page of --preview; images go to the dataset")
    from ...addon.core.lighting import BANDS
    from ..develop.run import develop_dataset
    from ..develop.table import VARIANTS

    with progress_bars() as progress:
        summary = develop_dataset(
            dataset,
            isp=isp,
            denoiser=denoiser,
            sensor=sensor,
            **optics,
            variants=tuple(variant or VARIANTS),
            bands=BANDS if bands == "all" else tuple(band.strip() for band in bands.split(",")),
            limit=limit,
            workers=workers or min(8, processors()),
            engine=engine,
            address=address,
            redo=redo,
            progress=partial(progress, "developing"),
        )
    if summary.made or summary.failed:
        there = f", {summary.there:,} were there" if summary.there else ""
        text = f"{plural(summary.made, 'image')} made{there}"
    else:
        text = f"nothing to do, all {plural(summary.there, 'image')} are there"
    show(f"{text} -> {dataset / 'media'}")
    if summary.missing_share:
        show(
            f"the lens shows more than was rendered: up to {summary.missing_share:.1%} of an "
            "image, at its border, is dark"
        )
    if summary.failed:
        console().print(f"[bold]{plural(len(summary.failed), 'view')} failed[/]")
        show_first(summary.failed, "view")
        show(
            f"rendering again makes files that are missing: delete damaged ones (limen check "
            f"{dataset} lists them), render, and repeat this command"
        )
        raise typer.Exit(FAILED)


def _compression(jpeg: int | None, video: int | None) -> Compression | None:
    from ..develop.compression import Compression

    if jpeg is not None and video is not None:
        raise typer.BadParameter("--jpeg and --video: an image is compressed once, choose one")
    if jpeg is not None:
        return Compression("jpeg", jpeg)
    return Compression("h264", video) if video is not None else None


COMMANDS = (develop,)
