"""Grass, shrubs and trees as small meshes to be copied: blades and leaves, no pictures of them."""

import bpy
import numpy as np
from numpy.typing import NDArray

from ..mesh import make_mesh

__all__ = ["SHADE", "add_shade", "grass_patch", "grass_square", "shrub", "tree"]

SHADE = "shade"
"""Attribute of a leaf or blade: 0 for the first of its material's two colours, 1 the other."""


def grass_patch(
    name: str,
    rng: np.random.Generator,
    *,
    blades: int,
    radius_m: float,
    height_m: float,
    width_m: float,
    straw: float = 0.2,
) -> bpy.types.Mesh:
    """Return a round bunch of grass, thinner towards its rim.

    Args:
        name: Of the mesh.
        rng: What draws it.
        blades: How many.
        radius_m: Of the bunch.
        height_m: Of its highest blades.
        width_m: Of a blade at its foot.
        straw: Share of dry blades.
    """
    radius = radius_m * rng.uniform(0, 1, blades) ** 0.6
    angle = rng.uniform(0, 2 * np.pi, blades)
    foot = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    height = height_m * rng.beta(3.0, 1.6, blades)
    bearing = rng.uniform(0, 2 * np.pi, blades)
    return _blades(name, rng, foot, height, bearing, width_m, straw)


def grass_square(
    name: str,
    rng: np.random.Generator,
    *,
    edge_m: float,
    blades: int,
    height_m: float,
    width_m: float,
    straw: float = 0.2,
    simple: bool = False,
) -> bpy.types.Mesh:
    """Return a square of grass in clumps that lean together; squares side by side show no seam.

    Args:
        name: Of the mesh.
        rng: What draws it.
        edge_m: Of the square.
        blades: How many.
        height_m: Of its highest blades.
        width_m: Of a blade at its foot.
        straw: Share of dry blades.
        simple: Blades of one triangle, to be seen from afar.
    """
    clumps = max(8, blades // 22)
    middles = rng.uniform(-0.5, 0.5, (clumps, 2)) * edge_m
    clump = rng.integers(0, clumps, blades)
    loose = rng.uniform(0, 1, blades) < 0.4
    spread = 0.16 * np.sqrt(edge_m**2 / clumps) + 0.15 * height_m
    foot = middles[clump] + rng.normal(0, spread, (blades, 2))
    foot[loose] = rng.uniform(-0.5, 0.5, (int(loose.sum()), 2)) * edge_m
    # A blade that would stand beyond an edge stands at the opposite one.
    foot = (foot / edge_m + 0.5) % 1.0 * edge_m - 0.5 * edge_m
    tall = rng.uniform(0.55, 1.0, clumps)[clump]
    height = height_m * rng.beta(3.0, 1.6, blades) * np.where(loose, 0.8, tall)
    bearing = rng.uniform(0, 2 * np.pi, clumps)[clump] + rng.normal(0, 0.8, blades)
    return _blades(name, rng, foot, height, bearing, width_m, straw, simple=simple)


def _blades(
    name: str,
    rng: np.random.Generator,
    foot: NDArray,
    height: NDArray,
    bearing: NDArray,
    width_m: float,
    straw: float,
    *,
    simple: bool = False,
) -> bpy.types.Mesh:
    """Return blades of heights (N,) that stand at foot (N, 2) and bend towards bearing (N,)."""
    blades = len(foot)
    foot = np.column_stack([foot, np.zeros(blades)])
    lean = np.stack([np.cos(bearing), np.sin(bearing), np.zeros(blades)], axis=-1)
    turn = bearing + rng.normal(0, 0.6, blades)  # not all show their flat to the same side
    side = np.stack([-np.sin(turn), np.cos(turn), np.zeros(blades)], axis=-1)
    bend = height * rng.uniform(0.15, 0.85, blades)
    width = width_m * rng.uniform(0.6, 1.3, blades)
    rows = []
    for share, thick in ((0.0, 1.0),) if simple else ((0.0, 1.0), (0.55, 0.75)):
        middle = foot + lean * (bend * share**2)[:, None]
        middle[:, 2] += height * share
        rows += [
            middle - side * (width * thick / 2)[:, None],
            middle + side * (width * thick / 2)[:, None],
        ]
    tip = foot + lean * bend[:, None]
    tip[:, 2] += height * np.sqrt(np.maximum(1 - 0.35 * (bend / height) ** 2, 0.2))
    points = len(rows) + 1
    vertices = np.stack([*rows, tip], axis=1).reshape(-1, 3)
    start = points * np.arange(blades)[:, None]
    corners = ([0, 1, 2],) if simple else ([0, 1, 3], [0, 3, 2], [2, 3, 4])
    faces = np.concatenate([start + corner for corner in corners])
    dry = rng.uniform(0, 1, blades) < straw
    shade = np.where(dry, rng.uniform(0.6, 1, blades), rng.uniform(0, 0.35, blades))
    return _shaded(name, vertices, faces, np.repeat(shade, points))


def shrub(
    name: str, rng: np.random.Generator, *, leaves: int, leaf_m: float, squat: float = 0.75
) -> bpy.types.Mesh:
    """Return a shrub about 1 m across, standing on its origin."""
    lumps = rng.normal(0, 0.22, (7, 3))
    lumps[:, 2] = 0.28 * squat + np.abs(lumps[:, 2]) * squat
    return _crown(name, rng, lumps, rng.uniform(0.2, 0.34, 7), leaves, leaf_m, None)


def tree(
    name: str, rng: np.random.Generator, *, leaves: int, leaf_m: float, slim: float = 1.0
) -> bpy.types.Mesh:
    """Return a broad-leaved tree 1 unit high, to be scaled; its second material is the trunk's."""
    count = 14
    lumps = np.stack(
        [
            rng.normal(0, 0.15 / slim, count),
            rng.normal(0, 0.15 / slim, count),
            rng.uniform(0.3, 0.9, count),
        ],
        axis=-1,
    )
    lumps[:, :2] *= (1.25 - np.abs(lumps[:, 2:] - 0.55) * 1.6).clip(0.3)
    lumps[0] = (0, 0, 0.86)
    return _crown(name, rng, lumps, rng.uniform(0.09, 0.16, count), leaves, leaf_m, 0.028)


def _crown(
    name: str,
    rng: np.random.Generator,
    lumps: NDArray,
    radii: NDArray,
    leaves: int,
    leaf_m: float,
    trunk_m: float | None,
) -> bpy.types.Mesh:
    """Return leaves on the outside of some balls, on a trunk if there is one."""
    ball = rng.choice(len(lumps), leaves, p=radii**2 / (radii**2).sum())
    outward = rng.normal(size=(leaves, 3))
    outward /= np.linalg.norm(outward, axis=-1, keepdims=True)
    depth = rng.uniform(0.55, 1.05, leaves) ** 0.7
    middle = lumps[ball] + outward * (radii[ball] * depth)[:, None]
    middle[:, 2] = np.maximum(middle[:, 2], 0.02)
    along = rng.normal(size=(leaves, 3)) + 0.3 * outward
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    across = np.cross(along, outward + rng.normal(0, 0.6, (leaves, 3)))
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    size = leaf_m * rng.uniform(0.6, 1.4, leaves)[:, None]
    corners = (
        middle - along * size,
        middle + across * size * 0.55,
        middle + along * size,
        middle - across * size * 0.55,
    )
    vertices = np.stack(corners, axis=1).reshape(-1, 3)
    start = 4 * np.arange(leaves)[:, None]
    faces = np.concatenate([start + np.array(side) for side in ([0, 1, 2], [0, 2, 3])])
    shade = np.repeat(rng.uniform(0, 1, leaves), 4)
    if trunk_m is None:
        return _shaded(name, vertices, faces, shade)
    wood, sides = _trunk(rng, lumps, trunk_m)
    whole = np.concatenate([faces, sides + len(vertices)])
    mesh = _shaded(
        name,
        np.concatenate([vertices, wood]),
        whole,
        np.concatenate([shade, np.zeros(len(wood))]),
    )
    slots = np.zeros(len(whole), np.int32)
    slots[len(faces) :] = 1
    mesh.polygons.foreach_set("material_index", slots)
    return mesh


def _trunk(rng: np.random.Generator, lumps: NDArray, trunk_m: float) -> tuple[NDArray, NDArray]:
    """Return a trunk and a branch to some of the balls, six-sided."""
    fork = np.array([0.0, 0.0, 0.34])
    limbs = [(np.zeros(3), fork, trunk_m, trunk_m * 0.7)]
    limbs += [(fork, lump, trunk_m * 0.45, trunk_m * 0.12) for lump in lumps[::2]]
    angle = np.linspace(0, 2 * np.pi, 6, endpoint=False)
    vertices, faces = [], []
    for start, end, thick, thin in limbs:
        axis = (end - start) / np.linalg.norm(end - start)
        side = np.cross(axis, [0.31, 0.87, 0.38])
        side /= np.linalg.norm(side)
        other = np.cross(axis, side)
        ring = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * other
        first = 12 * len(vertices)
        vertices.append(np.concatenate([start + thick * ring, end + thin * ring]))
        i = np.arange(6)
        following = (i + 1) % 6
        faces.append(np.stack([i, following, following + 6], axis=-1) + first)
        faces.append(np.stack([i, following + 6, i + 6], axis=-1) + first)
    return np.concatenate(vertices), np.concatenate(faces)


def add_shade(mesh: bpy.types.Mesh, shade: NDArray) -> None:
    """Give the points of a mesh (V,) the place between its material's two colours."""
    attribute = mesh.attributes.new(SHADE, "FLOAT", "POINT")
    attribute.data.foreach_set("value", shade.astype(np.float32))


def _shaded(name: str, vertices: NDArray, faces: NDArray, shade: NDArray) -> bpy.types.Mesh:
    mesh = make_mesh(name, vertices, faces, smooth=False)
    add_shade(mesh, shade)
    return mesh
