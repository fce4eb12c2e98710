"""Noise is removed from any picture by what is seen whatever the light."""

import bpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.scene.denoise import Guides, denoised, on_grid

pytestmark = [pytest.mark.render, pytest.mark.usefixtures("blender")]

HEIGHT, WIDTH = 90, 160


def checks(side):
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return np.where((x // side + y // side) % 2, 0.8, 0.2).astype(np.float32)


def noisy(clean, seed=0):
    rng = np.random.default_rng(seed)
    factor = rng.gamma(4, 1 / 4, (HEIGHT, WIDTH, 1)).astype(np.float32)
    return clean * factor


def guides(albedo):
    level = np.zeros((HEIGHT, WIDTH, 3), np.float32)
    level[..., 2] = 1
    return Guides(np.repeat(albedo[..., None], 3, -1), level)


def error(a, b):
    return float(np.sqrt(((a - b) ** 2).mean()))


def test_a_pattern_of_the_guides_stays_and_noise_goes():
    pattern = checks(5)
    clean = np.stack([pattern, 0.5 * pattern, 0.25 * pattern], -1)
    found = denoised(noisy(clean), guides(pattern))
    assert found.shape == clean.shape
    assert found.dtype == np.float32
    assert error(found, clean) < 0.3 * error(noisy(clean), clean)
    # Neither turned over nor shifted, and red stays red.
    inner = (slice(10, -10), slice(10, -10))
    assert error(found[inner], clean[inner]) < 0.5 * error(found[::-1][inner], clean[inner])
    assert error(found[::-1][inner], clean[inner]) > 0.1


def test_better_guides_give_a_better_picture():
    pattern = checks(3)
    clean = np.repeat(pattern[..., None], 3, -1)
    rng = np.random.default_rng(1)
    poor = np.clip(pattern + rng.normal(0, 0.3, pattern.shape), 0, 1).astype(np.float32)
    good, bad = (error(denoised(noisy(clean), guides(albedo)), clean) for albedo in (pattern, poor))
    assert good < 0.6 * bad


@pytest.mark.parametrize("size", [(1, 1), (3, 40), (40, 2)])
def test_a_picture_of_few_pixels_keeps_its_size(size):
    height, width = size
    ones = np.ones((height, width, 3), np.float32)
    found = denoised(ones, Guides(ones, np.zeros_like(ones)))
    assert found.shape == ones.shape
    assert found.mean() == pytest.approx(1, abs=0.3)


def test_the_same_comes_out_each_time_and_nothing_is_left_behind():
    clean = np.repeat(checks(7)[..., None], 3, -1)
    kinds = (bpy.data.scenes, bpy.data.images, bpy.data.node_groups)
    before = [sorted(item.name for item in kind) for kind in kinds]
    first, second = (denoised(noisy(clean), guides(checks(7))) for _ in range(2))
    assert np.array_equal(first, second)
    assert [sorted(item.name for item in kind) for kind in kinds] == before


def test_on_its_grid_a_part_comes_out_as_in_the_whole():
    rng = np.random.default_rng(4)
    picture = rng.gamma(1, 1, (256, 320, 3)).astype(np.float32)
    guide = Guides(np.full_like(picture, 0.5), np.zeros_like(picture))
    whole = denoised(picture, guide)

    def differs(box):
        x, y, width, height = box
        rows, columns = slice(y, y + height), slice(x, x + width)
        part = denoised(picture[rows, columns], guide.part(box))
        inner = (slice(72, -72), slice(72, -72))
        return error(part[inner], whole[rows, columns][inner])

    anywhere = (37, 21, 211, 190)
    assert differs(on_grid(anywhere, (320, 256))) < 0.2 * differs(anywhere)


@given(st.tuples(*[st.integers(0, 200)] * 2), st.tuples(*[st.integers(1, 200)] * 2))
def test_a_box_on_the_grid_holds_the_box_within_the_picture(start, extent):
    size = (230, 171)
    x, y = (min(at, most - 1) for at, most in zip(start, size, strict=True))
    width, height = (min(e, most - at) for e, at, most in zip(extent, (x, y), size, strict=True))
    left, top, across, down = on_grid((x, y, width, height), size)
    assert left % 16 == top % 16 == 0
    assert 0 <= left <= x
    assert 0 <= top <= y
    assert x + width <= left + across <= size[0]
    assert y + height <= top + down <= size[1]
    assert (left + across) % 16 == 0 or left + across == size[0]


def test_a_part_of_guides_is_that_of_the_picture():
    whole = guides(checks(5))
    part = whole.part((3, 4, 20, 10))
    assert np.array_equal(part.albedo, whole.albedo[4:14, 3:23])
    assert part.normal.shape == (10, 20, 3)
    assert isinstance(part, Guides)
