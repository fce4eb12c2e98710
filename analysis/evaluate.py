"""Ask a model about the images of a dataset and keep every answer.

``runs/LABEL/predictions.jsonl`` holds a row per media item, keyed by ``id``; ``run.json`` beside it
says which model, settings, versions and images the answers come from, and when. Answers are
appended and fsynced as they come: a killed run goes on where it stopped, a finished one does
nothing when it is repeated.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..addon.core.dataset import (
    Dataset,
    append_table,
    exclusive,
    file_record,
    join,
    read_table,
    write_file,
)
from .contract import rows_blamed
from .develop.table import VARIANTS, with_variants
from .models import AnswerError, Model
from .tasks import Task, find_task

__all__ = ["OUTCOMES", "EvaluateError", "Run", "RunSummary", "evaluate", "read_runs"]

OUTCOMES = ("ok", "unparsed", "error")
_FLUSH_S = 2.0
_FLUSH_ROWS = 64
# Names of directories go into tables that spreadsheets open, where "=" begins a formula.
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]*")

Row = dict[str, Any]


class EvaluateError(Exception):
    """An evaluation cannot start or go on; the message says why and what to do."""


@dataclass(frozen=True)
class RunSummary:
    """What a call of :func:`evaluate` did.

    Attributes:
        directory: Where the answers are.
        asked: Items that this call asked about; 0 where all had been answered before.
        outcomes: Outcome -> how many of the items asked for, by this and earlier calls.
    """

    directory: Path
    asked: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True)
class Run:
    """The answers of one run, read back.

    Attributes:
        label: The run's name.
        about: What ``run.json`` says.
        rows: Index rows with the answer's columns, one per item.
    """

    label: str
    about: Mapping[str, Any]
    rows: tuple[Row, ...]


def evaluate(
    dataset: Dataset,
    model: Model,
    task_name: str = "presence",
    variant: str = "clean",
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RunSummary:
    """Ask a model about every item that it has not answered yet, and again where it failed.

    Args:
        dataset: What it is asked about; answers go to ``runs/`` in it.
        model: See :func:`..models.make_model`.
        task_name: One of ``TASKS``.
        variant: Which image of an item: ``clean``, or one that ``limen develop`` made.
        limit: Only the first so many views, in the order of ``view_id`` (which is random), each
            under all its lightings.
        progress: Told (items answered, items in all) at the start and after each.

    Raises:
        DatasetError: A row breaks the contract, or another process writes this run.
        EvaluateError: There is nothing to ask about, images were not written, or the earlier
            answers are of other settings or other images.
        TaskError: There is no such task.
    """
    task = find_task(task_name)
    with rows_blamed(dataset):
        items = _items(dataset, variant, limit)
    label = model.label if variant == "clean" else f"{model.label}_{variant}"
    directory = dataset.root / "runs" / label
    with exclusive(directory / "lock"):  # two at once would ask everything twice
        return _go_on(dataset.root, directory, model, task, variant, items, progress)


def _go_on(
    root: Path,
    directory: Path,
    model: Model,
    task: Task,
    variant: str,
    items: Mapping[str, Row],
    progress: Callable[[int, int], None] | None,
) -> RunSummary:
    about = _open_run(directory, model, task, variant)
    table = directory / "predictions.jsonl"
    answered = _answers(table)
    _check_same_images(answered, items, variant, directory)

    done = {row_id for row_id, row in answered.items() if row["outcome"] != "error"} & items.keys()
    todo = [row for row_id, row in items.items() if row_id not in done]
    outcomes = Counter(answered[row_id]["outcome"] for row_id in done)
    before = len(items) - len(todo)
    if progress is not None:
        progress(before, len(items))
    if not todo:
        return RunSummary(directory, 0, outcomes)

    started, seconds = datetime.now(UTC), []
    pending: list[Row] = []
    flushed = time.monotonic()
    try:
        for number, row in enumerate(todo, 1):
            begun = time.perf_counter()
            pending.append(_ask(root, model, task, variant, row))
            seconds.append(time.perf_counter() - begun)
            outcomes[pending[-1]["outcome"]] += 1
            if len(pending) >= _FLUSH_ROWS or time.monotonic() - flushed > _FLUSH_S:
                append_table(table, pending)
                pending, flushed = [], time.monotonic()
            if progress is not None:
                progress(before + number, len(items))
    finally:
        append_table(table, pending)
        session = {
            "started": started.isoformat(timespec="seconds"),
            "seconds": round((datetime.now(UTC) - started).total_seconds(), 3),
            "items": len(seconds),
            "latency_ms": _latency_ms(seconds),
            "dataset_sha256": _dataset_sha256(items, variant),
            "versions": _versions(model),
        }
        _write_about(directory, {**about, "sessions": [*about["sessions"], session]})
    return RunSummary(directory, len(todo), outcomes)


def read_runs(dataset: Dataset, task_name: str = "presence") -> list[Run]:
    """Read the runs of a task, joined with the index, by label.

    Raises:
        EvaluateError: A run's ``run.json`` is damaged, or its answers are about other images.
        DatasetError: A table is damaged or belongs to another dataset.
    """
    runs = []
    known = with_variants(dataset)
    for path in sorted((dataset.root / "runs").glob("*/run.json")):
        if not _RUN.fullmatch(path.parent.name):
            raise EvaluateError(
                f"{path.parent}: a run is named by letters, digits and . _ = + -, beginning with a "
                "letter or digit: rename the directory"
            )
        about = _read_about(path)
        table = path.parent / "predictions.jsonl"
        if about["task"] != task_name or not table.is_file():
            continue
        answers = _answers(table)
        _check_same_images(answers, known, about["variant"], path.parent)
        rows = tuple(join(dataset, answers.values()))
        runs.append(Run(path.parent.name, about, rows))
    return runs


# --- one answer ----------------------------------------------------------------------------------


def _ask(root: Path, model: Model, task: Task, variant: str, row: Row) -> Row:
    image = row["media"][variant]
    result: Row = {
        "id": row["id"],
        "answer": None,
        "prediction": None,
        "outcome": "error",
        "score": None,
        "media_sha256": image["sha256"],
    }
    path = root / image["path"]
    try:
        if not path.is_file() or file_record(path)["sha256"] != image["sha256"]:
            raise AnswerError("the image is missing, or not the one that the dataset records")
        answer = model.answer(path, task.question)
    except AnswerError as error:
        return {**result, "error": str(error)}
    prediction = task.parse(answer.text)
    return {
        **result,
        "answer": answer.text,
        "prediction": prediction,
        "outcome": "unparsed" if prediction is None else "ok",
        "score": answer.score,
        **answer.details,
    }


# --- what is asked about -------------------------------------------------------------------------


def _items(dataset: Dataset, variant: str, limit: int | None) -> dict[str, Row]:
    """Index rows by id, of the first ``limit`` views.

    ``limen develop`` may have made a variant for some bands only: those are asked about.
    """
    views = set(list(dataset.views)[:limit])
    rows = with_variants(dataset)
    items = {row_id: row for row_id, row in rows.items() if row["view_id"] in views}
    if not items:
        raise EvaluateError(f"{dataset.root} holds no media items yet: render it first")
    bands = {row["band"] for row in rows.values() if variant in row["media"]}
    if variant in VARIANTS and bands:
        items = {row_id: row for row_id, row in items.items() if row["band"] in bands}
    missing = [row_id for row_id, row in items.items() if not row["media"].get(variant)]
    if missing:
        known = sorted({name for row in items.values() for name in row["media"]} - {"kind"})
        raise EvaluateError(
            f"{len(missing)} of {len(items)} items of {dataset.root} have no '{variant}' image, "
            f"the first is {missing[0]}. Variants that rows name: {', '.join(known)}"
            + (". limen develop makes the others" if variant in VARIANTS else "")
        )
    return items


def _check_same_images(
    answers: Mapping[str, Row], items: Mapping[str, Row], variant: str, directory: Path
) -> None:
    for row_id, answer in answers.items():
        image = items[row_id]["media"].get(variant) if row_id in items else None
        if image and image["sha256"] != answer["media_sha256"]:
            raise EvaluateError(
                f"{directory} holds answers about other images: {row_id} has changed since. "
                "Move that directory away to ask anew"
            )


def _answers(table: Path) -> dict[str, Row]:
    if not table.exists():
        return {}
    answers = {}
    for number, row in enumerate(read_table(table), 1):
        if not _is_answer(row):
            raise EvaluateError(
                f"{table}:{number} is no answer as this program writes it. "
                "Move its directory away to ask anew"
            )
        answers[row["id"]] = row
    return answers


def _is_answer(row: Row) -> bool:
    prediction = row.get("prediction")
    return (
        isinstance(row.get("id"), str)
        and isinstance(row.get("media_sha256"), str)
        and row.get("outcome") in OUTCOMES
        and (type(prediction) is int and prediction in (0, 1)) == (row["outcome"] == "ok")
    )


def _dataset_sha256(items: Mapping[str, Row], variant: str) -> str:
    digest = hashlib.sha256()
    for row_id, row in items.items():
        digest.update(f"{row_id} {row['media'][variant]['sha256']}\n".encode())
    return digest.hexdigest()


# --- run.json ------------------------------------------------------------------------------------


def _open_run(directory: Path, model: Model, task: Task, variant: str) -> Row:
    """Read or make the run's ``run.json``; all in it but the note and the sessions must agree."""
    wanted: Row = {
        "run": directory.name,
        "model": {"name": model.name, "settings": dict(model.settings)},
        "task": task.name,
        "question": task.question,
        "variant": variant,
    }
    path = directory / "run.json"
    if not path.is_file():
        about = {**wanted, "note": model.note, "sessions": []}
        _write_about(directory, about)
        return about
    about = _read_about(path)
    differing = [key for key, value in wanted.items() if about.get(key) != value]
    if differing:
        key = differing[0]
        raise EvaluateError(
            f"{directory} was made with another {key}: {about.get(key)}, now {wanted[key]}. "
            "Move that directory away to ask anew"
        )
    if about.get("note", "") != model.note:
        about["note"] = model.note
        _write_about(directory, about)
    return about


def _read_about(path: Path) -> Row:
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


def _write_about(directory: Path, about: Row) -> None:
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(directory / "run.json", text.encode())


def _latency_ms(seconds: Iterable[float]) -> dict[str, float] | None:
    ordered = sorted(seconds)
    if not ordered:
        return None

    def at(share: float) -> float:
        return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return {"median": at(0.5), "p95": at(0.95), "max": at(1.0)}


def _versions(model: Model) -> dict[str, str]:
    versions = {"limen": __version__, "python": platform.python_version()}
    versions["platform"] = platform.platform()
    for package in model.packages:
        versions[package] = metadata.version(package)
    return versions
