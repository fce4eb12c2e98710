"""Judges whose answers are in ``labels/`` already: humans, and the simulated observer.

They are asked like models, so that they stand beside them, on the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
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
    return Model(
        name,
        {"by": by},
        ask=partial(_ask, by),
        only=partial(_is_labelled, by),
        tasks=("presence",),
        note=note,
    )


def _ask(by: str, asked: Sequence[Conversation]) -> list[Outcome]:
    return [
        _answer(_labels(conversation.item.root, by).get(conversation.item.key))
        for conversation in asked
    ]


def _answer(label: Mapping[str, Any] | None) -> Outcome:
    if label is None:
        return AnswerError("there is no label for this image")
    seen = label["human_discernable"]
    if seen is None:
        return Answer("cannot tell")
    return Answer("yes" if seen else "no", score=label.get("probability"))


def _is_labelled(by: str, item: Item) -> bool:
    return item.key in _labels(item.root, by)


@lru_cache(maxsize=2)
def _labels(root: Path, by: str) -> dict[Key, Mapping[str, Any]]:
    from ..discern.table import read_labels

    labels = read_labels(root, source=by)
    return {key: row for key, row in labels.items() if row["by"] == by}
