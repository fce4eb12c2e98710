"""Limen's preferences: where licensed assets and the command lie on this machine."""

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

import bpy

from .core.asset_check import AssetNote

__all__ = [
    "LIMEN_AP_preferences",
    "assets_dir",
    "in_feet",
    "limen_command",
    "output_dir",
    "register",
    "show_asset_notes",
    "unregister",
    "zone_colours",
]

_PACKAGE = __package__.rpartition(".")[0]  # the extension's root: this file lies one level down

Colour = tuple[float, float, float]

# Okabe and Ito's colours, which the colour blind tell apart (jfly.uni-koeln.de/color), from cold to
# warm: sRGB, as the screen has them.
_ZONE_COLOURS: tuple[Colour, ...] = (
    (0.000, 0.447, 0.698),
    (0.337, 0.706, 0.914),
    (0.000, 0.620, 0.451),
    (0.941, 0.894, 0.259),
    (0.902, 0.624, 0.000),
    (0.835, 0.369, 0.000),
    (0.800, 0.475, 0.655),
)
_ZONE_PROPERTIES = tuple(f"zone_{level}" for level in range(1, len(_ZONE_COLOURS) + 1))


class LIMEN_AP_preferences(bpy.types.AddonPreferences):
    """What holds for every study on this machine."""

    bl_idname = _PACKAGE

    assets: bpy.props.StringProperty(
        name="Licensed assets",
        description="Folder with your SMPL-X bodies, textures and sceneries; studies name them and "
        "never hold a path",
        subtype="DIR_PATH",
        update=lambda _self, _context: show_asset_notes(()),
    )

    output: bpy.props.StringProperty(
        name="Datasets",
        description="Folder in which new datasets are proposed, each in a folder of the study's "
        "name; empty: beside the study",
        subtype="DIR_PATH",
    )

    command: bpy.props.StringProperty(
        name="Command limen",
        description="The installed 'limen', which develops images; empty: the one on the PATH",
        subtype="FILE_PATH",
    )

    units: bpy.props.EnumProperty(
        name="Show in",
        description="Distances and densities in the viewport; studies are metric",
        items=[
            ("METRIC", "Metres", "Metres and pixels per metre"),
            ("FEET", "Feet", "Feet and pixels per foot"),
        ],
    )

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the preferences."""
        layout = self.layout
        row = layout.row(align=True)
        row.prop(self, "assets")
        row.operator("limen.check_assets", text="Check", icon="VIEWZOOM")
        if not self.assets:
            layout.label(text="Without licensed assets Limen uses its own bodies and textures")
        _draw_notes(layout)
        layout.prop(self, "output")
        layout.prop(self, "command")
        split = layout.split(factor=0.3)
        split.label(text="Show in")
        split.row().prop(self, "units", expand=True)
        layout.label(text="Zones, from the lowest class")
        row = layout.row(align=True)
        for name in _ZONE_PROPERTIES:
            row.prop(self, name, text="")


# A property for each colour: the annotations of the class are what Blender registers.
for _name, _colour in zip(_ZONE_PROPERTIES, _ZONE_COLOURS, strict=True):
    LIMEN_AP_preferences.__annotations__[_name] = bpy.props.FloatVectorProperty(
        name=f"Zone {_name[-1]}",
        description="Colour of a class in the viewport, from the lowest to the highest; a scale of "
        "fewer classes spreads over all of them",
        subtype="COLOR_GAMMA",
        size=3,
        min=0,
        max=1,
        default=_colour,
    )


_STATE_ICONS = {"found": "CHECKMARK", "missing": "BLANK1", "fault": "ERROR"}
_NOTE_LETTERS = 100
_notes: tuple[AssetNote, ...] = ()


def show_asset_notes(notes: Sequence[AssetNote]) -> None:
    """Show in the preferences what was found in the assets folder, until another is chosen."""
    global _notes
    _notes = tuple(notes)


def _draw_notes(layout: bpy.types.UILayout) -> None:
    if not _notes:
        return
    column = layout.box().column(align=True)
    for note in _notes:
        for i, line in enumerate(textwrap.wrap(note.text, _NOTE_LETTERS)):
            icon = _STATE_ICONS[note.state] if i == 0 else "BLANK1"
            column.label(text=line, icon=icon, translate=False)


def assets_dir(context: bpy.types.Context) -> Path | None:
    """Return the folder of licensed assets, None where none was chosen."""
    entry = context.preferences.addons.get(_PACKAGE)
    if entry is None or not entry.preferences.assets:  # not installed as an extension, or not set
        return None
    return Path(bpy.path.abspath(entry.preferences.assets))


def output_dir(context: bpy.types.Context) -> Path | None:
    """Return the folder in which new datasets are proposed, None where none was chosen."""
    entry = context.preferences.addons.get(_PACKAGE)
    if entry is None or not entry.preferences.output:
        return None
    return Path(bpy.path.abspath(entry.preferences.output))


def in_feet(context: bpy.types.Context) -> bool:
    """Return whether distances are shown in feet, and densities in pixels per foot."""
    entry = context.preferences.addons.get(_PACKAGE)
    return entry is not None and entry.preferences.units == "FEET"


def zone_colours(context: bpy.types.Context, classes: int) -> tuple[Colour, ...]:
    """Return the colours (sRGB, 0..1) of so many classes, from the lowest; spread over all."""
    entry = context.preferences.addons.get(_PACKAGE)
    colours = _ZONE_COLOURS
    if entry is not None:
        colours = tuple(tuple(getattr(entry.preferences, name)) for name in _ZONE_PROPERTIES)
    last = len(colours) - 1
    places = (round(i * last / max(1, classes - 1)) for i in range(classes))
    return tuple(colours[min(place, last)] for place in places)


def user_folder() -> Path:
    """Return Limen's folder among the user's files of this Blender; made if missing."""
    if _PACKAGE.startswith("bl_ext."):
        return Path(bpy.utils.extension_path_user(_PACKAGE, create=True))
    return Path(bpy.utils.user_resource("CONFIG", path="limen", create=True))


def limen_command(context: bpy.types.Context) -> Path | None:
    """Return the installed ``limen``, None where there is none; the preference goes first."""
    entry = context.preferences.addons.get(_PACKAGE)
    named = bpy.path.abspath(entry.preferences.command) if entry else ""
    found = shutil.which(named or "limen")
    return Path(found) if found else None


def register() -> None:
    """Add the preferences."""
    bpy.utils.register_class(LIMEN_AP_preferences)


def unregister() -> None:
    """Remove them."""
    bpy.utils.unregister_class(LIMEN_AP_preferences)
