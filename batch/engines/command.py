"""The command of one process, and what a launch says about all of them."""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...addon.core.assets import AssetError, own_scenery_files
from ...addon.core.dataset import DatasetError, DoneViews, init_dataset
from ...addon.core.factors import SampleError, poses_by_action, sample_views
from ...addon.core.poses import PoseError, load_poses
from ...addon.core.study import Study, StudyError, dump_study, load_study, resolve
from ..plan import plan_jobs
from ..progress import Progress, duration
from ..pull import Pull, clear_tries

__all__ = [
    "DONE",
    "FAILED",
    "PARTLY_DONE",
    "TRIES_OF_PROCESSES",
    "WRONG_USE",
    "Deaths",
    "Views",
    "open_views",
    "say",
    "spare",
    "watch",
    "worker_command",
]

DONE, FAILED, WRONG_USE, PARTLY_DONE = 0, 1, 2, 3
TRIES_OF_PROCESSES = 4
SCRIPT = Path(__file__).resolve().parents[1] / "render_grid.py"


def worker_command(options: argparse.Namespace, *more: str) -> list[str]:
    """Return the command line of one process."""
    if options.blender:
        start = [options.blender, "-b", "--factory-startup", "--python-exit-code", "1", "-P"]
        start += [str(SCRIPT), "--"]
    else:
        start = [sys.executable, str(SCRIPT)]
    command = [*start, "--study", str(options.study), "--out", str(options.out), "--pull"]
    command += ["--device", options.device, "--threads", str(options.threads)]
    if options.assets:
        command += ["--assets", str(options.assets)]
    if options.limit:
        command += ["--limit", str(options.limit)]
    return [*command, *more]


@dataclass
class Views:
    """The views of a launch, and how many of them are done."""

    out: Path
    study: Study
    pull: Pull
    wanted: int
    done: int = 0
    _looked: float = field(default=0.0)
    _pause_s: float = 1.0

    def count(self) -> int:
        """Return how many views are done, read again now and then."""
        now = time.monotonic()
        if now - self._looked >= self._pause_s:
            self.done = self.wanted - len(self.pull.missing())
            self._looked = time.monotonic()
            # Reading takes longer as rows grow: a twentieth of the time at most.
            self._pause_s = max(1.0, 20 * (self._looked - now))
        return self.done

    def finish(self, refused: int = DONE) -> int:
        """Say what is missing; returns the exit status.

        Args:
            refused: The status of a process that could not work at all, which has been told of.
        """
        missing = self.pull.missing()
        self.done = self.wanted - len(missing)
        if not missing:
            return DONE
        for job in missing:
            if self.pull.is_given_up(job):
                say(f"given up: view {job.spec.view_id} was begun twice and never finished")
        mended = " once that is put right" if refused else ""
        say(
            f"{len(missing)} of {self.wanted} views are missing; "
            f"run the same command to go on{mended}"
        )
        if self.done:
            return PARTLY_DONE
        return WRONG_USE if refused == WRONG_USE else FAILED


@dataclass
class Deaths:
    """Processes that die again and again without a view in between have another trouble."""

    views: Views
    most: int
    _count: int = 0
    _done: int = -1

    def are_too_many(self) -> bool:
        """Count one; returns whether it is time to give up."""
        done = self.views.wanted - len(self.views.pull.missing())
        self._count = self._count + 1 if done == self._done else 1
        self._done = done
        return self._count > self.most


def spare(options: argparse.Namespace, views: Views) -> None:
    """Ask for no more processes than there are views to render."""
    options.shards = min(options.shards, len(views.pull.missing()))


def open_views(options: argparse.Namespace) -> Views | None:
    """Read the study and begin its dataset; None, with the reason said, where that fails."""
    try:
        study = resolve(load_study(options.study))
        poses = {name: pose.action for name, pose in load_poses().items()}
        specs = sample_views(study, poses_by_action(study, poses))
        # The hashes that every process freezes: without them it would find another study.
        folders = [*([options.assets] if options.assets else []), options.study.parent]
        own = own_scenery_files(study.own_sceneries, folders)
        study = replace(study, own_sceneries=tuple(scenery for scenery, _ in own))
        init_dataset(options.out, dump_study(study))
        clear_tries(options.out)
    except (AssetError, DatasetError, PoseError, SampleError, StudyError) as error:
        say(str(error))
        return None
    except OSError as error:
        say(f"{error.filename or options.out}: {error.strerror}")
        return None
    jobs, _ = plan_jobs(specs, limit=options.limit)
    names = [item.name for item in study.lightings]
    pull = Pull(options.out, jobs, DoneViews(options.out, names))
    views = Views(options.out, study, pull, len(jobs))
    if views.count():
        say(f"{views.done} of {views.wanted} views are done already")
    return views


def watch(views: Views, alive: Callable[[], bool]) -> None:
    """Show progress until nothing is alive."""
    before = views.count()
    progress = Progress(views.wanted - before, len(views.study.lightings))
    started = time.monotonic()
    while alive():
        now = views.count() - before
        while progress.done < now:
            progress.view_done("")
        time.sleep(0.2)
    rendered = views.wanted - len(views.pull.missing()) - before
    images = rendered * len(views.study.lightings)
    seconds = time.monotonic() - started
    progress.message(f"{rendered} views, {images} images in {duration(seconds)}: {views.out}")


def say(text: str) -> None:
    """Write a line for the person at the terminal."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
