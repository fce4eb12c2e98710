"""What is found in a study before it is rendered, and in a picture that no scene looks like."""

import numpy as np
import pytest
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.poses import load_poses
from limen.addon.core.study import parse_study, resolve
from limen.addon.scene import scenery, stage
from limen.addon.scene.checks import check_study
from limen.addon.scene.mesh import add_object, make_mesh
from limen.addon.scene.render import RenderError
from limen.addon.scene.stack import _check_pixels
from limen.addon.scene.subject import remove_subject

pytestmark = pytest.mark.render

STUDY = """\
name = "checked"
seed = 2
lightings = ["noon_south"]
sceneries = ["desert"]
actions = ["walking"]

[camera]
sensor = "syndorbench"
window = [{window}, {window}]
distances_m = [10.752]
azimuths_deg = [0, 90]
elevations_deg = [0]

[[subject]]
name = "sam"

[sampling]
views = 2
person_free = "all"

[render]
denoise = "none"
"""


def found(window=240):
    """What the checks find, by name of check."""
    study = resolve(parse_study(STUDY.format(window=window)))
    poses = {name: pose.action for name, pose in load_poses().items()}
    specs = sample_views(study, poses_by_action(study, poses))
    return {finding.check: finding for finding in check_study(study, specs, None)}


@pytest.fixture
def desert(blender):
    """The desert; what is put into it is gone afterwards."""
    stage.set_scenery("desert")
    yield add_slab
    remove_subject()
    scenery.build_scenery(stage.stage_scene(), "desert")


def add_slab(centre_m, half_m, name="Limen Slab"):
    """Put a level slab into the scenery."""
    import bpy

    square = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    box = np.vstack([square, square + np.array([0, 0, 2.0])]) * half_m + centre_m
    sides = np.array([[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7], [4, 5, 6, 7]])
    mesh = make_mesh(name, box, sides, smooth=False)
    add_object(name, mesh, bpy.data.collections[scenery.COLLECTION])


def test_a_study_in_order_has_no_errors(desert):
    assert not [finding for finding in found().values() if finding.error]


def test_a_person_that_the_picture_cuts_off_is_listed_and_no_error(desert):
    finding = found(window=96)["frame"]
    assert not finding.error
    assert "cuts the person off (views v" in finding.text


def test_what_stands_between_unasked_is_an_error_that_names_the_view(desert):
    desert((0, -4, 0), (1, 0.2, 0.4))  # before the camera at azimuth 0, up to 0.8 m
    finding = found()["hidden"]
    assert finding.error
    assert finding.text.startswith("something in the scenery hides the person (view v")


def test_a_fraction_that_no_thing_can_leave_is_an_error(blender):
    text = STUDY.format(window=240).replace("elevations_deg = [0]", "elevations_deg = [88]")
    study = resolve(parse_study(f"unoccluded_fractions = [0.1]\n{text}"))
    poses = {name: pose.action for name, pose in load_poses().items()}
    specs = [s for s in sample_views(study, poses_by_action(study, poses)) if s.target_present][:1]
    (finding,) = (f for f in check_study(study, specs, None) if f.error)
    assert finding.check == "occluder" and "need lower elevations" in finding.text


def test_feet_above_the_ground_are_an_error(desert):
    import bpy

    for item in bpy.data.collections[scenery.COLLECTION].objects:
        if item.name.startswith("Limen Ground"):
            item.location.z = -0.05
    finding = found()["feet"]
    assert finding.error
    assert "is 5 cm above the ground" in finding.text


def test_feet_under_the_ground_are_an_error_of_two_checks(desert):
    import bpy

    for item in bpy.data.collections[scenery.COLLECTION].objects:
        if item.name.startswith("Limen Ground"):
            item.location.z = 0.06
    checks = found()
    assert "is 6 cm in the ground" in checks["feet"].text
    assert checks["under"].error and "of its surface under the ground" in checks["under"].text


WHITE = np.ones((20, 20, 3), np.float16)


@pytest.mark.parametrize(
    ("pixels", "says"),
    [
        (WHITE * [0.3, 0, 0.3], "is magenta in 100.0% of its pixels"),
        (WHITE * 0, "is all black"),
        (WHITE * np.nan, "not finite"),
    ],
)
def test_a_layer_that_no_scene_looks_like_is_refused(pixels, says):
    with pytest.raises(RenderError, match=says):
        _check_pixels("dome-uniform", pixels.astype(np.float16), whole=True)


@pytest.mark.parametrize("pixels", [WHITE * [0.3, 0.01, 0.3], WHITE * [0.3, 0, 0.1], WHITE])
def test_a_coloured_layer_is_none_of_these(pixels):
    _check_pixels("dome-uniform", pixels.astype(np.float16), whole=True)


def test_a_layer_of_lamps_may_be_black():
    _check_pixels("lamps", WHITE * 0, whole=True)
