"""Random choices from hash bits. Fixed values pin the draw: a change of them changes datasets."""

import hashlib
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core import seeds

names = st.text(max_size=8)
seed_numbers = st.integers(0, 2**63 - 1)


def test_bits_are_the_first_eight_bytes_of_a_sha256():
    digest = hashlib.sha256(b"7/v0123/cycles").hexdigest()
    assert seeds.bits(7, "v0123", "cycles") == int(digest[:16], 16)


def test_draws_are_pinned():
    # Computed once by this code; they hold on every platform and numpy version.
    assert seeds.uniform(1, "a", "b") == 0.7913363108149627
    assert seeds.permutation(1, "a", "b", 6) == (5, 1, 4, 2, 3, 0)
    assert seeds.normal(1, "a", "b", 2).tolist() == pytest.approx(
        [1.495342854308887, -1.182645953685454], abs=1e-12
    )


@given(seed_numbers, names, names)
def test_the_same_names_always_draw_the_same(seed, id, stage):
    assert seeds.bits(seed, id, stage) == seeds.bits(seed, id, stage)
    assert seeds.permutation(seed, id, stage, 9) == seeds.permutation(seed, id, stage, 9)
    first, second = (seeds.generator(seed, id, stage).random(3) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_seed_id_and_stage_each_change_the_draw():
    drawn = {
        seeds.bits(seed, id, stage) for seed in (1, 2) for id in ("a", "b") for stage in ("x", "y")
    }
    assert len(drawn) == 8


@given(seed_numbers, names, st.integers(0, 50))
def test_a_permutation_holds_every_index_once(seed, id, n):
    assert sorted(seeds.permutation(seed, id, "order", n)) == list(range(n))


@given(seed_numbers, names, st.integers(1, 1000))
def test_draws_stay_in_their_ranges(seed, id, n):
    assert 0 <= seeds.uniform(seed, id, "u") < 1
    assert 0 <= seeds.choice_index(seed, id, "c", n) < n
    assert 0 <= seeds.cycles_seed(seed, id, "r") < 2**31


def test_one_normal_number_does_not_depend_on_how_many_are_drawn():
    assert seeds.normal(1, "a", "b", 3).tolist() == seeds.normal(1, "a", "b", 9)[:3].tolist()


def test_normal_numbers_have_mean_0_and_deviation_1():
    drawn = seeds.normal(1, "many", "normal", 20_000)
    assert abs(statistics.fmean(drawn)) < 0.03  # four standard errors
    assert abs(statistics.stdev(drawn) - 1) < 0.02


def test_normal_numbers_keep_a_limit():
    drawn = seeds.normal(1, "many", "cut", 5_000, limit=2)
    assert np.abs(drawn).max() <= 2
    assert np.abs(drawn).max() > 1.95


def test_choices_are_even():
    counts = np.bincount([seeds.choice_index(1, str(i), "c", 5) for i in range(5_000)])
    assert counts == pytest.approx([1000] * 5, abs=120)  # four standard deviations


def test_there_is_nothing_to_choose_of_none():
    with pytest.raises(ValueError, match="at least 1 is needed"):
        seeds.choice_index(1, "a", "texture", 0)
