"""Rows against the schemas of the contract (docs/schema/)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from ..addon.core.dataset import Dataset, DatasetError

__all__ = ["PHOTOGRAPHS", "against_schema", "is_photographs", "rows_blamed", "schema_name"]

PHOTOGRAPHS = "photographs"
"""The family of datasets that were imported, not rendered (docs/photographs.md)."""

_PACKAGE = str(__package__).partition(".")[0]
_SCHEMAS = Path(__file__).parents[1] / "docs" / "schema"

Row = dict[str, Any]


def against_schema(name: str) -> Callable[[Row], Iterator[tuple[str, str]]]:
    """Return what finds a row's offences against a schema: the place in it, and what is wrong.

    Args:
        name: ``view``, ``index`` or another table that has a schema.
    """
    validator = _validator(name)

    def check(row: Row) -> Iterator[tuple[str, str]]:
        try:
            json.dumps(row, allow_nan=False)
        except ValueError:
            yield "", "holds a number that is not finite"
            return
        for error in validator.iter_errors(row):
            at = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
            yield at, error.message[:200]

    return check


@cache
def _validator(name: str) -> Any:
    import jsonschema

    schema = json.loads((_SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def is_photographs(dataset: Dataset) -> bool:
    """Whether a dataset was imported: of its rows the first one tells."""
    return any(view.get("family") == PHOTOGRAPHS for view in islice(dataset.views.values(), 1))


def schema_name(dataset: Dataset, table: str) -> str:
    """Return the name of the schema that a dataset's ``view`` or ``index`` rows follow."""
    return f"photograph-{table}" if is_photographs(dataset) else table


@contextmanager
def rows_blamed(dataset: Dataset) -> Iterator[None]:
    """Where work on a dataset fails because a row breaks the contract, say which row.

    Beforehand it would cost more than most work: a view row takes milliseconds to check.

    Raises:
        DatasetError: In place of an error that a row can cause, where there is such a row.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if type(error).__module__.partition(".")[0] == _PACKAGE:
            raise  # it says what is wrong in words for the user
        for name, rows in (("index", dataset.index), ("view", dataset.views)):
            check = against_schema(schema_name(dataset, name))
            for row_id, row in rows.items():
                for at, what in check(row):
                    raise DatasetError(
                        f"{dataset.root} has a row that breaks the contract: {row_id}{at} {what}. "
                        f"limen check {dataset.root} lists all of them"
                    ) from error
        raise
