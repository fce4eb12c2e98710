"""Constant answers: what a score is worth that ignores the image."""

from __future__ import annotations

from pathlib import Path

from . import Answer, Model

__all__ = ["make_always_no", "make_always_yes"]


def make_always_yes() -> Model:
    """Make the model that answers yes to everything."""
    return Model("always-yes", {}, _answer_yes, tasks=("presence",))


def make_always_no() -> Model:
    """Make the model that answers no to everything."""
    return Model("always-no", {}, _answer_no, tasks=("presence",))


def _answer_yes(image: Path, question: str) -> Answer:
    return Answer("yes")


def _answer_no(image: Path, question: str) -> Answer:
    return Answer("no")
