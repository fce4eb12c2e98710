"""Blender meshes from numpy arrays."""

import bpy
import numpy as np
from numpy.typing import NDArray

__all__ = ["add_object", "add_vectors", "grid_faces", "icosphere", "make_mesh"]


def make_mesh(
    name: str, vertices_m: NDArray, faces: NDArray, *, smooth: bool = True
) -> bpy.types.Mesh:
    """Return a new mesh.

    Args:
        name: The datablock's name.
        vertices_m: (V, 3).
        faces: (F, 3) or (F, 4) vertex indices.
        smooth: Shade the faces smooth.
    """
    mesh = bpy.data.meshes.new(name)
    corners = faces.shape[1]
    mesh.vertices.add(len(vertices_m))
    mesh.vertices.foreach_set("co", np.asarray(vertices_m, np.float32).ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", np.asarray(faces, np.int32).ravel())
    mesh.polygons.add(len(faces))
    mesh.polygons.foreach_set("loop_start", np.arange(len(faces), dtype=np.int32) * corners)
    mesh.update(calc_edges=True)
    mesh.polygons.foreach_set("use_smooth", np.full(len(faces), smooth))
    return mesh


def add_vectors(mesh: bpy.types.Mesh, name: str, values: NDArray) -> None:
    """Give the points of a mesh an attribute of vectors (V, 3)."""
    attribute = mesh.attributes.new(name, "FLOAT_VECTOR", "POINT")
    attribute.data.foreach_set("vector", np.asarray(values, np.float32).ravel())


def add_object(
    name: str, mesh: bpy.types.Mesh, collection: bpy.types.Collection
) -> bpy.types.Object:
    """Return a new object with a mesh, linked to a collection."""
    item = bpy.data.objects.new(name, mesh)
    collection.objects.link(item)
    return item


def grid_faces(rows: int, columns: int, *, closed: bool = False) -> NDArray[np.int32]:
    """Return the quads (F, 4) of a grid of vertices in row-major order.

    Args:
        rows: Number of rows.
        columns: Vertices in a row.
        closed: Join the last column to the first.
    """
    row = np.arange(rows - 1)[:, None] * columns
    column = np.arange(columns if closed else columns - 1)[None, :]
    following = (column + 1) % columns
    corners = [row + column, row + following, row + columns + following, row + columns + column]
    return np.stack([c.ravel() for c in corners], axis=-1).astype(np.int32)


def icosphere(subdivisions: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the vertices (V, 3) and triangles (F, 3) of a unit sphere: 20 * 4**subdivisions."""
    golden = (1 + 5**0.5) / 2
    ring = [(-1, golden, 0), (1, golden, 0), (-1, -golden, 0), (1, -golden, 0)]
    vertices = np.array([np.roll(p, shift) for shift in range(3) for p in ring], float)
    vertices /= np.linalg.norm(vertices[0])
    distance = np.linalg.norm(vertices[:, None] - vertices[None], axis=-1)
    near = distance < 1.1  # edges are 1.05 long, the next distance is 1.7
    faces = []
    for a in range(12):
        for b in range(a + 1, 12):
            for c in range(b + 1, 12):
                if near[a, b] and near[b, c] and near[a, c]:
                    outward = np.linalg.det(vertices[[a, b, c]]) > 0
                    faces.append((a, b, c) if outward else (a, c, b))
    triangles = np.array(faces)
    for _ in range(subdivisions):
        vertices, triangles = _split(vertices, triangles)
    return vertices, triangles.astype(np.int32)


def _split(vertices: NDArray, triangles: NDArray) -> tuple[NDArray, NDArray]:
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    unique, inverse = np.unique(edges, axis=0, return_inverse=True)
    middle = vertices[unique].mean(axis=1)
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    ab, bc, ca = (len(vertices) + inverse.reshape(-1, 3)).T
    a, b, c = triangles.T
    split = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.vstack([vertices, middle]), np.vstack([np.stack(t, axis=-1) for t in split])
