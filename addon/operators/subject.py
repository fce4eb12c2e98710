"""Who is seen: body, shape, poses and textures of the study's subjects, and how they stand."""

import secrets
from typing import Any

import bpy

from ..core import seeds
from ..core.asset_check import check_assets, licensed_bodies
from ..core.assets import EMBEDDED_BODIES, file_sha256
from ..core.poses import find_pose, is_pose, load_poses, mirrored_name
from ..core.study import RANDOM_BETAS, RANDOM_BETAS_LIMIT, StudyError
from ..preferences import assets_dir, show_asset_notes
from ..properties import live
from ..properties.convert import add_level, put_betas
from ..properties.groups import LimenSettings, LimenSubject
from ..properties.words import translated
from ..scene.checks import check_person
from ..scene.view import place_person
from .errors import reporting
from .factors import use_named
from .library import refresh_images, show_level, shown_view, standing
from .study import StudyOperator, scene_study

__all__ = ["CLASSES", "chosen_subject"]

_SEEDS = 10_000
_SHOWN_FAULTS = 3


def chosen_subject(settings: LimenSettings) -> LimenSubject | None:
    """Return the subject that is chosen in the list, None where there is none."""
    subjects = settings.study.subjects
    return subjects[settings.subject_index] if settings.subject_index < len(subjects) else None


class _SubjectOperator(StudyOperator):
    """What operators share that change the chosen subject."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a subject is chosen."""
        if not super().poll(context):
            return False
        if chosen_subject(context.scene.limen) is None:
            cls.poll_message_set("Add a subject first")
            return False
        return True


class _PersonOperator(StudyOperator):
    """What operators share that look at the person in the scene."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a person stands in the scene."""
        if not super().poll(context):
            return False
        if not standing("pose"):
            cls.poll_message_set("Place the rig with a person first")
            return False
        return True


# --- body and shape ------------------------------------------------------------------------------


def _body_items(_operator: Any, context: bpy.types.Context) -> list[tuple[str, str, str]]:
    folder = assets_dir(context)
    licensed = licensed_bodies(folder) if folder else {}
    _body_items.kept = [  # type: ignore[attr-defined]  # Blender keeps no texts of its own
        *((name, name.capitalize(), "Built into Limen") for name in EMBEDDED_BODIES),
        *((name, name, str(path)) for name, path in licensed.items()),
    ]
    return _body_items.kept  # type: ignore[attr-defined]


class LIMEN_OT_choose_body(_SubjectOperator, bpy.types.Operator):
    """Choose the subject's body: built in, or a licensed file in your assets folder."""

    bl_idname = "limen.choose_body"
    bl_label = "Choose Body"
    bl_options = {"REGISTER", "UNDO"}
    bl_property = "body"

    body: bpy.props.EnumProperty(name="Body", items=_body_items)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """List what is there."""
        context.window_manager.invoke_search_popup(self)
        return {"RUNNING_MODAL"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Name the body in the study, a licensed one with the hash of its file."""
        subject = chosen_subject(context.scene.limen)
        subject.body = self.body  # the hash goes with the body before
        folder = assets_dir(context)
        if self.body not in EMBEDDED_BODIES and folder is not None:
            subject.body_sha256 = file_sha256(licensed_bodies(folder)[self.body])
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_draw_shape(_SubjectOperator, bpy.types.Operator):
    """Draw a body shape that occurs among people; Adjust Last Operation has its seed."""

    bl_idname = "limen.draw_shape"
    bl_label = "Draw Shape"
    bl_options = {"REGISTER", "UNDO"}

    seed: bpy.props.IntProperty(
        name="Seed", description="The same seed draws the same shape", min=0, options={"SKIP_SAVE"}
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Draw another one each time."""
        if not self.properties.is_property_set("seed"):
            self.seed = secrets.randbelow(_SEEDS)
        return self.execute(context)

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set the coefficients."""
        subject = chosen_subject(context.scene.limen)
        drawn = seeds.normal(self.seed, "shape", "betas", RANDOM_BETAS, limit=RANDOM_BETAS_LIMIT)
        subject.random_betas = False
        put_betas(subject, tuple(round(float(x), 3) for x in drawn))
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_reset_shape(_SubjectOperator, bpy.types.Operator):
    """Give the subject the mean shape of its body."""

    bl_idname = "limen.reset_shape"
    bl_label = "Reset Shape"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set all coefficients to 0."""
        subject = chosen_subject(context.scene.limen)
        subject.random_betas = False
        put_betas(subject, ())
        live.touch()
        return {"FINISHED"}


# --- poses ---------------------------------------------------------------------------------------


class LIMEN_OT_add_pose(StudyOperator, bpy.types.Operator):
    """Add a pose to the study, and its action if that is new."""

    bl_idname = "limen.add_pose"
    bl_label = "Add Pose"
    bl_options = {"REGISTER", "UNDO"}

    pose: bpy.props.StringProperty(
        name="Pose", description="Its name; empty: the one that is shown", options={"SKIP_SAVE"}
    )

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Add it; while the study shows all poses of its actions, its action is enough.

        All of them means none of their mirror images: with one of those, the poses are listed.
        """
        study = context.scene.limen.study
        pose = _pose_named(self.pose)
        if study.all_poses and pose not in load_poses():
            _list_poses(study)
        _use(study.actions, find_pose(pose).action)
        if not study.all_poses:
            _use(study.poses, pose)
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_remove_pose(StudyOperator, bpy.types.Operator):
    """Take a pose out of the study, and its action with its last pose."""

    bl_idname = "limen.remove_pose"
    bl_label = "Remove Pose"
    bl_options = {"REGISTER", "UNDO"}

    pose: bpy.props.StringProperty(
        name="Pose", description="Its name; empty: the one that is shown", options={"SKIP_SAVE"}
    )

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Remove it; the study then lists its poses."""
        study = context.scene.limen.study
        pose = _pose_named(self.pose)
        action = find_pose(pose).action
        if action not in study.actions or not study.actions[action].used:
            raise StudyError([f"The study does not show the pose '{pose}'"])
        if study.all_poses:
            _list_poses(study)
        _remove(study.poses, pose)
        if not any(find_pose(i.name).action == action for i in study.poses if i.used):
            _remove(study.actions, action)
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_mirror_pose(_PersonOperator, bpy.types.Operator):
    """Show the mirror image of the pose that is shown: left and right change places."""

    bl_idname = "limen.mirror_pose"
    bl_label = "Mirror Pose"
    bl_options = {"REGISTER", "UNDO"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show it, as the gallery shows a pose."""
        show_level(context, "pose", mirrored_name(standing("pose")))
        return {"FINISHED"}


def _list_poses(study: bpy.types.PropertyGroup) -> None:
    """Have a study that shows all poses of its actions list them."""
    study.poses.clear()
    study.all_poses = False  # which lists all that were shown


def _pose_named(name: str) -> str:
    pose = name or standing("pose")
    if not is_pose(pose):
        raise StudyError([f"There is no pose '{pose}'" if pose else "Place the rig first"])
    return pose


def _use(levels: Any, name: str) -> None:
    """Have a level among others, and switched on."""
    if name in levels:
        levels[name].used = True
    else:
        add_level(levels, name)


def _remove(levels: Any, name: str) -> None:
    index = levels.find(name)
    if index >= 0:
        levels.remove(index)


# --- textures ------------------------------------------------------------------------------------


class LIMEN_OT_use_texture(_SubjectOperator, bpy.types.Operator):
    """Add the texture that is shown to the chosen subject."""

    bl_idname = "limen.use_texture"
    bl_label = "Use Texture"
    bl_options = {"REGISTER", "UNDO"}

    texture: bpy.props.StringProperty(
        name="Texture", description="Its name; empty: the one that is shown", options={"SKIP_SAVE"}
    )

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Add it, or switch it on."""
        name = self.texture or standing("texture")
        if not name:
            raise StudyError(["Place the rig first, or name a texture"])
        use_named(context.scene.limen, "texture", name)
        live.touch()
        return {"FINISHED"}


class LIMEN_OT_number_texture(_SubjectOperator, bpy.types.Operator):
    """Show one of Limen's textures by its number: there are a hundred thousand."""

    bl_idname = "limen.number_texture"
    bl_label = "Texture by Number"
    bl_options = {"REGISTER", "UNDO"}

    number: bpy.props.IntProperty(name="Number", min=0, max=99_999)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Ask for the number."""
        return context.window_manager.invoke_props_dialog(self)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show it."""
        show_level(context, "texture", f"limen-texture-{self.number:05d}")
        return {"FINISHED"}


# --- checks --------------------------------------------------------------------------------------


class LIMEN_OT_check_person(_PersonOperator, bpy.types.Operator):
    """Check that the person stands on the ground and does not pass through itself."""

    bl_idname = "limen.check_person"
    bl_label = "Check Person"

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Check the person that is shown."""
        study, _ = scene_study(context.scene)
        assets = assets_dir(context)
        spec = shown_view(context.scene, study)
        if not spec.target_present:
            raise StudyError(["The shown view is one without a person: show another one"])
        faults = check_person(study, spec, place_person(study, spec, assets), assets)
        context.scene.limen.person.faults = "\n".join(faults)
        if faults:
            text = translated("The person: {}", "; ".join(faults[:_SHOWN_FAULTS]))
            self.report({"WARNING"}, text)
        else:
            text = translated("The person stands on the ground and not through itself")
            self.report({"INFO"}, text)
        return {"FINISHED"}


class LIMEN_OT_check_assets(bpy.types.Operator):
    """Read your assets folder and say what Limen finds there, and what is missing."""

    bl_idname = "limen.check_assets"
    bl_label = "Check Assets"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a folder is chosen."""
        if assets_dir(context) is None:
            cls.poll_message_set("Choose a folder in Limen's preferences first")
            return False
        return True

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Check it; the preferences show what was found."""
        notes = check_assets(assets_dir(context))
        show_asset_notes(notes)
        refresh_images(context)
        faults = [note.text for note in notes if note.state == "fault"]
        found = sum(note.state == "found" for note in notes)
        if faults:
            text = translated("{} ({} faults, {} found)", faults[0], len(faults), found)
            self.report({"WARNING"}, text)
        else:
            text = translated("Nothing is wrong in {}: {} found", assets_dir(context), found)
            self.report({"INFO"}, text)
        return {"FINISHED"}


CLASSES = (
    LIMEN_OT_choose_body,
    LIMEN_OT_draw_shape,
    LIMEN_OT_reset_shape,
    LIMEN_OT_add_pose,
    LIMEN_OT_remove_pose,
    LIMEN_OT_mirror_pose,
    LIMEN_OT_use_texture,
    LIMEN_OT_number_texture,
    LIMEN_OT_check_person,
    LIMEN_OT_check_assets,
)
