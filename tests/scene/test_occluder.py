"""Things placed before a person leave as much of it in sight as a study asks for."""

from dataclasses import replace

import pytest
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.poses import load_poses
from limen.addon.core.study import parse_study, resolve
from limen.addon.scene import render, stage, view
from limen.addon.scene.occluder import OCCLUDER, OccluderError, remove_occluder
from limen.addon.scene.subject import PASS_INDEX

pytestmark = pytest.mark.render

STUDY = """\
name = "hidden"
seed = 4
lightings = ["noon_south"]
sceneries = ["desert", "field", "wharf"]
actions = ["walking"]
unoccluded_fractions = [0.5]

[camera]
sensor = "syndorbench"
window = [240, 208]
distances_m = [10.752]
azimuths_deg = [45]
elevations_deg = [0, 85]

[[subject]]
name = "sam"

[sampling]
views = "all"
person_free = "all"

[render]
denoise = "none"
"""
SHOT = render.Shot(1, exact_pixels=True)


@pytest.fixture
def study(blender):
    import bpy

    yield resolve(parse_study(STUDY))
    remove_occluder()
    assert OCCLUDER not in bpy.data.objects


def a_view(study, scenery, present=True, elevation_deg=0):
    poses = {name: pose.action for name, pose in load_poses().items()}
    return next(
        spec
        for spec in sample_views(study, poses_by_action(study, poses))
        if spec.target_present == present
        and spec.factors["scenery"] == scenery
        and spec.factors["elevation_deg"] == elevation_deg
    )


def pixels(scene) -> int:
    return int((render.render_passes(scene, SHOT)["IndexOB.X"] == PASS_INDEX).sum())


@pytest.mark.parametrize(
    ("scenery", "wanted"), [("desert", 0.5), ("field", 0.8), ("wharf", 0.25), ("wharf", 0.1)]
)
def test_the_wanted_fraction_is_left_in_sight(study, scenery, wanted):
    study = replace(study, unoccluded_fractions=(wanted,))
    shown = view.set_up_view(study, a_view(study, scenery))
    left = pixels(stage.stage_scene()) / pixels(stage.bare_scene())
    assert left == pytest.approx(wanted, abs=0.04)
    assert shown.occluder.fraction == pytest.approx(left, abs=0.04)


def test_a_person_free_view_has_one_too(study):
    shown = view.set_up_view(study, a_view(study, "desert", present=False))
    assert shown.person is None
    assert shown.occluder.kind == "boulder"
    assert shown.occluder.fraction == pytest.approx(0.5, abs=0.04)


def test_nothing_hides_a_person_from_above_and_that_is_said(study):
    study = replace(study, unoccluded_fractions=(0.1,))
    with pytest.raises(OccluderError, match="unoccluded_fractions need lower elevations"):
        view.set_up_view(study, a_view(study, "desert", elevation_deg=85))


def test_without_being_asked_nothing_is_placed(study):
    study = replace(study, unoccluded_fractions=(1.0,))
    assert view.set_up_view(study, a_view(study, "desert")).occluder is None


def test_of_several_fractions_each_view_draws_one_and_the_same_again(study):
    study = replace(study, unoccluded_fractions=(1.0, 0.6, 0.3))
    poses = {name: pose.action for name, pose in load_poses().items()}
    specs = sample_views(study, poses_by_action(study, poses))
    drawn = [view.wanted_fraction(study, spec) for spec in specs]
    assert drawn == [view.wanted_fraction(study, spec) for spec in specs]
    assert set(drawn) == {1.0, 0.6, 0.3}
