"""Scores of the report: everyone, against each truth, over every factor and pair of factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addon.core import seeds
from ..metrics.constant import ConstantCheck, check_constant
from ..metrics.intervals import (
    FEW_CLUSTERS,
    Comparison,
    Estimate,
    clustered_estimates,
    compare_paired,
    draw_clusters,
    holm,
    paired_difference,
)
from ..metrics.published import CONDITIONS, always_yes_overall, published_scores
from ..metrics.scores import METRICS, OUTCOMES
from ..metrics.tables import UNKNOWN, Items, cell_counts
from .answers import BASELINES, HUMAN, Answerer, Answers, constant_answerer, human_answerer

__all__ = [
    "USABLE",
    "Gain",
    "Pair",
    "PublishedRow",
    "Results",
    "Score",
    "collect",
    "everyone",
    "overall_scores",
]

USABLE = 0.80
"""The accuracy that the published evaluation calls industrially usable."""

BOOTSTRAP_SEED = 0
_PAIR_RESAMPLES = 300
_PAIR_METRICS = ("accuracy", "balanced_accuracy", "sensitivity", "specificity")
_MOST_LEVELS = 60
_MOST_CELLS = 240
_FIRST = ("density_px_per_m", "band", "lighting", "variant")
"""Kept where another factor varies exactly as they do."""

Levels = tuple[Any, ...]


@dataclass(frozen=True)
class Score:
    """How one answerer did in one cell.

    Attributes:
        label: Of the answerer.
        truth: ``discernable`` or ``presence``.
        by: The factors that cut the cell out; none for everything.
        levels: Of these.
        positives: Questions whose truth is 1.
        negatives: Questions whose truth is 0.
        estimates: Metric -> estimate.
    """

    label: str
    truth: str
    by: tuple[str, ...]
    levels: Levels
    positives: int
    negatives: int
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True)
class Pair:
    """Two answerers compared; the first did better."""

    first: str
    second: str
    comparison: Comparison
    p_holm: float | None

    @property
    def p_holm_or_one(self) -> float:
        """1 where there is no p: one group decides."""
        return 1.0 if self.p_holm is None else self.p_holm

    @property
    def p_words(self) -> str:
        """As a reader wants it."""
        if self.p_holm is None:
            return "–"
        return "< 0.001" if self.p_holm < 0.001 else f"{self.p_holm:.3f}"


@dataclass(frozen=True)
class Gain:
    """What night vision changes, image by image.

    Attributes:
        label: Of the answerer.
        over: ``accuracy`` (against the main truth), ``seen`` (yes where somebody is), or
            ``false alarms`` (yes where nobody is).
        before: Share without night vision.
        after: Share with it.
        difference: After minus before, paired.
    """

    label: str
    over: str
    before: float
    after: float
    difference: Estimate


@dataclass(frozen=True)
class PublishedRow:
    """A row of the published table, over these images.

    Attributes:
        label: Of the answerer.
        accuracy: Condition or ``overall`` -> share, by distance.
        macro_f1: The same.
        dropped: Missing answers, which the published rule leaves out.
    """

    label: str
    accuracy: Mapping[float, Mapping[str, float]]
    macro_f1: Mapping[float, Mapping[str, float]]
    dropped: int


@dataclass(frozen=True, eq=False)
class Results:
    """What the report shows of presence.

    Attributes:
        labels: Of models and people, the best first by balanced accuracy (accuracy where that is
            undefined), then the constants.
        kinds: Label -> ``model``, ``human`` or ``constant``.
        truths: The main one first.
        against: The main one, in words.
        scores: All of them; :meth:`find` looks one up.
        checks: Label -> the run against the better constant answer, on the main truth.
        pairs: Everyone against everyone, on the questions that both answered, on the main truth.
        gains: Of night vision.
        published: The published aggregation.
        always_yes: Distance -> what always yes scores by the published rule.
        few_clusters: How many independent groups of persons there are, where too few.
        person_clusters: How many there are.
    """

    labels: tuple[str, ...]
    kinds: Mapping[str, str]
    truths: tuple[str, ...]
    against: str
    scores: Mapping[tuple[str, str, tuple[str, ...], Levels], Score]
    checks: Mapping[str, ConstantCheck]
    pairs: tuple[Pair, ...]
    gains: tuple[Gain, ...]
    published: tuple[PublishedRow, ...]
    always_yes: Mapping[float, float]
    person_clusters: int

    @property
    def few_clusters(self) -> bool:
        """Whether intervals are unreliable."""
        return self.person_clusters < FEW_CLUSTERS

    def find(
        self, label: str, truth: str, by: Sequence[str] = (), levels: Levels = ()
    ) -> Score | None:
        """The score of one cell, None where nobody was asked there."""
        return self.scores.get((label, truth, tuple(by), levels))

    @property
    def models(self) -> tuple[str, ...]:
        """Labels without the constants."""
        return tuple(label for label in self.labels if self.kinds[label] != "constant")


def everyone(answers: Answers) -> tuple[Answerer, ...]:
    """Models and people, then the constants."""
    asked = list(answers.presence)
    if not any(one.kind == HUMAN for one in asked):
        human = human_answerer(answers)
        asked += [human] if human else []
    return (*asked, *(constant_answerer(label, answers.items) for label in BASELINES))


def collect(answers: Answers, progress: Callable[[str, int, int], None] | None = None) -> Results:
    """Score everyone who was asked whether somebody is there.

    Args:
        answers: Of :func:`..answers.load_answers`.
        progress: Told (what, done, in all).
    """
    items, people = answers.items, everyone(answers)
    times = draw_clusters(items.strata, _rng("scores"))
    scores: dict[tuple[str, str, tuple[str, ...], Levels], Score] = {}
    factors = _single_factors(items)
    pairs = _factor_pairs(factors, items)
    for number, one in enumerate(people):
        for truth in items.truths:
            for score in _scores(items, one, truth, factors, pairs, times):
                scores[score.label, score.truth, score.by, score.levels] = score
        if progress is not None:
            progress("scores", number + 1, len(people))
    main = answers.truth
    labels = sorted(people, key=lambda one: _rank(scores.get((one.label, main, (), ())), one))
    judged = [one for one in people if one.kind != "constant"]
    used = np.zeros(len(items.strata), bool)
    for one in judged or people:
        used[items.clusters[one.asked]] = True
    return Results(
        labels=tuple(one.label for one in labels),
        kinds={one.label: one.kind for one in people},
        truths=tuple(items.truths),
        against=answers.truth_words,
        scores=scores,
        checks=_checks(answers, judged, times),
        pairs=_pairs(answers, judged, times),
        gains=_gains(answers, judged, times),
        published=_published(answers, [one for one in people if one.kind != HUMAN]),
        always_yes=_always_yes(answers),
        person_clusters=int((used & (items.strata == 0)).sum()),
    )


def overall_scores(answers: Answers) -> Results:
    """The scores over all images only, for the terminal."""
    items, people = answers.items, everyone(answers)
    times = draw_clusters(items.strata, _rng("scores"))
    scores = {
        (score.label, score.truth, score.by, score.levels): score
        for one in people
        for truth in items.truths
        for score in _scores(items, one, truth, (), (), times)
    }
    main = answers.truth
    labels = sorted(people, key=lambda one: _rank(scores.get((one.label, main, (), ())), one))
    judged = [one for one in people if one.kind != "constant"]
    return Results(
        labels=tuple(one.label for one in labels),
        kinds={one.label: one.kind for one in people},
        truths=tuple(items.truths),
        against=answers.truth_words,
        scores=scores,
        checks=_checks(answers, judged, times),
        pairs=(),
        gains=(),
        published=(),
        always_yes={},
        person_clusters=int((items.strata == 0).sum()),
    )


def _rng(stage: str) -> np.random.Generator:
    return seeds.generator(BOOTSTRAP_SEED, "report", stage)


def _rank(score: Score | None, one: Answerer) -> tuple[Any, ...]:
    """People first, then the higher score, constants last."""
    if one.kind == HUMAN:
        return (False, -2.0, one.label)
    if score is None:
        return (one.kind == "constant", 2.0, one.label)
    value = score.estimates["balanced_accuracy"].value
    if value is None:
        value = score.estimates["accuracy"].value
    return (one.kind == "constant", 2.0 if value is None else -value, one.label)


# --- cells ---------------------------------------------------------------------------------------


def _single_factors(items: Items) -> tuple[tuple[str, ...], ...]:
    """Factors to cut by: those that vary, without those that vary exactly as an earlier one."""
    chosen: dict[tuple[int, ...], str] = {}
    for name in (*_FIRST, *items.factors):
        factor = items.factors[name]
        if 1 < len(factor.levels) <= _MOST_LEVELS:
            _, renumbered = np.unique(factor.codes, return_inverse=True)
            order = {code: number for number, code in enumerate(dict.fromkeys(renumbered.tolist()))}
            chosen.setdefault(tuple(order[code] for code in renumbered.tolist()), name)
    return tuple((name,) for name in chosen.values())


def _factor_pairs(singles: Sequence[tuple[str, ...]], items: Items) -> tuple[tuple[str, ...], ...]:
    """Pairs of factors; not those where one level says the other, as pose says action."""
    chosen = []
    for first, second in combinations([name for (name,) in singles], 2):
        a, b = items.factors[first], items.factors[second]
        both = (a.codes >= 0) & (b.codes >= 0)
        cells = len(np.unique(a.codes[both] * len(b.levels) + b.codes[both]))
        most = max(len(np.unique(a.codes[both])), len(np.unique(b.codes[both])))
        if most < cells <= _MOST_CELLS:
            chosen.append((first, second))
    return tuple(chosen)


def _scores(
    items: Items,
    one: Answerer,
    truth: str,
    factors: Sequence[tuple[str, ...]],
    pairs: Sequence[tuple[str, ...]],
    times: NDArray[np.float64],
) -> Iterator[Score]:
    if one.kind == HUMAN and truth == "discernable":
        return  # the truth is what people said
    few = {name: METRICS[name] for name in _PAIR_METRICS}
    for by in ((), *factors, *pairs):
        counts = cell_counts(items, by, items.truths[truth], one.outcomes)
        levels = [items.factors[name].levels for name in by]
        shape = [len(of) for of in levels]
        asked = np.nonzero(counts.sum(axis=(1, 2, 3)) > 0)[0]
        if not len(asked):
            continue
        counts = counts[asked]
        draws, metrics = (times[:_PAIR_RESAMPLES], few) if len(by) == 2 else (times, METRICS)
        estimates = clustered_estimates(metrics, counts, items.strata, draws)
        totals = counts.sum(axis=(1, 3))
        for number, of_cell, total in zip(asked, estimates, totals, strict=True):
            places = np.unravel_index(number, shape) if shape else ()
            yield Score(
                one.label,
                truth,
                by,
                tuple(of[int(place)] for of, place in zip(levels, places, strict=True)),
                int(total[1]),
                int(total[0]),
                of_cell,
            )


# --- everyone against constants and each other ---------------------------------------------------


def _answered(answers: Answers, one: Answerer, truth: str) -> NDArray[np.bool_]:
    return np.asarray(one.asked & (answers.items.truths[truth] != UNKNOWN))


def _checks(
    answers: Answers, people: Sequence[Answerer], times: NDArray[np.float64]
) -> dict[str, ConstantCheck]:
    items, found = answers.items, {}
    truth = items.truths[answers.truth]
    for one in people:
        rows = _answered(answers, one, answers.truth)
        check = check_constant(
            truth[rows], one.outcomes[rows], items.clusters[rows], items.strata, times
        )
        if check is not None and one.kind == "model":
            found[one.label] = check
    return found


def _pairs(
    answers: Answers, people: Sequence[Answerer], times: NDArray[np.float64]
) -> tuple[Pair, ...]:
    items = answers.items
    found = []
    for a, b in combinations(people, 2):
        # People are judged by what is there: against their own labels they are always right.
        name = "presence" if HUMAN in (a.kind, b.kind) else answers.truth
        truth = items.truths[name]
        rows = _answered(answers, a, name) & _answered(answers, b, name)
        if not rows.any():
            continue
        right = [one.outcomes[rows] == truth[rows] for one in (a, b)]
        if right[1].mean() > right[0].mean():
            a, b, right = b, a, right[::-1]
        comparison = compare_paired(right[0], right[1], items.clusters[rows], items.strata, times)
        found.append((a.label, b.label, comparison))
    adjusted = iter(holm([c.p_value for *_, c in found if c.p_value is not None]))
    return tuple(
        Pair(first, second, c, None if c.p_value is None else next(adjusted))
        for first, second, c in found
    )


def _gains(
    answers: Answers, people: Sequence[Answerer], times: NDArray[np.float64]
) -> tuple[Gain, ...]:
    """Each image without and with night vision: camera where there is that, else clean."""
    place = {key: number for number, key in enumerate(answers.items.keys)}
    items, found = answers.items, []
    couples = []
    for (row_id, variant), after in place.items():
        if variant == "nv":
            before = place.get((row_id, "camera"), place.get((row_id, "clean")))
            if before is not None:
                couples.append((before, after))
    if not couples:
        return ()
    pairs = np.array(couples)
    present = items.truths["presence"]
    main = items.truths[answers.truth]
    for one in people:
        asked = one.asked[pairs].all(axis=1)
        right = (one.outcomes == main) & (main != UNKNOWN)
        yes = one.outcomes == 1
        known = (main[pairs] != UNKNOWN).all(axis=1)
        over: dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {
            "accuracy": (right, asked & known & (one.kind != HUMAN)),
            "seen": (yes, asked & (present[pairs[:, 0]] == 1)),
            "false alarms": (yes, asked & (present[pairs[:, 0]] == 0)),
        }
        for name, (column, rows) in over.items():
            if not rows.any():
                continue
            before, after = (column[pairs[rows, side]].astype(float) for side in (0, 1))
            difference = paired_difference(
                after - before, items.clusters[pairs[rows, 0]], items.strata, times
            )
            gain = Gain(one.label, name, float(before.mean()), float(after.mean()), difference)
            found.append(gain)
    return tuple(found)


# --- the published aggregation -------------------------------------------------------------------


def _columns(answers: Answers) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Truth as published (one label for an image and its night vision), condition, distance."""
    items = answers.items
    truth = items.truths["presence"] if answers.single_label is None else answers.single_label
    condition = items.factors["condition"]
    names = np.array(condition.levels)[condition.codes]
    distances = np.array([row["distance_m"] for row in answers.rows], float)  # None is nan
    return truth, names, distances


def _published(answers: Answers, people: Sequence[Answerer]) -> tuple[PublishedRow, ...]:
    truth, conditions, distances = _columns(answers)
    known = np.isfinite(distances)
    if len(set(distances[known])) > _MOST_LEVELS:
        return ()
    found = []
    for one in people:
        rows = one.asked & (truth != UNKNOWN) & known
        if not rows.any():
            continue
        cells = published_scores(truth[rows], one.outcomes[rows], conditions[rows], distances[rows])
        by_metric = {
            metric: {
                metres: {name: cell[metric] for name, cell in of.items()}
                for metres, of in cells.items()
            }
            for metric in ("accuracy", "macro_f1")
        }
        dropped = int((one.outcomes[rows] >= OUTCOMES.index("unparsed")).sum())
        found.append(PublishedRow(one.label, by_metric["accuracy"], by_metric["macro_f1"], dropped))
    return tuple(found)


def _always_yes(answers: Answers) -> dict[float, float]:
    truth, conditions, distances = _columns(answers)
    known = (truth != UNKNOWN) & np.isfinite(distances)
    return {
        float(metres): always_yes_overall(
            truth[known & (distances == metres)], conditions[known & (distances == metres)]
        )
        for metres in np.unique(distances[known])
    }


def conditions_shown(rows: Sequence[PublishedRow]) -> tuple[str, ...]:
    """The conditions that occur, in their order."""
    there = {name for row in rows for of in row.accuracy.values() for name in of}
    return tuple(name for name in CONDITIONS if name in there)
