"""What is seen in the open sky: discs, their aureole, stars."""

import numpy as np
import pytest
from limen.addon.core.lighting import (
    Component,
    Lighting,
    direction,
    load_lightings,
    load_more_lightings,
)
from limen.addon.core.optics import Camera, look_at_pose, project
from limen.addon.core.relight import pixel_directions
from limen.addon.core.sky import STAR_LUX, seen_sky, star_catalogue

CAMERA = Camera(5.3333, 3.0, 2.8, 1.4, 1920, 1080)
SIZE = CAMERA.image_px


def looking_at(azimuth_deg, elevation_deg):
    """The pose of a camera that looks towards a compass azimuth and an elevation."""
    return look_at_pose(360 - azimuth_deg, -elevation_deg, 10, 100)


def solid_angles():
    """The solid angle (h, w) of each pixel: cos^3 of the angle from the axis over f^2."""
    x, y = np.meshgrid(*(np.arange(side) - (side - 1) / 2 for side in SIZE))
    return (1 + (x**2 + y**2) / CAMERA.focal_px**2) ** -1.5 / CAMERA.focal_px**2


@pytest.mark.parametrize(("azimuth_deg", "elevation_deg"), [(200, 24), (90, 15)])
def test_the_disc_that_is_seen_is_the_light_that_it_gives(azimuth_deg, elevation_deg):
    layer = f"sun-{azimuth_deg}-{elevation_deg}"
    horizontal_lx = np.sin(np.radians(elevation_deg))
    lighting = Lighting("sun", "day", horizontal_lx, (Component(layer, 1.0),))  # 1 lx normal
    towards = pixel_directions(CAMERA.K, looking_at(azimuth_deg, elevation_deg).R, *SIZE)
    sky = seen_sky(lighting, towards)[..., 1]
    assert (sky * solid_angles()).sum() == pytest.approx(1, rel=0.02)
    brightest = np.unravel_index(sky.argmax(), sky.shape)
    assert towards[brightest] @ direction(azimuth_deg, elevation_deg) > np.cos(np.radians(0.27))


def test_a_disc_is_as_wide_as_sun_and_moon():
    night = load_lightings()["night"]
    towards = pixel_directions(CAMERA.K, looking_at(200, 24).R, *SIZE)
    sky = seen_sky(night, towards)[..., 1]
    across = (sky[SIZE[1] // 2] > 0.5 * sky.max()).sum() / CAMERA.focal_px
    assert np.degrees(across) == pytest.approx(0.53, abs=0.08)


def test_stars_are_seen_where_they_are_and_as_bright_as_they_are():
    towards, lux, _ = star_catalogue()
    brightest = int(np.argmax(lux * (towards[:, 2] < 0.5)))  # low enough for a level image row
    star = towards[brightest]
    azimuth = np.degrees(np.arctan2(star[0], star[1])) % 360
    pose = looking_at(azimuth, np.degrees(np.arcsin(star[2])) - 5)
    dark = Lighting("dark", "night", 1e-6, (Component("dome-uniform", 1.0),), stars=True)
    sky = seen_sky(dark, pixel_directions(CAMERA.K, pose.R, *SIZE)) @ (0.2126, 0.7152, 0.0722)
    x, y = np.rint(project(star * 1e6 + pose.position_m, CAMERA.K, pose.R, pose.t)).astype(int)
    about = np.s_[y - 3 : y + 4, x - 3 : x + 4]
    assert (sky * solid_angles())[about].sum() == pytest.approx(lux[brightest], rel=0.02)
    assert sky[y, x] == sky[about].max()


def test_stars_give_less_than_a_thousandth_of_a_moonlit_night():
    towards, lux, _ = star_catalogue()
    assert (lux * towards[:, 2]).sum() < 1e-3 * load_lightings()["night"].illuminance_lx


def test_there_are_as_many_stars_as_an_eye_sees():
    _, lux, _ = star_catalogue()
    assert len(lux) == 4200  # half of the 8400 brighter than 6.5
    assert (lux > STAR_LUX * 10 ** (-0.4 * 2.0)).sum() < 24  # half of the 48 brighter than 2


@pytest.mark.parametrize("name", ["noon_south", "morning_east"])
def test_no_star_is_seen_by_day(name):
    lighting = load_lightings()[name]
    assert not lighting.stars


def test_nothing_shines_from_below_the_horizon():
    pose = looking_at(200, -40)
    towards = pixel_directions(CAMERA.K, pose.R, *SIZE)
    plain = Lighting("plain", "night", 1.0, (Component("dome-uniform", 1.0),))
    starry = Lighting("starry", "night", 1.0, (Component("dome-uniform", 1.0),), stars=True)
    below = towards[..., 2] < -0.01
    np.testing.assert_array_equal(seen_sky(starry, towards)[below], seen_sky(plain, towards)[below])


def test_the_presets_beyond_the_published_ones_are_others():
    more = load_more_lightings()
    assert set(more) == {"night_lamps", "night_infrared"}
    assert not set(more) & set(load_lightings())
    assert more["night_lamps"].lamps_lm > 0
    assert more["night_infrared"].monochrome and more["night_infrared"].illuminator_cd > 0


def test_night_with_lamps_is_the_night_but_for_the_lamps():
    night, lit = load_lightings()["night"], load_more_lightings()["night_lamps"]
    assert (lit.illuminance_lx, lit.components) == (night.illuminance_lx, night.components)
