"""Study: new, open, save; what it amounts to; what is wrong with it."""

from datetime import UTC, datetime

import bpy

from ...core.following import duration
from ...operators.mend import sentence
from ...operators.preflight import estimate
from ...properties import live
from ...properties.words import translated
from .base import BESIDE_BUTTON, IN_BOX, LimenPanel, draw_work, fact, wrapped
from .render import gigabytes

__all__ = ["CLASSES", "ago"]

_PROBLEMS_SHOWN = 5


class LIMEN_PT_study(LimenPanel, bpy.types.Panel):
    """The study that is open."""

    bl_label = "Study"
    limen_icon = "study"

    def draw_header(self, context: bpy.types.Context) -> None:
        """Draw the panel's icon, and a warning that is seen while the panel is closed."""
        super().draw_header(context)
        if context.scene.limen.is_open and live.state().problems:
            self.layout.label(text="", icon="ERROR")

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, settings = self.layout, context.scene.limen
        layout.use_property_split = True
        layout.use_property_decorate = False
        row = layout.row(align=True)
        row.operator("limen.new_study", text="New", icon="FILE_NEW")
        row.operator("limen.open_study", text="Open", icon="FILE_FOLDER")
        if not settings.is_open:
            return
        row.operator("limen.save_study", text="Save", icon="FILE_TICK")
        row.operator("limen.save_study_as", text="", icon="DUPLICATE")
        state = live.state()
        name = bpy.path.basename(settings.study_path) or translated("Not saved yet")
        changed = bool(state.text) and state.text != settings.saved_text
        layout.label(text=f"{name} *" if changed else name, icon="TEXT", translate=False)
        column = layout.column()
        column.prop(settings.study, "name")
        column.prop(settings.study, "family")
        column.prop(settings.study, "seed")
        if state.study is not None:
            _summary(layout, context, state)


def _summary(layout: bpy.types.UILayout, context: bpy.types.Context, state: live.State) -> None:
    """Draw what the study amounts to, and what it costs on this machine."""
    lightings = len(state.study.lightings)
    persons = sum(view.target_present for view in state.views)
    box = layout.box().column(align=True)
    views, images = len(state.views), len(state.views) * lightings
    fact(box, "Views", f"{views:,}")
    fact(box, "With a person", f"{persons:,}")
    fact(box, "Lightings", f"× {lightings}")
    fact(box, "Images", f"{images:,}")
    now = estimate()
    if now is None or now.cost.views != views or now.cost.images != images:  # not yet worked out
        return
    fact(box, "Backgrounds", f"{now.cost.plates:,}")
    box.separator()
    if draw_work(box, "Measure"):
        return
    if now.measured is None:
        text = translated("Hours and gigabytes are not measured on this machine yet")
        for line in wrapped(text, context, IN_BOX):
            box.label(text=line, translate=False)
    else:
        fact(box, "Time here", translated("about {}", duration(now.cost.seconds)))
        fact(box, "Disk", translated("about {}", gigabytes(now.cost.bytes)))
        fact(box, "Measured", ago((datetime.now(UTC) - now.measured).total_seconds()))
    box.operator("limen.measure", icon="TIME")


def ago(seconds: float) -> str:
    """Return how long ago something was: ``just now``, ``12 min ago``, ``3 days ago``."""
    if seconds < 90:
        return translated("just now")
    if seconds < 86_400:
        return translated("{} ago", duration(seconds))
    days = round(seconds / 86_400)
    return translated("{} days ago", days) if days > 1 else translated("a day ago")


class LIMEN_PT_problems(LimenPanel, bpy.types.Panel):
    """What is wrong with the study."""

    bl_label = "To Mend"
    bl_parent_id = "LIMEN_PT_study"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show it while something is wrong."""
        return context.scene.limen.is_open and bool(live.state().problems)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw each fault as lines that fit, with a button that goes where it is mended."""
        problems = live.state().problems
        for index, problem in enumerate(problems[:_PROBLEMS_SHOWN]):
            row = self.layout.box().row()
            column = row.column(align=True)
            less = BESIDE_BUTTON if problem.path else IN_BOX
            for i, line in enumerate(wrapped(sentence(problem.text), context, less)):
                column.label(text=line, icon="ERROR" if i == 0 else "BLANK1", translate=False)
            if problem.path:
                row.operator("limen.mend_problem", text="", icon="TOOL_SETTINGS").index = index
        if len(problems) > _PROBLEMS_SHOWN:
            text = translated("and {} more", len(problems) - _PROBLEMS_SHOWN)
            self.layout.label(text=text, translate=False)


CLASSES = (LIMEN_PT_study, LIMEN_PT_problems)
