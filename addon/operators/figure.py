"""What one person looks like on a plain floor under a noon sun, without a study or a scenery."""

import numpy as np
from numpy.typing import NDArray

from ..core import photometry
from ..core.assets import find_body
from ..core.lighting import load_lightings
from ..core.optics import Camera, look_at_pose
from ..core.poses import Pose
from ..core.study import Subject
from ..core.textures import Texture
from ..scene import camera_rig, compat, lighting, render, stage
from ..scene.denoise import denoised_picture
from ..scene.materials import rough_material
from ..scene.mesh import add_object, make_mesh
from ..scene.subject import place_subject

__all__ = ["figure_picture"]

_FLOOR = "Limen Sheet Floor"
_FLOOR_M = 60.0
_GREY = (0.30, 0.28, 0.26)
_DISTANCE_M = 12.0
_HEIGHT_M = 2.3  # of what the picture shows
_LOOK_AT_M = 0.95
_ELEVATION_DEG = 5.0
_FILLED_MARGIN, _FILLED_ELEVATION_DEG = 1.08, 15.0  # floor and no horizon
_FNUMBER, _ISO = 1.4, 250.0


def figure_picture(
    subject: Subject,
    pose: Pose,
    yaw_deg: float,
    height_px: int,
    samples: int = 8,
    fill: bool = False,
) -> NDArray[np.uint8]:
    """Return a square picture (H, H, 3), sRGB, of a person in the first of its textures.

    Args:
        subject: Who, with its first texture.
        pose: What it does.
        yaw_deg: Turned counter-clockwise seen from above; 0 faces the camera.
        height_px: Of the picture.
        samples: A pixel.
        fill: The person fills the picture; else every picture shows the same height in metres.

    Raises:
        AssetError: The body has not been built.
        RenderError: Blender failed.
    """
    stage.setup_stage()
    scene = stage.bare_scene()
    if _FLOOR not in scene.objects:
        corners = [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]
        mesh = make_mesh(_FLOOR, np.array(corners) * _FLOOR_M, np.array([[0, 1, 2, 3]]))
        mesh.materials.append(rough_material(_FLOOR, _GREY))
        add_object(_FLOOR, mesh, scene.collection)
    body_file, texture = find_body(subject, None), Texture(subject.textures[0])
    betas = subject.betas if isinstance(subject.betas, tuple) else ()
    person = place_subject((scene,), body_file, betas, pose.axis_angle_rad, yaw_deg, texture)
    shown_m, look_at_m, elevation_deg = _HEIGHT_M, _LOOK_AT_M, _ELEVATION_DEG
    if fill:
        elevation_deg = _FILLED_ELEVATION_DEG
        low, high = person.vertices_m.min(axis=0), person.vertices_m.max(axis=0)
        shown_m = _FILLED_MARGIN * float(max(high[0] - low[0], high[2] - low[2]))
        look_at_m = float(low[2] + high[2]) / 2
    lens_mm = 5.0 * _DISTANCE_M / shown_m
    camera = Camera(5.0, 5.0, lens_mm, _FNUMBER, height_px, height_px, None)
    camera_rig.aim_camera(scene, camera, look_at_pose(0.0, elevation_deg, _DISTANCE_M, look_at_m))
    noon = load_lightings()["noon_south"]
    lighting.light_whole(noon)
    guided = compat.has_denoiser()
    passes = render.render_passes(scene, render.Shot(samples, 1, guides=guided))
    image = denoised_picture(passes) if guided else render.stacked(passes, "Combined", "RGB")
    image *= noon.illuminance_lx
    exposure_s = photometry.meter(photometry.luminance(image), _FNUMBER, _ISO, shutter_limit_s=0.04)
    return photometry.to_srgb8(photometry.expose(image, exposure_s, _FNUMBER, _ISO))
