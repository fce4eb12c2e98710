"""Reading files of presets: sensors, lenses, the ISP; each a TOML file of tables with a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from ...addon.core import toml_text
from ...addon.core.toml_check import UnreadableError, dotted, hint, parse, read_text, show

__all__ = ["read_presets", "read_toml"]

_NUMBER_MOST = 1e15
_NAME_MOST = 64

_Preset = TypeVar("_Preset")


def read_toml(path: Path, error: type[ValueError]) -> dict[str, Any]:
    """Return what a TOML file holds.

    Raises:
        ValueError: It cannot be read; of the class ``error``.
    """
    return _read(path, error)[1]


def read_presets(
    path: Path, kind: str, make: Callable[..., _Preset], error: type[ValueError]
) -> dict[str, _Preset]:
    """Return name -> preset of a file, in its order.

    Args:
        path: A TOML file with one or more tables ``[[kind]]``.
        kind: What the tables are called.
        make: The dataclass whose fields are a table's keys; it refuses impossible values.
        error: The class of error to raise.

    Raises:
        ValueError: The file cannot be read, a table's key is missing or unknown, or a value is
            impossible; of the class ``error``. The message names file and line.
    """
    text, document = _read(path, error)
    tables = document.get(kind)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise error(f"{path.name} holds no table [[{kind}]]: that is what a {kind} is read from")
    known = {field.name: field for field in fields(make)}  # type: ignore[arg-type]
    presets: dict[str, _Preset] = {}
    for number, table in enumerate(tables):
        at: toml_text.Path = (kind, number)
        try:
            for key, value in table.items():
                at = (kind, number, key)
                table[key] = _value(key, value, known)
            at = (kind, number)
            preset = make(**_whole(table, known, kind))
        except (ValueError, TypeError) as problem:
            line = toml_text.line_of(toml_text.scan(text), at)
            raise error(f"{path.name}:{line}: {problem}") from problem
        if table["name"] in presets:
            raise error(f"{path.name}: {kind} {table['name']!r} is defined twice")
        presets[table["name"]] = preset
    return presets


def _read(path: Path, error: type[ValueError]) -> tuple[str, dict[str, Any]]:
    """Return a TOML file's text and what it holds."""
    try:
        text = read_text(path, "File of presets")
        return text, parse(text, path.as_posix(), "File of presets")
    except UnreadableError as problem:
        raise error(str(problem)) from problem


def _whole(
    table: Mapping[str, Any], known: Mapping[str, Field[Any]], kind: str
) -> Mapping[str, Any]:
    """Return a table that has a name, and every key that a preset needs."""
    needed = [key for key, field in known.items() if field.default is MISSING or key == "name"]
    for key in needed:
        if key not in table:
            named = f" {table['name']!r}" if "name" in table else ""
            raise ValueError(f"{kind}{named}: {key} is missing: a {kind} has {', '.join(needed)}")
    return table


def _value(key: str, value: Any, known: Mapping[str, Field[Any]]) -> Any:
    """TOML has lists and infinities; presets hold tuples and finite numbers that JSON keeps."""
    if key not in known:
        raise ValueError(f"{dotted((key,))} is unknown: {hint(key, known)}")
    kind = str(known[key].type)
    if kind.startswith("tuple"):
        if not isinstance(value, list):
            raise ValueError(f"{key} is {show(value)}: a list is needed, as in {key} = [0.5]")
        return tuple(_number(key, each, whole=False) for each in value)
    if kind == "str":
        if not isinstance(value, str):
            raise ValueError(f"{key} is {show(value)}: a text is needed, as in {key} = 'mine'")
        if key == "name" and not (value.isprintable() and 0 < len(value.strip()) <= _NAME_MOST):
            raise ValueError(
                f"name is {show(value)}: 1 to {_NAME_MOST} characters that can be seen are allowed"
            )
        return value
    return _number(key, value, whole=kind == "int")


def _number(key: str, value: Any, *, whole: bool) -> int | float:
    allowed = (int,) if whole else (int, float)
    if type(value) not in allowed or not abs(value) < _NUMBER_MOST:  # NaN is not below either
        raise ValueError(
            f"{key} is {show(value)}: a {'whole ' if whole else ''}number below "
            f"{_NUMBER_MOST:g} is needed"
        )
    return value  # type: ignore[no-any-return]
