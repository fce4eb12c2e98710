"""What a texture's id stands for."""

import itertools

import numpy as np
import pytest
from limen.addon.core.appearance import (
    appearance,
    fabrics,
    figure_of,
    is_procedural,
    looks,
    monk_tones,
    patterns,
    skin_reflectance,
)
from limen.addon.core.hair import HAIR_STYLES
from limen.addon.core.shoes import SHOES

IDS = [f"limen-texture-{n:05d}" for n in range(150)]


def test_an_id_alone_decides_the_looks_whatever_its_zeros() -> None:
    assert appearance("limen-texture-00012") == appearance("limen-texture-12")
    assert appearance("plain") == appearance("limen-texture-00000")
    assert appearance("limen-texture-12345678901234567890").garments


@pytest.mark.parametrize("name", ["limen-texture-", "limen-texture-x", "smplitex-00012", ""])
def test_other_names_are_not_limens_own(name: str) -> None:
    assert not is_procedural(name)
    with pytest.raises(ValueError, match="no texture of Limen's"):
        appearance(name)


@pytest.mark.parametrize("figure", ["male", "female", "neutral"])
def test_no_two_ids_look_alike(figure: str) -> None:
    alike = [a == b for a, b in itertools.combinations([appearance(n, figure) for n in IDS], 2)]
    assert not any(alike)


def test_ids_use_all_tones_and_nearly_all_that_there_is_to_wear() -> None:
    seen = [appearance(name, figure) for name in IDS for figure in ("male", "female")]
    assert {look.tone for look in seen} == set(range(1, 11))
    assert {look.hair for look in seen} == set(HAIR_STYLES)
    assert {look.shoes for look in seen} == set(SHOES)
    assert {pattern.name for look in seen for pattern, _ in look.garments} == set(patterns())


def test_beards_are_mens_and_skirts_are_womens() -> None:
    assert not any(appearance(name, "female").beard for name in IDS)
    worn = {pattern.kind for name in IDS for pattern, _ in appearance(name, "male").garments}
    assert "skirt" not in worn


def test_a_bodys_name_tells_its_figure() -> None:
    names = ("SMPLX_FEMALE", "SMPLX_MALE", "SMPLX_NEUTRAL", "mannequin")
    assert [figure_of(name) for name in names] == ["female", "male", "neutral", "neutral"]


def test_names_of_looks_stand_for_ids() -> None:
    assert all(is_procedural(name) and is_procedural(id) for name, id in looks().items())


# ------------------------------------------------------------------------- skin


def test_the_monk_scale_is_as_published() -> None:
    # skintone.google, "The Scale"
    assert monk_tones() == (
        *("#f6ede4", "#f3e7db", "#f7ead0", "#eadaba", "#d7bd96"),
        *("#a07e56", "#825c43", "#604134", "#3a312a", "#292420"),
    )


def test_skin_reflects_what_measured_skin_does_and_red_most() -> None:
    tones = np.array([skin_reflectance(tone) for tone in range(1, 11)])
    luminance = tones @ [0.2126, 0.7152, 0.0722]
    # Luminous reflectance of the fairest and the darkest skin: about 0.4 and 0.05.
    assert 0.35 < luminance.max() < 0.45
    assert 0.04 < luminance.min() < 0.06
    assert (tones[:, 0] > tones[:, 1]).all() and (tones[:, 1] > tones[:, 2]).all()
    assert (np.diff(luminance[3:]) < 0).all()  # the scale's first three are about equally light


# ------------------------------------------------------------------------- data


def test_fabrics_are_dyed_in_colours_that_exist_and_reflect_less_than_all_light() -> None:
    for name in IDS:
        for _, cloth in appearance(name).garments:
            assert 0 < min(cloth.colour) <= max(cloth.colour) < 0.8


def test_every_pattern_names_fabrics_that_exist() -> None:
    assert {f for pattern in patterns().values() for f in pattern.fabrics} <= set(fabrics())
