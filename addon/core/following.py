"""How far a dataset is while it is being rendered: read off its own files as they grow.

Whoever renders it, and whoever has started that: the dataset says. Nothing is read twice, so that
looking again costs a few calls of the system.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

__all__ = ["Follower", "Pace", "Run", "batch_state", "duration", "pace_of", "told"]

_CHUNK = 1 << 20
# Keys are sorted in a row, so the view's own id is the last key of that name.
_VIEW_ID = re.compile(rb'"view_id":"(v[0-9a-f]{12})"[^\n]*\n')
_NOISE = re.compile(
    r"^\s*$|^Blender quit|^Info:|^Saved: |could not get a list of mounted"
    r"|^\d\d:\d\d\.\d+ [^|]*\| (?!ERROR)"  # what Blender 5 logs at its start
)
_PROGRESS = re.compile(r"^\d+/\d+ views, |^\d+ views are done already")


def duration(seconds: float) -> str:
    """Return a time span for people: ``45 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


@dataclass(frozen=True)
class Run:
    """A run that a dataset's log tells of.

    Attributes:
        machine: Where it ran.
        pid: Its process there, 0 where the log does not say.
        started_s: When, in seconds since 1970.
        views: How many views it set out to render.
        ended: Whether it came to an end of its own.
        rendered: How many views it had rendered then.
        missing: How many were missing then.
        failed: View id -> why it failed.
        interrupted: Whether it was asked to stop.
    """

    machine: str
    pid: int
    started_s: float
    views: int
    ended: bool = False
    rendered: int = 0
    missing: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False


class Follower:
    """Reads what is appended to a dataset.

    Attributes:
        root: The dataset; it need not be there yet.
        views: The ids of the views that have their row, in the order in which they were read.
        newest: The id of the view that was read last, "" before the first.
        run: The run that was started last, None before the first.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self._forget()

    def _forget(self) -> None:
        self.views: set[str] = set()
        self.newest = ""
        self.run: Run | None = None
        self._read: dict[Path, int] = {}

    def look(self, most_bytes: int = 8 * _CHUNK) -> bool:
        """Read what is new; returns whether more is left than ``most_bytes`` in one go.

        A dataset that was removed or made anew meanwhile is read from its beginning.

        Raises:
            OSError: A file that is there cannot be read.
        """
        parts = sorted((self.root / "views").glob("*.jsonl"))
        files = [self.root / "log.jsonl", *parts]
        sizes = {path: path.stat().st_size if path.exists() else 0 for path in files}
        if any(sizes.get(path, 0) < offset for path, offset in self._read.items()):
            self._forget()
        for path, size in sizes.items():
            while (offset := self._read.get(path, 0)) < size and most_bytes > 0:
                data = _whole_lines(path, offset)
                if not data:
                    break  # half a line: its writer is at it, or was killed
                self._read[path] = offset + len(data)
                most_bytes -= len(data)
                if path.name == "log.jsonl":
                    self._read_log(data)
                else:
                    self._read_views(data)
        return most_bytes <= 0

    def _read_views(self, data: bytes) -> None:
        for line in data.splitlines(keepends=True):
            found = _VIEW_ID.search(line, max(0, line.rfind(b'"view_id":')))
            if found:
                self.newest = found[1].decode()
                self.views.add(self.newest)

    def _read_log(self, data: bytes) -> None:
        for line in data.splitlines():
            try:
                self.run = _after(self.run, json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue  # no event of ours: limen check tells of damage


def _whole_lines(path: Path, offset: int) -> bytes:
    """Return some whole lines of a file from a place on; b"" where none is whole."""
    data = b""
    with path.open("rb") as file:
        file.seek(offset)
        while chunk := file.read(_CHUNK):
            data += chunk
            if (end := data.rfind(b"\n")) >= 0:
                return data[: end + 1]
    return b""


def _after(run: Run | None, event: Mapping[str, Any]) -> Run | None:
    """Return the run that was started last, once a line of the log is read."""
    if event["event"] == "start":
        return _started(event)
    if event["event"] != "end" or run is None or event.get("pid", run.pid) != run.pid:
        return run
    return _ended(run, event)


def _started(event: Mapping[str, Any]) -> Run:
    return Run(
        str(event["machine"]),
        int(event.get("pid", 0)),
        datetime.fromisoformat(event["time"]).timestamp(),
        int(event["views"]),
    )


def _ended(run: Run, event: Mapping[str, Any]) -> Run:
    return Run(
        run.machine,
        run.pid,
        run.started_s,
        run.views,
        True,
        int(event["rendered"]),
        int(event["missing"]),
        dict(event["failed"]),
        bool(event["interrupted"]),
    )


@dataclass(frozen=True)
class Pace:
    """How fast a run is, and how long it will take still."""

    images_per_min: float
    left_s: float


def pace_of(run: Run, missing: int, images_per_view: int, now_s: float) -> Pace | None:
    """Return the pace of a run since its start; None before its first view is done.

    Args:
        run: The run.
        missing: How many views are missing now.
        images_per_view: Lightings.
        now_s: The time, in seconds since 1970.
    """
    done, elapsed_s = run.views - missing, now_s - run.started_s
    if done <= 0 or elapsed_s <= 0:
        return None
    return Pace(done * images_per_view / elapsed_s * 60, elapsed_s / done * missing)


def batch_state(
    *, writing: bool, status: int | None, stop_asked: bool, run: Run | None, missing: int
) -> str:
    """Return where a batch stands.

    Args:
        writing: Whether a process is at work on the dataset.
        status: How the process that was started here ended; None where none was, or it goes on.
        stop_asked: Whether it was asked to stop.
        run: The run that the dataset tells of last.
        missing: How many of the study's views are missing.

    Returns:
        ``starting``, ``running``, ``stopping``; or, where nobody is at work: ``done``, ``failed``
        (it rendered nothing and said why), ``stopped`` (as it was asked to), ``killed`` (by someone
        else, or it crashed), ``partly`` (some views failed), ``idle`` (nobody has begun).
    """
    if writing:
        if stop_asked:
            return "stopping"
        return "running" if run is not None and not run.ended else "starting"
    if not missing:
        return "done"
    if stop_asked and run is not None:
        return "stopped"
    unfinished = run is not None and not run.ended
    if unfinished or (status is not None and status < 0):
        return "killed"
    if status in (1, 2):
        return "failed"
    if run is None:
        return "idle"
    if run.interrupted:
        return "stopped"
    return "partly" if run.missing else "idle"


def told(log: str, most: int = 6) -> tuple[str, ...]:
    """Return what a run's log says last, without Blender's own chatter and the lines of progress.

    Args:
        log: What the run wrote to its outputs.
        most: How many lines.
    """
    lines = [line.strip() for line in log.splitlines()]
    lines = [line for line in lines if not _NOISE.search(line) and not _PROGRESS.search(line)]
    return tuple(lines[-most:])
