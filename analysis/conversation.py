"""What tasks and models say to each other: media, turns, conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Conversation", "Item", "Media", "Turn"]


@dataclass(frozen=True)
class Media:
    """A file that a model is shown.

    Attributes:
        path: Where it lies.
        sha256: Of the file, as the dataset records it; whoever shows it verifies it.
        kind: ``image``; clips and sequences will be others.
    """

    path: Path
    sha256: str
    kind: str = "image"


@dataclass(frozen=True)
class Item:
    """What a question is about: a media item in one variant.

    Attributes:
        row: Its index row.
        view: Its view row: truth that only oracles may look at.
        variant: ``clean``, ``camera`` or ``nv``.
        media: The file of this variant.
        root: The dataset.
    """

    row: Mapping[str, Any]
    view: Mapping[str, Any]
    variant: str
    media: Media
    root: Path

    @property
    def key(self) -> tuple[str, str]:
        """(id, variant)."""
        return self.row["id"], self.variant


@dataclass(frozen=True)
class Turn:
    """What a model is asked next: a text, and media shown before it."""

    text: str
    media: tuple[Media, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """All that was said so far; the last turn waits for its answer.

    Attributes:
        item: What it is about.
        system: The system prompt, None for none.
        turns: What was asked, in order.
        answers: To all turns but the last.
        loaded: SHA-256 -> what the model's ``prepare`` made of that media's bytes.
    """

    item: Item
    system: str | None
    turns: tuple[Turn, ...]
    answers: tuple[str, ...] = ()
    loaded: Mapping[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> str:
        """The text that waits for its answer."""
        return self.turns[-1].text
