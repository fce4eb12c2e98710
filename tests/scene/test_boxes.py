"""The boxes of crops hold all that a person changes, and end where the picture does."""

from itertools import pairwise

import numpy as np
import pytest
from limen.addon.core.lighting import ALPHA, direction, parse_layer
from limen.addon.core.optics import look_at_pose, project
from limen.addon.scene.boxes import layer_boxes
from limen.addon.scene.scenery import lowest_level_m
from limen.addon.scene.subject import PlacedSubject

pytestmark = pytest.mark.render

SUN_ELEVATION_DEG = 15
LAYERS = tuple(parse_layer(f"sun-{azimuth}-{SUN_ELEVATION_DEG}") for azimuth in (0, 90, 180, 270))


@pytest.fixture(scope="module")
def person():
    """A cloud of points of a person's size."""
    points = np.random.default_rng(1).uniform([-0.3, -0.2, 0], [0.3, 0.2, 1.7], (400, 3))
    return PlacedSubject(points, np.zeros((55, 3)), (0.0, 0.0, 0.0), None)


@pytest.fixture(params=[(5.376, 0.0), (5.376, 67.5), (10.752, 22.5)])
def view(request, published_camera):
    distance_m, elevation_deg = request.param
    return published_camera(), look_at_pose(30, elevation_deg, distance_m, 0.9)


def boxes_of(person, view, layers):
    camera, pose = view
    return layer_boxes(person, "desert", layers, camera, pose)


def inside(pixels, depth, camera):
    width, height = camera.image_px
    return (depth > 0.1) & ((pixels >= 0) & (pixels < (width, height))).all(axis=1)


def test_every_shadow_point_in_the_picture_lies_in_its_box(person, view):
    camera, pose = view
    boxes = boxes_of(person, view, LAYERS)
    lowest_m = lowest_level_m("desert")
    for layer in LAYERS:
        x, y, width, height = boxes[layer.name]
        down = -direction(layer.azimuth_deg, SUN_ELEVATION_DEG)
        body = person.vertices_m
        to_ground = (body[:, 2] - lowest_m) / -down[2]
        for share in np.linspace(0, 1, 60):
            points = body + down * (share * to_ground)[:, None]
            depth = (points @ pose.R.T + pose.t)[:, 2]
            front = points[depth > 0.1]
            pixels = project(front, camera.K, pose.R, pose.t)
            seen = pixels[inside(pixels, depth[depth > 0.1], camera)]
            assert (seen >= (x, y)).all(), (layer, share)
            assert (seen <= (x + width, y + height)).all(), (layer, share)


def test_a_shadow_that_passes_the_camera_takes_no_whole_picture(person, published_camera):
    camera = published_camera()
    view = (camera, look_at_pose(0, 22.5, 5.376, 0.9))
    box = boxes_of(person, view, LAYERS)["sun-0-15"]  # falls towards the camera, in the south
    width, height = camera.image_px
    assert box[1] + box[3] == height
    assert box[2] < 0.75 * width


def test_the_sky_s_box_is_the_ground_around_the_person(person, view):
    camera, pose = view
    box = boxes_of(person, view, (parse_layer("dome-uniform"),))["dome-uniform"]
    x, y, width, height = box
    level = lowest_level_m("desert")
    grid = np.array([[a, b, level] for a in np.linspace(-2, 2, 41) for b in np.linspace(-2, 2, 41)])
    depth = (grid @ pose.R.T + pose.t)[:, 2]
    pixels = project(grid[depth > 0.1], camera.K, pose.R, pose.t)
    seen = pixels[inside(pixels, depth[depth > 0.1], camera)]
    assert len(seen) > 100
    assert ((seen >= (x - 1, y - 1)) & (seen <= (x + width + 1, y + height + 1))).all()


def test_what_lies_beside_the_picture_has_no_box(published_camera):
    aside = PlacedSubject(
        np.array([[40.0, 0, 0], [40.2, 0, 1.7]]), np.zeros((55, 3)), (40.0, 0.0, 0.0), None
    )
    camera, pose = published_camera(), look_at_pose(0, 22.5, 5.376, 0.9)
    assert layer_boxes(aside, "desert", (), camera, pose) == {}


def test_boxes_do_not_depend_on_the_lightings_asked_for(person, view):
    together = boxes_of(person, view, LAYERS)
    for layer in LAYERS:
        alone = boxes_of(person, view, (layer,))
        assert alone == {name: together[name] for name in (ALPHA, layer.name)}


def test_a_longer_shadow_has_a_larger_box(person, published_camera):
    view = (published_camera(), look_at_pose(30, 22.5, 23.04, 0.9))
    suns = [parse_layer(f"sun-90-{elevation}") for elevation in (60, 30, 15, 8)]
    boxes = boxes_of(person, view, suns)
    areas = [boxes[sun.name][2] * boxes[sun.name][3] for sun in suns]
    assert all(shorter < longer for shorter, longer in pairwise(areas))
