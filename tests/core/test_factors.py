"""Views: ids, the full cross, even samples, person-free views."""

import csv
import hashlib
import itertools
import json
import math
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from limen.addon.core.factors import (
    FACTORS,
    SampleError,
    camera_label,
    count_views,
    export_grid,
    factor_effects,
    grid,
    largest_sample,
    media_ids,
    poses_by_action,
    sample_views,
    view_id,
)
from limen.addon.core.lighting import load_lightings
from limen.addon.core.study import CameraSetup, Sampling, Study, Subject

LIGHTINGS = tuple(load_lightings().values())


def make_study(
    actions=2, sceneries=1, distances=2, azimuths=2, elevations=1, textures=(1,), seed=1, **sampling
):
    return Study(
        name="test",
        family="visibility",
        seed=seed,
        camera=CameraSetup(
            sensor="syndorbench",
            sensor_width_mm=16 / 3,
            sensor_height_mm=3.0,
            lens_mm=2.8,
            fnumber=1.4,
            resolution=(1920, 1080),
            distances_m=tuple(5.0 + i for i in range(distances)),
            azimuths_deg=tuple(10.0 * i for i in range(azimuths)),
            elevations_deg=tuple(5.0 * i for i in range(elevations)),
        ),
        lightings=LIGHTINGS[:2],
        sceneries=("desert", "field", "wharf")[:sceneries],
        subjects=tuple(
            Subject(f"s{i}", textures=tuple(f"s{i}t{j}" for j in range(k)))
            for i, k in enumerate(textures)
        ),
        actions=tuple(f"a{i}" for i in range(actions)),
        sampling=Sampling(**{"views": "all", "person_free": "all", **sampling}),
    )


def make_poses(study, each=3):
    return {action: tuple(f"{action}p{i}" for i in range(each)) for action in study.actions}


PAPER = make_study(8, 3, 3, 8, 4, (3, 3, 3, 3, 3), views=1524)
PAPER_POSES = make_poses(PAPER, 5)


@pytest.fixture(scope="module")
def paper_views():
    return sample_views(PAPER, PAPER_POSES)


def persons(views):
    return [view for view in views if view.target_present]


def counts(views, *factors):
    return Counter(tuple(view.factors[f] for f in factors) for view in persons(views))


def spread(counter, size):
    """Difference of the largest and smallest count over `size` levels, absent ones counted 0."""
    assert len(counter) <= size
    smallest = min(counter.values()) if len(counter) == size else 0
    return max(counter.values()) - smallest


# --- ids -----------------------------------------------------------------------------------------


def test_a_view_id_hashes_the_sorted_pairs_and_the_family():
    text = "azimuth_deg=45.0\nfamily=visibility\npose=null\nscenery=desert"
    expected = "v" + hashlib.sha256(text.encode()).hexdigest()[:12]
    factors = {"scenery": "desert", "pose": None, "azimuth_deg": 45}
    assert view_id("visibility", factors) == expected


def test_a_view_id_ignores_noise_below_a_millionth():
    assert view_id("v", {"d": 0.1 + 0.2}) == view_id("v", {"d": 0.3})
    assert view_id("v", {"d": -0.0}) == view_id("v", {"d": 0})
    assert view_id("v", {"d": 0.3}) != view_id("v", {"d": 0.300001})


def test_ids_do_not_change_when_levels_are_added_or_reordered():
    study = make_study()
    camera = study.camera
    larger = replace(
        study,
        camera=replace(
            camera, azimuths_deg=(99.0, *reversed(camera.azimuths_deg)), elevations_deg=(7.0, 0.0)
        ),
    )
    ids = {view.view_id for view in grid(study, make_poses(study))}
    assert ids < {view.view_id for view in grid(larger, make_poses(study))}


def test_the_published_rig_has_cameras_labelled_4_azimuth_plus_elevation():
    # cam001 is azimuth 0, elevation 22.5; cam004 is azimuth 45, elevation 0 (SynDORBench).
    camera = replace(
        PAPER.camera,
        azimuths_deg=tuple(45.0 * i for i in range(8)),
        elevations_deg=(0.0, 22.5, 45.0, 67.5),
    )
    study = replace(PAPER, camera=camera)
    assert camera_label(study, 0, 22.5) == "cam001"
    assert camera_label(study, 45, 0) == "cam004"
    assert camera_label(study, 315, 67.5) == "cam031"


def test_a_label_is_found_without_a_search_however_many_cameras_there_are():
    compared = []

    class Azimuth(float):
        __hash__ = float.__hash__

        def __eq__(self, other):
            compared.append(other)
            return float(self) == float(other)

    azimuths = tuple(Azimuth(i / 100) for i in range(36_000))
    study = replace(PAPER, camera=replace(PAPER.camera, azimuths_deg=azimuths))
    assert camera_label(study, 0.0, 0.0) == "cam000"
    compared.clear()
    assert camera_label(study, 359.99, 5.0) == f"cam{35_999 * 4 + 1}"
    assert len(compared) < 10


def test_media_ids_join_view_and_lighting():
    assert media_ids("v0123", LIGHTINGS[:2]) == ("v0123-morning_north", "v0123-morning_east")


# --- the full cross ------------------------------------------------------------------------------


def test_the_grid_is_the_full_cross_with_pose_in_action_and_texture_in_subject():
    study = make_study(2, 2, 3, 2, 2, textures=(1, 2))
    poses = {"a0": ("p", "q"), "a1": ("r",)}
    views = list(grid(study, poses))
    # 3 poses x 2 sceneries x 3 distances x 4 cameras x 3 textures
    assert len(views) == count_views(study, poses) == 3 * 2 * 3 * 4 * 3
    assert len({view.view_id for view in views}) == len(views)
    assert set(counts(views, "action", "pose")) == {("a0", "p"), ("a0", "q"), ("a1", "r")}
    assert {s for s, t in counts(views, "subject", "texture") if not t.startswith(s)} == set()


def test_every_view_names_every_factor():
    view = next(grid(PAPER, PAPER_POSES))
    assert tuple(view.factors) == FACTORS
    assert view.target_present


def test_a_study_shows_the_poses_that_it_names():
    study = replace(make_study(), poses=("a0p1", "a1p0"))
    library = {pose: a for a, its in make_poses(study).items() for pose in its}
    assert poses_by_action(study, library) == {"a0": ("a0p1",), "a1": ("a1p0",)}
    shown = {view.factors["pose"] for view in grid(study, make_poses(study))}
    assert shown == {"a0p1", "a1p0"}


# --- even samples --------------------------------------------------------------------------------


def test_the_paper_size_draw_has_21_or_22_views_in_each_of_72_cells(paper_views):
    cells = counts(paper_views, "action", "scenery", "distance_m")
    # 1524 = 72 x 21 + 12
    assert Counter(cells.values()) == {21: 60, 22: 12}


def test_the_paper_size_draw_uses_all_288_backgrounds(paper_views):
    assert len(persons(paper_views)) == 1524
    assert len(paper_views) == 1524 + 288


def test_the_paper_size_draw_is_fast():
    start = time.process_time()
    sample_views(PAPER, PAPER_POSES)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("other", ["azimuth_deg", "elevation_deg", "subject"])
def test_pairs_with_action_are_nearly_even_in_the_paper_size_draw(paper_views, other):
    # Independent draws would scatter by about 5; 20 % around the mean is less than half of that.
    pairs = counts(paper_views, "action", other)
    mean = 1524 / len(pairs)
    assert max(abs(n - mean) for n in pairs.values()) <= 0.2 * mean


small_studies = st.builds(
    make_study,
    actions=st.integers(1, 3),
    sceneries=st.integers(1, 3),
    distances=st.integers(1, 3),
    azimuths=st.integers(1, 4),
    elevations=st.integers(1, 3),
    textures=st.integers(1, 2).flatmap(lambda k: st.lists(st.just(k), min_size=1, max_size=3)),
    seed=st.integers(0, 2**63 - 1),
)


@st.composite
def drawn_studies(draw):
    """A study, its poses, and a number of views that it can draw."""
    study = draw(small_studies)
    poses = make_poses(study, draw(st.integers(1, 3)))
    most = largest_sample(study, poses)
    assume(most >= 1)
    views = draw(st.integers(1, min(most, 300)) | st.integers(max(1, most - 3), most))
    return replace(study, sampling=Sampling(views=views)), poses


@settings(deadline=None)
@given(drawn_studies())
def test_every_draw_is_even_and_without_repeats(drawn):
    study, poses = drawn
    views = persons(sample_views(study, poses))
    assert len(views) == study.sampling.views
    assert len({view.view_id for view in views}) == len(views)
    camera = study.camera
    sizes = {
        "action": len(study.actions),
        "scenery": len(study.sceneries),
        "distance_m": len(camera.distances_m),
        "azimuth_deg": len(camera.azimuths_deg),
        "elevation_deg": len(camera.elevations_deg),
        "subject": len(study.subjects),
    }
    for factor, size in sizes.items():
        assert spread(counts(views, factor), size) <= 1, factor
    cells = sizes["action"] * sizes["scenery"] * sizes["distance_m"]
    assert spread(counts(views, "action", "scenery", "distance_m"), cells) <= 1
    for action in study.actions:
        own = Counter(v.factors["pose"] for v in views if v.factors["action"] == action)
        assert not own or spread(own, len(poses[action])) <= 1
    for subject in study.subjects:
        own = Counter(v.factors["texture"] for v in views if v.factors["subject"] == subject.name)
        assert not own or spread(own, len(subject.textures)) <= 1


@settings(deadline=None, max_examples=30)
@given(drawn_studies())
def test_the_same_study_draws_the_same_views_whatever_the_order_of_the_pose_library(drawn):
    study, poses = drawn
    shuffled = {action: tuple(reversed(its)) for action, its in reversed(poses.items())}
    assert sample_views(study, poses) == sample_views(study, shuffled)


def test_another_seed_draws_other_views():
    study = make_study(3, 1, 3, 4, 2, (2, 2), views=20)
    other = replace(study, seed=2)
    poses = make_poses(study)
    assert set(ids(sample_views(study, poses))) != set(ids(sample_views(other, poses)))


def ids(views):
    return [view.view_id for view in views]


def test_a_draw_of_all_views_is_the_grid():
    study = make_study(textures=(1, 2))
    poses = {"a0": ("p", "q"), "a1": ("r",)}
    every = replace(study, sampling=Sampling(views=count_views(study, poses)))
    assert set(ids(persons(sample_views(every, poses)))) == set(ids(grid(study, poses)))


def test_the_effects_of_the_factors_multiply_to_the_full_cross():
    study = make_study(3, 2, 3, 4, 2, (1, 3))
    poses = {"a0": ("p", "q"), "a1": ("r",), "a2": ("s", "t", "u")}
    effects = factor_effects(study, poses)
    times = [effects[name].times for name in FACTORS]
    assert math.prod(times) == pytest.approx(count_views(study, poses))
    assert (effects["pose"].levels, effects["pose"].times) == (6, 2)
    assert (effects["texture"].levels, effects["texture"].times) == (4, 2)


def test_lightings_multiply_images_and_what_is_drawn_multiplies_nothing():
    study = replace(make_study(), unoccluded_fractions=(1.0, 0.5, 0.25))
    effects = factor_effects(study, make_poses(study))
    assert (effects["lighting"].levels, effects["lighting"].times) == (2, 2)
    assert (effects["unoccluded"].levels, effects["unoccluded"].times) == (3, 1)


def test_uneven_factors_draw_evenly_up_to_half_of_their_smallest():
    study = make_study(textures=(1, 2))
    poses = {"a0": ("p", "q", "r"), "a1": ("s",)}
    # 2 actions x 2 distances x 2 azimuths x 1 pose x 2 subjects x 1 texture = 16
    assert largest_sample(study, poses) == 8
    views = sample_views(replace(study, sampling=Sampling(views=8)), poses)
    assert counts(views, "action") == {("a0",): 4, ("a1",): 4}
    assert counts(views, "subject") == {("s0",): 4, ("s1",): 4}


def test_more_views_than_there_are_is_an_error_that_says_how_many():
    study = make_study(views=25)  # 2 x 2 x 2 x 3 poses = 24
    with pytest.raises(SampleError, match=r"views is 25: of the 24 views .* at most 24"):
        sample_views(study, make_poses(study))


# --- person-free views ---------------------------------------------------------------------------


def test_all_person_free_views_are_one_per_background_in_use():
    study = make_study(2, 2, 2, 3, 2, views=7)
    views = sample_views(study, make_poses(study))
    background = ("scenery", "distance_m", "azimuth_deg", "elevation_deg")
    free = Counter(tuple(v.factors[f] for f in background) for v in views if not v.target_present)
    assert set(free) == set(counts(views, *background))
    assert set(free.values()) == {1}


def test_a_person_free_view_has_no_action_pose_subject_or_texture():
    view = next(v for v in sample_views(PAPER, PAPER_POSES) if not v.target_present)
    absent = {name for name, level in view.factors.items() if level is None}
    assert absent == {"action", "pose", "subject", "texture"}


def test_a_person_free_share_is_a_share_of_all_views():
    study = make_study(2, 1, 2, 4, 2, views=30, person_free=0.25)
    views = sample_views(study, make_poses(study))
    assert len(persons(views)) == 30
    assert len(views) == 40


def test_person_free_views_are_even_over_distance():
    study = make_study(2, 1, 3, 4, 2, views=40, person_free=6 / 46)
    views = sample_views(study, make_poses(study))
    free = Counter(v.factors["distance_m"] for v in views if not v.target_present)
    assert list(free.values()) == [2, 2, 2]


def test_no_person_free_views_are_drawn_for_a_share_of_0():
    study = make_study(views=4, person_free=0.0)
    assert all(view.target_present for view in sample_views(study, make_poses(study)))


def test_more_person_free_views_than_backgrounds_is_an_error_that_says_the_most():
    study = make_study(views=24, person_free=0.5)  # 2 distances x 2 azimuths = 4 backgrounds
    with pytest.raises(SampleError, match=r"that is 24 views.*only 4 backgrounds.*at most 0\.143"):
        sample_views(study, make_poses(study))


def test_views_of_one_background_stand_together_its_person_free_view_first():
    study = make_study(2, 2, 2, 2, 2, views=60)
    views = sample_views(study, make_poses(study))
    background = ("scenery", "distance_m", "azimuth_deg", "elevation_deg")
    groups = [
        (key, [v.target_present for v in group])
        for key, group in itertools.groupby(views, lambda v: [v.factors[f] for f in background])
    ]
    assert len(groups) == 16
    assert all(present == sorted(present) for _, present in groups)


# --- export --------------------------------------------------------------------------------------


def test_a_grid_exports_as_csv_and_as_json_lines(tmp_path):
    study = make_study(views=4)
    poses = make_poses(study)
    export_grid(study, poses, tmp_path / "grid.csv")
    export_grid(study, poses, tmp_path / "grid.jsonl")
    with (tmp_path / "grid.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    rows = [json.loads(line) for line in (tmp_path / "grid.jsonl").read_text().splitlines()]
    assert [row["view_id"] for row in table] == ids(sample_views(study, poses))
    assert [row["view_id"] for row in rows] == ids(sample_views(study, poses))
    free = next(row for row in table if row["target_present"] == "False")
    assert free["pose"] == ""


def test_a_grid_is_exported_in_no_other_format(tmp_path):
    with pytest.raises(ValueError, match=r"grid\.xlsx: .*\.csv or \.jsonl"):
        export_grid(PAPER, PAPER_POSES, tmp_path / "grid.xlsx")
