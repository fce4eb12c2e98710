"""Results of the action tasks: named in own words, or chosen among options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...addon.core import seeds
from ..metrics.intervals import Estimate, draw_clusters, paired_difference
from ..metrics.similarity import (
    Embed,
    chance_corrected,
    embedding_scores,
    nearest_actions,
    z_scores,
)
from ..metrics.tables import Items
from .answers import Answerer, Answers

__all__ = ["ActionResult", "ActionTable", "collect_actions"]

UNDECIDED, MISSING = "undecided", "no answer"


@dataclass(frozen=True, eq=False)
class ActionResult:
    """How one answerer named actions.

    Attributes:
        label: Of the answerer.
        accuracy: Right action / all questions; undecided and missing answers are wrong.
        by_density: px/m -> the same.
        similarity: Mean cosine with the right name, as published; None for a choice.
        similarity_by_density: px/m -> the same.
        corrected: Mean of the chance-corrected score; None for a choice.
        undecided: Share of answers from which no action could be read.
        missing: Share without a usable answer.
        chance: What choosing blindly scores.
        actions: Rows of the matrix.
        columns: Its columns: the actions, undecided, no answer.
        matrix: Counts.
        rules: How actions were read, rule -> answers.
    """

    label: str
    accuracy: Estimate
    by_density: Mapping[float, Estimate]
    similarity: Estimate | None
    similarity_by_density: Mapping[float, Estimate]
    corrected: Estimate | None
    undecided: float
    missing: float
    chance: float
    actions: tuple[str, ...]
    columns: tuple[str, ...]
    matrix: NDArray[np.int64]
    rules: Mapping[str, int]


@dataclass(frozen=True)
class ActionTable:
    """A task's results.

    Attributes:
        task: With its settings.
        question: As asked.
        is_open: Whether actions are named in own words.
        results: The most accurate first.
        z: Label -> z-score of the similarity within each px/m, for three models or more.
    """

    task: str
    question: str
    is_open: bool
    results: tuple[ActionResult, ...]
    z: Mapping[str, Mapping[float, float]]


def collect_actions(
    answers: Answers,
    embed: Embed | None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[ActionTable, ...]:
    """Score the action tasks.

    Args:
        answers: All of them.
        embed: For answers in own words; None leaves out what needs it.
        progress: Told (what, done, in all).
    """
    tables = []
    tasks = {task: of for task, of in answers.tasks.items() if task.startswith("action")}
    times = (
        draw_clusters(answers.items.strata, seeds.generator(0, "report", "actions"))
        if tasks
        else np.zeros((0, 0))
    )
    total, done = sum(map(len, tasks.values())), 0
    for task, people in tasks.items():
        is_open = task.partition(":")[0] == "action"
        results = []
        for one in people:
            result = _result(answers, one, is_open, embed, times)
            results += [result] if result else []
            done += 1
            if progress is not None:
                progress("actions", done, total)
        results.sort(key=lambda r: (-(r.accuracy.value or 0), r.label))
        question = str(people[0].runs[0].get("question", "")) if people else ""
        tables.append(ActionTable(task, question, is_open, tuple(results), _z(results)))
    return tuple(table for table in tables if table.results)


def _result(
    answers: Answers, one: Answerer, is_open: bool, embed: Embed | None, times: NDArray[np.float64]
) -> ActionResult | None:
    items = answers.items
    truth = items.factors["action"]
    rows = np.nonzero(one.asked & (truth.codes >= 0))[0]
    if not len(rows):
        return None
    right = [str(truth.levels[code]) for code in truth.codes[rows]]
    usable = one.outcomes[rows] < 2
    said = [
        str(p) if ok and p is not None else None
        for p, ok in zip(one.predictions[rows], usable, strict=True)
    ]
    rules: dict[str, int] = {}
    if is_open:
        named = nearest_actions(said, embed)
        for of in named:
            rules[of.rule] = rules.get(of.rule, 0) + 1
        chosen = [of.action for of in named]
    else:
        chosen = said
    hits = np.array([c == r for c, r in zip(chosen, right, strict=True)], float)
    density = items.factors["density_px_per_m"]

    def mean(values: NDArray[np.float64], of: NDArray[np.int64]) -> Estimate:
        return paired_difference(values, items.clusters[of], items.strata, times)

    def by_density(values: NDArray[np.float64]) -> dict[float, Estimate]:
        at = density.codes[rows]
        return {
            float(density.levels[k]): mean(values[at == k], rows[at == k]) for k in np.unique(at)
        }

    similarity = corrected = None
    similar: dict[float, Estimate] = {}
    if is_open and embed is not None:
        names = [action.replace("_", " ") for action in right]
        everyone = [str(level).replace("_", " ") for level in truth.levels]
        # The published score takes every answer word for word, read or not.
        raw = one.answers[rows].tolist()
        cosines = embedding_scores(raw, names, embed)
        similarity, similar = mean(cosines, rows), by_density(cosines)
        if len(everyone) > 1:
            corrected = mean(chance_corrected(raw, names, everyone, embed), rows)
    actions = tuple(sorted(set(right)))
    columns = (*actions, *sorted({c for c in chosen if c} - set(actions)), UNDECIDED, MISSING)
    matrix = np.zeros((len(actions), len(columns)), np.int64)
    for c, r, s in zip(chosen, right, said, strict=True):
        column = c if c is not None else (MISSING if s is None else UNDECIDED)
        matrix[actions.index(r), columns.index(column)] += 1
    return ActionResult(
        label=one.label,
        accuracy=mean(hits, rows),
        by_density=by_density(hits),
        similarity=similarity,
        similarity_by_density=similar,
        corrected=corrected,
        undecided=float(
            np.mean([c is None and s is not None for c, s in zip(chosen, said, strict=True)])
        ),
        missing=float(1 - usable.mean()),
        chance=_chance(one, is_open, items),
        actions=actions,
        columns=columns,
        matrix=matrix,
        rules=rules,
    )


def _chance(one: Answerer, is_open: bool, items: Items) -> float:
    """1 / options of a choice; of own words, always naming the most frequent action."""
    if not is_open:
        setting = dict(part.partition("=")[::2] for part in one.task.partition(":")[2].split(","))
        return 1 / int(setting.get("options", 4))
    codes = items.factors["action"].codes
    counts = np.bincount(codes[codes >= 0])
    return float(counts.max() / counts.sum())


def _z(results: Sequence[ActionResult]) -> dict[str, dict[float, float]]:
    densities = sorted({d for r in results for d in r.similarity_by_density})
    if len(results) < 3 or not densities:  # of two, one is always +0.71 and the other -0.71
        return {}
    means = [
        [
            e.value if (e := r.similarity_by_density.get(d)) and e.value is not None else np.nan
            for d in densities
        ]
        for r in results
    ]
    table = z_scores(means)
    return {
        r.label: {d: float(z) for d, z in zip(densities, line, strict=True) if np.isfinite(z)}
        for r, line in zip(results, table, strict=True)
    }
