"""From answers to labels: one per image and variant, and the single one per media item.

**The rule.** Of each annotator that is not left out, the first answer about an image counts, once.
The probability is the share of "visible" among them, an unsure answer counting half. Above one half
the label is 1, below it 0, at one half it is null: the annotators do not decide it. Where no target
is present the label is 0 by definition, whatever was answered. The single label of a media item
is 1 where any of its labelled variants is 1, else 0, or null while a variant without a decision
leaves it open (``discern.table.single_labels``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...addon.core.dataset import Dataset, read_table, write_file
from ..discern.table import replace_labels, single_labels
from .agreement import Rules, kept_answers
from .answers import AnswerRecord, read_answers, rounds_named
from .errors import AnnotateChoiceError, AnnotateError
from .store import KINDS, Store
from .tasks import NOT_VISIBLE, UNSURE

__all__ = ["WrittenLabels", "label_rows", "write_labels"]

Row = dict[str, Any]


@dataclass(frozen=True)
class WrittenLabels:
    """What was written for one kind of annotators.

    Attributes:
        by: ``human`` or ``simulated``.
        path: The table of labels.
        single: The table of single labels.
        labels: How many.
        abstained: How many of them are null.
        left_out: Annotators left out, and why.
    """

    by: str
    path: Path
    single: Path
    labels: int
    abstained: int
    left_out: dict[str, str]


def label_rows(answers: Iterable[AnswerRecord], dataset: Dataset) -> list[Row]:
    """Derive labels from the answers of one kind that count; the rule is this module's.

    Args:
        answers: About presence, of people or of simulated observers, never of both.
        dataset: Says where no target is.

    Raises:
        AnnotateError: An answer is about an item that is not in the dataset.
    """
    votes: dict[tuple[str, str], dict[str, tuple[str, AnswerRecord]]] = {}
    for answer in answers:
        if answer.id not in dataset.index:
            raise AnnotateError(f"{answer.id} was answered, and is not in {dataset.root} any more")
        if answer.showing == 0:
            own = votes.setdefault((answer.id, answer.variant), {})
            own.setdefault(answer.annotator, (answer.value, answer))
    rows = []
    for (media_id, variant), by_name in sorted(votes.items()):
        values = [value for value, _ in by_name.values()]
        one = next(iter(by_name.values()))[1]
        counts = {value: values.count(value) for value in ("visible", NOT_VISIBLE, UNSURE)}
        share = (counts["visible"] + counts[UNSURE] / 2) / len(values)
        label: int | None = 1 if share > 0.5 else 0 if share < 0.5 else None
        if not dataset.index[media_id]["target_present"]:
            label, share = 0, 0.0
        row: Row = {
            "id": media_id,
            "variant": variant,
            "human_discernable": label,
            "probability": share,
            "by": one.by,
            "votes": counts,
            "annotators": len(values),
        }
        rows.append(row | ({"role": one.role} if one.role is not None else {}))
    return rows


def write_labels(
    dataset: Dataset, store: Store, round_name: str | None = None, rules: Rules | None = None
) -> list[WrittenLabels]:
    """Write ``labels/BY.jsonl`` and ``labels/single/BY.jsonl`` from all answers about presence.

    Args:
        dataset: Where they go.
        store: Where the answers are.
        round_name: Only of this round; None for all rounds of the task presence.
        rules: Which answers and annotators do not count; applied to each round by itself.

    Raises:
        AnnotateChoiceError: There is no such round, or it is not about presence.
        AnnotateError: Nobody answered yet, or labels that no annotation made would be lost.
    """
    rounds = [r for r in rounds_named(store, round_name) if r.settings.task == "presence"]
    if not rounds:
        raise AnnotateChoiceError("labels come from the task presence, and no such round was asked")
    written = []
    for by in KINDS:
        counted: list[AnswerRecord] = []
        left_out: dict[str, str] = {}
        for round_ in rounds:
            kept, reasons = kept_answers(
                (a for a in read_answers(store, round_) if a.by == by), rules or Rules()
            )
            counted += kept
            left_out |= reasons
        rows = label_rows(counted, dataset)
        if not rows:
            continue
        _refuse_others_labels(dataset, by)
        replace_labels(dataset.root, by, rows)
        single = dataset.root / "labels" / "single" / f"{by}.jsonl"
        labels = single_labels({(row["id"], row["variant"]): row for row in rows})
        lines = (
            json.dumps(
                {"by": by, "human_discernable": label, "id": media_id},
                separators=(",", ":"),
            )
            for media_id, label in sorted(labels.items())
        )
        write_file(single, "".join(f"{line}\n" for line in lines).encode())
        written.append(
            WrittenLabels(
                by=by,
                path=dataset.root / "labels" / f"{by}.jsonl",
                single=single,
                labels=len(rows),
                abstained=sum(row["human_discernable"] is None for row in rows),
                left_out=left_out,
            )
        )
    if not written:
        raise AnnotateError("no answer counts yet: nobody answered, or the rules leave all out")
    return written


def _refuse_others_labels(dataset: Dataset, by: str) -> None:
    """Keep what ``limen discern observe`` wrote from being replaced by other draws of it."""
    path = dataset.root / "labels" / f"{by}.jsonl"
    if path.is_file() and any("votes" not in row for row in read_table(path)):
        raise AnnotateError(
            f"{path} holds labels that no annotation made (limen discern observe writes them); "
            "these would be lost: move that file away first"
        )
