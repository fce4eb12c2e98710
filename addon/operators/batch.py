"""Render the study with a Blender in the background, and follow it while it works.

The process is its own master: it goes on when the panel is closed, another file is opened or
Blender quits. How far it is, its dataset says; so it is found again by whoever opens the study with
the same output folder. A log of what it said lies among the user's files, not in the dataset: what
a full disk does to a dataset must be told from elsewhere.
"""

import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import bpy

from ..core.command_line import grid_command, launch_command, shell_line
from ..core.contact_sheet import FILE_NAME, make_contact_sheet
from ..core.dataset import DatasetError, check_place, held_parts
from ..core.following import Follower, Pace, batch_state, pace_of, told
from ..core.study import StudyError, dump_study
from ..preferences import assets_dir, output_dir, user_folder
from ..properties import live
from ..properties.words import translated
from .errors import EXPECTED, reporting
from .study import StudyOperator, check_file, check_parts, save_scene_study, scene_study

__all__ = ["CLASSES", "Standing", "on_standing", "output_of", "register", "standing", "unregister"]

_BUSY_S, _IDLE_S, _READING_S = 0.5, 5.0, 0.02
_LOG_TAIL_BYTES = 16384
_NEW_WINDOW_REDRAWS = 6


@dataclass(frozen=True)
class Standing:
    """Where the batch of the open study stands.

    Attributes:
        state: As :func:`limen.addon.core.following.batch_state` has it; ``none`` where there is no
            output folder or the study has faults, ``refused`` where the folder is not for it.
        root: The output folder.
        done: How many of the study's views are there.
        total: How many it has.
        images_per_view: Lightings.
        pace: Of the run that goes on; None before its first view.
        newest: The last clean image, None before the first.
        said: What went wrong, in lines.
        ours: Whether the run was started here, so that it can be stopped from here.
        machine: Where it runs.
        free_bytes: Free space on the output's disk; None where that is not known.
    """

    state: str = "none"
    root: Path = Path()
    done: int = 0
    total: int = 0
    images_per_view: int = 1
    pace: Pace | None = None
    newest: Path | None = None
    said: tuple[str, ...] = ()
    ours: bool = False
    machine: str = ""
    free_bytes: int | None = None

    @property
    def is_busy(self) -> bool:
        """Whether somebody is at work on the dataset."""
        return self.state in ("starting", "running", "stopping")


_standing = Standing()
_listeners: list[Callable[[Standing], None]] = []
_processes: dict[Path, subprocess.Popen] = {}
_begun_s: dict[Path, float] = {}  # when each was started, in seconds since 1970
_follower: Follower | None = None
_place: tuple[object, str] = (None, "")  # what was asked of the output folder, and the answer


def standing() -> Standing:
    """Return where the batch stood when it was looked at last; costs nothing, for drawing."""
    return _standing


def on_standing(listener: Callable[[Standing], None]) -> None:
    """Have a function called whenever the standing changes."""
    if listener not in _listeners:
        _listeners.append(listener)


def output_of(context: bpy.types.Context, scene: bpy.types.Scene) -> Path | None:
    """Return where a scene's study is rendered to, None where nobody has said.

    That is the folder of the panel; else one of the study's name, in the folder of the preferences
    or beside the study.
    """
    settings = scene.limen
    if settings.batch.output:
        path = Path(bpy.path.abspath(settings.batch.output))
        return Path(os.path.normpath(path)) if path.is_absolute() else None
    folder = output_dir(context)
    if folder is None and settings.study_path:
        folder = Path(bpy.path.abspath(settings.study_path)).parent
    return folder / settings.study.name if folder and settings.study.name else None


# --- the files of a run --------------------------------------------------------------------------


def _run_file(root: Path, suffix: str) -> Path:
    """Return a file of the user's that belongs to the run of an output folder."""
    key = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    folder = user_folder() / "batches"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{key}{suffix}"


def _log_tail(root: Path) -> str:
    path = _run_file(root, ".log")
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LOG_TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")


def _started_pid(root: Path) -> int:
    """Return the process that was started here for an output folder, 0 where none was."""
    path = _run_file(root, ".pid")
    text = path.read_text(encoding="ascii", errors="replace") if path.is_file() else ""
    return int(text) if text.isdecimal() else 0


# --- looking -------------------------------------------------------------------------------------


def look(scene: bpy.types.Scene, context: bpy.types.Context | None = None) -> bool:
    """Look where a scene's batch stands; returns whether there is more of the dataset to read."""
    global _standing, _follower
    new, more = _look(scene, context or bpy.context)
    changed, _standing = new != _standing, new
    if changed:
        for listener in _listeners:
            listener(new)
    return more


def _look(scene: bpy.types.Scene, context: bpy.types.Context) -> tuple[Standing, bool]:
    global _follower
    now = live.current_state(scene)
    root = output_of(context, scene) if scene.limen.is_open else None
    if root is None or now.study is None:
        return Standing(), False
    lightings = [item.name for item in now.study.lightings]
    facts = {"root": root, "total": len(now.views), "images_per_view": len(lightings)}
    try:
        if problem := _refusal(scene, root, now.text):
            return Standing("refused", said=(problem,), **facts), False
        if _follower is None or _follower.root != root:
            _follower = Follower(root)
        more = _follower.look()
        writing, status = _at_work(root, _follower)
        stop_asked = _run_file(root, ".stop").exists()
        free_bytes = _free_bytes(root)
    except OSError as error:
        return Standing("refused", said=(_in_words(error, root),), **facts), False
    done = sum(view.view_id in _follower.views for view in now.views)
    run, missing = _follower.run, len(now.views) - done
    if writing and run is not None and run.started_s < _begun_s.get(root, 0):
        run = None  # the one before: the one that was started here has not begun yet
    state = batch_state(
        writing=writing, status=status, stop_asked=stop_asked, run=run, missing=missing
    )
    busy = state in ("running", "stopping")
    said: tuple[str, ...] = ()
    if state == "partly" and run is not None and run.failed:
        said = tuple(f"{view_id}: {reason}" for view_id, reason in run.failed.items())
    elif state in ("failed", "killed", "partly"):
        said = told(_log_tail(root))
    shown = scene.limen.cell.lighting if scene.limen.cell.lighting in lightings else lightings[0]
    newest = root / "media" / "clean" / f"{_follower.newest}-{shown}.png"
    return Standing(
        state,
        done=done,
        pace=pace_of(run, missing, len(lightings), time.time()) if run and busy else None,
        newest=newest if newest.is_file() else None,
        said=said,
        ours=writing and _is_ours(root, _follower),
        machine=run.machine if run else "",
        free_bytes=free_bytes,
        **facts,
    ), more


def _refusal(scene: bpy.types.Scene, root: Path, text: str) -> str:
    """Return why a folder cannot take a study, "" where it can; asked again when either changes."""
    global _place
    frozen = root / "study.toml"
    changed_ns = frozen.stat().st_mtime_ns if frozen.exists() else 0
    folder_ns = root.stat().st_mtime_ns if root.exists() and not changed_ns else 0
    question = (root, text, changed_ns, folder_ns)
    if _place[0] != question:
        answer = ""
        try:
            study, _ = scene_study(scene)
            check_place(root, dump_study(study))
        except EXPECTED as error:
            answer = str(error)
        _place = (question, answer)
    return _place[1]


def _at_work(root: Path, follower: Follower) -> tuple[bool, int | None]:
    """Return whether a process is at work on a dataset, and how the one started here ended."""
    process = _processes.get(root)
    if process is None:
        return bool(held_parts(root)), None
    status = process.poll()
    if status is None:
        return True, None
    follower.look()  # what it wrote last
    return bool(held_parts(root)), status


def _is_ours(root: Path, follower: Follower) -> bool:
    if root in _processes and _processes[root].poll() is None:
        return True
    run = follower.run
    return (
        run is not None
        and run.machine == platform.node()
        and run.pid != 0
        and run.pid == _started_pid(root)
    )


def _free_bytes(root: Path) -> int | None:
    """Return the free space where a folder is, or will be."""
    for folder in (root, *root.parents):
        if folder.is_dir():
            return shutil.disk_usage(folder).free
    return None


def _in_words(error: OSError, root: Path) -> str:
    return f"{error.filename or root}: {error.strerror}"


def _watch() -> float:
    """Look again now and then, often while a batch goes on."""
    scene = live.window_scene()
    if scene is None:
        return _IDLE_S
    before = _standing
    more = look(scene)
    if _standing != before:
        live.redraw("VIEW_3D")
    if more:
        return _READING_S
    return _BUSY_S if _standing.is_busy else _IDLE_S


def _watch_now(_scene: bpy.types.Scene | None = None) -> None:
    """Look as soon as Blender is idle."""
    if bpy.app.background:  # no window, and nobody who looks
        return
    if bpy.app.timers.is_registered(_watch):
        bpy.app.timers.unregister(_watch)
    bpy.app.timers.register(_watch, first_interval=0.05, persistent=True)


# --- operators -----------------------------------------------------------------------------------


class _WithOutput(StudyOperator):
    """What operators share that need an output folder."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a study without faults is open and has an output folder."""
        if not super().poll(context):
            return False
        if live.problems(context.scene):
            cls.poll_message_set("The study has faults: mend them first")
            return False
        if output_of(context, context.scene) is None:
            cls.poll_message_set(
                "The output folder is relative to a .blend file that is not saved yet"
                if context.scene.limen.batch.output
                else "Choose an output folder first"
            )
            return False
        return True


def _command(context: bpy.types.Context, several: bool = False) -> list[str]:
    """Return the command that renders the open study, from its file."""
    settings = context.scene.limen
    make = launch_command if several else grid_command
    return make(
        bpy.app.binary_path,
        sys.executable,
        Path(bpy.path.abspath(settings.study_path)),
        output_of(context, context.scene),
        assets_dir(context),
        settings.batch.device,
    )


def _save(operator: bpy.types.Operator, context: bpy.types.Context) -> None:
    """Save the study, one without a file beside the output, and say where."""
    settings = context.scene.limen
    now = live.current_state(context.scene)
    if settings.study_path:
        check_file(context.scene)
    if settings.study_path and now.text == settings.saved_text:
        path = Path(bpy.path.abspath(settings.study_path))
        if path.is_file():
            return
    if not settings.study_path:
        settings.study_path = str(_free_name(output_of(context, context.scene)))
    save_scene_study(context.scene, settings.study_path)
    path = bpy.path.abspath(settings.study_path)
    operator.report({"INFO"}, translated("Saved the study as {}", path))


def _free_name(root: Path) -> Path:
    """Return a name for the study of a dataset, beside it."""
    root.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        path = root.with_name(f"{root.name}{f'-{number}' if number > 1 else ''}.toml")
        if not path.exists():
            return path
    raise StudyError([f"Study has no free name beside {root}: save it yourself first"])


class LIMEN_OT_start_batch(_WithOutput, bpy.types.Operator):
    """Save the study and render it with a Blender in the background, into the output folder.

    What is there already is not rendered again. The batch goes on when Blender quits.
    """

    bl_idname = "limen.start_batch"
    bl_label = "Start Batch"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a batch can start; says what is missing."""
        if not super().poll(context):
            return False
        if _standing.root != output_of(context, context.scene):
            return True  # not looked at yet: it is before the start
        if _standing.state == "refused":
            cls.poll_message_set(" ".join(_standing.said))
            return False
        if _standing.is_busy:
            cls.poll_message_set("A batch is at work on this dataset")
            return False
        return True

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Start it."""
        scene = context.scene
        root = output_of(context, scene)
        study, _ = scene_study(scene)
        check_parts(study, None)
        check_place(root, dump_study(study))
        look(scene, context)
        if _standing.is_busy:
            raise DatasetError(f"{root}: a batch is at work on this dataset")
        try:
            root.mkdir(parents=True, exist_ok=True)
            _save(self, context)
            _start(context, root)
        except OSError as error:
            self.report({"ERROR"}, _in_words(error, root))
            return {"CANCELLED"}
        look(scene, context)
        _watch_now()
        return {"FINISHED"}


def _start(context: bpy.types.Context, root: Path) -> None:
    stop_file = _run_file(root, ".stop")
    stop_file.unlink(missing_ok=True)
    command = [*_command(context), "--stop-file", str(stop_file)]
    _begun_s[root] = time.time() - 0.001  # a log's times have milliseconds
    with _run_file(root, ".log").open("wb") as log:
        # A group of its own: what ends this Blender, or a Ctrl-C in its terminal, is not for it.
        if sys.platform == "win32":
            new_group = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
            own = {"creationflags": new_group}
        else:
            own = {"start_new_session": True}
        _processes[root] = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **own
        )
    _run_file(root, ".pid").write_text(str(_processes[root].pid), encoding="ascii")


class LIMEN_OT_cancel_batch(_WithOutput, bpy.types.Operator):
    """Stop the batch once the view in hand is done; once more ends it at once. Nothing breaks."""

    bl_idname = "limen.cancel_batch"
    bl_label = "Cancel Batch"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a batch is at work that was started here."""
        if not super().poll(context):
            return False
        if not _standing.is_busy:
            cls.poll_message_set("No batch is at work")
            return False
        if not _standing.ours:
            cls.poll_message_set(
                translated("This batch was started elsewhere ({})", _standing.machine)
            )
            return False
        return True

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Ask it to stop, or end it where it was asked before."""
        root = _standing.root
        stop_file = _run_file(root, ".stop")
        if stop_file.exists():
            _end(root)
            self.report({"INFO"}, translated("Batch ended"))
        else:
            stop_file.touch()
            self.report({"INFO"}, translated("The batch stops after the view in hand"))
        look(context.scene, context)
        _watch_now()
        return {"FINISHED"}


def _end(root: Path) -> None:
    """End the process of a batch; its files are written whole and rows last, so nothing breaks."""
    process = _processes.get(root)
    if process is not None and process.poll() is None:
        process.kill()
        process.wait()
        return
    with suppress(ProcessLookupError):
        os.kill(_started_pid(root), getattr(signal, "SIGKILL", signal.SIGTERM))


class LIMEN_OT_copy_command_line(_WithOutput, bpy.types.Operator):
    """Save the study and copy the command that renders it, to run it in a terminal."""

    bl_idname = "limen.copy_command_line"
    bl_label = "Copy Command Line"

    kind: bpy.props.EnumProperty(
        name="Kind",
        items=[
            ("ONE", "One Process", "A Blender that renders view after view"),
            ("SEVERAL", "Several Processes", "batch/launch.py: several processes at once"),
        ],
    )

    @classmethod
    def description(cls, _context: bpy.types.Context, properties: bpy.types.Operator) -> str:
        """Say which command it is."""
        if properties.kind == "SEVERAL":
            return "Save the study and copy the command that renders it with several processes"
        return "Save the study and copy the command that renders it with one Blender"

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Put it on the clipboard."""
        _save(self, context)
        command = _command(context, self.kind == "SEVERAL")
        line = shell_line(command, windows=sys.platform == "win32")
        context.window_manager.clipboard = line
        self.report({"INFO"}, translated("Copied: {}", line))
        return {"FINISHED"}


class LIMEN_OT_make_contact_sheet(_WithOutput, bpy.types.Operator):
    """Put some views of the dataset into one picture, a column for each lighting, and show it."""

    bl_idname = "limen.make_contact_sheet"
    bl_label = "Contact Sheet"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether something is rendered."""
        if not super().poll(context):
            return False
        if not _standing.done and not bpy.app.background:
            cls.poll_message_set("No view is rendered yet")
            return False
        return True

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Make it from what is there, load it and show it in an image editor."""
        root = output_of(context, context.scene)
        study, _ = scene_study(context.scene)
        path = make_contact_sheet(root, [item.name for item in study.lightings])
        image = bpy.data.images.get(FILE_NAME)
        if image is None or Path(bpy.path.abspath(image.filepath)) != path:
            image = bpy.data.images.load(str(path))
            image.name = FILE_NAME
        else:
            image.reload()
        if not bpy.app.background:
            _show_image(context, image)
        self.report({"INFO"}, translated("Contact sheet: {}", path))
        return {"FINISHED"}


def _show_image(context: bpy.types.Context, image: bpy.types.Image) -> None:
    """Show an image in an image editor that is open, else in a window of its own."""
    windows = context.window_manager.windows
    areas = [area for window in windows for area in window.screen.areas]
    area = next((area for area in areas if area.type == "IMAGE_EDITOR"), None)
    if area is None:
        bpy.ops.wm.window_new()
        area = windows[-1].screen.areas[0]
        area.type = "IMAGE_EDITOR"
    area.spaces.active.image = image
    region = next(region for region in area.regions if region.type == "WINDOW")
    window = next(window for window in windows if area in window.screen.areas[:])
    with context.temp_override(window=window, area=area, region=region):
        bpy.ops.image.view_all(fit_view=True)
    left = iter(range(_NEW_WINDOW_REDRAWS))
    bpy.app.timers.register(lambda: _redraw_images(left), first_interval=_BUSY_S)


def _redraw_images(left: Iterator[int]) -> float | None:
    """Draw image editors some times: a new window may show a picture only with the next one."""
    live.redraw("IMAGE_EDITOR")
    return None if next(left, None) is None else _BUSY_S


class LIMEN_OT_open_output(_WithOutput, bpy.types.Operator):
    """Open the output folder in the system's file manager."""

    bl_idname = "limen.open_output"
    bl_label = "Open Output Folder"

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Open it."""
        root = output_of(context, context.scene)
        if not root.is_dir():
            raise DatasetError(f"{root} is not there yet: start a batch, which makes it")
        bpy.ops.wm.path_open(filepath=str(root))
        return {"FINISHED"}


CLASSES = (
    LIMEN_OT_start_batch,
    LIMEN_OT_cancel_batch,
    LIMEN_OT_copy_command_line,
    LIMEN_OT_make_contact_sheet,
    LIMEN_OT_open_output,
)


def register() -> None:
    """Look after edits, undo and the opening of files."""
    live.on_edit(_watch_now)


def unregister() -> None:
    """Look no more; a batch that is at work goes on."""
    global _standing, _follower
    if bpy.app.timers.is_registered(_watch):
        bpy.app.timers.unregister(_watch)
    _listeners.clear()
    _standing, _follower = Standing(), None
