"""Pictures of noise that cover the ground."""

import bpy
import numpy as np
import pytest
from limen.addon.core.lighting import horizontal_irradiance, parse_layer
from limen.addon.scene import lighting, render
from limen.addon.scene.ground_tiles import Tile, bake_tile, grass_material, tiled_material
from limen.addon.scene.materials import Grain
from limen.addon.scene.mesh import add_object, make_mesh

pytestmark = pytest.mark.render

# 32 pixels a wave: differences of neighbours are near the derivative.
TILE = Tile(4.0, (Grain(0.5, 0.2, bump_m=0.02, detail=0),), pixels=256, seed=7)


def test_a_tile_is_the_same_each_time_and_another_for_another_seed():
    assert bake_tile(TILE).tobytes() == bake_tile(TILE).tobytes()
    other = Tile(TILE.edge_m, TILE.grains, TILE.pixels, seed=8)
    assert not np.allclose(bake_tile(TILE), bake_tile(other))


def test_a_tile_shows_no_seam_where_it_repeats():
    shade = bake_tile(TILE)[..., 2]
    for axis in (0, 1):
        step = np.abs(np.diff(shade, axis=axis, append=np.take(shade, [0], axis=axis)))
        steps = step.mean(axis=1 - axis)  # of each pair of lines, the last of which is the seam
        assert steps[-1] < 1.2 * steps[:-1].max()
        assert steps.max() < 0.3 * shade.std()  # unrelated lines: 1.1


def test_a_tile_leaves_the_mean_reflectance_and_the_mean_level_as_they_are():
    picture = bake_tile(TILE)
    assert picture[..., 2].mean() == pytest.approx(1.0, abs=1e-5)
    assert np.abs(picture[..., :2].mean(axis=(0, 1))).max() < 1e-6


def test_a_tile_begins_where_it_is_neither_dark_nor_light():
    off = np.abs(bake_tile(TILE)[..., 2] - 1)
    reach = TILE.pixels // 20
    start = np.roll(off, (reach, reach), axis=(0, 1))[: 2 * reach, : 2 * reach]
    assert start.mean() < 0.7 * off.mean()


def test_relief_rises_where_the_ground_is_lighter_and_falls_as_steeply_as_it_is_high():
    picture = bake_tile(TILE).astype(float)
    grain = TILE.grains[0]
    height_m = 0.5 * grain.bump_m * (picture[..., 2] - 1) / grain.contrast
    pixel_m = TILE.edge_m / TILE.pixels
    for k, axis in enumerate((1, 0)):
        fall = -(np.roll(height_m, -1, axis) - np.roll(height_m, 1, axis)) / (2 * pixel_m)
        assert np.corrcoef(fall.ravel(), picture[..., k].ravel())[0, 1] > 0.97
        assert np.polyfit(fall.ravel(), picture[..., k].ravel(), 1)[0] == pytest.approx(1, abs=0.12)


def test_materials_of_one_tile_share_its_packed_picture(blender):
    first, second = (tiled_material(name, (0.3, 0.3, 0.3), [TILE]) for name in ("A", "B"))
    images = {
        node.image
        for material in (first, second)
        for node in material.node_tree.nodes
        if node.type == "TEX_IMAGE"
    }
    assert len(images) == 1
    assert images.pop().packed_file is not None


def test_a_packed_picture_holds_the_tile_to_a_byte(blender):
    material = tiled_material("C", (0.3, 0.3, 0.3), [TILE])
    image = next(node.image for node in material.node_tree.nodes if node.type == "TEX_IMAGE")
    stored = np.empty(4 * TILE.pixels**2, np.float32)
    image.pixels.foreach_get(stored)
    stored = stored.reshape(TILE.pixels, TILE.pixels, 4)
    expected = bake_tile(TILE)
    slope, shade = image["limen_slope"], image["limen_shade"]
    step = 0.51 / 255
    np.testing.assert_allclose(
        (2 * stored[..., :2] - 1) * slope, expected[..., :2], atol=2 * slope * step
    )
    np.testing.assert_allclose(stored[..., 3] * shade, expected[..., 2], atol=shade * step)
    bpy.data.materials.remove(material)


@pytest.mark.parametrize("level", [True, False])
def test_ground_reflects_its_colour_on_the_mean_and_relief_takes_none_of_it(bare, level):
    """Seen from above under an even sky, ground shows its reflectance: E / pi times it."""
    bumpy = Tile(0.25, (Grain(0.05, 0.2, bump_m=0.002, detail=0),), pixels=128, seed=3)
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    mesh = make_mesh("Ground", corners, np.array([[0, 1, 2, 3]]), smooth=False)
    colour = (0.4, 0.3, 0.2)
    mesh.materials.append(tiled_material("D", colour, [bumpy], level=level))
    add_object("Ground", mesh, bare.collection)
    camera = bpy.data.objects.new("Above", bpy.data.cameras.new("Above"))
    camera.data.type, camera.data.ortho_scale = "ORTHO", 1.5
    camera.location = (0, 0, 2)
    bare.collection.objects.link(camera)
    bare.camera = camera
    bare.render.resolution_x = bare.render.resolution_y = 48
    layer = parse_layer("dome-uniform")
    lighting.light_layer(layer)
    passes = render.render_passes(bare, render.Shot(32))
    seen = [passes[f"Combined.{channel}"].mean() for channel in "RGB"]
    expected = np.array(colour) * horizontal_irradiance(layer) / np.pi
    np.testing.assert_allclose(seen, expected, rtol=0.02)


@pytest.mark.parametrize("sun", ["sun-90-60", "sun-180-15", "sun-270-30", "dome-uniform"])
def test_grass_is_as_bright_as_level_ground_however_its_blades_lean(bare, sun):
    rng = np.random.default_rng(4)
    count = 400
    foot = np.column_stack([rng.uniform(-1, 1, (count, 2)), np.zeros(count)])
    turn, lean = rng.uniform(0, 2 * np.pi, (2, count))
    side = 0.1 * np.column_stack([np.cos(turn), np.sin(turn), np.zeros(count)])
    tip = 0.25 * np.column_stack([0.3 * np.cos(lean), 0.3 * np.sin(lean), np.ones(count)])
    blades = np.stack([foot - side, foot + side, foot + tip], axis=1).reshape(-1, 3)
    mesh = make_mesh("Blades", blades, np.arange(3 * count).reshape(-1, 3), smooth=False)
    even = Tile(0.5, (Grain(0.1, 0.0),), pixels=64)
    colour = (0.2, 0.3, 0.1)
    mesh.materials.append(grass_material("Grass", (colour, colour), even))
    item = add_object("Blades", mesh, bare.collection)
    item.visible_shadow = item.visible_diffuse = item.visible_transmission = False
    camera = bpy.data.objects.new("Aside", bpy.data.cameras.new("Aside"))
    camera.data.type, camera.data.ortho_scale = "ORTHO", 1.5
    camera.location, camera.rotation_euler = (0, -3, 1.5), (np.radians(65), 0, 0)
    bare.collection.objects.link(camera)
    bare.camera = camera
    bare.render.resolution_x = bare.render.resolution_y = 64
    layer = parse_layer(sun)
    lighting.light_layer(layer)
    passes = render.render_passes(bare, render.Shot(16))
    covered = passes["Combined.A"] > 0.999
    expected = np.array(colour) * horizontal_irradiance(layer) / np.pi
    seen = np.array([passes[f"Combined.{c}"][covered] for c in "RGB"]) / expected[:, None]
    assert covered.mean() > 0.3
    assert 0.65 < seen.mean() < 1.25
    assert seen.min() > 0.4, "a blade is dark"
