"""The agreement page: one self-contained HTML file, and its numbers beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

from ... import __version__
from ...addon.core.dataset import Dataset, write_file
from .agreement import Agreement, Estimate, Rules, agreement_of
from .answers import read_answers, rounds_named
from .errors import AnnotateChoiceError, AnnotateError
from .store import KINDS, Store
from .tasks import TASKS

__all__ = ["agreements", "render_agreement", "write_agreement"]

UNDEFINED = "–"

_HERE = Path(__file__).parent
_CSS = _HERE.parent / "report" / "templates" / "report.css"


def agreements(store: Store, round_name: str | None, rules: Rules) -> list[Agreement]:
    """Compute the agreement of every round, people and simulated observers apart.

    Raises:
        AnnotateChoiceError: There is no such round.
        AnnotateError: Nobody answered yet.
    """
    found = []
    for round_ in rounds_named(store, round_name):
        answers = list(read_answers(store, round_))
        for by in KINDS:
            own = [answer for answer in answers if answer.by == by]
            if own:
                found.append(agreement_of(own, rules))
    if not found:
        raise AnnotateError("nobody answered yet: there is nothing to compare")
    return found


def render_agreement(
    store: Store, round_name: str | None = None, rules: Rules | None = None
) -> str:
    """Return the page; raises as :func:`agreements` does."""
    rules = rules or Rules()
    return _render(store, agreements(store, round_name, rules), rules)


def write_agreement(
    dataset: Dataset,
    store: Store,
    out: Path,
    round_name: str | None = None,
    rules: Rules | None = None,
) -> Path:
    """Write the page and its numbers (``OUT.json``), and return the path of these.

    Raises:
        AnnotateChoiceError: There is no such round, or the file is to end otherwise.
        AnnotateError: Nobody answered yet.
    """
    if out.suffix not in (".html", ".htm"):
        raise AnnotateChoiceError(f"{out}: the agreement page ends in .html")
    rules = rules or Rules()
    found = agreements(store, round_name, rules)
    numbers = out.with_suffix(".json")
    rows = {
        "dataset": dataset.root.name,
        "rules": vars(rules),
        "agreements": [agreement.as_row() for agreement in found],
        "limen": __version__,
    }
    write_file(out, _render(store, found, rules).encode())
    write_file(numbers, (json.dumps(rows, indent=1, sort_keys=True) + "\n").encode())
    return numbers


def _render(store: Store, found: list[Agreement], rules: Rules) -> str:
    questions = {round_.name: round_.settings.question for round_ in store.rounds()}
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    templates.filters |= {
        "coefficient": _coefficient,
        "between": _between,
        "percent": _percent,
        "interval": _interval,
        "signed": _signed,
    }
    return templates.get_template("agreement.html.j2").render(
        css=_CSS.read_text(encoding="utf-8"),
        parts=[_part(agreement, questions[agreement.round]) for agreement in found],
        rules=rules.in_words(),
        version=__version__,
    )


def _part(agreement: Agreement, question: str) -> dict[str, Any]:
    """What the page shows of one kind of annotators in one round."""
    task = TASKS[agreement.task]
    ratings = task.level == "ordinal"
    matrix = [
        (one, [_pair(agreement, one, two) for two in agreement.compared])
        for one in agreement.compared
    ]
    widest = max(
        [0.1 if not ratings else 0.5]
        + [abs(end) for a in agreement.annotators for end in (a.bias.interval or ())]
    )
    return {
        "agreement": agreement,
        "question": question,
        "ratings": ratings,
        "matrix": matrix,
        "bias": [
            (a.name, a.bias, _place(a.bias, widest)) for a in agreement.annotators if a.bias.n
        ],
        "widest": widest,
        "excluded": [a for a in agreement.annotators if a.excluded],
    }


def _pair(agreement: Agreement, one: str, two: str) -> Estimate | None:
    return agreement.cohen.get((one, two)) or agreement.cohen.get((two, one))


def _place(bias: Estimate, widest: float) -> dict[str, float]:
    """Where a bias and its interval lie on a line from -widest to widest, in percent."""

    def at(value: float) -> float:
        return round(50 + 50 * value / widest, 2)

    low, high = bias.interval or (bias.value or 0.0, bias.value or 0.0)
    return {"at": at(bias.value or 0.0), "low": at(low), "width": round(at(high) - at(low), 2)}


def _coefficient(estimate: Estimate) -> str:
    return UNDEFINED if estimate.value is None else f"{estimate.value:.3f}"


def _between(estimate: Estimate) -> str:
    if estimate.interval is None:
        return ""
    return f"{estimate.interval[0]:.3f} to {estimate.interval[1]:.3f}"


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{100 * share:.1f}"


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}"


def _signed(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:+.2f}"
