from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from limen.addon.core.appearance import appearance
from limen.addon.core.body import (
    JOINT_NAMES,
    Body,
    ground_offset_m,
    load_body,
    pose_body,
    pose_surface,
    to_world,
)
from limen.addon.core.dress import dress
from limen.addon.core.poses import (
    MORE_POSES,
    Pose,
    PoseError,
    actions,
    find_pose,
    is_pose,
    is_row_of,
    load_poses,
    mirror,
    to_toml,
)
from limen.addon.core.study import StudyError, dump_study, load_study, parse_study
from limen.addon.core.surface import Surface
from scipy.spatial import ConvexHull, cKDTree

CI = Path(__file__).parents[2] / "studies" / "ci.toml"
LIBRARY = load_poses()
NAMES = sorted(LIBRARY)
PUBLISHED = {
    "kicking": "Kicking",
    "cover_face_with_hands": "Cover Face with Hands",
    "sneak": "Sneak",
    "choking": "Choking",
    "stepping_over_something": "Stepping Over Something",
    "dodging": "Dodging",
    "walking": "Walking",
    "guard_up": "Guard Up",
}
FURTHER_ANOMALIES = {
    *("crawling", "falling", "punching", "climbing", "crouching", "lying", "running", "throwing"),
    "hands_up",
}
NORMAL = {"standing", "waving", "phoning", "pointing"}
LOW = {"crawling_reaching_left", "crawling_low_right", "lying_on_back", "lying_on_side"}
LOW |= {"hands_up_kneeling", "crouching_on_one_knee"}
# Caught in a movement that is about to put a foot, or the body, elsewhere.
IN_FLIGHT = {"falling_backwards", "falling_forwards", "running_drive_right"}
ON_FEET = sorted(set(NAMES) - LOW)
BODY_FILE = Path(__file__).resolve().parents[2] / "addon" / "data" / "bodies" / "SMPLX_NEUTRAL.npz"


def joint(name: str) -> int:
    return JOINT_NAMES.index(name)


@pytest.fixture(scope="module")
def body() -> Body:
    if not BODY_FILE.exists():
        pytest.skip("addon/data/bodies is empty: run `limen bodies --wheel FILE` first")
    return load_body(BODY_FILE)


@pytest.fixture(scope="module")
def clothes(body: Body) -> Surface:
    return dress(body, appearance("limen-texture-00005")).surface


@pytest.fixture(scope="module")
def posed(body: Body, clothes: Surface) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """World vertices and joints of every pose in clothes, standing on the ground."""
    figures = {}
    for name, pose in LIBRARY.items():
        result = pose_surface(body, clothes, (), pose.axis_angle_rad)
        vertices, joints = to_world(result.vertices_m), to_world(result.joints_m)
        up = np.array([0, 0, ground_offset_m(vertices)])
        figures[name] = (vertices + up, joints + up)
    return figures


@pytest.fixture(scope="module")
def part(body: Body) -> dict[str, np.ndarray]:
    """Vertex masks of hands and trunk by dominant joint."""
    owner = np.array(JOINT_NAMES)[body.weights.argmax(axis=1)]
    digits = ("wrist", "index", "middle", "ring", "pinky", "thumb")
    hands = {
        side: np.array([n.startswith(side) and any(d in n for d in digits) for n in owner])
        for side in ("left", "right")
    }
    trunk = ("pelvis", "spine1", "spine2", "spine3", "neck", "head", "jaw")
    return {**hands, "trunk": np.isin(owner, trunk)}


def volume_centroid(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    corners = vertices[faces]
    volumes = np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    return (corners.sum(axis=1) / 4 * volumes[:, None]).sum(axis=0) / volumes.sum()


# ------------------------------------------------------------------------- the library


def test_the_library_has_the_eight_published_actions_under_their_titles() -> None:
    titles = {a: poses[0].title for a, poses in actions(LIBRARY).items()}
    assert {a: titles[a] for a in PUBLISHED} == PUBLISHED


def test_it_has_further_anomalies_and_normal_actions_and_says_which_are_which() -> None:
    kinds = {a: poses[0].kind for a, poses in actions(LIBRARY).items()}
    normal = NORMAL | {"walking"}
    assert {a for a, kind in kinds.items() if kind == "normal"} == normal
    assert {a for a, kind in kinds.items() if kind == "anomaly"} == (
        (set(PUBLISHED) | FURTHER_ANOMALIES) - normal
    )


def test_every_action_is_named_by_its_title_too() -> None:
    for poses in actions(LIBRARY).values():
        assert poses[0].title.lower() in poses[0].phrases


def posture(pose: Pose, body: Body) -> np.ndarray:
    """The 22 body joints (22, 3) about the pelvis, Y up."""
    joints = pose_body(body, (), pose.axis_angle_rad).joints_m[:22]
    return joints - joints[0]


def difference_m(a: np.ndarray, b: np.ndarray) -> float:
    """Root mean square distance of joints, after the turn about the vertical that fits best."""
    flat_a, flat_b = a[:, 0] + 1j * a[:, 2], b[:, 0] + 1j * b[:, 2]
    turn = np.exp(1j * np.angle((np.conj(flat_a) * flat_b).sum()))
    squares = np.abs(flat_a * turn - flat_b) ** 2 + (a[:, 1] - b[:, 1]) ** 2
    return float(np.sqrt(squares.mean()))


@pytest.mark.parametrize("action", sorted(actions(LIBRARY)))
def test_the_variants_of_an_action_differ_also_from_each_others_mirror_images(
    action: str, body: Body
) -> None:
    distinct: list[Pose] = []
    for pose in actions(LIBRARY)[action]:
        images = [posture(p, body) for p in (pose, mirror(pose))]
        if all(
            min(difference_m(image, posture(other, body)) for image in images) > 0.04
            for other in distinct
        ):
            distinct.append(pose)
    assert len(distinct) >= (6 if action in PUBLISHED else 2)


LIMITS_DEG = {"spine": 45, "neck": 50, "head": 50, "collar": 35, "wrist": 95, "foot": 60}


@pytest.mark.parametrize("name", NAMES)
def test_joints_turn_no_farther_than_peoples_do(name: str) -> None:
    angles_deg = np.degrees(LIBRARY[name].axis_angle_rad)
    for k, vector in enumerate(angles_deg[:22]):
        for part, limit in LIMITS_DEG.items():
            if part in JOINT_NAMES[k]:
                assert np.linalg.norm(vector) < limit, JOINT_NAMES[k]
    for side, sign in (("left", 1), ("right", -1)):
        bend, *off_axis = angles_deg[joint(f"{side}_knee")]
        assert -5 <= bend < 155 and np.linalg.norm(off_axis) < 15
        assert -160 < sign * angles_deg[joint(f"{side}_elbow")][1] < 10


def test_no_phrase_names_two_actions() -> None:
    phrases = [p for poses in actions(LIBRARY).values() for p in poses[0].phrases]
    assert len(phrases) == len(set(phrases))


@pytest.mark.parametrize("name", ON_FEET)
def test_the_lowest_vertex_is_on_a_foot(
    name: str, clothes: Surface, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    owner = JOINT_NAMES[clothes.weights[posed[name][0][:, 2].argmin()].argmax()]
    assert owner.endswith(("_foot", "_ankle"))


@pytest.mark.parametrize("name", sorted(set(ON_FEET) - IN_FLIGHT))
def test_the_centre_of_volume_is_over_the_feet_to_6_cm(
    name: str, body: Body, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    pose = LIBRARY[name]
    vertices = to_world(pose_body(body, (), pose.axis_angle_rad).vertices_m)
    vertices[:, 2] += ground_offset_m(vertices)
    centre = volume_centroid(vertices, body.faces)[:2]
    support = ConvexHull(vertices[vertices[:, 2] < 0.03, :2])
    outside_m = (support.equations[:, :2] @ centre + support.equations[:, 2]).max()
    assert outside_m < 0.06


@pytest.mark.parametrize("name", NAMES)
def test_no_hand_is_more_than_3_cm_inside_the_trunk(
    name: str,
    body: Body,
    part: dict[str, np.ndarray],
) -> None:
    vertices = pose_body(body, (), LIBRARY[name].axis_angle_rad).vertices_m
    a, b, c = (vertices[body.faces[:, k]] for k in range(3))
    normals = np.zeros_like(vertices)
    np.add.at(normals, body.faces, np.cross(b - a, c - a)[:, None])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    trunk, trunk_normals = vertices[part["trunk"]], normals[part["trunk"]]
    for side in ("left", "right"):
        hand = vertices[part[side]]
        distance, nearest = cKDTree(trunk).query(hand)
        depth = -np.einsum("hi,hi->h", hand - trunk[nearest], trunk_normals[nearest])
        assert depth[distance < 0.08].max(initial=-1) < 0.03


def hand_centres(joints: np.ndarray) -> list[np.ndarray]:
    return [
        (joints[joint(f"{side}_wrist")] + joints[joint(f"{side}_middle2")]) / 2
        for side in ("left", "right")
    ]


def face_and_throat(joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    eyes = (joints[joint("left_eye_smplhf")] + joints[joint("right_eye_smplhf")]) / 2
    return eyes, (joints[joint("neck")] + joints[joint("head")]) / 2


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("cover_face")])
def test_covering_hands_are_within_10_cm_of_the_face(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    joints = posed[name][1]
    eyes, _ = face_and_throat(joints)
    for hand in hand_centres(joints):
        assert np.linalg.norm(hand - eyes) < 0.10


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("choking")])
def test_choking_hands_are_within_14_cm_of_the_throat_and_farther_from_the_eyes(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    joints = posed[name][1]
    eyes, throat = face_and_throat(joints)
    for hand in hand_centres(joints):
        assert np.linalg.norm(hand - throat) < 0.14
        assert np.linalg.norm(hand - eyes) > np.linalg.norm(hand - throat)


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("walking")])
def test_a_walker_has_hands_below_the_elbows_beside_the_body(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    joints = posed[name][1]
    for side, sign in (("left", 1), ("right", -1)):
        wrist, elbow = joints[joint(f"{side}_wrist")], joints[joint(f"{side}_elbow")]
        shoulder = joints[joint(f"{side}_shoulder")]
        assert wrist[2] < elbow[2] < shoulder[2]
        assert 0.1 < sign * wrist[0] < 0.4


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("stepping_over")])
def test_stepping_over_lifts_one_foot_over_25_cm_and_keeps_the_other_down(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    ankles = [posed[name][1][joint(f"{side}_ankle"), 2] for side in ("left", "right")]
    assert max(ankles) > 0.25 + min(ankles)
    assert min(ankles) < 0.15


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("kicking")])
def test_a_kick_sends_one_foot_half_a_metre_forward(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    joints = posed[name][1]
    forward = [-joints[joint(f"{s}_foot"), 1] + joints[0, 1] for s in ("left", "right")]
    assert max(forward) > 0.5


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("sneak")])
def test_a_sneaker_is_bent_forward_and_low(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    joints = posed[name][1]
    spine = joints[joint("neck")] - joints[0]
    assert np.degrees(np.arctan2(-spine[1], spine[2])) > 30
    assert joints[joint("head"), 2] < 1.35


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("dodging")])
def test_a_dodger_brings_the_head_25_cm_off_the_vertical_and_a_hand_before_it(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    joints = posed[name][1]
    eyes, _ = face_and_throat(joints)
    assert np.linalg.norm(joints[joint("head"), :2] - joints[0, :2]) > 0.25
    assert min(np.linalg.norm(hand - eyes) for hand in hand_centres(joints)) < 0.30


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("guard_up")])
def test_a_guard_has_both_fists_before_the_face(
    name: str, posed: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    joints = posed[name][1]
    eyes, _ = face_and_throat(joints)
    for hand in hand_centres(joints):
        assert abs(hand[2] - eyes[2]) < 0.20
        assert 0.03 < eyes[1] - hand[1] < 0.45


# ------------------------------------------------------------------------- mirror


@pytest.mark.parametrize("name", NAMES)
def test_mirroring_twice_is_the_pose_itself(name: str) -> None:
    twice = mirror(mirror(LIBRARY[name]))
    assert twice.name == name
    np.testing.assert_array_equal(twice.axis_angle_rad, LIBRARY[name].axis_angle_rad)


@pytest.mark.parametrize(
    "name", ["kicking_front_kick_right", "walking_looking_left", "crawling_reaching_left"]
)
def test_the_joints_of_a_mirrored_pose_are_the_reflection_of_its_own(name: str, body: Body) -> None:
    here = pose_body(body, (), LIBRARY[name].axis_angle_rad).joints_m
    there = pose_body(body, (), find_pose(f"{name}_mirrored").axis_angle_rad).joints_m
    for side, other in (("left", "right"), ("right", "left")):
        for part in JOINT_NAMES:
            if side in part:
                reflected = here[joint(part)] * [-1, 1, 1]
                found = there[joint(part.replace(side, other))]
                np.testing.assert_allclose(found, reflected, atol=0.006)  # the body's own 2 mm


def test_a_pose_is_found_by_its_name_and_its_mirror_image_by_mirrored_behind_it() -> None:
    name = "walking_contact_left"
    assert find_pose(name) is LIBRARY[name]
    mirrored = find_pose(f"{name}_mirrored")
    assert (mirrored.name, mirrored.action) == (f"{name}_mirrored", "walking")
    np.testing.assert_array_equal(mirrored.axis_angle_rad, mirror(LIBRARY[name]).axis_angle_rad)


@pytest.mark.parametrize("name", ["nobody_mirrored", "walking_contact_left_mirrored_mirrored", ""])
def test_what_the_library_lacks_has_no_mirror_image(name: str) -> None:
    assert not is_pose(name)
    with pytest.raises(KeyError):
        find_pose(name)


def test_a_pose_that_is_written_with_mirrored_in_its_name_is_that_pose() -> None:
    pose = LIBRARY["walking_contact_left"]
    own = replace(mirror(pose), axis_angle_rad=np.zeros((55, 3)))
    assert find_pose(own.name, {pose.name: pose, own.name: own}) is own


def test_the_library_lists_no_mirror_images() -> None:
    assert [name for name in LIBRARY if name.endswith("_mirrored")] == []


# ------------------------------------------------------------------------- files


def test_poses_survive_being_written_and_read(tmp_path: Path) -> None:
    for action, poses in actions(LIBRARY).items():
        (tmp_path / f"{action}.toml").write_text(to_toml(poses), encoding="utf-8")
    again = load_poses(tmp_path)
    assert list(again) == list(LIBRARY)
    for name, pose in again.items():
        assert (pose.title, pose.phrases) == (LIBRARY[name].title, LIBRARY[name].phrases)
        assert (pose.source, pose.licence) == (LIBRARY[name].source, LIBRARY[name].licence)
        error = np.degrees(pose.axis_angle_rad - LIBRARY[name].axis_angle_rad)
        assert np.abs(error).max() <= 0.005 + 1e-9


def test_the_library_is_read_once_and_nobody_can_change_it_for_others() -> None:
    mine, theirs = load_poses(), load_poses()
    assert mine[NAMES[0]] is theirs[NAMES[0]]
    del mine[NAMES[0]]
    assert NAMES[0] in load_poses()
    with pytest.raises(ValueError, match="read-only"):
        theirs[NAMES[0]].axis_angle_rad[0] = 1


def test_quotes_in_texts_survive_too(tmp_path: Path) -> None:
    pose = Pose("nod", "nod", 'a "nod" \\', ("nod",), np.zeros((55, 3)), "me", "CC0-1.0")
    (tmp_path / "nod.toml").write_text(to_toml([pose]), encoding="utf-8")
    assert load_poses(tmp_path)["nod"].title == 'a "nod" \\'


def test_a_row_holds_a_pose_to_six_decimals() -> None:
    pose = LIBRARY[NAMES[0]]
    angles = pose.axis_angle_rad.round(6)
    assert is_row_of(pose, {"axis_angle_rad": angles.tolist()})
    angles[16, 2] += 1e-5
    assert not is_row_of(pose, {"axis_angle_rad": angles.tolist()})


def test_poses_of_two_actions_do_not_go_into_one_file() -> None:
    with pytest.raises(PoseError, match="these are of: choking, walking"):
        to_toml([LIBRARY["walking_contact_left"], LIBRARY["choking_both_hands"]])


GOOD = """action = "wave"
title = "Waving"
phrases = ["waving"]
source = "test"
licence = "CC0-1.0"

[[pose]]
name = "wave_1"
hands = { left = "open" }
[pose.rotations_deg]
left_shoulder = [0, 0, 90]

[[pose]]
name = "wave_2"
[pose.rotations_deg]
left_elbow = [0, -90, 0]
"""


def test_angles_in_files_are_degrees_and_other_joints_rest(tmp_path: Path) -> None:
    (tmp_path / "wave.toml").write_text(GOOD)
    pose = load_poses(tmp_path)["wave_2"].axis_angle_rad
    assert pose[joint("left_elbow")].tolist() == [0, -np.pi / 2, 0]
    assert np.count_nonzero(pose) == 1


def test_right_hands_are_mirrored_left_hands(tmp_path: Path) -> None:
    (tmp_path / "wave.toml").write_text(GOOD.replace("left = ", "right = "))
    fist = load_poses(tmp_path)["wave_1"].axis_angle_rad
    (tmp_path / "wave.toml").write_text(GOOD)
    left = load_poses(tmp_path)["wave_1"].axis_angle_rad
    np.testing.assert_array_equal(fist[40:], left[25:40] * [1, -1, -1])


@pytest.mark.parametrize(
    ("found", "put", "message"),
    [
        ("left_elbow", "left_elbwo", r"left_elbwo is no key .*mean left_elbow.*wave.toml:16\)"),
        ("[0, -90, 0]", "[0, -90]", r"left_elbow is \[0, -90\]: .*in degrees.*wave.toml:16\)"),
        ("[0, -90, 0]", "[0, -190, 0]", r"left_elbow turns by 190.0 degrees.*wave.toml:16\)"),
        ('left = "open"', 'left = "flat"', r'hands.left is "flat": .*fist.*wave.toml:9\)'),
        ('"wave_2"', '"Wave 2"', r'pose\[1\].name is "Wave 2".*wave.toml:14\)'),
        ('action = "wave"', 'action = "bow"', r'action is "bow": .*wave .*wave.toml:1\)'),
        ('licence = "CC0-1.0"', "", "licence is missing"),
        ('["waving"]', '["Waving"]', r'phrases\[0\] is "Waving": .*lower-case.*wave.toml:3\)'),
        ("source", "sorce", r"sorce is no key of the file: did you mean source.*wave.toml:4\)"),
        ('"wave_2"', '"wave_1"', "pose wave_1 is also in wave.toml"),
        ("[0, -90, 0]", f"[0, {10**400}, 0]", r"left_elbow is \[0, 1000+\.*: .*wave.toml:16\)"),
        ("[[pose]]", "[[pose]", r"not valid TOML: Expected .*wave.toml:7, column 7\)"),
    ],
)
def test_a_fault_is_reported_with_its_line(
    tmp_path: Path, found: str, put: str, message: str
) -> None:
    assert found in GOOD
    (tmp_path / "wave.toml").write_text(GOOD.replace(found, put))
    with pytest.raises(PoseError, match=message):
        load_poses(tmp_path)


def test_all_faults_of_a_file_come_in_one_error(tmp_path: Path) -> None:
    text = GOOD.replace("left_elbow", "left_elbwo").replace('"open"', '"flat"')
    (tmp_path / "wave.toml").write_text(text)
    with pytest.raises(PoseError, match=r"(?s)flat.*left_elbwo"):
        load_poses(tmp_path)


def test_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PoseError, match="holds no pose files"):
        load_poses(tmp_path)


def test_poses_of_ones_own_join_the_library(tmp_path, monkeypatch):
    walking = next(pose for pose in load_poses().values() if pose.action == "walking")
    own = [
        replace(walking, name="walking_home"),
        replace(walking, name="waiting_01", action="waiting", title="Waiting"),
    ]
    for pose in own:
        (tmp_path / f"{pose.action}.toml").write_text(to_toml([pose]))
    monkeypatch.setenv(MORE_POSES, str(tmp_path))
    library = load_poses()
    assert {"walking_home", "waiting_01", walking.name} <= library.keys()
    study = replace(load_study(CI), actions=("waiting",), poses=())
    text = dump_study(study)
    assert parse_study(text).poses == ("waiting_01",)
    monkeypatch.delenv(MORE_POSES)
    with pytest.raises(StudyError) as told:
        parse_study(text)
    assert str(told.value).count("(LIMEN_POSES names a directory of more)") == 2
    monkeypatch.setenv(MORE_POSES, str(tmp_path))

    (tmp_path / "walking.toml").write_text(to_toml([walking]))
    monkeypatch.setenv(MORE_POSES, f"{tmp_path}/.")
    with pytest.raises(PoseError, match=f"has a pose {walking.name}, as Limen itself has"):
        load_poses()
