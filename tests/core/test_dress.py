"""Dressed people: what covers what, hems, shoes and hair."""

from pathlib import Path

import numpy as np
import pytest
from limen.addon.core import seeds
from limen.addon.core.appearance import appearance, patterns
from limen.addon.core.body import JOINT_NAMES, Body, load_body, pose_surface, stature_m
from limen.addon.core.dress import Outfit, _around_m, dress
from limen.addon.core.hair import HAIR_STYLES, grow_hair
from limen.addon.core.landmarks import Landmarks, landmarks
from limen.addon.core.shoes import SHOES, make_shoes
from limen.addon.core.surface import edges_of, normals, open_edges
from limen.addon.core.tailor import cut_garment
from scipy.spatial import cKDTree

BODIES = Path(__file__).resolve().parents[2] / "addon" / "data" / "bodies"
IDS = [f"limen-texture-{n:05d}" for n in range(8)]


@pytest.fixture(scope="module", params=["MALE", "FEMALE"])
def body(request: pytest.FixtureRequest) -> Body:
    path = BODIES / f"SMPLX_{request.param}.npz"
    if not path.exists():
        pytest.skip("addon/data/bodies is empty: run `limen bodies --wheel FILE` first")
    return load_body(path)


@pytest.fixture(scope="module")
def marks(body: Body) -> Landmarks:
    return landmarks(body)


@pytest.fixture(scope="module")
def outfits(body: Body) -> list[Outfit]:
    figure = body.name.removeprefix("SMPLX_").lower()
    return [dress(body, appearance(name, figure)) for name in IDS]


def part_of(outfit: Outfit, name: str) -> np.ndarray:
    """Rest vertices (N, 3) of a part."""
    first = 0
    for part in outfit.parts:
        if part.name == name:
            return outfit.surface.vertices_m[first : first + part.vertices]
        first += part.vertices
    raise KeyError(name)


def test_an_outfit_is_a_sound_mesh(outfits: list[Outfit]) -> None:
    for outfit in outfits:
        surface = outfit.surface
        assert sum(part.vertices for part in outfit.parts) == len(surface.vertices_m)
        assert sum(part.faces for part in outfit.parts) == len(surface.faces)
        assert surface.faces.max() < len(surface.vertices_m) < 25_000
        assert np.isfinite(surface.vertices_m).all() and np.isfinite(outfit.coordinates_m).all()
        np.testing.assert_allclose(surface.weights.sum(axis=1), 1, atol=1e-3)


def test_no_outfit_leaves_the_trunk_or_the_feet_bare(
    marks: Landmarks, outfits: list[Outfit]
) -> None:
    for outfit in outfits:
        skin = part_of(outfit, "skin")
        trunk = (abs(skin[:, 0]) < 0.8 * marks.shoulders_x) & (skin[:, 1] > marks.hips_y)
        trunk &= skin[:, 1] < marks.at["spine3"][1] - 0.05
        assert not trunk.any()
        assert skin[:, 1].min() > marks.ankles_y - 0.05


def test_clothes_move_with_the_body(body: Body, outfits: list[Outfit]) -> None:
    pose = np.zeros((55, 3))
    pose[JOINT_NAMES.index("left_knee")] = (1.5, 0, 0)
    for outfit in outfits:
        rest = pose_surface(body, outfit.surface, (), np.zeros((55, 3))).vertices_m
        bent = pose_surface(body, outfit.surface, (), pose).vertices_m
        moved = np.linalg.norm(bent - rest, axis=1)
        assert moved[rest[:, 1] > landmarks(body).hips_y + 0.05].max() < 1e-6
        assert moved[(rest[:, 1] < landmarks(body).ankles_y) & (rest[:, 0] > 0)].min() > 0.3


@pytest.mark.parametrize("name", ["tee", "shirt", "jacket", "vest"])
def test_a_hem_is_a_level_line(body: Body, marks: Landmarks, name: str) -> None:
    garment = cut_garment(body, marks, patterns()[name])
    hips = (abs(garment.vertices_m[:, 0]) < 0.9 * marks.shoulders_x) & (
        garment.vertices_m[:, 1] < marks.at["spine1"][1]
    )
    edge = np.unique(open_edges(garment.faces))
    low = edge[hips[edge] & (garment.vertices_m[edge, 1] < marks.hips_y + 0.02)]
    assert np.ptp(garment.vertices_m[low, 1]) < 0.035


def test_sleeves_end_where_their_pattern_says(body: Body, marks: Landmarks) -> None:
    arm = marks.wrists_x - marks.shoulders_x
    for name in ("tee", "long-sleeve"):
        pattern = patterns()[name]
        reach = cut_garment(body, marks, pattern).vertices_m[:, 0].max()
        assert reach == pytest.approx(marks.shoulders_x + pattern.sleeve * arm, abs=0.01)


@pytest.mark.parametrize("name", list(SHOES))
def test_a_shoe_has_a_flat_sole_below_the_foot_and_encloses_it(
    body: Body, marks: Landmarks, name: str
) -> None:
    parts = make_shoes(body, marks, SHOES[name])
    assert not any(len(open_edges(part.faces)) for part in parts.values())
    sole = parts["sole"].vertices_m
    foot = body.vertices_m[body.vertices_m[:, 1] < marks.ankles_y - 0.05 * marks.size]
    assert sole[:, 1].min() < foot[:, 1].min() - 0.008
    left = sole[sole[:, 0] > 0]
    assert np.ptp(left[left[:, 1] < left[:, 1].min() + 0.008, 2]) > 0.10
    for axis in (0, 2):
        assert sole[:, axis].min() < foot[:, axis].min()
        assert sole[:, axis].max() > foot[:, axis].max()


@pytest.mark.parametrize("style", HAIR_STYLES)
def test_hair_is_on_the_head_and_leaves_the_eyes_free(
    body: Body, marks: Landmarks, style: str
) -> None:
    for surface in grow_hair(body, marks, style).values():
        assert len(edges_of(surface.faces)) > 100
        p = surface.vertices_m
        assert p[:, 1].max() > marks.eyes[1] + 0.08 * marks.size
        before_eyes = (abs(p[:, 0]) < 0.045) & (p[:, 2] > marks.eyes[2] - 0.03)
        before_eyes &= abs(p[:, 1] - marks.eyes[1]) < 0.015
        assert not before_eyes.any()


@pytest.mark.parametrize("style", ["cap", "cap-bob", "beanie"])
def test_no_hair_stands_through_a_hat(body: Body, marks: Landmarks, style: str) -> None:
    parts = grow_hair(body, marks, style)
    hat, hair = parts["hat"], parts["hair"].vertices_m
    distance, near = cKDTree(hat.vertices_m).query(hair)
    outward = normals(hat.vertices_m, hat.faces)[near]
    outside = ((hair - hat.vertices_m[near]) * outward).sum(axis=1)
    above = hair[:, 1] > marks.eyes[1] + 0.05 * marks.size
    above &= hair[:, 2] < marks.eyes[2] - 0.05 * marks.size  # behind the brim, which has no inside
    assert outside[above & (distance < 0.03)].max(initial=0) < 0.001


def test_stripes_keep_their_distance_from_front_to_back(
    body: Body, marks: Landmarks, outfits: list[Outfit]
) -> None:
    """Along a level line about the trunk, a step on the cloth is about as long in `around_m`."""
    angle = np.linspace(0, np.pi, 61)
    middle = marks.at["spine2"]
    ring = np.stack([0.16 * np.sin(angle), 0 * angle, 0.11 * np.cos(angle)], axis=1) + middle
    ring[:, 0] -= middle[0]
    steps = np.diff(_around_m(marks, ring, np.zeros(61, bool)))
    ratio = abs(steps) / np.linalg.norm(np.diff(ring, axis=0), axis=1)
    assert ratio.min() > 0.5 and ratio.max() < 2.5
    for outfit in outfits:
        assert outfit.around_m.shape == (len(outfit.surface.vertices_m),)
        assert np.isfinite(outfit.around_m).all()


def test_a_genuine_body_without_shells_is_dressed_too(body: Body) -> None:
    from dataclasses import replace

    genuine = replace(body, shells={}, lips=None)
    outfit = dress(genuine, appearance("limen-texture-00003", "male"))
    names = [part.name for part in outfit.parts]
    assert names[0] == "skin" and {"upper", "sole"} <= set(names)
    assert np.isfinite(outfit.surface.vertices_m).all()


# ------------------------------------------------------------------------- people


def test_the_bodies_statures_are_spread_as_adults_are(body: Body) -> None:
    """Random shapes of one sex: their mean is the template's, their deviation 6.0 to 7.5 cm.

    Adults of one sex and birth year have standard deviations of 6 to 7.5 cm in most countries
    (NCD Risk Factor Collaboration, 2016).
    """
    low, high = np.argsort(body.vertices_m[:, 1])[[0, -1]]
    slope = body.shapedirs[high, 1, :10] - body.shapedirs[low, 1, :10]
    betas = np.array([seeds.normal(1, f"p{i}", "betas", 10, limit=2) for i in range(2000)])
    statures = stature_m(body) + betas @ slope
    assert statures.mean() == pytest.approx(stature_m(body), abs=0.005)
    assert 0.060 < statures.std() < 0.075
    drawn = [stature_m(body, row) for row in betas[:20]]
    np.testing.assert_allclose(drawn, statures[:20], atol=0.02)
