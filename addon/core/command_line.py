"""A command as one pastes it into a terminal."""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["grid_command", "launch_command", "shell_line"]

_ROOT = Path(__file__).resolve().parents[2]


def grid_command(
    blender: str, python: str, study: Path, out: Path, assets: Path | None, device: str
) -> list[str]:
    """Return the command that renders a study with one process.

    Args:
        blender: The Blender that renders; "" for the bpy wheel of ``python``.
        python: A Python, for the wheel.
        study: The study's file.
        out: The dataset.
        assets: Where licensed files lie.
        device: ``cpu`` or ``gpu``.
    """
    script = str(_ROOT / "batch" / "render_grid.py")
    if blender:
        start = [blender, "-b", "--factory-startup", "--python-exit-code", "1", "-P", script, "--"]
    else:
        start = [python, script]
    return [*start, *_arguments(study, out, assets, device)]


def launch_command(
    blender: str, python: str, study: Path, out: Path, assets: Path | None, device: str
) -> list[str]:
    """Return the command that renders a study with several processes; see :func:`grid_command`."""
    start = [python, str(_ROOT / "batch" / "launch.py")]
    of_blender = ["--blender", blender] if blender else []
    return [*start, *_arguments(study, out, assets, device), *of_blender]


def _arguments(study: Path, out: Path, assets: Path | None, device: str) -> list[str]:
    arguments = ["--study", str(study), "--out", str(out), "--device", device]
    return [*arguments, "--assets", str(assets)] if assets else arguments


def shell_line(command: Sequence[str], *, windows: bool) -> str:
    """Return a command quoted for a POSIX shell, or for Windows' cmd."""
    return subprocess.list2cmdline(command) if windows else shlex.join(command)
