"""The develop table: which images `limen develop` made, and what of (docs/dataset.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...addon.core.dataset import (
    Dataset,
    DatasetError,
    append_table,
    read_table,
    recorded_files,
    write_file,
)

__all__ = ["VARIANTS", "drop_rows", "is_there", "read_develop", "with_variants", "write_rows"]

VARIANTS = ("camera", "nv")

_PART = "000"

Row = dict[str, Any]
Key = tuple[str, str]


def read_develop(root: Path) -> dict[Key, Row]:
    """Return (id, variant) -> row of a dataset's develop table; empty where there is none.

    Of two rows for one image the later one counts.

    Raises:
        DatasetError: A line is no row of this table, or its path leaves the dataset.
    """
    found: dict[Key, Row] = {}
    for part in _parts(root):
        for number, row in enumerate(read_table(part), 1):
            try:
                key = row["id"], row["variant"]
                row["settings"]
                recorded_files({"media": {row["variant"]: row}})  # also: no path leaves the dataset
            except (DatasetError, KeyError, TypeError) as error:
                raise DatasetError(
                    f"{part}:{number} is no row of the develop table: {error}"
                ) from error
            found[key] = row
    return dict(sorted(found.items()))


def write_rows(root: Path, rows: list[Row]) -> None:
    """Append rows to the dataset's develop table."""
    append_table(root / "develop" / f"{_PART}.jsonl", rows)


def drop_rows(root: Path, wanted: Callable[[Row], bool]) -> None:
    """Take rows out of the develop table, each part whole or not at all."""
    for part in _parts(root):
        rows = read_table(part)
        kept = [row for row in rows if not wanted(row)]
        if len(kept) < len(rows):
            lines = (json.dumps(row, sort_keys=True, separators=(",", ":")) for row in kept)
            write_file(part, "".join(f"{line}\n" for line in lines).encode())


def is_there(root: Path, row: Mapping[str, Any]) -> bool:
    """Whether a row's image has its recorded size."""
    path = root / row["path"]
    return path.is_file() and bool(path.stat().st_size == row["size"])


def with_variants(dataset: Dataset) -> dict[str, Row]:
    """Return the index rows with the developed images among their ``media``.

    Raises:
        DatasetError: A row of the develop table is of no media item of the dataset.
    """
    rows = {row_id: {**row, "media": dict(row["media"])} for row_id, row in dataset.index.items()}
    for (row_id, variant), developed in read_develop(dataset.root).items():
        if row_id not in rows:
            raise DatasetError(
                f"develop/ has a row for {row_id}, which is not in {dataset.root}; "
                "the table belongs to another dataset"
            )
        rows[row_id]["media"][variant] = {key: developed[key] for key in ("path", "size", "sha256")}
    return rows


def _parts(root: Path) -> list[Path]:
    return sorted((Path(root) / "develop").glob("*.jsonl"))
