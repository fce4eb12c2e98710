"""Triangle surfaces that a skeleton moves: cut, smooth, hem and join them.

What a person wears is cut from surfaces that lie about the body. A cut runs where a field over the
vertices changes its sign, through the triangles, so that an edge is a smooth line whatever the
mesh. All is in the SMPL-X frame and at rest, in metres.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Surface",
    "clip",
    "edges_of",
    "hemmed",
    "join",
    "normals",
    "open_edges",
    "raised",
    "refined",
    "smoothed",
    "some_faces",
]

_Floats = NDArray[np.floating[Any]]
_Ints = NDArray[np.integer[Any]]
_Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface of N vertices and F triangles in the rest pose.

    Attributes:
        vertices_m: (N, 3).
        faces: Vertex indices (F, 3).
        weights: Skinning weights (N, 55); rows sum to one.
        shapedirs: Displacement per unit of each shape coefficient (N, 3, S).
        source: The body vertex (N,) that each follows, for corrections that depend on the pose.
    """

    vertices_m: _Floats
    faces: _Ints
    weights: _Floats
    shapedirs: _Floats
    source: _Ints

    def moved(self, vertices_m: _Floats) -> "Surface":
        """The same surface with its vertices elsewhere."""
        return replace(self, vertices_m=vertices_m)


def _taken(surface: Surface, rows: _Ints, faces: _Ints) -> Surface:
    return Surface(
        surface.vertices_m[rows],
        faces,
        surface.weights[rows],
        surface.shapedirs[rows],
        surface.source[rows],
    )


def some_faces(surface: Surface, chosen: _Mask) -> Surface:
    """The surface with only the chosen faces (F,), and the vertices that these need."""
    rows, faces = np.unique(surface.faces[chosen], return_inverse=True)
    return _taken(surface, rows, faces.reshape(-1, 3))


def clip(surface: Surface, field: _Floats) -> Surface:
    """The part of a surface where a field over its vertices (N,) is positive.

    The field is taken as linear in each triangle. Triangles across its zero line are cut there.
    """
    value = np.where(field == 0, 1e-12, field)
    inside = value > 0
    count = inside[surface.faces].sum(axis=1)
    # Turn cut triangles so that the vertex alone on its side comes first.
    cut = surface.faces[(count == 1) | (count == 2)]
    lone = inside[cut] == (inside[cut].sum(axis=1) == 1)[:, None]
    order = (lone.argmax(axis=1)[:, None] + np.arange(3)) % 3
    cut = np.take_along_axis(cut, order, axis=1)
    sides = np.concatenate([cut[:, [0, 1]], cut[:, [0, 2]]])
    pairs, place = np.unique(np.sort(sides, axis=1), axis=0, return_inverse=True)
    p, q = len(surface.vertices_m) + place.reshape(2, -1)
    a, b, c = cut.T
    tip = inside[a]
    faces = np.concatenate(
        [
            surface.faces[count == 3],
            np.stack([a, p, q], axis=1)[tip],
            np.stack([p, b, c], axis=1)[~tip],
            np.stack([p, c, q], axis=1)[~tip],
        ]
    )
    first, second = pairs.T
    share = (value[first] / (value[first] - value[second]))[:, None]

    def between(array: _Floats) -> _Floats:
        weight = share.reshape(-1, *[1] * (array.ndim - 1)).astype(array.dtype)
        return np.concatenate([array, (1 - weight) * array[first] + weight * array[second]])

    nearer = np.where(share[:, 0] < 0.5, first, second)
    whole = Surface(
        between(surface.vertices_m),
        faces,
        between(surface.weights),
        between(surface.shapedirs),
        np.concatenate([surface.source, surface.source[nearer]]),
    )
    return some_faces(whole, np.ones(len(faces), bool))


def hemmed(surface: Surface, depth_m: float) -> Surface:
    """The surface with its open edges turned inwards, so that cloth shows a thickness there."""
    open_sides = open_edges(surface.faces)
    if not len(open_sides):
        return surface
    rim, local = np.unique(open_sides, return_inverse=True)
    a, b = open_sides.T
    c, d = len(surface.vertices_m) + local.reshape(-1, 2).T
    inner = surface.vertices_m[rim] - depth_m * normals(surface.vertices_m, surface.faces)[rim]
    band = np.concatenate([np.stack([b, a, c], axis=1), np.stack([b, c, d], axis=1)])
    rows = np.concatenate([np.arange(len(surface.vertices_m)), rim])
    turned = _taken(surface, rows, np.concatenate([surface.faces, band]))
    return turned.moved(np.concatenate([surface.vertices_m, inner]))


def join(surfaces: Sequence[Surface]) -> Surface:
    """One surface of several, in their order."""
    starts = np.cumsum([0, *(len(s.vertices_m) for s in surfaces)])
    return Surface(
        np.concatenate([s.vertices_m for s in surfaces]),
        np.concatenate([s.faces + k for s, k in zip(surfaces, starts[:-1], strict=True)]),
        np.concatenate([s.weights for s in surfaces]),
        np.concatenate([s.shapedirs for s in surfaces]),
        np.concatenate([s.source for s in surfaces]),
    )


def refined(surface: Surface) -> Surface:
    """The same surface with every triangle cut into four at the middles of its sides."""
    f = surface.faces
    sides = np.sort(np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]]), axis=1)
    pairs, place = np.unique(sides, axis=0, return_inverse=True)
    (a, b, c), (p, q, r) = f.T, len(surface.vertices_m) + place.reshape(3, -1)
    faces = [np.stack(t, axis=1) for t in ((a, p, r), (p, b, q), (r, q, c), (p, q, r))]
    i, j = pairs.T

    def finer(array: _Floats) -> _Floats:
        return np.concatenate([array, (array[i] + array[j]) / 2])

    return Surface(
        finer(surface.vertices_m),
        np.concatenate(faces),
        finer(surface.weights),
        finer(surface.shapedirs),
        np.concatenate([surface.source, surface.source[i]]),
    )


def raised(surface: Surface, steps: _Ints | int, height_m: _Floats | float) -> _Floats:
    """Vertices (N, 3) smoothed, then a height over where they were, or over the smooth surface.

    Smoothing shrinks what is round; without the second step a cap would sink into the head. What
    stands out by more than 8 mm, as an ear does, stays smoothed away.
    """
    even = smoothed(surface.vertices_m, surface.faces, steps)
    outward = normals(even, surface.faces)
    sunk = ((surface.vertices_m - even) * outward).sum(axis=1)
    return np.asarray(even + (np.clip(sunk, 0, 0.008) + height_m)[:, None] * outward)


def open_edges(faces: _Ints) -> _Ints:
    """The sides (E, 2) that only one face has, in the direction that it runs along them."""
    sides = np.concatenate([faces[:, [k, (k + 1) % 3]] for k in range(3)])
    _, place, uses = np.unique(
        np.sort(sides, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    alone: _Ints = sides[uses[place.reshape(-1)] == 1]
    return alone


def edges_of(faces: _Ints) -> _Ints:
    """Every edge once, as vertex pairs (E, 2)."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges: _Ints = np.unique(np.sort(sides, axis=1), axis=0)
    return edges


def smoothed(vertices_m: _Floats, faces: _Ints, steps: _Ints | int) -> _Floats:
    """Vertices (N, 3), each moved to the mean of its neighbours ``steps`` times.

    Args:
        vertices_m: (N, 3).
        faces: (F, 3).
        steps: For all, or for each vertex (N,).
    """
    edges = edges_of(faces)
    a, b = np.concatenate([edges, edges[:, ::-1]]).T
    n = len(vertices_m)
    degree = np.bincount(a, minlength=n)
    steps = np.broadcast_to(steps, n)
    for step in range(int(steps.max(initial=0))):
        sums = np.stack([np.bincount(a, vertices_m[b, k], minlength=n) for k in range(3)], axis=1)
        moving = (steps > step) & (degree > 0)
        means = sums / np.maximum(degree, 1)[:, None]
        vertices_m = np.where(moving[:, None], means, vertices_m)
    return vertices_m


def normals(vertices_m: _Floats, faces: _Ints) -> _Floats:
    """Unit normals (N, 3) of the vertices, faces weighted by area."""
    a, b, c = (vertices_m[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    sums: _Floats = np.stack(
        [
            np.bincount(faces.ravel(), np.repeat(across[:, k], 3), minlength=len(vertices_m))
            for k in range(3)
        ],
        axis=1,
    )
    unit: _Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return unit
