"""The person of the chip: each pixel is the mean of the area that it sees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.chip import MARGIN_PX, area_resample, figure_px, person_chip


def test_half_the_size_is_the_mean_of_each_two_by_two():
    image = np.arange(16.0).reshape(4, 4, 1)
    assert area_resample(image, 0.5)[..., 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]


def test_at_full_size_nothing_changes():
    image = np.arange(24.0).reshape(3, 4, 2)
    assert area_resample(image, 1.0) == pytest.approx(image)


@given(st.floats(0.05, 1), st.floats(0, 1))
def test_an_even_picture_stays_even(scale, value):
    assert area_resample(np.full((20, 30, 3), value), scale) == pytest.approx(value)


@given(st.integers(1, 19))
def test_light_is_kept_where_the_new_pixels_fill_the_picture(pixels):
    image = np.random.default_rng(pixels).random((20, 20, 1))
    assert area_resample(image, pixels / 20).mean() == pytest.approx(image.mean())


@pytest.mark.parametrize("height_px", [20.0, 76.5, 311.0])
def test_the_person_is_as_tall_in_the_chip_as_was_asked_for(height_px):
    picture = person_chip(height_px).astype(int)
    ground = picture[0, 0]
    rows = np.flatnonzero((np.abs(picture - ground).sum(axis=2) > 60).any(axis=1))
    assert rows[-1] - rows[0] + 1 == pytest.approx(height_px, abs=2)


def test_a_person_is_never_shown_larger_than_the_sharp_picture():
    assert len(person_chip(1e4)) == figure_px() + 2 * MARGIN_PX
