"""The runs of a dataset: ``run.json`` and ``predictions.jsonl``, written and read back."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...addon.core.dataset import Dataset, append_table, join, read_table, write_file
from ..develop.table import with_variants
from ..tasks import OUTCOMES

__all__ = ["OUTCOMES", "EvaluateError", "Run", "RunTable", "read_runs"]

_FSYNC_S = 2.0
# Names of directories go into tables that spreadsheets open, where "=" begins a formula.
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]*")

Row = dict[str, Any]
Key = tuple[str, str]


class EvaluateError(Exception):
    """An evaluation cannot start or go on; the message says why and what to do."""


@dataclass(frozen=True)
class Run:
    """The answers of one run, read back.

    Attributes:
        label: What to call it: the model's label, with task settings and variant where runs would
            else share a name.
        about: What ``run.json`` says.
        rows: Index rows with the answer's columns, one per question; ``variant`` is that row's.
    """

    label: str
    about: Mapping[str, Any]
    rows: tuple[Row, ...]

    @property
    def variant(self) -> str:
        """``clean``, ``camera``, ``nv``, or ``published`` for the mix of the three."""
        return str(self.about["variant"])


class RunTable:
    """The table of one run while it is written.

    Args:
        directory: Of the run; the caller holds its lock.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "predictions.jsonl"
        append_table(self.path, [])  # cuts off the half row of a killed writer
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        self._synced = time.monotonic()

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row at once; the disk is waited for every few seconds.

        A killed process loses nothing that was appended, a power cut the last seconds.
        """
        line = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        # Half of a surrogate pair is no text that UTF-8 can hold, and models say anything.
        data = memoryview(line.encode("utf-8", "replace"))
        while data:
            data = data[os.write(self._file, data) :]
        if time.monotonic() - self._synced > _FSYNC_S:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Wait for the disk and let the file go."""
        os.fsync(self._file)
        os.close(self._file)


def read_answers(table: Path, variant: str) -> dict[Key, Row]:
    """(id, variant) -> the last answer of a run.

    Args:
        table: Its ``predictions.jsonl``, which may be missing.
        variant: The run's, for rows that name none.

    Raises:
        EvaluateError: A row is no answer as this program writes it.
    """
    if not table.exists():
        return {}
    answers = {}
    for number, row in enumerate(read_table(table), 1):
        if not _is_answer(row):
            raise EvaluateError(
                f"{table}:{number} is no answer as this program writes it. "
                "Move its directory away to ask anew"
            )
        row.setdefault("variant", variant)
        answers[row["id"], row["variant"]] = row
    return answers


def rewrite_answers(table: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace a run's table whole."""
    lines = (json.dumps(r, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for r in rows)
    write_file(table, "".join(f"{line}\n" for line in lines).encode())


def _is_answer(row: Row) -> bool:
    prediction = row.get("prediction")
    named = isinstance(prediction, str) or (type(prediction) is int and prediction in (0, 1))
    return (
        isinstance(row.get("id"), str)
        and isinstance(row.get("variant", ""), str)
        and isinstance(row.get("media_sha256"), str)
        and row.get("outcome") in OUTCOMES
        and named == (row["outcome"] == "ok")
        and (named or prediction is None)
    )


# --- reading back --------------------------------------------------------------------------------


def read_runs(dataset: Dataset, task_name: str = "presence") -> list[Run]:
    """Read the runs of a task, joined with the index, in the order of their directories.

    Args:
        dataset: The dataset.
        task_name: A task; without settings, runs of all its settings.

    Raises:
        EvaluateError: A run's ``run.json`` is damaged, or its answers are about other images.
        DatasetError: A table is damaged or belongs to another dataset.
    """
    found: list[tuple[str, Row, tuple[Row, ...]]] = []
    known = with_variants(dataset)
    for path in sorted((dataset.root / "runs").glob("*/run.json")):
        if not _RUN.fullmatch(path.parent.name):
            raise EvaluateError(
                f"{path.parent}: a run is named by letters, digits and . _ = + -, beginning with a "
                "letter or digit: rename the directory"
            )
        about = read_about(path)
        table = path.parent / "predictions.jsonl"
        if task_name not in (about["task"], about["task"].partition(":")[0]):
            continue
        answers = read_answers(table, about["variant"])
        if answers:
            check_same_images(answers, known, path.parent)
            rows = tuple(join(dataset, (answers[key] for key in sorted(answers))))
            found.append((path.parent.name, about, rows))
    return [
        Run(label, about, rows)
        for label, (_, about, rows) in zip(_labels(found), found, strict=True)
    ]


def _labels(found: list[tuple[str, Row, tuple[Row, ...]]]) -> list[str]:
    """The shortest of model, model and variant, and so on, under which each run is alone."""
    ways: list[Callable[[str, Row], str]] = [
        lambda name, about: str(about.get("label", name)),
        lambda name, about: f"{about.get('label', name)} ({about['variant']})",
        lambda name, about: f"{about.get('label', name)} ({about['task']}, {about['variant']})",
        lambda name, about: name,
    ]
    labels: list[str] = []
    tried = [Counter(way(name, about) for name, about, _ in found) for way in ways]
    for name, about, _ in found:
        at = next(
            (i for i, way in enumerate(ways) if tried[i][way(name, about)] == 1), len(ways) - 1
        )
        labels.append(ways[at](name, about))
    return labels


def check_same_images(
    answers: Mapping[Key, Row], known: Mapping[str, Row], directory: Path
) -> None:
    """Refuse answers about images that have changed since.

    Raises:
        EvaluateError: There is one.
    """
    for (row_id, variant), answer in answers.items():
        media = known[row_id]["media"] if row_id in known else {}
        image = media.get(variant) or media.get("clean")
        if image and image["sha256"] != answer["media_sha256"]:
            raise EvaluateError(
                f"{directory} holds answers about other images: {row_id} has changed since. "
                "limen evaluate asks about it anew; or move that directory away"
            )


# --- run.json ------------------------------------------------------------------------------------


def open_about(directory: Path, wanted: Row) -> Row:
    """Read or make a run's ``run.json``; what ``wanted`` names must agree.

    Raises:
        EvaluateError: It was made with other settings, or is damaged.
    """
    path = directory / "run.json"
    if not path.is_file():
        return {**wanted, "sessions": []}
    about = read_about(path)
    for key, value in wanted.items():
        if about.get(key) != value:
            there, now = _difference(about.get(key), value)
            raise EvaluateError(
                f"{directory} was made with another {key}: {there}, now {now}. Move that "
                "directory away to ask anew, or name the run with the model's setting label=NAME"
            )
    return about


def _difference(there: Any, now: Any) -> tuple[Any, Any]:
    """The parts of two tables that differ; all of other values."""
    if not (isinstance(there, dict) and isinstance(now, dict)):
        return there, now
    keys = [key for key in {**now, **there} if there.get(key) != now.get(key)]
    if len(keys) == 1 and isinstance(now.get(keys[0]), dict):
        return _difference(there.get(keys[0]), now.get(keys[0]))
    return {k: there.get(k) for k in keys}, {k: now.get(k) for k in keys}


def read_about(path: Path) -> Row:
    """Read a ``run.json``.

    Raises:
        EvaluateError: It is none.
    """
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        names = about["run"], about["task"], about["variant"], about["model"]["name"]
        tables = about["model"]["settings"], *(row["versions"] for row in about["sessions"])
        if not all(isinstance(x, str) for x in names):
            raise TypeError("a name is no text")
        if not all(isinstance(x, dict) for x in tables):
            raise TypeError("settings or versions are no table")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EvaluateError(
            f"{path} is damaged ({error}). Move its directory away to ask anew"
        ) from error
    return dict(about)


def write_about(directory: Path, about: Row) -> None:
    """Write a ``run.json`` whole."""
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(directory / "run.json", text.encode())
