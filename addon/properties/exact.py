"""Values that Blender's properties hold only nearly, kept exactly beside them.

A float property has 32 bits, an int property too, and ranges cut off. A study must come back from
the sidebar as it went in, to the last digit: so a group remembers, in its hidden property
``exact``, what it was given and what Blender made of it, and gives that back until it is edited.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import bpy

__all__ = ["get_exact", "put_exact"]

_INT_MOST = 2**31 - 1
_DIGITS = 7  # as many as a 32-bit float has


def put_exact(group: bpy.types.PropertyGroup, values: Mapping[str, Any]) -> None:
    """Set properties of a group that has a string property ``exact``."""
    kept = json.loads(group.exact) if group.exact else {}
    for name, value in values.items():
        given = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        setattr(group, name, _fitting(value))
        shown = _shown(group, name)
        kept.pop(name, None)
        if shown != given:
            kept[name] = [shown, given]
    group.exact = json.dumps(kept) if kept else ""


def get_exact(group: bpy.types.PropertyGroup, name: str) -> Any:
    """Return a property's value: what was put while it is unedited, else what is shown."""
    shown = _shown(group, name)
    before = _parsed(group.exact).get(name) if group.exact else None
    if before is not None and before[0] == shown:
        shown = before[1]
    elif isinstance(shown, list):
        shown = [_short(x) for x in shown]
    else:
        shown = _short(shown)
    return tuple(shown) if isinstance(shown, list) else shown


def _fitting(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return max(-_INT_MOST, min(value, _INT_MOST))


def _shown(group: bpy.types.PropertyGroup, name: str) -> Any:
    value = getattr(group, name)
    return list(value) if isinstance(value, bpy.types.bpy_prop_array) else value


def _short(value: Any) -> Any:
    """Return a float as it is displayed: 0.9, where 32 bits have 0.8999999761581421."""
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


@lru_cache(maxsize=4096)
def _parsed(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed
