"""Where seeing ends: the probability of being seen against pixel density and light, from labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...addon.core.dataset import Dataset
from ...addon.core.lighting import BANDS
from ..develop.table import with_variants
from ..metrics.psychometric import PsychometricError, PsychometricFit, fit_psychometric
from .table import Key, Row, group_of

__all__ = ["Curve", "Grid", "Looked", "curves_over_density", "curves_over_lux", "grids", "looked"]

IMAGES = ("raw", "nv")
_MOST_CURVES = 4


@dataclass(frozen=True)
class Looked:
    """A label with what it depends on.

    Attributes:
        key: (id, variant).
        image: ``raw`` or ``nv``.
        band: Of the light.
        px_per_m: Pixel density, nominal.
        lux: Horizontal illuminance, nominal.
        present: Whether a target is there.
        seen: 0..1: the label, or the probability where it is a share of answers or a model's.
        group: Subject and pose.
    """

    key: Key
    image: str
    band: str
    px_per_m: float
    lux: float
    present: bool
    seen: float
    group: str


@dataclass(frozen=True)
class Curve:
    """A psychometric function of one image and one slice of the others.

    Attributes:
        image: ``raw`` or ``nv``.
        slice: What is held still, as ``night`` or ``30 px/m``.
        fit: None where nothing could be fitted.
        problem: Why not, or "".
        n: Labels.
    """

    image: str
    slice: str
    fit: PsychometricFit | None
    problem: str
    n: int


@dataclass(frozen=True)
class Grid:
    """Mean share of "seen" by density (columns) and lux (rows), nan where nothing was labelled."""

    image: str
    px_per_m: tuple[float, ...]
    lux: tuple[float, ...]
    seen: tuple[tuple[float, ...], ...]


def looked(dataset: Dataset, labels: Mapping[Key, Row]) -> list[Looked]:
    """Join labels with what they depend on.

    Catch trials count where someone answered them: "seen" is then a false alarm. What is 0 by
    definition is nobody's answer and is left out.
    """
    rows = with_variants(dataset)
    found = []
    for key, label in labels.items():
        row = rows.get(key[0])
        if row is None:
            continue
        present = bool(row["target_present"])
        if present:
            seen = label["probability"]
            seen = label["human_discernable"] if seen is None else seen
        else:
            seen = _false_alarms(label)
        if seen is None or (label["by"] == "model" and label.get("reason") == _DEFINED):
            continue
        found.append(
            Looked(
                key,
                "nv" if key[1] == "nv" else "raw",
                row["band"],
                dataset.views[row["view_id"]]["density_nominal_px_per_m"],
                row["illuminance_nominal_lx"],
                present,
                float(seen),
                group_of(row),
            )
        )
    return found


_DEFINED = "no target is visible"


def _false_alarms(label: Row) -> float | None:
    """The share of "visible" among the answers to a catch trial; None where nobody was asked."""
    votes = label.get("votes")
    if isinstance(votes, Mapping):
        answers = sum(votes.values())
        return (votes.get("visible", 0) + votes.get("unsure", 0) / 2) / answers if answers else None
    answer = label.get("answer")
    return None if answer is None else float(answer)


def curves_over_density(found: Sequence[Looked]) -> list[Curve]:
    """A curve over pixel density for each band of light and image."""
    return [
        _curve(part, image, band, [one.px_per_m if one.present else 0.0 for one in part], "px/m")
        for band in BANDS
        for image in IMAGES
        if (part := [one for one in found if one.band == band and one.image == image])
    ]


def curves_over_lux(found: Sequence[Looked]) -> list[Curve]:
    """A curve over illuminance for each pixel density and image; of many densities, some.

    Catch trials of the image, of whatever density, say how often nobody is seen.
    """
    densities = sorted({one.px_per_m for one in found if one.present}, reverse=True)
    if len(densities) > _MOST_CURVES:
        places = np.linspace(0, len(densities) - 1, _MOST_CURVES).round().astype(int)
        densities = [densities[place] for place in places]
    return [
        _curve(
            part,
            image,
            f"{density:.4g} px/m",
            [one.lux if one.present else 0.0 for one in part],
            "lx",
        )
        for density in densities
        for image in IMAGES
        if (
            part := [
                one
                for one in found
                if one.image == image and (not one.present or one.px_per_m == density)
            ]
        )
    ]


def grids(found: Sequence[Looked]) -> list[Grid]:
    """The share of "seen" over both limits, for each image that was labelled."""
    made = []
    for image in IMAGES:
        part = [one for one in found if one.present and one.image == image]
        if not part:
            continue
        densities = sorted({one.px_per_m for one in part})
        levels = sorted({one.lux for one in part})
        sums: Any = np.zeros((2, len(levels), len(densities)))
        for one in part:
            place = levels.index(one.lux), densities.index(one.px_per_m)
            sums[(0, *place)] += one.seen
            sums[(1, *place)] += 1
        share = np.divide(sums[0], sums[1], out=np.full(sums[0].shape, np.nan), where=sums[1] > 0)
        made.append(Grid(image, tuple(densities), tuple(levels), tuple(map(tuple, share.tolist()))))
    return made


def _curve(
    part: Sequence[Looked], image: str, slice_name: str, stimulus: Sequence[float], unit: str
) -> Curve:
    try:
        fitted = fit_psychometric(
            stimulus, [one.seen for one in part], [one.group for one in part], unit=unit
        )
    except PsychometricError as error:
        return Curve(image, slice_name, None, str(error), len(part))
    return Curve(image, slice_name, fitted, "", len(part))
