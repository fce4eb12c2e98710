"""What models are asked about an image, what is right, and how an answer is read.

A task is a policy over turns: :meth:`Task.dialogue` yields what to ask next, with the media to
show, is sent the model's answer, and in the end returns what it read. One image and one turn is the
simplest case; a second turn is a second ``yield``. The runner holds the conversation, so a task
works with every model and every engine.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .action import FEWEST, MOST, ActionChoiceTask, ActionTask, action_name, order_positions
from .parsing import OUTCOMES, PARSERS, Reading
from .presence import PresenceTask, discernable_truth, presence_truth
from .prompts import Prompt, TaskError, find_prompt

if TYPE_CHECKING:
    from ...addon.core.dataset import Dataset
    from ..conversation import Item, Turn

__all__ = [
    "DESCRIPTIONS",
    "OUTCOMES",
    "PARSERS",
    "TASKS",
    "Prompt",
    "Reading",
    "Task",
    "TaskError",
    "action_name",
    "discernable_truth",
    "find_task",
    "for_dataset",
    "presence_truth",
]


class Task(Protocol):
    """A question with a right answer for every media item that it asks about."""

    @property
    def name(self) -> str:
        """As on the command line, with its settings."""

    @property
    def prompt(self) -> Prompt:
        """Its wording; a run records it."""

    @property
    def parser(self) -> str:
        """One of ``PARSERS``."""

    @property
    def question(self) -> str:
        """What it asks, for a reader."""

    def truth(self, row: Mapping[str, Any]) -> int | str | None:
        """What is right of an index row; a prediction equals it or is wrong."""

    def asks(self, row: Mapping[str, Any]) -> bool:
        """Whether a media item is asked about."""

    def dialogue(self, item: Item) -> Generator[Turn, str, Reading]:
        """Yield each turn, be sent its answer, return what they say together.

        What it asks depends on the item and the answers alone.
        """


def _presence(prompt: Prompt, name: str, options: int) -> Task:
    return PresenceTask(name, prompt)


def _action(prompt: Prompt, name: str, options: int) -> Task:
    return ActionTask(name, prompt)


def _choice(prompt: Prompt, name: str, options: int) -> Task:
    return ActionChoiceTask(name, prompt, options)


_MAKERS: dict[str, tuple[Callable[[Prompt, str, int], Task], str]] = {
    "presence": (_presence, "published"),
    "action": (_action, "published"),
    "action-choice": (_choice, "choice"),
}
"""Task -> what makes it, and the name of its default prompt."""

DESCRIPTIONS = {
    "presence": "whether a person is visible: 1 or 0 (published)",
    "action": "what the person does, in the model's own words (published)",
    "action-choice": f"what the person does, one of {FEWEST} options; action-choice:options={MOST}",
}


def find_task(spec: str, prompts: Path | None = None, parser: str = "strict") -> Task:
    """Return the task that a user names.

    Args:
        spec: ``NAME`` or ``NAME:SETTING=VALUE,...``; settings are ``prompt`` and, of
            ``action-choice``, ``options``.
        prompts: Another file of prompts.
        parser: One of ``PARSERS``.

    Raises:
        TaskError: There is no such task, setting, prompt or parser.
    """
    name, _, rest = spec.partition(":")
    if name not in _MAKERS:
        raise TaskError(_unknown("task", name, _MAKERS))
    if parser not in PARSERS:
        raise TaskError(_unknown("parser", parser, dict.fromkeys(PARSERS)))
    make, prompt_name = _MAKERS[name]
    options = FEWEST
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key == "prompt":
            prompt_name = value
        elif key == "options" and name == "action-choice":
            if not (value.isdecimal() and FEWEST <= int(value) <= MOST):
                raise TaskError(f"{name}:options is '{value}': {FEWEST} to {MOST} is allowed")
            options = int(value)
        else:
            known = ("prompt", "options") if name == "action-choice" else ("prompt",)
            raise TaskError(_unknown(f"setting of {name}", key, dict.fromkeys(known)))
    default = _MAKERS[name][1]
    settings = [f"prompt={prompt_name}"] * (prompt_name != default)
    settings += [f"options={options}"] * (name == "action-choice" and options != FEWEST)
    full = f"{name}:{','.join(settings)}" if settings else name
    prompt = find_prompt(name, prompt_name, prompts)
    if name == "action-choice" and "{options}" not in prompt.text:
        raise TaskError(f"the prompt {prompt.name} of {name} has no {{options}} to be filled in")
    task: Any = make(prompt, full, options)
    made: Task = replace(task, parser=parser)
    return made


def for_dataset(task: Task, dataset: Dataset) -> Task:
    """Return a task with what it needs to know of a whole dataset: the order of options.

    That is dealt over the views of the study, rendered or not: a dataset that grows asks the same.
    """
    if isinstance(task, ActionChoiceTask):
        return replace(task, positions=order_positions(_views(dataset), task.options))
    return task


def _views(dataset: Dataset) -> list[dict[str, Any]]:
    from ...addon.core.factors import poses_by_action, sample_views
    from ...addon.core.poses import load_poses
    from ...addon.core.study import StudyError, load_study
    from ..contract import is_photographs

    there = [dict(row) for row in dataset.index.values()]
    if is_photographs(dataset):
        return there
    try:
        study = load_study(dataset.root / "study.toml")
        actions = {name: pose.action for name, pose in load_poses().items()}
        specs = sample_views(study, poses_by_action(study, actions))
    except StudyError:  # as with poses of one's own: then what is there is the whole
        return there
    planned = [{"view_id": spec.view_id, "action": spec.factors["action"]} for spec in specs]
    known = {row["view_id"] for row in planned}
    return [*planned, *(row for row in there if row["view_id"] not in known)]


def _unknown(kind: str, name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"there is no {kind} '{name}'{hint} Known: {', '.join(known)}"


TASKS: dict[str, Task] = {name: find_task(name) for name in _MAKERS}
"""Each task with its default settings."""
