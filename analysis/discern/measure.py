"""Measure the features of a dataset's images: the features table, ``labels/features/PART.jsonl``.

A row per media item, keyed by ``id``: the features of its raw image and of its night vision, and
what they were measured with and of. Rows are appended and fsynced as they come; a killed run goes
on where it stopped, and an image that changed since is measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...addon.core.dataset import (
    Dataset,
    append_table,
    exclusive,
    open_dataset,
    read_table,
    write_file,
)
from ...addon.core.photometry import saturation_luminance
from ...addon.core.study import load_study
from ..contract import rows_blamed
from ..develop.table import geometry_of, mask_of, read_develop
from ..images import read_image
from ..workers import in_processes
from .features import FEATURES, FeatureSettings, image_features, mean_signals
from .packages import require
from .table import raw_variant, shown_media

__all__ = [
    "PAIR",
    "FeaturesError",
    "MeasureSummary",
    "feature_names",
    "feature_vector",
    "measure_dataset",
    "read_features",
]

PAIR = ("raw", "nv")
"""The two images of an item that are measured."""

_PART = "000"
_FLUSH_ROWS = 64

Row = dict[str, Any]


class FeaturesError(Exception):
    """Features cannot be measured or read; the message says why and what to do."""


@dataclass(frozen=True)
class MeasureSummary:
    """What a call of :func:`measure_dataset` did.

    Attributes:
        made: Items that this call measured.
        there: Items that were measured already.
        failed: A message for each that could not be.
    """

    made: int
    there: int
    failed: tuple[str, ...]


def measure_dataset(
    root: Path,
    settings: FeatureSettings | None = None,
    *,
    workers: int = 1,
    limit: int | None = None,
    redo: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MeasureSummary:
    """Measure every item that was not measured yet.

    Args:
        root: The dataset; evening and night images are developed.
        settings: Parameters of the features.
        workers: Processes.
        limit: Only the first so many views.
        redo: Forget what was measured.
        progress: Told (items measured, items in all) at the start and as they come.

    Raises:
        FeaturesError: The table holds features of other parameters.
        LabelsError: Images were not developed.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
        WorkersError: A worker was killed.
        DiscernMissingError: POT is not installed.
    """
    require("ot")
    settings = settings or FeatureSettings()
    dataset = open_dataset(root)
    directory = dataset.root / "labels" / "features"
    table = directory / f"{_PART}.jsonl"
    with exclusive(directory / "lock"), rows_blamed(dataset):
        if redo and table.exists():
            write_file(table, b"")
        views = set(list(dataset.views)[:limit])
        items: dict[str, Row] = {}
        for (row_id, _), row in shown_media(dataset).items():
            if row["view_id"] in views:
                items[row_id] = row
        done = _done(dataset, items, settings)
        jobs = list(
            _jobs(dataset, (row for key, row in items.items() if key not in done), settings)
        )
        if progress is not None:
            progress(len(done), len(items))
        made, failed, pending = 0, [], list[Row]()
        try:
            with closing(in_processes(_measure_view, jobs, min(workers, len(jobs)))) as results:
                for rows, problems in results:
                    pending += rows
                    failed += problems
                    made += len(rows)
                    if len(pending) >= _FLUSH_ROWS:
                        append_table(table, pending)
                        pending = []
                    if progress is not None:
                        progress(len(done) + made, len(items))
        finally:
            append_table(table, pending)
    return MeasureSummary(made, len(done), tuple(failed))


def read_features(root: Path) -> dict[str, Row]:
    """Read the features table: media id -> row; empty where nothing was measured.

    A row has ``id``, ``settings`` (hash of the parameters), ``parameters``, ``raw_variant``,
    ``media`` (``raw`` and ``nv`` -> sha256, None without night vision) and ``features``: ``raw``
    and ``nv`` -> name -> value, and ``item`` for what is not of one image. ``features`` is None
    where no target is present.

    Raises:
        FeaturesError: A line is no row of this table, or rows are of different parameters.
        DatasetError: The table is damaged.
    """
    found: dict[str, Row] = {}
    for part in sorted((Path(root) / "labels" / "features").glob("*.jsonl")):
        for number, row in enumerate(read_table(part), 1):
            if not _is_row(row):
                raise FeaturesError(
                    f"{part}:{number} is no row of the features table; limen discern features "
                    "--redo measures all anew"
                )
            found[row["id"]] = row
    kinds = {row["settings"] for row in found.values()}
    if len(kinds) > 1:
        raise FeaturesError(
            f"{root}/labels/features holds features of {len(kinds)} different parameters, which "
            "do not compare; limen discern features --redo measures all anew"
        )
    return dict(sorted(found.items()))


# --- what there is to do -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Item:
    """A media item to be measured: its images by name of :data:`PAIR`, and what is known of it."""

    id: str
    raw_variant: str
    images: Mapping[str, tuple[str, str]]
    masks: Mapping[str, str | None]
    saturation_cd_m2: float | None
    known: Mapping[str, float]


@dataclass(frozen=True)
class _Job:
    root: Path
    target_present: bool
    items: tuple[_Item, ...]
    settings: FeatureSettings


def _done(dataset: Dataset, items: Mapping[str, Row], settings: FeatureSettings) -> set[str]:
    done = set()
    for row_id, row in read_features(dataset.root).items():
        if row["settings"] != settings.hash():
            raise FeaturesError(
                f"{dataset.root}/labels/features holds features of other parameters "
                f"({_difference(row['parameters'], settings.parameters())}): they are not mixed. "
                "--redo measures all of them anew"
            )
        if row_id not in items:
            continue
        same = row["media"] == _hashes(items[row_id])
        if same and set(settings.extras) <= set(row["parameters"]["extras"]):
            done.add(row_id)
    return done


def _difference(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    for key, value in wanted.items():
        if key != "extras" and there.get(key) != value:
            return f"{key} {there.get(key)}, now {value}"
    return "written by another version"


def _jobs(dataset: Dataset, rows: Iterable[Row], settings: FeatureSettings) -> Iterator[_Job]:
    scales = _Scales(dataset) if "luminance" in settings.extras else None
    by_view: dict[str, list[_Item]] = {}
    for row in rows:
        by_view.setdefault(row["view_id"], []).append(_item(dataset, row, settings, scales))
    for view_id, items in by_view.items():
        present = dataset.views[view_id]["target_present"]
        yield _Job(dataset.root, present, tuple(items), settings)


def _item(dataset: Dataset, row: Row, settings: FeatureSettings, scales: _Scales | None) -> _Item:
    variants = _variants(row)
    known: dict[str, float] = {}
    if "lux" in settings.extras:
        known["lux"] = row["illuminance_measured_lx"]
    if "size" in settings.extras and row["target_present"]:
        known |= _size(geometry_of(dataset, row, variants["raw"]))
    return _Item(
        row["id"],
        variants["raw"],
        {
            name: (row["media"][v]["path"], row["media"][v]["sha256"])
            for name, v in variants.items()
        },
        {name: _relative(dataset, mask_of(dataset, row, v)) for name, v in variants.items()},
        scales.saturation_cd_m2(row, variants["raw"]) if scales else None,
        known,
    )


def _variants(row: Row) -> dict[str, str]:
    variants = {"raw": raw_variant(row)}
    if row["media"].get("nv"):
        variants["nv"] = "nv"
    return variants


def _hashes(row: Row) -> dict[str, str | None]:
    variants = _variants(row)
    return {
        name: row["media"][variants[name]]["sha256"] if name in variants else None for name in PAIR
    }


def _relative(dataset: Dataset, path: Path | None) -> str | None:
    return None if path is None else path.relative_to(dataset.root).as_posix()


def _size(place: Mapping[str, Any]) -> dict[str, float]:
    """The longer side of the visible box, in pixels and as an angle at the camera."""
    if not place["box_visible"]:
        return {"size_px": 0.0, "size_deg": 0.0}
    x, y, width, height = place["box_visible"]
    K = np.asarray(place["K"], float)
    if height >= width:
        ends = np.array([y - 0.5, y + height - 0.5]) - K[1, 2], K[1, 1]
    else:
        ends = np.array([x - 0.5, x + width - 0.5]) - K[0, 2], K[0, 0]
    angles = np.degrees(np.arctan(ends[0] / ends[1]))
    return {"size_px": float(max(width, height)), "size_deg": float(angles[1] - angles[0])}


class _Scales:
    """The luminance that saturates each item's raw image."""

    def __init__(self, dataset: Dataset):
        self._camera = load_study(dataset.root / "study.toml").camera
        self._developed = read_develop(dataset.root)

    def saturation_cd_m2(self, row: Row, variant: str) -> float:
        if variant == "clean":
            return saturation_luminance(row["exposure_s"], self._camera.fnumber, self._camera.iso)
        from ..develop.sensor import SensorModel, saturation_iso

        developed = self._developed[row["id"], variant]
        numbers = {**developed["sensor"], "source": ""}
        numbers["quantum_efficiency"] = tuple(numbers["quantum_efficiency"])
        iso = saturation_iso(SensorModel(**numbers))
        return saturation_luminance(developed["exposure_s"], developed["fnumber"], iso)


# --- doing it ------------------------------------------------------------------------------------


def _measure_view(job: _Job) -> tuple[list[Row], list[str]]:
    """Measure a view's items; returns their rows, and what was wrong with the others."""
    rows: list[Row] = []
    problems: list[str] = []
    masks: dict[str, Any] = {}
    for item in job.items:
        try:
            features = _measure(job, item, masks) if job.target_present else None
        except (FeaturesError, ValueError) as error:
            problems.append(f"{item.id}: {error}")
            continue
        rows.append(
            {
                "id": item.id,
                "settings": job.settings.hash(),
                "parameters": {**job.settings.parameters()},
                "raw_variant": item.raw_variant,
                "media": {
                    name: item.images[name][1] if name in item.images else None for name in PAIR
                },
                "features": features,
            }
        )
    return rows, problems


def _measure(job: _Job, item: _Item, masks: dict[str, Any]) -> Row:
    found: Row = {"nv": None, "item": dict(item.known)}
    for name, (path, _) in item.images.items():
        image = read_image(job.root / path)
        if image is None:
            raise FeaturesError(f"{job.root / path} is missing or no PNG")
        mask_path = item.masks[name]
        if mask_path is not None and mask_path not in masks:
            masks.clear()  # one at a time: a view's items mostly share theirs
            masks[mask_path] = read_image(job.root / mask_path, grey=True)
        mask = None if mask_path is None else masks[mask_path]
        if mask is None:
            raise FeaturesError(
                f"{job.root / mask_path} is missing or no PNG"
                if mask_path
                else "it has no mask: render with outputs.masks = true; photographs need masks/"
            )
        rgb = np.ascontiguousarray(image[..., ::-1])
        found[name] = image_features(rgb, mask > 127, job.settings)
        if name == "raw" and item.saturation_cd_m2 is not None:
            found["item"] |= _luminances(rgb, mask > 127, item.saturation_cd_m2, job.settings)
    return found


def _luminances(
    image: Any, mask: Any, saturation_cd_m2: float, settings: FeatureSettings
) -> dict[str, float]:
    """Mean luminance of person and band in the scene; what is saturated is brighter than said."""
    person, band = mean_signals(image, mask, settings)
    return {
        "person_cd_m2": person * saturation_cd_m2,
        "surround_cd_m2": band * saturation_cd_m2,
    }


def _is_row(row: Row) -> bool:
    features = row.get("features", "")
    try:
        if features is not None:
            there = [features[n] for n in PAIR if n == "raw" or features[n] is not None]
            numbers = [value for table in (*there, features["item"]) for value in table.values()]
            # A classifier takes what a float of 32 bits can hold.
            if not all(type(x) in (int, float) and abs(x) < _NUMBER_MOST for x in numbers):
                return False
            if not all(key in table for table in there for key in FEATURES):
                return False
        parameters, media = row["parameters"], row["media"]
        whole = type(parameters["version"]) is int and isinstance(parameters["extras"], list)
        texts = all(isinstance(row[key], str) for key in ("id", "settings", "raw_variant"))
        return whole and texts and isinstance(media, dict) and set(media) == set(PAIR)
    except (AttributeError, KeyError, TypeError):
        return False


def feature_names(extras: Sequence[str] = ()) -> tuple[str, ...]:
    """Column names, as ``raw_area_share``: the eight published, then what extras add."""
    names = [f"{name}_{key}" for name in PAIR for key in FEATURES]
    for extra in extras:
        names += _COLUMNS.get(extra) or [f"{name}_{extra}" for name in PAIR]
    return tuple(names)


_NUMBER_MOST = 1e30

_COLUMNS = {
    "size": ["size_px", "size_deg"],
    "luminance": ["person_cd_m2", "surround_cd_m2"],
    "lux": ["lux"],
}


def feature_vector(row: Mapping[str, Any], names: Sequence[str]) -> list[float]:
    """Values of a row under names of :func:`feature_names`.

    An item without night vision was seen with the raw image alone, which stands in for it.

    Raises:
        FeaturesError: The row lacks one of them, or its target is absent.
    """
    features = row["features"]
    if features is None:
        raise FeaturesError(f"{row['id']} has no target, so nothing was measured")
    values = []
    for name in names:
        where, _, key = name.partition("_")
        table = features["item"] if where not in PAIR else features[where] or features["raw"]
        key = key if where in PAIR else name
        if key not in table:
            raise FeaturesError(
                f"{row['id']} has no feature {name}: measure it with limen discern features "
                f"--extra {key if where in PAIR else name}"
            )
        values.append(float(table[key]))
    return values
