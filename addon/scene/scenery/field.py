"""A meadow: grass to walk through, shrubs, a line of trees, hills behind.

Short where the person stands, higher with distance, never so high that it hides the feet. Blades
are meshes as far as a camera can see single ones; beyond, ground and tussocks share their colours.
"""

import bpy
import numpy as np

from ..ground_tiles import Tile, grass_material, tiled_material
from ..materials import Grain, add_haze, leaf_material, rough_material
from .land import Waves, add_ground, add_instances, add_range, highest_m, scatter
from .plants import grass, grass_bunch, grass_clumps, shrub, tree

__all__ = ["LOWEST_LEVEL_M", "VERSION", "build"]

VERSION = 4
LOWEST_LEVEL_M = 0.0  # within reach of a shadow

_SEED = 20260711
_KINDS = 3  # few: a processor's cache holds them
# From and to, edge of a square, and (from, height, blades on a square metre, width).
_GRASS = (
    (
        (0.0, 10.0),
        1.0,
        (
            (0.0, 0.02, 500, 0.009),
            (1.3, 0.035, 420, 0.0095),
            (2.6, 0.07, 330, 0.011),
            (5.0, 0.12, 230, 0.013),
        ),
    ),
    ((10.0, 32.0), 2.0, ((9.0, 0.19, 130, 0.019),)),
    ((32.0, 96.0), 8.0, ((32.0, 0.21, 25, 0.045),)),
)
_VISIBILITY_M = 25_000.0
# Grass and earth of each variant: summer meadow, late and dry, after rain. Earth is of the grass's
# mean colour: what blades do not hide lies in their shade.
_GREENS = ((0.096, 0.114, 0.037), (0.138, 0.13, 0.05), (0.064, 0.088, 0.028))
_STRAWS = ((0.165, 0.16, 0.07), (0.25, 0.2, 0.1), (0.11, 0.122, 0.05))
_EARTHS = ((0.093, 0.101, 0.036), (0.155, 0.133, 0.06), (0.064, 0.08, 0.027))
_MEADOWS = ((0.095, 0.107, 0.036), (0.15, 0.133, 0.056), (0.064, 0.086, 0.027))  # from afar
_DRYNESS = (0.22, 0.5, 0.1)
_LEAVES = ((0.06, 0.105, 0.02), (0.15, 0.2, 0.05))
_BARK = (0.10, 0.075, 0.055)
# Patches to the horizon, of the grass too; litter near the cameras; tufts where blades have ended.
_BROAD = Tile(
    523.0, (Grain(125.0, 0.26), Grain(48.0, 0.2), Grain(17.0, 0.16), Grain(6.5, 0.14)), 512, _SEED
)
_FINE = Tile(3.1, (Grain(0.4, 0.12), Grain(0.12, 0.2), Grain(0.03, 0.3)), 512, _SEED + 1)
_SWARD = Tile(41.0, (Grain(4.1, 0.2), Grain(1.3, 0.25), Grain(0.45, 0.2)), 512, _SEED + 2)


def build(collection: bpy.types.Collection, variant: int = 1) -> None:
    """Add ground, grass, shrubs, trees and hills to a collection."""
    rng = np.random.default_rng([_SEED, variant])
    waves = _draw_waves(rng)
    green, straw, earth, meadow = (of[variant - 1] for of in (_GREENS, _STRAWS, _EARTHS, _MEADOWS))
    ground = tiled_material("Limen Meadow", earth, [_BROAD, _FINE])
    distant = add_haze(tiled_material("Limen Meadow Far", meadow, [_BROAD, _SWARD]), _VISIBILITY_M)
    add_ground(collection, waves, ground, ground, distant, far_from_m=85.0)
    blades = grass_material("Limen Grass", (green, straw), _BROAD)
    _add_grass(collection, rng, waves, blades, _DRYNESS[variant - 1])
    leaves = leaf_material("Limen Leaves", _LEAVES, translucency=0.25)
    _add_shrubs(collection, rng, waves, leaves)
    crowns = add_haze(leaf_material("Limen Crowns", _LEAVES, translucency=0.25), _VISIBILITY_M)
    bark = add_haze(rough_material("Limen Bark", _BARK), _VISIBILITY_M)
    add_range(collection, rng, distant, 1900.0, 75.0)
    _add_trees(collection, rng, waves, crowns, bark)


def _draw_waves(rng: np.random.Generator) -> Waves:
    wavelengths = np.array([11.0, 17.0, 29.0, 53.0, 95.0, 170.0, 330.0, 610.0, 1100.0])
    amplitudes = np.array([0.03, 0.05, 0.09, 0.16, 0.35, 0.9, 3.5, 11.0, 24.0])
    count = len(wavelengths)
    return Waves(
        wavelengths,
        amplitudes,
        rng.uniform(0, 2 * np.pi, count),
        rng.uniform(0, 2 * np.pi, count),
        skew=0.1,
    )


def _add_grass(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    material: bpy.types.Material,
    dryness: float,
) -> None:
    """Cover the near ground with squares of grass that meet at their edges.

    Copies of a mesh that overlap are searched one after the other: squares are large, lie flat
    and side by side.
    """
    for (inner_m, outer_m), edge_m, classes in _GRASS:
        x, y = _squares(edge_m, inner_m, outer_m)
        # Where one height gives way to the next is no circle.
        bearing = np.arctan2(y, x)
        wander = 0.12 * np.sin(3 * bearing + 1) + 0.08 * np.sin(7 * bearing)
        radius = np.hypot(x, y) / (1.2 + wander + rng.uniform(0, 0.35, len(x)))
        starts = [start for start, *_ in classes]
        mine = np.searchsorted(starts, radius, side="right") - 1
        for k, (start_m, height_m, density, width_m) in enumerate(classes):
            limit = min(height_m, max(0.02, float(highest_m(np.array(start_m - 0.7)))))
            here = rng.permutation(np.flatnonzero(np.maximum(mine, 0) == k))
            for kind in range(_KINDS):
                blades = grass_clumps(
                    rng,
                    edge_m=edge_m,
                    blades=int(density * edge_m**2),
                    height_m=limit * (0.8 + 0.2 * (kind + 1) / _KINDS),
                )
                name = f"Limen Grass {edge_m:g} {start_m:g} {kind}"
                square = grass(name, rng, blades, width_m, dryness, simple=inner_m > 30)
                square.materials.append(material)
                some = here[kind::_KINDS]
                places = np.stack(
                    [x[some], y[some], waves.height_m(x[some], y[some]) - 0.002], axis=-1
                )
                turns = np.pi / 2 * rng.integers(0, 4, len(some))
                add_instances(
                    collection,
                    name,
                    square,
                    places,
                    turns,
                    np.ones(len(some)),
                    waves.normal,
                    stops_light=False,
                )
    _add_tussocks(collection, rng, waves, material)


def _add_tussocks(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    material: bpy.types.Material,
) -> None:
    """Scatter higher, drier bunches, so that the meadow is no lawn."""
    for kind in range(3):
        blades = grass_bunch(rng, blades=110, radius_m=0.2, height_m=1.0)
        bunch = grass(f"Limen Tussock {kind}", rng, blades, 0.016, 0.65)
        bunch.materials.append(material)
        x, y = scatter(rng, 230, 7.0, 110.0, power=1.6)
        size = np.minimum(rng.uniform(0.3, 0.65, len(x)), highest_m(np.hypot(x, y) - 0.4))
        places = np.stack([x, y, waves.height_m(x, y)], axis=-1)
        turns = rng.uniform(0, 2 * np.pi, len(x))
        add_instances(collection, bunch.name, bunch, places, turns, size, stops_light=False)


def _squares(edge_m: float, inner_m: float, outer_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles of the squares of a grid from one radius, made square, to another.

    Radii are rounded so that the squares of two sizes leave no gap and do not overlap.
    """
    half = int(np.ceil(outer_m / edge_m))
    grid = (np.arange(-half, half) + 0.5) * edge_m
    x, y = (axis.ravel() for axis in np.meshgrid(grid, grid))
    outside = np.maximum(np.abs(x), np.abs(y)) > inner_m
    inside = np.maximum(np.abs(x), np.abs(y)) < outer_m
    return x[outside & inside], y[outside & inside]


def _add_shrubs(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    material: bpy.types.Material,
) -> None:
    for kind in range(4):
        mesh = shrub(f"Limen Shrub {kind}", rng, leaves=2600, leaf_m=0.035)
        mesh.materials.append(material)
        x, y = scatter(rng, 22, 31.0, 150.0, power=1.7)
        size = rng.uniform(0.9, 2.6, len(x))
        places = np.stack([x, y, waves.height_m(x, y) - 0.05], axis=-1)
        turns = rng.uniform(0, 2 * np.pi, len(x))
        add_instances(collection, mesh.name, mesh, places, turns, size)


def _add_trees(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    leaves: bpy.types.Material,
    bark: bpy.types.Material,
) -> None:
    """Add a wood's edge all around, in places nearer, and some trees that stand alone."""
    bearing = rng.uniform(0, 2 * np.pi, 420)
    swing = 1 + 0.35 * np.sin(2 * bearing + rng.uniform(0, 6)) + 0.2 * np.sin(5 * bearing + 1.0)
    edge = 230.0 * swing
    row = np.abs(rng.normal(0, 1, len(bearing)))
    radius = edge + 16.0 * row
    lone_x, lone_y = scatter(rng, 26, 75.0, 420.0)
    wood_x, wood_y = scatter(rng, 110, 500.0, 1500.0)
    x = np.concatenate([radius * np.cos(bearing), lone_x, wood_x])
    y = np.concatenate([radius * np.sin(bearing), lone_y, wood_y])
    height = np.concatenate(
        [
            rng.uniform(7.0, 14.0, len(bearing)) + 1.5 * row,
            rng.uniform(5.0, 10.0, len(lone_x)),
            rng.uniform(12.0, 24.0, len(wood_x)),
        ]
    )
    places = np.stack([x, y, waves.height_m(x, y) - 0.2], axis=-1)
    turns = rng.uniform(0, 2 * np.pi, len(x))
    kinds = rng.permutation(len(x))
    count = 3
    for kind in range(count):
        slim = float(rng.uniform(0.8, 1.4))
        crown, inside = tree(f"Limen Tree {kind}", rng, leaves=1300, leaf_m=0.027, slim=slim)
        mine = kinds[kind::count]
        for mesh, stops_light in ((crown, False), (inside, True)):
            mesh.materials.append(leaves)
            mesh.materials.append(bark)
            standing = (places[mine], turns[mine], height[mine])
            add_instances(collection, mesh.name, mesh, *standing, stops_light=stops_light)
