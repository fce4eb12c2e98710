"""SMPL-X bodies: load, shape and pose them.

Everything here is in the SMPL-X frame (metres, Y up, facing +Z, +X is the body's left) until
`to_world` takes it to Limen's world (Z up, facing -Y).
"""

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .surface import Surface

__all__ = [
    "JOINT_NAMES",
    "PARENTS",
    "Body",
    "BodyError",
    "PosedBody",
    "ground_offset_m",
    "load_body",
    "pose_body",
    "pose_surface",
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
        shells: "tights" and "skirt": loose surfaces about the body that clothes are cut from. Empty
            in genuine files.
        lips: How far each vertex belongs to the lips (V,), 0 to 1, or None.
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
    shells: Mapping[str, Surface] = field(default_factory=dict)
    lips: _Floats | None = None

    def surface(self) -> Surface:
        """The naked body at rest."""
        return Surface(
            self.vertices_m,
            self.faces,
            self.weights,
            self.shapedirs,
            np.arange(len(self.vertices_m)),
        )


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
        shells={name: _shell(arrays, name) for name in _SHELLS if _shell_keys(name)[0] in arrays},
        lips=arrays["limen_lips"].astype(np.float64) if "limen_lips" in arrays else None,
    )


_SHELLS = ("tights", "skirt")
_SHELL_ARRAYS = ("v", "f", "weights", "shapedirs")


def _shell_keys(name: str) -> list[str]:
    return [f"limen_{name}_{array}" for array in _SHELL_ARRAYS]


def _shell(arrays: dict[str, NDArray[Any]], name: str) -> Surface:
    vertices, faces, weights, shapedirs = (arrays[key] for key in _shell_keys(name))
    return Surface(
        vertices.astype(np.float64),
        faces.astype(np.int64),
        weights.astype(np.float64),
        shapedirs[:, :, :10],
        np.zeros(len(vertices), np.int64),
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
            extra = [key for name in _SHELLS for key in _shell_keys(name)]
            wanted = (*_REQUIRED_KEYS, "posedirs", "vt", "ft", "limen_lips", *extra)
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
        "limen_lips": [(v,)],
    }
    faults = []
    for name in _SHELLS:
        there = [key in arrays for key in _shell_keys(name)]
        if any(there) and not all(there):
            faults.append(f"it has some but not all of {', '.join(_shell_keys(name))}")
            return faults
        if any(there):
            n = len(arrays[f"limen_{name}_v"])
            shapes: list[tuple[int | None, ...]] = [(n, 3), (None, 3), (n, joints)]
            allowed |= dict(zip(_shell_keys(name), [*([s] for s in shapes)], strict=False))
            allowed[f"limen_{name}_shapedirs"] = [(n, 3, 20)]
    for key, array in arrays.items():
        whole = key in ("f", "ft", "kintree_table") or key.endswith("_f")
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
    corners_of = [("f", "v_template"), ("ft", "vt")]
    corners_of += [(f"limen_{name}_f", f"limen_{name}_v") for name in _SHELLS]
    for key, corners in corners_of:
        count = len(arrays.get(corners, ()))
        if (
            key in arrays
            and arrays[key].size
            and not 0 <= arrays[key].min() <= arrays[key].max() < count
        ):
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

    Returns:
        Vertices and joints in the SMPL-X frame. The pelvis stays where the rest pose has it.

    Raises:
        BodyError: More coefficients than the body has, or an array of another shape.
    """
    pose = np.asarray(pose, dtype=np.float64)
    if pose.shape != (len(JOINT_NAMES), 3):
        raise BodyError(f"pose has shape {pose.shape}, allowed is ({len(JOINT_NAMES)}, 3)")
    shaped = _shaped(body, betas, expression)
    transforms, joints, rotations = _joint_transforms(body, shaped, pose)
    if body.posedirs is not None:
        shaped = shaped + body.posedirs @ (rotations[1:] - np.eye(3)).ravel()
    blended = (body.weights @ transforms).reshape(-1, 3, 4)
    vertices = np.einsum("vab,vb->va", blended[:, :, :3], shaped) + blended[:, :, 3]
    return PosedBody(vertices_m=vertices, joints_m=joints)


def pose_surface(body: Body, surface: Surface, betas: ArrayLike, pose: ArrayLike) -> PosedBody:
    """Shape and pose a surface that goes with a body, as `pose_body` does the body itself.

    Args:
        body: Whose skeleton moves the surface.
        surface: Skin or clothes at rest on the mean shape.
        betas: Shape coefficients; those beyond the surface's own do not change it.
        pose: Axis-angle (55, 3) in radians.

    Returns:
        The surface's vertices and the body's joints.

    Raises:
        BodyError: As `pose_body`.
    """
    pose = np.asarray(pose, dtype=np.float64)
    if pose.shape != (len(JOINT_NAMES), 3):
        raise BodyError(f"pose has shape {pose.shape}, allowed is ({len(JOINT_NAMES)}, 3)")
    transforms, joints, rotations = _joint_transforms(body, _shaped(body, betas), pose)
    coefficients = np.asarray(betas, dtype=np.float64)[: surface.shapedirs.shape[2]]
    shaped = surface.vertices_m + surface.shapedirs[:, :, : len(coefficients)] @ coefficients
    if body.posedirs is not None:
        moves = body.posedirs @ (rotations[1:] - np.eye(3)).ravel()
        shaped = shaped + moves[surface.source]
    blended = (surface.weights @ transforms).reshape(-1, 3, 4)
    vertices = np.einsum("vab,vb->va", blended[:, :, :3], shaped) + blended[:, :, 3]
    return PosedBody(vertices_m=vertices, joints_m=joints)


def _joint_transforms(
    body: Body, shaped: _Floats, pose: _Floats
) -> tuple[_Floats, _Floats, _Floats]:
    """Each joint's transform (55, 12), its place (55, 3) and its rotation against its parent."""
    rest_joints = body.joint_regressor @ shaped
    rotations = rotation_matrices(pose)
    turned = rotations.copy()
    joints = rest_joints.copy()
    for j, parent in enumerate(PARENTS[1:].tolist(), start=1):
        turned[j] = turned[parent] @ rotations[j]
        joints[j] = joints[parent] + turned[parent] @ (rest_joints[j] - rest_joints[parent])
    shifts = joints - np.einsum("jab,jb->ja", turned, rest_joints)
    transforms = np.concatenate([turned, shifts[:, :, None]], axis=2).reshape(-1, 12)
    return transforms, joints, rotations


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
