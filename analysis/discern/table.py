"""The labels table: can a human tell that a person is there (docs/discern.md, "The labels table").

A label is of one variant of a media item, keyed by (``id``, ``variant``), and says whose eyes it
comes from: people's (``human``), the simulated observer's (``simulated``), or a model's, which
says what it was trained on. People and the simulated observer are never read as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...addon.core import seeds
from ...addon.core.dataset import Dataset, append_table, read_table, write_file
from ..develop.table import with_variants

__all__ = [
    "BY",
    "SOURCES",
    "TEST_SHARE",
    "LabelsChoiceError",
    "LabelsError",
    "append_labels",
    "group_of",
    "held_out_from",
    "label_sources",
    "raw_variant",
    "read_labels",
    "replace_labels",
    "role_of",
    "shown_media",
    "shown_variants",
    "single_labels",
    "source_of",
    "who",
]

SOURCES = ("human", "simulated")
"""Whose eyes a label comes from, straight or by way of a model."""

BY = ("human", "simulated", "model")
"""Who gave a label, the one that counts first."""

TEST_SHARE = 0.2
"""Of the groups of subject and pose, the share that is held out (published: 400 of 2,000)."""

Row = dict[str, Any]
Key = tuple[str, str]


class LabelsError(Exception):
    """The labels table is damaged or cannot be used; the message says why and what to do."""


class LabelsChoiceError(LabelsError, ValueError):
    """Labels are of other eyes than the ones asked for, or of both and none were asked for."""


# --- reading and writing -------------------------------------------------------------------------


def read_labels(root: Path, source: str | None = None, *, by: str | None = None) -> dict[Key, Row]:
    """Read a dataset's labels: (id, variant) -> row; empty where there are none.

    A row has ``id``, ``variant``, ``human_discernable`` (1, 0, or None for abstained),
    ``probability`` (0..1, or None where nobody gave one), ``by``, and with ``by`` "model" also
    ``trained_on``. Where several gave a label, an observer's counts and not the model's; within a
    part the later row does.

    Args:
        root: The dataset.
        source: Of :data:`SOURCES`: only labels that come from these eyes. None takes all when
            they are of one kind.
        by: Of :data:`BY`: only labels that were given by these, also where another's would count.

    Raises:
        LabelsChoiceError: There are human and simulated labels and ``source`` does not say which
            are wanted, or there is no such source.
        LabelsError: A row is no label.
        DatasetError: A table is damaged.
    """
    if source is not None and source not in SOURCES:
        raise LabelsChoiceError(f"there are no '{source}' labels; there are {', '.join(SOURCES)}")
    found: dict[Key, Row] = {}
    seen: set[str] = set()
    for row in _rows(root):
        seen.add(source_of(row))
        if (source is not None and source_of(row) != source) or by not in (None, row["by"]):
            continue
        key = row["id"], row["variant"]
        if key not in found or BY.index(row["by"]) <= BY.index(found[key]["by"]):
            found[key] = row
    if source is None and len(seen) > 1:
        raise LabelsChoiceError(
            f"{Path(root) / 'labels'} holds labels of people and of the simulated observer, which "
            "are not mixed: choose one, human or simulated (--labels)"
        )
    return dict(sorted(found.items()))


def label_sources(root: Path) -> tuple[str, ...]:
    """Whose eyes the dataset's labels come from, of :data:`SOURCES`.

    Raises:
        LabelsError: A row is no label.
    """
    seen = {source_of(row) for row in _rows(root)}
    return tuple(source for source in SOURCES if source in seen)


def append_labels(root: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append labels, each to the part of who gave it: ``labels/BY.jsonl``.

    Raises:
        LabelsError: A row is no label.
    """
    for by, mine in _by_part(rows).items():
        append_table(_part(root, by), mine)


def replace_labels(root: Path, by: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Put all labels of one giver in the place of the ones that are there, whole or not at all.

    Raises:
        LabelsError: A row is no label of this giver.
    """
    sorted_rows = _by_part(rows)
    if set(sorted_rows) - {by}:
        raise LabelsError(f"labels by {', '.join(sorted_rows)} do not go into {_part(root, by)}")
    lines = (
        json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False)
        for row in sorted_rows.get(by, [])
    )
    write_file(_part(root, by), "".join(f"{line}\n" for line in lines).encode())


def source_of(row: Mapping[str, Any]) -> str:
    """Whose eyes a label comes from: ``human`` or ``simulated``."""
    return str(row["trained_on"] if row["by"] == "model" else row["by"])


def who(row: Mapping[str, Any]) -> str:
    """Who gave a label, in words that never pass a simulation off as people."""
    if row["by"] == "model":
        return f"model trained on {_EYES[row['trained_on']]}"
    return _EYES[row["by"]]


_EYES = {"human": "people", "simulated": "the simulated observer"}


def single_labels(labels: Mapping[Key, Mapping[str, Any]]) -> dict[str, int | None]:
    """The published single label of each media item, from those of its variants.

    A person is discernible in an item when one of its variants shows them: 1 where any variant's
    label is 1, 0 where all are 0, else None (someone abstained and nobody saw).
    """
    found: dict[str, list[int | None]] = {}
    for (row_id, _), row in labels.items():
        found.setdefault(row_id, []).append(row["human_discernable"])
    return {
        row_id: 1 if 1 in values else (None if None in values else 0)
        for row_id, values in found.items()
    }


# --- what is shown, and what belongs together ----------------------------------------------------


def raw_variant(row: Mapping[str, Any]) -> str:
    """The variant that is an item's raw image, as the published layout has it.

    The clean image by day, what the camera recorded in evening and night.
    """
    return "clean" if row["band"] == "day" else "camera"


def shown_variants(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The variants of an item that are labelled, of those that are there: raw, night vision.

    Args:
        row: An index row with its developed images (``with_variants``).
    """
    wanted = (raw_variant(row), "nv")
    return tuple(name for name in wanted if row["media"].get(name))


def shown_media(dataset: Dataset) -> dict[Key, Row]:
    """(id, variant) -> index row, of every image that can be labelled.

    Raises:
        LabelsError: Evening and night images were not developed.
        DatasetError: The develop table belongs to another dataset.
    """
    rows = with_variants(dataset)
    missing = [row_id for row_id, row in rows.items() if not row["media"].get(raw_variant(row))]
    if missing:
        name = raw_variant(rows[missing[0]])
        way = (
            f"limen develop {dataset.root} makes them" if name == "camera" else "render them first"
        )
        raise LabelsError(
            f"{len(missing)} of {len(rows)} items of {dataset.root} have no '{name}' image, the "
            f"first is {missing[0]}: {way}"
        )
    return {
        (row_id, variant): row for row_id, row in rows.items() for variant in shown_variants(row)
    }


def group_of(row: Mapping[str, Any]) -> str:
    """What is held out together: subject and pose; of an image without a target, its view."""
    if not row["target_present"]:
        return f"nobody/{row['view_id']}"
    return f"{row['subject']}/{row['pose']}"


def held_out_from(row: Mapping[str, Any]) -> float:
    """The share of groups from which on an item is held out: 0..1, by the hash of its group.

    More images, another seed or another study leave it as it is.
    """
    return seeds.uniform(0, group_of(row), "discern-test")


def role_of(row: Mapping[str, Any], test_share: float = TEST_SHARE) -> str:
    """Whether an item trains or tests: ``train`` or ``test``.

    Fixed by :func:`held_out_from`, so no view of a test subject and pose is ever trained on.
    """
    return "test" if held_out_from(row) < test_share else "train"


# --- internals -----------------------------------------------------------------------------------


def _rows(root: Path) -> Iterator[Row]:
    for part in sorted((Path(root) / "labels").glob("*.jsonl")):
        for number, row in enumerate(read_table(part), 1):
            if problem := _problem(row):
                raise LabelsError(
                    f"{part}:{number} is no label ({problem}); docs/discern.md says what one is"
                )
            yield row


def _part(root: Path, by: str) -> Path:
    return Path(root) / "labels" / f"{by}.jsonl"


def _by_part(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if problem := _problem(row):
            raise LabelsError(f"{dict(row)} is no label: {problem}")
        found.setdefault(row["by"], []).append(row)
    return found


def _problem(row: Mapping[str, Any]) -> str | None:
    for key in ("id", "variant"):
        if not (isinstance(row.get(key), str) and row[key]):
            return f"{key} is {row.get(key)!r}"
    if row.get("by") not in BY:
        return f"by is {row.get('by')!r}, of {', '.join(BY)}"
    if row["by"] == "model" and row.get("trained_on") not in SOURCES:
        return f"a model's label says trained_on, of {', '.join(SOURCES)}"
    label, probability = row.get("human_discernable", ""), row.get("probability")
    if isinstance(label, bool) or label not in (0, 1, None):
        return f"human_discernable is {label!r}, of 0, 1 and null"
    if probability is not None and (
        isinstance(probability, bool)
        or not isinstance(probability, int | float)
        or not 0 <= probability <= 1
    ):
        return f"probability is {probability!r}, of 0 to 1 and null"
    return None
