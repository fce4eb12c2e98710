"""What a scene remembers of the study that is open in it."""

import bpy

from .core.study import StudyError, load_study

__all__ = ["LimenSettings", "register", "unregister"]


def _lighting_items(settings: "LimenSettings", _context: object) -> list[tuple[str, str, str]]:
    """Return the study's lightings for the menu; kept alive here, as Blender demands."""
    names = [item.name for item in _study_lightings(settings.study_path)]
    _lighting_items.kept = [(name, name.replace("_", " ").capitalize(), "") for name in names]
    return _lighting_items.kept or [("NONE", "Open a study first", "")]


def _study_lightings(path: str) -> tuple:
    try:
        return load_study(bpy.path.abspath(path)).lightings if path else ()
    except (OSError, StudyError):  # the study panel shows the reason
        return ()


class LimenSettings(bpy.types.PropertyGroup):
    """The open study and the view that is shown."""

    study_path: bpy.props.StringProperty(
        name="Study",
        description="The study file that is open",
        subtype="FILE_PATH",
    )
    view_id: bpy.props.StringProperty(name="View", description="The view that is set up")
    view_number: bpy.props.IntProperty(name="View number", min=0)
    view_count: bpy.props.IntProperty(name="Views", min=0)
    summary: bpy.props.StringProperty(name="Summary")
    lighting: bpy.props.EnumProperty(
        name="Lighting",
        description="A lighting of the study",
        items=_lighting_items,
    )


def register() -> None:
    """Add Limen's settings to scenes."""
    bpy.utils.register_class(LimenSettings)
    bpy.types.Scene.limen = bpy.props.PointerProperty(type=LimenSettings)


def unregister() -> None:
    """Remove them."""
    del bpy.types.Scene.limen
    bpy.utils.unregister_class(LimenSettings)
