"""What a report is about: every image in the variants asked about, and what everyone said of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addon.core.dataset import Dataset
from ...addon.core.lighting import BANDS
from ..develop.table import VARIANTS, with_variants
from ..discern.table import LabelsChoiceError, label_sources, read_labels, single_labels, who
from ..evaluate.table import check_same_images, read_about, read_answers
from ..metrics.published import CONDITIONS, condition_of
from ..metrics.scores import UNPARSED, outcome_code
from ..metrics.tables import NOT_ASKED, UNKNOWN, Factor, Items, make_factor

__all__ = ["BASELINES", "HUMAN", "Answerer", "Answers", "Labels", "load_answers"]

BASELINES = {"always-yes": 1, "always-no": 0}
"""Constant answers. They need no run: they are computed for all images."""

HUMAN = "human"
OBSERVER = "observer"

_VARIANTS = ("clean", *VARIANTS)
_NAMES = ("presence", "action", "action-choice")

Row = Mapping[str, Any]
Key = tuple[str, str]
Column = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answerer:
    """A model, a person or a constant, and what it said about the images.

    Attributes:
        label: Its name in the report.
        kind: ``model``, ``constant``, or ``human``: who gave the labels that are the truth, people
            or the simulated observer, and is judged against presence only.
        task: The task with its settings.
        outcomes: (N,) places in ``metrics.scores.OUTCOMES`` for presence; for other tasks 0 stands
            for an answer. ``NOT_ASKED`` where it was not asked.
        answers: (N,) its words, None where there are none.
        predictions: (N,) what was read in them: 0, 1, or an action; None.
        runs: What ``run.json`` of each of its runs says.
    """

    label: str
    kind: str
    task: str
    outcomes: Column
    answers: NDArray[np.object_]
    predictions: NDArray[np.object_]
    runs: tuple[Row, ...] = ()

    @property
    def asked(self) -> NDArray[np.bool_]:
        """(N,) which images it was asked about."""
        return np.asarray(self.outcomes != NOT_ASKED)

    @property
    def parameters_b(self) -> float | None:
        """Thousand million parameters, where the model is a known one or its runs tell."""
        for about in self.runs:
            known = about.get("known") or {}
            if known.get("parameters_b"):
                return float(known["parameters_b"])
            for session in about["sessions"]:
                count = (session.get("runtime") or {}).get("parameters")
                if isinstance(count, int | float) and count > 0:
                    return float(count) / 1e9
        return None


@dataclass(frozen=True)
class Labels:
    """Where the labels of what a human can see come from.

    Attributes:
        source: ``human`` or ``simulated``: whose eyes.
        words: Who gave them, in words, with how many.
        rows: (id, variant) -> row.
    """

    source: str
    words: str
    rows: Mapping[Key, Row]


@dataclass(frozen=True, eq=False)
class Answers:
    """All of it, in columns.

    Attributes:
        items: The images with their factors and truths.
        rows: (N,) index rows.
        views: (N,) view rows.
        tasks: Task with its settings -> answerers, by label.
        labels: Of what a human can see; None where there are none.
        single_label: (N,) the published label, one for the raw image and its night vision.
    """

    items: Items
    rows: tuple[Row, ...]
    views: tuple[Row, ...]
    tasks: Mapping[str, tuple[Answerer, ...]]
    labels: Labels | None
    single_label: Column | None

    @property
    def presence(self) -> tuple[Answerer, ...]:
        """Who was asked whether somebody is there, in all wordings."""
        return tuple(
            one
            for task, all_of in self.tasks.items()
            if _kind(task) == "presence"
            for one in all_of
        )

    @property
    def truth(self) -> str:
        """The truth that the main scores are against: ``discernable``, or ``presence``."""
        return "discernable" if "discernable" in self.items.truths else "presence"

    @property
    def truth_words(self) -> str:
        """The same in words."""
        if self.labels is None:
            return "whether somebody is there"
        who = "a human" if self.labels.source == HUMAN else "the simulated observer"
        return f"whether {who} sees somebody"


def load_answers(dataset: Dataset, labels: str | None = None) -> Answers:
    """Read all runs and labels of a dataset.

    Args:
        dataset: The dataset.
        labels: ``human`` or ``simulated`` where it has both; human ones otherwise.

    Raises:
        EvaluateError: A run is damaged or about other images.
        LabelsError: The labels table is damaged, or has none of the kind asked for.
        DatasetError: A table belongs to another dataset.
    """
    media = with_variants(dataset)
    found = _labels(dataset, labels)
    runs = _read_runs(dataset, media)
    keys = sorted({key for _, answers in runs for key in answers}, key=_order(media))
    if not keys:
        keys = [(row_id, "clean") for row_id, row in media.items() if row["media"].get("clean")]
    rows = tuple(media[row_id] for row_id, _ in keys)
    views = tuple(dataset.views[row["view_id"]] for row in rows)
    items, single = _items(keys, rows, views, found)
    place = {key: number for number, key in enumerate(keys)}
    tasks = {
        task: _answerers(task, [run for run in runs if run[0]["task"] == task], place)
        for task in sorted({about["task"] for about, _ in runs}, key=_task_order)
    }
    if found is not None and found.source != HUMAN:
        tasks = {task: tuple(map(_as_giver, all_of)) for task, all_of in tasks.items()}
    return Answers(items, rows, views, tasks, found, single)


def _as_giver(one: Answerer) -> Answerer:
    """Take the observer as people are taken: against its own labels it is always right."""
    is_observer = any(about["model"]["name"] == OBSERVER for about in one.runs)
    return replace(one, kind=HUMAN) if is_observer else one


def _kind(task: str) -> str:
    return task.partition(":")[0]


def _task_order(task: str) -> tuple[int, str]:
    kind = _kind(task)
    return (_NAMES.index(kind) if kind in _NAMES else len(_NAMES), task)


def _order(media: Mapping[str, Row]) -> Any:
    def of(key: Key) -> tuple[str, int, str]:
        at = _VARIANTS.index(key[1]) if key[1] in _VARIANTS else len(_VARIANTS)
        return (key[0], at, key[1])

    return of


# --- runs ----------------------------------------------------------------------------------------

_Slim = tuple[str, Any, str | None]  # outcome, prediction, answer


def _read_runs(
    dataset: Dataset, media: Mapping[str, dict[str, Any]]
) -> list[tuple[Row, dict[Key, _Slim]]]:
    """``run.json`` and (id, variant) -> answer of each run; rows are slimmed as they are read."""
    runs: list[tuple[Row, dict[Key, _Slim]]] = []
    for path in sorted((dataset.root / "runs").glob("*/run.json")):
        about = read_about(path)
        if about["model"]["name"] in BASELINES:
            continue
        answers = read_answers(path.parent / "predictions.jsonl", about["variant"])
        check_same_images(answers, media, path.parent)
        slim = {
            key: (row["outcome"], row["prediction"], row.get("answer"))
            for key, row in answers.items()
            if key[0] in media
        }
        if slim:
            runs.append((about, slim))
    return runs


def _answerers(
    task: str, runs: Sequence[tuple[Row, dict[Key, _Slim]]], place: Mapping[Key, int]
) -> tuple[Answerer, ...]:
    """Runs of one model about different variants are one answerer."""
    groups: dict[str, list[tuple[Row, dict[Key, _Slim]]]] = {}
    for about, answers in runs:
        identity = json.dumps([about.get("label", about["run"]), about["model"]], sort_keys=True)
        groups.setdefault(identity, []).append((about, answers))
    labels = [str(group[0][0].get("label", group[0][0]["run"])) for group in groups.values()]
    made = []
    for label, group in zip(labels, groups.values(), strict=True):
        name = label if labels.count(label) == 1 else str(group[0][0]["run"])
        made.append(_answerer(name, task, group, place))
    return tuple(sorted(made, key=lambda one: one.label))


def _answerer(
    label: str,
    task: str,
    runs: Sequence[tuple[Row, dict[Key, _Slim]]],
    place: Mapping[Key, int],
) -> Answerer:
    size, is_presence = len(place), _kind(task) == "presence"
    outcomes = np.full(size, NOT_ASKED)
    texts, predictions = np.full(size, None, object), np.full(size, None, object)
    for _, answers in reversed(runs):
        for key, (outcome, prediction, text) in answers.items():
            at = place[key]
            outcomes[at] = outcome_code(outcome, prediction if is_presence else 0)
            texts[at], predictions[at] = text, prediction
    human = any(about["model"]["name"] == HUMAN for about, _ in runs)
    return Answerer(
        label,
        HUMAN if human else "model",
        task,
        outcomes,
        texts,
        predictions,
        tuple(about for about, _ in runs),
    )


def constant_answerer(label: str, items: Items) -> Answerer:
    """One of ``BASELINES``, asked about everything."""
    size = len(items.keys)
    predictions = np.full(size, BASELINES[label], object)
    return Answerer(
        label, "constant", "presence", np.full(size, BASELINES[label]), predictions, predictions
    )


def human_answerer(answers: Answers) -> Answerer | None:
    """What people said about the images, from the labels; None without labels of people."""
    if answers.labels is None:
        return None
    outcomes = np.full(len(answers.items.keys), NOT_ASKED)
    for place, key in enumerate(answers.items.keys):
        row = answers.labels.rows.get(key)
        if row is not None and row["by"] == HUMAN:
            seen = row["human_discernable"]
            outcomes[place] = UNPARSED if seen is None else seen
    if (outcomes == NOT_ASKED).all():
        return None
    blank = np.full(len(outcomes), None, object)
    return Answerer(HUMAN, HUMAN, "presence", outcomes, blank, blank)


# --- images --------------------------------------------------------------------------------------


def _labels(dataset: Dataset, wanted: str | None) -> Labels | None:
    sources = label_sources(dataset.root)
    if wanted is None and not sources:
        return None
    source = wanted or sources[0]
    rows = read_labels(dataset.root, source)
    if wanted and not rows:
        makes = "annotate" if wanted == HUMAN else "discern"
        raise LabelsChoiceError(
            f"{dataset.root} holds no {wanted} labels; limen {makes} makes them"
        )
    if not rows:
        return None
    givers: dict[str, int] = {}
    for row in rows.values():
        givers[who(row)] = givers.get(who(row), 0) + 1
    words = ", ".join(f"{name} ({n:,})" for name, n in sorted(givers.items()))
    return Labels(source, words, rows)


def _items(
    keys: Sequence[Key], rows: Sequence[Row], views: Sequence[Row], labels: Labels | None
) -> tuple[Items, Column | None]:
    clusters = [_cluster(row, view) for row, view in zip(rows, views, strict=True)]
    names = {name: number for number, name in enumerate(sorted(set(clusters)))}
    present = np.array([int(row["target_present"]) for row in rows], np.int64)
    truths, single = {"presence": present}, None
    if labels is not None:
        label_of = labels.rows
        known = [
            None if (r := label_of.get(key)) is None else r["human_discernable"] for key in keys
        ]
        truths = {"discernable": _truth(present, known), "presence": present}
        one_for_all = single_labels(label_of)
        single = _truth(present, [one_for_all.get(row_id) for row_id, _ in keys])
    return (
        Items(
            keys=tuple(keys),
            factors=_factors(keys, rows, views),
            clusters=np.array([names[name] for name in clusters], np.int64),
            strata=np.array([int(name.startswith("background/")) for name in names], np.int64),
            truths=truths,
        ),
        single,
    )


def _truth(present: Column, labels: Sequence[int | None]) -> Column:
    """What a human sees: nothing where nobody is; unknown where there is no label."""
    known = np.array([UNKNOWN if label is None else label for label in labels], np.int64)
    return np.where(present == 1, known, 0)


def _cluster(row: Row, view: Row) -> str:
    """What an image shares its luck with: the person in its pose, or the background.

    A photograph of which nothing is known stands for itself.
    """
    if row["target_present"]:
        known = row["subject"] is not None or row["pose"] is not None
        return f"person/{row['subject']}/{row['pose']}" if known else f"person/{row['view_id']}"
    if view["plate_id"] is None:
        return f"background/{row['view_id']}"
    return f"background/{view['camera']['label']}/{row['distance_m']}/{row['scenery']}"


_OWN = ("action", "pose", "scenery", "subject", "texture", "azimuth_deg", "elevation_deg")


def _factors(keys: Sequence[Key], rows: Sequence[Row], views: Sequence[Row]) -> dict[str, Factor]:
    """All that varies, by name; pixel density stands for distance."""
    lux = {row["lighting"]: row["illuminance_nominal_lx"] or 0.0 for row in rows}
    lightings = sorted(lux, key=lambda name: (-lux[name], name))
    densities = [view["density_nominal_px_per_m"] for view in views]
    if impossible := [d for d in densities if d is not None and not d > 0]:
        # 0 would be taken for an image without a person.
        raise ValueError(f"a pixel density is {impossible[0]}")
    variants = [variant for _, variant in keys]
    values: dict[str, tuple[Sequence[Any], Sequence[Any] | None]] = {
        "density_px_per_m": ([None if d is None else round(d, 6) for d in densities], None),
        "illuminance_lx": ([row["illuminance_nominal_lx"] for row in rows], None),
        "lighting": ([row["lighting"] for row in rows], lightings),
        "band": ([row["band"] for row in rows], BANDS),
        "variant": (variants, (*_VARIANTS, *sorted(set(variants) - set(_VARIANTS)))),
        "condition": (
            [condition_of(row["band"], name) for row, name in zip(rows, variants, strict=True)],
            CONDITIONS,
        ),
    }
    others = {name for view in views for name in view["factors"]} - {"distance_m"}
    for name in (*(name for name in _OWN if name in others), *sorted(others - set(_OWN))):
        found = [view["factors"].get(name) for view in views]
        if all(value is None or isinstance(value, str | int | float) for value in found):
            values[name] = (found, sorted({v for v in found if v is not None}, key=_sortable))
    return {name: make_factor(name, found, order) for name, (found, order) in values.items()}


def _sortable(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value
