"""A batch run: arguments, the loop over views, interrupts and exit status."""

import argparse
import json
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import FrameType

from .. import register
from ..addon.core.card import dataset_card
from ..addon.core.dataset import (
    BusyError,
    DatasetError,
    DoneViews,
    Row,
    done_views,
    init_dataset,
    log_event,
    open_dataset,
    write_file,
)
from ..addon.core.factors import ViewSpec
from ..addon.core.poses import MORE_POSES, find_pose, is_row_of
from ..addon.core.study import Study, dump_study
from ..addon.core.version import __version__
from .arguments import THREADS_MOST, directory, path, shard, whole
from .plan import Planned, plan_jobs
from .progress import Progress, duration
from .pull import TRIES, Pull, in_free_part

__all__ = ["DONE", "FAILED", "PARTLY_DONE", "WRONG_USE", "main"]

DONE, FAILED, WRONG_USE, PARTLY_DONE = 0, 1, 2, 3
_GIVE_UP_AFTER = 5  # failures in a row: the disk is full or the scene is broken, not one view


class _Interrupt:
    """Ctrl-C and SIGTERM: the first lets the view in hand finish, the second ends at once."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGINT, self._handle)
        signal.signal(signal.SIGTERM, self._handle)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            os._exit(PARTLY_DONE)  # files are written whole and rows last: nothing breaks
        self.asked = True
        sys.stderr.write("\nStopping after this view; once more stops at once.\n")
        sys.stderr.flush()

    def stop_with_launcher(self) -> None:
        """Let the view in hand be the last one when the other end of stdin is gone."""

        def wait() -> None:
            while sys.stdin.buffer.read(1):
                pass
            self.asked = True

        threading.Thread(target=wait, daemon=True).start()

    def stop_with_file(self, file: Path) -> None:
        """Let the view in hand be the last one once a file is there: every system has files."""

        def wait() -> None:
            while not file.exists():
                time.sleep(0.2)
            self.asked = True

        threading.Thread(target=wait, daemon=True).start()


def main(arguments: Sequence[str]) -> int:
    """Render what the arguments ask for; returns the exit status."""
    options = _parse(arguments)
    # Blender is at home in addon/: here it is met only once a run begins.
    import bpy

    from ..addon.operators import writing
    from ..addon.operators.errors import EXPECTED
    from ..addon.operators.study import check_parts, open_study

    interrupt = _Interrupt()
    if options.launched:
        interrupt.stop_with_launcher()
    if options.stop_file:
        interrupt.stop_with_file(options.stop_file)
    _prepare_blender()
    try:
        study, specs = open_study(str(options.study), options.assets)
        check_parts(study, options.assets)
    except EXPECTED as error:
        return _complain(str(error), WRONG_USE)
    if options.preflight:
        return _preflight(options, study, specs)
    try:
        bpy.ops.limen.open_study(
            filepath=str(options.study), device=options.device, assets=str(options.assets or "")
        )
    except RuntimeError as error:
        return _complain(_reason(error), WRONG_USE)
    for scene in bpy.data.scenes if options.threads else ():
        scene.render.threads_mode, scene.render.threads = "FIXED", options.threads
    try:
        init_dataset(options.out, dump_study(study))
        views = open_dataset(options.out).views
        _same_blender(options.out, views)
        _same_poses(options.out, views)
        if not (options.out / "README.md").exists():
            write_file(options.out / "README.md", dataset_card(study, specs).encode())
        names = [item.name for item in study.lightings]
        done = done_views(options.out, names)
        jobs, already = plan_jobs(specs, done, options.shard, options.limit)
        if already:
            sys.stderr.write(f"{already} views are done already\n")
        if not options.pull:
            with writing(options.out, f"shard-{options.shard[0]}-of-{options.shard[1]}"):
                return _render(options, study, Planned(jobs), interrupt)
        jobs, _ = plan_jobs(specs, limit=options.limit)
        pull = Pull(options.out, jobs, DoneViews(options.out, names))
        with in_free_part(options.out, writing):
            return _render(options, study, pull, interrupt)
    except BusyError as error:
        share = "several processes share the work with --pull, or each with a --shard of its own"
        return _complain(f"{error}: {share}", WRONG_USE)
    except DatasetError as error:
        return _complain(str(error), WRONG_USE)
    except OSError as error:
        return _complain(f"{error.filename or options.out}: {error.strerror}", WRONG_USE)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="render_grid.py",
        description="Render a study into a calibrated dataset. Run it again to go on.",
        epilog="exit status: 0 done, 1 failed, 2 wrong use, 3 partly done",
    )
    parser.add_argument("--study", type=path, required=True, metavar="FILE", help="the study file")
    parser.add_argument("--out", type=path, required=True, metavar="DIR", help="the dataset")
    parser.add_argument(
        "--shard",
        type=shard,
        default=(0, 1),
        metavar="i/N",
        help="render part i of N (from 0): one for each process or machine, into the same DIR",
    )
    parser.add_argument(
        "--pull",
        action="store_true",
        help="take views that no other process is at work on, until none is left: any number of "
        "processes, into the same DIR, none of them waited for",
    )
    parser.add_argument("--launched", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--stop-file", type=Path, help=argparse.SUPPRESS)  # the sidebar's
    parser.add_argument(
        "--threads",
        type=whole(THREADS_MOST),
        metavar="N",
        help="of the processor, for one of several processes on a machine; all by default",
    )
    parser.add_argument(
        "--limit",
        type=whole(),
        metavar="VIEWS",
        help="only the study's first views: a quick look",
    )
    parser.add_argument("--assets", type=directory, metavar="DIR", help="where licensed bodies lie")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument(
        "--preflight",
        action="store_true",
        help="render nothing: check the study and each view (is the person in the picture, in "
        "sight, on the ground?), and say what it will cost here in time and disk",
    )
    parser.add_argument("--json", action="store_true", help="with --preflight: as one JSON line")
    options = parser.parse_args(arguments)
    if options.json and not options.preflight:
        parser.error("--json goes with --preflight")
    if options.pull and options.shard != (0, 1):
        parser.error("--pull takes what is free; it goes without --shard")
    return options


def _prepare_blender() -> None:
    """Start from an empty file with Limen's operators, whatever Blender was started with."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        register()


def _same_blender(root: Path, views: Mapping[str, Row]) -> None:
    """Refuse to add to a dataset that another Blender has begun: its pixels would differ.

    Raises:
        DatasetError: It was.
    """
    import bpy

    mine = ".".join(str(part) for part in bpy.app.version)
    for row in views.values():
        try:
            theirs = row["render"]["blender"]
        except (KeyError, TypeError) as error:
            raise DatasetError(
                f"{root}: view {row['view_id']} does not say which Blender rendered it: the row is "
                "damaged; limen check tells of others like it"
            ) from error
        if theirs != mine:
            raise DatasetError(
                f"{root} was begun with Blender {theirs} and this is {mine}: go on with the same "
                "Blender, or choose another --out"
            )
        return


def _same_poses(root: Path, views: Mapping[str, Row]) -> None:
    """Refuse to add to a dataset whose poses are other ones by now: a name would mean two.

    Raises:
        DatasetError: They are.
    """
    for row in views.values():
        try:
            posed = row["pose"]
            changed = posed is not None and not is_row_of(find_pose(posed["name"]), posed)
        except (KeyError, TypeError) as error:
            raise DatasetError(
                f"{root}: view {row['view_id']} does not say which pose it shows: the row is "
                "damaged; limen check tells of others like it"
            ) from error
        if changed:
            raise DatasetError(
                f"{root}: view {row['view_id']} shows another {posed['name']} than the pose's file "
                f"holds now: put back the file that it was begun with ({MORE_POSES} says where "
                "poses of your own lie), or choose another --out"
            )


def _render(
    options: argparse.Namespace, study: Study, views: Planned | Pull, interrupt: _Interrupt
) -> int:
    import bpy

    started = time.monotonic()
    wanted = views.missing()
    log_event(
        options.out,
        event="start",
        limen=__version__,
        blender=bpy.app.version_string,
        machine=platform.node(),
        pid=os.getpid(),
        system=platform.platform(),
        device=options.device,
        shard="pull" if options.pull else list(options.shard),
        views=len(wanted),
    )
    progress = Progress(len(wanted), len(study.lightings))
    failed: dict[str, str] = {}
    in_a_row = rendered = 0
    with closing(iter(views)) as jobs:
        # A view that was taken is tried: whether to go on is asked before the next is taken.
        while not interrupt.asked and in_a_row < _GIVE_UP_AFTER:
            if (job := next(jobs, None)) is None:
                break
            try:
                bpy.ops.limen.render_view(
                    number=job.number, output=str(options.out), assets=str(options.assets or "")
                )
                views.finished(job)
                in_a_row, rendered = 0, rendered + 1
                progress.view_done(_label(job.spec))
            except RuntimeError as error:
                in_a_row += 1
                failed[job.spec.view_id] = _reason(error)
                progress.message(f"view {job.spec.view_id} failed: {_reason(error)}")
    seconds = time.monotonic() - started
    missing = views.missing()
    log_event(
        options.out,
        event="end",
        pid=os.getpid(),
        seconds=round(seconds, 1),
        rendered=rendered,
        missing=len(missing),
        failed=failed,
        interrupted=interrupt.asked,
    )
    images = rendered * len(study.lightings)
    progress.message(f"{rendered} views, {images} images in {duration(seconds)}: {options.out}")
    if not missing:
        return DONE
    given_up = {job.number for job in missing if views.is_given_up(job)}
    for job in missing:
        reason = failed.get(job.spec.view_id)
        if job.number in given_up:
            reason = f"given up after {TRIES} tries" + (f", the last: {reason}" if reason else "")
        if reason:
            progress.message(f"missing: view {job.spec.view_id} ({_label(job.spec)}): {reason}")
    if in_a_row == _GIVE_UP_AFTER:
        progress.message(f"gave up after {_GIVE_UP_AFTER} failures in a row")
    progress.message(
        f"{len(missing)} of {len(wanted)} views are missing; run the same command to go on"
    )
    return PARTLY_DONE if rendered or interrupt.asked or given_up else FAILED


def _preflight(options: argparse.Namespace, study: Study, specs: Sequence[ViewSpec]) -> int:
    import bpy

    from ..addon.operators import estimate
    from ..addon.operators.errors import EXPECTED

    names = [item.name for item in study.lightings]
    try:
        done = done_views(options.out, names) if (options.out / "study.toml").exists() else ()
        jobs, already = plan_jobs(specs, done, options.shard, options.limit)
        bpy.ops.limen.open_study(
            filepath=str(options.study), device=options.device, assets=str(options.assets or "")
        )
        left = [job.spec for job in jobs]
        cost = estimate.estimate_cost(study, left, options.assets)
        findings = estimate.check_views(study, left, options.assets, _tell_checked)
    except EXPECTED as error:
        return _complain(str(error), FAILED)
    except RuntimeError as error:
        return _complain(_reason(error), FAILED)
    notes = [found.text for found in findings if not found.error]
    errors = [found.text for found in findings if found.error]
    for kind, texts in (("note", notes), ("error", errors)):
        for text in texts:
            sys.stderr.write(f"{kind}: {text}\n")
    if errors:
        return _complain(
            f"the study's views have {len(errors)} errors: nothing to render yet", FAILED
        )
    if options.json:
        print(json.dumps({**cost._asdict(), "done": already, "notes": notes}), flush=True)
        return DONE
    print(
        f"{cost.views} views, {cost.images} images, {cost.plates} backgrounds: about "
        f"{duration(cost.seconds)} and {cost.bytes / 1e9:.2g} GB on this machine"
        + (f"; {already} views are done already" if already else ""),
        flush=True,
    )
    return DONE


def _tell_checked(done: int, of: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{done}/{of} views checked" + ("\r\x1b[K" if done == of else ""))
        sys.stderr.flush()


def _label(spec: ViewSpec) -> str:
    factors = spec.factors
    what = factors["action"] or "nobody"
    return f"{what}, {factors['scenery']}, {factors['distance_m']:g} m"


def _reason(error: RuntimeError) -> str:
    return str(error).strip().removeprefix("Error: ")


def _complain(message: str, status: int) -> int:
    sys.stderr.write(f"{message}\n")
    return status
