"""Judges whose answers are in ``labels/`` already: humans, and the simulated observer.

They are asked like models, so that they stand beside them, on the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..conversation import Conversation, Item
from . import Answer, AnswerError, Model, Outcome

__all__ = ["make_human", "make_observer"]

Key = tuple[str, str]


def make_human() -> Model:
    """Make the judge that answers what human labels say, about labelled images only."""
    return _judge("human", "human", "Human labels of this dataset, on the images that have one.")


def make_observer() -> Model:
    """Make the judge that answers what the simulated observer's labels say."""
    return _judge(
        "observer", "simulated", "A simulated observer, no human: from labels with by = simulated."
    )


def _judge(name: str, by: str, note: str) -> Model:
    @lru_cache(maxsize=1)  # for as long as the judge lives: tomorrow's labels may be others
    def labels(root: Path) -> dict[Key, Mapping[str, Any]]:
        return _labels(root, by)

    def label(item: Item) -> Mapping[str, Any] | None:
        return labels(item.root).get(item.key)

    def ask(asked: Sequence[Conversation]) -> list[Outcome]:
        return [_answer(label(conversation.item)) for conversation in asked]

    def depends(item: Item) -> list[Any]:
        said = label(item) or {}
        return [said.get("human_discernable"), said.get("probability")]

    return Model(
        name,
        {"by": by},
        ask=ask,
        only=lambda item: label(item) is not None,
        depends=depends,
        tasks=("presence",),
        note=note,
    )


def _answer(label: Mapping[str, Any] | None) -> Outcome:
    if label is None:
        return AnswerError("there is no label for this image")
    seen = label["human_discernable"]
    if seen is None:
        return Answer("cannot tell")
    return Answer("yes" if seen else "no", score=label.get("probability"))


def _labels(root: Path, by: str) -> dict[Key, Mapping[str, Any]]:
    from ..discern.table import read_labels

    labels = read_labels(root, source=by)
    return {key: row for key, row in labels.items() if row["by"] == by}
