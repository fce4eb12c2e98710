"""SMPL-X bodies: load, shape, pose and dress them.

Everything here is in the SMPL-X frame (metres, Y up, facing +Z, +X is the body's left) until
`to_world` takes it to Limen's world (Z up, facing -Y).
"""

import hashlib
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CLOTHING_REGIONS",
    "JOINT_NAMES",
    "PARENTS",
    "Body",
    "BodyError",
    "PosedBody",
    "clothing_displacements_m",
    "clothing_regions",
    "ground_offset_m",
    "load_body",
    "pose_body",
    "rotation_matrices",
    "stature_m",
    "to_world",
]

_Floats = NDArray[np.floating[Any]]
_Ints = NDArray[np.int64]

_FINGERS = ("index", "middle", "pinky", "ring", "thumb")

JOINT_NAMES: tuple[str, ...] = (
    "pelvis",
    "left_hip",
    "right_hip",
    "spine1",
    "left_knee",
    "right_knee",
    "spine2",
    "left_ankle",
    "right_ankle",
    "spine3",
    "left_foot",
    "right_foot",
    "neck",
    "left_collar",
    "right_collar",
    "head",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "jaw",
    "left_eye_smplhf",
    "right_eye_smplhf",
    *(f"left_{finger}{k}" for finger in _FINGERS for k in (1, 2, 3)),
    *(f"right_{finger}{k}" for finger in _FINGERS for k in (1, 2, 3)),
)
"""The 55 joints in SMPL-X order."""


def _parents() -> _Ints:
    body = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19, 15, 15, 15]
    for wrist in (20, 21):
        for _ in _FINGERS:
            first = len(body)
            body += [wrist, first, first + 1]
    parents = np.array(body)
    parents.flags.writeable = False
    return parents


PARENTS: _Ints = _parents()
"""Index (55,) of each joint's parent; -1 for the pelvis. A parent comes before its children."""

CLOTHING_REGIONS: tuple[str, ...] = ("skin", "shirt", "trousers", "shoes", "hair")
"""Names of the values of `clothing_regions`."""

_REQUIRED_KEYS = ("v_template", "f", "weights", "J_regressor", "kintree_table", "shapedirs")


class BodyError(Exception):
    """A body file is unusable, or a body was given parameters that it does not have."""


@dataclass(frozen=True, eq=False)
class Body:
    """A body model with V vertices and F triangles.

    Attributes:
        vertices_m: Template (V, 3) in metres: rest pose (T), all coefficients zero.
        faces: Vertex indices (F, 3).
        weights: Skinning weights (V, 55); rows sum to one.
        joint_regressor: Joints from rest vertices (55, V).
        shapedirs: Vertex displacement per unit of each shape coefficient (V, 3, S).
        expressiondirs: The same for each expression coefficient (V, 3, E).
        posedirs: Pose-dependent corrections (V, 3, 486), or None where the file has only zeros.
        uv: Texture coordinates (T, 2) in 0..1, or None.
        uv_faces: Indices (F, 3) into `uv`, or None.
        name: File name without its ending, as in "SMPLX_NEUTRAL".
        sha256: Hash of the file in hex: with the name, the body's identity in a dataset.
    """

    vertices_m: _Floats
    faces: _Ints
    weights: _Floats
    joint_regressor: _Floats
    shapedirs: _Floats
    expressiondirs: _Floats
    posedirs: _Floats | None
    uv: _Floats | None
    uv_faces: _Ints | None
    name: str
    sha256: str


@dataclass(frozen=True, eq=False)
class PosedBody:
    """Vertices (V, 3) and joints (55, 3) of a posed body in metres."""

    vertices_m: _Floats
    joints_m: _Floats


def load_body(path: Path) -> Body:
    """Read an SMPL-X file: genuine, or built by `limen bodies`.

    Any number of vertices is taken. `shapedirs` has 400 columns (300 shape, 100 expression) or 20
    (10 and 10). Nothing is ever unpickled; the pickled tables of genuine files (`joint2num`,
    `part2num`) are not needed and not read.

    Args:
        path: A file such as `SMPLX_NEUTRAL.npz`.

    Returns:
        The body.

    Raises:
        BodyError: The file is missing, is not an .npz, needs unpickling, or its arrays do not
            fit each other. The message lists every fault.
    """
    if not path.is_file():
        raise BodyError(
            f"{path} does not exist: build bodies with `limen bodies --wheel FILE`, or put a "
            "licensed SMPLX_NEUTRAL.npz from smpl-x.is.tue.mpg.de there"
        )
    if not zipfile.is_zipfile(path):
        raise BodyError(f"{path} is not an .npz file. {_PICKLE_ADVICE}")
    arrays = _read_arrays(path)
    faults = _faults(arrays)
    if faults:
        raise BodyError(f"{path} is not a usable SMPL-X file:\n  " + "\n  ".join(faults))

    shapedirs = arrays["shapedirs"]
    shapes = 300 if shapedirs.shape[2] == 400 else 10
    posedirs = arrays.get("posedirs")
    return Body(
        vertices_m=arrays["v_template"].astype(np.float64),
        faces=arrays["f"].astype(np.int64),
        weights=arrays["weights"].astype(np.float64),
        joint_regressor=arrays["J_regressor"].astype(np.float64),
        shapedirs=shapedirs[:, :, :shapes],
        expressiondirs=shapedirs[:, :, shapes:],
        posedirs=posedirs if posedirs is not None and posedirs.any() else None,
        uv=arrays["vt"].astype(np.float64) if "vt" in arrays else None,
        uv_faces=arrays["ft"].astype(np.int64) if "ft" in arrays else None,
        name=path.stem,
        sha256=_sha256(path),
    )


_PICKLE_ADVICE = (
    "Limen never unpickles files. Convert a trusted .pkl once: "
    "`d = pickle.load(open('SMPLX_NEUTRAL.pkl', 'rb'), encoding='latin1'); "
    "np.savez('SMPLX_NEUTRAL.npz', **{k: np.asarray(getattr(v, 'todense', lambda: v)()) "
    "for k, v in d.items()})`"
)


_DAMAGED = (EOFError, MemoryError, NotImplementedError, OSError, RuntimeError, zipfile.BadZipFile)
_BYTES_MOST = 2 << 30  # unpacked; the genuine files have 0.2 GB


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """What is needed of the file, by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _BYTES_MOST:
            raise BodyError(f"{path} unpacks to {size / 1e9:.1f} GB: it is no SMPL-X file")
        with np.load(path, allow_pickle=False) as data:
            missing = [key for key in _REQUIRED_KEYS if key not in data]
            if missing:
                raise BodyError(
                    f"{path} lacks {', '.join(missing)}: an SMPL-X file has "
                    f"{', '.join(_REQUIRED_KEYS)}"
                )
            wanted = (*_REQUIRED_KEYS, "posedirs", "vt", "ft")
            return {key: _read_array(data, key, path) for key in wanted if key in data}
    except (*_DAMAGED, zlib.error) as error:
        raise BodyError(f"{path} is damaged ({error}): get it anew") from error


def _read_array(data: Any, key: str, path: Path) -> NDArray[Any]:
    try:
        array = np.asarray(data[key])
    except ValueError as error:
        raise BodyError(f"{path}: {key} is unreadable ({error}). {_PICKLE_ADVICE}") from error
    return array


def _faults(arrays: dict[str, NDArray[Any]]) -> list[str]:
    """What does not fit, one line per array."""
    v = len(arrays["v_template"]) if arrays["v_template"].ndim else 0
    f = len(arrays["f"]) if arrays["f"].ndim else 0
    joints = len(JOINT_NAMES)
    allowed: dict[str, list[tuple[int | None, ...]]] = {
        "v_template": [(v, 3)],
        "f": [(f, 3)],
        "weights": [(v, joints)],
        "J_regressor": [(joints, v)],
        "kintree_table": [(2, joints)],
        "shapedirs": [(v, 3, 400), (v, 3, 20)],
        "posedirs": [(v, 3, 9 * (joints - 1))],
        "vt": [(None, 2)],
        "ft": [(f, 3)],
    }
    faults = []
    for key, array in arrays.items():
        whole = key in ("f", "ft", "kintree_table")
        if array.dtype.kind not in ("iu" if whole else "iuf"):
            what = "whole numbers" if whole else "numbers"
            faults.append(f"{key} holds values of type {array.dtype}, allowed are {what}")
        elif not whole and array.size and not -1e4 < array.min() <= array.max() < 1e4:
            faults.append(
                f"{key} holds {array.min():.3g} to {array.max():.3g}, allowed is below 10000"
            )
        fits = any(
            len(shape) == array.ndim
            and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
            for shape in allowed[key]
        )
        if not fits:
            options = " or ".join(str(s).replace("None", "any") for s in allowed[key])
            faults.append(f"{key} has shape {array.shape}, allowed is {options}")
    if faults:
        return faults
    if not np.array_equal(arrays["kintree_table"][0, 1:], PARENTS[1:]):
        faults.append("kintree_table holds other parents than the SMPL-X skeleton's")
    for key, corners, count in (("f", "v_template", v), ("ft", "vt", len(arrays.get("vt", ())))):
        if key in arrays and f and not 0 <= arrays[key].min() <= arrays[key].max() < count:
            faults.append(
                f"{key} holds {arrays[key].min()} to {arrays[key].max()}, allowed is 0 to "
                f"{count - 1} ({corners})"
            )
    sums = arrays["weights"].sum(axis=1)
    if not np.allclose(sums, 1, atol=1e-3):
        faults.append(f"weights sum to {sums.min():.3g}..{sums.max():.3g} per vertex, not to 1")
    return faults


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ------------------------------------------------------------------------- posing


def pose_body(
    body: Body,
    betas: ArrayLike,
    pose: ArrayLike,
    expression: ArrayLike | None = None,
    clothing_m: ArrayLike | None = None,
) -> PosedBody:
    """Shape a body and pose it by linear blend skinning.

    The same as the smplx package with `use_pca=False, flat_hand_mean=True`: SMPL (Loper et al.
    2015, equations 2 to 4) with the SMPL-X skeleton (Pavlakos et al. 2019).

    Args:
        body: The model.
        betas: Shape coefficients (n,), n up to the body's; the rest are zero.
        pose: Rotation of each joint relative to its parent as axis-angle (55, 3) in radians.
            Joint frames are parallel to the body's axes in the rest pose.
        expression: Expression coefficients (n,).
        clothing_m: Displacements (V, 3) in the rest pose, as `clothing_displacements_m` gives.
            They move vertices only, never joints.

    Returns:
        Vertices and joints in the SMPL-X frame. The pelvis stays where the rest pose has it.

    Raises:
        BodyError: More coefficients than the body has, or an array of another shape.
    """
    pose = np.asarray(pose, dtype=np.float64)
    if pose.shape != (len(JOINT_NAMES), 3):
        raise BodyError(f"pose has shape {pose.shape}, allowed is ({len(JOINT_NAMES)}, 3)")
    shaped = _shaped(body, betas, expression)
    rest_joints = body.joint_regressor @ shaped
    rotations = rotation_matrices(pose)
    if body.posedirs is not None:
        shaped = shaped + body.posedirs @ (rotations[1:] - np.eye(3)).ravel()
    if clothing_m is not None:
        clothing = np.asarray(clothing_m, dtype=np.float64)
        if clothing.shape != shaped.shape:
            raise BodyError(f"clothing_m has shape {clothing.shape}, allowed is {shaped.shape}")
        shaped = shaped + clothing

    turned = rotations.copy()
    joints = rest_joints.copy()
    for j, parent in enumerate(PARENTS[1:].tolist(), start=1):
        turned[j] = turned[parent] @ rotations[j]
        joints[j] = joints[parent] + turned[parent] @ (rest_joints[j] - rest_joints[parent])
    shifts = joints - np.einsum("jab,jb->ja", turned, rest_joints)
    transforms = np.concatenate([turned, shifts[:, :, None]], axis=2).reshape(-1, 12)
    blended = (body.weights @ transforms).reshape(-1, 3, 4)
    vertices = np.einsum("vab,vb->va", blended[:, :, :3], shaped) + blended[:, :, 3]
    return PosedBody(vertices_m=vertices, joints_m=joints)


def stature_m(body: Body, betas: ArrayLike = ()) -> float:
    """Height of the body in its rest pose: the vertical extent of its vertices."""
    return float(np.ptp(_shaped(body, betas)[:, 1]))


def to_world(vertices_m: ArrayLike) -> _Floats:
    """Turn points (..., 3) from the SMPL-X frame to Limen's: (x, y, z) becomes (x, -z, y)."""
    points = np.asarray(vertices_m)
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)


def ground_offset_m(world_vertices_m: ArrayLike) -> float:
    """What to add to Z so that the lowest of the vertices (V, 3), in world axes, is at Z = 0."""
    return -float(np.asarray(world_vertices_m)[:, 2].min())


def rotation_matrices(axis_angle: ArrayLike) -> _Floats:
    """Rotation matrices (..., 3, 3) of axis-angle vectors (..., 3) in radians (Rodrigues)."""
    vectors = np.asarray(axis_angle, dtype=np.float64)
    angle = np.linalg.norm(vectors, axis=-1, keepdims=True)
    x, y, z = np.moveaxis(vectors / np.where(angle > 0, angle, 1), -1, 0)
    o = np.zeros_like(x)
    cross = np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*x.shape, 3, 3)
    angle = angle[..., None]
    rotation: _Floats = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return rotation


def _shaped(body: Body, betas: ArrayLike, expression: ArrayLike | None = None) -> _Floats:
    """Rest vertices (V, 3)."""
    shaped = body.vertices_m
    for name, values, directions in (
        ("betas", betas, body.shapedirs),
        ("expression", () if expression is None else expression, body.expressiondirs),
    ):
        coefficients = np.asarray(values, dtype=np.float64)
        if coefficients.ndim != 1 or len(coefficients) > directions.shape[2]:
            raise BodyError(
                f"{name} has shape {coefficients.shape}: {body.name} takes a list of up to "
                f"{directions.shape[2]} numbers"
            )
        if len(coefficients):
            shaped = shaped + directions[:, :, : len(coefficients)] @ coefficients
    return shaped


# ------------------------------------------------------------------------- clothing


def clothing_regions(body: Body) -> _Ints:
    """What each face shows (F,): an index into `CLOTHING_REGIONS`.

    Garments are cut from the rest pose by planes at the skeleton's landmarks (wrists, neck,
    waist, ankles, hairline), so a cut runs straight round a limb whatever the mesh.
    """
    c = body.vertices_m[body.faces].mean(axis=1)
    at = dict(zip(JOINT_NAMES, body.joint_regressor @ body.vertices_m, strict=True))
    size = float(np.ptp(body.vertices_m[:, 1])) / 1.70
    eyes = (at["left_eye_smplhf"] + at["right_eye_smplhf"]) / 2
    x, y, z = abs(c[:, 0]), c[:, 1], c[:, 2]

    hips_y = (at["left_hip"][1] + at["right_hip"][1]) / 2
    ankles_y = (at["left_ankle"][1] + at["right_ankle"][1]) / 2
    neckline = at["neck"][1] - 0.45 * (z - at["neck"][2])
    # Forehead, temple, above the ear, behind the ear, nape: height over the eyes by depth.
    hairline = eyes[1] + size * np.interp(
        (eyes[2] - z) / size,
        [0.00, 0.03, 0.05, 0.11, 0.125, 0.15],
        [0.065, 0.055, 0.03, 0.02, -0.05, -0.075],
    )
    regions = np.full(len(c), CLOTHING_REGIONS.index("shirt"))
    regions[(y > neckline) & (x < 0.13 * size)] = CLOTHING_REGIONS.index("skin")
    regions[(y > hairline) & (x < 0.13 * size)] = CLOTHING_REGIONS.index("hair")
    wrists_x = (at["left_wrist"][0] - at["right_wrist"][0]) / 2
    regions[x > wrists_x - 0.015 * size] = CLOTHING_REGIONS.index("skin")
    regions[y < hips_y + 0.02 * size] = CLOTHING_REGIONS.index("trousers")
    regions[y < ankles_y + 0.01 * size] = CLOTHING_REGIONS.index("shoes")
    return regions


_THICKNESS_M = (0.0, 0.012, 0.010, 0.006, 0.014)
_TROUSER_FLARE_M = 0.014
_SMOOTHING_STEPS = (0, 25, 20, 10, 6)
_HEM_STEPS = 12
_WORN_OVER = np.array([0, 3, 2, 1, 1])  # shirt over trousers over shoes, all over skin
_SOLE_M = 0.02


def clothing_displacements_m(body: Body) -> _Floats:
    """Displacements (V, 3) in the rest pose that turn skin into garments, for `pose_body`.

    Garments hang off the skin by 6 to 24 mm, do not show the anatomy below, and end in smooth
    hems; shoes hide the toes and have a flat sole.
    """
    rest = body.vertices_m
    regions = clothing_regions(body)
    # A vertex on a hem belongs to the outer garment, so that it is the inner one that slopes.
    rank = np.zeros(len(rest), dtype=np.int64)
    by_rank = regions + len(CLOTHING_REGIONS) * _WORN_OVER[regions]
    np.maximum.at(rank, body.faces, by_rank[:, None])
    vertex_region = rank % len(CLOTHING_REGIONS)

    edges, edge_of_side = _edges(body.faces)
    lowest, highest = np.full(len(edges), len(CLOTHING_REGIONS)), np.full(len(edges), -1)
    np.minimum.at(lowest, edge_of_side, np.tile(regions, 3))
    np.maximum.at(highest, edge_of_side, np.tile(regions, 3))
    hems = edges[lowest != highest]
    smooth = _smoothed(rest, hems, np.full(len(rest), _HEM_STEPS))
    steps = np.array(_SMOOTHING_STEPS)[vertex_region]
    steps[hems] = 0
    smooth = _smoothed(smooth, edges, steps)

    shoes = vertex_region == CLOTHING_REGIONS.index("shoes")
    joints = body.joint_regressor @ rest
    for side in ("left", "right"):
        ball = joints[JOINT_NAMES.index(f"{side}_foot")]
        foot = shoes & (rest[:, 0] * ball[0] > 0)
        if foot.any():
            smooth[foot] = _toe_cap(smooth[foot], rest[foot], float(ball[2]))

    thickness = np.array(_THICKNESS_M)[vertex_region]
    legs = vertex_region == CLOTHING_REGIONS.index("trousers")
    if legs.any():
        y = rest[legs, 1]
        thickness[legs] += _TROUSER_FLARE_M * (y.max() - y) / max(float(np.ptp(y)), 1e-9)
    displaced: _Floats = smooth + thickness[:, None] * _vertex_normals(smooth, body.faces)
    return displaced - rest


def _toe_cap(smooth: _Floats, foot: _Floats, ball_z: float) -> _Floats:
    """Put the toes of a foot (n, 3) under one rounded cap and flatten the sole."""
    low, high = foot.min(axis=0), foot.max(axis=0)
    stations = np.linspace(ball_z, high[2], 7)
    slices = [foot[abs(foot[:, 2] - z) <= stations[1] - stations[0]] for z in stations]
    left, right, top = (
        np.interp(smooth[:, 2], stations, [pick(s[:, axis]) for s in slices])
        for pick, axis in ((np.min, 0), (np.max, 0), (np.max, 1))
    )
    middle_x, middle_y = (left + right) / 2, (low[1] + top) / 2
    half_width, half_height = (right - left) / 2, np.maximum(top - low[1], 1e-3) / 2
    u, v = (smooth[:, 0] - middle_x) / half_width, (smooth[:, 1] - middle_y) / half_height
    # |u|^3 + |v|^3 = 1 is a rounded box: the section of a shoe.
    radius = np.maximum((abs(u) ** 3 + abs(v) ** 3) ** (1 / 3), 1e-6)
    cap = np.stack(
        [middle_x + half_width * u / radius, middle_y + half_height * v / radius, smooth[:, 2]],
        axis=1,
    )
    share = np.clip((smooth[:, 2] - ball_z + _SOLE_M) / _SOLE_M, 0, 1)[:, None]
    shoe: _Floats = (1 - share) * smooth + share * cap
    shoe[shoe[:, 1] < low[1] + _SOLE_M, 1] = low[1]
    return shoe


def _smoothed(vertices: _Floats, edges: _Ints, steps: _Ints) -> _Floats:
    """Move each vertex to its neighbours' mean, as many times as `steps` (V,) says for it."""
    a, b = np.concatenate([edges, edges[:, ::-1]]).T
    n = len(vertices)
    degree = np.bincount(a, minlength=n)
    for step in range(int(steps.max())):
        sums = np.stack([np.bincount(a, vertices[b, k], minlength=n) for k in range(3)], axis=1)
        moving = (steps > step) & (degree > 0)
        vertices = np.where(moving[:, None], sums / np.maximum(degree, 1)[:, None], vertices)
    return vertices


def _edges(faces: _Ints) -> tuple[_Ints, _Ints]:
    """Every edge once as vertex pairs (E, 2), and the edge (3F,) that each face side is."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges, edge_of_side = np.unique(np.sort(sides, axis=1), axis=0, return_inverse=True)
    return edges, edge_of_side.reshape(-1)


def _vertex_normals(vertices: _Floats, faces: _Ints) -> _Floats:
    """Unit normals (V, 3), faces weighted by area."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    face_normals = np.cross(b - a, c - a)
    normals: _Floats = np.stack(
        [
            np.bincount(faces.ravel(), np.repeat(face_normals[:, k], 3), minlength=len(vertices))
            for k in range(3)
        ],
        axis=1,
    )
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    unit: _Floats = normals / np.maximum(lengths, 1e-12)
    return unit
