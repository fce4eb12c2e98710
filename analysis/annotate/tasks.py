"""What an annotator is asked, which answers there are, and what a round of annotation fixes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from .errors import AnnotateChoiceError, ReplyError

__all__ = [
    "NOT_VISIBLE",
    "TASKS",
    "UNSURE",
    "AnnotationTask",
    "Reply",
    "Settings",
    "category",
    "check_reply",
    "find_task",
    "positive",
]

UNSURE = "unsure"
NOT_VISIBLE = "not_visible"
TEXT_MOST = 500
RATINGS = ("1", "2", "3", "4", "5")
_DAY_MS = 24 * 3600 * 1000
_PIXELS_MOST = 1_000_000


@dataclass(frozen=True)
class AnnotationTask:
    """A question to a person.

    Attributes:
        name: As on the command line.
        question: What is asked, unless the round says otherwise.
        values: The answers there are.
        text: The value that comes with a text of the annotator's, or None.
        kinds: ``media.kind`` of what it is about.
        level: Level of measurement of the answers: ``nominal`` or ``ordinal``.
    """

    name: str
    question: str
    values: tuple[str, ...]
    text: str | None
    kinds: tuple[str, ...]
    level: Literal["nominal", "ordinal"]


_STILLS, _MOVING = ("image",), ("clip", "sequence")
TASKS = {
    task.name: task
    for task in (
        AnnotationTask(
            "presence",
            "Is a person visible?",
            ("visible", NOT_VISIBLE, UNSURE),
            None,
            _STILLS + _MOVING,
            "nominal",
        ),
        AnnotationTask(
            "action",
            "What is the person doing?",
            ("named", NOT_VISIBLE, UNSURE),
            "named",
            _STILLS + _MOVING,
            "nominal",
        ),
        AnnotationTask(
            "clip",
            "What does the clip show?",
            ("named", NOT_VISIBLE, UNSURE),
            "named",
            _MOVING,
            "nominal",
        ),
        AnnotationTask(
            "rating",
            "How natural does the image look?",
            (*RATINGS, UNSURE),
            None,
            _STILLS + _MOVING,
            "ordinal",
        ),
    )
}


def find_task(name: str) -> AnnotationTask:
    """Return the task of a name.

    Raises:
        AnnotateChoiceError: There is none.
    """
    if name in TASKS:
        return TASKS[name]
    near = difflib.get_close_matches(name, TASKS, 1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    raise AnnotateChoiceError(f"there is no task '{name}'{hint} Known: {', '.join(TASKS)}")


@dataclass(frozen=True)
class Settings:
    """What a round fixes for all its annotators, kept with it.

    Attributes:
        task: A name of ``TASKS``.
        question: What is asked.
        sample: A sample's name, or None for all items.
        variants: The images that are shown, where there is no sample.
        display_ms: How long an image is shown; None for as long as the annotator looks.
        repeats: Share of the items that everyone sees a second time.
        confidence: Whether a confidence from 1 to 5 is asked with each answer.
        break_every: Answers after which a break is offered; 0 for never.
        seed: Of the orders and of the windows into images that a screen cannot hold.
    """

    task: str
    question: str
    sample: str | None
    variants: tuple[str, ...]
    display_ms: int | None = None
    repeats: float = 0.05
    confidence: bool = False
    break_every: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        task = find_task(self.task)
        faults = []
        if not self.question.strip() or len(self.question) > TEXT_MOST:
            faults.append(f"question has 1 to {TEXT_MOST} characters")
        if self.display_ms is not None and not 20 <= self.display_ms <= 600_000:
            faults.append(f"display time is 20 to 600000 ms, not {self.display_ms}")
        if not 0 <= self.repeats <= 1:
            faults.append(f"repeats is a share from 0 to 1, not {self.repeats}")
        if self.break_every < 0:
            faults.append(f"breaks come after 1 or more answers, or 0 for none: {self.break_every}")
        if faults:
            raise AnnotateChoiceError(f"round of task {task.name}: {'; '.join(faults)}")

    def as_row(self) -> dict[str, Any]:
        """Return them as plain JSON."""
        return asdict(self) | {"variants": list(self.variants)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Settings:
        """Read what :meth:`as_row` wrote."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in row.items() if name in known}
        return cls(**values | {"variants": tuple(row["variants"])})


@dataclass(frozen=True)
class Reply:
    """One answer of an annotator, checked.

    Attributes:
        value: One of the task's.
        text: What was typed, or None.
        confidence: 1 (a guess) to 5 (certain), or None.
        response_ms: From the image on the screen to the answer; None where nobody measured it.
        displayed_ms: How long the image was on the screen.
        showings: How often this page showed the image before the answer.
        replays: How often a clip started again.
        interrupted: A break or another tab came between, so that the time says nothing.
        view: How it was shown: ``dpr``, ``width`` and ``height`` of the page in device pixels,
            ``window`` (x, y, width, height of what was shown of the image, None for all of it).
    """

    value: str
    text: str | None = None
    confidence: int | None = None
    response_ms: float | None = None
    displayed_ms: float | None = None
    showings: int = 1
    replays: int = 0
    interrupted: bool = False
    view: Mapping[str, Any] | None = None


def check_reply(settings: Settings, body: Mapping[str, Any]) -> Reply:
    """Read an answer as it came over the network.

    Raises:
        ReplyError: The task has no such answer, or a number is none.
    """
    task = find_task(settings.task)
    value = body.get("value")
    if value not in task.values:
        raise ReplyError(f"answer {value!r}: task {task.name} knows {', '.join(task.values)}")
    return Reply(
        value=str(value),
        text=_text(task, str(value), body.get("text")),
        confidence=_confidence(settings, str(value), body.get("confidence")),
        response_ms=_milliseconds(body, "response_ms"),
        displayed_ms=_milliseconds(body, "displayed_ms"),
        showings=_count(body, "showings", 1),
        replays=_count(body, "replays", 0),
        interrupted=body.get("interrupted") is True,
        view=_view(body.get("view")),
    )


def category(task: AnnotationTask, value: str, text: str | None) -> str | None:
    """Return what is compared between annotators; None for unsure.

    Texts are compared in small letters, without surrounding space and closing punctuation.
    """
    if value == UNSURE:
        return None
    if value == task.text:
        return " ".join((text or "").casefold().split()).rstrip(".!?")
    return value


def positive(task: AnnotationTask, value: str) -> float | None:
    """Return 1 for seen, 0 for not seen, the number of a rating, None for unsure."""
    if value == UNSURE:
        return None
    if task.level == "ordinal":
        return float(value)
    return float(value != NOT_VISIBLE)


def _text(task: AnnotationTask, value: str, text: Any) -> str | None:
    if value != task.text:
        return None
    if not isinstance(text, str) or not text.strip() or len(text) > TEXT_MOST:
        raise ReplyError(f"answer '{value}' comes with a text of 1 to {TEXT_MOST} characters")
    if any(not (c.isprintable() or c == " ") for c in text.strip()):
        raise ReplyError("the text holds characters that cannot be printed")
    return text.strip()


def _confidence(settings: Settings, value: str, confidence: Any) -> int | None:
    if confidence is None or value == UNSURE:
        if settings.confidence and value != UNSURE:
            raise ReplyError("this round asks for a confidence from 1 to 5")
        return None
    if type(confidence) is not int or not 1 <= confidence <= 5:
        raise ReplyError(f"confidence is a whole number from 1 to 5, not {confidence!r}")
    return confidence


def _milliseconds(body: Mapping[str, Any], name: str) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= _DAY_MS:
        raise ReplyError(f"{name} is a time of at most a day in milliseconds, not {value!r}")
    return round(float(value), 1)


def _count(body: Mapping[str, Any], name: str, default: int) -> int:
    value = body.get(name, default)
    if type(value) is not int or not 0 <= value <= 1_000_000:
        raise ReplyError(f"{name} is a count, not {value!r}")
    return value


def _view(view: Any) -> dict[str, Any] | None:
    """Keep the numbers that describe a display, and nothing else that a client sends."""
    if view is None:
        return None
    if not isinstance(view, Mapping):
        raise ReplyError("view is an object")
    kept: dict[str, Any] = {}
    for name in ("dpr", "width", "height", "scale"):
        if type(view.get(name)) in (int, float) and abs(view[name]) <= _PIXELS_MOST:
            kept[name] = view[name]
    kept["full_screen"] = view.get("full_screen") is True
    window = view.get("window")
    numbers = window if isinstance(window, list) and len(window) == 4 else [None]
    whole = all(type(n) is int and abs(n) <= _PIXELS_MOST for n in numbers)
    kept["window"] = window if whole else None
    return kept
