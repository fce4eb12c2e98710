"""What a run writes of a view: pictures, masks, depth, joints and light, against each other.

Most of it is read from ``studies/ci.toml`` as rendered once; see docs/dataset.md for what is right.
"""

import shutil
from pathlib import Path

import bpy
import cv2
import numpy as np
import pytest
from limen.addon.core import photometry, relight
from limen.addon.core.body import JOINT_NAMES
from limen.addon.core.dataset import done_views, open_dataset
from limen.addon.core.image_io import read_depth, read_layers, read_png
from limen.addon.core.study import load_study
from limen.addon.operators.study import open_study
from limen.addon.scene import stage
from limen.addon.scene.mesh import add_object, make_mesh
from limen.addon.scene.view import render_view, set_up_view
from limen.analysis.check import check_dataset

pytestmark = pytest.mark.render

CI = Path(__file__).parents[2] / "studies" / "ci.toml"
SRGB = {"day": (90, 160), "evening": (20, 70), "night": (0.3, 12)}  # mean levels of 255


@pytest.fixture(scope="module")
def people(ci_dataset):
    return [row for row in ci_dataset.views.values() if row["target_present"]]


@pytest.fixture(scope="module")
def empty(ci_dataset):
    """The person-free view of each background."""
    rows = ci_dataset.views.values()
    return {row["plate_id"]: row for row in rows if not row["target_present"]}


def directions(row) -> np.ndarray:
    camera = row["camera"]
    return relight.pixel_directions(camera["K"], camera["R"], camera["width"], camera["height"])


def light_of(dataset, row) -> relight.Stack:
    """The light stack of a view, from its files."""
    plate = read_layers(dataset.root / f"light/plates/{row['plate_id']}.exr")
    path = dataset.root / f"light/crops/{row['view_id']}.exr"
    crops = read_layers(path) if row["target_present"] else {}
    return relight.stack_from_layers(plate, crops, directions(row))


def mask_of(dataset, row, kind) -> np.ndarray:
    return read_png(dataset.root / f"masks/{row['view_id']}.{kind}.png") > 0


def depth_of(dataset, row) -> np.ndarray:
    return read_depth(dataset.root / f"depth/{row['view_id']}.exr")


def ground_point(row, depth_m: np.ndarray) -> np.ndarray:
    """The world point (h, w, 3) at each pixel's planar depth."""
    towards = directions(row).astype(float)
    forward = np.array(row["camera"]["R"])[2]
    along = depth_m / (towards @ forward)
    return np.array(row["camera"]["position_m"]) + along[..., None] * towards


def test_the_dataset_passes_every_check(ci_dataset):
    checks = check_dataset(ci_dataset.root, complete=True)
    assert [problem for check in checks for problem in check.problems] == []
    assert len(ci_dataset.views) == 8 and len(ci_dataset.index) == 24


# --- pictures ------------------------------------------------------------------------------------


def test_every_picture_is_what_its_light_stack_composes_to(ci_dataset, empty):
    study = load_study(ci_dataset.root / "study.toml")
    setup = study.camera
    for row in ci_dataset.views.values():
        light, background = (light_of(ci_dataset, v) for v in (row, empty[row["plate_id"]]))
        for lighting in study.lightings:
            item = ci_dataset.index[f"{row['view_id']}-{lighting.name}"]
            image = relight.compose(light, lighting)
            exposure_s = photometry.meter(
                photometry.luminance(relight.compose(background, lighting)),
                setup.fnumber,
                setup.iso,
                shutter_limit_s=setup.shutter_limit_s,
            )
            assert item["exposure_s"] == pytest.approx(exposure_s, rel=1e-5)
            signal = photometry.expose(image, exposure_s, setup.fnumber, setup.iso)
            written = read_png(ci_dataset.root / item["media"]["clean"]["path"])
            np.testing.assert_array_equal(photometry.to_srgb8(signal), written)


def test_the_exposure_does_not_tell_whether_somebody_is_there(ci_dataset, people, empty):
    for row in people:
        background = empty[row["plate_id"]]["view_id"]
        for lighting in ("noon_south", "evening_west", "night"):
            a, b = (ci_dataset.index[f"{v}-{lighting}"] for v in (row["view_id"], background))
            assert a["exposure_s"] == b["exposure_s"]


def test_day_is_well_exposed_and_evening_and_night_are_dark(ci_dataset):
    for item in ci_dataset.index.values():
        levels = read_png(ci_dataset.root / item["media"]["clean"]["path"])
        low, high = SRGB[item["band"]]
        assert low < levels.mean() < high, item["id"]
        assert (levels == 255).mean() < 0.01, item["id"]


def test_the_light_at_the_subjects_place_is_the_stated_one_where_nothing_stands(ci_dataset):
    for item in ci_dataset.index.values():  # the far hills take some of the sky
        nominal = item["illuminance_nominal_lx"]
        assert 0.97 * nominal < item["illuminance_measured_lx"] < 1.03 * nominal


def test_the_person_throws_its_noon_shadow_to_the_north(ci_dataset, people, empty):
    (noon,) = (x for x in load_study(CI).lightings if x.name == "noon_south")
    for row in people:
        background = empty[row["plate_id"]]
        with_person, without = (
            photometry.luminance(relight.compose(light_of(ci_dataset, view), noon))
            for view in (row, background)
        )
        near = cv2.dilate(mask_of(ci_dataset, row, "visible").astype(np.uint8), np.ones((5, 5)))
        shadow = (with_person < 0.5 * without) & (near == 0)
        place = ground_point(background, depth_of(ci_dataset, background))[shadow]
        east, north, _ = np.median(place, axis=0)
        length_m = row["subject"]["stature_m"] / np.tan(np.radians(60))
        assert 0.2 < north < length_m
        assert abs(east) < 0.35


# --- masks, boxes and joints ---------------------------------------------------------------------


def test_what_is_seen_of_a_person_is_part_of_the_whole(ci_dataset, people):
    for row in people:
        visible, full = (mask_of(ci_dataset, row, kind) for kind in ("visible", "full"))
        assert visible.any()
        assert not (visible & ~full).any()


def test_in_the_open_the_whole_person_is_seen(ci_dataset, people):
    for row in people:
        visible, full = (mask_of(ci_dataset, row, kind) for kind in ("visible", "full"))
        np.testing.assert_array_equal(visible, full)
        assert row["unoccluded_fraction"] == 1


def test_the_person_lies_within_the_frame(people):
    for row in people:
        x, y, width, height = row["box_full"]
        assert x > 0 and x + width < row["camera"]["width"]
        assert y > 0 and y + height < row["camera"]["height"]
        assert not row["truncated"]


def test_a_person_free_view_has_no_pixel_of_a_person(ci_dataset, empty):
    for row in empty.values():
        assert row["visible_px"] == row["full_px"] == 0
        assert not list(ci_dataset.root.glob(f"masks/{row['view_id']}*"))


def test_the_trunks_joints_lie_on_the_mask(ci_dataset, people):
    trunk = [0, 3, 6, 9, 12]  # SMPL-X: pelvis, three of the spine, neck
    for row in people:
        full = mask_of(ci_dataset, row, "full")
        x, y = np.rint(np.array(row["joints_px"])[trunk]).astype(int).T
        assert full[y, x].all(), row["view_id"]


def test_joints_in_the_image_are_the_projected_joints_in_the_world(people):
    for row in people:
        camera = row["camera"]
        in_camera = np.array(row["joints_m"]) @ np.array(camera["R"]).T + camera["t"]
        pixels = in_camera @ np.array(camera["K"]).T
        np.testing.assert_allclose(row["joints_px"], pixels[:, :2] / pixels[:, 2:], atol=0.02)


def test_the_picture_shows_the_person_where_the_mask_is(ci_dataset, people, empty):
    # 4 samples a pixel are noisy; the mean over the mask is not.
    for row in people:
        with_person, without = (
            read_png(ci_dataset.root / f"media/clean/{view['view_id']}-evening_west.png")
            for view in (row, empty[row["plate_id"]])
        )
        change = np.abs(with_person.astype(float) - without).mean(axis=-1)
        mask = mask_of(ci_dataset, row, "visible")
        assert change[mask].mean() > 4 * change[~mask].mean()


# --- depth ---------------------------------------------------------------------------------------


def test_depth_is_the_planar_distance_of_the_ground(ci_dataset, empty):
    for row in empty.values():
        towards = directions(row).astype(float)
        towards /= (towards @ np.array(row["camera"]["R"])[2])[..., None]  # 1 m of depth each
        position = np.array(row["camera"]["position_m"])
        expected = -position[2] / towards[..., 2]  # where z is 0
        east, north, _ = np.moveaxis(position + expected[..., None] * towards, -1, 0)
        level = np.hypot(east, north) < 0.6  # the subject's place, without stones
        assert level.sum() > 200
        np.testing.assert_allclose(depth_of(ci_dataset, row)[level], expected[level], rtol=2e-3)


def test_a_person_changes_depth_only_where_it_is_seen(ci_dataset, people, empty):
    for row in people:
        mask = mask_of(ci_dataset, row, "visible")
        depth, behind = (depth_of(ci_dataset, v) for v in (row, empty[row["plate_id"]]))
        np.testing.assert_array_equal(depth[~mask], behind[~mask])
        assert (depth[mask] <= behind[mask]).all()
        distance_m = row["factors"]["distance_m"]
        assert np.abs(depth[mask] - distance_m).max() < 1.5


def test_a_mirrored_pose_is_rendered_as_the_reflection_of_its_pose(blender, small_study, tmp_path):
    name, parts = "kicking_front_kick_right", ("ankle", "wrist", "shoulder")
    path, joints = tmp_path / "mirrored.toml", {}
    for pose in (name, f"{name}_mirrored"):
        kicking = f'actions = ["kicking"]\nposes = ["{pose}"]'
        text = small_study.read_text().replace('actions = ["walking", "kicking"]', kicking)
        text = text.replace("views = 3", 'views = "all"').replace('"plain", "other"', '"plain"')
        path.write_text(text)
        bpy.ops.limen.open_study(filepath=str(path))
        _, specs = open_study(str(path))
        number = [spec.target_present for spec in specs].index(True) + 1
        bpy.ops.limen.render_view(number=number, output=str(tmp_path / pose))
        (row,) = open_dataset(tmp_path / pose).views.values()
        assert (row["pose"]["name"], row["factors"]["action"]) == (pose, "kicking")
        joints[pose] = np.array(row["joints_m"])
    here, there = joints.values()
    for part in parts:
        left, right = (JOINT_NAMES.index(f"{side}_{part}") for side in ("left", "right"))
        np.testing.assert_allclose(there[left], here[right] * [-1, 1, 1], atol=0.006)


# --- the scene behind it -------------------------------------------------------------------------


def test_a_view_rendered_alone_equals_the_last_of_a_long_run(blender, ci_dataset, tmp_path):
    # In this process, after all that other tests have done to it.
    _, specs = open_study(str(CI))
    bpy.ops.limen.open_study(filepath=str(CI))
    bpy.ops.limen.render_view(number=len(specs), output=str(tmp_path))
    view_id = specs[-1].view_id
    (part,) = tmp_path.glob("views/*.jsonl")
    theirs = ci_dataset.root / "views" / "shard-0-of-1.jsonl"
    (row,) = part.read_text().splitlines()
    assert row in theirs.read_text().splitlines()  # with the hashes of its files
    assert f'"view_id":"{view_id}"' in row
    (part,) = tmp_path.glob("index/*.jsonl")
    index = (ci_dataset.root / "index" / "shard-0-of-1.jsonl").read_text().splitlines()
    assert set(part.read_text().splitlines()) < set(index)


def test_a_dataset_that_was_deleted_is_rendered_anew_in_the_same_blender(
    blender, small_study, tmp_path
):
    # The plate is still in this process's memory, and no longer on the disk.
    bpy.ops.limen.open_study(filepath=str(small_study))
    for _ in range(2):
        shutil.rmtree(tmp_path)
        bpy.ops.limen.render_view(number=1, output=str(tmp_path))
    assert len(done_views(tmp_path)) == 1


@pytest.fixture
def half_hidden(blender, small_study, small_dataset, tmp_path):
    """A view of the small study with a board before the person's upper half; its row and root."""
    study, specs = open_study(str(small_study))
    spec = next(spec for spec in specs if spec.target_present)
    view = set_up_view(study, spec)
    towards_camera = view.camera_pose.position_m - [0, 0, 0.9]
    centre = np.array([0, 0, 1.9]) + towards_camera / np.linalg.norm(towards_camera) * 3
    right, down, _ = view.camera_pose.R
    corners = [centre + sx * right + sy * down for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    board = add_object(
        "Board",
        make_mesh("Board", np.array(corners), np.array([[0, 1, 2, 3]])),
        stage.stage_scene().collection,
    )
    row, _ = render_view(view, tmp_path)
    bpy.data.objects.remove(board)
    return row, tmp_path


def test_behind_an_occluder_a_person_is_seen_in_part_and_its_whole_mask_is_kept(
    half_hidden, small_dataset
):
    row, root = half_hidden
    masks = {
        kind: read_png(root / f"masks/{row['view_id']}.{kind}.png") > 0
        for kind in ("visible", "full")
    }
    unhidden = small_dataset.views[row["view_id"]]
    assert row["full_px"] == unhidden["full_px"] == masks["full"].sum()
    assert not (masks["visible"] & ~masks["full"]).any()
    assert 0.2 < row["unoccluded_fraction"] < 0.8
    assert row["unoccluded_fraction"] == pytest.approx(
        masks["visible"].sum() / masks["full"].sum(), rel=1e-5
    )
    y = np.nonzero(masks["visible"])[0]
    assert y.min() > row["box_full"][1]  # the head is hidden
    assert row["box_visible"][1] == y.min()
