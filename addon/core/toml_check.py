"""Checking a TOML document key by key: rules, and faults that name key, line and what is allowed.

A rule converts a value or reports it and returns ``WRONG``; reading goes on, so that one error can
list every fault.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from . import toml_text

__all__ = [
    "NEEDED",
    "WRONG",
    "Faults",
    "Path",
    "Rule",
    "Table",
    "UnreadableError",
    "dotted",
    "flag",
    "hint",
    "list_of",
    "name",
    "number",
    "one_of",
    "or_word",
    "parse",
    "plain",
    "read_text",
    "show",
    "size",
    "text",
]

Path = toml_text.Path

WRONG: Any = object()
"""What a rule returns for a value that it has reported."""

NEEDED: Any = object()
"""The default of a key that must be there."""


FAULTS_MOST = 100
BYTES_MOST = 2_000_000


class UnreadableError(ValueError):
    """A file is no text, or the text no TOML; the message names it and says why."""


def read_text(path: FilePath, subject: str) -> str:
    """Return a TOML file's text with its line ends as they are, without a byte order mark.

    Raises:
        UnreadableError: It cannot be read, is not UTF-8, or has more than ``BYTES_MOST``.
    """
    shown = path.as_posix()
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MOST + 1)
        if len(data) > BYTES_MOST:
            raise UnreadableError(
                f"{subject} {shown} has more than {BYTES_MOST:,} bytes: it is another file, or "
                "machine-made; name fewer levels"
            )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UnreadableError(f"{subject} {shown} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"{subject} {shown} is not UTF-8 text (byte {error.start} is "
            f"0x{error.object[error.start]:02x}): save it as UTF-8"
        ) from error


def parse(text: str, source: str, subject: str) -> dict[str, Any]:
    """Return the document that a TOML text holds.

    Raises:
        UnreadableError: It is no TOML.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UnreadableError(f"{subject} {source} is nested too deeply to be read") from error
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(
            r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error)
        )
        what, line, column = found.groups() if found else (str(error), None, None)
        place = f"{source}:{line}, column {column}" if line else source
        where = "" if line or not found else " at the end of the file"
        raise UnreadableError(f"{subject} is not valid TOML: {what}{where} ({place})") from error
    except ValueError as error:
        raise UnreadableError(
            f"{subject} {source} holds a value that is none: a number of thousands of digits, or "
            "a day that no calendar has"
        ) from error


class Faults:
    """Collects the problems of a document and gives each its file and line.

    Args:
        text: The document.
        source: What to call it.
        subject: What it is: the first word of each message.
        error: Makes the exception of the messages and the keys that they are of.

    Attributes:
        found: (line, message, path) of each.
    """

    def __init__(
        self,
        text: str,
        source: str,
        subject: str,
        error: Callable[[list[str], list[Path]], Exception],
    ) -> None:
        self.source = source
        self.subject = subject
        self.error = error
        self.layout = toml_text.scan(text)
        self.found: list[tuple[int, str, Path]] = []

    def add(self, path: Path, message: str) -> None:
        """Add a problem: ``SUBJECT PATH MESSAGE (SOURCE:LINE)``.

        Raises what ``error`` makes at once when there are ``FAULTS_MOST``: nobody reads on.
        """
        line = toml_text.line_of(self.layout, path)
        said = f"{self.subject} {dotted(path)} {message} ({self.source}:{line})"
        self.found.append((line, said, path))
        if len(self.found) == FAULTS_MOST:
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise what ``error`` makes of the messages, in order of lines, if there are any."""
        if self.found:
            found = sorted(self.found, key=lambda fault: fault[:2])
            messages = [message for _, message, _ in found]
            if len(messages) == FAULTS_MOST:
                messages.append(f"The first {FAULTS_MOST} faults are listed, there may be more")
            raise self.error(messages, [path for _, _, path in found])


@dataclass(frozen=True)
class Rule:
    """What a key may be: a sentence for people, and a check that converts or reports a value."""

    says: str
    check: Callable[[Any, Path, Faults], Any]


class Table:
    """A table of the document, read key by key; unknown keys are reported at once.

    Attributes:
        data: The table, empty where the document has something else in its place.
    """

    def __init__(self, data: Any, path: Path, allowed: Iterable[str], faults: Faults) -> None:
        self.path = path
        self.faults = faults
        self.is_table = isinstance(data, dict)
        self.data: Mapping[str, Any] = data if self.is_table else {}
        if not self.is_table:
            faults.add(path, f"is {show(data)}: it is a table, as in [{dotted(path)}]")
        allowed = tuple(allowed)
        for key in self.data:
            if key not in allowed:
                where = f"of [{dotted(path)}]" if path else "of the file"
                faults.add((*path, key), f"is no key {where}: {hint(key, allowed)}")

    def take(self, key: str, rule: Rule, default: Any = NEEDED) -> Any:
        """Return a key's value as the rule converts it, the default where the key is absent."""
        path = (*self.path, key)
        if key in self.data:
            return rule.check(self.data[key], path, self.faults)
        if default is NEEDED and not self.is_table:
            return WRONG
        if default is NEEDED:
            self.faults.add(path, f"is missing: {rule.says}")
            return WRONG
        return default


def dotted(path: Path) -> str:
    """Return a path as in ``subject[0].name``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if toml_text.BARE_KEY.fullmatch(part) else show(part)
            text += f".{key}" if text else key
    return text


def show(value: object) -> str:
    """Return a value as it stands in the file, shortened."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list) and len(value) > 8:
        return f"a list of {len(value)}"
    try:
        # 4.0 where a whole number is needed is not shown as 4.
        text = repr(value) if isinstance(value, float) else toml_text.format_value(value)
    except TypeError:  # dates and times
        text = str(value)
    except ValueError:  # integers of thousands of digits
        text = "a number of thousands of digits"
    # As TOML escapes them, or a key could steer the terminal or turn the line around.
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return text if len(text) <= 60 else text[:57] + "..."


def hint(found: object, allowed: Iterable[str]) -> str:
    """Return what is allowed, and which of it is nearly what was found."""
    allowed = tuple(allowed)
    near = difflib.get_close_matches(str(found), allowed, 1)
    listed = ", ".join(allowed[:24]) + (", ..." if len(allowed) > 24 else "")
    return (f"did you mean {near[0]}? " if near else "") + f"allowed: {listed}"


def number(
    what: str, example: str, low: float, high: float, *, above: bool = False, whole: bool = False
) -> Rule:
    """A number from ``low`` (or above it) to ``high``; ``whole`` for integers."""
    bottom = f"{'greater than' if above else 'at least'} {low:.15g}"
    top = f"at most {high if whole else format(high, '.15g')}"
    kind = "a whole number" if whole else "a number"
    says = f"{what} is {kind} {bottom} and {top}, as in {example}"

    def check(value: Any, path: Path, faults: Faults) -> Any:
        numeric = isinstance(value, int) or (isinstance(value, float) and not whole)
        if isinstance(value, bool) or not numeric or value != value:  # NaN
            faults.add(path, f"is {show(value)}: {says}")
        elif value < low or (above and value == low):
            faults.add(path, f"is {show(value)}: {what} is {bottom}, as in {example}")
        elif value > high:
            faults.add(path, f"is {show(value)}: {what} is {top}, as in {example}")
        else:
            return value if whole else float(value) + 0.0  # no negative zero
        return WRONG

    return Rule(says, check)


def plain(says: str, accepts: Callable[[Any], bool]) -> Rule:
    """A value that is taken as it is or not at all."""

    def check(value: Any, path: Path, faults: Faults) -> Any:
        if accepts(value):
            return value
        faults.add(path, f"is {show(value)}: {says}")
        return WRONG

    return Rule(says, check)


def text(says: str, pattern: str) -> Rule:
    """A string that matches a pattern as a whole."""
    return plain(says, lambda v: isinstance(v, str) and re.fullmatch(pattern, v) is not None)


def flag(what: str) -> Rule:
    """A bool."""
    return plain(f"{what} is true or false", lambda v: isinstance(v, bool))


def name(what: str, example: str) -> Rule:
    """A name that can stand in ids and file names."""
    return text(
        f"{what} is 1 to 64 letters, digits, _ and -, beginning with a letter or digit, "
        f"as in {example}",
        r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}",
    )


def one_of(what: str, allowed: Iterable[str]) -> Rule:
    """One of some words, with a near miss pointed out."""
    allowed = tuple(allowed)
    says = f"{what} is one of {', '.join(allowed)}"

    def check(value: Any, path: Path, faults: Faults) -> Any:
        if isinstance(value, str) and value in allowed:
            return value
        faults.add(path, f"is {show(value)}: {what} is one of these; {hint(value, allowed)}")
        return WRONG

    return Rule(says, check)


def list_of(example: str, item: Rule, *, empty: bool = False, repeats: bool = False) -> Rule:
    """A list, its items by a rule; by default neither empty nor with an item twice."""
    says = f"it is a list{'' if empty else ' of at least one'}, as in {example}"

    def check(value: Any, path: Path, faults: Faults) -> Any:
        if not isinstance(value, list) or not (value or empty):
            faults.add(path, f"is {show(value)}: {says}")
            return WRONG
        items = [item.check(v, (*path, i), faults) for i, v in enumerate(value)]
        first: dict[Any, int] = {}
        for i, found in enumerate(items):
            # Levels are told apart to six decimals, as in ids.
            key = round(found, 6) if isinstance(found, float) else found
            if found is not WRONG and not repeats and first.setdefault(key, i) != i:
                what = f"is {show(value[i])} like item {first[key]}: leave one of them out"
                faults.add((*path, i), what)
                items[i] = WRONG
        return WRONG if WRONG in items else tuple(items)

    return Rule(says, check)


def size(what: str, example: str) -> Rule:
    """A (width, height) in pixels."""
    # Blender makes smaller pictures larger, and says nothing.
    side = number("a side in pixels", example, 4, 65536, whole=True)
    says = f"{what} is [width, height] in pixels, as in {example}"

    def check(value: Any, path: Path, faults: Faults) -> Any:
        if not isinstance(value, list) or len(value) != 2:
            faults.add(path, f"is {show(value)}: {says}")
            return WRONG
        sides = tuple(side.check(v, (*path, i), faults) for i, v in enumerate(value))
        return WRONG if WRONG in sides else sides

    return Rule(says, check)


def or_word(word: str, rule: Rule) -> Rule:
    """A value by a rule, or one word."""
    says = f'{rule.says}, or "{word}"'

    def check(value: Any, path: Path, faults: Faults) -> Any:
        if isinstance(value, str):
            if value == word:
                return value
            faults.add(path, f"is {show(value)}: {says}")
            return WRONG
        return rule.check(value, path, faults)

    return Rule(says, check)
