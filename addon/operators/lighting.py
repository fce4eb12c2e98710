"""The lightings of the study, and presets of the user's own, in a file that can be read by hand.

Own presets are ``[[lighting]]`` tables as in Limen's presets. A study holds a lighting's values, so
it needs nobody's presets.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np

from ..core.image_io import write_png
from ..core.lighting import (
    Lighting,
    LightingError,
    load_lightings,
    load_more_lightings,
    make_lighting,
    read_lightings,
)
from ..core.study.values import lighting_values
from ..core.toml_text import append_table
from ..preferences import user_folder
from ..properties import live
from ..properties.convert import add_lighting, is_edited, lighting_of, reset_lighting
from ..properties.words import translated
from .errors import reporting
from .preview import shown_preview
from .study import StudyOperator

__all__ = [
    "CLASSES",
    "all_presets",
    "chosen_lighting",
    "own_pictures",
    "own_presets",
    "presets_file",
    "presets_problem",
    "refresh_presets",
    "register",
]

_FILE = "lightings.toml"
_HEAD = "# Lighting presets saved in Limen's sidebar; see data/lightings.toml for what they mean.\n"
_PICTURES = "lightings"
_PICTURE_PX, _PICTURE_SIGNAL = 96, 0.02
_own: dict[str, Lighting] = {}
_pictures: dict[str, tuple[Path, int]] = {}
_problem = ""


def presets_file() -> Path:
    """Return the file of the user's own presets; it need not be there."""
    return user_folder() / _FILE


def own_presets() -> Mapping[str, Lighting]:
    """Return name -> lighting of the user's own presets as they were last read; for drawing."""
    return _own


def own_pictures() -> Mapping[str, tuple[Path, int]]:
    """Return name -> picture file of an own preset, and when it was written; for drawing."""
    return _pictures


def presets_problem() -> str:
    """Return why the user's own presets could not be read, "" where they were."""
    return _problem


def all_presets() -> Mapping[str, Lighting]:
    """Return name -> lighting of Limen's presets and the user's own."""
    embedded = _embedded()
    return {**embedded, **{name: item for name, item in _own.items() if name not in embedded}}


def _read() -> dict[str, Lighting]:
    path = presets_file()
    return read_lightings(path) if path.exists() else {}


def refresh_presets() -> None:
    """Read the user's own presets anew; what is wrong with the file is kept for the panel."""
    global _own, _problem, _pictures
    _problem = ""
    found = (user_folder() / _PICTURES).glob("*.png")
    _pictures = {path.stem: (path, path.stat().st_mtime_ns) for path in found}
    try:
        _own = _read()
    except LightingError as error:
        _own, _problem = {}, str(error)


def _write(presets: Mapping[str, Lighting]) -> None:
    """Write the file whole or not at all."""
    text = _HEAD
    for item in presets.values():
        text = append_table(text, ("lighting",), lighting_values(item), array=True)
    path = presets_file()
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    refresh_presets()


def _picture_file(name: str) -> Path:
    return user_folder() / _PICTURES / f"{name}.png"


def _keep_picture(name: str, lighting: str) -> None:
    """Let the last preview be a preset's picture, where it shows the lighting, and is not dark."""
    path, shown = _picture_file(name), shown_preview()
    path.unlink(missing_ok=True)
    if shown is None or shown.lighting != lighting or shown.problem:
        return
    if shown.picture.signal < _PICTURE_SIGNAL:  # night is black, as a camera has it
        return
    pixels = shown.picture.pixels
    height, width = pixels.shape[:2]
    side = min(height, width)
    rows, columns = (
        (size - side) // 2 + np.arange(_PICTURE_PX) * side // _PICTURE_PX
        for size in (height, width)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, pixels[rows][:, columns])


def chosen_lighting(scene: bpy.types.Scene) -> bpy.types.PropertyGroup | None:
    """Return the lighting that is chosen in the list, None where there is none."""
    lightings, index = scene.limen.study.lightings, scene.limen.light.index
    return lightings[index] if index < len(lightings) else None


class _ChosenLighting(StudyOperator):
    """What operators share that need a chosen lighting."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a lighting is chosen."""
        if not super().poll(context):
            return False
        if chosen_lighting(context.scene) is None:
            cls.poll_message_set("The study has no lighting: add one first")
            return False
        return True


class LIMEN_OT_reset_lighting(_ChosenLighting, bpy.types.Operator):
    """Take back the edits of the chosen lighting's illuminance (lx) and share of sun."""

    bl_idname = "limen.reset_lighting"
    bl_label = "Reset Lighting"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there are edits to take back."""
        if not super().poll(context):
            return False
        if not is_edited(chosen_lighting(context.scene)):
            cls.poll_message_set("The lighting is as it was when it was added")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Take them back."""
        reset_lighting(chosen_lighting(context.scene))
        return {"FINISHED"}


class LIMEN_OT_add_lighting(StudyOperator, bpy.types.Operator):
    """Add a preset to the lightings of the study, and show it."""

    bl_idname = "limen.add_lighting"
    bl_label = "Add Lighting"
    bl_options = {"REGISTER", "UNDO"}

    preset: bpy.props.StringProperty(name="Preset", description="Its name")

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Add it at the end, or switch it on where the study has it."""
        settings, presets = context.scene.limen, all_presets()
        lightings = settings.study.lightings
        if self.preset not in presets:
            raise LightingError(
                f"there is no lighting preset '{self.preset}': allowed are {', '.join(presets)}"
            )
        index = lightings.find(self.preset)
        if index < 0:
            add_lighting(settings.study, presets[self.preset])
            index = len(lightings) - 1
        lightings[index].used = True
        settings.light.index = index
        settings.cell.lighting = self.preset
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_save_lighting_preset(_ChosenLighting, bpy.types.Operator):
    """Save the chosen lighting as a preset of your own, for other studies."""

    bl_idname = "limen.save_lighting_preset"
    bl_label = "Save Lighting Preset"

    name: bpy.props.StringProperty(
        name="Name", description="Letters, digits and underscores", options={"SKIP_SAVE"}
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Ask for the name."""
        if not self.name:
            name = chosen_lighting(context.scene).name
            self.name = f"{name}_2" if name in _embedded() else name
        return context.window_manager.invoke_props_dialog(self, width=320)

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the dialog, and what the name would do."""
        self.layout.prop(self, "name")
        if self.name in _embedded():
            self.layout.label(text="Limen has a preset of this name", icon="ERROR")
        elif self.name in _own:
            self.layout.label(text="Replaces your preset of this name", icon="INFO")

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Save it; one of the same name is replaced."""
        if self.name in _embedded():
            raise LightingError(f"'{self.name}' is one of Limen's presets: choose another name")
        chosen = chosen_lighting(context.scene)
        item = replace(lighting_of(chosen), name=self.name)
        # What could not be read back is not written.
        item = make_lighting(vars(item), "preset")
        _keep_picture(self.name, chosen.name)
        _write({**_read(), self.name: item})
        self.report({"INFO"}, translated("Saved the preset {}", self.name))
        return {"FINISHED"}


class LIMEN_OT_remove_lighting_preset(bpy.types.Operator):
    """Remove a preset of your own; studies that use it keep it."""

    bl_idname = "limen.remove_lighting_preset"
    bl_label = "Remove Lighting Preset"

    name: bpy.props.StringProperty(name="Name", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, _context: bpy.types.Context) -> bool:
        """Return whether there is one."""
        if not _own:
            cls.poll_message_set("There is no preset of your own")
        return bool(_own)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Ask first: it cannot be undone."""
        return context.window_manager.invoke_confirm(self, event)

    @reporting
    def execute(self, _context: bpy.types.Context) -> set[str]:
        """Remove it from the file."""
        presets = _read()
        if self.name not in presets:
            raise LightingError(f"'{self.name}' is no preset of yours: {', '.join(presets)} are")
        del presets[self.name]
        _picture_file(self.name).unlink(missing_ok=True)
        _write(presets)
        self.report({"INFO"}, translated("Removed the preset {}", self.name))
        return {"FINISHED"}


def _embedded() -> Mapping[str, Lighting]:
    return {**load_lightings(), **load_more_lightings()}


def register() -> None:
    """Read the user's own presets."""
    refresh_presets()


CLASSES = (
    LIMEN_OT_reset_lighting,
    LIMEN_OT_add_lighting,
    LIMEN_OT_save_lighting_preset,
    LIMEN_OT_remove_lighting_preset,
)
