"""Reading what a model answered: strictly, or as the published evaluation did.

The strict parser takes an answer only where it commits itself: the answer is nothing else, or its
first or last statement, or it is labelled ("Answer: 1", JSON, a box), and no other statement of it
says otherwise. Words are data (``words.toml``).
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

__all__ = [
    "OUTCOMES",
    "PARSERS",
    "Reading",
    "read_choice",
    "read_name",
    "read_presence",
    "read_presence_published",
]

OUTCOMES = ("ok", "unparsed", "refused", "error")
"""How a question ended; ``error`` is no answer at all."""

PARSERS = ("strict", "published")

_MARKS = " \t\r\n*_`~\"'«»“”‘’„‚#<>[]{}|\\$¡¿"
# A full stop or comma between digits is part of a number.
_BREAK = re.compile(
    r"(?<!\d)[.,:](?!\d)|(?<=\d)[.,:](?!\d)|(?<!\d)[.,:](?=\d)|[;!?؟。、\n()]|\s[-–—]\s|—"
)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?%?")
_TOKEN = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?s>|<end_of_turn>|<eos>|<end_of_utterance>")
_FENCE = re.compile(r"^\s*```\w*\s*|\s*```\s*$")
_BOX = re.compile(r"\\boxed\s*\{(?:\\text\s*\{)?([^{}]*)\}\}?")
_TAG = re.compile(r"<answer>(.*?)(?:</answer>|$)", re.DOTALL | re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]*\}")
_SOMEBODY = re.compile(
    r"^(?:(?:the|a|this) )?(?:person|man|woman|figure|subject)(?: in the image)? is "
)

Direct = Callable[[str], Any]


@dataclass(frozen=True)
class Reading:
    """What an answer says.

    Attributes:
        outcome: One of ``OUTCOMES``.
        prediction: What the task predicts of it; None unless ``ok``.
        details: More to keep with the answer, JSON values.
    """

    outcome: str
    prediction: int | str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def read_presence(answer: str) -> Reading:
    """Read 1 or 0: as digits, words of many languages, labelled, in JSON, after reasoning."""
    return _read(answer, _yes_or_no, _is_other_number)


def read_presence_published(answer: str) -> Reading:
    """Read 1 or 0 as the published evaluation does.

    A whole number is itself if it is 0 or 1. Else, in lower case: both the characters 1 and 0 are
    ambiguous; then any word that means yes makes it 1, else any that means no makes it 0. What is
    ambiguous is here ``unparsed`` (published scores leave it out). So "not 1" is 1 and "1.0" is
    ambiguous.
    """
    try:
        number = int(answer)
    except ValueError:
        pass
    else:
        return Reading("ok", number) if number in (0, 1) else Reading("unparsed")
    text = answer.lower()
    if "1" in text and "0" in text:
        return Reading("unparsed")
    for value, words in ((1, _PUBLISHED_YES), (0, _PUBLISHED_NO)):
        if any(re.search(rf"\b{word}\b", text) for word in words):
            return Reading("ok", value)
    return Reading("unparsed")


_PUBLISHED_YES = ("yes", "affirmative", "true", "correct", "positive", "1")
_PUBLISHED_NO = ("no", "none", "not", "absent", "empty", "0")


def read_choice(answer: str, options: tuple[str, ...]) -> Reading:
    """Read one of lettered options, by its letter or its text.

    Returns:
        The option as prediction, and its ``letter`` in the details.
    """
    names = {_plain(option): option for option in options}
    letters = {chr(ord("a") + i): option for i, option in enumerate(options)}

    def direct(text: str) -> str | None:
        text = text.replace("_", " ")
        name = _SOMEBODY.sub("", text)
        if text in letters or name in names:
            return letters.get(text) or names[name]
        letter, _, rest = text.partition(" ")
        return names[rest] if letter in letters and names.get(rest) == letters[letter] else None

    def other(text: str) -> bool:
        return len(text) == 1 and text.isalpha() and text not in letters

    reading = _read(answer, direct, other)
    if reading.prediction is None:
        return reading
    letter = chr(ord("A") + options.index(str(reading.prediction)))
    return Reading("ok", reading.prediction, {"letter": letter})


def read_name(answer: str) -> Reading:
    """Read a name in the model's own words: without reasoning, label, JSON, quotes, full stop."""
    text = _final(answer)
    if text is None:
        return Reading("unparsed")
    found = _from_json(text)
    if isinstance(found, str):
        text = found
    text = " ".join(text.split()).strip(_MARKS + ".!")
    for label in _words().labels:
        if text.casefold().startswith(f"{label}:"):
            text = text[len(label) + 1 :].strip(_MARKS + ".!")
            break
    if not text:
        return Reading("unparsed")
    return Reading("refused") if _refuses(text) else Reading("ok", text)


# --- the strict parser ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Words:
    yes: frozenset[str]
    no: frozenset[str]
    labels: tuple[str, ...]
    keys: frozenset[str]
    refusals: tuple[re.Pattern[str], ...]
    traces: tuple[tuple[str, str], ...]


@cache
def _words() -> _Words:
    path = Path(__file__).with_name("words.toml")
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return _Words(
        frozenset(map(_plain, data["yes"])),
        frozenset(map(_plain, data["no"])),
        tuple(sorted(map(_plain, data["labels"]), key=len, reverse=True)),
        frozenset(data["keys"]),
        tuple(re.compile(pattern, re.DOTALL) for pattern in data["refusals"]),
        tuple((begin, end) for begin, end in data["traces"]),
    )


def _read(answer: str, direct: Direct, other: Callable[[str], bool]) -> Reading:
    text = _final(answer)
    if text is None:
        return Reading("unparsed")
    value = direct(_plain(text))
    if value is None:
        found = _from_json(text)
        value = _of_statements(text, direct, other) if found is None else direct(_plain(str(found)))
    if value is not None:
        return Reading("ok", value)
    return Reading("refused" if _refuses(text) else "unparsed")


def _of_statements(text: str, direct: Direct, other: Callable[[str], bool]) -> Any:
    labelled: list[Any] = []
    said: list[Any] = []
    after_label = False
    for statement in _statements(_BOX.sub(r"\nanswer: \1\n", text)):
        bare, is_label = _without_label(statement)
        if not bare:
            after_label = is_label
            continue
        if other(bare):
            return None
        value = direct(bare)
        if value is None and bare != statement:
            value, is_label = direct(statement), False
        if value is not None and (is_label or after_label):
            labelled.append(value)
        said.append(value)
        after_label = False
    if labelled:
        return labelled[0] if len(set(labelled)) == 1 else None
    values = {value for value in said if value is not None}
    committed = bool(said) and (said[0] is not None or said[-1] is not None)
    return values.pop() if committed and len(values) == 1 else None


def _statements(text: str) -> Iterator[str]:
    """The parts of a text between punctuation, plain; questions left out."""
    start = 0
    for mark in [*_BREAK.finditer(text), None]:
        part = text[start : mark.start() if mark else None]
        if (plain := _plain(part)) and not (mark and mark[0] in "?؟"):
            yield plain
        start = mark.end() if mark else start


def _without_label(statement: str) -> tuple[str, bool]:
    for label in _words().labels:
        if statement == label:
            return "", True
        if statement.startswith(f"{label} "):
            rest = statement[len(label) + 1 :].removeprefix("is ").strip(_MARKS + "=")
            return rest, True
    return statement, False


def _final(answer: str) -> str | None:
    """The answer without reasoning, special tokens and fences; None where reasoning never ends."""
    text = unicodedata.normalize("NFKC", answer).replace("\ufe0f", "").replace("\u20e3", "")
    for begin, end in _words().traces:
        if end in text:
            text = text.rpartition(end)[2]
        elif begin in text:
            return None
    if tagged := _TAG.findall(text):
        text = tagged[-1]
    text = _TOKEN.sub("", text)
    return _FENCE.sub("", _FENCE.sub("", text)).strip()


def _from_json(text: str) -> Any:
    """The value that a JSON answer holds; None where there is none or more than one."""
    candidates = [text] if text[:1] in "[{" else _OBJECT.findall(text)
    if len(candidates) != 1:
        return None
    try:
        value = json.loads(candidates[0])
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        wanted = {
            name: v
            for name, v in value.items()
            if re.sub(r"[\s-]+", "_", name.casefold()) in _words().keys
        } or value
        values = [v for v in wanted.values() if isinstance(v, str | int | float | bool)]
        value = values[0] if len({_plain(str(v)) for v in values}) == 1 else None
    return value if isinstance(value, str | int | float | bool) else None


def _plain(text: str) -> str:
    """In one case and width, without marks around it."""
    return unicodedata.normalize("NFKC", text).casefold().strip(_MARKS + ".,:;!。")


def _yes_or_no(text: str) -> int | None:
    words = _words()
    if re.fullmatch(r"[01]\.0+", text):
        return int(text[0])
    if text in words.yes:
        return 1
    return 0 if text in words.no else None


def _is_other_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) and _yes_or_no(text) is None


def _refuses(text: str) -> bool:
    plain = text.casefold().replace("’", "'")
    return any(pattern.search(plain) for pattern in _words().refusals)
