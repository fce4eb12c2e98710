"""Develop a dataset: what its camera recorded (``camera``) and night vision of it (``nv``).

Images are composed from the light stack, exposed by a sensor model and written to ``media/``; the
table ``develop/PART.jsonl`` has a row for each, appended and fsynced after the file is whole. A
killed run goes on where it stopped, a finished one does nothing when it is repeated.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...addon.core.dataset import Dataset, DatasetError, file_record, open_dataset
from ...addon.core.image_io import ImageError, LayerImage, read_layers, write_png
from ...addon.core.lighting import BANDS, Lighting
from ...addon.core.photometry import luminance, meter, to_srgb8
from ...addon.core.relight import (
    RelightError,
    Stack,
    compose,
    pixel_directions,
    stack_from_layers,
)
from ...addon.core.study import CameraSetup, Study, load_study
from . import isp as night
from .sensor import (
    RawImage,
    SensorModel,
    demosaic,
    expose_raw,
    load_sensor_models,
    noise_model,
    saturation_iso,
)
from .table import VARIANTS, drop_rows, is_there, read_develop, write_rows

__all__ = [
    "DEFAULT_BANDS",
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

_VERSION = 1  # of what is computed; another one makes other images

_PITCH_TOLERANCE = 0.01

Row = dict[str, Any]
FloatArray = NDArray[np.float32]


class DevelopError(Exception):
    """Images cannot be developed; the message says why and what to do."""


class DevelopChoiceError(ValueError):
    """There is no such preset, sensor, variant or band."""


@dataclass(frozen=True)
class Settings:
    """What images are made with.

    Attributes:
        isp: Of night vision.
        sensor: Of both variants.
        seed: The study's.
        camera: The study's: f-number, shutter limit, pixels of the whole sensor.
    """

    isp: night.IspPreset
    sensor: SensorModel
    seed: int
    camera: CameraSetup

    def of(self, variant: str) -> Row:
        """Return the parameters that a variant's row records and its images depend on."""
        sensor = asdict(self.sensor)
        del sensor["source"]  # words only
        return {
            "version": _VERSION,
            "sensor": _plain(sensor),
            "isp": _plain(asdict(self.isp)) if variant == "nv" else None,
        }


@dataclass(frozen=True)
class DevelopSummary:
    """What a call of :func:`develop_dataset` did.

    Attributes:
        made: Images that this call made.
        there: Images that were there already.
        failed: A message for each view that could not be developed.
    """

    made: int
    there: int
    failed: tuple[str, ...]


def develop_dataset(
    root: Path,
    *,
    isp: str = "neutral-v1",
    denoiser: str | None = None,
    sensor: str | None = None,
    variants: Sequence[str] = VARIANTS,
    bands: Sequence[str] = DEFAULT_BANDS,
    limit: int | None = None,
    workers: int = 1,
    redo: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> DevelopSummary:
    """Develop every image that is not there yet.

    An image depends on (study seed, media id) and the settings alone: not on the order, the number
    of workers or what was developed before.

    Args:
        root: The dataset.
        isp: A preset of ``isp_presets.toml``.
        denoiser: Instead of the preset's.
        sensor: A model of ``sensors.toml``; None for the colour sensor with the study's pixels.
        variants: Of ``camera`` and ``nv``.
        bands: Media items of these bands only.
        limit: Only the first so many views, in the order of ``view_id`` (which is random).
        workers: Processes, each with a view of its own; 1 works in this process. A script that
            asks for more needs ``if __name__ == "__main__":``, as they are spawned.
        redo: Forget the images of these variants that are there, of whatever settings.
        progress: Told (images there, images in all) at the start and after each view.

    Raises:
        DevelopChoiceError: There is no such preset, denoiser, sensor, variant or band.
        DevelopError: There is nothing to develop, or images of other settings are there.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
        DenoiserMissingError: The denoiser's package is not installed.
    """
    for names, known, what in ((variants, VARIANTS, "variant"), (bands, BANDS, "band")):
        for name in names:
            _known(name, known, what)
    if workers < 1:
        raise DevelopChoiceError(f"{workers} workers cannot work: 1 or more are needed")
    dataset = open_dataset(root)
    study = load_study(dataset.root / "study.toml")
    settings = choose_settings(study, isp=isp, denoiser=denoiser, sensor=sensor)
    if "nv" in variants:
        night.require_denoiser(settings.isp.denoiser)
    wanted = _wanted(dataset, variants, bands, limit)
    if redo:
        drop_rows(dataset.root, lambda row: row["variant"] in variants)
    done = _done(dataset.root, settings, variants) & set(wanted)
    jobs = _jobs(dataset, study, sorted(set(wanted) - done))

    made, failed = 0, []
    if progress is not None:
        progress(len(done), len(wanted))
    # Closed at once when something stops the loop, so that no worker goes on.
    with closing(_worked(dataset.root, settings, jobs, workers)) as finished:
        for rows, problem in finished:
            if problem is not None:
                failed.append(problem)
            write_rows(dataset.root, rows)
            made += len(rows)
            if progress is not None:
                progress(len(done) + made, len(wanted))
    return DevelopSummary(made, len(done), tuple(failed))


def choose_settings(
    study: Study,
    *,
    isp: str = "neutral-v1",
    denoiser: str | None = None,
    sensor: str | None = None,
) -> Settings:
    """Return the settings that some names stand for; see :func:`develop_dataset`.

    Raises:
        DevelopChoiceError: There is no such preset, denoiser or sensor.
    """
    presets, models = night.load_isp_presets(), load_sensor_models()
    preset = presets[_known(isp, presets, "ISP preset")]
    if denoiser is not None:
        preset = replace(preset, denoiser=_known(denoiser, night.DENOISERS, "denoiser"))
    setup = study.camera
    if sensor is not None:
        return Settings(preset, models[_known(sensor, models, "sensor")], study.seed, setup)
    pitch_um = 1000 * setup.sensor_width_mm / setup.resolution[0]
    for model in models.values():
        if model.filter != "mono" and abs(model.pixel_pitch_um / pitch_um - 1) <= _PITCH_TOLERANCE:
            return Settings(preset, model, study.seed, setup)
    sizes = ", ".join(f"{model.name} ({model.pixel_pitch_um:.2f})" for model in models.values())
    raise DevelopChoiceError(
        f"no sensor model has this camera's pixels of {pitch_um:.2f} um: name the one to use "
        f"(--sensor NAME), of {sizes}"
    )


# --- what there is to do -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """The images of a view that are to be made.

    Attributes:
        view: The view's row.
        images: (media id, lighting, variants) for each.
    """

    view: Row
    images: tuple[tuple[str, Lighting, tuple[str, ...]], ...]


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


def _done(root: Path, settings: Settings, variants: Sequence[str]) -> set[tuple[str, str]]:
    """Return the images of these settings that are there.

    Raises:
        DevelopError: A row is of other settings.
    """
    wanted = {variant: settings.of(variant) for variant in variants}
    hashes = {variant: _hash(parameters) for variant, parameters in wanted.items()}
    done = set()
    for (row_id, variant), row in read_develop(root).items():
        if variant not in wanted:
            continue
        if row["settings"] != hashes[variant]:
            raise DevelopError(
                f"{root / 'develop'} holds '{variant}' images of other settings "
                f"({_difference(row, wanted[variant])}): they are not mixed. "
                "--redo makes all of them anew"
            )
        if is_there(root, row):
            done.add((row_id, variant))
    return done


def _difference(row: Row, wanted: Row) -> str:
    def flat(parameters: Row) -> Iterator[tuple[str, Any]]:
        for key in ("sensor", "isp"):
            for name, value in (parameters.get(key) or {}).items():
                yield f"{key}.{name}", value
        yield "version", parameters.get("version")

    there = dict(flat(row))
    for key, value in flat(wanted):
        if there.get(key) != value:
            return f"{key} {there.get(key)}, now {value}"
    return f"settings {row['settings']}"


def _jobs(dataset: Dataset, study: Study, todo: Iterable[tuple[str, str]]) -> list[_Job]:
    lightings = {lighting.name: lighting for lighting in study.lightings}
    variants: dict[str, list[str]] = {}
    for row_id, variant in todo:
        variants.setdefault(row_id, []).append(variant)
    images: dict[str, list[tuple[str, Lighting, tuple[str, ...]]]] = {}
    for row_id, names in variants.items():
        row = dataset.index[row_id]
        if row["lighting"] not in lightings:
            raise DevelopError(f"{row_id}: study.toml has no lighting {row['lighting']}")
        image = (row_id, lightings[row["lighting"]], tuple(names))
        images.setdefault(row["view_id"], []).append(image)
    # Views of one background after each other: it is read once.
    order = sorted(images, key=lambda view_id: (dataset.views[view_id]["plate_id"] or "", view_id))
    return [_Job(dataset.views[view_id], tuple(images[view_id])) for view_id in order]


# --- doing it ------------------------------------------------------------------------------------


def _worked(
    root: Path, settings: Settings, jobs: Sequence[_Job], workers: int
) -> Generator[tuple[list[Row], str | None], None, None]:
    """Yield the rows of the jobs as they are done, and what was wrong with a view."""
    if workers == 1 or len(jobs) < 2:
        for job in jobs:
            yield _develop_view(root, settings, job)
        return
    # Never forked: OpenCV's and numpy's threads do not survive it.
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)), multiprocessing.get_context("spawn"), _start_worker
    )
    waiting = iter(jobs)
    running: set[Future[tuple[list[Row], str | None]]] = set()
    try:
        while True:
            for job in islice(waiting, 2 * workers - len(running)):
                running.add(pool.submit(_develop_view, root, settings, job))
            if not running:
                break
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    except BrokenProcessPool as error:
        raise DevelopError(
            "a worker was killed: the system may have run out of memory. Fewer --workers need "
            "less; the same command goes on where it stopped"
        ) from error
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    # The terminal's Ctrl-C reaches every process; the first one decides for all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End when the first process was killed, rather than wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _develop_view(root: Path, settings: Settings, job: _Job) -> tuple[list[Row], str | None]:
    """Make a view's images; returns their rows, and what was wrong if not all could be made."""
    rows: list[Row] = []
    try:
        stack = load_stack(root, job.view)
        for media_id, lighting, variants in job.images:
            raw = metered_raw(compose(stack, lighting), settings, media_id)
            rows += [_write_image(root, settings, raw, media_id, name) for name in variants]
    except (DevelopError, ImageError, RelightError, DatasetError) as error:
        return rows, f"{job.view['view_id']}: {error}"
    return rows, None


def load_stack(root: Path, view: Row) -> Stack:
    """Read the light of a view.

    Raises:
        DevelopError: The dataset has none of it.
        ImageError: A light file is missing or damaged.
        RelightError: The files do not fit together.
    """
    crop = f"light/crops/{view['view_id']}.exr"
    plate = f"light/plates/{view['plate_id']}.exr"
    has_crop, has_plate = crop in view["files"], plate in view["files"]
    if not (has_crop or has_plate):
        raise DevelopError("its row names no light file, so there is nothing to develop")
    camera = view["camera"]
    directions = pixel_directions(camera["K"], camera["R"], camera["width"], camera["height"])
    return stack_from_layers(
        _read_plate(root / plate) if has_plate else None,
        read_layers(root / crop) if has_crop else {},
        directions,
    )


@lru_cache(maxsize=1)
def _read_plate(path: Path) -> dict[str, LayerImage]:
    return read_layers(path)


def metered_raw(image_cd_m2: FloatArray, settings: Settings, media_id: str) -> RawImage:
    """Return what the sensor records of an image, metered as the camera does at base gain.

    Args:
        image_cd_m2: (H, W, 3) scene-linear.
        settings: Sensor, seed and camera.
        media_id: What the noise belongs to.
    """
    camera = settings.camera
    exposure_s = meter(
        luminance(image_cd_m2),
        camera.fnumber,
        saturation_iso(settings.sensor),
        shutter_limit_s=camera.shutter_limit_s,
    )
    return expose_raw(
        np.maximum(image_cd_m2, 0),
        exposure_s,
        camera.fnumber,
        settings.sensor,
        seed=settings.seed,
        image_id=media_id,
        sensor_px=camera.resolution,
    )


def _write_image(root: Path, settings: Settings, raw: RawImage, media_id: str, variant: str) -> Row:
    """Write one variant of a media item; returns its row."""
    mosaic = night.linearise(raw)
    vision = None
    if variant == "nv":
        vision = night.night_vision(mosaic, settings.isp)
        image = vision.image
    else:
        image = to_srgb8(np.clip(demosaic(raw), 0, 1))
    path = f"media/{variant}/{media_id}.png"
    write_png(root / path, image)
    parameters = settings.of(variant)
    gain_dn_per_e, read_sigma_dn = noise_model(raw)
    return {
        "id": media_id,
        "variant": variant,
        "path": path,
        **file_record(root / path),
        "settings": _hash(parameters),
        **parameters,
        "seed": settings.seed,
        "exposure_s": raw.exposure_s,
        "fnumber": raw.fnumber,
        "mean_e": float(mosaic.electrons.mean(dtype=np.float64)),
        "noise_gain_dn_per_e": gain_dn_per_e,
        "noise_read_sigma_dn": read_sigma_dn,
        "white_balance": list(raw.white_balance),
        "gain_db": vision.gain_db if vision else 0.0,
        "binning": vision.binning if vision else None,
        "chroma_block_px": vision.chroma_block_px if vision else None,
        "denoiser": settings.isp.denoiser if vision else None,
        "software": _software(settings.isp.denoiser if vision else None),
    }


def _software(denoiser: str | None) -> dict[str, str]:
    versions = {"limen": __version__, "numpy": np.__version__, "opencv": cv2.__version__}
    if denoiser == "bm3d":
        versions["bm3d"] = metadata.version("bm3d")
    return versions


# --- settings ------------------------------------------------------------------------------------


def _known(name: str, known: Iterable[str], what: str) -> str:
    if name not in known:
        raise DevelopChoiceError(f"there is no {what} '{name}'; there are {', '.join(known)}")
    return name


def _plain(value: Row) -> Row:
    """As JSON gives it back: lists, not tuples."""
    return dict(json.loads(json.dumps(value)))


def _hash(parameters: Row) -> str:
    """Return 16 hex digits of parameters: equal ones make equal images."""
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
