"""Processes of a SLURM array job: a script for sbatch, written and submitted."""

import argparse
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from ...addon.core.dataset import write_file
from .command import DONE, FAILED, WRONG_USE, open_views, say, spare, worker_command

__all__ = ["launch", "script"]

_THREADS = 2
_OPTION = re.compile(r"([A-Za-z][A-Za-z0-9-]*)=([^\s'\"`$\\]+)")
_UNFIT = re.compile(r"[\"\\\x00-\x1f\x7f]")
_OWN = ("array", "job-name", "output", "open-mode", "requeue", "cpus-per-task")


def launch(options: argparse.Namespace) -> int:
    """Write the script and submit it; returns the exit status."""
    options.threads = options.threads or _THREADS
    for text in options.slurm:
        match = _OPTION.fullmatch(text)
        if not match or match[1] in _OWN:
            say(
                f"--slurm '{text}': KEY=VALUE is needed, without spaces, quotes, ` $ and \\, as in "
                f"partition=cpu; {', '.join(_OWN)} are set by Limen"
            )
            return WRONG_USE
    if _UNFIT.search(str(options.out)):
        say(
            f'--out {str(options.out)!r}: SLURM writes its logs there and takes no ", \\ and '
            "line ends in their path: choose another name"
        )
        return WRONG_USE
    views = open_views(options)
    if views is None:
        return WRONG_USE
    if not views.pull.missing():
        say(f"nothing to do: all {views.wanted} views are in {options.out}")
        return DONE
    spare(options, views)
    path = options.write or options.out / "work" / "launch.sbatch"
    (options.out / "work" / "logs").mkdir(parents=True, exist_ok=True)
    write_file(path, script(options).encode())
    if options.write:
        say(f"written: {path}; submit it with: sbatch {shlex.quote(str(path))}")
        return DONE
    if shutil.which("sbatch") is None:
        say(f"there is no sbatch on this machine; the script is {path}")
        return FAILED
    done = subprocess.run(["sbatch", str(path)], capture_output=True, text=True, check=False)
    say((done.stdout + done.stderr).strip())
    if done.returncode:
        say(f"sbatch refused the script; tried again: sbatch {shlex.quote(str(path))}")
        return FAILED
    say(f"logs: {options.out / 'work' / 'logs'}; the same command again says what is missing")
    return DONE


def script(options: argparse.Namespace) -> str:
    """Return the text of the script."""
    # SLURM has symbols of its own that begin with %.
    logs = f"{options.out / 'work' / 'logs'}".replace("%", "%%") + "/%A_%a.log"
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name=limen-{_plain(options.out)}",
        f"#SBATCH --array=0-{options.shards - 1}",
        f"#SBATCH --cpus-per-task={options.threads}",
        f'#SBATCH --output="{logs}"',
        "#SBATCH --open-mode=append",
        # A task of a lost node starts again and takes what is left.
        "#SBATCH --requeue",
    ]
    if options.device == "gpu" and not any(o.startswith(("gres=", "gpus")) for o in options.slurm):
        lines.append("#SBATCH --gres=gpu:1")
    lines += [f"#SBATCH --{option}" for option in options.slurm]
    # SLURM ends a task by SIGTERM: the view in hand is finished, and the rest taken up by others.
    lines += ["", "set -u", f"exec {shlex.join(worker_command(options))}", ""]
    return "\n".join(lines)


def _plain(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", path.name) or "study"
