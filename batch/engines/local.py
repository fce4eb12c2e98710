"""Processes of this machine: started, watched, started again when one dies."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ..pull import tidy
from .command import (
    DONE,
    FAILED,
    PARTLY_DONE,
    TRIES_OF_PROCESSES,
    WRONG_USE,
    Deaths,
    Views,
    open_views,
    say,
    spare,
    watch,
    worker_command,
)

__all__ = ["launch"]

_TAIL = 12


@dataclass
class _Worker:
    number: int
    process: subprocess.Popen
    log: Path


class _Crew:
    """The processes of a launch."""

    def __init__(self, options: argparse.Namespace, views: Views) -> None:
        self._options, self._views = options, views
        # Not in the dataset: what a full disk does to it must be told from elsewhere.
        self._logs = Path(tempfile.mkdtemp(prefix="limen-launch-"))
        self._workers: list[_Worker] = []
        self._deaths = Deaths(views, TRIES_OF_PROCESSES * options.shards)
        self.stopping = False
        self.refused: str | None = None
        self.refused_with = DONE

    def start(self) -> None:
        """Start all processes."""
        for number in range(self._options.shards):
            self._workers.append(self._spawn(number))

    def alive(self) -> bool:
        """Look after the processes; False when all have ended."""
        for worker in list(self._workers):
            if worker.process.poll() is not None:
                self._workers.remove(worker)
                self._ended(worker)
        return bool(self._workers)

    def stop(self) -> None:
        """Let each finish the view in hand; a second call ends them at once."""
        for worker in self._workers:
            if self.stopping:
                worker.process.kill()
            elif worker.process.stdin is not None:
                worker.process.stdin.close()
        self.stopping = True

    def complaints(self) -> list[str]:
        """Return what the processes said of views that failed, each once."""
        found: dict[str, None] = {}
        for log in sorted(self._logs.glob("*.log")):
            for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
                if re.match(r"view v[0-9a-f]{12} failed: ", line):
                    found.setdefault(line)
        return list(found)

    def clean_up(self) -> None:
        """Remove the logs."""
        shutil.rmtree(self._logs, ignore_errors=True)

    def _ended(self, worker: _Worker) -> None:
        status = worker.process.returncode
        if self.stopping or status == PARTLY_DONE:
            return
        if status == DONE and not self._views.pull.missing():
            return
        # What ends well without having rendered is no Blender.
        if status in (DONE, FAILED, WRONG_USE):
            self._refuse(worker, status)
            return
        # A crash, or somebody killed it: others or its successor take up what it had in hand.
        say(f"process {worker.number} died ({_how(status)}); its log: {worker.log}")
        if self._deaths.are_too_many():
            self._refuse(worker, status)
        else:
            self._workers.append(self._spawn(worker.number))

    def _refuse(self, worker: _Worker, status: int) -> None:
        if self.refused is None:
            self.refused_with = status if status > 0 else FAILED
            self.refused = (
                f"process {worker.number} ended with {_how(status)}:\n{_tail(worker.log)}"
            )
            if status == DONE and self._options.blender:
                self.refused += f"\nIs {self._options.blender} a Blender? It rendered nothing."
        if not self.stopping:
            self.stop()

    def _spawn(self, number: int) -> _Worker:
        log = self._logs / f"process-{number:03d}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                worker_command(self._options, "--launched"),
                # Its end, when this process ends however that may be, lets the worker stop.
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                # The terminal's Ctrl-C is for the launcher, which passes it on in its own way.
                **_own_group(),
            )
        return _Worker(number, process, log)


def launch(options: argparse.Namespace) -> int:
    """Render with processes of this machine; returns the exit status."""
    views = open_views(options)
    if views is None:
        return WRONG_USE
    if not views.pull.missing():
        say(f"nothing to do: all {views.wanted} views are in {options.out}")
        tidy(options.out)
        return DONE
    spare(options, views)
    if options.threads is None:
        options.threads = max(1, (os.cpu_count() or 1) // options.shards)
    crew = _Crew(options, views)
    try:
        crew.start()
    except OSError as error:
        crew.stop()
        crew.clean_up()
        say(f"{error.filename or options.out}: {error.strerror}")
        return WRONG_USE

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        again = " at once" if crew.stopping else " after the views in hand; once more stops at once"
        say(f"\nStopping{again}.")
        crew.stop()

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    watch(views, crew.alive)
    if crew.refused is not None:
        say(crew.refused)
    for line in crew.complaints()[:_TAIL]:
        say(line)
    status = views.finish(crew.refused_with)
    if status == DONE:
        crew.clean_up()
        tidy(options.out)
    elif crew.stopping and crew.refused is None:
        return PARTLY_DONE
    return status


def _how(status: int) -> str:
    if status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"status {status}"


def _tail(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-_TAIL:] or ["it said nothing"])


def _own_group() -> dict[str, object]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}
