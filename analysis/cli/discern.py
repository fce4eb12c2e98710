"""Commands on what can be seen: sample, observe, measure, learn, label, report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .arguments import DatasetArg, LimitOption
from .terminal import FAILED, console, plural, processors, progress_bars, say, show, show_first

__all__ = ["GROUP"]

GROUP = typer.Typer(
    name="discern",
    help="What can be seen: sample images, measure them, learn from labels, label the rest.\n\n"
    "[bold]limen discern sample demo[/bold], then [bold]limen annotate demo --sample main[/bold] "
    "asks people; [bold]features[/bold], [bold]fit[/bold], [bold]apply[/bold] and "
    "[bold]report[/bold] follow. [bold]limen discern observe demo[/bold] stands in for people.",
    no_args_is_help=True,
)

WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Processes. Default: one per processor, at most 8."),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHOSE", help="human or simulated. Default: the only ones that there are."
    ),
]
RedoOption = Annotated[bool, typer.Option("--redo", help="Forget what is there.")]


@GROUP.command()
def sample(
    dataset: DatasetArg,
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the sample.")] = "main",
    margin: Annotated[
        float, typer.Option(help="Half the width of the interval of a share in the test.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="Of that interval.")] = 0.95,
    train_factor: Annotated[
        float, typer.Option(help="Images that train, for each that tests.")
    ] = 4.0,
    test_share: Annotated[
        float, typer.Option(help="Of subjects in a pose, the share held out.")
    ] = 0.2,
    catch: Annotated[float, typer.Option(help="Share of images with nobody in them.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Draws other images.")] = 0,
    redo: Annotated[bool, typer.Option("--redo", help="Replace a sample of this name.")] = False,
) -> None:
    """Draw the images that people are asked about, and those held out for the test.

    Example: [bold]limen discern sample demo --margin 0.05 --confidence 0.95[/bold]
    """
    from ..discern.sampling import draw_sample

    drawn = draw_sample(
        dataset,
        name,
        margin=margin,
        confidence=confidence,
        train_factor=train_factor,
        test_share=test_share,
        catch_share=catch,
        seed=seed,
        redo=redo,
    )
    show(
        f"{drawn.train:,} train and {drawn.test:,} test of {plural(drawn.population, 'image')} "
        f"with a person, {drawn.catch:,} without -> {drawn.path}"
    )
    show(
        f"{drawn.strata:,} strata, difficulty predicted from {drawn.difficulty}; held out: "
        f"{drawn.test_groups} subjects in a pose"
    )


@GROUP.command()
def observe(
    dataset: DatasetArg,
    sample: Annotated[
        str, typer.Option(metavar="NAME", help="Of a sample, or all for every image.")
    ] = "main",
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Answer to a running limen annotate there instead."),
    ] = None,
    password: Annotated[
        str | None,
        typer.Option(
            envvar="LIMEN_ANNOTATE_PASSWORD",
            show_envvar=False,
            metavar="TEXT",
            help="What the server there asks for; better in LIMEN_ANNOTATE_PASSWORD.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each image is shown.")] = 1,
    distance: Annotated[float, typer.Option(metavar="M", help="Eye to screen.")] = 0.6,
    pixel_pitch: Annotated[float, typer.Option(metavar="MM", help="Of the screen.")] = 0.277,
    white: Annotated[float, typer.Option(metavar="CD/M2", help="Of the screen.")] = 120.0,
    field_factor: Annotated[
        float, typer.Option(help="Threshold here / threshold in the laboratory.")
    ] = 2.0,
    seed: Annotated[int, typer.Option(help="Another observer of the same kind.")] = 0,
    workers: WorkersOption = None,
    redo: RedoOption = False,
) -> None:
    """Let the simulated observer answer. It is no human, and its labels say so.

    Example: [bold]limen discern observe demo --sample main[/bold]
    """
    from ..discern.observer import Observer, Viewing
    from ..discern.simulate import observe as answer
    from ..discern.simulate import observe_server

    viewing = Viewing(distance_m=distance, pixel_pitch_mm=pixel_pitch, white_cd_m2=white)
    observer = Observer(field_factor=field_factor)
    with progress_bars() as progress:
        tell = partial(progress, "simulated observer")
        if url is not None:
            count = observe_server(
                dataset,
                url,
                password=password,
                viewing=viewing,
                observer=observer,
                seed=seed,
                progress=tell,
            )
            show(f"simulated observer: {plural(count, 'answer')} given to {url}")
            return
        summary = answer(
            dataset,
            None if sample == "all" else sample,
            viewing=viewing,
            observer=observer,
            repeats=repeats,
            seed=seed,
            workers=workers or min(8, processors()),
            redo=redo,
            progress=tell,
        )
    show(
        f"simulated observer: {plural(summary.made, 'image')} labelled, {summary.there:,} were "
        f"there ({summary.seen:,} visible) -> {dataset / 'labels' / 'simulated.jsonl'}"
    )
    if summary.catch:
        show(f"false alarms: {summary.false_alarms} of {plural(summary.catch, 'catch trial')}")


@GROUP.command()
def features(
    dataset: DatasetArg,
    extra: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Beyond the published: weber, michelson, csf, noise, size, luminance, lux. "
            "Repeatable.",
        ),
    ] = None,
    band_px: Annotated[float, typer.Option(help="Least width of the surrounding band.")] = 4.0,
    band_share: Annotated[float, typer.Option(help="Or this share of the person's size.")] = 0.25,
    outline_px: Annotated[float, typer.Option(help="Least reach of the outline.")] = 1.0,
    outline_share: Annotated[float, typer.Option(help="Or this share of the size.")] = 0.01,
    edge_per_px: Annotated[float, typer.Option(help="Least L* per pixel of an edge.")] = 2.0,
    edge_per_size: Annotated[float, typer.Option(help="Or L* per size of the person.")] = 20.0,
    samples: Annotated[int, typer.Option(help="Most pixels that colours compare.")] = 2000,
    projections: Annotated[int, typer.Option(help="Directions of the sliced distance.")] = 32,
    limit: LimitOption = None,
    workers: WorkersOption = None,
    redo: RedoOption = False,
) -> None:
    """Measure how persons stand out, through their masks, in raw and night-vision images.

    Goes on where it was stopped.

    Example: [bold]limen discern features demo --extra weber --extra csf[/bold]
    """
    from ..discern.features import FeatureSettings
    from ..discern.measure import measure_dataset

    settings = FeatureSettings(
        band_px=band_px,
        band_share=band_share,
        outline_px=outline_px,
        outline_share=outline_share,
        edge_per_px=edge_per_px,
        edge_per_size=edge_per_size,
        samples=samples,
        projections=projections,
        extras=tuple(extra or ()),
    )
    with progress_bars() as progress:
        summary = measure_dataset(
            dataset,
            settings,
            workers=workers or min(8, processors()),
            limit=limit,
            redo=redo,
            progress=partial(progress, "measuring"),
        )
    show(
        f"{plural(summary.made, 'item')} measured, {summary.there:,} were there -> "
        f"{dataset / 'labels' / 'features'}"
    )
    if summary.failed:
        console().print(f"[bold]{plural(len(summary.failed), 'item')} failed[/]")
        show_first(summary.failed, "item")
        raise typer.Exit(FAILED)


@GROUP.command()
def fit(
    dataset: DatasetArg,
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the model.")] = "main",
    labels: LabelsOption = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Which labels the rest: ensemble, forest, xgboost, tree or logistic.",
        ),
    ] = "ensemble",
    extra: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Measured features beyond the published. Repeatable."),
    ] = None,
    threshold: Annotated[float, typer.Option(help="Probability from which it is visible.")] = 0.5,
    abstain: Annotated[float, typer.Option(help="No label as near as this to it.")] = 0.1,
    test_share: Annotated[
        float | None,
        typer.Option(help="Of subjects in a pose, the share held out. Default: the samples'."),
    ] = None,
    trees: Annotated[int, typer.Option(min=1, help="Of a forest.")] = 100,
    seed: Annotated[int, typer.Option(help="Of folds, forests and intervals.")] = 0,
) -> None:
    """Learn from the labels, and say how good each model is and whether one is really better.

    Example: [bold]limen discern fit demo --labels human[/bold]
    """
    from ..discern.learn import fit as learn
    from ..discern.model_file import comparisons, model_directory, save_model

    directory = model_directory(dataset, name)
    with progress_bars() as progress:
        fitted = learn(
            dataset,
            source=labels,
            chosen=model,
            extras=tuple(extra or ()),
            threshold=threshold,
            abstain=abstain,
            test_share=test_share,
            trees=trees,
            seed=seed,
            progress=partial(progress, "fitting"),
        )
    about = save_model(fitted, directory)
    _show_scores(about)
    for sentence in comparisons(about, ("test",)):
        show(sentence.replace("**", ""))
    if about["trained_on"] == "simulated":
        say("learnt from the simulated observer, which is no human")
    show(f"model: {directory}")


@GROUP.command("apply")
def apply_(
    dataset: DatasetArg,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Of a model of this dataset, or its directory.")
    ] = "main",
) -> None:
    """Label every image with a model, except where it is too close to call.

    Example: [bold]limen discern apply demo --model main[/bold]
    """
    from ..discern.apply import apply_model
    from ..discern.model_file import load_model

    here = dataset / "labels" / "models" / model
    loaded = load_model(here if "/" not in model and here.is_dir() else Path(model))
    with progress_bars() as progress:
        summary = apply_model(dataset, loaded, partial(progress, "labelling"))
    show(
        f"{plural(summary.labelled, 'image')} labelled ({summary.visible:,} visible), "
        f"{summary.abstained:,} abstained, {summary.by_definition:,} 0 by definition -> "
        f"{dataset / 'labels' / 'model.jsonl'}"
    )


@GROUP.command()
def report(
    dataset: DatasetArg,
    labels: LabelsOption = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the model. Default: main, if it is there."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Default: labels/report.html in the dataset."),
    ] = None,
) -> None:
    """Write a page: where seeing ends, how good the models are, examples.

    Example: [bold]limen discern report demo[/bold]
    """
    from ..discern.model_file import model_directory, read_about
    from ..discern.page import build_report

    if model is not None:
        read_about(model_directory(dataset, model))  # whoever names one wants no page without it
    page = out or dataset / "labels" / "report.html"
    build_report(dataset, page, source=labels, model=model or "main")
    show(f"report: {page}")


def _show_scores(about: dict[str, object]) -> None:
    from rich.table import Table

    from ..discern.assess import METRICS

    scores: dict[str, dict[str, dict[str, float | None]]] = about["scores"]["test"]  # type: ignore[index]
    table = Table("held-out test", *METRICS, box=None, pad_edge=False)
    for model, values in scores.items():
        cells = [values[name]["value"] for name in METRICS]
        table.add_row(model, *("-" if cell is None else f"{cell:.3f}" for cell in cells))
    console().print(table)
    learnt, test = (about["labels"][role] for role in ("train", "test"))  # type: ignore[index]
    show(
        f"learnt from {plural(learnt['images'], 'image')} ({learnt['groups']} subjects in a pose), "
        f"tested on {test['images']} ({test['groups']}); intervals are in the model's README.md"
    )
