"""A gravel desert: level stony ground, dunes and rock outcrops towards the horizon.

Everything within reach of the cameras stays below the line from a camera at elevation 0 to the
subject's feet, from every azimuth, so that nothing hides the person unless a study asks for it.
"""

import bpy
import numpy as np
from numpy.typing import NDArray

from ..materials import Grain, rough_material
from ..mesh import add_object, grid_faces, icosphere, make_mesh

__all__ = ["LOWEST_LEVEL_M", "VERSION", "build"]

VERSION = 1
LOWEST_LEVEL_M = -0.25  # within reach of a shadow

_SEED = 20260529  # the place is the same in every study
_LEVEL_RADIUS_M = 2.0
_CLEAR_RADIUS_M = 30.0
_GROUND_RADIUS_M = 2500.0
_SIGHT_SLOPE = 0.9 / 23.04  # from the farthest published camera, 0.9 m up, to the subject's feet
_SAND = (0.44, 0.31, 0.185)
_ROCK = (0.27, 0.20, 0.145)


def build(collection: bpy.types.Collection) -> None:
    """Add the ground, the stones and the outcrops to a collection."""
    rng = np.random.default_rng(_SEED)
    waves = _draw_waves(rng)
    _add_ground(collection, waves)
    rock = rough_material(
        "Limen Rock",
        _ROCK,
        [Grain(0.6, 0.25, bump_m=0.03), Grain(0.08, 0.3, bump_m=0.006, detail=3)],
    )
    shapes = [_rock_shape(rng, subdivisions=3) for _ in range(10)]
    meshes = []
    for index, (vertices, faces) in enumerate(shapes):
        mesh = make_mesh(f"Limen Rock {index}", vertices, faces)
        mesh.materials.append(rock)
        meshes.append(mesh)
    _add_pebbles(collection, rng, waves, rock)
    _add_rocks(collection, rng, waves, meshes)


def _draw_waves(rng: np.random.Generator) -> NDArray:
    """Return rows of (wavelength_m, amplitude_m, bearing_rad, phase_rad, skew)."""
    wavelengths = np.array([9.0, 14.0, 23.0, 41.0, 70.0, 120.0, 190.0, 310.0, 520.0, 800.0])
    amplitudes = np.array([0.02, 0.035, 0.07, 0.14, 0.6, 1.6, 4.5, 10.0, 17.0, 22.0])
    count = len(wavelengths)
    bearings = 0.6 + rng.normal(0, 0.5, count)  # the wind has one main direction
    return np.stack(
        [wavelengths, amplitudes, bearings, rng.uniform(0, 2 * np.pi, count), np.full(count, 0.35)],
        axis=-1,
    )


def _height_m(x: NDArray, y: NDArray, waves: NDArray) -> NDArray:
    """Height of the ground: level at the subject, low near the cameras, dunes beyond."""
    radius = np.hypot(x, y)
    height = np.zeros_like(radius)
    for wavelength, amplitude, bearing, phase, skew in waves:
        along = 2 * np.pi * (x * np.cos(bearing) + y * np.sin(bearing)) / wavelength + phase
        # Long waves belong to the distance: each grows from the radius of its own wavelength on.
        grows = np.clip((radius - 0.8 * wavelength) / (1.5 * wavelength), 0, 1)
        height += amplitude * grows * np.sin(along + skew * np.sin(along))
    level = np.clip((radius - _LEVEL_RADIUS_M) / 6.0, 0, 1)
    height *= level * level * (3 - 2 * level)
    ceiling = 0.35 * _SIGHT_SLOPE * radius
    near = radius < _CLEAR_RADIUS_M
    return np.where(near, np.clip(height, LOWEST_LEVEL_M, ceiling), height)


def _add_ground(collection: bpy.types.Collection, waves: NDArray) -> None:
    around = 480
    radii = np.concatenate([np.linspace(0.25, 8, 40), np.geomspace(8.25, _GROUND_RADIUS_M, 260)])
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    x = (radii[:, None] * np.cos(angle)).ravel()
    y = (radii[:, None] * np.sin(angle)).ravel()
    vertices = np.stack([x, y, _height_m(x, y, waves)], axis=-1)
    faces = grid_faces(len(radii), around, closed=True)[:, ::-1]  # angles run left: face up
    _object_from(collection, "Limen Ground", vertices, faces, _sand())
    middle = np.vstack([vertices[:around], [[0.0, 0.0, 0.0]]])
    index = np.arange(around)
    fan = np.stack([index, (index + 1) % around, np.full(around, around)], axis=-1)
    _object_from(collection, "Limen Ground Middle", middle, fan, bpy.data.materials["Limen Sand"])


def _object_from(
    collection: bpy.types.Collection,
    name: str,
    vertices: NDArray,
    faces: NDArray,
    material: bpy.types.Material,
) -> None:
    mesh = make_mesh(name, vertices, faces)
    mesh.materials.append(material)
    add_object(name, mesh, collection)


def _sand() -> bpy.types.Material:
    return rough_material(
        "Limen Sand",
        _SAND,
        # Every octave is paid for in every sample, relief three times: as few as look right.
        [
            Grain(45.0, 0.2, detail=1),
            Grain(2.5, 0.14, detail=1),
            Grain(0.2, 0.14, bump_m=0.014, detail=0, stretch=(3.0, 1.0, 1.0)),
            Grain(0.03, 0.2, detail=0),
        ],
        roughness=0.95,
    )


def _rock_shape(rng: np.random.Generator, subdivisions: int) -> tuple[NDArray, NDArray]:
    """Return an angular boulder about 1 m across: a sphere cut by planes, then weathered."""
    vertices, faces = icosphere(subdivisions)
    normals = rng.normal(size=(14, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = rng.uniform(0.55, 0.95, len(normals))
    reach = vertices @ normals.T
    limit = np.where(reach > 1e-3, offsets / np.maximum(reach, 1e-3), np.inf).min(axis=1)
    shape = vertices * np.minimum(limit, 1.0)[:, None]
    for octave in range(1, 4):
        wave = np.sin(vertices @ rng.normal(0, 2.5 * octave, 3) + rng.uniform(0, 2 * np.pi))
        shape += vertices * (0.035 / octave * wave)[:, None]
    return 0.5 * shape * rng.uniform([1.0, 0.7, 0.5], [1.3, 1.0, 0.8]), faces


def _scatter(
    rng: np.random.Generator, count: int, inner_m: float, outer_m: float
) -> tuple[NDArray, NDArray]:
    """Return x and y of points in a ring, as many in each metre of radius."""
    radius = rng.uniform(inner_m, outer_m, count)
    angle = rng.uniform(0, 2 * np.pi, count)
    return radius * np.cos(angle), radius * np.sin(angle)


def _add_pebbles(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: NDArray,
    material: bpy.types.Material,
) -> None:
    """Scatter stones of a few centimetres over the near ground, as one mesh."""
    count = 6000
    x, y = _scatter(rng, count, 0.7, _CLEAR_RADIUS_M)
    size = np.clip(rng.lognormal(np.log(0.022), 0.65, count), 0.008, 0.12)
    size = np.minimum(size, 0.012 + 0.4 * _SIGHT_SLOPE * np.hypot(x, y))
    shapes = [_rock_shape(rng, subdivisions=1) for _ in range(6)]
    vertices, faces, offset = [], [], 0
    for index in range(count):
        shape, triangles = shapes[index % len(shapes)]
        turn = rng.uniform(0, 2 * np.pi)
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        stone = shape * size[index] * 1.6
        stone[:, :2] = stone[:, :2] @ rotation.T
        vertices.append(stone + np.array([x[index], y[index], 0.15 * size[index]]))
        faces.append(triangles + offset)
        offset += len(stone)
    points = np.concatenate(vertices)
    stones_z = np.repeat(_height_m(x, y, waves), len(points) // count)
    points[:, 2] += stones_z
    _object_from(collection, "Limen Pebbles", points, np.concatenate(faces), material)


def _add_rocks(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    waves: NDArray,
    meshes: list[bpy.types.Mesh],
) -> None:
    """Scatter boulders: low ones near the cameras, larger ones and outcrops far away."""
    near_x, near_y = _scatter(rng, 160, 3.5, _CLEAR_RADIUS_M)
    near_size = np.minimum(
        rng.lognormal(np.log(0.16), 0.6, len(near_x)),
        0.75 * _SIGHT_SLOPE * np.hypot(near_x, near_y),
    )
    far_x, far_y = _scatter(rng, 700, _CLEAR_RADIUS_M + 4, 500)
    far_size = np.minimum(rng.lognormal(np.log(0.7), 0.8, len(far_x)), 6.0)
    crag_x, crag_y = _scatter(rng, 60, 700, 2300)
    crag_size = rng.uniform(0.05, 0.15, len(crag_x)) * np.hypot(crag_x, crag_y)
    x = np.concatenate([near_x, far_x, crag_x])
    y = np.concatenate([near_y, far_y, crag_y])
    size = np.concatenate([near_size, far_size, crag_size])
    z = _height_m(x, y, waves)
    for index in range(len(x)):
        rock = add_object(f"Limen Rock {index}", meshes[index % len(meshes)], collection)
        rock.location = (x[index], y[index], z[index] + 0.08 * size[index])
        rock.rotation_euler = (rng.normal(0, 0.12), rng.normal(0, 0.12), rng.uniform(0, 2 * np.pi))
        rock.scale = (size[index],) * 3
