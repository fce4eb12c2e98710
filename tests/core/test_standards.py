"""Pixel-density scales. Values: SynDORBench (2014), jvsg.com (2025)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.standards import band_midpoint, class_of, load_scales

SCALES = load_scales()


def test_the_2014_scale_has_the_published_densities():
    assert [(c.name, c.px_per_m) for c in SCALES["dori-2014"].classes] == [
        ("detect", 25),
        ("observe", 62.5),
        ("recognise", 125),
        ("identify", 250),
    ]


def test_the_2025_scale_has_its_seven_classes():
    assert [(c.name, c.px_per_m) for c in SCALES["classes-2025"].classes] == [
        ("overview", 20),
        ("outline", 40),
        ("discern", 80),
        ("perceive", 125),
        ("characterise", 250),
        ("validate", 500),
        ("scrutinise", 1500),
    ]


@pytest.mark.parametrize(
    ("band", "midpoint"), [("detect", 43.75), ("observe", 93.75), ("recognise", 187.5)]
)
def test_midpoints_are_those_that_syndorbench_renders_at(band, midpoint):
    assert band_midpoint(SCALES["dori-2014"], band) == midpoint


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_a_class_begins_exactly_at_its_density(scale):
    for lower, upper in zip((None, *scale.classes), scale.classes, strict=False):
        assert class_of(upper.px_per_m, scale) == upper.name
        assert class_of(upper.px_per_m - 1e-9, scale) == (lower and lower.name)


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_a_midpoint_lies_in_its_own_class(scale):
    for density_class in scale.classes[:-1]:
        assert class_of(band_midpoint(scale, density_class.name), scale) == density_class.name


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_more_density_is_never_a_lower_class(a, b):
    for scale in SCALES.values():
        order = [None, *(c.name for c in scale.classes)]
        low, high = (order.index(class_of(x, scale)) for x in sorted((a, b)))
        assert low <= high


def test_the_highest_class_has_no_midpoint():
    with pytest.raises(ValueError, match="nothing above it: allowed are detect, observe"):
        band_midpoint(SCALES["dori-2014"], "identify")


def test_an_unknown_band_is_told_the_allowed_ones():
    with pytest.raises(ValueError, match="none of its classes: allowed are detect, observe"):
        band_midpoint(SCALES["dori-2014"], "monitor")
