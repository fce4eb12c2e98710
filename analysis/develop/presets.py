"""Reading files of presets: sensors, lenses, the ISP; each a TOML file of tables with a name."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["read_presets", "read_toml"]

_NUMBER_MOST = 1e15

_Preset = TypeVar("_Preset")


def read_toml(path: Path, error: type[ValueError]) -> dict[str, Any]:
    """Return what a TOML file holds.

    Raises:
        ValueError: It cannot be read; of the class ``error``.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise error(f"{path}: cannot be read as a file of presets: {reason}") from problem


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
            impossible; of the class ``error``.
    """
    tables = read_toml(path, error).get(kind)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise error(f"{path.name} holds no table [[{kind}]]: that is what a {kind} is read from")
    its_fields = fields(make)  # type: ignore[arg-type]
    allowed = [field.name for field in its_fields]
    needed = [field.name for field in its_fields if field.default is MISSING]
    presets: dict[str, _Preset] = {}
    for table in tables:
        name = table.get("name")
        wrong = sorted((set(table) - set(allowed)) | (set(needed) - set(table)))
        if wrong:
            raise error(
                f"{path.name}: {kind} {name!r}: {wrong[0]} is missing or unknown: "
                f"a {kind} has {', '.join(allowed)}"
            )
        if name in presets:
            raise error(f"{path.name}: {kind} {name!r} is defined twice")
        try:
            kinds = {field.name: str(field.type) for field in its_fields}
            presets[name] = make(
                **{key: _value(key, value, kinds[key]) for key, value in table.items()}
            )
        except (ValueError, TypeError) as problem:
            raise error(f"{path.name}: {problem}") from problem
    return presets


def _value(key: str, value: Any, kind: str) -> Any:
    """TOML has lists and infinities; presets hold tuples and finite numbers that JSON keeps."""
    if isinstance(value, list) and kind.startswith("tuple"):
        return tuple(_value(key, each, "float") for each in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{key}: {value} is no finite number")
    if kind == "str" and not isinstance(value, str):
        raise ValueError(f"{key} is {value!r}: a text is needed")
    if kind in ("int", "float") and (type(value) not in (int, float) or abs(value) >= _NUMBER_MOST):
        raise ValueError(f"{key} is {value!r}: a number below {_NUMBER_MOST:g} is needed")
    return value
