"""Show a cell of the study in the scene: scenery, camera, subject and light."""

from collections.abc import Mapping, Sequence
from typing import Any

import bpy

from ..core.factors import ViewSpec, view_of
from ..core.optics import CameraPose, look_at_pose
from ..core.poses import find_pose
from ..core.study import Study, StudyError
from ..preferences import assets_dir
from ..properties.words import translated
from ..scene import lighting, stage
from ..scene.checks import stand_faults
from ..scene.subject import PlacedSubject
from ..scene.view import set_up_view
from .errors import reporting
from .study import StudyOperator, folder_of, scene_study

__all__ = [
    "CLASSES",
    "camera_count",
    "camera_number",
    "cell_view",
    "check_camera_number",
    "levels_of",
    "light_cell",
    "note_stand",
    "rig_pose",
    "set_camera_number",
    "show_cell",
]


def cell_view(scene: bpy.types.Scene, study: Study) -> ViewSpec:
    """Return the view that a scene's cell names; a level that the study lacks becomes its first."""
    cell, camera = scene.limen.cell, study.camera
    factors: dict[str, Any] = dict.fromkeys(("action", "pose"))
    factors["scenery"] = _present(cell.scenery, study.sceneries)
    factors["distance_m"] = _at(camera.distances_m, cell.distance)
    factors["azimuth_deg"] = _at(camera.azimuths_deg, cell.azimuth)
    factors["elevation_deg"] = _at(camera.elevations_deg, cell.elevation)
    factors |= dict.fromkeys(("subject", "texture"))
    if cell.person:
        subjects = {subject.name: subject for subject in study.subjects}
        subject = subjects[_present(cell.subject, list(subjects))]
        pose = _present(cell.pose, study.poses)
        factors |= {
            "action": find_pose(pose).action,
            "pose": pose,
            "subject": subject.name,
            "texture": _present(cell.texture, subject.textures),
        }
    return view_of(study, factors)


def rig_pose(cell: Any, study: Study) -> CameraPose:
    """Return where the rig's camera of a cell stands."""
    camera = study.camera
    return look_at_pose(
        _at(camera.azimuths_deg, cell.azimuth),
        _at(camera.elevations_deg, cell.elevation),
        _at(camera.distances_m, cell.distance),
        camera.look_at_height_m,
    )


def _present(name: str, names: Sequence[str]) -> str:
    return name if name in names else names[0]


def _at(levels: Sequence[float], index: int) -> float:
    return levels[min(index, len(levels) - 1)]


def show_cell(
    context: bpy.types.Context, assets: str = "", beyond: Mapping[str, Any] | None = None
) -> None:
    """Set the scene up as its cell says, and light it.

    Args:
        context: Of the scene.
        assets: The assets folder, "" for that of the preferences.
        beyond: Factors in which what is shown differs from the cell, for a look.

    Raises:
        StudyError: The study has faults.
        AssetError: The subject's body or texture is not there.
        SceneryError: The scenery is not there, or the camera stands inside it.
    """
    study, _ = scene_study(context.scene, folder_of(assets))
    spec = cell_view(context.scene, study)
    seen = view_of(study, {**spec.factors, **beyond}) if beyond else spec
    shown = set_up_view(study, seen, folder_of(assets) or assets_dir(context))
    _remember(context.scene, study, spec)
    if beyond:
        context.scene.limen.view_id = ""  # it is no view of the study
    note_stand(context.scene, shown.person)
    light_cell(context.scene, study)


def _remember(scene: bpy.types.Scene, study: Study, spec: ViewSpec) -> None:
    """Say in the cell what is shown."""
    settings, camera = scene.limen, study.camera
    cell, factors = settings.cell, spec.factors
    cell.distance = camera.distances_m.index(factors["distance_m"])
    cell.azimuth = camera.azimuth_index[factors["azimuth_deg"]]
    cell.elevation = camera.elevation_index[factors["elevation_deg"]]
    cell.scenery = factors["scenery"]
    cell.person = spec.target_present
    if spec.target_present:
        cell.subject, cell.texture = factors["subject"], factors["texture"]
        cell.pose = factors["pose"]
        settings.subject_index = max(0, settings.study.subjects.find(cell.subject))
    settings.view_id = spec.view_id
    settings.rig_placed = True


def note_stand(scene: bpy.types.Scene, person: PlacedSubject | None) -> None:
    """Say in the scene how a person fits the ground of the scenery that is shown."""
    faults = () if person is None else stand_faults(person.vertices_m)
    scene.limen.person.faults = "\n".join(what for _, what in faults)
    scene.limen.person.problem = ""


def light_cell(scene: bpy.types.Scene, study: Study) -> None:
    """Light the scene with its cell's lighting, exposed for the rendered viewport."""
    stage.mend_stage()
    cell = scene.limen.cell
    named = {item.name: item for item in study.lightings}
    cell.lighting = _present(cell.lighting, list(named))
    lighting.light_whole(named[cell.lighting])
    shown = stage.stage_scene()
    shown.render.film_transparent = False
    shown.render.use_border = False  # that of the last render would cut the viewport's picture
    shown.view_settings.exposure = lighting.VIEWPORT_EXPOSURE


class LIMEN_OT_place_rig(StudyOperator, bpy.types.Operator):
    """Build the scenery, place the subject and the cameras, and look through the first one."""

    bl_idname = "limen.place_rig"
    bl_label = "Place Rig"
    bl_options = {"REGISTER", "UNDO"}

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Show the cell and turn the viewport into its camera's picture."""
        show_cell(context)
        if context.space_data is not None and context.space_data.type == "VIEW_3D":
            context.space_data.region_3d.view_perspective = "CAMERA"
        return {"FINISHED"}


class LIMEN_OT_show_cell(StudyOperator, bpy.types.Operator):
    """Show a cell of the study: what is left empty stays as it is."""

    bl_idname = "limen.show_cell"
    bl_label = "Show Cell"
    bl_options = {"REGISTER", "UNDO"}

    scenery: bpy.props.StringProperty(name="Scenery", options={"SKIP_SAVE"})
    subject: bpy.props.StringProperty(name="Subject", options={"SKIP_SAVE"})
    texture: bpy.props.StringProperty(name="Texture", options={"SKIP_SAVE"})
    pose: bpy.props.StringProperty(name="Pose", options={"SKIP_SAVE"})
    lighting: bpy.props.StringProperty(name="Lighting", options={"SKIP_SAVE"})
    camera: bpy.props.IntProperty(
        name="Camera",
        description="Number of the camera from 1, through distances, azimuths and elevations; "
        "0: the one that is shown",
        min=0,
        options={"SKIP_SAVE"},
    )
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Change the cell and show it."""
        study, _ = scene_study(context.scene, folder_of(self.assets))
        wanted = {
            name: getattr(self, name)
            for name in ("scenery", "subject", "texture", "pose", "lighting")
            if getattr(self, name)
        }
        levels = levels_of(context.scene, study)
        for name, level in wanted.items():
            if level not in levels[name]:
                allowed = ", ".join(levels[name])
                self.report({"ERROR"}, f"{name} '{level}' is not in the study: it has {allowed}")
                return {"CANCELLED"}
        if self.camera:
            check_camera_number(study, self.camera)
        cell = context.scene.limen.cell
        for name, level in wanted.items():
            setattr(cell, name, level)
        if self.camera:
            set_camera_number(cell, study, self.camera)
        show_cell(context, self.assets)
        return {"FINISHED"}


def levels_of(scene: bpy.types.Scene, study: Study) -> dict[str, Sequence[str]]:
    """Return the levels among which a scene's cell can change, by the names of its properties."""
    subjects = {subject.name: subject for subject in study.subjects}
    subject = subjects[_present(scene.limen.cell.subject, list(subjects))]
    return {
        "scenery": study.sceneries,
        "subject": tuple(subjects),
        "texture": subject.textures,
        "pose": study.poses,
        "lighting": tuple(item.name for item in study.lightings),
    }


def camera_count(study: Study) -> int:
    """Return how many cameras a study's rig has, at all distances."""
    camera = study.camera
    return len(camera.distances_m) * len(camera.azimuths_deg) * len(camera.elevations_deg)


def check_camera_number(study: Study, number: int) -> None:
    """Check that a study's rig has a camera of a number.

    Raises:
        StudyError: It has not.
    """
    count = camera_count(study)
    if not 1 <= number <= count:
        raise StudyError([f"camera {number}: the rig has {count}, numbered from 1"])


def camera_number(cell: Any, study: Study) -> int:
    """Return the number of a cell's camera, from 1, through distances, azimuths and elevations."""
    camera = study.camera
    azimuths, elevations = len(camera.azimuths_deg), len(camera.elevations_deg)
    return (cell.distance * azimuths + cell.azimuth) * elevations + cell.elevation + 1


def set_camera_number(cell: Any, study: Study, number: int) -> None:
    """Choose a cell's camera by its number, round the ends."""
    camera = study.camera
    index = (number - 1) % camera_count(study)
    index, cell.elevation = divmod(index, len(camera.elevations_deg))
    cell.distance, cell.azimuth = divmod(index, len(camera.azimuths_deg))


class LIMEN_OT_step(StudyOperator, bpy.types.Operator):
    """Go to the next or the previous level of a factor, round the ends."""

    bl_idname = "limen.step"
    bl_label = "Step"
    bl_options = {"REGISTER", "UNDO"}

    factor: bpy.props.EnumProperty(
        name="Factor",
        items=[
            ("camera", "Camera", ""),
            ("distance", "Distance", ""),
            ("scenery", "Scenery", ""),
            ("subject", "Subject", ""),
            ("texture", "Texture", ""),
            ("pose", "Pose", ""),
            ("lighting", "Lighting", ""),
        ],
    )
    step: bpy.props.IntProperty(name="Step", default=1)

    @classmethod
    def description(cls, _context: bpy.types.Context, properties: Any) -> str:
        """Say which way and of what."""
        if properties.step > 0:
            return translated("Show the next one, after the last the first")
        return translated("Show the previous one, before the first the last")

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Change the cell and show it."""
        study, _ = scene_study(context.scene)
        cell = context.scene.limen.cell
        if self.factor == "camera":
            set_camera_number(cell, study, camera_number(cell, study) + self.step)
        elif self.factor == "distance":
            cell.distance = (cell.distance + self.step) % len(study.camera.distances_m)
        else:
            levels = levels_of(context.scene, study)[self.factor]
            shown = levels.index(_present(getattr(cell, self.factor), levels))
            setattr(cell, self.factor, levels[(shown + self.step) % len(levels)])
        show_cell(context)
        return {"FINISHED"}


class LIMEN_OT_set_up_view(StudyOperator, bpy.types.Operator):
    """Show a view that the study's sample has drawn."""

    bl_idname = "limen.set_up_view"
    bl_label = "Set Up View"
    bl_options = {"REGISTER", "UNDO"}

    number: bpy.props.IntProperty(
        name="Number", description="Of the view, from 1", min=1, default=1
    )
    assets: bpy.props.StringProperty(name="Assets", subtype="DIR_PATH", options={"SKIP_SAVE"})

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set the view up."""
        study, specs = scene_study(context.scene, folder_of(self.assets))
        if self.number > len(specs):
            self.report({"ERROR"}, f"view {self.number}: the study has {len(specs)} views")
            return {"CANCELLED"}
        spec = specs[self.number - 1]
        _remember(context.scene, study, spec)
        show_cell(context, self.assets)
        return {"FINISHED"}


class LIMEN_OT_step_view(StudyOperator, bpy.types.Operator):
    """Go to the next or the previous view that the study's sample has drawn, round the ends."""

    bl_idname = "limen.step_view"
    bl_label = "Step View"
    bl_options = {"REGISTER", "UNDO"}

    step: bpy.props.IntProperty(name="Step", default=1)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set up the view a step away; from a cell that was not drawn, the first or the last."""
        _, specs = scene_study(context.scene)
        ids = [spec.view_id for spec in specs]
        shown = context.scene.limen.view_id
        before = ids.index(shown) if shown in ids else (-1 if self.step > 0 else 0)
        return bpy.ops.limen.set_up_view(number=(before + self.step) % len(ids) + 1)


class LIMEN_OT_set_lighting(StudyOperator, bpy.types.Operator):
    """Light the scene with a lighting of the study, for the rendered viewport."""

    bl_idname = "limen.set_lighting"
    bl_label = "Set Lighting"
    bl_options = {"REGISTER", "UNDO"}

    name: bpy.props.StringProperty(name="Lighting")

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set the light and the exposure that shows it."""
        study, _ = scene_study(context.scene)
        names = [item.name for item in study.lightings]
        if self.name and self.name not in names:
            self.report({"ERROR"}, f"lighting '{self.name}': the study has {', '.join(names)}")
            return {"CANCELLED"}
        if self.name:
            context.scene.limen.cell.lighting = self.name
        light_cell(context.scene, study)
        return {"FINISHED"}


CLASSES = (
    LIMEN_OT_place_rig,
    LIMEN_OT_show_cell,
    LIMEN_OT_step,
    LIMEN_OT_set_up_view,
    LIMEN_OT_step_view,
    LIMEN_OT_set_lighting,
)
