"""Sampling: Cochran's sizes, strata, catch trials, and a test that nothing leaks into."""

import json
from collections import Counter
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.dataset import open_dataset
from limen.analysis.discern import sampling
from limen.analysis.discern.sampling import (
    SamplingChoiceError,
    SamplingError,
    allocate,
    cochran_size,
    draw_sample,
    read_sample,
    sampled_share,
)
from limen.analysis.discern.table import TEST_SHARE, append_labels, group_of, role_of, shown_media


def test_cochrans_sizes_are_those_of_the_textbook():
    assert cochran_size(0.05, 0.95) == 385  # the published test has 400
    assert cochran_size(0.03, 0.95) == 1068
    assert cochran_size(0.05, 0.99) == 664
    assert cochran_size(0.05, 0.95, 1000) == 278
    assert cochran_size(0.05, 0.95, 27432) == 379
    assert cochran_size(0.05, 0.95, 10) == 10
    assert cochran_size(0.05, 0.95, share=0.1) == 139


@given(st.floats(0.005, 0.5), st.floats(0.5, 0.999), st.integers(1, 10**6))
def test_a_finite_population_never_needs_more_than_it_has_or_than_an_endless_one(m, c, population):
    size = cochran_size(m, c, population)
    assert 1 <= size <= min(population, cochran_size(m, c))


@pytest.mark.parametrize("wrong", [{"margin": 0}, {"margin": 5}, {"confidence": 95}, {"share": 1}])
def test_an_impossible_size_says_what_is_allowed(wrong):
    with pytest.raises(SamplingChoiceError, match=r"between 0 and 1, as 0\.05"):
        cochran_size(**{"margin": 0.05, **wrong})


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(0, 600))
def test_strata_get_their_share_and_none_is_left_out_where_there_are_enough(sizes, total):
    strata = {f"s{k}": size for k, size in enumerate(sizes)}
    drawn = allocate(strata, total)
    assert sum(drawn.values()) == min(total, sum(sizes))
    assert all(0 <= drawn[name] <= strata[name] for name in strata)
    if total >= len(sizes):
        assert min(drawn.values()) >= 1


def test_strata_of_one_size_are_drawn_from_evenly():
    assert set(allocate(dict.fromkeys("abcdef", 10), 24).values()) == {4}
    assert sorted(allocate({"a": 30, "b": 10}, 20).items()) == [("a", 15), ("b", 5)]


def test_a_sample_holds_out_whole_subjects_in_a_pose(developed):
    drawn = draw_sample(developed, test_share=0.4)
    rows = read_sample(developed)
    shown = shown_media(open_dataset(developed))
    for row in rows:
        item = shown[row["id"], row["variant"]]
        assert row["role"] == role_of(item, 0.4)
        assert row["catch"] == (not item["target_present"])
    groups = {
        role: {group_of(shown[r["id"], r["variant"]]) for r in rows if r["role"] == role}
        for role in ("train", "test")
    }
    assert groups["train"] and groups["test"] and not groups["train"] & groups["test"]
    counts = Counter((row["role"], row["catch"]) for row in rows)
    assert counts["test", False] == drawn.test and counts["train", False] == drawn.train
    assert len({(row["id"], row["variant"]) for row in rows}) == len(rows)


def test_weights_say_how_many_images_each_stands_for(developed):
    draw_sample(developed, test_share=0.4, margin=0.2, train_factor=1)
    dataset = open_dataset(developed)
    persons = [
        key
        for key, row in shown_media(dataset).items()
        if row["target_present"] and dataset.views[row["view_id"]]["visible_px"]
    ]
    rows = [row for row in read_sample(developed) if not row["catch"]]
    assert len(rows) < len(persons)
    assert sum(row["weight"] for row in rows) <= len(persons) + 1e-9


def test_a_sample_is_the_same_each_time_and_another_with_another_seed(developed):
    def drawn(name, **settings):
        draw_sample(developed, name, test_share=0.4, margin=0.2, train_factor=1, **settings)
        return (developed / "labels" / "samples" / f"{name}.jsonl").read_bytes()

    assert drawn("one") == drawn("two")
    other = drawn("three", seed=1)
    assert other != drawn("four")
    held = {json.loads(line)["id"] for line in other.splitlines() if b'"test"' in line}
    shown = {row["id"]: row for row in shown_media(open_dataset(developed)).values()}
    assert {role_of(shown[media_id], 0.4) for media_id in held} == {"test"}


def test_a_sample_that_people_may_be_at_work_on_is_not_replaced(developed):
    draw_sample(developed, test_share=0.4)
    with pytest.raises(SamplingChoiceError, match="--redo"):
        draw_sample(developed, test_share=0.4)
    draw_sample(developed, test_share=0.4, redo=True)


def test_difficulty_is_predicted_by_a_model_where_there_is_one(developed):
    shown = shown_media(open_dataset(developed))
    append_labels(
        developed,
        [
            {
                "id": key[0],
                "variant": key[1],
                "human_discernable": 1,
                "probability": n / len(shown),
                "by": by,
                "trained_on": "human",
            }
            for n, key in enumerate(shown)
            for by in ("model", "human")  # people have seen them all already
        ],
    )
    assert "model" in draw_sample(developed, test_share=0.4).difficulty


def test_difficulty_divides_what_is_alike_in_light_distance_scenery_and_variant_into_thirds(
    developed,
):
    dataset = open_dataset(developed)
    shown = shown_media(dataset)
    some = next(row for row in shown.values() if row["target_present"])
    # Seven images that differ in nothing but how large the person is.
    persons = {(f"{n}", "camera"): {**some, "id": f"{n}"} for n in range(7)}
    chances = {key: n for n, key in enumerate(persons)}
    with mock.patch.object(sampling, "_model_probabilities", lambda root: chances):
        strata, _ = sampling._strata(dataset, persons)
    thirds = [strata[key].rsplit("=", 1)[1] for key in persons]
    assert thirds == ["hard"] * 3 + ["middle"] * 2 + ["easy"] * 2
    cell = f"lighting={some['lighting']} distance_m={some['distance_m']:g} "
    assert (
        strata["0", "camera"] == f"{cell}scenery={some['scenery']} variant=camera difficulty=hard"
    )


@pytest.mark.parametrize("share", [1e-9, 1 - 1e-9])
def test_a_test_or_a_training_set_of_nobody_is_an_error(developed, share):
    with pytest.raises(SamplingError, match="groups of subject and pose"):
        draw_sample(developed, test_share=share)


@pytest.mark.parametrize("name", ["../x", "", "a b", "x" * 65])
def test_a_name_that_is_no_name_is_refused(developed, name):
    with pytest.raises(SamplingChoiceError, match="name"):
        draw_sample(developed, name)
    with pytest.raises(SamplingChoiceError):
        read_sample(developed, name)


def test_an_unknown_sample_names_the_known(developed):
    with pytest.raises(SamplingChoiceError, match="limen discern sample"):
        read_sample(developed)
    draw_sample(developed, "pilot", test_share=0.4)
    with pytest.raises(SamplingChoiceError, match="there are pilot"):
        read_sample(developed)


def test_who_a_sample_holds_out_is_held_out_in_learning_too(developed):
    dataset = open_dataset(developed)
    assert sampled_share(dataset) == TEST_SHARE
    draw_sample(developed, test_share=0.4)
    share = sampled_share(dataset)
    assert all(role_of(dataset.index[r["id"]], share) == r["role"] for r in read_sample(developed))
    assert sampled_share(dataset, 0.4) == 0.4
    with pytest.raises(SamplingChoiceError, match="leave it out"):
        sampled_share(dataset, 0.9)
    draw_sample(developed, "other", test_share=0.7)
    with pytest.raises(SamplingChoiceError, match="different test shares"):
        sampled_share(dataset)
