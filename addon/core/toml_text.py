"""Where things stand in the text of a TOML file, and edits that leave the rest as it is.

``tomllib`` reads TOML; this module only locates keys in a text that ``tomllib`` has accepted, so
that faults can name lines and saving can keep comments, order and layout.

A path is a tuple of keys and indices: ``("subject", 0, "name")``.
"""

import bisect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = [
    "BARE_KEY",
    "Layout",
    "Path",
    "Span",
    "append_table",
    "delete_key",
    "delete_table",
    "format_value",
    "line_of",
    "scan",
    "set_key",
]

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\r\n]*")


@dataclass(frozen=True)
class Span:
    """Where a key or a list item stands: offsets into the text.

    Attributes:
        key_start: Start of the key (of the value, for a list item).
        start: Start of the value.
        end: Just after the value.
        table: Path of the table whose header it stands under, () above all headers.
        inline: Whether it stands inside the braces or brackets of another value.
    """

    key_start: int
    start: int
    end: int
    table: Path
    inline: bool


@dataclass
class Layout:
    """Where the keys and the table headers of a text stand.

    Attributes:
        values: Path -> span of each key and list item, in the order of the text.
        headers: Path -> offset of the bracket of each ``[table]`` and ``[[table]]``.
        line_ends: Offsets of the line ends.
    """

    values: dict[Path, Span] = field(default_factory=dict)
    headers: dict[Path, int] = field(default_factory=dict)
    line_ends: list[int] = field(default_factory=list)


@lru_cache(maxsize=8)
def scan(text: str) -> Layout:
    """Locate the keys and tables of a text that ``tomllib.loads`` has accepted."""
    return _Scanner(text).layout


def line_of(layout: Layout, path: Path) -> int:
    """Return the line (from 1) of a path, or of the nearest thing above it; else 1."""
    for length in range(len(path), 0, -1):
        part = path[:length]
        if part in layout.values:
            offset = layout.values[part].key_start
        elif part in layout.headers:
            offset = layout.headers[part]
        else:
            below = [span.key_start for p, span in layout.values.items() if p[:length] == part]
            below += [place for p, place in layout.headers.items() if p[:length] == part]
            if not below:
                continue
            offset = min(below)
        return bisect.bisect_left(layout.line_ends, offset) + 1
    return 1


def format_value(value: object) -> str:
    """Return a string, bool, number, list or table as a TOML value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{k} = {format_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(format_value, value)) + "]"
    raise TypeError(f"a {type(value).__name__} is no TOML value")


def set_key(text: str, path: Path, value: object) -> str:
    """Replace the value of a key, or add the key at the end of its table.

    A missing table is added at the end of the file; a list item cannot be added.
    """
    layout = scan(text)
    literal = format_value(value)
    if path in layout.values:
        span = layout.values[path]
        return text[: span.start] + literal + text[span.end :]
    table, key = path[:-1], path[-1]
    if table in layout.values:  # an inline table, as camera = { ... }
        end = layout.values[table].end - 1
        inside = text[layout.values[table].start + 1 : end]
        separator = ", " if inside.strip() else " "
        return text[: end - len(inside) + len(inside.rstrip())] + (
            f"{separator}{key} = {literal} " + text[end:]
        )
    if table == () or table in layout.headers:
        return _insert_line(text, _end_of_keys(text, layout, table), f"{key} = {literal}")
    dotted = [s for p, s in layout.values.items() if p[: len(table)] == table and not s.inline]
    if dotted and all(p[: len(table)] != table for p in layout.headers):
        last = dotted[-1]
        name = ".".join(map(str, path[len(last.table) :]))
        return _insert_line(text, _line_end(text, last.end), f"{name} = {literal}")
    return append_table(text, table, {str(key): value}, array=False)


def delete_key(text: str, path: Path) -> str:
    """Remove a key with its lines, or from its inline table."""
    span = scan(text).values[path]
    if not span.inline:
        start = text.rfind("\n", 0, span.key_start) + 1
        return text[:start] + text[_line_end(text, span.end) :]
    after = re.compile(r"[ \t]*,[ \t]*").match(text, span.end)
    if after:
        return text[: span.key_start] + text[after.end() :]
    before = text[: span.key_start].rstrip()
    return before.removesuffix(",") + text[span.end :]


def append_table(text: str, path: Path, body: Mapping[str, object], *, array: bool) -> str:
    """Add a table: after the last one of its array of tables, else at the end of the file.

    Args:
        text: The file.
        path: Of the table, or of the array of tables (without an index).
        body: Its keys; lists of tables take a line for each.
        array: Whether it is an entry of an array of tables.
    """
    newline = _newline(text)
    layout = scan(text)
    name = ".".join(map(str, path))
    lines = [f"[[{name}]]" if array else f"[{name}]"]
    for key, value in body.items():
        if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            lines += [f"{key} = [", *(f"    {format_value(v)}," for v in value), "]"]
        else:
            lines.append(f"{key} = {format_value(value)}")
    siblings = [p for p in layout.headers if p[:-1] == path and isinstance(p[-1], int)]
    place = _end_of_table(text, layout, siblings[-1]) if siblings else len(text)
    before = text[:place]
    if before and not before.endswith("\n"):
        before += newline
    if before.strip() and not before.endswith(("\n\n", "\n\r\n")):
        before += newline
    return before + newline.join(lines) + newline + text[place:]


def delete_table(text: str, path: Path) -> str:
    """Remove a table with its header, its keys and the tables below it."""
    layout = scan(text)
    start = text.rfind("\n", 0, layout.headers[path]) + 1
    end = _end_of_table(text, layout, path)
    blank = re.compile(r"(?:[ \t]*\r?\n)*").match(text, end)
    return text[:start] + text[blank.end() if blank else end :]


class _Scanner:
    """A walk over a valid TOML text; every method moves ``at`` past what it names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.layout = Layout(line_ends=[found.start() for found in re.finditer("\n", text)])
        self.last_indices: dict[Path, int] = {}  # of each array of tables
        table: Path = ()
        for start in self._items():
            if text[start] == "[":
                table = self._header()
            else:
                self._pair(table, table, inline=False)

    def _items(self) -> Iterator[int]:
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return
            yield self.at

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        found = match.group() if match else ""
        self.at += len(found)
        return found

    def _header(self) -> Path:
        start = self.at
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        keys = self._keys()
        self.at += 2 if array else 1
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self.last_indices:
                path = (*path, self.last_indices[path])
        path = (*path, keys[-1])
        if array:
            self.last_indices[path] = self.last_indices.get(path, -1) + 1
            path = (*path, self.last_indices[path])
        self.layout.headers[path] = start
        return path

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            quoted = self.text[self.at] in "\"'"
            found = self._skip(_STRING if quoted else BARE_KEY)
            keys.append(next(iter(tomllib.loads(f"{found} = 0"))) if quoted else found)
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _pair(self, parent: Path, table: Path, *, inline: bool) -> None:
        key_start = self.at
        path = (*parent, *self._keys())
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path, table, key_start, inline=inline)

    def _value(self, path: Path, table: Path, key_start: int, *, inline: bool) -> None:
        start = self.at
        opening = self.text[start]
        # Recorded before what is inside, so that the order is that of the text.
        self.layout.values[path] = Span(key_start, start, start, table, inline)
        if opening in "[{":
            self.at += 1
            index = 0
            for item in self._items():
                if self.text[item] in "]}":
                    self.at += 1
                    break
                if self.text[item] == ",":
                    self.at += 1
                elif opening == "[":
                    self._value((*path, index), table, item, inline=True)
                    index += 1
                else:
                    self._pair(path, table, inline=True)
        elif opening in "\"'":
            self._skip(_STRING)
        else:
            self.at = start + len(self._skip(_SCALAR).rstrip())
        self.layout.values[path] = Span(key_start, start, self.at, table, inline)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_end(text: str, offset: int) -> int:
    """Return the offset just after the line that an offset is on."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


def _end_of_keys(text: str, layout: Layout, table: Path) -> int:
    """Return the offset just after the last line of the keys right under a header."""
    ends = [span.end for span in layout.values.values() if span.table == table and not span.inline]
    if ends:
        return _line_end(text, max(ends))
    if table in layout.headers:
        return _line_end(text, layout.headers[table])
    first = min(layout.headers.values(), default=len(text))
    return text.rfind("\n", 0, first) + 1


def _end_of_table(text: str, layout: Layout, path: Path) -> int:
    """Return the offset just after the last line of a table and of those below it."""
    tables = [p for p in layout.headers if p[: len(path)] == path]
    return max(_end_of_keys(text, layout, table) for table in tables)


def _insert_line(text: str, offset: int, line: str) -> str:
    newline = _newline(text)
    start = text[:offset]
    if start and not start.endswith("\n"):
        start += newline
    return start + line + newline + text[offset:]
