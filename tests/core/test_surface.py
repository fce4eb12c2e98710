"""Cutting, refining and hemming surfaces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.surface import Surface, clip, edges_of, hemmed, join, raised, refined


def sheet(n: int = 6) -> Surface:
    """A unit square of 2 n n triangles; its weights and shapedirs are its coordinates."""
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1))
    vertices = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    a = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    faces = np.concatenate(
        [np.stack([a, a + 1, a + n + 2], axis=1), np.stack([a, a + n + 2, a + n + 1], axis=1)]
    )
    weights = np.zeros((len(vertices), 55))
    weights[:, 0], weights[:, 1] = vertices[:, 0], 1 - vertices[:, 0]
    moves = vertices[:, :, None].astype(np.float32)
    return Surface(vertices, faces, weights, moves, np.arange(len(vertices)))


def area(surface: Surface) -> float:
    a, b, c = np.moveaxis(surface.vertices_m[surface.faces], 1, 0)
    return float(np.cross(b - a, c - a)[:, 2].sum() / 2)


@given(st.floats(0.01, 0.99), st.floats(0, 2 * np.pi))
def test_the_two_sides_of_a_cut_make_up_the_whole(offset: float, angle: float) -> None:
    whole = sheet()
    field = (whole.vertices_m[:, :2] - offset) @ [np.cos(angle), np.sin(angle)]
    parts = [clip(whole, sign * field) for sign in (1, -1)]
    assert sum(area(part) for part in parts) == pytest.approx(1, abs=1e-9)
    assert all(part.faces.size == 0 or part.faces.max() < len(part.vertices_m) for part in parts)


@given(st.floats(0.05, 0.95))
def test_a_straight_cut_gives_a_straight_edge_and_carries_everything_along(at: float) -> None:
    whole = sheet()
    part = clip(whole, at - whole.vertices_m[:, 0])
    assert part.vertices_m[:, 0].max() == pytest.approx(at, abs=1e-9)
    assert area(part) == pytest.approx(at, abs=1e-9)
    np.testing.assert_allclose(part.weights[:, 0], part.vertices_m[:, 0], atol=1e-9)
    np.testing.assert_allclose(part.shapedirs[:, :, 0], part.vertices_m, atol=1e-6)


def test_refining_quarters_every_triangle_and_moves_nothing() -> None:
    whole = sheet(2)
    finer = refined(whole)
    assert len(finer.faces) == 4 * len(whole.faces)
    assert len(finer.vertices_m) == len(whole.vertices_m) + len(edges_of(whole.faces))
    assert area(finer) == pytest.approx(1)


def test_a_hem_turns_the_open_edges_in_by_its_depth() -> None:
    whole = sheet(3)
    turned = hemmed(whole, 0.01)
    rim = turned.vertices_m[len(whole.vertices_m) :]
    assert len(rim) == 12
    np.testing.assert_allclose(rim[:, 2], -0.01)
    assert len(turned.faces) == len(whole.faces) + 2 * 12


def test_what_is_raised_lies_over_what_it_was_raised_from() -> None:
    whole = sheet(8)
    bumpy = whole.moved(
        whole.vertices_m + np.array([0, 0, 0.004]) * np.sin(9 * whole.vertices_m[:, :1])
    )
    cover = raised(bumpy, 5, 0.002)
    inside = ((whole.vertices_m[:, :2] > 0.2) & (whole.vertices_m[:, :2] < 0.8)).all(axis=1)
    assert (cover - bumpy.vertices_m)[inside, 2].min() > 0.0015


def test_joined_surfaces_keep_their_own_faces() -> None:
    both = join([sheet(2), sheet(3)])
    assert area(both) == pytest.approx(2)
    assert both.faces.max() == len(both.vertices_m) - 1
