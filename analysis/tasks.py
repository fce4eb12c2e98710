"""What models are asked about an image, what is right, and how an answer is read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["TASKS", "Task", "TaskError", "find_task", "parse_yes_no"]


class TaskError(ValueError):
    """A task that does not exist; the message says which do."""


@dataclass(frozen=True)
class Task:
    """A question with a right answer for every media item.

    Attributes:
        name: As on the command line.
        question: What a model is asked, word for word.
        truth: Index row -> 0 or 1.
        parse: A model's answer -> 0 or 1, or None where it says neither.
    """

    name: str
    question: str
    truth: Callable[[Mapping[str, Any]], int]
    parse: Callable[[str], int | None]


def parse_yes_no(answer: str) -> int | None:
    """Read a direct yes or no: 1, 0, or None for anything else.

    Case, surrounding space and closing punctuation do not matter; a sentence is no direct answer.
    """
    return {"yes": 1, "no": 0}.get(answer.strip().rstrip(".!").casefold())


def _person_present(row: Mapping[str, Any]) -> int:
    return int(row["target_present"])


TASKS = {
    "presence": Task(
        name="presence",
        question="Is a person visible in the image? Answer yes or no.",
        truth=_person_present,
        parse=parse_yes_no,
    )
}


def find_task(name: str) -> Task:
    """Return the task of a name.

    Raises:
        TaskError: There is none.
    """
    if name in TASKS:
        return TASKS[name]
    near = difflib.get_close_matches(name, TASKS, 1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    raise TaskError(f"there is no task '{name}'{hint} Known: {', '.join(TASKS)}")
