"""Grass, shrubs and trees as small meshes to be copied: blades and leaves, no pictures of them."""

import bpy
import numpy as np
from numpy.typing import NDArray

from ..mesh import icosphere, make_mesh

__all__ = ["SHADE", "Blades", "add_shade", "grass", "grass_bunch", "grass_clumps", "shrub", "tree"]

SHADE = "shade"
"""Attribute of a leaf or blade: 0 for the first of its material's two colours, 1 the other."""

_TIP_SHADE = 0.25  # a blade's tip is so much drier than its middle, its foot so much less
_CORE = 0.8  # of a crown's balls, that no ray goes through

Blades = tuple[NDArray, NDArray, NDArray]  # feet (N, 2), heights (N,), bearings (N,)


def grass_bunch(
    rng: np.random.Generator, *, blades: int, radius_m: float, height_m: float
) -> Blades:
    """Return the blades of a round bunch, thinner towards its rim.

    Args:
        rng: What draws it.
        blades: How many.
        radius_m: Of the bunch.
        height_m: Of its highest blades.
    """
    radius = radius_m * rng.uniform(0, 1, blades) ** 0.6
    angle = rng.uniform(0, 2 * np.pi, blades)
    foot = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    height = height_m * rng.beta(3.0, 1.6, blades)
    return foot, height, rng.uniform(0, 2 * np.pi, blades)


def grass_clumps(
    rng: np.random.Generator, *, edge_m: float, blades: int, height_m: float
) -> Blades:
    """Return the blades of a square: clumps that lean together; squares side by side show no seam.

    Args:
        rng: What draws them.
        edge_m: Of the square, whose middle is the origin.
        blades: How many.
        height_m: Of the highest.
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
    return foot, height, bearing


def grass(
    name: str,
    rng: np.random.Generator,
    blades: Blades,
    width_m: float | NDArray,
    straw: float,
    *,
    simple: bool = False,
) -> bpy.types.Mesh:
    """Return the mesh of some blades.

    Args:
        name: Of the mesh.
        rng: What draws how each bends.
        blades: Their feet (N, 2), heights (N,) and the bearings (N,) that they bend towards.
        width_m: Of a blade at its foot, one for all or (N,).
        straw: Share of dry blades.
        simple: Blades of one triangle, to be seen from afar.
    """
    foot, height, bearing = blades
    count = len(foot)
    foot = np.column_stack([foot, np.zeros(count)])
    lean = np.stack([np.cos(bearing), np.sin(bearing), np.zeros(count)], axis=-1)
    turn = bearing + rng.normal(0, 0.6, count)  # not all show their flat to the same side
    side = np.stack([-np.sin(turn), np.cos(turn), np.zeros(count)], axis=-1)
    bend = height * rng.uniform(0.1, 0.5, count)
    width = width_m * rng.uniform(0.6, 1.3, count)
    half = side * (width / 2)[:, None]
    rows = [foot - half, foot + half]
    if not simple:  # a bend in one of its edges
        middle = foot + lean * (bend * 0.55**2)[:, None] + 0.7 * half
        middle[:, 2] += height * 0.55
        rows.append(middle)
    tip = foot + lean * bend[:, None]
    tip[:, 2] += height * np.sqrt(np.maximum(1 - 0.35 * (bend / height) ** 2, 0.2))
    points = len(rows) + 1
    vertices = np.stack([*rows, tip], axis=1).reshape(-1, 3)
    start = points * np.arange(count)[:, None]
    corners = ([0, 1, 2],) if simple else ([0, 1, 2], [0, 2, 3])
    faces = np.concatenate([start + corner for corner in corners])
    dry = rng.uniform(0, 1, count) < straw
    shade = np.where(dry, rng.uniform(0.55, 1, count), rng.uniform(-0.05, 0.3, count))
    along = np.array([*[-_TIP_SHADE] * 2, *[0.0] * (points - 3), _TIP_SHADE])  # feet, bend, tip
    return _shaded(name, vertices, faces, (shade[:, None] + along).ravel())


def shrub(
    name: str, rng: np.random.Generator, *, leaves: int, leaf_m: float, squat: float = 0.75
) -> bpy.types.Mesh:
    """Return a shrub about 1 m across, standing on its origin."""
    lumps = rng.normal(0, 0.22, (7, 3))
    lumps[:, 2] = 0.28 * squat + np.abs(lumps[:, 2]) * squat
    return _crown(name, rng, lumps, rng.uniform(0.2, 0.34, 7), leaves, leaf_m)


def tree(
    name: str, rng: np.random.Generator, *, leaves: int, leaf_m: float, slim: float = 1.0
) -> tuple[bpy.types.Mesh, bpy.types.Mesh]:
    """Return a broad-leaved tree 1 unit high, to be scaled: its leaves, and what is inside.

    Inside are the trunk, of the second material, and balls that let no ray through: they throw the
    tree's shadow, and no ray is searched for among the leaves of tree after tree.

    Args:
        name: Of the meshes.
        rng: What draws it.
        leaves: How many.
        leaf_m: Half of their length.
        slim: Above 1 for a narrow crown.
    """
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
    radii = rng.uniform(0.1, 0.18, count)
    crown = _crown(name, rng, lumps, radii, leaves, leaf_m)
    ball, sides = icosphere(0)
    balls = [(lump + _CORE * radius * ball) for lump, radius in zip(lumps, radii, strict=True)]
    wood, bark = _trunk(rng, lumps, 0.028)
    starts = len(ball) * np.arange(count)[:, None, None]
    inner = (sides + starts).reshape(-1, 3)
    inside = _shaded(
        f"{name} Inside",
        np.concatenate([*balls, wood]),
        np.concatenate([inner, bark + count * len(ball)]),
        np.zeros(count * len(ball) + len(wood)),
    )
    slots = np.zeros(len(inner) + len(bark), np.int32)
    slots[len(inner) :] = 1
    inside.polygons.foreach_set("material_index", slots)
    return crown, inside


def _crown(
    name: str,
    rng: np.random.Generator,
    lumps: NDArray,
    radii: NDArray,
    leaves: int,
    leaf_m: float,
) -> bpy.types.Mesh:
    """Return leaves on the outside of some balls."""
    ball = rng.choice(len(lumps), leaves, p=radii**2 / (radii**2).sum())
    outward = rng.normal(size=(leaves, 3))
    outward /= np.linalg.norm(outward, axis=-1, keepdims=True)
    depth = rng.uniform(0.68, 1.08, leaves) ** 0.7
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
    return _shaded(name, vertices, faces, shade)


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
