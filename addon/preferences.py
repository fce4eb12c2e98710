"""Limen's preferences: where licensed assets and the command lie on this machine."""

import shutil
from pathlib import Path

import bpy

__all__ = ["LIMEN_AP_preferences", "assets_dir", "limen_command", "register", "unregister"]

_PACKAGE = __package__.rpartition(".")[0]  # the extension's root: this file lies one level down


class LIMEN_AP_preferences(bpy.types.AddonPreferences):
    """What holds for every study on this machine."""

    bl_idname = _PACKAGE

    assets: bpy.props.StringProperty(
        name="Licensed assets",
        description="Folder with your SMPL-X bodies; studies name them and never hold a path",
        subtype="DIR_PATH",
    )

    command: bpy.props.StringProperty(
        name="Command limen",
        description="The installed 'limen', which develops images; empty: the one on the PATH",
        subtype="FILE_PATH",
    )

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the preferences."""
        self.layout.prop(self, "assets")
        self.layout.prop(self, "command")


def assets_dir(context: bpy.types.Context) -> Path | None:
    """Return the folder of licensed assets, None where none was chosen."""
    entry = context.preferences.addons.get(_PACKAGE)
    if entry is None or not entry.preferences.assets:  # not installed as an extension, or not set
        return None
    return Path(bpy.path.abspath(entry.preferences.assets))


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
