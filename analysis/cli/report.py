"""The command that reports what models answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import DatasetArg
from .terminal import console, show, visible

if TYPE_CHECKING:
    from ..report.results import Cell

__all__ = ["COMMANDS", "report_and_show", "show_scores"]


def report(
    dataset: DatasetArg,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: report.html in the dataset.")
    ] = None,
) -> None:
    """Write a self-contained HTML page: what was rendered, and where models fail.

    Example: [bold]limen report demo --out demo.html[/bold]
    """
    report_and_show(dataset, out)


def report_and_show(dataset: Path, out: Path | None) -> None:
    """Write the report and print the scores."""
    from ..report import build_report, scores_file

    path = (out or dataset / "report.html").resolve()
    results = build_report(dataset, path)
    show_scores(results.overall)
    for name, file in (("scores", scores_file(path)), ("report", path)):
        show(f"{name}: {file}")


def show_scores(cell: Cell) -> None:
    from rich.markup import escape
    from rich.table import Table

    from ..metrics import NO_ANSWER
    from ..report.text import percent

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
        table.add_row(escape(visible(line.label)), f"{counts.sum():,}", *cells, missing)
    console().print(table)


COMMANDS = (report,)
