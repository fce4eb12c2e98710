"""The camera of a view: intrinsics from the optics, placed around the subject, and measured."""

import bpy
import numpy as np
from mathutils import Matrix

from ..core.optics import Camera, CameraPose, density_at
from . import render
from .materials import emission_white
from .mesh import add_object, make_mesh
from .subject import subject_hidden

__all__ = [
    "CAMERA",
    "add_camera",
    "aim_camera",
    "camera_pose",
    "is_moved",
    "measure_density",
    "set_optics",
]

CAMERA = "Limen Camera"
_CLIP_M = (0.05, 6000.0)
_SENSOR_MM = 36.0
_RULER_SHARE = 0.8  # of the picture's width, where 1 m does not fit
_RULER_SAMPLES = 64
_PLACED = "limen_placed"  # the matrix that the camera was given, by which a dragged one is told
_MOVED_M = 1e-3
_FLIP = np.diag([1.0, -1.0, -1.0])  # Blender's cameras: y up, look along -z
_TURNED = 1e-3  # an element of the rotation: 0.06 degrees


def add_camera(scene: bpy.types.Scene) -> bpy.types.Object:
    """Give a scene Limen's camera and make it the active one."""
    camera = bpy.data.objects.new(CAMERA, bpy.data.cameras.new(CAMERA))
    scene.collection.objects.link(camera)
    scene.camera = camera
    return camera


def aim_camera(scene: bpy.types.Scene, camera: Camera, pose: CameraPose) -> None:
    """Set the scene's camera and picture size.

    Args:
        scene: Its active camera is set.
        camera: The optics. A window is a centre crop, so it keeps the pixels per metre.
        pose: Where it stands (OpenCV axes).
    """
    set_optics(scene, camera)
    rotation = np.eye(4)
    rotation[:3, :3] = pose.R.T @ _FLIP
    rotation[:3, 3] = pose.position_m
    scene.camera.matrix_world = Matrix(rotation.tolist())
    scene.camera[_PLACED] = rotation.ravel().tolist()


def set_optics(scene: bpy.types.Scene, camera: Camera) -> None:
    """Give the scene's camera its optics and the scene its picture size; the camera stays."""
    width, height = camera.image_px
    data = scene.camera.data
    data.type = "PERSP"
    data.sensor_fit = "HORIZONTAL"  # AUTO would change the focal length in pixels with the window
    # Blender's sensors are 1 mm wide at least and a small window's part is less: scale both alike.
    enlarged = _SENSOR_MM * camera.width_px / (camera.sensor_width_mm * width)
    data.sensor_width = _SENSOR_MM
    data.lens = camera.lens_mm * enlarged
    data.shift_x = data.shift_y = 0.0
    data.clip_start, data.clip_end = _CLIP_M
    data.dof.use_dof = False
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.pixel_aspect_x = scene.render.pixel_aspect_y = 1.0


def camera_pose(item: bpy.types.Object) -> CameraPose:
    """Return where a camera object stands and looks now (OpenCV axes); its scale does not count."""
    matrix = item.matrix_world
    rotation = _FLIP @ np.array(matrix.to_quaternion().to_matrix()).T
    position = np.array(matrix.translation)
    return CameraPose(rotation, -rotation @ position, position)


def is_moved(item: bpy.types.Object) -> bool:
    """Return whether a camera is elsewhere than :func:`aim_camera` has put it, as when dragged."""
    placed = item.get(_PLACED)
    if placed is None:
        return False
    now = [value for row in item.matrix_world for value in row]
    return any(
        abs(value - before) > (_MOVED_M if i % 4 == 3 else _TURNED)
        for i, (value, before) in enumerate(zip(now, placed, strict=True))
    )


def measure_density(
    scene: bpy.types.Scene, camera: Camera, pose: CameraPose, distance_m: float
) -> float:
    """Return the pixels per metre of a rendered ruler at the look-at point.

    The ruler lies across the optical axis; its length in pixels is the sum of its anti-aliased
    coverage along a row. Where 1 m does not fit into the picture a shorter ruler is used.

    Args:
        scene: A scene without scenery, with the camera aimed.
        camera: The optics.
        pose: Where the camera stands.
        distance_m: Camera to look-at point.
    """
    width, height = camera.image_px
    density = density_at(camera, distance_m)
    length_m = min(1.0, _RULER_SHARE * width / density)
    thickness_m = 5 / density  # five rows: the middle one is covered whatever the rounding
    right, down, forward = pose.R
    centre = np.asarray(pose.position_m) + distance_m * forward
    corners = [
        centre + sx * length_m / 2 * right + sy * thickness_m / 2 * down
        for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    mesh = make_mesh("Limen Ruler", np.array(corners), np.array([[0, 1, 2, 3]]))
    material = emission_white("Limen Ruler")
    mesh.materials.append(material)
    ruler = add_object("Limen Ruler", mesh, scene.collection)
    try:
        shot = render.Shot(_RULER_SAMPLES, box=(0, height // 2 - 1, width, 3))
        with subject_hidden():
            coverage = render.render_passes(scene, shot)["Combined.A"]
    finally:
        bpy.data.objects.remove(ruler)
        bpy.data.meshes.remove(mesh)
        bpy.data.materials.remove(material)
    return float(coverage[1].sum()) / length_m
