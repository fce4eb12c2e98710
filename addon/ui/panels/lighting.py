"""Lighting: the study's lightings, their light, presets, and the preview of the shown cell."""

import math

import bpy

from ...core.lighting import parse_layer
from ...core.photometry import METERING_TARGET, illuminance_text
from ...operators.lighting import chosen_lighting, own_presets, presets_problem
from ...operators.preview import Shown, preview_image, preview_title, shown_preview
from ...properties import live
from ...properties.convert import direct_light, is_edited, lighting_before
from ...properties.words import marked, translated
from ..compass import bearing_name, compass_icon_id
from ..light_pictures import (
    preset_icon_id,
    preview_icon_id,
    shown_preset,
)
from .base import StudyPanel, draw_work, wrapped

__all__ = ["CLASSES"]

_COMPASS_SCALE, _PREVIEW_SCALE, _PRESET_SCALE, _POPUP_SCALE = 4.2, 9.0, 5.0, 4.5
_STOPS_TOLD = 0.1
_SHARES = {"sun": marked("Sun"), "moon": marked("Moon"), "glow": marked("Glow")}


class LIMEN_UL_lightings(bpy.types.UIList):
    """The lightings of the study."""

    def draw_item(
        self, _context, layout, _data, item, _icon, _active, _property, _index=0, _flag=0
    ) -> None:
        """Draw a lighting: whether it is used, its picture, name and lux."""
        row = layout.row(align=True)
        row.prop(item, "used", text="")
        icon = preset_icon_id(item.name)
        row.label(text="", icon_value=icon) if icon else row.label(text="", icon="LIGHT_SUN")
        row.prop(item, "name", text="", emboss=False)
        right = row.row(align=True)
        right.alignment = "RIGHT"
        right.label(text=illuminance_text(item.illuminance_lx), translate=False)


class LIMEN_PT_lighting(StudyPanel, bpy.types.Panel):
    """The lightings of the study; the chosen one is shown."""

    bl_label = "Lighting"
    limen_icon = "lighting"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the list."""
        layout, settings = self.layout, context.scene.limen
        row = layout.row()
        row.template_list(
            "LIMEN_UL_lightings", "", settings.study, "lightings", settings.light, "index", rows=4
        )
        buttons = row.column(align=True)
        buttons.operator("limen.add_level", text="", icon="ADD").factor = "lighting"
        remove = buttons.operator("limen.remove_level", text="", icon="REMOVE")
        remove.factor, remove.index = "lighting", settings.light.index
        item = chosen_lighting(context.scene)
        if item is None:
            layout.label(text="No lighting yet: add a preset", icon="INFO")


class LIMEN_PT_light(StudyPanel, bpy.types.Panel):
    """The light of the chosen lighting."""

    bl_label = "Light"
    bl_parent_id = "LIMEN_PT_lighting"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Show it where a lighting is chosen."""
        return super().poll(context) and chosen_lighting(context.scene) is not None

    def draw(self, context: bpy.types.Context) -> None:
        """Draw how much light there is, where from, and what to do with edits."""
        layout, item = self.layout, chosen_lighting(context.scene)
        layout.use_property_split = True
        layout.use_property_decorate = False
        light = lighting_before(item)
        direct = direct_light(light)
        kind = parse_layer(direct[0].layer).kind if direct else ""
        if kind == "sun" and light.band == "night":
            kind = "moon"
        column = layout.column(align=True)
        column.prop(item, "illuminance")
        column.prop(item, "stops", slider=True)
        if 0 < sum(part.share for part in direct) < 1:  # else there is nothing to share
            column.prop(item, "sun_percent", text=_SHARES[kind], slider=True)
        row = layout.row()
        bearing_deg = _camera_bearing_deg(context.scene.limen)
        layer = parse_layer(direct[0].layer) if direct else None
        icon = compass_icon_id(
            kind or "sky",
            layer.azimuth_deg if layer else 0,
            layer.elevation_deg if layer else 90,
            bearing_deg,
        )
        row.template_icon(icon_value=icon, scale=_COMPASS_SCALE)
        said = row.column(align=True)
        if layer is None:
            said.label(text="Sky alone")
        elif kind == "glow":
            text = translated("Glow: {}", bearing_name(layer.azimuth_deg))
            said.label(text=text, translate=False)
        else:
            where = bearing_name(layer.azimuth_deg), layer.elevation_deg
            sentence = marked("Sun: {}, {:g}° high")
            if kind == "moon":
                sentence = marked("Moon: {}, {:g}° high")
            said.label(text=translated(sentence, *where), translate=False)
        if bearing_deg is not None:
            text = translated("Camera: {}", bearing_name(bearing_deg))
            said.label(text=text, translate=False)
        if light.lamps_lm:
            text = translated("Lamps: {:,.0f} lm each", light.lamps_lm)
            said.label(text=text, translate=False)
        if light.illuminator_cd:
            text = translated("At the camera: {:,.0f} cd", light.illuminator_cd)
            said.label(text=text, translate=False)
        if light.monochrome:
            said.label(text="Seen in grey")
        row = layout.row(align=True)
        row.operator("limen.reset_lighting", text="Reset", icon="LOOP_BACK")
        row.operator("limen.save_lighting_preset", text="Save Preset", icon="PRESET_NEW")
        if is_edited(item):
            layout.label(text="Changed since it was added", icon="GREASEPENCIL")


def _camera_bearing_deg(settings: bpy.types.PropertyGroup) -> float | None:
    """Return where the shown camera stands, seen from the subject, as a compass bearing."""
    study, index = live.state().study, settings.cell.azimuth
    if study is None or not settings.rig_placed or index >= len(study.camera.azimuths_deg):
        return None
    # Azimuth 0 is south, where the subject looks, and azimuths grow counter-clockwise.
    return (180 - study.camera.azimuths_deg[index]) % 360


class LIMEN_PT_light_presets(StudyPanel, bpy.types.Panel):
    """Presets of Limen's and of the user's own."""

    bl_label = "Presets"
    bl_parent_id = "LIMEN_PT_lighting"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the gallery, and what can be done with what it shows."""
        layout = self.layout
        gallery, preset = shown_preset(context)
        layout.template_icon_view(
            gallery, "preset", show_labels=True, scale=_PRESET_SCALE, scale_popup=_POPUP_SCALE
        )
        for i, line in enumerate(wrapped(presets_problem(), context)):
            layout.label(text=line, icon="ERROR" if i == 0 else "BLANK1", translate=False)
        if preset is None:
            return
        row = layout.row(align=True)
        row.label(text=preset.name.replace("_", " "), translate=False)
        row.label(text=illuminance_text(preset.illuminance_lx), translate=False)
        row = layout.row(align=True)
        lightings = context.scene.limen.study.lightings
        index = lightings.find(preset.name)
        if index >= 0 and lightings[index].used:
            row.label(text="In the study", icon="CHECKMARK")
        else:
            button = row.operator("limen.add_lighting", text="Add to the Study", icon="ADD")
            button.preset = preset.name
        if preset.name in own_presets():
            row.operator("limen.remove_lighting_preset", text="", icon="TRASH").name = preset.name


class LIMEN_PT_preview(StudyPanel, bpy.types.Panel):
    """The shown cell as the batch renders it."""

    bl_label = "Preview"
    bl_parent_id = "LIMEN_PT_lighting"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the buttons, the last preview, and the exposure that the camera chose."""
        layout, settings = self.layout, context.scene.limen
        if not any(draw_work(layout, preview_title(draft)) for draft in (False, True)):
            row = layout.row(align=True)
            for draft, icon in ((False, "RENDER_STILL"), (True, "SHADING_RENDERED")):
                button = row.operator("limen.preview_cell", text=preview_title(draft), icon=icon)
                button.draft, button.all_lightings = draft, settings.light.all_lightings
        layout.prop(settings.light, "all_lightings", text="For all lightings")
        shading = context.space_data.shading
        row = layout.row(align=True)
        row.label(text="Viewport")
        row.prop_enum(shading, "type", "SOLID", text="Solid")
        row.prop_enum(shading, "type", "RENDERED", text="Rendered")
        if shading.type == "SOLID":
            layout.prop(shading, "show_shadows", text="Shadows away from the light")
        shown = shown_preview()
        if shown is None:
            return
        layout.template_icon(icon_value=preview_icon_id(), scale=_PREVIEW_SCALE)
        column = layout.column(align=True)
        row = column.row(align=True)
        row.label(text=shown.lighting.replace("_", " "), translate=False)
        if preview_image() is not None:
            row.operator("limen.show_preview", text="", icon="WINDOW")
        for text, icon in _notes(shown, settings):
            for i, line in enumerate(wrapped(text, context)):
                column.label(text=line, icon="BLANK1" if i else icon, translate=False)


def _notes(shown: Shown, settings: bpy.types.PropertyGroup) -> list[tuple[str, str]]:
    """Return what is to be said of the last preview, and the icons."""
    picture = shown.picture
    notes = [
        (f"{_shutter(picture.exposure_s)}, f/{shown.fnumber:g}, ISO {shown.iso:g}", "CAMERA_DATA")
    ]
    stops = math.log2(max(picture.signal, 1e-6) / METERING_TARGET)
    if picture.limit == "longest" and stops < -_STOPS_TOLD:
        text = translated("Dark by {:.1f} stops: the shutter limit is reached", -stops)
        notes.append((text, "INFO"))
    elif picture.limit == "shortest" and stops > _STOPS_TOLD:
        text = translated("Bright by {:.1f} stops: the shortest time is reached", stops)
        notes.append((text, "INFO"))
    if shown.is_draft:
        samples = shown.samples, shown.study_samples
        text = translated("Draft: {} of {} samples a pixel", *samples)
        notes.append((text, "SHADING_RENDERED"))
    if shown.problem:
        notes.append((translated("{}: preview the cell again", shown.problem), "ERROR"))
    if shown.view_id != settings.view_id:
        notes.append((translated("Of another cell than the one that is shown now"), "INFO"))
    elif live.state().study is None:
        notes.append((translated("The study has faults"), "ERROR"))
    return notes


def _shutter(exposure_s: float) -> str:
    return f"1/{1 / exposure_s:,.0f} s" if exposure_s < 0.3 else f"{exposure_s:g} s"


CLASSES = (
    LIMEN_UL_lightings,
    LIMEN_PT_lighting,
    LIMEN_PT_light,
    LIMEN_PT_light_presets,
    LIMEN_PT_preview,
)
