"""How well annotators agree, with each other, with themselves, and with what is known to be so.

Pure computation on answers; people and simulated observers are always computed apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import wilson_interval
from .answers import AnswerRecord
from .coefficients import (
    alpha,
    alpha_parts,
    bootstrap,
    cohen_kappa,
    fleiss,
    fleiss_kappa,
    fleiss_parts,
    kappa,
    nominal_alpha,
    nominal_kappa,
    nominal_parts,
    ordinal_alpha,
    quadratic,
)
from .errors import AnnotateChoiceError
from .tasks import TASKS, AnnotationTask, category, positive

__all__ = [
    "Agreement",
    "AnnotatorSummary",
    "Estimate",
    "Rules",
    "agreement_of",
    "kept_answers",
    "parse_rules",
]

RESAMPLES = 1000
Floats = NDArray[np.float64]
Key = tuple[str, str]


@dataclass(frozen=True)
class Rules:
    """Which answers and annotators do not count. The numbers are ours; all can be changed.

    Attributes:
        min_response_ms: A quicker answer is not about the image and is left out (choices between
            two take people 200 ms and more).
        max_catch_errors: Who sees someone in a larger share of the catch trials is left out,
        min_catch: as soon as so many were answered.
        min_self_consistency: Who answers a smaller share of the repeats as before is left out,
        min_repeats: as soon as so many were answered.
        min_answers: Who gave fewer is not compared with others; their answers do count for labels.
    """

    min_response_ms: float = 150.0
    max_catch_errors: float = 0.2
    min_catch: int = 10
    min_self_consistency: float = 0.7
    min_repeats: int = 10
    min_answers: int = 20

    def in_words(self) -> list[str]:
        """Return them as sentences."""
        return [
            f"An answer given in less than {self.min_response_ms:g} ms is left out.",
            f"An annotator who sees someone in more than {100 * self.max_catch_errors:g} % of the "
            f"catch trials, of at least {self.min_catch}, is left out.",
            f"An annotator who answers less than {100 * self.min_self_consistency:g} % of the "
            f"repeats as before, of at least {self.min_repeats}, is left out.",
            f"An annotator with fewer than {self.min_answers} answers is not compared with others.",
        ]


def parse_rules(changes: Sequence[str]) -> Rules:
    """Read ``NAME=VALUE`` changes of the rules.

    Raises:
        AnnotateChoiceError: There is no such rule, or the value is no number in its range.
    """
    rules, known = Rules(), {field.name for field in fields(Rules)}
    for change in changes:
        name, _, text = change.partition("=")
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        share = name in ("max_catch_errors", "min_self_consistency")
        if name not in known or not 0 <= value <= (1 if share else 1e9):
            raise AnnotateChoiceError(
                f"rule {change!r}: NAME=VALUE with a name of {', '.join(sorted(known))}, "
                "shares from 0 to 1, other numbers from 0"
            )
        changed: dict[str, Any] = {name: type(getattr(rules, name))(value)}
        rules = replace(rules, **changed)
    return rules


@dataclass(frozen=True)
class Estimate:
    """A number, its 95 % interval, and what it is of: ``n`` trials or images."""

    value: float | None
    interval: tuple[float, float] | None
    n: int


@dataclass(frozen=True)
class AnnotatorSummary:
    """One annotator.

    Attributes:
        name: Who.
        answers: How many, repeats included.
        unsure: Share of unsure answers.
        positive: Share of "seen" among decided answers, or the mean rating.
        bias: How much higher that is than the others' on the same images.
        catch_errors: Share of catch trials in which they saw someone (without ratings).
        self_consistency: Share of repeats answered as before.
        seconds: Median time an image; None where nobody measured it.
        seconds_quartiles: The middle half of the times.
        too_quick: Answers left out for their time.
        reshown: Answers to images that were shown more than once.
        excluded: Why they are left out, empty where they are not.
    """

    name: str
    answers: int
    unsure: Estimate
    positive: Estimate
    bias: Estimate
    catch_errors: Estimate
    self_consistency: Estimate
    seconds: float | None
    seconds_quartiles: tuple[float, float] | None
    too_quick: int
    reshown: int
    excluded: str


@dataclass(frozen=True)
class Agreement:
    """One kind of annotators (people, or simulated) in one round.

    Attributes:
        round: The round's name.
        task: Its task.
        by: ``human`` or ``simulated``.
        annotators: Everyone, also who is left out.
        compared: Who is compared.
        images: Images with an answer of one of them.
        alpha: Krippendorff's alpha: nominal, ordinal for ratings.
        fleiss: Fleiss' kappa, over the images that all of them decided.
        cohen: Pair -> Cohen's kappa, with quadratic weights for ratings.
        alpha_by_variant: Variant -> alpha.
    """

    round: str
    task: str
    by: str
    annotators: tuple[AnnotatorSummary, ...]
    compared: tuple[str, ...]
    images: int
    alpha: Estimate
    fleiss: Estimate
    cohen: Mapping[tuple[str, str], Estimate]
    alpha_by_variant: Mapping[str, Estimate]

    def as_row(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        row = asdict(self)
        row["cohen"] = [
            {"pair": list(pair), **asdict(estimate)} for pair, estimate in self.cohen.items()
        ]
        return row


# --- rules ---------------------------------------------------------------------------------------


def kept_answers(
    answers: Iterable[AnswerRecord], rules: Rules
) -> tuple[list[AnswerRecord], dict[str, str]]:
    """Apply the rules to the answers of one round and one kind of annotators.

    Returns:
        The answers that count, and annotator -> why they are left out.
    """
    slow = [answer for answer in answers if not _too_quick(answer, rules)]
    reasons = {}
    for name, own in _by_annotator(slow).items():
        task = TASKS[own[0].task]
        wrong, trials = _catch(task, own)
        same, repeats = _repeats(task, own)
        if trials >= rules.min_catch and wrong > rules.max_catch_errors * trials:
            reasons[name] = f"saw someone in {wrong} of {trials} catch trials"
        elif repeats >= rules.min_repeats and same < rules.min_self_consistency * repeats:
            reasons[name] = f"answered {same} of {repeats} repeats as before"
    return [answer for answer in slow if answer.annotator not in reasons], reasons


def _too_quick(answer: AnswerRecord, rules: Rules) -> bool:
    return answer.response_ms is not None and answer.response_ms < rules.min_response_ms


def _by_annotator(answers: Iterable[AnswerRecord]) -> dict[str, list[AnswerRecord]]:
    found: dict[str, list[AnswerRecord]] = {}
    for answer in answers:
        found.setdefault(answer.annotator, []).append(answer)
    return found


def _catch(task: AnnotationTask, own: Iterable[AnswerRecord]) -> tuple[int, int]:
    """How many catch trials were answered "seen", and how many there were (decided or not)."""
    if task.level == "ordinal":
        return 0, 0
    caught = [positive(task, a.value) for a in own if a.catch and a.showing == 0]
    return sum(value == 1 for value in caught), len(caught)


def _repeats(task: AnnotationTask, own: Sequence[AnswerRecord]) -> tuple[int, int]:
    """How many repeats were answered as the first time, and how many there were."""
    first = {(a.id, a.variant): category(task, a.value, a.text) for a in own if a.showing == 0}
    pairs = [
        (first[a.id, a.variant], category(task, a.value, a.text))
        for a in own
        if a.showing and (a.id, a.variant) in first
    ]
    return sum(one == two for one, two in pairs), len(pairs)


# --- agreement -----------------------------------------------------------------------------------


def agreement_of(answers: Sequence[AnswerRecord], rules: Rules | None = None) -> Agreement:
    """Compare the annotators of one round and one kind.

    Only first showings are compared; unsure is no answer here, it is counted by itself. Intervals
    are 95 % percentiles of a bootstrap that draws whole views, because images of one view share
    their luck; those of plain shares are Wilson's.

    Args:
        answers: At least one, all of one round and of one kind.
        rules: Who and what is left out.
    """
    rules = rules or Rules()
    task, by = TASKS[answers[0].task], answers[0].by
    kept, reasons = kept_answers(answers, rules)
    first = [a for a in kept if a.showing == 0]
    counts = {name: len(own) for name, own in _by_annotator(first).items()}
    compared = tuple(sorted(name for name, n in counts.items() if n >= rules.min_answers))
    table = _Table(task, [a for a in first if a.annotator in compared], compared)
    summaries = tuple(
        _summary(task, name, own, first, rules, reasons.get(name, ""))
        for name, own in sorted(_by_annotator(answers).items())
    )
    variants = sorted({variant for _, variant in table.keys})
    return Agreement(
        round=answers[0].round,
        task=task.name,
        by=by,
        annotators=summaries,
        compared=compared,
        images=len(table.keys),
        alpha=_alpha_estimate(table),
        fleiss=_fleiss_estimate(table),
        cohen={
            (compared[one], compared[two]): _cohen_estimate(table, one, two)
            for one, two in combinations(range(len(compared)), 2)
        },
        alpha_by_variant={
            variant: _alpha_estimate(
                _Table(task, [a for a in first if a.variant == variant], compared)
            )
            for variant in variants
        },
    )


class _Table:
    """Codes (images, annotators), -1 where there is none, and the view of each image."""

    def __init__(
        self, task: AnnotationTask, answers: Sequence[AnswerRecord], names: Sequence[str]
    ) -> None:
        self.task = task
        self.keys = sorted({(a.id, a.variant) for a in answers})
        rows = {key: number for number, key in enumerate(self.keys)}
        columns = {name: number for number, name in enumerate(names)}
        if task.level == "ordinal":
            values = [value for value in task.values if value.isdigit()]
        else:
            found = {category(task, a.value, a.text) for a in answers} - {None}
            values = sorted(value for value in found if value is not None)
        self.values = values
        codes = {value: number for number, value in enumerate(values)}
        self.codes = np.full((len(rows), len(names)), -1, np.int64)
        views: list[str] = [""] * len(rows)
        for a in answers:
            if a.annotator in columns:
                row = rows[a.id, a.variant]
                value = category(task, a.value, a.text)
                self.codes[row, columns[a.annotator]] = -1 if value is None else codes[value]
                views[row] = a.view_id
        names_of_views = {view: number for number, view in enumerate(dict.fromkeys(views))}
        self.clusters = np.array([names_of_views[view] for view in views], np.int64)


# --- estimates ----------------------------------------------------------------------------------


def _counts(table: _Table, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack(
        [(codes == value).sum(axis=1) for value in range(max(1, len(table.values)))], axis=1
    )


def _alpha_estimate(table: _Table) -> Estimate:
    paired = (table.codes >= 0).sum(axis=1) >= 2 if len(table.keys) else np.zeros(0, bool)
    n = int(paired.sum())
    value = alpha(table.codes, table.task.level, len(table.values)) if n else None
    if value is None:
        return Estimate(None, None, n)
    counts = _counts(table, table.codes[paired])
    if table.task.level == "ordinal":
        interval = bootstrap(ordinal_alpha, alpha_parts(counts), table.clusters[paired], "alpha")
    else:
        interval = bootstrap(nominal_alpha, nominal_parts(counts), table.clusters[paired], "alpha")
    return Estimate(value, interval, n)


def _fleiss_estimate(table: _Table) -> Estimate:
    if table.codes.shape[1] < 2:
        return Estimate(None, None, 0)
    whole = (table.codes >= 0).all(axis=1)
    counts = _counts(table, table.codes[whole])
    value = fleiss_kappa(counts) if len(counts) else None
    if value is None:
        return Estimate(None, None, int(whole.sum()))
    interval = bootstrap(fleiss, fleiss_parts(counts), table.clusters[whole], "fleiss")
    return Estimate(value, interval, int(whole.sum()))


def _cohen_estimate(table: _Table, one: int, two: int) -> Estimate:
    both = (table.codes[:, [one, two]] >= 0).all(axis=1)
    a, b = table.codes[both, one], table.codes[both, two]
    size, clusters = len(table.values), table.clusters[both]
    weights = quadratic(size) if table.task.level == "ordinal" else None
    value = cohen_kappa(list(a), list(b), weights)
    if value is None:
        return Estimate(None, None, len(a))
    if weights is not None:
        pairs = np.zeros((len(a), size, size))
        pairs[np.arange(len(a)), a, b] = 1
        interval = bootstrap(lambda p: kappa(p, weights), pairs, clusters, "cohen")
    else:
        eye = np.eye(size)
        parts = np.concatenate([(a == b)[:, None], eye[a], eye[b]], axis=1)
        interval = bootstrap(nominal_kappa, parts, clusters, "cohen")
    return Estimate(value, interval, len(a))


# --- each annotator ------------------------------------------------------------------------------


def _summary(
    task: AnnotationTask,
    name: str,
    own: Sequence[AnswerRecord],
    others: Sequence[AnswerRecord],
    rules: Rules,
    excluded: str,
) -> AnnotatorSummary:
    kept = [a for a in own if not _too_quick(a, rules)]
    first = [a for a in kept if a.showing == 0]
    decided = [v for a in first if (v := positive(task, a.value)) is not None]
    seconds = sorted(
        a.response_ms / 1000 for a in kept if a.response_ms is not None and not a.interrupted
    )
    return AnnotatorSummary(
        name=name,
        answers=len(own),
        unsure=_share(len(first) - len(decided), len(first)),
        positive=_mean(task, decided),
        bias=_bias(task, name, first, others),
        catch_errors=_share(*_catch(task, kept)),
        self_consistency=_share(*_repeats(task, kept)),
        seconds=median(seconds) if seconds else None,
        seconds_quartiles=(
            (float(np.quantile(seconds, 0.25)), float(np.quantile(seconds, 0.75)))
            if seconds
            else None
        ),
        too_quick=len(own) - len(kept),
        reshown=sum(a.shown_count > 1 for a in kept),
        excluded=excluded,
    )


def _share(hits: int, n: int) -> Estimate:
    return Estimate(hits / n if n else None, wilson_interval(hits, n), n)


def _mean(task: AnnotationTask, values: Sequence[float]) -> Estimate:
    if task.level == "nominal":
        return _share(int(sum(values)), len(values))
    return Estimate(float(np.mean(values)) if values else None, None, len(values))


def _bias(
    task: AnnotationTask, name: str, own: Sequence[AnswerRecord], others: Sequence[AnswerRecord]
) -> Estimate:
    """The mean difference to what the others said of the same images."""
    theirs: dict[Key, list[float]] = {}
    for a in others:
        value = positive(task, a.value)
        if a.annotator != name and value is not None:
            theirs.setdefault((a.id, a.variant), []).append(value)
    differences, views = [], []
    for a in own:
        value = positive(task, a.value)
        if value is not None and (a.id, a.variant) in theirs:
            differences.append(value - float(np.mean(theirs[a.id, a.variant])))
            views.append(a.view_id)
    if not differences:
        return Estimate(None, None, 0)
    parts = np.stack([np.asarray(differences), np.ones(len(differences))], axis=1)
    numbers = np.unique(np.asarray(views), return_inverse=True)[1]
    interval = bootstrap(lambda p: p[:, 0] / p[:, 1], parts, numbers, "bias")
    return Estimate(float(np.mean(differences)), interval, len(differences))
