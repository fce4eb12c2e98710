"""Where the light comes from: the sky that the camera sees, and the side that shadows fall to."""

import bpy
import numpy as np
import pytest
from limen.addon.core.image_io import read_channels
from limen.addon.core.lighting import layer_weights, load_lightings
from limen.addon.core.optics import Camera, look_at_pose
from limen.addon.core.relight import pixel_directions
from limen.addon.core.sky import sky_luminance
from limen.addon.scene import lighting, render, stage
from limen.addon.scene.materials import diffuse_white
from limen.addon.scene.mesh import add_object, make_mesh

pytestmark = pytest.mark.render

PRESETS = load_lightings()
TO_THE = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
POST_M = 1.0
POST_HALF_WIDTH_M = 0.15
PX_PER_M = 8
POST_HIDDEN_PX = 2  # to each side


# --- the sky -------------------------------------------------------------------------------------


@pytest.fixture
def seen_sky(bare, tmp_path):
    """Render the sky itself, which Limen's own renders leave out; returns (h, w, 3)."""

    def shoot() -> np.ndarray:
        bare.cycles.samples = 1
        bare.cycles.use_denoising = False
        bare.cycles.pixel_filter_type, bare.cycles.filter_width = "BOX", 0.01
        bare.render.film_transparent = False
        bare.render.use_border = False
        bare.render.filepath = str(tmp_path / "sky.exr")
        bpy.ops.render.render(write_still=True, scene=bare.name)
        channels = read_channels(tmp_path / "sky.exr")
        return np.stack(
            [
                next(pixels for name, pixels in channels.items() if name.endswith(f"Combined.{c}"))
                for c in "RGB"
            ],
            axis=-1,
        )

    return shoot


@pytest.mark.parametrize("name", PRESETS)
def test_the_sky_that_blender_shows_is_the_sky_that_is_composed(seen_sky, name):
    # Four wide views, horizon to zenith all around.
    camera = Camera(36.0, 20.25, 12.0, 1.4, 32, 18)
    lighting.light_whole(PRESETS[name])
    weights = {k: w / PRESETS[name].illuminance_lx for k, w in layer_weights(PRESETS[name]).items()}
    for azimuth_deg in (0, 90, 180, 270):
        pose = look_at_pose(azimuth_deg, -25, 10, 0.9)
        stage.set_camera(camera, pose)
        directions = pixel_directions(camera.K, pose.R, 32, 18)
        above = directions[..., 2] > 0.01
        expected = sky_luminance(weights, directions)[above]
        np.testing.assert_allclose(seen_sky()[above], expected, rtol=0.01, atol=1e-4)


# --- shadows -------------------------------------------------------------------------------------


@pytest.fixture
def map_of_light(bare):
    """A post on white ground, seen from above; returns a function that gives (y, x) of the light.

    Row 0 is in the north, column 0 in the west; 10 m x 10 m.
    """
    square = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    face = np.array([[0, 1, 2, 3]])
    above = np.array([0, 0, 1])
    cube = np.vstack([square, square + above]) * [POST_HALF_WIDTH_M, POST_HALF_WIDTH_M, POST_M]
    sides = np.array([[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7], [4, 5, 6, 7]])
    for name, vertices, faces in (("Ground", square * 20, face), ("Post", cube, sides)):
        mesh = make_mesh(name, vertices, faces, smooth=False)
        mesh.materials.append(diffuse_white(name))
        add_object(name, mesh, bare.collection)
    looking_down = bpy.data.cameras.new("Above")
    looking_down.type, looking_down.ortho_scale = "ORTHO", 10
    camera = bpy.data.objects.new("Above", looking_down)
    camera.location = (0, 0, 20)
    bare.collection.objects.link(camera)
    bare.camera = camera
    bare.render.resolution_x = bare.render.resolution_y = 80

    def shoot() -> np.ndarray:
        return render.render_passes(bare, render.Shot(32))["Combined.G"]

    return shoot


def missing_light(light: np.ndarray) -> np.ndarray:
    """How much darker than open ground each pixel is, without noise and without the post."""
    open_ground = np.median(light)
    missing = np.clip(open_ground - light, 0, None) / open_ground
    missing[missing < 0.1] = 0
    hidden = slice(40 - POST_HIDDEN_PX, 40 + POST_HIDDEN_PX)
    missing[hidden, hidden] = 0
    return missing


def mean_place(missing: np.ndarray) -> np.ndarray:
    """The middle of what is dark, in metres east and north of the post."""
    y, x = np.indices(missing.shape)
    east, north = (x - 39.5) / PX_PER_M, (39.5 - y) / PX_PER_M
    return np.array([(east * missing).sum(), (north * missing).sum()]) / missing.sum()


@pytest.mark.parametrize("side", TO_THE)
@pytest.mark.parametrize(("time", "elevation_deg"), [("morning", 15), ("noon", 60)])
def test_the_sun_throws_the_shadow_to_the_side_opposite_to_its_name(
    map_of_light, side, time, elevation_deg
):
    lighting.light_whole(PRESETS[f"{time}_{side}"])
    missing = missing_light(map_of_light())
    start_m = POST_HIDDEN_PX / PX_PER_M
    end_m = POST_M / np.tan(np.radians(elevation_deg)) + POST_HALF_WIDTH_M
    middle = -np.array(TO_THE[side]) * (start_m + end_m) / 2
    np.testing.assert_allclose(mean_place(missing), middle, atol=0.1)


@pytest.mark.parametrize("side", TO_THE)
def test_the_evening_glow_leaves_the_far_side_of_the_post_darker(map_of_light, side):
    lighting.light_whole(PRESETS[f"evening_{side}"])
    light = map_of_light()
    east, north = np.array(TO_THE[side]) * 4  # half a metre from the post's middle
    towards = light[40 - north - 2 : 40 - north + 2, 40 + east - 2 : 40 + east + 2].mean()
    away = light[40 + north - 2 : 40 + north + 2, 40 - east - 2 : 40 - east + 2].mean()
    assert away < 0.95 * towards
