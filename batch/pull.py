"""Views for whichever process is free: no server gives them out, locks on the dataset do.

Any number of processes, on all machines that share the dataset's file system, take the same study.
A background belongs to the process that holds its lock, so that its plate is rendered once; where
no whole background is left, a process helps with the next few views of another's. A lock ends with
its process, however that ends: what a dead one left is taken up by the others.

A view that was begun and never finished :data:`TRIES` times, as one that crashes Blender, is put
aside and said to be missing.
"""

import hashlib
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from ..addon.core.dataset import BusyError, exclusive, held_parts
from .arguments import SHARDS_MOST
from .plan import Job, background

__all__ = ["TRIES", "Pull", "clear_tries", "in_free_part", "tidy"]

TRIES = 2
_WORK = "work"
_TOGETHER = 8  # views that a helping process takes
_PATIENCE_S = 3.0

Writing = Callable[[Path, str], AbstractContextManager[None]]


class Pull:
    """The views of a run, taken as they are free.

    Args:
        root: The dataset.
        jobs: All views of the run, done or not.
        done: Reads the ids of the views that are done.
    """

    def __init__(self, root: Path, jobs: Sequence[Job], done: Callable[[], set[str]]) -> None:
        self._root = root
        self._read_done = done
        self._finished: set[str] = set()
        self._backgrounds: dict[str, list[Job]] = {}
        for job in jobs:
            key = "/".join(map(str, background(job.spec)))
            self._backgrounds.setdefault(hashlib.sha256(key.encode()).hexdigest()[:16], []).append(
                job
            )

    def __iter__(self) -> Iterator[Job]:
        """Yield views; each must be told to be :meth:`finished` before the next is asked for."""
        names = list(self._backgrounds)
        # Processes begin at different places. Order changes nothing of what is rendered.
        start = random.SystemRandom().randrange(len(names)) if names else 0
        for name in names[start:] + names[:start]:
            yield from self._whole(name)
        while True:
            done = self._read_done()
            left = [name for name in names if self._open_jobs(self._backgrounds[name], done)]
            if not left:
                return
            taken = False
            for name in left:
                for job in self._help(name, done):
                    taken = True
                    yield job
            if not taken:
                time.sleep(_PATIENCE_S)  # others are at work on all that is left

    def finished(self, job: Job) -> None:
        """Forget the tries of a view that is done.

        It is not taken again, even where its row is not found: its dataset was removed meanwhile.
        """
        self._finished.add(job.spec.view_id)
        _tries(self._root, job).unlink(missing_ok=True)

    def missing(self) -> list[Job]:
        """Return the views that are not done."""
        done = self._read_done()
        return [job for its in self._backgrounds.values() for job in its if not _is(job, done)]

    def is_given_up(self, job: Job) -> bool:
        """Whether a view was begun too often."""
        try:
            return _tries(self._root, job).stat().st_size >= TRIES
        except FileNotFoundError:
            return False

    def _whole(self, name: str) -> Iterator[Job]:
        """Take all views of a background that nobody is at work on."""
        with ExitStack() as held:
            if self._lock(held, name):
                for group in _groups(self._backgrounds[name]):
                    yield from self._take(name, group)

    def _help(self, name: str, done: set[str]) -> Iterator[Job]:
        """Take a few views of a background, of which another process has rendered the plate."""
        jobs = self._backgrounds[name]
        with ExitStack() as held:
            alone = self._lock(held, name)
            if alone or any(_is(job, done) for job in jobs):
                for group in _groups(jobs):
                    taken = False
                    for job in self._take(name, group):
                        taken = True
                        yield job
                    if taken:
                        return

    def _take(self, name: str, group: Sequence[Job]) -> Iterator[Job]:
        """Yield the open views of a group, unless another process has it."""
        with ExitStack() as held:
            if self._lock(held, f"{name}-{group[0].spec.view_id}"):
                for job in self._open_jobs(group, self._read_done()):
                    self._count_try(job)
                    yield job

    def _count_try(self, job: Job) -> None:
        path = _tries(self._root, job)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b".")
            file.flush()
            os.fsync(file.fileno())

    def _open_jobs(self, jobs: Sequence[Job], done: set[str]) -> list[Job]:
        return [job for job in jobs if self._is_open(job, done)]

    def _is_open(self, job: Job, done: set[str]) -> bool:
        mine = job.spec.view_id in self._finished
        return not mine and not _is(job, done) and not self.is_given_up(job)

    def _lock(self, held: ExitStack, name: str) -> bool:
        path = self._root / _WORK / "locks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            held.enter_context(exclusive(path))
        except BusyError:
            return False
        return True


@contextmanager
def in_free_part(root: Path, writing: Writing) -> Iterator[None]:
    """Hold the first part ``worker-N`` of a dataset that no other process writes.

    Args:
        root: The dataset.
        writing: Opens a part by its name.

    Raises:
        DatasetError: The dataset cannot be written.
    """
    with ExitStack() as held:
        for number in range(SHARDS_MOST):
            try:
                held.enter_context(writing(root, f"worker-{number:04d}"))
                break
            except BusyError:
                if number == SHARDS_MOST - 1:  # as on a file system without locks
                    raise
        yield


def clear_tries(root: Path) -> None:
    """Give every view all its tries again: a new launch is a new chance."""
    shutil.rmtree(root / _WORK / "tries", ignore_errors=True)


def tidy(root: Path) -> None:
    """Remove locks, tries and logs of a run that is over and complete.

    They stay where other processes are at work, as those of a launch with more views.
    """
    if held_parts(root):
        return
    shutil.rmtree(root / _WORK, ignore_errors=True)


def _groups(jobs: Sequence[Job]) -> list[Sequence[Job]]:
    return [jobs[at : at + _TOGETHER] for at in range(0, len(jobs), _TOGETHER)]


def _is(job: Job, done: set[str]) -> bool:
    return job.spec.view_id in done


def _tries(root: Path, job: Job) -> Path:
    return root / _WORK / "tries" / job.spec.view_id
