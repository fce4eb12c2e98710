"""Talking to the person at the terminal: messages, progress, exit statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "OK",
    "WRONG_USE",
    "console",
    "duration",
    "fail",
    "plural",
    "processors",
    "progress_bars",
    "say",
    "show",
    "show_first",
    "size",
    "visible",
]

SHOWN_PROBLEMS = 20
OK, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130


def console(stderr: bool = False) -> Console:
    """Return a terminal that wraps and colours nothing by itself."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def visible(text: str) -> str:
    """Escape what would steer the terminal or turn the line around: names come from anywhere."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def show(text: str, stderr: bool = False) -> None:
    """Print to the output, as it stands."""
    console(stderr).print(visible(text), markup=False)


def say(text: str) -> None:
    """Print to the error stream: what is no result."""
    show(text, stderr=True)


def fail(message: str, status: int) -> NoReturn:
    """Print an error and exit with a status."""
    console(stderr=True).print("[bold red]Error:[/] ", end="")
    say(message)
    raise typer.Exit(status)


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Show bars on the terminal's error stream: (what, done, in all)."""
    from rich import progress as rp

    columns = (
        rp.TextColumn("{task.description}"),
        rp.BarColumn(),
        rp.MofNCompleteColumn(),
        rp.TextColumn("{task.fields[rate]}"),
        rp.TimeElapsedColumn(),
        rp.TextColumn("left"),
        rp.TimeRemainingColumn(),
    )
    with rp.Progress(*columns, console=console(stderr=True)) as bars:
        tasks: dict[str, rp.TaskID] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                # What was there before says nothing about how fast this goes.
                tasks[what] = bars.add_task(what, total=total, completed=done, rate="")
            speed = bars.tasks[tasks[what]].speed
            rate = f"{speed:.3g}/s" if speed else ""
            bars.update(tasks[what], completed=done, total=total, rate=rate)

        yield update


def plural(n: int, thing: str) -> str:
    """Return a count with its noun."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def processors() -> int:
    """Return how many processors this process may use."""
    import os

    # What this process may use, where the system says so: fewer than there are, in a container.
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def size(count: float) -> str:
    """Return bytes as a person says them."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def show_first(lines: Iterable[str], kind: str) -> None:
    """Print the first lines and how many there are."""
    lines = list(lines)
    for line in lines[:SHOWN_PROBLEMS]:
        show(f"  {line}")
    if len(lines) > SHOWN_PROBLEMS:
        console().print(f"  ... the first {SHOWN_PROBLEMS} of {plural(len(lines), kind)}")
