"""The commands that ask models: evaluate."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import DatasetArg, LimitOption
from .report import show_scores
from .terminal import FAILED, plural, progress_bars, show

if TYPE_CHECKING:
    from ..evaluate import RunSummary

__all__ = ["COMMANDS", "ask_and_show"]


def evaluate(
    dataset: DatasetArg,
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="hog, always-yes or always-no, with settings as in hog:upscale=2. Repeatable.",
        ),
    ],
    task: Annotated[str, typer.Option(metavar="TASK", help="What is asked.")] = "presence",
    variant: Annotated[
        str,
        typer.Option(
            metavar="VARIANT",
            help="Which image of a media item is shown: clean, or a developed camera or nv.",
        ),
    ] = "clean",
    limit: LimitOption = None,
) -> None:
    """Ask models about every image and keep every answer in DATASET/runs/.

    Goes on where it was stopped; answers that are there are not asked for again.

    Example: [bold]limen evaluate demo --model hog --model always-yes[/bold]
    """
    from ...addon.core.dataset import open_dataset
    from ..evaluate import read_runs
    from ..report.results import overall_scores
    from ..tasks import find_task

    sound = ask_and_show(dataset, model, task, variant, limit)
    opened = open_dataset(dataset)
    show_scores(overall_scores(opened, find_task(task), read_runs(opened, task)))
    if not sound:
        raise typer.Exit(FAILED)


def ask_and_show(
    dataset: Path, specs: list[str], task: str, variant: str, limit: int | None
) -> bool:
    """Ask models and print how it went; whether no answer failed."""
    from ...addon.core.dataset import open_dataset
    from ..evaluate import evaluate as ask
    from ..models import make_model

    models = [make_model(spec) for spec in specs]  # all, before the first is asked for hours
    opened = open_dataset(dataset)
    sound = True
    for model in models:
        with progress_bars() as progress:
            summary = ask(opened, model, task, variant, limit, partial(progress, model.label))
        _show_summary(model.label, summary)
        sound = sound and not summary.outcomes.get("error")
    return sound


def _show_summary(label: str, summary: RunSummary) -> None:
    from ..evaluate import OUTCOMES

    total = sum(summary.outcomes.values())
    if not summary.asked:
        text = f"nothing to do, all {plural(total, 'answer')} are there"
    else:
        text = f"asked {summary.asked:,} of {plural(total, 'question')}"
    counts = ", ".join(f"{summary.outcomes.get(outcome, 0)} {outcome}" for outcome in OUTCOMES)
    show(f"{label}: {text} ({counts}) -> {summary.directory}")


COMMANDS = (evaluate,)
