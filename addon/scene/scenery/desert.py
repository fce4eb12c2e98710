"""A gravel desert: level stony ground, dunes, boulders in groups, scrub, a mountain range."""

import bpy
import numpy as np
from numpy.typing import NDArray

from ..ground_tiles import Tile, tiled_material
from ..materials import Grain, add_haze, leaf_material, rough_material
from ..mesh import icosphere, make_mesh
from .land import (
    CLEAR_RADIUS_M,
    Part,
    Waves,
    add_ground,
    add_instances,
    add_range,
    highest_m,
    merge,
    object_from,
    scatter,
)
from .plants import add_shade, shrub

__all__ = ["LOWEST_LEVEL_M", "VERSION", "build"]

VERSION = 5
LOWEST_LEVEL_M = 0.0  # within reach of a shadow

_SEED = 20260529  # the place is the same in every study
# Sand and rock of each variant: ochre, red, grey.
_SANDS = ((0.44, 0.31, 0.185), (0.42, 0.235, 0.13), (0.38, 0.335, 0.27))
_ROCKS = ((0.25, 0.185, 0.135), (0.27, 0.145, 0.095), (0.19, 0.18, 0.17))
_SMALL_STONE_M = 0.04
_SCRUB = ((0.16, 0.14, 0.075), (0.30, 0.25, 0.15))
# Patches of sand, to the horizon; ripples and grit near the cameras.
_BROAD = Tile(163.0, (Grain(36.0, 0.2), Grain(11.0, 0.14), Grain(3.7, 0.14)), 256, _SEED)
_FINE = Tile(
    4.3,
    (
        Grain(0.2, 0.14, bump_m=0.014, stretch=(3.0, 1.0, 1.0)),
        Grain(0.45, 0.08),
        Grain(0.035, 0.2, bump_m=0.0015),
    ),
    512,
    _SEED + 1,
)


def build(collection: bpy.types.Collection, variant: int = 1) -> None:
    """Add the ground, stones, boulders, scrub and mountains to a collection."""
    rng = np.random.default_rng([_SEED, variant])
    sand, stone = _SANDS[variant - 1], _ROCKS[variant - 1]
    waves = _draw_waves(rng)
    near = tiled_material("Limen Sand", sand, [_BROAD, _FINE], level=True)
    middle = tiled_material("Limen Sand Middle", sand, [_BROAD, _FINE])
    far = add_haze(tiled_material("Limen Sand Far", sand, [_BROAD]), 22_000.0)
    add_ground(collection, waves, near, middle, far, far_from_m=120.0)
    rock = leaf_material("Limen Rock", _light_and_dark(stone), translucency=0.0)
    _add_pebbles(collection, rng, waves, rock)
    _add_boulders(collection, rng, waves, rock)
    _add_scrub(collection, rng, waves)
    mountain = add_haze(
        rough_material("Limen Mountains", stone, [Grain(60.0, 0.3, detail=3)]), 22_000.0
    )
    for distance_m, height_m in ((1500.0, 95.0), (2150.0, 210.0)):
        add_range(collection, rng, mountain, distance_m, height_m, rugged=1.0)


def _draw_waves(rng: np.random.Generator) -> Waves:
    wavelengths = np.array([9.0, 14.0, 23.0, 41.0, 70.0, 120.0, 190.0, 310.0, 520.0, 800.0])
    amplitudes = np.array([0.02, 0.035, 0.07, 0.14, 0.7, 1.8, 4.5, 9.0, 14.0, 16.0])
    count = len(wavelengths)
    bearings = 0.6 + rng.normal(0, 0.5, count)  # the wind has one main direction
    phases = rng.uniform(0, 2 * np.pi, count)
    return Waves(wavelengths, amplitudes, bearings, phases, skew=0.45)


def _light_and_dark(colour: tuple[float, float, float]) -> tuple[list[float], list[float]]:
    return [0.62 * c for c in colour], [1.45 * c for c in colour]


def _rock_shape(rng: np.random.Generator, subdivisions: int) -> Part:
    """Return an angular boulder about 1 m across: a sphere cut by planes, then weathered."""
    vertices, faces = icosphere(subdivisions)
    normals = rng.normal(size=(int(rng.integers(9, 22)), 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = rng.uniform(0.45, 0.95, len(normals))
    reach = vertices @ normals.T
    limit = np.where(reach > 1e-3, offsets / np.maximum(reach, 1e-3), np.inf).min(axis=1)
    shape = vertices * np.minimum(limit, 1.0)[:, None]
    for octave in range(1, 5):
        wave = np.sin(vertices @ rng.normal(0, 2.5 * octave, 3) + rng.uniform(0, 2 * np.pi))
        shape += vertices * (0.04 / octave * wave)[:, None]
    return 0.5 * shape * rng.uniform([1.0, 0.6, 0.45], [1.4, 1.1, 1.0]), faces


def _weathered(rng: np.random.Generator, vertices: NDArray) -> NDArray[np.float64]:
    """Return shades of a rock's points: veins and stains of several sizes, dust on top."""
    shade = 0.38 + 0.25 * np.clip(vertices[:, 2] / 0.5, -1, 1)
    for octave in range(5):
        wave = vertices @ rng.normal(0, 3.0 * 1.9**octave, (3, 2)) + rng.uniform(0, 6.3, 2)
        shade += 0.2 / 1.35**octave * np.sin(wave[:, 0] + 1.5 * np.sin(wave[:, 1]))
    return np.clip(shade + rng.normal(0, 0.08, len(shade)), 0, 1)


def _add_pebbles(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    material: bpy.types.Material,
) -> None:
    """Scatter stones of a few centimetres over the near ground, as one mesh."""
    count = 3500
    x, y = scatter(rng, count, 0.7, CLEAR_RADIUS_M)
    size = np.clip(rng.lognormal(np.log(0.02), 0.7, count), 0.008, 0.16)
    size = np.minimum(size, 0.012 + highest_m(np.hypot(x, y), 0.4))
    # Few faces: what a render costs grows with the memory that its rays go through.
    small, large = ([_rock_shape(rng, subdivisions) for _ in range(8)] for subdivisions in (0, 1))
    stones = []
    ground_m = waves.height_m(x, y)
    turns = rng.uniform(0, 2 * np.pi, count)
    for index in range(count):
        shape, triangles = (small if size[index] < _SMALL_STONE_M else large)[index % 8]
        cos, sin = np.cos(turns[index]), np.sin(turns[index])
        stone = shape * size[index] * 1.6
        stone[:, :2] = stone[:, :2] @ np.array([[cos, sin], [-sin, cos]])
        place = [x[index], y[index], ground_m[index] + 0.15 * size[index]]
        stones.append((stone + place, triangles))
    item = object_from(collection, "Limen Pebbles", *merge(stones), material)
    shade = np.clip(rng.normal(0.5, 0.28, count), 0, 1)  # no stone is like the next
    add_shade(item.data, np.repeat(shade, [len(stone) for stone, _ in stones]))


def _add_boulders(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: Waves,
    material: bpy.types.Material,
) -> None:
    """Scatter boulders of many sizes, most in groups: a few large, many small about them."""
    near_x, near_y = scatter(rng, 150, 3.5, CLEAR_RADIUS_M)
    near_size = rng.lognormal(np.log(0.14), 0.7, len(near_x))
    group_x, group_y = scatter(rng, 60, CLEAR_RADIUS_M + 8, 600)
    members = rng.integers(3, 26, len(group_x))
    spread = np.repeat(rng.uniform(1.5, 9.0, len(group_x)), members)
    far_x = np.repeat(group_x, members) + spread * rng.normal(0, 1, len(spread))
    far_y = np.repeat(group_y, members) + spread * rng.normal(0, 0.7, len(spread))
    far_size = np.minimum(rng.lognormal(np.log(0.32), 0.95, len(far_x)), 4.5)
    x, y = np.concatenate([near_x, far_x]), np.concatenate([near_y, far_y])
    size = np.concatenate([near_size, far_size])
    radius = np.hypot(x, y)
    low = radius < CLEAR_RADIUS_M
    size[low] = np.minimum(size[low], highest_m(radius[low], 0.75))
    places = np.stack([x, y, waves.height_m(x, y) + 0.06 * size], axis=-1)
    turns = rng.uniform(0, 2 * np.pi, len(x))
    order = rng.permutation(len(x))
    kinds = 8
    for kind in range(kinds):
        shape = _rock_shape(rng, subdivisions=3)
        mesh = make_mesh(f"Limen Rock {kind}", *shape)
        add_shade(mesh, _weathered(rng, shape[0]))
        mesh.materials.append(material)
        mine = order[kind::kinds]
        add_instances(
            collection, mesh.name, mesh, places[mine], turns[mine], size[mine], waves.normal
        )


def _add_scrub(collection: bpy.types.Collection, rng: np.random.Generator, waves: Waves) -> None:
    material = leaf_material("Limen Scrub", _SCRUB, translucency=0.2)
    for kind in range(4):
        mesh = shrub(f"Limen Scrub {kind}", rng, leaves=900, leaf_m=0.03, squat=0.55)
        mesh.materials.append(material)
        x, y = scatter(rng, 70, 6.0, 260.0)
        size = np.minimum(rng.uniform(0.25, 1.1, len(x)), _scrub_limit(x, y))
        places = np.stack([x, y, waves.height_m(x, y) - 0.02 * size], axis=-1)
        turns = rng.uniform(0, 2 * np.pi, len(x))
        add_instances(collection, mesh.name, mesh, places, turns, size)


def _scrub_limit(x: NDArray, y: NDArray) -> NDArray:
    radius = np.hypot(x, y)
    return np.where(radius < CLEAR_RADIUS_M, 0.9 * highest_m(radius - 0.5), np.inf)
