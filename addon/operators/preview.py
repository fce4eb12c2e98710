"""Preview a cell: as a batch renders it, its light kept to be mixed; or as a camera records it.

What was rendered last stays in memory. Edits of its light change the picture at once, without
rendering: thinned while a slider moves, whole a moment later.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.dataset import open_dataset
from ..core.image_io import write_png
from ..core.lighting import Lighting
from ..core.study import CameraSetup, Study
from ..preferences import assets_dir, limen_command
from ..properties import live
from ..properties.convert import camera_of, lighting_of
from ..properties.words import marked, translated
from ..scene import lighting, preview, stage
from ..scene.view import require_denoiser, set_up_view
from .errors import EXPECTED, reporting
from .library import shown_view
from .stepping import Work, is_idle, tell_work
from .study import StudyOperator, folder_of, scene_study
from .view import light_cell, show_cell

__all__ = [
    "CLASSES",
    "DRAFT_SAMPLES",
    "Shown",
    "forget_preview",
    "on_preview",
    "preview_image",
    "preview_title",
    "register",
    "shown_preview",
    "unregister",
]

_LOOK_EVERY_S = 0.2
_STEP_S = 0.05
DRAFT_SAMPLES = 4
_FOLDER = "limen-preview"
_MARK = "limen_preview"
_QUICK_PX = 250_000  # of a thinned picture: mixed and shown in 0.15 s
_SETTLED_S = 0.4  # after the last edit the whole picture is mixed


@dataclass(frozen=True, eq=False)
class Shown:
    """The last preview, as it is shown now.

    Attributes:
        view_id: Of the view, as a batch names it.
        lighting: The name of the lighting that it shows.
        samples: A pixel, as it was rendered.
        study_samples: As the study has it: a draft has fewer.
        picture: The picture; thinned while a slider moves.
        fnumber: Of the camera, and ``iso``.
        problem: Why the lighting that is chosen now is not shown, "" where it is.
    """

    view_id: str
    lighting: str
    samples: int
    study_samples: int
    picture: preview.Picture
    fnumber: float
    iso: float
    problem: str = ""

    @property
    def is_draft(self) -> bool:
        """Whether it was rendered with fewer samples than the study asks for."""
        return self.samples < self.study_samples

    @property
    def name(self) -> str:
        """What its image is called."""
        draft = f" draft {self.samples} samples" if self.is_draft else ""
        return f"{self.view_id}-{self.lighting}{draft}"


_kept: preview.Preview | None = None
_shown: Shown | None = None
_mixed: tuple[object, ...] = ()  # what the picture was mixed from last
_edited_at = 0.0
_listeners: list[Callable[[Shown | None], None]] = []


def shown_preview() -> Shown | None:
    """Return what is shown of the last preview; costs nothing, for drawing."""
    return _shown


def on_preview(listener: Callable[[Shown | None], None]) -> None:
    """Have a function called whenever the picture changes."""
    if listener not in _listeners:
        _listeners.append(listener)


def preview_title(draft: bool) -> str:
    """Return what a preview is called while it is made."""
    return marked("Draft") if draft else marked("Preview Cell")


def preview_image() -> bpy.types.Image | None:
    """Return the image that holds the last preview."""
    return next((image for image in bpy.data.images if image.get(_MARK)), None)


def forget_preview() -> None:
    """Let the light of the last preview go, as when another file is opened."""
    global _kept, _mixed
    _kept, _mixed = None, ()
    _show(None)


def _show(shown: Shown | None) -> None:
    global _shown
    _shown = shown
    for listener in _listeners:
        listener(shown)


# --- the picture ---------------------------------------------------------------------------------

_LEVELS = (np.arange(256) / 255).astype(np.float32)


def _put_image(name: str, pixels: NDArray[np.uint8], size: tuple[int, int]) -> bpy.types.Image:
    """Put a picture into the preview's image, a thinned one enlarged to ``size``."""
    image = preview_image()
    if image is not None and tuple(image.size) != size:
        old, image = image, _new_image(name, size)
        old.user_remap(image)
        bpy.data.images.remove(old)
    if image is None:
        image = _new_image(name, size)
    image.name = name
    height, width = pixels.shape[:2]
    rgba = np.ones((height, width, 4), np.float32)
    rgba[..., :3] = _LEVELS[pixels[::-1]]
    if (width, height) != size:
        rows, columns = (
            np.arange(size[1]) * height // size[1],
            np.arange(size[0]) * width // size[0],
        )
        whole = rgba.view(np.complex128)[..., 0]  # a pixel is one item of 16 bytes: fast to move
        rgba = whole[rows].take(columns, axis=1).view(np.float32)
    image.pixels.foreach_set(rgba.ravel())
    image.update()
    return image


def _new_image(name: str, size: tuple[int, int]) -> bpy.types.Image:
    image = bpy.data.images.new(name, *size)
    image[_MARK] = True
    return image


def _keep_file(image: bpy.types.Image, shown: Shown) -> None:
    """Give the image its file in the session's folder: Blender asks to save one that has none."""
    folder = _folder()
    path = folder / f"{shown.name}.png"
    folder.mkdir(parents=True, exist_ok=True)
    write_png(path, shown.picture.pixels)
    image.source = "FILE"
    image.filepath_raw = str(path)
    image.reload()


def _folder() -> Path:
    return Path(bpy.app.tempdir) / _FOLDER


def _mix(scene: bpy.types.Scene, every: int = 1) -> None:
    """Mix the kept light as the lighting that is chosen now has it, and show the picture."""
    global _mixed
    kept, shown = _kept, _shown
    if kept is None or shown is None:
        return
    wanted = _wanted_lighting(scene)
    if wanted is None:
        return
    item, setup = wanted
    mixed = (id(kept), item, setup.fnumber, setup.iso, setup.shutter_limit_s, every)
    if mixed == _mixed:
        if shown.problem:  # of a lighting that was chosen meanwhile
            _show(replace(shown, problem=""))
        return
    if missing := preview.missing_light(kept, item):
        what = translated("its mix") if missing[0].startswith("lighting-") else ", ".join(missing)
        said = translated("{} needs light that was not rendered: {}", item.name, what)
        _show(replace(shown, problem=said))
        return
    picture = preview.compose(kept, item, setup, every)
    shown = replace(
        shown,
        lighting=item.name,
        picture=picture,
        fnumber=setup.fnumber,
        iso=setup.iso,
        problem="",
    )
    height, width = kept.light.alpha.shape
    image = _put_image(shown.name, picture.pixels, (width, height))
    if every == 1:
        _keep_file(image, shown)
    _mixed = mixed
    _show(shown)


def _wanted_lighting(scene: bpy.types.Scene) -> tuple[Lighting, CameraSetup] | None:
    """Return the lighting that is chosen and the camera, None where either cannot be."""
    study = scene.limen.study
    index = study.lightings.find(scene.limen.cell.lighting)
    if index < 0:
        return None
    try:
        return lighting_of(study.lightings[index]), camera_of(study.camera)
    except ValueError:  # the study's faults are told where the study is
        return None


def _light_changed(scene: bpy.types.Scene) -> None:
    """Follow an edit of the light: the scene's lights at once, the picture as fast as it can."""
    _light_scene(scene)
    _follow(scene)


def _follow(scene: bpy.types.Scene) -> None:
    """Have the picture follow an edit, or its undoing."""
    global _edited_at
    if _kept is None:
        return
    if bpy.app.background:  # no window, so no time after the last edit
        _mix(scene)
        return
    _edited_at = time.monotonic()
    for function, after_s in ((_mix_quickly, 0.0), (_mix_whole, _SETTLED_S)):
        if not bpy.app.timers.is_registered(function):
            bpy.app.timers.register(function, first_interval=after_s)


def _light_scene(scene: bpy.types.Scene) -> None:
    settings = scene.limen
    index = settings.study.lightings.find(settings.cell.lighting)
    is_ready = settings.rig_placed and index >= 0 and stage.is_whole()
    if is_ready and not LIMEN_OT_preview_cell.is_running:
        # Two suns light no scene at once, and half typed values no scene at all.
        with suppress(ValueError):
            lighting.light_whole(lighting_of(settings.study.lightings[index]))


def _mix_quickly() -> None:
    """Show the edit in a thinned picture; several edits of one moment cost one."""
    if _kept is not None and (scene := _window_scene()) is not None:
        height, width = _kept.light.alpha.shape
        every = max(1, round((height * width / _QUICK_PX) ** 0.5))
        _mix_or_tell(scene, every)


def _mix_whole() -> float | None:
    """Show the edit whole, once the slider rests."""
    rests_in_s = _edited_at + _SETTLED_S - time.monotonic()
    if rests_in_s > 0:
        return rests_in_s
    if (scene := _window_scene()) is not None:
        _mix_or_tell(scene, 1)
    return None


def _mix_or_tell(scene: bpy.types.Scene, every: int) -> None:
    try:
        _mix(scene, every)
    except EXPECTED as error:
        if _shown is not None:
            _show(replace(_shown, problem=str(error)))
    live.redraw()


def _window_scene() -> bpy.types.Scene | None:
    scene = live.window_scene()
    return scene if scene is not None and scene.limen.is_open else None


# --- operators -----------------------------------------------------------------------------------


class LIMEN_OT_preview_cell(StudyOperator, bpy.types.Operator):
    """Render the shown cell as the batch will, and keep its light to change it at once."""

    bl_idname = "limen.preview_cell"
    bl_label = "Preview Cell"

    draft: bpy.props.BoolProperty(
        name="Draft",
        description=f"At most {DRAFT_SAMPLES} samples a pixel: quick, and not the batch's picture",
        options={"SKIP_SAVE"},
    )
    all_lightings: bpy.props.BoolProperty(
        name="For All Lightings",
        description="Render what every lighting of the study needs; off: what the shown one needs",
        options={"SKIP_SAVE"},
    )
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    is_running = False

    @classmethod
    def description(cls, _context: bpy.types.Context, properties: Any) -> str:
        """Say what the button renders."""
        if properties.draft:
            return translated(
                "Render the cell with at most {} samples a pixel: quick and noisy", DRAFT_SAMPLES
            )
        return translated("Render the cell as the batch will, to the same pixels")

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a cell can be rendered now; says what is in the way."""
        if not super().poll(context):
            return False
        if live.problems(context.scene):
            cls.poll_message_set("The study has faults: mend them first")
            return False
        if LIMEN_OT_preview_cell.is_running or bpy.app.is_job_running("RENDER"):
            cls.poll_message_set("Blender is rendering")
            return False
        return is_idle(cls)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Render in steps, between which the window lives; Esc stops."""
        return self._start(context)

    @reporting
    def _start(self, context: bpy.types.Context) -> set[str]:
        self._begin(context)
        self._timer = context.window_manager.event_timer_add(_STEP_S, window=context.window)
        context.window_manager.modal_handler_add(self)
        context.window_manager.progress_begin(0, 100)
        self._tell(context, 0, 0)
        return {"RUNNING_MODAL"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Render without a break."""
        self._begin(context)
        try:
            while True:
                next(self._steps)
        except StopIteration as end:
            return self._finish(context, end.value)
        finally:
            self._end(context)

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Render the next step; nothing else is let through, which would change the scene."""
        if not LIMEN_OT_preview_cell.is_running:
            return {"PASS_THROUGH"}  # a window that opens at the end handles events meanwhile
        if event.type == "ESC":
            self.cancel(context)
            self.report({"INFO"}, translated("Preview stopped"))
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        return self._step(context)

    @reporting
    def _step(self, context: bpy.types.Context) -> set[str]:
        try:
            self._tell(context, *next(self._steps))
            return {"RUNNING_MODAL"}
        except StopIteration as end:
            self.cancel(context)
            finished = self._finish(context, end.value)
            _open_window(context)
            return finished
        except BaseException:
            self.cancel(context)
            raise

    def cancel(self, context: bpy.types.Context) -> None:
        """Stop; also when Blender quits or opens another file."""
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        self._end(context)

    def _begin(self, context: bpy.types.Context) -> None:
        if not context.scene.limen.rig_placed:
            show_cell(context, self.assets)
        self._study, _ = scene_study(context.scene, folder_of(self.assets))
        require_denoiser(self._study)
        LIMEN_OT_preview_cell.is_running = True
        self._steps = self._render(context)

    def _end(self, context: bpy.types.Context) -> None:
        """Show the scene in the cell's light again."""
        LIMEN_OT_preview_cell.is_running = False
        tell_work(None)
        self._steps.close()
        with suppress(*EXPECTED, ValueError):
            light_cell(context.scene, self._study)

    def _render(
        self, context: bpy.types.Context
    ) -> Generator[tuple[int, int], None, preview.Preview]:
        study = _draft_of(self._study) if self.draft else self._study
        spec = shown_view(context.scene, study)
        yield 0, 1  # the window shows that it begins
        view = set_up_view(study, spec, folder_of(self.assets) or assets_dir(context))
        shown = [x for x in study.lightings if x.name == context.scene.limen.cell.lighting]
        wanted = study.lightings if self.all_lightings else shown
        return (yield from preview.rendering(view, _folder() / "plates", wanted, _kept))

    def _tell(self, context: bpy.types.Context, done: int, total: int) -> None:
        what = translated(preview_title(self.draft))
        step = (done + 1, total) if total > 1 else (1, 1)
        text = translated("{}: step {} of {}. Esc: stop", what, *step)
        context.workspace.status_text_set(text)
        tell_work(Work(preview_title(self.draft), done, max(1, total)))
        context.window_manager.progress_update(100 * done // max(1, total))

    def _finish(self, context: bpy.types.Context, rendered: preview.Preview) -> set[str]:
        """Keep what was rendered, and show it."""
        global _kept, _mixed
        _kept, _mixed = rendered, ()
        item = next(
            x for x in rendered.study.lightings if x.name == context.scene.limen.cell.lighting
        )
        setup = rendered.study.camera
        picture = preview.compose(rendered, item, setup)
        shown = Shown(
            rendered.spec.view_id,
            item.name,
            rendered.study.render.samples,
            self._study.render.samples,
            picture,
            setup.fnumber,
            setup.iso,
        )
        height, width = picture.pixels.shape[:2]
        _keep_file(_put_image(shown.name, picture.pixels, (width, height)), shown)
        _show(shown)
        self.report({"INFO"}, translated("Preview: image {}", shown.name))
        return {"FINISHED"}


def _draft_of(study: Study) -> Study:
    samples = min(DRAFT_SAMPLES, study.render.samples)
    return replace(study, render=replace(study.render, samples=samples))


def _open_window(context: bpy.types.Context) -> None:
    """Show the image where Blender shows renders, unless an Image Editor shows it already."""
    image = preview_image()
    editors = list(_image_editors(context))
    if image is None or any(space.image == image for space in editors):
        return
    if not editors:
        bpy.ops.render.view_show("INVOKE_DEFAULT")
        editors = list(_image_editors(context))
    for space in editors[:1]:
        space.image = image


def _image_editors(context: bpy.types.Context) -> list[bpy.types.SpaceImageEditor]:
    """Return the open Image Editors that show a render or a preview, or nothing."""
    return [
        area.spaces.active
        for window in context.window_manager.windows
        for area in window.screen.areas
        if area.ui_type == "IMAGE_EDITOR"
        and (
            area.spaces.active.image is None
            or area.spaces.active.image.type == "RENDER_RESULT"
            or area.spaces.active.image.get(_MARK)
        )
    ]


class LIMEN_OT_show_preview(StudyOperator, bpy.types.Operator):
    """Show the last preview in the window where Blender shows renders."""

    bl_idname = "limen.show_preview"
    bl_label = "Show Preview"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there is a preview and a window."""
        if not super().poll(context):
            return False
        if preview_image() is None:
            cls.poll_message_set("Preview a cell first")
            return False
        return not bpy.app.background

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Open it."""
        _open_window(context)
        return {"FINISHED"}


class LIMEN_OT_preview_as_camera(StudyOperator, bpy.types.Operator):
    """Make a page of the shown view as a camera records it: noise, night vision, every stage."""

    bl_idname = "limen.preview_as_camera"
    bl_label = "Preview as Camera"

    dataset: bpy.props.StringProperty(
        name="Dataset",
        description="Where the view was rendered to",
        subtype="DIR_PATH",
        default="//limen-dataset",
    )
    denoiser: bpy.props.EnumProperty(
        name="Denoiser",
        items=(
            ("nlm", "NLM", "Non-local means: quick, free"),
            ("bm3d", "BM3D", "The published one: slower, for non-commercial use only"),
            ("none", "None", "The noise as it is"),
        ),
    )
    show: bpy.props.BoolProperty(
        name="Show", description="Open the page when it is made", default=True
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a view is shown and the command is installed; says what is missing."""
        if not super().poll(context):
            return False
        if not context.scene.limen.view_id:
            cls.poll_message_set("Place the rig first")
            return False
        if limen_command(context) is None:
            cls.poll_message_set(
                "The command 'limen' was not found: install Limen with pip, and name the command "
                "in the add-on's preferences if it is not on the PATH"
            )
            return False
        return True

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Start the command; Blender goes on meanwhile, where it has a window to go on in."""
        settings = context.scene.limen
        root = Path(bpy.path.abspath(self.dataset))
        media_id = f"{settings.view_id}-{settings.cell.lighting}"
        if media_id not in open_dataset(root).index:
            light = settings.cell.lighting.replace("_", " ")
            self.report(
                {"ERROR"}, f"view {settings.view_id} is not in {root} under {light}: render it"
            )
            return {"CANCELLED"}
        self._page = root / "develop" / f"{media_id}.html"
        arguments = ["develop", root, "--preview", media_id, "--out", self._page]
        command = [limen_command(context), *arguments, "--denoiser", self.denoiser]
        self._said: IO[str] = tempfile.TemporaryFile(  # noqa: SIM115 (open until it is done)
            "w+", encoding="utf-8", errors="replace"
        )
        # Blender's own Python is no home for another one.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONHOME"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        if bpy.app.background:  # no window, so no events to wait among
            self._process.wait()
            return self._finish(context)
        self._timer = context.window_manager.event_timer_add(_LOOK_EVERY_S, window=context.window)
        context.window_manager.modal_handler_add(self)
        context.workspace.status_text_set(translated("Limen makes the camera's preview. Esc: stop"))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Look whether the command is done; Esc stops it."""
        if event.type == "ESC":
            self.cancel(context)
            self.report({"INFO"}, translated("Preview stopped"))
            return {"CANCELLED"}
        if event.type != "TIMER" or self._process.poll() is None:
            return {"PASS_THROUGH"}
        self._clear(context)
        return self._finish(context)

    def cancel(self, context: bpy.types.Context) -> None:
        """End the command, also when Blender quits or opens another file."""
        self._process.terminate()
        self._process.wait()
        self._said.close()
        self._clear(context)

    def _clear(self, context: bpy.types.Context) -> None:
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)

    def _finish(self, context: bpy.types.Context) -> set[str]:
        """Report what came of it and open the page."""
        self._said.seek(0)
        lines = self._said.read().strip().splitlines()
        self._said.close()
        if self._process.returncode or not self._page.is_file():
            said = next((line for line in lines if line.startswith("Error:")), (lines or [""])[-1])
            status = f"limen ended with status {self._process.returncode}"
            self.report({"ERROR"}, said.removeprefix("Error:").strip() or status)
            return {"CANCELLED"}
        self.report({"INFO"}, translated("Preview: {}", self._page))
        if self.show and not bpy.app.background:
            bpy.ops.wm.url_open(url=self._page.as_uri())
        return {"FINISHED"}


@bpy.app.handlers.persistent
def _after_load(*_arguments: object) -> None:
    """Another file has other images: the light of the last preview goes."""
    forget_preview()


def register() -> None:
    """Follow edits of the light, and the opening of files."""
    live.on_light(_light_changed)
    live.on_edit(_follow)
    bpy.app.handlers.load_post.append(_after_load)


def unregister() -> None:
    """Follow nothing any more, and let the last preview go."""
    bpy.app.handlers.load_post.remove(_after_load)
    for function in (_mix_quickly, _mix_whole):
        if bpy.app.timers.is_registered(function):
            bpy.app.timers.unregister(function)
    _listeners.clear()
    forget_preview()


CLASSES = (LIMEN_OT_preview_cell, LIMEN_OT_show_preview, LIMEN_OT_preview_as_camera)
