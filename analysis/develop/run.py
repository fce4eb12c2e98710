"""Develop a dataset: what its camera recorded (``camera``) and night vision of it (``nv``).

Images are composed from the light stack, exposed by a sensor model and written to ``media/``; the
table ``develop/PART.jsonl`` has a row for each, appended and fsynced after the file is whole. A
killed run goes on where it stopped, a finished one does nothing when it is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...addon.core.dataset import Dataset, exclusive, open_dataset
from ...addon.core.lighting import BANDS, Lighting
from ...addon.core.study import Study, load_study
from ..contract import is_photographs, rows_blamed
from ..workers import in_processes
from .compression import Compression, require_codec
from .denoise import require_denoiser
from .farm import require_cluster, worked_by_ray
from .photographs import photographic_study, photographic_variants
from .settings import DevelopChoiceError, DevelopError, Settings, choose_settings, known
from .table import VARIANTS, drop_rows, is_there, read_develop, write_rows
from .view import Job, develop_view, lens_resampling, load_stack, metered_raw

__all__ = [
    "DEFAULT_BANDS",
    "ENGINES",
    "DevelopChoiceError",
    "DevelopError",
    "DevelopSummary",
    "Settings",
    "choose_settings",
    "develop_dataset",
    "load_stack",
    "metered_raw",
]

DEFAULT_BANDS = ("evening", "night")
"""Those that the published benchmark develops."""

ENGINES = ("local", "ray")
"""Where work is done: processes of this machine, or a Ray cluster."""

Row = dict[str, Any]
Finished = Generator[tuple[list[Row], str | None], None, None]


@dataclass(frozen=True)
class DevelopSummary:
    """What a call of :func:`develop_dataset` did.

    Attributes:
        made: Images that this call made.
        there: Images that were there already.
        failed: A message for each view that could not be developed.
        missing_share: Most of an image that the lens shows beyond what was rendered, and is dark.
    """

    made: int
    there: int
    failed: tuple[str, ...]
    missing_share: float = 0.0


def develop_dataset(
    root: Path,
    *,
    isp: str = "neutral-v1",
    denoiser: str | None = None,
    sensor: str | None = None,
    lens: str | None = None,
    motion_px_s: tuple[float, float] | None = None,
    compression: Compression | None = None,
    variants: Sequence[str] = VARIANTS,
    bands: Sequence[str] = DEFAULT_BANDS,
    limit: int | None = None,
    workers: int = 1,
    engine: str = "local",
    address: str | None = None,
    redo: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> DevelopSummary:
    """Develop every image that is not there yet.

    An image depends on (study seed, media id) and the settings alone: not on the order, the number
    of workers, the engine or what was developed before.

    Args:
        root: The dataset.
        isp: A preset of ``isp_presets.toml``, or a TOML file with one.
        denoiser: Instead of the preset's.
        sensor: A model of ``sensors.toml``, or a TOML file with one; None for the colour sensor
            with the study's pixels.
        lens: A lens of ``lenses.toml``, or a TOML file with one; None for none.
        motion_px_s: (right, down) speed of the image in pixels a second, as of a turning camera.
        compression: What the 8-bit images go through.
        variants: Of ``camera`` and ``nv``.
        bands: Media items of these bands only.
        limit: Only the first so many views, in the order of ``view_id`` (which is random).
        workers: Processes, each with a view of its own; 1 works in this process. A script that
            asks for more needs ``if __name__ == "__main__":``, as they are spawned.
        engine: ``local``, or ``ray`` for a cluster; see :mod:`.farm`.
        address: Of a running Ray cluster; None starts one on this machine for the run.
        redo: Forget the images of these variants that are there, of whatever settings.
        progress: Told (images there, images in all) at the start and after each view.

    Raises:
        DevelopChoiceError: There is no such preset, denoiser, sensor, lens, variant, band or
            engine.
        IspPresetError, SensorError, LensError: A file of presets holds a wrong value.
        CompressionError: The codec takes no images of this size.
        DevelopError: There is nothing to develop, images of other settings are there, or the
            cluster failed.
        DatasetError: ``root`` is no dataset, a table or a row of it is damaged, or another
            process develops it.
        DenoiserMissingError, CodecMissingError, RayMissingError: A package is not installed.
    """
    for names, of_these, what in (
        (variants, VARIANTS, "variant"),
        (bands, BANDS, "band"),
        ((engine,), ENGINES, "engine"),
    ):
        for name in names:
            known(name, of_these, what)
    variants = tuple(dict.fromkeys(variants))
    if workers < 1:
        raise DevelopChoiceError(f"{workers} workers cannot work: 1 or more are needed")
    if address is not None and engine != "ray":
        raise DevelopChoiceError(f"engine {engine} has no address: that of a cluster is for ray")
    dataset = open_dataset(root)
    photographs = is_photographs(dataset)
    if photographs:
        variants = photographic_variants(variants, lens, motion_px_s)
    study = photographic_study(dataset) if photographs else load_study(dataset.root / "study.toml")
    settings = choose_settings(
        study,
        isp=isp,
        denoiser=denoiser,
        sensor=sensor,
        lens=lens,
        motion_px_s=motion_px_s,
        compression=compression,
    )
    if "nv" in variants:
        require_denoiser(settings.isp.denoiser)
    if engine == "ray":
        require_cluster(address)
    with rows_blamed(dataset):
        wanted = _wanted(dataset, variants, bands, limit)
        missing_share = _check_cameras(dataset, settings, wanted)
    # Two at once would make every image twice.
    with exclusive(dataset.root / "develop" / "lock"), rows_blamed(dataset):
        if redo:
            drop_rows(dataset.root, lambda row: row["variant"] in variants)
        done = _done(dataset.root, settings, variants) & set(wanted)
        jobs = _jobs(dataset, study, sorted(set(wanted) - done))

        made, failed = 0, []
        if progress is not None:
            progress(len(done), len(wanted))
        # Closed at once when something stops the loop, so that no worker goes on.
        with closing(_worked(dataset.root, settings, jobs, workers, engine, address)) as finished:
            for rows, problem in finished:
                if problem is not None:
                    failed.append(problem)
                write_rows(dataset.root, rows)
                made += len(rows)
                if progress is not None:
                    progress(len(done) + made, len(wanted))
    return DevelopSummary(made, len(done), tuple(failed), missing_share)


# --- what there is to do -------------------------------------------------------------------------


def _wanted(
    dataset: Dataset, variants: Sequence[str], bands: Sequence[str], limit: int | None
) -> list[tuple[str, str]]:
    views = set(list(dataset.views)[:limit])
    items = [row for row in dataset.index.values() if row["view_id"] in views]
    if not items:
        raise DevelopError(f"{dataset.root} holds no media items yet: render it first")
    chosen = [row["id"] for row in items if row["band"] in bands]
    if not chosen:
        there = sorted({row["band"] for row in items}, key=BANDS.index)
        raise DevelopError(
            f"{dataset.root} has no images of the bands {', '.join(bands)}: it has "
            f"{', '.join(there)} (--bands {','.join(there)})"
        )
    return [(row_id, variant) for row_id in chosen for variant in variants]


def _check_cameras(
    dataset: Dataset, settings: Settings, wanted: Iterable[tuple[str, str]]
) -> float:
    """Return the most of an image that the lens shows beyond what was rendered.

    Raises:
        DevelopError: The lens folds a camera's image over within it.
        CompressionError: The codec takes no image of a camera's size.
    """
    views = {dataset.index[row_id]["view_id"] for row_id, _ in wanted}
    cameras = [dataset.views[view_id]["camera"] for view_id in views]
    for size in {(camera["width"], camera["height"]) for camera in cameras}:
        require_codec(settings.compression, size)
    if settings.lens is None:
        return 0.0
    distinct = {str((c["K"], c["width"], c["height"])): c for c in cameras}
    return max(
        float(1 - lens_resampling(settings.lens, camera).valid.mean())
        for camera in distinct.values()
    )


def _done(root: Path, settings: Settings, variants: Sequence[str]) -> set[tuple[str, str]]:
    """Return the images of these settings that are there.

    Raises:
        DevelopError: A row is of other settings.
    """
    hashes = {variant: settings.hash(variant) for variant in variants}
    done = set()
    for (row_id, variant), row in read_develop(root).items():
        if variant not in hashes:
            continue
        if row["settings"] != hashes[variant]:
            raise DevelopError(
                f"{root / 'develop'} holds '{variant}' images of other settings "
                f"({settings.difference(row)}): they are not mixed. --redo makes all of them anew"
            )
        if is_there(root, row):
            done.add((row_id, variant))
    return done


def _jobs(dataset: Dataset, study: Study, todo: Iterable[tuple[str, str]]) -> list[Job]:
    lightings = {lighting.name: lighting for lighting in study.lightings}
    variants: dict[str, list[str]] = {}
    for row_id, variant in todo:
        variants.setdefault(row_id, []).append(variant)
    images: dict[str, list[tuple[str, Lighting | None, tuple[str, ...]]]] = {}
    for row_id, names in variants.items():
        row = dataset.index[row_id]
        lighting = lightings.get(row["lighting"])
        if lighting is None and lightings:
            raise DevelopError(f"{row_id}: study.toml has no lighting {row['lighting']}")
        image = (row_id, lighting, tuple(names))
        images.setdefault(row["view_id"], []).append(image)
    # Views of one background after each other: it is read once.
    order = sorted(images, key=lambda view_id: (dataset.views[view_id]["plate_id"] or "", view_id))
    return [Job(dataset.views[view_id], tuple(images[view_id])) for view_id in order]


# --- doing it ------------------------------------------------------------------------------------


def _worked(
    root: Path,
    settings: Settings,
    jobs: Sequence[Job],
    workers: int,
    engine: str,
    address: str | None,
) -> Finished:
    """Yield the rows of the jobs as they are done, and what was wrong with a view."""
    if engine == "ray":
        return worked_by_ray(root, settings, jobs, workers, address)
    return in_processes(partial(develop_view, root, settings), jobs, min(workers, len(jobs)))
