"""Motion files: what is read is the movement, in SMPL-X's frame; what is none is refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.analysis.motion.clip import MotionError, facing_forward
from limen.analysis.motion.files import find_motions, read_motion
from limen.analysis.motion.frames import FrameRule, best_frame
from motions import standing, write_amass
from scipy.spatial.transform import Rotation

ELBOW = 18
BVH = """HIERARCHY
ROOT Hips
{{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT LeftUpLeg
  {{ OFFSET 1 0 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT LeftLeg
    {{ OFFSET 0 -4 0
      CHANNELS 3 Zrotation Yrotation Xrotation
      JOINT LeftFoot {{ OFFSET 0 -4.5 0 CHANNELS 3 Zrotation Yrotation Xrotation
        End Site {{ OFFSET 0 0 1 }} }} }} }}
  JOINT RightUpLeg
  {{ OFFSET -1 0 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT RightLeg {{ OFFSET 0 -4 0 CHANNELS 3 Zrotation Yrotation Xrotation
      End Site {{ OFFSET 0 -4.5 0 }} }} }}
  JOINT LeftArm
  {{ OFFSET 2 5 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT LeftForeArm {{ OFFSET {arm} CHANNELS 3 Zrotation Yrotation Xrotation
      JOINT LeftHand {{ OFFSET {arm} CHANNELS 3 Zrotation Yrotation Xrotation
        End Site {{ OFFSET {arm} }} }} }} }}
  JOINT RightArm
  {{ OFFSET -2 5 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT RightForeArm {{ OFFSET -3 0 0 CHANNELS 3 Zrotation Yrotation Xrotation
      JOINT RightHand {{ OFFSET -3 0 0 CHANNELS 3 Zrotation Yrotation Xrotation
        End Site {{ OFFSET -1 0 0 }} }} }} }}
}}
MOTION
Frames: 2
Frame Time: 0.04
{frames}
"""
CHANNELS = 6 + 3 * 11


def write_bvh(path, arm="3 0 0", **rotations_deg):
    """Two frames; Z rotations in degrees of the second, by place among the joints."""
    frames = np.zeros((2, CHANNELS))
    frames[:, 1] = 8.5
    for place, angle in rotations_deg.items():
        frames[1, 3 + 3 * int(place[1:])] = angle
    lines = "\n".join(" ".join(map(str, row)) for row in frames)
    path.write_text(BVH.format(arm=arm, frames=lines))
    return path


@pytest.mark.parametrize("rate_key", ["mocap_frame_rate", "mocap_framerate"])
@pytest.mark.parametrize("gender", ["female", b"female"])
def test_an_amass_motion_is_read_with_its_rotations_upright(tmp_path, rate_key, gender):
    poses = standing(3)
    poses[1, ELBOW] = [0.1, -0.2, 0.3]
    poses[2, 40] = [0, 0, 0.4]
    file = write_amass(
        tmp_path / "a_stageii.npz", poses, rate=120, rate_key=rate_key, gender=gender
    )
    clip = read_motion(file)
    assert clip.frames_per_s == 120
    np.testing.assert_allclose(clip.axis_angle_rad, poses, atol=1e-12)
    np.testing.assert_allclose(clip.pelvis_m[0], [0, 0.92, 0], atol=1e-12)  # Y is up


def test_smplh_hands_come_after_the_jaw_and_the_eyes_that_it_has_not(tmp_path):
    poses = standing(1, joints=52)
    poses[0, 22], poses[0, 51] = [0.1, 0, 0], [0.2, 0, 0]
    clip = read_motion(write_amass(tmp_path / "a_poses.npz", poses))
    assert clip.axis_angle_rad.shape == (1, 55, 3)
    np.testing.assert_allclose(clip.axis_angle_rad[0, 25], [0.1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(clip.axis_angle_rad[0, 54], [0.2, 0, 0], atol=1e-12)
    assert not clip.axis_angle_rad[0, 22:25].any()


def test_a_folder_of_amass_yields_motions_only(tmp_path):
    write_amass(tmp_path / "CMU/1/b_stageii.npz", standing(1))
    write_amass(tmp_path / "CMU/1/a_poses.npz", standing(1, 52))
    write_amass(tmp_path / "CMU/1/a_stagei.npz", standing(1))
    (tmp_path / "CMU/1/shape.npz").write_bytes(b"")
    assert [path.name for path in find_motions(tmp_path)] == ["a_poses.npz", "b_stageii.npz"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("trans"), "lacks trans"),
        (lambda d: d.update(poses=np.zeros((2, 72))), "(T, 165)"),
        (lambda d: d.update(trans=np.zeros((1, 3))), "needed is (2, 3)"),
        (lambda d: d.update(poses=np.full((2, 165), np.nan)), "no finite numbers"),
        (lambda d: d.update(poses=np.full((2, 165), 1e300)), "no finite numbers"),
        (lambda d: d.update(trans=np.full((2, 3), 1e300)), "no finite numbers"),
        (lambda d: d.update(mocap_frame_rate=np.array(0.0)), "1 to 1000"),
        (lambda d: d.pop("mocap_frame_rate"), "names no frame rate"),
        (lambda d: d.update(poses=np.full((2, 165), None, object)), "poses is unreadable"),
    ],
)
def test_a_file_that_is_no_motion_is_refused_in_a_line(tmp_path, change, said):
    data = {
        "poses": np.zeros((2, 165)),
        "trans": np.zeros((2, 3)),
        "mocap_frame_rate": np.array(30.0),
    }
    change(data)
    np.savez(tmp_path / "a_stageii.npz", **data)
    with pytest.raises(MotionError) as error:
        read_motion(tmp_path / "a_stageii.npz")
    assert said in str(error.value)
    assert "a_stageii.npz" in str(error.value)


@pytest.mark.parametrize("name", ["a.npz", "a.bvh", "humanoid3d_a.txt", "a.fbx", "missing.bvh"])
@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04nothing", b"HIERARCHY ROOT a {", b'{"Frames"']
)
def test_a_damaged_file_is_refused_in_a_line(tmp_path, name, content):
    if name != "missing.bvh":
        (tmp_path / name).write_bytes(content)
    with pytest.raises(MotionError, match=name):
        read_motion(tmp_path / name)


def test_a_bvh_arm_points_where_the_file_has_it_whatever_its_rest_pose(tmp_path):
    t_pose = write_bvh(tmp_path / "t.bvh", arm="3 0 0", j6=-90)  # lowered from a T
    hanging = write_bvh(tmp_path / "h.bvh", arm="0 -3 0", j6=0)  # hanging at rest
    shoulder = 16
    for path in (t_pose, hanging):
        clip = read_motion(path)
        np.testing.assert_allclose(
            np.degrees(clip.axis_angle_rad[1, shoulder]), [0, 0, -90], atol=1e-6
        )
        assert not clip.axis_angle_rad[1, [17, 18, 19, 20]].round(6).any()
        assert clip.frames_per_s == 25
    np.testing.assert_allclose(read_motion(t_pose).pelvis_m[0], [0, 0.85, 0], atol=1e-9)


def test_a_bvh_without_a_human_in_it_names_what_was_looked_for(tmp_path):
    text = BVH.format(arm="3 0 0", frames="0 " * 2 * CHANNELS).replace("Arm", "Wheel")
    (tmp_path / "a.bvh").write_text(text)
    with pytest.raises(MotionError, match=r"left_shoulder.*LeftWheel"):
        read_motion(tmp_path / "a.bvh")


def test_a_deepmimic_frame_at_rest_stands_with_hanging_arms(tmp_path):
    quaternion = [1, 0, 0, 0]
    frame = [1 / 60, 0, 0.9, 0]
    for count in (4, 4, 4, 4, 1, 4, 4, 1, 4, 1, 4, 4, 1):
        frame += quaternion if count == 4 else [0.0]
    path = tmp_path / "humanoid3d_rest.txt"
    path.write_text(json.dumps({"Frames": [frame, frame]}))
    clip = read_motion(path)
    expected = np.zeros((55, 3))
    expected[16, 2], expected[17, 2] = -np.pi / 2, np.pi / 2
    np.testing.assert_allclose(clip.axis_angle_rad[0], expected, atol=1e-9)
    assert clip.frames_per_s == pytest.approx(60)


@settings(max_examples=30, deadline=None)
@given(st.floats(-180, 180), st.floats(-40, 40), st.floats(-60, 60))
def test_a_pose_faces_forward_whatever_way_the_actor_walked(heading, lean, bow):
    root = Rotation.from_euler("zx", [lean, bow], degrees=True)
    turned = Rotation.from_euler("y", heading, degrees=True) * root
    poses = np.zeros((2, 55, 3))
    poses[0, 0], poses[1, 0] = root.as_rotvec(), turned.as_rotvec()
    forward = facing_forward(poses)
    np.testing.assert_allclose(forward[0], forward[1], atol=1e-9)
    chest = Rotation.from_rotvec(forward[0, 0]).apply([0, 0, 1])
    assert chest[2] > 0
    assert abs(chest[0]) < 1e-9


def test_a_body_on_its_back_keeps_lying_and_its_feet_point_forward():
    poses = np.zeros((1, 55, 3))
    poses[0, 0] = np.radians([-90, 0, 0])
    head = Rotation.from_rotvec(facing_forward(poses)[0, 0]).apply([0, 1, 0])
    np.testing.assert_allclose(head, [0, 0, -1], atol=1e-9)


def test_the_best_frame_is_the_farthest_from_standing_that_touches_the_ground(tmp_path):
    poses = standing(60)
    poses[20, 4, 0] = np.radians(80)  # knees in the middle of a segment
    poses[30, [4, 5], 0] = np.radians(120)  # more, but in the air
    heights = np.full(60, 0.92)
    heights[28:33] += 0.5
    clip = read_motion(write_amass(tmp_path / "a_stageii.npz", poses, pelvis_height_m=heights))
    assert best_frame(clip, 0.0, 2.0, FrameRule()) == 20
    assert best_frame(clip, 0.0, 2.0, FrameRule(on_ground=False)) == 30
    assert best_frame(clip, 0.0, 1.0, FrameRule(rule="middle")) == 15
    assert best_frame(clip, 0.95, 1.05, FrameRule()) is None
