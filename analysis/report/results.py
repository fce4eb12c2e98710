"""Scores of the report: every run and the constant answers, over cells of distance and light."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...addon.core import seeds
from ...addon.core.dataset import Dataset
from ...addon.core.lighting import BANDS
from ..evaluate import Run
from ..metrics import METRICS, Scores, score
from ..tasks import Task
from . import text

__all__ = ["BASELINES", "Cell", "Line", "Results", "collect", "overall_scores", "scores_csv"]

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
        lighting: None for all light conditions.
        title: The cell in words.
        lines: Runs by label, then the constant answers.
    """

    distance_m: float | None
    band: str | None
    lighting: str | None
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
        by_lighting: Every light condition, bright to dark.
        by_lighting_and_distance: The same, near to far in each.
    """

    labels: tuple[str, ...]
    overall: Cell
    by_distance: tuple[Cell, ...]
    by_band: tuple[Cell, ...]
    by_both: tuple[Cell, ...]
    by_lighting: tuple[Cell, ...]
    by_lighting_and_distance: tuple[Cell, ...]


def collect(dataset: Dataset, task: Task, runs: Sequence[Run]) -> Results:
    """Score every run of a task.

    Runs of the constant answers are left aside: those are computed, over all items that some other
    run answered (all items of the dataset where there is none).
    """
    answers = _answers(dataset, runs)
    clusters = _clusters(dataset)
    items = answers[next(iter(BASELINES))]
    distances = sorted({row["distance_m"] for row in items})
    present = {row["band"] for row in items}
    bands = [band for band in BANDS if band in present]
    lux = {row["lighting"]: row["illuminance_nominal_lx"] for row in items}
    lightings = sorted(lux, key=lambda name: (-lux[name], name))

    def cell(
        distance_m: float | None, band: str | None = None, lighting: str | None = None
    ) -> Cell:
        words = [band] if band else []
        words += [f"{lighting}, {text.illuminance(lux[lighting])}"] if lighting else []
        at = [text.distance(distance_m)] if distance_m is not None else []
        title = ", ".join(words + at if lighting else at + words)
        return _cell(answers, task, clusters, title, distance_m, band, lighting)

    return Results(
        labels=tuple(label for label in answers if label not in BASELINES),
        overall=_cell(answers, task, clusters, "all"),
        by_distance=tuple(cell(d) for d in distances),
        by_band=tuple(cell(None, b) for b in bands),
        by_both=tuple(cell(d, b) for d in distances for b in bands),
        by_lighting=tuple(cell(None, None, name) for name in lightings),
        by_lighting_and_distance=tuple(
            cell(d, None, name) for name in lightings for d in distances
        ),
    )


def overall_scores(dataset: Dataset, task: Task, runs: Sequence[Run]) -> Cell:
    """Score every run of a task over all its images, see :func:`collect`."""
    return _cell(_answers(dataset, runs), task, _clusters(dataset), "all")


def scores_csv(results: Results) -> str:
    """Write all scores as CSV, a line per score: shares from 0 to 1, empty where undefined."""
    tables = {
        "all": (results.overall,),
        "distance_m": results.by_distance,
        "band": results.by_band,
        "lighting": results.by_lighting,
        "distance_m x band": results.by_both,
        "distance_m x lighting": results.by_lighting_and_distance,
    }
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("model", "by", "level", "metric", "value", "low", "high", "n"))
    for by, cells in tables.items():
        for cell in cells:
            at = "" if cell.distance_m is None else f"{cell.distance_m:g}"
            level = " x ".join(filter(None, (at, cell.band, cell.lighting))) or "all"
            for line in cell.lines:
                for metric in METRICS:
                    estimate = line.scores.estimates[metric]
                    numbers = (estimate.value, *(estimate.interval or (None, None)))
                    shares = ["" if share is None else f"{share:.6g}" for share in numbers]
                    writer.writerow((line.label, by, level, metric, *shares, estimate.n))
    return file.getvalue()


def _answers(dataset: Dataset, runs: Sequence[Run]) -> dict[str, Sequence[Row]]:
    """Answered rows of the runs by label, then those of the constant answers."""
    judged = {run.label: run.rows for run in runs if run.about["model"]["name"] not in BASELINES}
    ids = {row["id"] for rows in judged.values() for row in rows} or dataset.index.keys()
    items = [dataset.index[row_id] for row_id in sorted(ids)]
    answers: dict[str, Sequence[Row]] = dict(sorted(judged.items()))
    for label, constant in BASELINES.items():
        answers[label] = [{**row, "prediction": constant} for row in items]
    return answers


def _cell(
    answers: Mapping[str, Sequence[Row]],
    task: Task,
    clusters: Mapping[str, str],
    title: str,
    distance_m: float | None = None,
    band: str | None = None,
    lighting: str | None = None,
) -> Cell:
    wanted = {"distance_m": distance_m, "band": band, "lighting": lighting}
    asked = {key: level for key, level in wanted.items() if level is not None}
    lines = []
    for label, rows in answers.items():
        chosen = [row for row in rows if all(row[key] == level for key, level in asked.items())]
        if chosen:
            stage = f"{label}/{distance_m}/{lighting or band}"
            scores = _score(chosen, task.truth, clusters, stage)
            lines.append(Line(label, label in BASELINES, scores))
    return Cell(distance_m, band, lighting, title, tuple(lines))


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


def _clusters(dataset: Dataset) -> dict[str, str]:
    return {row_id: _cluster(dataset, row) for row_id, row in dataset.index.items()}


def _cluster(dataset: Dataset, row: Row) -> str:
    """What an item shares its luck with: the person in its pose, or the background."""
    if row["target_present"]:
        return f"person/{row['subject']}/{row['pose']}"
    camera = dataset.views[row["view_id"]]["camera"]["label"]
    return f"background/{camera}/{row['distance_m']}/{row['scenery']}"
