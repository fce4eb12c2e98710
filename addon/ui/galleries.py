"""The galleries' menus of pictures: views on what stands in the scene, with nothing of their own.

Choosing a picture runs the operator that shows it, so that scripts can do the same and undo knows.
"""

from pathlib import Path
from typing import Any

import bpy

from ..core.appearance import looks
from ..core.poses import find_pose, is_pose, load_poses, written_name
from ..operators.library import licensed_images, offered, standing
from .thumbnails import file_icon_id, icon_id

__all__ = ["draw_gallery", "draw_membership", "register", "unregister"]

_KINDS = {"pose": "poses", "texture": "textures", "scenery": "sceneries"}
_SCALE, _POPUP_SCALE = 6.0, 5.0
_numbers: dict[tuple[str, str], int] = {}
# Blender shows an item's texts from where they lie, also after other items were asked for.
_items: dict[tuple[str, str, int], tuple[str, str, str, int, int]] = {}
# It asks several times while drawing: hundreds of poses take longer than a panel may.
_lists: dict[str, tuple[tuple[str, ...], list[tuple[str, str, str, int, int]]]] = {}


def _number(factor: str, name: str) -> int:
    """Return a number that stays a name's, whatever else is offered."""
    return _numbers.setdefault((factor, name), len(_numbers) + 1)


def _icon(factor: str, name: str) -> int:
    if factor == "texture" and (files := licensed_images(bpy.context).get(name)):
        return file_icon_id(Path(next(iter(files.values()))))
    if factor == "pose":
        written = written_name(name, load_poses())
        return icon_id("poses", written, mirrored=written != name)
    # Some of Limen's textures have a second name.
    return icon_id(_KINDS[factor], looks().get(name, name))


def _item(factor: str, name: str) -> tuple[str, str, str, int, int]:
    icon = _icon(factor, name)
    if (factor, name, icon) not in _items:
        label = _label(factor, name) or "Nothing yet"
        number = _number(factor, name)
        _items[factor, name, icon] = (
            name or "NONE",
            label,
            _description(factor, name),
            icon,
            number,
        )
    return _items[factor, name, icon]


def _enum(factor: str) -> Any:
    """Return the property of a factor's gallery."""

    def items(_owner: object, context: bpy.types.Context) -> list[tuple[str, str, str, int, int]]:
        names = offered(context.scene, factor)
        shown = standing(factor)
        if shown not in names:
            names = (shown, *names)  # "" while nothing stands
        if factor == "texture":  # a licensed image may change its file
            return [_item(factor, name) for name in names]
        if _lists.get(factor, ((), []))[0] != names:
            _lists[factor] = (names, [_item(factor, name) for name in names])
        return _lists[factor][1]

    def get(_owner: object) -> int:
        return _number(factor, standing(factor))

    def choose(_owner: object, number: int) -> None:
        name = next(key[1] for key, its in _numbers.items() if its == number)
        if not name or name == standing(factor):
            return
        try:
            bpy.ops.limen.show_level("EXEC_DEFAULT", True, factor=factor, level=name)
        except RuntimeError as error:  # what the operator reported
            _tell(str(error))

    return bpy.props.EnumProperty(
        name=factor.capitalize(),
        description=f"The {factor} that is shown; choose another one by its picture",
        items=items,
        get=get,
        set=choose,
    )


def _label(factor: str, name: str) -> str:
    return name.removeprefix("limen-texture-" if factor == "texture" else "").replace("_", " ")


def _description(factor: str, name: str) -> str:
    if factor == "pose" and is_pose(name):
        return find_pose(name).title
    return name


def _tell(text: str) -> None:
    """Show an error where the pointer is: nobody else shows what a menu's operator reports."""
    said = text.removeprefix("Error: ").strip()

    def draw(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
        for line in said.splitlines():
            menu.layout.label(text=line, translate=False)

    bpy.context.window_manager.popup_menu(draw, title="Not shown", icon="ERROR")


class LimenGalleries(bpy.types.PropertyGroup):
    """What the galleries show, which is what stands in the scene."""

    pose: _enum("pose")
    texture: _enum("texture")
    scenery: _enum("scenery")


def draw_gallery(layout: bpy.types.UILayout, context: bpy.types.Context, factor: str) -> None:
    """Draw the picture of what stands, which opens the others, between previous and next."""
    row = layout.row(align=True)
    for step, icon in ((-1, "TRIA_LEFT"), (1, "TRIA_RIGHT")):
        column = row.column(align=True)
        column.scale_y = _SCALE
        button = column.operator("limen.step_gallery", text="", icon=icon)
        button.factor, button.step = factor, step
        if step < 0:
            row.template_icon_view(
                context.window_manager.limen_galleries,
                factor,
                show_labels=True,
                scale=_SCALE,
                scale_popup=_POPUP_SCALE,
            )


def draw_membership(
    layout: bpy.types.UILayout, is_in: bool, add: str, remove: str
) -> tuple[bpy.types.OperatorProperties | None, bpy.types.OperatorProperties | None]:
    """Draw whether the study has what is shown, and a button that changes it.

    Returns:
        The properties of the button that adds, or of the one that removes; the other is None.
    """
    row = layout.row(align=True)
    if is_in:
        row.label(text="In the study", icon="CHECKMARK")
        return None, row.operator(remove, text="Remove", icon="REMOVE")
    row.label(text="Not in the study", icon="HIDE_OFF")
    return row.operator(add, text="Add", icon="ADD"), None


def register() -> None:
    """Add the galleries to the window manager, which no file keeps."""
    bpy.utils.register_class(LimenGalleries)
    bpy.types.WindowManager.limen_galleries = bpy.props.PointerProperty(type=LimenGalleries)


def unregister() -> None:
    """Remove them."""
    del bpy.types.WindowManager.limen_galleries
    bpy.utils.unregister_class(LimenGalleries)
    _numbers.clear()
    _lists.clear()
    _items.clear()
