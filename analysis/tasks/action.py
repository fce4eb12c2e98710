"""What is the person doing? In the model's own words, or as multiple choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...addon.core import seeds
from ..conversation import Item, Turn
from .parsing import Reading, read_choice, read_name
from .prompts import Prompt, TaskError

__all__ = ["ACTIONS", "ActionChoiceTask", "ActionTask", "action_name", "order_positions"]

ACTIONS = (
    "kicking",
    "cover_face_with_hands",
    "sneak",
    "choking",
    "stepping_over_something",
    "dodging",
    "walking",
    "guard_up",
)
"""The published actions, from which wrong options are drawn."""

FEWEST, MOST = 4, 8


def action_name(action: str) -> str:
    """An action in words, as a model reads it."""
    return action.replace("_", " ")


class _AboutActions:
    """What tasks about actions have in common."""

    def truth(self, row: Mapping[str, Any]) -> str | None:
        """The action, None without a person."""
        action = row["action"]
        return None if action is None else str(action)

    def asks(self, row: Mapping[str, Any]) -> bool:
        """Only where somebody does something."""
        return row["action"] is not None


@dataclass(frozen=True)
class ActionTask(_AboutActions):
    """The published action recognition: one image, one turn, the name in the model's own words.

    What it predicts is text: how near it is to the right name is for a metric to say.
    """

    name: str
    prompt: Prompt
    parser: str = "strict"

    @property
    def question(self) -> str:
        """What is asked, word for word."""
        return self.prompt.text

    def dialogue(self, item: Item) -> Generator[Turn, str, Reading]:
        """Ask once. The published evaluation scores the answer as it is."""
        answer = yield Turn(self.prompt.text, (item.media,))
        return Reading("ok", answer) if self.parser == "published" else read_name(answer)


@dataclass(frozen=True)
class ActionChoiceTask(_AboutActions):
    """One of some lettered actions.

    Options are drawn for a view, not for an image: all lightings and variants of a view ask the
    same, so that they compare. Wrong options are drawn by hash from the other actions.

    Attributes:
        name: With its settings.
        prompt: With ``{options}`` and ``{letters}``.
        options: How many.
        parser: ``strict``; ``published`` is the same, as nothing of it was published.
        positions: View id -> where the right option stands, see :func:`order_positions`; a view
            that is not there has a random place.
    """

    name: str
    prompt: Prompt
    options: int = 4
    parser: str = "strict"
    positions: Mapping[str, int] | None = None

    @property
    def question(self) -> str:
        """What is asked, before options are filled in."""
        return self.prompt.text

    def options_for(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The actions that a view's question offers, in order.

        Raises:
            TaskError: There are not as many actions.
        """
        right, view = row["action"], row["view_id"]
        others = [action for action in ACTIONS if action != right]
        if len(others) < self.options - 1:
            raise TaskError(f"{self.name}: there are only {len(others) + 1} actions to choose from")
        order = seeds.permutation(_SEED, view, "options", len(others))
        chosen = [others[i] for i in order[: self.options - 1]]
        place = (self.positions or {}).get(view)
        if place is None:
            place = seeds.choice_index(_SEED, view, "place", self.options)
        return (*chosen[:place], right, *chosen[place:])

    def dialogue(self, item: Item) -> Generator[Turn, str, Reading]:
        """Ask once."""
        options = self.options_for(item.row)
        letters = [chr(ord("A") + i) for i in range(len(options))]
        lines = [f"{at}. {action_name(o)}" for at, o in zip(letters, options, strict=True)]
        text = self.prompt.text.replace("{options}", "\n".join(lines))
        text = text.replace("{letters}", f"{', '.join(letters[:-1])} or {letters[-1]}")
        answer = yield Turn(text, (item.media,))
        reading = read_choice(answer, tuple(map(action_name, options)))
        details = {**reading.details, "options": list(options)}
        if reading.prediction is None:
            return Reading(reading.outcome, None, details)
        index = [action_name(o) for o in options].index(str(reading.prediction))
        return Reading("ok", options[index], details)


_SEED = 0  # of options and their order; another one is another benchmark


def order_positions(rows: Iterable[Mapping[str, Any]], options: int) -> dict[str, int]:
    """View id -> place of the right option, balanced within each action to a difference of one.

    Views of an action are dealt to the places in the order of their hash.

    Args:
        rows: View rows or index rows with ``view_id`` and the action.
        options: How many places.
    """
    of_action: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["action"] is not None:
            of_action[row["action"]].add(row["view_id"])
    places = {}
    for action, views in of_action.items():
        first = seeds.choice_index(_SEED, action, "first", options)
        ordered = sorted(views, key=lambda view: (seeds.bits(_SEED, view, "order"), view))
        places.update({view: (first + i) % options for i, view in enumerate(ordered)})
    return places
