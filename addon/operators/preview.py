"""Show what a camera would have recorded of a rendered view, on a page that ``limen`` makes."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import IO

import bpy

from ..core.dataset import open_dataset
from ..preferences import limen_command
from .errors import reporting
from .study import StudyOperator

__all__ = ["CLASSES"]

_LOOK_EVERY_S = 0.2


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
        context.workspace.status_text_set("Limen makes the camera's preview. Esc: stop")
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Look whether the command is done; Esc stops it."""
        if event.type == "ESC":
            self.cancel(context)
            self.report({"INFO"}, "Preview stopped")
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
        self.report({"INFO"}, f"Preview: {self._page}")
        if self.show and not bpy.app.background:
            bpy.ops.wm.url_open(url=self._page.as_uri())
        return {"FINISHED"}


CLASSES = (LIMEN_OT_preview_as_camera,)
