"""From a study to a report: price it, render it, check it, evaluate the built-in models, report.

Rendering is ``batch/render_grid.py`` in a process of its own, in this Python with the ``bpy`` wheel
or in a real Blender, so that a renderer that crashes or is stopped takes nothing else with it.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ..addon.core.dataset import DatasetError, init_dataset
from ..addon.core.study import Study, dump_study

__all__ = [
    "Estimate",
    "OutputError",
    "RunError",
    "StudyNotFoundError",
    "check_output",
    "check_space",
    "estimate",
    "find_study",
    "render",
    "render_command",
]

DONE, FAILED, WRONG_USE, PARTLY = 0, 1, 2, 3
"""Exit statuses of ``batch/render_grid.py``: all done, failed, wrong use, some views missing."""

_PACKAGE = Path(__file__).parents[1]


class RunError(Exception):
    """Rendering cannot be started, or said something that cannot be understood."""


class OutputError(ValueError):
    """A dataset of the study cannot lie there; the message says what does."""


class StudyNotFoundError(ValueError):
    """There is no such study, neither a file nor one that Limen brings."""


@dataclass(frozen=True)
class Estimate:
    """What is left to render of a study costs.

    Attributes:
        done: Views that are there already.
        views: Views that are left.
        images: Media items that they give.
        plates: Backgrounds.
        seconds: Rendering time on this machine.
        bytes: Disk space.
    """

    done: int
    views: int
    images: int
    plates: int
    seconds: float
    bytes: float


def find_study(name: str) -> Path:
    """Return the file of a study: a path, or the name of one that Limen brings, as ``demo``.

    Raises:
        StudyNotFoundError: There is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    brought = {file.stem: file for file in sorted((_PACKAGE / "studies").glob("*.toml"))}
    if name in brought:
        return brought[name]
    near = difflib.get_close_matches(name, brought, 1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise StudyNotFoundError(
        f"there is no study file '{name}'.{hint} Limen brings: {', '.join(brought) or 'none'}"
    )


def render_command(
    study: Path,
    out: Path,
    limit: int | None = None,
    assets: Path | None = None,
    blender: Path | None = None,
) -> list[str]:
    """Return the command line that renders a study.

    Args:
        study: The study file.
        out: The dataset's directory.
        limit: Only the study's first views.
        assets: Where licensed bodies lie.
        blender: A Blender executable; None for this Python with the ``bpy`` wheel.

    Raises:
        RunError: There is no ``bpy`` here and no Blender was named.
    """
    script = str(_PACKAGE / "batch" / "render_grid.py")
    arguments = ["--study", str(study), "--out", str(out)]
    if limit is not None:
        arguments += ["--limit", str(limit)]
    if assets is not None:
        arguments += ["--assets", str(assets)]
    if blender is not None:
        start = [str(blender), "-b", "--factory-startup", "-Y", "--python-exit-code", "1"]
        return [*start, "-P", script, "--", *arguments]
    if importlib.util.find_spec("bpy") is None:
        raise RunError(
            "rendering needs Blender: `pip install 'limen[bpy]'` puts it into this Python "
            "(3.11 or 3.13), or --blender PATH names an installed Blender 4.3 or later"
        )
    return [sys.executable, script, *arguments]


def estimate(command: Sequence[str]) -> Estimate:
    """Ask what a render command will cost; renders nothing that is kept.

    Raises:
        RunError: The study is wrong or the renderer does not run; with what it said.
    """
    asked = [*command, "--preflight", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    for line in reversed(done.stdout.splitlines()):
        try:
            answer = json.loads(line)
            return Estimate(**{key: answer[key] for key in Estimate.__annotations__})
        except (ValueError, KeyError, TypeError):
            continue
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
    raise RunError("\n".join(said) or f"the renderer ended with status {done.returncode}")


def check_output(out: Path, study: Study) -> None:
    """Check that a study's dataset can be begun in a directory, or gone on with.

    Raises:
        OutputError: It holds a dataset of another study or other files, or is no directory.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file: choose an empty or a new directory")
    if not out.exists() or not any(out.iterdir()):
        return  # left alone: whoever is asked now may still say no
    try:
        init_dataset(out, dump_study(study))
    except DatasetError as error:
        raise OutputError(str(error)) from None


def check_space(out: Path, cost: Estimate) -> None:
    """Check that a dataset that is not begun yet fits on its disk.

    Raises:
        RunError: It does not.
    """
    if out.exists():
        return
    place = next(parent for parent in out.absolute().parents if parent.exists())
    free = shutil.disk_usage(place).free
    if free < cost.bytes:
        raise RunError(
            f"{out} needs about {cost.bytes / 1e9:.2g} GB, {place} has {free / 1e9:.2g} GB free: "
            "choose another --out, or render less with --limit"
        )


def render(command: Sequence[str]) -> int:
    """Render, with the renderer's own output shown.

    Ctrl-C and a polite kill are passed on once, and the renderer is waited for: it finishes its
    rows and leaves a dataset that a repeated run completes.

    Returns:
        One of ``DONE``, ``FAILED``, ``WRONG_USE``, ``PARTLY``.

    Raises:
        KeyboardInterrupt: It was stopped by a signal of ours.
        RunError: It cannot be started, or ended by a signal of someone else.
    """
    asked: list[int] = []
    posix = os.name == "posix"  # elsewhere the console itself interrupts both
    try:
        # In a group of its own, or the terminal would interrupt it a second time beside us.
        child = subprocess.Popen(command, process_group=0 if posix else None)
    except OSError as error:
        raise RunError(f"{command[0]} cannot be started: {error.strerror}") from error

    def pass_on(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if posix:
            child.send_signal(number)

    with _handling(pass_on):
        status = child.wait()
    if asked:
        raise KeyboardInterrupt
    if status < 0:
        raise RunError(
            f"the renderer was ended by {signal.Signals(-status).name}"
            + (": the system may have run out of memory" if status == -signal.SIGKILL else "")
            + ". The same command goes on where it stopped"
        )
    return status


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let a handler have the signals that ask to stop."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
