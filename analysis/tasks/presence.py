"""Presence: is a person visible in the image?"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from ..conversation import Item, Turn
from .parsing import Reading, read_presence, read_presence_published
from .prompts import Prompt

__all__ = ["PresenceTask", "discernable_truth", "presence_truth"]


def presence_truth(row: Mapping[str, Any]) -> int:
    """1 where a person is there, seen or not."""
    return int(row["target_present"])


def discernable_truth(row: Mapping[str, Any], label: Mapping[str, Any] | None) -> int | None:
    """1 where a human sees the person, 0 where not, None where nobody has said.

    Args:
        row: The index row. Without a person it is 0 by definition.
        label: The row of ``labels/`` for this id and variant, None where there is none; its
            ``human_discernable`` is null where the judge abstained.
    """
    if not row["target_present"]:
        return 0
    value = None if label is None else label["human_discernable"]
    return None if value is None else int(value)


@dataclass(frozen=True)
class PresenceTask:
    """The published human presence classification: one image, one turn, 1 or 0."""

    name: str
    prompt: Prompt
    parser: str = "strict"

    @property
    def question(self) -> str:
        """What is asked, word for word."""
        return self.prompt.text

    def truth(self, row: Mapping[str, Any]) -> int:
        """1 where a person is there."""
        return presence_truth(row)

    def asks(self, row: Mapping[str, Any]) -> bool:
        """Every image is asked about."""
        return True

    def dialogue(self, item: Item) -> Generator[Turn, str, Reading]:
        """Ask once."""
        answer = yield Turn(self.prompt.text, (item.media,))
        return (
            read_presence_published(answer) if self.parser == "published" else read_presence(answer)
        )
