"""Scores of the report: every run and the constant answers, over the cells of distance and band."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...addon.core import seeds
from ...addon.core.dataset import Dataset
from ...addon.core.lighting import BANDS
from ..evaluate import Run
from ..metrics import Scores, score
from ..tasks import Task
from . import text

__all__ = ["BASELINES", "Cell", "Line", "Results", "collect"]

BASELINES = {"always-yes": 1, "always-no": 0}
"""Constant answers. They need no run: the truth alone says what they score."""

BOOTSTRAP_SEED = 0

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """The scores of one answerer in one cell."""

    label: str
    is_baseline: bool
    scores: Scores


@dataclass(frozen=True)
class Cell:
    """Part of a dataset, and how everyone scored there.

    Attributes:
        distance_m: None for all distances.
        band: None for all bands.
        title: The cell in words.
        lines: Runs by label, then the constant answers.
    """

    distance_m: float | None
    band: str | None
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Results:
    """What the report shows of the runs of a task.

    Attributes:
        labels: Of the runs.
        overall: The whole dataset.
        by_distance: Near to far.
        by_band: Day to night.
        by_both: Distance by distance, day to night.
    """

    labels: tuple[str, ...]
    overall: Cell
    by_distance: tuple[Cell, ...]
    by_band: tuple[Cell, ...]
    by_both: tuple[Cell, ...]


def collect(dataset: Dataset, task: Task, runs: Sequence[Run]) -> Results:
    """Score every run of a task.

    Runs of the constant answers are left aside: those are computed, over all items that some other
    run answered (all items of the dataset where there is none).
    """
    judged = {run.label: run.rows for run in runs if run.about["model"]["name"] not in BASELINES}
    ids = {row["id"] for rows in judged.values() for row in rows} or dataset.index.keys()
    items = [dataset.index[row_id] for row_id in sorted(ids)]

    answers: dict[str, Sequence[Row]] = dict(sorted(judged.items()))
    for label, constant in BASELINES.items():
        answers[label] = [{**row, "prediction": constant} for row in items]
    clusters = {row["id"]: _cluster(dataset, row) for row in items}

    distances = sorted({row["distance_m"] for row in items})
    present = {row["band"] for row in items}
    bands = [band for band in BANDS if band in present]

    def cell(distance_m: float | None, band: str | None) -> Cell:
        def inside(row: Row) -> bool:
            return distance_m in (None, row["distance_m"]) and band in (None, row["band"])

        lines = []
        for label, rows in answers.items():
            chosen = [row for row in rows if inside(row)]
            if chosen:
                scores = _score(chosen, task.truth, clusters, f"{label}/{distance_m}/{band}")
                lines.append(Line(label, label in BASELINES, scores))
        words = [text.distance(distance_m)] if distance_m is not None else []
        words += [band] if band else []
        return Cell(distance_m, band, ", ".join(words) or "all", tuple(lines))

    return Results(
        labels=tuple(sorted(judged)),
        overall=cell(None, None),
        by_distance=tuple(cell(d, None) for d in distances),
        by_band=tuple(cell(None, b) for b in bands),
        by_both=tuple(cell(d, b) for d in distances for b in bands),
    )


def _score(
    rows: Iterable[Row], truth: Callable[[Row], int], clusters: Mapping[str, str], stage: str
) -> Scores:
    rows = list(rows)
    return score(
        [truth(row) for row in rows],
        [row["prediction"] for row in rows],
        [clusters[row["id"]] for row in rows],
        seeds.generator(BOOTSTRAP_SEED, "report", stage),
    )


def _cluster(dataset: Dataset, row: Row) -> str:
    """What an item shares its luck with: the person in its pose, or the background."""
    if row["target_present"]:
        return f"person/{row['subject']}/{row['pose']}"
    camera = dataset.views[row["view_id"]]["camera"]["label"]
    return f"background/{camera}/{row['distance_m']}/{row['scenery']}"
