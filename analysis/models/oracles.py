"""Oracles: rules that know where the person is. They bound what a rule of that kind can reach.

Neither is a model of seeing: both read the mask that the renderer wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..conversation import Conversation, Item
from ..images import read_image
from . import Answer, AnswerError, Model, Outcome, whole

__all__ = ["make_area", "make_luminance"]


def make_area(*, least_px: int = 100) -> Model:
    """Make the rule: yes where at least so many pixels of a person are visible.

    Raises:
        ModelError: The number is below 0.
    """
    whole("oracle-area:least_px", least_px, 0)
    return Model(
        "oracle-area",
        {"least_px": least_px},
        ask=partial(_by_area, least_px),
        tasks=("presence",),
        only=_is_measured,
        note=f"An oracle: it reads the true mask, and says yes from {least_px} visible pixels on.",
    )


def make_luminance(*, least: float = 16.0) -> Model:
    """Make the rule: yes where the person's pixels are on average so bright, 0 to 255.

    Raises:
        ModelError: The brightness cannot be.
    """
    whole("oracle-luminance:least", least, 0, 255)
    return Model(
        "oracle-luminance",
        {"least": least},
        ask=partial(_by_luminance, least),
        packages=("opencv-python-headless", "numpy"),
        tasks=("presence",),
        only=_is_measured,
        note=f"An oracle: it reads the true mask, and says yes where the person's pixels have a "
        f"mean luma of {least:g} of 255 or more.",
    )


def _is_measured(item: Item) -> bool:
    """Whether the truth is known in pixels; of a photograph it may not be."""
    return item.view["visible_px"] is not None


def _by_area(least_px: int, asked: Sequence[Conversation]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for conversation in asked:
        visible = conversation.item.view["visible_px"]
        says = "yes" if conversation.item.view["target_present"] and visible >= least_px else "no"
        outcomes.append(Answer(says, score=float(visible)))
    return outcomes


def _by_luminance(least: float, asked: Sequence[Conversation]) -> list[Outcome]:
    return [_luminance(least, conversation.item) for conversation in asked]


def _luminance(least: float, item: Item) -> Outcome:
    if not item.view["target_present"]:
        return Answer("no")
    mask = _mask(item)
    image: Any = read_image(item.media.path, grey=True)
    if mask is None or image is None or mask.shape != image.shape:
        return AnswerError("the image or its mask is missing or damaged")
    if not mask.any():
        return Answer("no")
    mean = float(image[mask > 0].mean())
    return Answer("yes" if mean >= least else "no", score=round(mean, 3))


def _mask(item: Item) -> Any:
    path = Path("masks") / f"{item.row['view_id']}.visible.png"
    return (
        read_image(item.root / path, grey=True) if path.as_posix() in item.view["files"] else None
    )
