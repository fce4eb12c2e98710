"""The commands that ask models: evaluate, and what can be asked of whom."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import DatasetArg, LimitOption
from .report import show_scores
from .terminal import (
    FAILED,
    OK,
    WRONG_USE,
    console,
    fail,
    plural,
    progress_bars,
    say,
    show,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...addon.core.dataset import Dataset
    from ..evaluate import RunSummary
    from ..evaluate.asking import Job
    from ..evaluate.cost import Prices
    from ..models import Access, Model
    from ..tasks import Task

__all__ = ["COMMANDS", "ask_and_show"]


def evaluate(
    dataset: DatasetArg,
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="hog, always-yes, hf:ORG/NAME, openai:NAME and others (limen models), with "
            "settings as in hog:upscale=2 or hf:ORG/NAME,batch=4. Repeatable.",
        ),
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="TASK", help="What is asked (limen tasks). Repeatable."),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            metavar="VARIANT",
            help="Which image is shown: clean, or a developed camera or nv; published: clean by "
            "day, camera in evening and night, and these as nv too. Default: published, or clean "
            "where nothing was developed.",
        ),
    ] = None,
    limit: LimitOption = None,
    parser: Annotated[
        str,
        typer.Option(
            metavar="PARSER",
            help="How answers are read: strict or published. Answers that are there are read "
            "again, not asked again.",
        ),
    ] = "strict",
    prompts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your own prompts, as prompts.toml.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The server of openai: models, as http://HOST:8000/v1."),
    ] = None,
    key_env: Annotated[
        str, typer.Option(metavar="NAME", help="The environment variable with the server's key.")
    ] = "OPENAI_API_KEY",
    price_in: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Price of a million tokens asked.")
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Price of a million answered.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a paid run.")] = False,
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Let hf: models run code they bring. Recorded."),
    ] = False,
    published_compat: Annotated[
        bool,
        typer.Option(
            "--published-compat", help="Repeat the published settings of a model where they differ."
        ),
    ] = False,
    max_failures: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="SHARE", help="Stop when more of the questions fail."),
    ] = 0.2,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help="local, or ray: many GPUs or machines.")
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With ray: models. Default: one for each GPU."),
    ] = None,
) -> None:
    """Ask models about every image and keep every answer in DATASET/runs/.

    Goes on where it was stopped; answers that are there are not asked for again.

    Example: [bold]limen evaluate demo -m hog -m always-yes --variant clean[/bold],
    [bold]limen evaluate demo -m hf:Qwen/Qwen2.5-VL-3B-Instruct --task presence --task action[/bold]
    """
    from ..evaluate import ENGINES
    from ..models import Access

    if engine not in ENGINES:
        raise typer.BadParameter(f"--engine is '{engine}': one of {', '.join(ENGINES)} is allowed")
    if workers is not None and engine != "ray":
        raise typer.BadParameter("--workers is for --engine ray; a server's are concurrency=N")
    if (price_in is None) != (price_out is None):
        raise typer.BadParameter("--price-in and --price-out belong together")
    sound = ask_and_show(
        dataset,
        model,
        task or "presence",
        variant,
        limit,
        parser=parser,
        prompts=prompts,
        access=Access(base_url, key_env, trust_remote_code, published_compat),
        prices=None if price_in is None or price_out is None else (price_in, price_out),
        yes=yes,
        max_failures=max_failures,
        engine=engine,
        workers=workers,
    )
    _show_results(dataset, task or ["presence"])
    if not sound:
        raise typer.Exit(FAILED)


def tasks(
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="Show what it asks, word for word.")
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="STUDY", help="Count what a study will ask.")
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your own prompts, as prompts.toml.")
    ] = None,
) -> None:
    """List what models can be asked, show a task's prompt, or count a study's questions.

    Example: [bold]limen tasks action-choice:options=8[/bold],
    [bold]limen tasks --study paper-size[/bold]
    """
    from ..tasks import DESCRIPTIONS, TASKS, find_task

    if study is not None:
        _show_counts(study, [find_task(task)] if task else [TASKS["presence"], TASKS["action"]])
    elif task is not None:
        found = find_task(task, prompts)
        about = found.prompt
        show(f"{found.name}: prompt {about.name}, version {about.version} ({about.source})")
        if about.system:
            show(f"\nsystem: {about.system}")
        show(f"\n{_example(found)}")
    else:
        for name, what in DESCRIPTIONS.items():
            show(f"{name:15}{what}")


def models(
    kind: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="Show the settings of a model or kind.")
    ] = None,
) -> None:
    """List the models that can be asked, and how each published one is run.

    Example: [bold]limen models openai[/bold]
    """
    import importlib

    from ..models import KINDS, MODELS, ModelError
    from ..models.known import load_known

    places = {**MODELS, **{name: place[:2] for name, place in KINDS.items()}}
    if kind is not None:
        name = kind.partition(":")[0]
        if name not in places:
            raise ModelError(f"there is no model '{kind}'. Known: {', '.join(places)}")
        module, function = places[name]
        make = getattr(importlib.import_module(module, "limen.analysis.models"), function)
        # For who asks models, not for who calls the function.
        text = str(make.__doc__).partition("\n    Raises:")[0].replace("Args:", "Settings:")
        text = re.sub(r"\n +(target|access): .*(\n {10,}.*)*", "", text)
        show(text.replace("``", "").replace("    ", "  ").strip())
        defaults = [f"{key}={value}" for key, value in (make.__kwdefaults__ or {}).items()]
        show(f"\nDefaults: {', '.join(defaults) or 'it has no settings'}")
        return
    show("built in:  " + ", ".join(MODELS))
    show("others:    " + ", ".join(f"{name}:{what}" for name, (*_, what) in KINDS.items()))
    show("\nThe models of the published evaluation:")
    for known in load_known():
        size = f"{known.parameters_b:g} B" if known.parameters_b else "?"
        show(f"  {known.name:20}{size:>9}  {known.model_class:9} {known.run}")


def ask_and_show(
    dataset: Path,
    specs: list[str],
    tasks: str | Sequence[str],
    variant: str | None,
    limit: int | None,
    *,
    parser: str = "strict",
    prompts: Path | None = None,
    access: Access | None = None,
    prices: tuple[float, float] | None = None,
    yes: bool = False,
    max_failures: float = 0.2,
    engine: str = "local",
    workers: int | None = None,
) -> bool:
    """Ask some models, say what came of it, and return whether every question got an answer."""
    from ...addon.core.dataset import open_dataset
    from ..evaluate import evaluate_all
    from ..evaluate.cost import Prices
    from ..models import make_model
    from ..tasks import find_task

    # All of them, before the first is asked for hours.
    models = [make_model(spec, access) for spec in specs]
    _refuse_one_name(models)
    names = [tasks] if isinstance(tasks, str) else list(dict.fromkeys(tasks))
    found = [find_task(name, prompts, parser) for name in names]
    opened = open_dataset(dataset)
    variant = variant or _default_variant(opened)
    sound = True
    for model in models:
        confirm = None
        if prices is not None and model.name.startswith("openai:"):
            confirm = _confirm_cost(model, Prices(*prices), yes)
        with progress_bars() as progress:
            summaries = evaluate_all(
                opened,
                model,
                found,
                variant,
                limit=limit,
                max_failures=max_failures,
                engine=engine,
                ray_workers=workers,
                confirm=confirm,
                progress=partial(progress, visible(model.label)),
            )
        for task, summary in zip(found, summaries, strict=True):
            _show_summary(f"{model.label}, {task.name}" if len(found) > 1 else model.label, summary)
            sound = sound and not summary.outcomes.get("error")
    return sound


def _default_variant(dataset: Dataset) -> str:
    from ..develop.table import VARIANTS, with_variants

    rows = with_variants(dataset).values()
    if any(variant in row["media"] for row in rows for variant in VARIANTS):
        return "published"
    say("Nothing was developed: the clean images are asked about (--variant clean).")
    return "clean"


def _refuse_one_name(models: list[Model]) -> None:
    from ..models import ModelError

    labels = [model.label for model in models]
    for label in labels:
        if labels.count(label) > 1:
            raise ModelError(
                f"two models would be called {label}: name one of them with its setting label=NAME"
            )


def _confirm_cost(
    model: Model, prices: Prices, yes: bool
) -> Callable[[Sequence[Job], Sequence[tuple[int, int]]], bool]:
    def confirm(jobs: Sequence[Job], measured: Sequence[tuple[int, int]]) -> bool:
        import sys

        from ..evaluate.cost import estimate_cost

        cost = estimate_cost(model, jobs, prices, measured)
        say(
            f"{model.label}: {plural(cost.questions, 'question')}, about {cost.tokens_in:,} tokens "
            f"asked and {cost.tokens_out:,} answered: about {cost.dollars:.2f} USD "
            f"(from {cost.basis})"
        )
        if yes:
            return True
        if not sys.stdin.isatty():
            fail("there is no terminal to ask: --yes pays without asking", WRONG_USE)
        if not typer.confirm("Go on?", default=False):
            raise typer.Exit(OK)
        return True

    return confirm


def _show_summary(label: str, summary: RunSummary) -> None:
    from ..evaluate import OUTCOMES

    total = sum(summary.outcomes.values())
    if not summary.asked:
        text = f"nothing to do, all {plural(total, 'answer')} are there"
    else:
        text = f"asked {summary.asked:,} of {plural(total, 'question')}"
    if summary.read_again:
        text += f", {summary.read_again:,} read again"
    counts = ", ".join(f"{summary.outcomes.get(outcome, 0)} {outcome}" for outcome in OUTCOMES)
    show(f"{label}: {text} ({counts}) -> {summary.directory}")
    if summary.last_error:
        say(f"{label}: the last error: {summary.last_error}")


def _show_results(dataset: Path, tasks: Sequence[str]) -> None:
    """The scores of presence; of multiple choice, how many answers are right."""
    from ...addon.core.dataset import open_dataset
    from ..evaluate import read_runs
    from ..report.answers import load_answers
    from ..report.results import overall_scores
    from ..tasks import find_task

    opened = open_dataset(dataset)
    for name in tasks:
        task, runs = find_task(name.partition(":")[0]), read_runs(opened, name)
        if task.name == "presence" and runs:
            show_scores(overall_scores(load_answers(opened)))
        elif task.name == "action-choice":
            for run in runs:
                right = sum(row["prediction"] == task.truth(row) for row in run.rows)
                chance = sum(1 / len(row["options"]) for row in run.rows if row.get("options"))
                show(
                    f"{run.label}, {name}: {right:,} of {len(run.rows):,} right "
                    f"({right / len(run.rows):.1%}; by chance {chance / len(run.rows):.1%})"
                )


def _show_counts(study: str, tasks: Sequence[Task]) -> None:
    from rich.table import Table

    from ...addon.core.poses import load_poses
    from ...addon.core.study import load_study
    from ..evaluate import count_questions
    from ..run import find_study

    loaded = load_study(find_study(study))
    actions = {name: pose.action for name, pose in load_poses().items()}
    counts = count_questions(loaded, actions, tasks)
    columns = ("day", "evening", "night", "nv")
    table = Table("task", *columns, "in all", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, of_band in counts.items():
        table.add_row(name, *(f"{of_band[c]:,}" for c in columns), f"{of_band.total():,}")
    console().print(table)
    show(f"{plural(sum(c.total() for c in counts.values()), 'question')}, variant published")


def _example(task: Task) -> str:
    """What a task asks about a person who walks."""
    from ..conversation import Item, Media

    row = {"id": "v000000000000-noon", "view_id": "v000000000000", "action": "walking"}
    item = Item(row, {}, "clean", Media(Path("image.png"), ""), Path())
    return next(task.dialogue(item)).text


COMMANDS = (evaluate, tasks, models)
