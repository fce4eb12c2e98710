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
from ..contract import is_photographs

__all__ = [
    "VARIANTS",
    "developed_files",
    "drop_rows",
    "geometry_of",
    "is_there",
    "mask_of",
    "read_develop",
    "with_variants",
    "write_rows",
]

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
        for row in _rows(part):
            found[row["id"], row["variant"]] = row
    return dict(sorted(found.items()))


def _rows(part: Path) -> list[Row]:
    """Return the rows of a part of the table, each with what makes it one.

    Raises:
        DatasetError: A line is no row; the message says how to be rid of it.
    """
    mend = f"delete the line, or {part}: limen develop makes again what the table lacks"
    try:
        rows = read_table(part)
    except DatasetError as error:
        raise DatasetError(f"{error}; {mend}") from error
    for number, row in enumerate(rows, 1):
        try:
            for key in ("id", "variant", "settings"):
                if not isinstance(row.get(key), str):
                    raise DatasetError(f"its {key} is {row.get(key)!r}: a text is needed")
            developed_files(row)  # also: no path leaves the dataset
        except (AttributeError, DatasetError) as error:
            raise DatasetError(
                f"{part}:{number} is no row of the develop table ({error}); {mend}"
            ) from error
    return rows


def write_rows(root: Path, rows: list[Row]) -> None:
    """Append rows to the dataset's develop table."""
    append_table(root / "develop" / f"{_PART}.jsonl", rows)


def drop_rows(root: Path, wanted: Callable[[Row], bool]) -> None:
    """Take rows out of the develop table, each part whole or not at all.

    Raises:
        DatasetError: A line is no row of this table.
    """
    for part in _parts(root):
        rows = _rows(part)
        kept = [row for row in rows if not wanted(row)]
        if len(kept) < len(rows):
            lines = (json.dumps(row, sort_keys=True, separators=(",", ":")) for row in kept)
            write_file(part, "".join(f"{line}\n" for line in lines).encode())


def developed_files(row: Mapping[str, Any]) -> dict[str, Row]:
    """Return the files that a develop row records: path -> ``{"size", "sha256"}``.

    Its image, and the masks that a lens made.

    Raises:
        DatasetError: A path leaves the dataset, or files are not recorded as the contract says.
    """
    place = row.get("geometry") or {}
    masks = {kind: place.get(f"mask_{kind}") for kind in ("visible", "full")}
    return recorded_files({"media": {"image": row, **masks}})


def is_there(root: Path, row: Mapping[str, Any]) -> bool:
    """Whether a row's files have their recorded sizes."""
    return all(
        (root / path).is_file() and (root / path).stat().st_size == record["size"]
        for path, record in developed_files(row).items()
    )


def with_variants(dataset: Dataset) -> dict[str, Row]:
    """Return the index rows with the developed images among their ``media``.

    An image that a lens bent has its ``geometry`` beside its path; :func:`geometry_of` and
    :func:`mask_of` look there.

    Raises:
        DatasetError: A row of the develop table is of no media item of the dataset.
    """
    rows = {row_id: {**row, "media": dict(row["media"])} for row_id, row in dataset.index.items()}
    if is_photographs(dataset):  # what a camera recorded
        for row in rows.values():
            row["media"]["camera"] = row["media"]["clean"]
    for (row_id, variant), developed in read_develop(dataset.root).items():
        if row_id not in rows:
            raise DatasetError(
                f"develop/ has a row for {row_id}, which is not in {dataset.root}; "
                "the table belongs to another dataset"
            )
        image = {key: developed[key] for key in ("path", "size", "sha256")}
        if developed.get("geometry"):
            image["geometry"] = developed["geometry"]
        rows[row_id]["media"][variant] = image
    return rows


def geometry_of(dataset: Dataset, row: Mapping[str, Any], variant: str = "clean") -> Row:
    """Return where things lie in an item's image, whatever lens it went through.

    Args:
        dataset: The dataset.
        row: A row of :func:`with_variants`; for ``clean`` an index row will do.
        variant: ``clean`` or a developed one.

    Returns:
        ``K`` (3x3), ``distortion`` (k1, k2, p1, p2, k3), ``joints_px`` (a joint without a place in
        the image is None), and for kind ``visible`` and ``full``: ``mask_KIND`` (path, size and
        sha256), ``KIND_px``, ``box_KIND``. None where there is no such thing.

    Raises:
        DatasetError: The item has no such variant.
    """
    media = row["media"]
    if variant != "clean":
        if media.get(variant) is None:
            raise DatasetError(
                f"{row['id']} has no image '{variant}': limen develop makes it, and with_variants "
                "finds it"
            )
        if media[variant].get("geometry"):
            return dict(media[variant]["geometry"])
    view = dataset.views[row["view_id"]]
    place = {"K": view["camera"]["K"], "distortion": [0.0] * 5, "joints_px": view["joints_px"]}
    for kind in ("visible", "full"):
        path = f"masks/{view['view_id']}.{kind}.png"
        record = view["files"].get(path)
        place[f"mask_{kind}"] = {"path": path, **record} if record else None
        place |= {key: view[key] for key in (f"{kind}_px", f"box_{kind}")}
    return place


def mask_of(
    dataset: Dataset, row: Mapping[str, Any], variant: str = "clean", kind: str = "visible"
) -> Path | None:
    """Return the file of the mask that lies on an item's image; None where there is none.

    Args:
        dataset: The dataset.
        row: A row of :func:`with_variants`; for ``clean`` an index row will do.
        variant: ``clean`` or a developed one: a lens bends the mask as it bends the image.
        kind: ``visible``, or ``full`` for the person without occluders.

    Raises:
        DatasetError: The item has no such variant.
    """
    record = geometry_of(dataset, row, variant)[f"mask_{kind}"]
    return dataset.root / record["path"] if record else None


def _parts(root: Path) -> list[Path]:
    return sorted((Path(root) / "develop").glob("*.jsonl"))
