"""A meadow: grass to walk through, shrubs, a line of trees, hills behind.

Short where the person stands, higher with distance, never so high that it hides the feet. Blades
are meshes as far as a camera can see single ones; beyond, ground and tussocks share their colours.
"""

import bpy
import numpy as np

from ..materials import Grain, add_haze, leaf_material, rough_material
from .land import Waves, add_ground, add_instances, add_range, highest_m, scatter
from .plants import grass_patch, shrub, tree

__all__ = ["LOWEST_LEVEL_M", "VERSION", "build"]

VERSION = 1
LOWEST_LEVEL_M = -0.25

_SEED = 20260711
_CELL_M = 1.0
_DENSE_TO_M = 28.0
_THIN_TO_M = 95.0
_VISIBILITY_M = 25_000.0
# Grass and earth of each variant: summer meadow, late and dry, after rain.
_GREENS = ((0.165, 0.235, 0.05), (0.23, 0.225, 0.075), (0.11, 0.215, 0.046))
_STRAWS = ((0.45, 0.38, 0.17), (0.50, 0.40, 0.19), (0.34, 0.34, 0.13))
_EARTHS = ((0.09, 0.098, 0.036), (0.165, 0.135, 0.067), (0.062, 0.082, 0.03))
_MEADOWS = ((0.078, 0.09, 0.027), (0.14, 0.125, 0.05), (0.06, 0.084, 0.025))  # from afar
_DRYNESS = (0.22, 0.5, 0.1)
_LEAVES = ((0.06, 0.105, 0.02), (0.15, 0.2, 0.05))
_BARK = (0.10, 0.075, 0.055)


def build(collection: bpy.types.Collection, variant: int = 1) -> None:
    """Add ground, grass, shrubs, trees and hills to a collection."""
    rng = np.random.default_rng([_SEED, variant])
    waves = _draw_waves(rng)
    green, straw, earth, meadow = (of[variant - 1] for of in (_GREENS, _STRAWS, _EARTHS, _MEADOWS))
    # Every octave is paid for in every sample: as few as look right.
    ground = rough_material(
        "Limen Meadow", earth, [Grain(9.0, 0.22, detail=1), Grain(0.12, 0.35, detail=1)]
    )
    distant = add_haze(
        rough_material(
            "Limen Meadow Far", meadow, [Grain(160.0, 0.3, detail=1), Grain(6.0, 0.28, detail=2)]
        ),
        _VISIBILITY_M,
    )
    add_ground(collection, waves, ground, distant, far_from_m=85.0)
    blades = leaf_material("Limen Grass", (green, straw), patches_m=7.0, translucency=0.42)
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
        LOWEST_LEVEL_M,
        skew=0.1,
    )


def _add_grass(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    material: bpy.types.Material,
    dryness: float,
) -> None:
    x, y = _cells(rng, _CELL_M, _DENSE_TO_M + 8)
    # Where one height gives way to the next, and dense to thin, is no circle.
    bearing = np.arctan2(y, x)
    wander = (
        0.12 * np.sin(3 * bearing + 1) + 0.08 * np.sin(7 * bearing) + rng.uniform(0, 0.35, len(x))
    )
    radius = np.hypot(x, y) / (1.2 + wander)
    # Height classes, each as high as the line of sight to the feet allows where it begins.
    for inner_m, outer_m, height_m, blades in (
        (0.0, 1.3, 0.022, 1500),
        (1.3, 2.6, 0.035, 1250),
        (2.6, 5.0, 0.075, 950),
        (5.0, 9.0, 0.13, 720),
        (9.0, _DENSE_TO_M, 0.19, 560),
    ):
        ring = np.flatnonzero((radius >= inner_m) & (radius < outer_m))
        # A patch reaches beyond its cell, and so into the ring inside.
        limit = min(height_m, max(0.02, float(highest_m(np.array(inner_m - 0.7)))))
        for kind in range(4):
            patch = grass_patch(
                f"Limen Grass {outer_m:g} {kind}",
                rng,
                blades=blades,
                radius_m=0.8,
                height_m=limit / 1.12,
                width_m=0.006 + 0.017 * limit,
                straw=dryness,
            )
            patch.materials.append(material)
            _copy(collection, rng, waves, patch, x[ring[kind::4]], y[ring[kind::4]], (0.88, 1.12))
    x, y = _cells(rng, 3.2, _THIN_TO_M)
    keep = np.hypot(x, y) > _DENSE_TO_M + rng.uniform(-3, 4, len(x))
    x, y = x[keep], y[keep]
    for kind in range(4):
        patch = grass_patch(
            f"Limen Grass far {kind}",
            rng,
            blades=2200,
            radius_m=2.7,
            height_m=0.21,
            width_m=0.016,
            straw=dryness,
        )
        patch.materials.append(material)
        _copy(collection, rng, waves, patch, x[kind::4], y[kind::4], (0.8, 1.2))
    _add_tussocks(collection, rng, waves, material)


def _add_tussocks(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    material: bpy.types.Material,
) -> None:
    """Scatter higher, drier bunches, so that the meadow is no lawn."""
    for kind in range(3):
        bunch = grass_patch(
            f"Limen Tussock {kind}",
            rng,
            blades=170,
            radius_m=0.22,
            height_m=1.0,
            width_m=0.016,
            straw=0.65,
        )
        bunch.materials.append(material)
        x, y = scatter(rng, 380, 7.0, 110.0, power=1.6)
        size = np.minimum(rng.uniform(0.3, 0.65, len(x)), highest_m(np.hypot(x, y) - 0.4))
        places = np.stack([x, y, waves.height_m(x, y)], axis=-1)
        turns = rng.uniform(0, 2 * np.pi, len(x))
        add_instances(collection, bunch.name, bunch, places, turns, size)


def _cells(
    rng: np.random.Generator, cell_m: float, outer_m: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the jittered middles of square cells within a radius."""
    half = int(np.ceil(outer_m / cell_m))
    grid = (np.arange(-half, half) + 0.5) * cell_m
    x, y = (axis.ravel() for axis in np.meshgrid(grid, grid))
    x = x + rng.uniform(-0.3, 0.3, len(x)) * cell_m
    y = y + rng.uniform(-0.3, 0.3, len(y)) * cell_m
    inside = np.hypot(x, y) < outer_m
    order = rng.permutation(int(inside.sum()))
    return x[inside][order], y[inside][order]


def _copy(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    patch: bpy.types.Mesh,
    x: np.ndarray,
    y: np.ndarray,
    sizes: tuple[float, float],
) -> None:
    places = np.stack([x, y, waves.height_m(x, y) - 0.002], axis=-1)
    turns = rng.uniform(0, 2 * np.pi, len(x))
    size = rng.uniform(*sizes, len(x))
    add_instances(collection, patch.name, patch, places, turns, size, waves.normal)


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
        add_instances(collection, mesh.name, mesh, places, rng.uniform(0, 2 * np.pi, len(x)), size)


def _add_trees(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    leaves: bpy.types.Material,
    bark: bpy.types.Material,
) -> None:
    """Add a wood's edge all around, in places nearer, and some trees that stand alone."""
    bearing = rng.uniform(0, 2 * np.pi, 1500)
    swing = 1 + 0.35 * np.sin(2 * bearing + rng.uniform(0, 6)) + 0.2 * np.sin(5 * bearing + 1.0)
    edge = 230.0 * swing
    row = np.abs(rng.normal(0, 1, len(bearing)))
    radius = edge + 26.0 * row
    lone_x, lone_y = scatter(rng, 26, 75.0, 420.0)
    wood_x, wood_y = scatter(rng, 900, 500.0, 1500.0)
    x = np.concatenate([radius * np.cos(bearing), lone_x, wood_x])
    y = np.concatenate([radius * np.sin(bearing), lone_y, wood_y])
    height = np.concatenate(
        [
            rng.uniform(5.5, 14.0, len(bearing)) + 1.5 * row,
            rng.uniform(5.0, 10.0, len(lone_x)),
            rng.uniform(12.0, 24.0, len(wood_x)),
        ]
    )
    places = np.stack([x, y, waves.height_m(x, y) - 0.2], axis=-1)
    turns = rng.uniform(0, 2 * np.pi, len(x))
    kinds = rng.permutation(len(x))
    count = 6
    for kind in range(count):
        mesh = tree(
            f"Limen Tree {kind}", rng, leaves=2600, leaf_m=0.021, slim=float(rng.uniform(0.8, 1.7))
        )
        mesh.materials.append(leaves)
        mesh.materials.append(bark)
        mine = kinds[kind::count]
        add_instances(collection, mesh.name, mesh, places[mine], turns[mine], height[mine])
