"""Where seeing ends: thresholds over density and light, failure points, distance to people."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...addon.core.standards import class_of, load_scales
from ..metrics.failure import SurvivalCurve, Trajectory, survival, trajectories
from ..metrics.psychometric import PsychometricError, PsychometricFit, fit_psychometric
from ..metrics.tables import Items
from .answers import HUMAN, Answerer, Answers

__all__ = ["AXES", "Axis", "Curve", "Failures", "Limits", "find_limits", "ratio_interval"]

FEWEST_LEVELS = 3
"""A curve through fewer levels is a line drawn through two points."""

FEWEST_TRAJECTORIES = 20
"""Fewer make no curve."""

Ratio = tuple[float, float, float]


@dataclass(frozen=True)
class Axis:
    """A physical quantity along which seeing ends.

    Attributes:
        factor: Its name among the factors.
        title: In words.
        unit: Of it.
        held: What names a panel: the factor or grouping that is held while this one varies.
    """

    factor: str
    title: str
    unit: str
    held: str


AXES = (
    Axis("density_px_per_m", "Pixel density", "px/m", "light"),
    Axis("illuminance_lx", "Illuminance", "lx", "pixel density"),
)


@dataclass(frozen=True)
class Curve:
    """One answerer along one axis, in one panel.

    Attributes:
        label: Of the answerer.
        kind: ``model`` or ``human``.
        axis: Name of the axis's factor.
        panel: What is held, in words.
        fit: None where the answers cannot be fitted.
        problem: Why not.
        ratio_to_human: 50 % threshold over that of people, with its 95 % interval; None where
            either has none.
    """

    label: str
    kind: str
    axis: str
    panel: str
    fit: PsychometricFit | None
    problem: str = ""
    ratio_to_human: Ratio | None = None


@dataclass(frozen=True)
class Failures:
    """Failure points of one answerer along one axis."""

    label: str
    kind: str
    axis: str
    curve: SurvivalCurve


@dataclass(frozen=True)
class Limits:
    """All of it.

    Attributes:
        panels: Axis factor -> panels, in order.
        curves: In the order of axis, panel, answerer.
        failures: In the order of axis, answerer.
        reference: Who the ratios are to: people, or the simulated observer; empty for nobody.
        lux_alone: Whether light conditions differ in illuminance only.
    """

    panels: Mapping[str, tuple[str, ...]]
    curves: tuple[Curve, ...]
    failures: tuple[Failures, ...]
    reference: str
    lux_alone: bool

    def of(self, axis: str, panel: str) -> tuple[Curve, ...]:
        """The curves of one panel."""
        return tuple(one for one in self.curves if (one.axis, one.panel) == (axis, panel))


def find_limits(
    answers: Answers,
    people: Sequence[Answerer],
    *,
    lux_alone: bool,
    progress: Callable[[str, int, int], None] | None = None,
) -> Limits:
    """Fit everyone's answers along each axis, and find where each trajectory fails.

    "Seen" is the answer 1 where somebody is; images without a person are the blanks, which tell the
    guess rate. A missing answer is not seen.

    Args:
        answers: The images.
        people: Who was asked, people included, constants not.
        lux_alone: Whether light conditions differ in illuminance only.
        progress: Told (what, done, in all).
    """
    items = answers.items
    reference = _reference(people)
    jobs = [
        (axis, panel, rows, one)
        for axis in AXES
        if len(items.factors[axis.factor].levels) >= FEWEST_LEVELS
        for panel, rows in _panels(answers, axis)
        for one in people
    ]
    curves = []
    for number, (axis, panel, rows, one) in enumerate(jobs):
        curve = _curve(
            items, axis, panel, rows & one.asked & (items.factors[axis.factor].codes >= 0), one
        )
        if curve is not None:
            curves.append(curve)
        if progress is not None:
            progress("thresholds", number + 1, len(jobs))
    standard = {
        (curve.axis, curve.panel): curve.fit for curve in curves if curve.label == reference
    }
    curves = [
        _with_ratio(curve, standard.get((curve.axis, curve.panel)), reference) for curve in curves
    ]
    panels: dict[str, dict[str, None]] = {}
    for curve in curves:
        if curve.kind != HUMAN:  # a panel of people alone compares nothing
            panels.setdefault(curve.axis, {})[curve.panel] = None
    return Limits(
        panels={axis: tuple(of) for axis, of in panels.items()},
        curves=tuple(curves),
        failures=tuple(_failures(answers, people)),
        reference=reference,
        lux_alone=lux_alone,
    )


def _reference(people: Sequence[Answerer]) -> str:
    for one in people:
        if one.kind == HUMAN:
            return one.label
    for one in people:
        if any(about["model"]["name"] == "observer" for about in one.runs):
            return one.label
    return ""


# --- curves --------------------------------------------------------------------------------------


Rows = NDArray[np.bool_]


def _panels(answers: Answers, axis: Axis) -> Iterator[tuple[str, Rows]]:
    """What is held while the axis varies: light band and variant, or the pixel-density class."""
    items = answers.items
    if axis.factor == "density_px_per_m":
        band, variant = items.factors["band"], items.factors["variant"]
        for place, name in enumerate(band.levels):
            for number, of in enumerate(variant.levels):
                title = f"{name}, {_VARIANT_WORDS.get(of, of)}"
                rows = (band.codes == place) & (variant.codes == number)
                yield title if len(variant.levels) > 1 else name, rows
        return
    scale = load_scales()["dori-2014"]
    densities = items.factors["density_px_per_m"]
    classes = [class_of(d, scale) or f"below {scale.classes[0].name}" for d in densities.levels]
    images = _images(answers)
    for name in dict.fromkeys(reversed(classes)):
        places = [number for number, of in enumerate(classes) if of == name]
        ends = densities.levels[places[0]], densities.levels[places[-1]]
        span = f"{ends[0]:.4g}" if len(places) == 1 else f"{ends[0]:.4g} to {ends[1]:.4g}"
        for image, rows in images.items():
            title = f"{name} ({span} px/m)"
            yield (
                f"{title}, {image}" if len(images) > 1 else title,
                rows & np.isin(densities.codes, places),
            )


_VARIANT_WORDS = {"nv": "night vision"}


def _images(answers: Answers) -> dict[str, Rows]:
    """The series of images in which light alone varies: as recorded, clean, and night vision.

    As the published layout has it, what is recorded is the clean image by day and what the camera
    makes of it in evening and night.
    """
    variant, band = answers.items.factors["variant"], answers.items.factors["band"]
    of = np.array(variant.levels)[variant.codes]
    is_day = np.array(band.levels)[band.codes] == "day"
    series = {
        "as recorded": np.where(is_day, of == "clean", of == "camera"),
        "clean": of == "clean",
        "night vision": of == "nv",
    }
    # By day alone the clean images are part of those as recorded, and no series of their own.
    if not (series["as recorded"] & ~is_day).any():
        del series["as recorded"]
    elif not (series["clean"] & ~is_day).any():
        del series["clean"]
    return {name: rows for name, rows in series.items() if rows.any()}


def _curve(
    items: Items, axis: Axis, panel: str, rows: NDArray[np.bool_], one: Answerer
) -> Curve | None:
    present = items.truths["presence"][rows] == 1
    factor = items.factors[axis.factor]
    levels = np.array(factor.levels, float)[factor.codes[rows]]
    if len(np.unique(levels[present])) < FEWEST_LEVELS:
        return None
    try:
        fit = fit_psychometric(
            np.where(present, levels, 0.0),
            one.outcomes[rows] == 1,
            items.clusters[rows].tolist(),
            unit=axis.unit,
        )
    except PsychometricError as error:
        return Curve(one.label, one.kind, axis.factor, panel, None, str(error))
    return Curve(one.label, one.kind, axis.factor, panel, fit)


def _with_ratio(curve: Curve, standard: PsychometricFit | None, reference: str) -> Curve:
    if curve.fit is None or standard is None or curve.label == reference:
        return curve
    ratio = ratio_interval(curve.fit, standard)
    return Curve(curve.label, curve.kind, curve.axis, curve.panel, curve.fit, curve.problem, ratio)


def ratio_interval(
    first: PsychometricFit, second: PsychometricFit, share: float = 0.5
) -> Ratio | None:
    """The ratio of two thresholds with a 95 % interval from theirs.

    None where a threshold is unknown; an end is 0 or infinite where the data set no bound. The two
    are taken as independent, which errs to the wide side for answers about the same images.

    Source: Zou and Donner, Statistics in Medicine 27 (2008) 1693 (MOVER), on logarithms.
    """
    a, b = first.threshold(share), second.threshold(share)
    if a.value is None or b.value is None:
        return None
    centre = math.log(a.value / b.value)
    below = math.hypot(_gap(a.interval[0], a.value), _gap(b.interval[1], b.value))
    above = math.hypot(_gap(a.interval[1], a.value), _gap(b.interval[0], b.value))
    return math.exp(centre), math.exp(centre - below), math.exp(centre + above)


def _gap(end: float | None, value: float) -> float:
    return math.inf if end is None else abs(math.log(end / value))


# --- failure points ------------------------------------------------------------------------------


def _failures(answers: Answers, people: Sequence[Answerer]) -> Iterator[Failures]:
    present = answers.items.truths["presence"] == 1
    for axis in AXES:
        factor = answers.items.factors[axis.factor]
        if len(factor.levels) < FEWEST_LEVELS:
            continue
        levels = np.array(factor.levels, float)[factor.codes]
        series = list(_series(answers, axis))
        for one in people:
            found: list[Trajectory] = []
            for rows, groups in series:
                own = np.nonzero(present & one.asked & rows & (factor.codes >= 0))[0]
                right = one.outcomes[own] == 1
                found += trajectories([groups[row] for row in own], levels[own], right)
            if len(found) >= FEWEST_TRAJECTORIES:
                yield Failures(one.label, one.kind, axis.factor, survival(found))


def _series(answers: Answers, axis: Axis) -> Iterator[tuple[Rows, list[Hashable]]]:
    """Images, and for each what is the same along its trajectory."""
    if axis.factor == "illuminance_lx":
        of_view: list[Hashable] = [row["view_id"] for row in answers.rows]
        for rows in _images(answers).values():
            yield rows, of_view
        return
    groups: list[Hashable] = []
    for (_, variant), row, view in zip(
        answers.items.keys, answers.rows, answers.views, strict=True
    ):
        same = [(key, str(of)) for key, of in view["factors"].items() if key != "distance_m"]
        groups.append((tuple(sorted(same)), row["lighting"], variant))
    yield np.ones(len(groups), bool), groups
