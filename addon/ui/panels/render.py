"""Render: where to, the checks before, the batch in the background and what came of it."""

import re

import bpy
import bpy.utils.previews

from ...core.following import duration
from ...operators.batch import Standing, on_standing, output_of, standing
from ...operators.preflight import preflight
from ...properties import live
from ...properties.words import marked, translated
from .base import BESIDE_BUTTON, IN_BOX, StudyPanel, draw_work, wrapped

__all__ = ["CLASSES", "gigabytes", "register", "unregister"]

_FINDINGS_SHOWN = 8
_SAID_SHOWN = 5
_PICTURE_SCALE = 7.0
_IDS = re.compile(r" \(views? v[^)]*\)")

_picture: bpy.utils.previews.ImagePreviewCollection | None = None


class LIMEN_PT_render(StudyPanel, bpy.types.Panel):
    """Where the study is rendered to, and how far it is."""

    bl_label = "Render"
    bl_options = set()
    limen_icon = "render"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, batch = self.layout, context.scene.limen.batch
        column = layout.column(align=True)
        column.label(text="Output folder")
        column.prop(batch, "output", text="")
        output = output_of(context, context.scene)
        if output is not None and not batch.output:
            lines = wrapped(str(output), context)
            _lines(column, lines, "FORWARD")
        elif output is None and not batch.output:
            text = translated("Save the study, or choose a folder")
            _lines(column, wrapped(text, context), "INFO")
        now = standing()
        if output is not None and now.root == output:
            _draw_standing(layout, context, now)
        column = layout.column(align=True)
        column.scale_y = 1.3
        if now.is_busy:
            ends = now.state == "stopping"
            text = marked("End at Once") if ends else marked("Cancel")
            column.operator("limen.cancel_batch", text=text, icon="CANCEL" if ends else "PAUSE")
        elif now.state != "done":
            text = marked("Resume") if now.done else marked("Start Batch")
            column.operator("limen.start_batch", text=text, icon="RENDER_ANIMATION")
        if now.done:
            row = layout.row(align=True)
            row.operator("limen.make_contact_sheet", icon="IMGDISPLAY")
            row.operator("limen.open_output", text="", icon="FILE_FOLDER")


def _draw_standing(layout: bpy.types.UILayout, context: bpy.types.Context, now: Standing) -> None:
    """Draw how far a batch is, and what went wrong."""
    box = layout.box().column(align=True)
    if now.state == "none":
        box.label(text="The study has faults: see To Mend", icon="ERROR")
        return
    if now.state == "refused":
        _lines(box, wrapped(" ".join(now.said), context, IN_BOX), "ERROR")
        return
    if now.is_busy or 0 < now.done < now.total:
        text = translated("{} of {} views", now.done, now.total)
        box.progress(factor=now.done / max(1, now.total), text=text)
        box.separator(factor=0.5)
    for text, icon in _headline(now):
        _lines(box, wrapped(text, context, IN_BOX), icon)
    for text in now.said[:_SAID_SHOWN]:
        _lines(box, wrapped(text, context, IN_BOX), "BLANK1")
    if len(now.said) > _SAID_SHOWN:
        text = translated("and {} more", len(now.said) - _SAID_SHOWN)
        box.label(text=text, icon="BLANK1", translate=False)
    if now.done and _picture is not None and "newest" in _picture:
        layout.template_icon(icon_value=_picture["newest"].icon_id, scale=_PICTURE_SCALE)


def _headline(now: Standing) -> list[tuple[str, str]]:
    """Return the lines that say where a batch stands, each with its icon."""
    done, total = (views * now.images_per_view for views in (now.done, now.total))
    if now.state == "idle":
        if now.done:
            lines = [(translated("{:,} of {:,} images are there", done, total), "IMAGE_DATA")]
        else:
            text = translated("{:,} views to render, {:,} images", now.total, total)
            lines = [(text, "IMAGE_DATA")]
        if now.free_bytes is not None:
            lines.append((translated("{} free there", gigabytes(now.free_bytes)), "DISK_DRIVE"))
        return lines
    if now.state == "starting":
        return [(translated("A Blender starts in the background"), "TIME")]
    if now.state in ("running", "stopping"):
        where = []
        if not now.ours:
            where = [(translated("Started elsewhere, on {}", now.machine), "URL")]
        if now.state == "stopping":
            return [*where, (translated("Stops after the view in hand"), "PAUSE")]
        if now.pace is None:
            return [*where, (translated("The first view is in hand"), "TIME")]
        images = translated("{:,} of {:,} images", done, total)
        pace = translated("{:.3g} images a minute", now.pace.images_per_min)
        left = translated("{} left", duration(now.pace.left_s))
        return [*where, (images, "IMAGE_DATA"), (pace, "BLANK1"), (left, "TIME")]
    if now.state == "done":
        text = translated("Done: {:,} views, {:,} images", now.total, total)
        return [(text, "CHECKMARK")]
    said, icon = _ENDS[now.state]
    return [(translated(said), icon)]


_ENDS = {
    "stopped": (marked("Stopped. Resume goes on where it was"), "PAUSE"),
    "killed": (
        marked(
            "The batch was ended from outside, or crashed. Nothing is lost but the view in hand: "
            "Resume goes on"
        ),
        "ERROR",
    ),
    "failed": (marked("The batch could not render. It said:"), "ERROR"),
    "partly": (marked("Partly done: these views failed. Resume tries them again"), "ERROR"),
}


def _lines(column: bpy.types.UILayout, lines: list[str], icon: str) -> None:
    for i, line in enumerate(lines):
        column.label(text=line, icon=icon if i == 0 else "BLANK1", translate=False)


def gigabytes(count: float) -> str:
    """Return a number of bytes for people: ``3.2 GB``, ``12 MB``."""
    if count < 0.95e9:
        return f"{max(1, round(count / 1e6))} MB"
    return f"{count / 1e9:.2g} GB" if count < 100e9 else f"{count / 1e9:.0f} GB"


class LIMEN_PT_preflight(StudyPanel, bpy.types.Panel):
    """What is checked before a long render."""

    bl_label = "Preflight"
    bl_parent_id = "LIMEN_PT_render"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the button, and what was found."""
        layout = self.layout
        if draw_work(layout, self.bl_label):
            return
        layout.operator("limen.preflight", text="Check All Views", icon="VIEWZOOM")
        report = preflight()
        if report is None:
            return
        if report.study_text != live.state().text:
            text = translated("Found before the last edits:")
            _lines(layout.column(), wrapped(text, context), "INFO")
        if not report.findings:
            text = translated("{:,} views are in order", report.views)
            layout.label(text=text, icon="CHECKMARK", translate=False)
        for i, finding in enumerate(report.findings[:_FINDINGS_SHOWN]):
            row = layout.box().row()
            column = row.column(align=True)
            views = len(finding.view_ids)
            count = f" ({translated('{:,} views', views)})" if views > 1 else ""
            text = _IDS.sub(count, finding.text)
            text = text[:1].upper() + text[1:]
            lines = wrapped(text, context, BESIDE_BUTTON if views else IN_BOX)
            _lines(column, lines, "ERROR" if finding.error else "INFO")
            if views:
                row.operator("limen.show_finding", text="", icon="HIDE_OFF").index = i
        if len(report.findings) > _FINDINGS_SHOWN:
            text = translated("and {} more", len(report.findings) - _FINDINGS_SHOWN)
            layout.label(text=text, translate=False)


class LIMEN_PT_render_settings(StudyPanel, bpy.types.Panel):
    """How views are rendered, and what is written."""

    bl_label = "Render Settings"
    bl_parent_id = "LIMEN_PT_render"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout, settings = self.layout, context.scene.limen
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(settings.batch, "device")
        for name in ("method", "samples", "denoise"):
            layout.prop(settings.study, name)
        column = layout.column(heading="Write")
        for name in ("clean", "masks", "depth"):
            column.prop(settings.study, name)


_COPIES = (("ONE", marked("Copy Command")), ("SEVERAL", marked("Copy for Several Processes")))


class LIMEN_PT_command_line(StudyPanel, bpy.types.Panel):
    """The same in a terminal, on this machine or another."""

    bl_label = "Command Line"
    bl_parent_id = "LIMEN_PT_render"

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the panel."""
        column = self.layout.column(align=True)
        for kind, text in _COPIES:
            button = column.operator("limen.copy_command_line", text=text, icon="COPYDOWN")
            button.kind = kind


CLASSES = (LIMEN_PT_render, LIMEN_PT_preflight, LIMEN_PT_render_settings, LIMEN_PT_command_line)


def _show_newest(now: Standing) -> None:
    """Keep the last image alone: a batch makes more than a Blender could hold."""
    if _picture is None:
        return
    path = str(now.newest) if now.newest else ""
    if _picture.get("newest") is not None and _shown_path[0] == path:
        return
    _picture.clear()
    _shown_path[0] = path
    if path:
        _picture.load("newest", path, "IMAGE")


_shown_path = [""]


def register() -> None:
    """Show the last image of a batch."""
    global _picture
    _picture = bpy.utils.previews.new()
    on_standing(_show_newest)


def unregister() -> None:
    """Remove it."""
    global _picture
    if _picture is not None:
        bpy.utils.previews.remove(_picture)
        _picture = None
    _shown_path[0] = ""
