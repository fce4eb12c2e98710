"""Pictures of noise that cover the ground."""

import bpy
import numpy as np
import pytest
from limen.addon.scene.ground_tiles import Tile, bake_tile, tiled_material
from limen.addon.scene.materials import Grain

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


def test_two_tiles_with_relief_are_an_error(blender):
    before = set(bpy.data.materials)
    with pytest.raises(ValueError, match="two tiles have relief"):
        tiled_material("C", (0.3, 0.3, 0.3), [TILE, TILE])
    for material in set(bpy.data.materials) - before:
        bpy.data.materials.remove(material)
