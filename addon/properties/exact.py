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


def put_exact(
    group: bpy.types.PropertyGroup,
    values: Mapping[str, Any],
    given: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Set properties of a group that has a string property ``exact``.

    Args:
        group: The group.
        values: By property.
        given: What :func:`get_exact` is to return in place of a value of ``values``: a list with
            more numbers than the property shows, or fewer.
    """
    kept = dict(_parsed(group.exact))
    for name, value in values.items():
        setattr(group, name, _fitting(value))
        value = (given or {}).get(name, value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = list(value)
        shown = _shown(group, name)
        kept.pop(name, None)
        if _read_back(shown) != value:
            kept[name] = [shown, value]
    group.exact = json.dumps(kept) if kept else ""


def get_exact(group: bpy.types.PropertyGroup, name: str) -> Any:
    """Return a property's value: what was put while it is unedited, else what is shown."""
    shown = _shown(group, name)
    before = _parsed(group.exact).get(name)
    if before is None:
        shown = _read_back(shown)
    elif before[0] == shown:
        shown = before[1]
    elif isinstance(shown, list):  # some of its numbers were edited; there may be more than shown
        was, given = before
        for i, value in enumerate(shown):
            is_kept = value == was[i] and i < len(given)
            shown[i] = given[i] if is_kept else _short(value)
        shown += given[len(shown) :]
    else:
        shown = _short(shown)
    return tuple(shown) if isinstance(shown, list) else shown


def _read_back(shown: Any) -> Any:
    """Return what a property says that nothing more exact is kept of."""
    return [_short(x) for x in shown] if isinstance(shown, list) else _short(shown)


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
def _parsed(text: str) -> dict[str, list[Any]]:
    """Return name -> [what was shown, what was given]; what nobody has put there is nothing.

    Anybody can write into a .blend file: without this memory, what is shown is what counts.
    """
    try:
        parsed = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(parsed, dict):
        return {}
    return {key: pair for key, pair in parsed.items() if _is_pair(pair)}


def _is_pair(pair: Any) -> bool:
    """Return whether this is [what was shown, what was given]: numbers, texts or lists of them."""
    if (
        not isinstance(pair, list)
        or len(pair) != 2
        or isinstance(pair[0], list) != isinstance(pair[1], list)
    ):
        return False
    values = [*pair[0], *pair[1]] if isinstance(pair[0], list) else pair
    return all(isinstance(value, int | float | str) for value in values)
