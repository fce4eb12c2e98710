"""Subject: who is seen, in which shape, pose and texture, and how it stands."""

import bpy

from ...core.poses import find_pose, is_pose
from ...operators.library import in_study, standing
from ...operators.subject import chosen_subject
from ...properties import live
from ..galleries import draw_gallery, draw_membership
from .base import StudyPanel, wrapped

__all__ = ["CLASSES"]


class LIMEN_UL_subjects(bpy.types.UIList):
    """The subjects of the study."""

    def draw_item(
        self, _context, layout, _data, item, _icon, _active, _property, _index=0, _flag=0
    ) -> None:
        """Draw a subject: whether it is used, its name, and whether it is the one shown."""
        row = layout.row(align=True)
        row.prop(item, "used", text="")
        row.prop(item, "name", text="", emboss=False)
        if standing("subject") == item.name:
            row.label(text="", icon="HIDE_OFF")


class LIMEN_PT_subject(StudyPanel, bpy.types.Panel):
    """The subjects, and the one that is chosen."""

    bl_label = "Subject"
    limen_icon = "subject"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the list, the body, and how the shown person stands."""
        layout, settings = self.layout, context.scene.limen
        row = layout.row()
        row.template_list(
            "LIMEN_UL_subjects", "", settings.study, "subjects", settings, "subject_index", rows=3
        )
        buttons = row.column(align=True)
        buttons.operator("limen.add_level", text="", icon="ADD").factor = "subject"
        remove = buttons.operator("limen.remove_level", text="", icon="REMOVE")
        remove.factor, remove.index = "subject", settings.subject_index
        subject = chosen_subject(settings)
        if subject is None:
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        row = layout.row(align=True)
        row.prop(subject, "body")
        row.operator("limen.choose_body", text="", icon="DOWNARROW_HLT")
        layout.prop(subject, "yaw_deg", text="Yaw (°)")
        _draw_stand(layout, context)


def _draw_stand(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Say how the person that is shown fits the ground, or why an edit is not shown."""
    settings = context.scene.limen
    if not settings.rig_placed:
        layout.label(text="Place the rig to see the person", icon="INFO")
        return
    if not standing("subject"):
        return
    person = settings.person
    faults = person.problem or person.faults
    row = layout.row(align=True)
    column = row.column(align=True)
    if faults:
        start = "" if person.problem else "It "
        for fault in faults.splitlines():
            for i, line in enumerate(wrapped(f"{start}{fault}", context)):
                column.label(text=line, icon="BLANK1" if i else "ERROR", translate=False)
    else:
        column.label(text="Stands on the ground", icon="CHECKMARK")
    row.operator("limen.check_person", text="", icon="VIEWZOOM")


class LIMEN_PT_shape(StudyPanel, bpy.types.Panel):
    """The shape of the chosen subject's body."""

    bl_label = "Shape"
    bl_parent_id = "LIMEN_PT_subject"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the coefficients, or that they are drawn."""
        layout, subject = self.layout, chosen_subject(context.scene.limen)
        if subject is None:
            return
        row = layout.row(align=True)
        row.operator("limen.draw_shape", text="At Random", icon="FILE_REFRESH")
        row.operator("limen.reset_shape", text="Mean", icon="LOOP_BACK")
        layout.prop(subject, "random_betas", text="Drawn from the study's seed")
        if subject.random_betas:
            return
        column = layout.column(align=True)
        for i in range(len(subject.betas)):
            column.prop(subject, "betas", index=i, text=f"β {i + 1}", slider=True)


class LIMEN_PT_poses(StudyPanel, bpy.types.Panel):
    """The gallery of poses."""

    bl_label = "Poses"
    bl_parent_id = "LIMEN_PT_subject"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the filter, the gallery, and whether the study has what is shown."""
        layout, settings = self.layout, context.scene.limen
        column = layout.column(align=True)
        column.prop(settings.person, "pose_filter", text="")
        column.prop(settings.person, "pose_search", text="", icon="VIEWZOOM")
        draw_gallery(layout, context, "pose")
        pose, study = standing("pose"), live.state().study
        if is_pose(pose):
            row = layout.row(align=True)
            row.label(text=pose.replace("_", " "), translate=False)
            row.operator("limen.mirror_pose", text="", icon="MOD_MIRROR")
            if study is not None:
                draw_membership(
                    layout,
                    in_study(study, find_pose(pose).action, pose),
                    "limen.add_pose",
                    "limen.remove_pose",
                )
        layout.prop(settings.study, "all_poses", text="All poses of the actions")


class LIMEN_PT_textures(StudyPanel, bpy.types.Panel):
    """The gallery of textures."""

    bl_label = "Textures"
    bl_parent_id = "LIMEN_PT_subject"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the gallery, and whether the chosen subject has what is shown."""
        layout, settings = self.layout, context.scene.limen
        subject = chosen_subject(settings)
        if subject is None:
            return
        draw_gallery(layout, context, "texture")
        texture = standing("texture")
        row = layout.row(align=True)
        row.label(text=texture or "Nothing yet", translate=not texture)
        row.operator("limen.number_texture", text="", icon="LINENUMBERS_ON")
        row.operator("limen.check_assets", text="", icon="FILE_REFRESH")
        if not texture or standing("subject") != subject.name:
            return
        index = subject.textures.find(texture)
        is_in = index >= 0 and subject.textures[index].used
        add, remove = draw_membership(layout, is_in, "limen.use_texture", "limen.remove_level")
        if add is not None:
            add.texture = texture
        if remove is not None:
            remove.factor, remove.index = "texture", index


CLASSES = (
    LIMEN_UL_subjects,
    LIMEN_PT_subject,
    LIMEN_PT_shape,
    LIMEN_PT_poses,
    LIMEN_PT_textures,
)
