"""A whole evaluation: what has been answered, what is left, asked and written down."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from ... import __version__
from ...addon.core.dataset import Dataset, exclusive
from ..contract import rows_blamed
from ..conversation import Item
from ..models import Model, UnusableModelError, known_model
from ..tasks import Task, TaskError, find_task, for_dataset
from .asking import Job, Result, ask, replay
from .items import choose_items
from .table import (
    EvaluateError,
    RunTable,
    open_about,
    read_answers,
    rewrite_answers,
    write_about,
)

__all__ = ["ENGINES", "RunSummary", "evaluate", "evaluate_all"]

ENGINES = ("local", "ray")
MAX_FAILURES = 0.2
_FAILURES_JUDGED_FROM = 20

Row = dict[str, Any]


@dataclass(frozen=True)
class RunSummary:
    """What a call of :func:`evaluate` did.

    Attributes:
        directory: Where the answers are.
        asked: Questions that this call put; 0 where all had been answered before.
        outcomes: Outcome -> how many of the questions, by this and earlier calls.
        read_again: Answers that were there and were read by another parser.
        last_error: Why the last question that failed in this call did, or None.
    """

    directory: Path
    asked: int
    outcomes: Mapping[str, int]
    read_again: int = 0
    last_error: str | None = None


def evaluate(
    dataset: Dataset,
    model: Model,
    task_name: str | Task = "presence",
    variant: str = "clean",
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RunSummary:
    """Ask a model one task about every item that it has not answered yet, and where it failed.

    Args: See :func:`evaluate_all`.

    Raises: See :func:`evaluate_all`.
    """
    task = find_task(task_name) if isinstance(task_name, str) else task_name
    (summary,) = evaluate_all(dataset, model, [task], variant, limit=limit, progress=progress)
    return summary


def evaluate_all(
    dataset: Dataset,
    model: Model,
    tasks: Sequence[Task],
    variant: str,
    *,
    limit: int | None = None,
    max_failures: float = MAX_FAILURES,
    engine: str = "local",
    ray_workers: int | None = None,
    confirm: Callable[[Sequence[Job], Sequence[tuple[int, int]]], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[RunSummary]:
    """Ask a model some tasks: a run for each, questions about one image after each other.

    A question that has an answer is not put again, unless its image changed since; one that ended
    in an error is. Where the task's parser is another than the run's, recorded answers are read
    again, not asked again.

    Args:
        dataset: What it is asked about; answers go to ``runs/`` in it.
        model: See :func:`..models.make_model`.
        tasks: What is asked.
        variant: See :func:`.items.choose_items`.
        limit: Only the first so many views.
        max_failures: Stop when a greater share of the questions put fails.
        engine: ``local``, or ``ray``: a model on each GPU or machine of a cluster.
        ray_workers: How many models, by default one for each GPU, one where there is none.
        confirm: Told the questions that will be put, and (tokens in, tokens out) of recorded
            answers, before the first; where it returns False nothing is asked.
        progress: Told (questions answered, questions in all) at the start and after each.

    Returns:
        What was done, for each task.

    Raises:
        DatasetError: A row breaks the contract, or another process writes one of the runs.
        EvaluateError: There is nothing to ask about, images were not made, earlier answers are of
            other settings, or too many questions failed.
        TaskError: The model cannot be asked a task.
    """
    for task in tasks:
        if model.tasks is not None and task.name.partition(":")[0] not in model.tasks:
            answers = ", ".join(model.tasks)
            raise TaskError(f"{model.label or model.name} answers {answers} only, not {task.name}")
    with rows_blamed(dataset):
        items = choose_items(dataset, variant, limit)
        tasks = [for_dataset(task, dataset) for task in tasks]
    if model.only is not None:
        items = [item for item in items if model.only(item)]
        if not items:
            raise EvaluateError(
                f"{model.label}: {dataset.root} has none of its labels for {variant} images: "
                "limen annotate asks people, limen discern observe the simulated observer"
            )
    names = [run_name(model, task, variant) for task in tasks]
    if len(set(names)) < len(names):
        raise TaskError(f"a task is named twice: {', '.join(task.name for task in tasks)}")
    with ExitStack() as locks, rows_blamed(dataset):
        runs = []
        for name, task in zip(names, tasks, strict=True):
            directory = dataset.root / "runs" / name
            locks.enter_context(exclusive(directory / "lock"))  # two would ask everything twice
            run = _open_run(directory, model, task, variant, items)
            if run.about["parser"] != task.parser:
                every = choose_items(dataset, variant) if limit else items
                run = _read_again(run, every)
            runs.append(run)
        jobs = _in_order(runs, items)
        if jobs and confirm is not None:
            measured = [tokens for run in runs for tokens in run.tokens]
            if not confirm(jobs, measured):
                raise EvaluateError(f"{model.label}: nothing was asked")
        _put(model, runs, jobs, max_failures, engine, ray_workers, progress)
        return [
            RunSummary(
                run.directory, len(run.seconds), run.outcomes, run.read_again, run.last_error
            )
            for run in runs
        ]


def run_name(model: Model, task: Task, variant: str) -> str:
    """The directory of a run: ``MODEL__TASK__VARIANT``, a file name on every system."""
    parts = (model.label, task.name.replace(":", "-"), variant)
    return "__".join(re.sub(r"[^A-Za-z0-9._=+-]+", "-", part) for part in parts)


# --- runs ----------------------------------------------------------------------------------------


@dataclass
class _Run:
    """A run in hand."""

    directory: Path
    about: Row
    task: Task
    jobs: list[Job]
    there: set[tuple[str, str]]
    outcomes: Counter[str]
    seconds: array[float]
    images: str
    tokens: list[tuple[int, int]]
    read_again: int = 0
    last_error: str | None = None


def _open_run(
    directory: Path, model: Model, task: Task, variant: str, items: Sequence[Item]
) -> _Run:
    identity = {"name": model.name, "settings": dict(model.settings)}
    about = open_about(
        directory,
        {
            "run": directory.name,
            "label": model.label,
            "model": identity,
            "task": task.name,
            "question": task.question,
            "prompt": task.prompt.about(),
            "variant": variant,
        },
    )
    known = known_model(model)
    now: Row = {"note": model.note, "known": asdict(known) if known else None}
    if "parser" not in about or any(about.get(key) != value for key, value in now.items()):
        about = {"parser": task.parser, **about, **now}
        write_about(directory, about)
    answers = read_answers(directory / "predictions.jsonl", variant)
    asked = [item for item in items if task.asks(item.row)]
    digest = hashlib.sha256()
    jobs, outcomes, kept = [], Counter[str](), set()
    for item in asked:
        request = _request(identity, task, item, model.depends and model.depends(item))
        digest.update(f"{item.row['id']} {item.variant} {item.media.sha256}\n".encode())
        there = answers.get(item.key)
        if there and there["outcome"] != "error" and there.get("request") == request:
            outcomes[there["outcome"]] += 1
            kept.add(item.key)
        else:
            jobs.append(Job(0, task, item, request))
    counts = [(row.get("tokens_in"), row.get("tokens_out")) for row in answers.values()]
    tokens = [(n, m) for n, m in counts if isinstance(n, int) and isinstance(m, int)]
    images = digest.hexdigest()
    return _Run(directory, about, task, jobs, kept, outcomes, array("d"), images, tokens)


def _request(identity: Row, task: Task, item: Item, depends: Any = None) -> str:
    """Hash of all that an answer depends on; how it is read does not count."""
    turn = next(task.dialogue(item))
    content = {
        "model": identity,
        "task": task.name,
        "prompt": task.prompt.about(),
        "text": turn.text,
        "media": [media.sha256 for media in turn.media],
    }
    if depends is not None:
        content["depends"] = depends
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_again(run: _Run, items: Iterable[Item]) -> _Run:
    """Read all recorded answers of a run with its task's parser; its outcomes change."""
    table = run.directory / "predictions.jsonl"
    answers = read_answers(table, run.about["variant"])
    of_key = {item.key: item for item in items}
    outcomes, count = run.outcomes.copy(), 0
    for key, row in answers.items():
        if key not in of_key or row["outcome"] == "error" or row.get("declined"):
            continue
        texts = row.get("answers") or [row.get("answer")]
        if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            raise EvaluateError(
                f"{table}: the answer about {' '.join(key)} is {texts!r}, which is no text and "
                f"cannot be read again. Move {run.directory} away to ask anew"
            )
        reading = replay(run.task, of_key[key], texts)
        answers[key] = {**row, **reading.details, **_read(reading)}
        count += 1
        if key in run.there:
            outcomes.subtract([row["outcome"]])
            outcomes[reading.outcome] += 1
    rewrite_answers(table, answers.values())
    about = {**run.about, "parser": run.task.parser}
    write_about(run.directory, about)
    return replace(run, about=about, outcomes=+outcomes, read_again=count)


# --- asking --------------------------------------------------------------------------------------


def _in_order(runs: Sequence[_Run], items: Sequence[Item]) -> list[Job]:
    """The questions of all runs, those about one image after each other."""
    order = {item.key: i for i, item in enumerate(items)}
    jobs = [replace(job, number=number) for number, run in enumerate(runs) for job in run.jobs]
    return sorted(jobs, key=lambda job: (order[job.item.key], job.number))


def _put(
    model: Model,
    runs: Sequence[_Run],
    jobs: Sequence[Job],
    max_failures: float,
    engine: str,
    ray_workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    answered = sum(sum(run.outcomes.values()) for run in runs)
    total = answered + len(jobs)
    if progress is not None:
        progress(answered, total)
    if not jobs:
        return
    failed = asked = 0
    started = datetime.now(UTC)
    tables = {n: RunTable(run.directory) for n, run in enumerate(runs) if run.jobs}
    try:
        with closing(_results(model, jobs, engine, ray_workers)) as results:
            for result in results:
                run, row = runs[result.job.number], _row(result)
                tables[result.job.number].append(row)
                run.outcomes[row["outcome"]] += 1
                run.seconds.append(result.seconds)
                asked += 1
                if row["outcome"] == "error":
                    failed += 1
                    run.last_error = result.error or row.get("error")
                if progress is not None:
                    progress(answered + asked, total)
                if (
                    asked >= _FAILURES_JUDGED_FROM
                    and failed > max_failures * asked
                    and asked < len(jobs)
                ):
                    raise EvaluateError(
                        f"{model.label}: stopped, as {failed} of {asked} questions failed "
                        f"({failed / asked:.0%}; --max-failures is {max_failures:.0%}). The last: "
                        f"{run.last_error}. What was answered is kept; the same "
                        "command asks again where it failed"
                    )
    except UnusableModelError as error:
        raise EvaluateError(f"{model.label}: {error}") from error
    finally:
        for number, table in tables.items():
            table.close()
            run = runs[number]
            write_about(run.directory, _with_session(run, model, engine, started))
        if model.close is not None:
            model.close()


def _results(
    model: Model, jobs: Sequence[Job], engine: str, ray_workers: int | None
) -> Generator[Result, None, None]:
    if engine == "local":
        return ask(model, jobs)
    from .cluster import ask_on_cluster

    return ask_on_cluster(model, jobs, ray_workers)


def _row(result: Result) -> Row:
    job, answer = result.job, result.answer
    row: Row = {
        **(answer.details if answer else {}),
        **result.reading.details,
        "id": job.item.row["id"],
        "variant": job.item.variant,
        "request": job.request,
        "media_sha256": job.item.media.sha256,
        "answer": result.texts[-1] if result.texts else None,
        "score": answer.score if answer else None,
        "latency_s": round(result.seconds, 4),
        **_read(result.reading),
    }
    if len(result.texts) > 1:
        row["answers"] = list(result.texts)
    if answer is not None and answer.refused:
        row["declined"] = True
    if result.error is not None:
        row["error"] = result.error
    return row


def _read(reading: Any) -> Row:
    return {"outcome": reading.outcome, "prediction": reading.prediction}


def _with_session(run: _Run, model: Model, engine: str, started: datetime) -> Row:
    session = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 3),
        "items": len(run.seconds),
        "latency_ms": _latency_ms(run.seconds),
        "dataset_sha256": run.images,
        "engine": engine,
        "runtime": dict(model.runtime),
        "versions": _versions(model),
    }
    return {**run.about, "sessions": [*run.about["sessions"], session]}


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
