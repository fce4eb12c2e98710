"""What sceneries are made of: rolling ground, scattered things, instances, haze.

Everything within reach of the published cameras stays below the line of sight from a camera at
elevation 0 to the subject's feet, from every azimuth, so that nothing hides the person unless a
study asks for it: ``highest_m`` is that limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..mesh import add_object, grid_faces, make_mesh

__all__ = [
    "CLEAR_RADIUS_M",
    "HORIZON_M",
    "LEVEL_HALF_M",
    "SIGHT_SLOPE",
    "Part",
    "Waves",
    "add_ground",
    "add_instances",
    "add_range",
    "highest_m",
    "merge",
    "object_from",
    "scatter",
]

SIGHT_SLOPE = 0.9 / 23.04  # from the farthest published camera, 0.9 m up, to the subject's feet
CLEAR_RADIUS_M = 30.0
HORIZON_M = 2500.0
LEVEL_HALF_M = 24.0  # of the level square: the published cameras stand on it
_REACH_OF_FEET_M = 0.45  # a lunge puts a foot this far from the subject's place
_LOW_TO_M = 40.0  # as far as shadows are followed
_CELLS = 40  # of the ground, along each side of a ring

Points = NDArray[np.float64]
Part = tuple[NDArray, NDArray]


def highest_m(radius_m: Points, share: float = 0.9) -> Points:
    """Return how high a thing may be at a distance from the subject without hiding its feet."""
    return share * SIGHT_SLOPE * np.maximum(np.asarray(radius_m) - _REACH_OF_FEET_M, 0)


@dataclass(frozen=True)
class Waves:
    """Rolling ground as a sum of skewed waves.

    Attributes:
        wavelengths_m: One for each wave.
        amplitudes_m: Likewise.
        bearings_rad: Which way each runs.
        phases_rad: Likewise.
        skew: 0 for sines, more for steep lee sides.
    """

    wavelengths_m: Points
    amplitudes_m: Points
    bearings_rad: Points
    phases_rad: Points
    skew: float = 0.35

    def height_m(self, x: Points, y: Points) -> Points:
        """Return the ground's height: 0 where cameras stand, not lower near them, free beyond."""
        radius = np.hypot(x, y)
        height = np.zeros_like(radius)
        for wavelength, amplitude, bearing, phase in zip(
            self.wavelengths_m, self.amplitudes_m, self.bearings_rad, self.phases_rad, strict=True
        ):
            along = 2 * np.pi * (x * np.cos(bearing) + y * np.sin(bearing)) / wavelength + phase
            # Long waves belong to the distance: each grows from the radius of its own wavelength.
            grows = np.clip((radius - 0.8 * wavelength) / (1.5 * wavelength), 0, 1)
            height += amplitude * grows * np.sin(along + self.skew * np.sin(along))
        level = np.clip((np.maximum(np.abs(x), np.abs(y)) - LEVEL_HALF_M) / 30.0, 0, 1)
        height *= level * level * (3 - 2 * level)
        # Just outside, the limits fade: no step.
        fade = np.clip((radius - _LOW_TO_M) / 12.0, 0, 1)
        held = np.clip(height, 0.0, 0.35 * SIGHT_SLOPE * radius)
        return held + fade * (height - held)

    def normal(self, x: Points, y: Points) -> Points:
        """Return the unit normals (N, 3) of the ground."""
        step = 0.5
        slope_x = (self.height_m(x + step, y) - self.height_m(x - step, y)) / (2 * step)
        slope_y = (self.height_m(x, y + step) - self.height_m(x, y - step)) / (2 * step)
        normal = np.stack([-slope_x, -slope_y, np.ones_like(x)], axis=-1)
        return normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def add_ground(
    collection: bpy.types.Collection,
    waves: Waves,
    near: bpy.types.Material,
    middle: bpy.types.Material,
    far: bpy.types.Material,
    far_from_m: float = 60.0,
) -> None:
    """Add the ground: a level square about the subject's place, square rings to the horizon.

    Most of a picture shows the square. What a ray costs grows with the number of faces around the
    place it meets, so the square is one face, and rings have no more than dunes need.

    Args:
        collection: Where it goes.
        waves: Its shape.
        near: Material of the level square.
        middle: Of the rings about it.
        far: Of those from ``far_from_m`` on, which may afford haze.
        far_from_m: Where that begins.
    """
    corners = LEVEL_HALF_M * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    face = np.array([[0, 1, 2, 3]])
    object_from(collection, "Limen Ground", corners, face, near, smooth=False)
    along = np.linspace(-1, 1, _CELLS, endpoint=False)
    one = np.ones(_CELLS)
    sides = ((along, -one), (one, along), (-along, one), (-one, -along))
    around = np.concatenate([np.stack(side, axis=-1) for side in sides])
    count = 1 + int(np.log(HORIZON_M / LEVEL_HALF_M) / np.log(1 + 2 / _CELLS))
    halves = np.geomspace(LEVEL_HALF_M, HORIZON_M, count)
    cut = int(np.searchsorted(halves, far_from_m)) + 1
    for name, some, material in (
        ("Limen Ground Middle", halves[:cut], middle),
        ("Limen Ground Far", halves[cut - 1 :], far),
    ):
        x, y = (some[:, None] * around[:, k] for k in (0, 1))
        points = np.stack([x, y, waves.height_m(x, y)], axis=-1).reshape(-1, 3)
        faces = grid_faces(len(some), len(around), closed=True)[:, ::-1]  # they run left: face up
        object_from(collection, name, points, faces, material)


def add_range(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    material: bpy.types.Material,
    distance_m: float,
    height_m: float,
    rugged: float = 0.0,
) -> None:
    """Add a ring of hills, or of mountains if ``rugged`` is 1, around everything."""
    around = 900
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    octaves = np.array([2, 3, 5, 9, 16, 27, 44, 71, 118])
    phases = rng.uniform(0, 2 * np.pi, len(octaves))
    fall = 0.95 - 0.25 * rugged
    waves = np.sin(octaves * angle[:, None] + phases) / octaves**fall
    if rugged:
        waves[:, 3:] = (
            rugged * (0.5 - np.abs(waves[:, 3:] * octaves[3:] ** fall)) / octaves[3:] ** fall
        )
    crest = height_m * np.clip(0.5 + 0.42 * waves.sum(axis=1), 0.06, None)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    depth = height_m * (3.2 - 1.4 * rugged)
    rows = []
    for share, high in ((0.0, -0.05), (0.3, 0.22), (0.6, 0.55), (0.85, 0.86), (1.0, 1.0)):
        gullies = 1 + 0.08 * rugged * np.sin(61 * angle + 9 * share + phases[0])
        radius = (distance_m + depth * share * gullies)[:, None]
        rows.append(np.column_stack([radius * ring, high * crest]))
    faces = grid_faces(len(rows), around, closed=True)[:, ::-1]
    object_from(collection, "Limen Range", np.concatenate(rows), faces, material)


def object_from(
    collection: bpy.types.Collection,
    name: str,
    vertices: NDArray,
    faces: NDArray,
    material: bpy.types.Material,
    *,
    smooth: bool = True,
) -> bpy.types.Object:
    """Add an object of one material."""
    mesh = make_mesh(name, vertices, faces, smooth=smooth)
    mesh.materials.append(material)
    return add_object(name, mesh, collection)


def scatter(
    rng: np.random.Generator, count: int, inner_m: float, outer_m: float, power: float = 1.0
) -> tuple[Points, Points]:
    """Return x and y of points in a ring.

    Args:
        rng: What draws them.
        count: How many.
        inner_m: Radius of the ring's inside.
        outer_m: And of its outside.
        power: 1 puts as many in each metre of radius, 2 as many on each square metre.
    """
    low, high = inner_m**power, outer_m**power
    radius = rng.uniform(low, high, count) ** (1 / power)
    angle = rng.uniform(0, 2 * np.pi, count)
    return radius * np.cos(angle), radius * np.sin(angle)


def merge(parts: Sequence[Part]) -> Part:
    """Return one mesh of several."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts[:-1])])
    return (
        np.concatenate([vertices for vertices, _ in parts]),
        np.concatenate([faces + start for (_, faces), start in zip(parts, starts, strict=True)]),
    )


def add_instances(
    collection: bpy.types.Collection,
    name: str,
    mesh: bpy.types.Mesh,
    places_m: Points,
    turns_rad: Points,
    sizes: Points,
    normal: Callable[[Points, Points], Points] | None = None,
    *,
    stops_light: bool = True,
) -> None:
    """Add copies of a mesh that share its memory.

    A carrier has one square for each copy, which gives it its place, turn and size; this is far
    quicker to set up and to render than as many objects.

    Args:
        collection: Where they go.
        name: Of the objects.
        mesh: What is copied; its z points along the normal.
        places_m: (N, 3).
        turns_rad: (N,) about the normal.
        sizes: (N,) factors.
        normal: x, y -> (N, 3) unit normals; upright without.
        stops_light: Grass and leaves need not where what lies below or within them does: a ray
            among them is the dearest of all. Light is stopped on every way or on none. Cycles
            finds a sky by rays aimed at it and by rays that happen to reach it, and weighs the two
            by how many lights there are: where they disagree, layers do not add up to the whole.
    """
    if not len(places_m):
        return
    along, across, _ = _axes(places_m, turns_rad, normal)
    half = (sizes / 2)[:, None]
    corners = [places_m + half * (a * along + b * across) for a, b in _SQUARE]
    vertices = np.stack(corners, axis=1).reshape(-1, 3)
    faces = np.arange(len(vertices)).reshape(-1, 4)
    carrier = make_mesh(f"{name} Carrier", vertices, faces)
    parent = add_object(f"{name} Carrier", carrier, collection)
    child = add_object(name, mesh, collection)
    child.parent = parent
    if not stops_light:
        child.visible_shadow = False
        child.visible_diffuse = child.visible_glossy = child.visible_transmission = False
    parent.instance_type = "FACES"
    parent.use_instance_faces_scale = True
    parent.show_instancer_for_render = parent.show_instancer_for_viewport = False


def _axes(
    places_m: Points, turns_rad: Points, normal: Callable[[Points, Points], Points] | None
) -> tuple[Points, Points, Points]:
    """Return the axes (N, 3) of things that are turned about their normals."""
    count = len(places_m)
    up = np.tile([0.0, 0.0, 1.0], (count, 1))
    if normal is not None:
        up = normal(places_m[:, 0], places_m[:, 1])
    along = np.stack([np.cos(turns_rad), np.sin(turns_rad), np.zeros(count)], axis=-1)
    along -= up * (along * up).sum(axis=-1, keepdims=True)
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    return along, np.cross(up, along), up


_SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1))
