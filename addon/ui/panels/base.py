"""What Limen's panels share."""

import re
from functools import lru_cache

import blf
import bpy

from ...operators.stepping import work
from ...properties.words import translated
from ..thumbnails import panel_icon_id

__all__ = [
    "BESIDE_BUTTON",
    "IN_BOX",
    "LimenPanel",
    "StudyPanel",
    "draw_work",
    "fact",
    "stepper",
    "wrapped",
]

_FONT = 0
_MARGIN_PX, _LEAST_PX = 82, 60  # tabs, edges and an icon; at interface scale 1
IN_BOX, BESIDE_BUTTON = 8, 38  # pixels that a box takes, and a box with a button in it


class LimenPanel:
    """A panel of the Limen tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Limen"
    limen_icon = ""

    def draw_header(self, _context: bpy.types.Context) -> None:
        """Draw the panel's own icon, where it has one."""
        if self.limen_icon:
            self.layout.label(text="", icon_value=panel_icon_id(self.limen_icon))


class StudyPanel(LimenPanel):
    """A panel that is there once a study is open, closed at first."""

    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show it once a study is open."""
        return bool(context.scene.limen.is_open)


def stepper(layout: bpy.types.UILayout, factor: str, label: str) -> None:
    """Draw what is shown of a factor between buttons for the one before and the one after."""
    row = layout.row(align=True)
    for step, icon in ((-1, "TRIA_LEFT"), (1, "TRIA_RIGHT")):
        button = row.operator("limen.step", text="", icon=icon)
        button.factor, button.step = factor, step
        if step < 0:
            row.label(text=label, translate=False)


def draw_work(layout: bpy.types.UILayout, title: str) -> bool:
    """Draw the progress of work of this title; returns whether it goes on."""
    now = work()
    if now is None or now.title != title:
        return False
    text = translated("{}: {} of {}. Esc stops", translated(title), now.done, now.of)
    layout.progress(factor=now.done / max(1, now.of), text=text)
    return True


def fact(column: bpy.types.UILayout, name: str, value: str) -> None:
    """Draw a name on the left and its value on the right."""
    row = column.row()
    row.label(text=name)
    right = row.row()
    right.alignment = "RIGHT"
    right.label(text=value, translate=False)


def wrapped(text: str, context: bpy.types.Context, less_px: int = 0) -> list[str]:
    """Return a text's lines, as wide as an icon leaves of the sidebar now.

    Args:
        text: The text.
        context: Of the panel.
        less_px: How much of the width something else takes, at interface scale 1.
    """
    preferences = context.preferences
    scale = preferences.system.ui_scale
    room_px = context.region.width - (_MARGIN_PX + less_px) * scale
    points = preferences.ui_styles[0].widget.points * scale
    return list(_lines_of(" ".join(text.split()), max(_LEAST_PX * scale, room_px), points))


@lru_cache(maxsize=256)
def _lines_of(text: str, room_px: float, points: float) -> tuple[str, ...]:
    blf.size(_FONT, points)
    lines, line = [], ""
    for part in _PART.findall(text):
        if line and blf.dimensions(_FONT, (line + part).rstrip())[0] > room_px:
            lines.append(line.rstrip())
            line = ""
        line += part
        while len(line) > 1 and blf.dimensions(_FONT, line.rstrip())[0] > room_px:  # a path, say
            fits = next(
                i
                for i in range(len(line) - 1, 0, -1)
                if i == 1 or blf.dimensions(_FONT, line[:i])[0] <= room_px
            )
            lines.append(line[:fits])
            line = line[fits:]
    return (*lines, line.rstrip()) if line.strip() else tuple(lines)


# Between words, and between Chinese letters; none of them begins a line with a comma.
_WIDE = r"[\u2e80-\u9fff\uff00-\uffef]"
_PART = re.compile(
    rf"{_WIDE}[\u3000-\u303f\uff00-\uff0f\uff1a-\uff1f]*\s*|(?:(?!{_WIDE})\S)+\s*|\s+"
)
