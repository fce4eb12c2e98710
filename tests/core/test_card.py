"""The card that travels with a dataset."""

from dataclasses import replace
from pathlib import Path

import pytest
from limen.addon.core.card import dataset_card
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.poses import load_poses
from limen.addon.core.study import load_study, resolve

CI = Path(__file__).parents[2] / "studies" / "ci.toml"


@pytest.fixture(scope="module")
def study():
    return resolve(load_study(CI))


@pytest.fixture(scope="module")
def views(study):
    actions = {name: pose.action for name, pose in load_poses().items()}
    return sample_views(study, poses_by_action(study, actions))


def test_the_card_counts_views_people_and_images(study, views):
    card = dataset_card(study, views)
    assert "- 8 views (4 with a person, 4 without), each under 3 lightings: 24 images" in card
    assert "of 240 x 208 pixels" in card


def test_without_a_window_the_images_have_the_sensors_size(study, views):
    whole = replace(study, camera=replace(study.camera, window=None))
    assert "of 1920 x 1080 pixels" in dataset_card(whole, views)


def test_the_card_names_every_level_with_its_unit(study, views):
    card = dataset_card(study, views)
    assert "- distances 10.75, 23.04 m; azimuths 0, 225; elevations 22.5 degrees" in card
    assert "noon_south (90000 lx), evening_west (8 lx), night (0.065 lx)" in card
    assert "- actions: walking, kicking" in card
    assert "- sceneries: desert" in card


def test_actions_are_written_as_words(study, views):
    card = dataset_card(replace(study, actions=("cover_face_with_hands",)), views)
    assert "- actions: cover face with hands" in card


def test_equal_studies_have_equal_cards(study, views):
    assert dataset_card(resolve(load_study(CI)), list(views)) == dataset_card(study, views)
