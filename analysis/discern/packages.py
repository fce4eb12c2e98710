"""The packages of the extra ``discern``."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["DiscernMissingError", "require"]

_NAMES = {"ot": "POT", "skops": "skops", "sklearn": "scikit-learn", "xgboost": "xgboost"}


class DiscernMissingError(Exception):
    """A package is not installed; the message says which, and how to install it."""


def require(*modules: str) -> None:
    """Check that modules are there before hours of work.

    Raises:
        DiscernMissingError: One is not.
    """
    missing = [_NAMES[module] for module in modules if find_spec(module) is None]
    if missing:
        raise DiscernMissingError(
            f"{', '.join(missing)} not installed: pip install 'limen[discern]'"
        )
