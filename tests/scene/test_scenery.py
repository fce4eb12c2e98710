"""The places a study is set on, and the cameras that may stand on them."""

from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest
from limen.addon.core.lighting import (
    all_layers,
    horizontal_irradiance,
    layer_weights,
    load_lightings,
)
from limen.addon.core.optics import look_at_pose
from limen.addon.core.photometry import luminance
from limen.addon.core.study import SCENERIES, load_study
from limen.addon.core.study.values import PLACES
from limen.addon.operators.study import open_study
from limen.addon.scene import lighting, render, stage
from limen.addon.scene import scenery as sceneries
from limen.addon.scene.scenery import SceneryError, land
from limen.addon.scene.view import place_camera

pytestmark = pytest.mark.render

CI = Path(__file__).parents[2] / "studies" / "ci.toml"
DISTANCES_M = (5.376, 10.752, 23.04)
FARTHEST_M = 23.04


@pytest.fixture(scope="module", params=SCENERIES)
def scenery(blender, request):
    """Each scenery in turn, built."""
    stage.set_scenery(request.param)
    return request.param


def normals_of(name: str) -> np.ndarray:
    polygons = bpy.data.objects[name].data.polygons
    normals = np.empty(3 * len(polygons))
    polygons.foreach_get("normal", normals)
    return normals.reshape(-1, 3)


def test_the_ground_faces_up(scenery):
    names = [item.name for item in bpy.data.objects if item.name.startswith("Limen Ground")]
    assert names
    for name in names:
        assert (normals_of(name)[:, 2] > 0).all(), name


def test_a_viewport_shows_copies_and_not_what_is_copied(scenery):
    layer = stage.stage_scene().view_layers[0]
    layer.update()
    shown = [(item.is_instance, item.object.name) for item in layer.depsgraph.object_instances]
    copied = {name for is_copy, name in shown if is_copy}
    assert bool(copied) == (scenery.split("-")[0] != "wharf")
    assert copied.isdisjoint(name for is_copy, name in shown if not is_copy)


def test_what_stops_light_stops_it_on_every_way(scenery):
    """Else rays aimed at the sky and rays that reach it disagree, and layers add up to no whole."""
    for item in stage.stage_scene().objects:
        ways = (
            item.visible_shadow,
            item.visible_diffuse,
            item.visible_glossy,
            item.visible_transmission,
        )
        assert len(set(ways)) == 1 or item.type == "LIGHT", item.name


def test_the_published_cameras_stand_in_the_open(scenery, published_camera):
    for distance_m in DISTANCES_M:
        for azimuth_deg in range(0, 360, 45):
            stage.set_camera(published_camera(), look_at_pose(azimuth_deg, 0, distance_m, 0.9))
            assert not stage.camera_is_buried(), (distance_m, azimuth_deg)


def corners_of(item: bpy.types.Object, matrix) -> np.ndarray:
    vertices = np.empty(3 * len(item.data.vertices))
    item.data.vertices.foreach_get("co", vertices)
    turned = np.array(matrix)
    return vertices.reshape(-1, 3) @ turned[:3, :3].T + turned[:3, 3]


def line_m(radius_m):
    """The height of the line from the farthest camera to a foot that is 0.35 m before its place."""
    return land.SIGHT_SLOPE * np.maximum(radius_m - 0.35, 0)


def test_nothing_reaches_into_the_line_of_sight_to_the_feet(scenery):
    """From every azimuth: all that is nearer than the farthest camera stays below it."""
    graph = stage.stage_scene().view_layers[0].depsgraph
    for instance in graph.object_instances:
        item = instance.object
        if item.type != "MESH" or item.name.startswith("Limen Ground"):
            continue
        if item.instance_type == "FACES" or (item.parent and not instance.is_instance):
            continue  # a carrier of copies and what it copies: neither is shown itself
        place, size = instance.matrix_world.translation, max(instance.matrix_world.to_scale())
        box = np.abs(np.array([*item.bound_box])) * size
        nearest = place.xy.length - np.hypot(box[:, 0], box[:, 1]).max()
        if nearest > FARTHEST_M or place.z + box[:, 2].max() < line_m(nearest):
            continue
        places = corners_of(item, instance.matrix_world)
        radius = np.hypot(places[:, 0], places[:, 1])
        near = (radius < FARTHEST_M) & (places[:, 2] > 0.035)  # a sole's height
        assert (places[near, 2] < line_m(radius[near]) + 0.02).all(), item.name


@pytest.mark.parametrize("place", PLACES)
def test_variants_of_a_place_differ(blender, place):
    shapes = set()
    for name in SCENERIES:
        if name.partition("-")[0] == place:
            stage.set_scenery(name)
            items = bpy.data.collections[sceneries.COLLECTION].objects
            near = [tuple(round(c, 2) for c in item.location) for item in items]
            sizes = [len(item.data.vertices) for item in items if item.type == "MESH"]
            meshes = [i.data for i in items if i.type == "MESH" and len(i.data.vertices) > 100]
            first = tuple(round(c, 3) for mesh in meshes[:40] for c in mesh.vertices[7].co)
            shapes.add((tuple(near), tuple(sizes), first))
    assert len(shapes) == 3


def test_a_scenery_is_the_same_each_time(blender):
    def built():
        stage.set_scenery("desert")
        stage.set_scenery("field")
        mesh = bpy.data.objects["Limen Shrub 0 Carrier"].data
        return [tuple(vertex.co) for vertex in mesh.vertices]

    assert built() == built()


def test_a_scenery_shows_its_own_pictures_whichever_was_there_before(blender, published_camera):
    """Ground of the field after the desert is that of the field in a Blender just started."""
    layer = next(item for item in all_layers() if item.name == "dome-uniform")

    def ground_after(*names):
        for name in names:
            stage.set_scenery(name)
            stage.set_camera(published_camera((64, 36)), look_at_pose(0, 67.5, 10.752, 0.9))
            lighting.light_layer(layer)
            passes = render.render_passes(stage.stage_scene(), render.Shot(4, seed=1))
        return render.stacked(passes, "Combined", "RGB")

    first = ground_after("field")
    for others in (("desert",), ("desert-2", "wharf"), ("field-3", "desert-3")):
        assert np.array_equal(ground_after(*others, "field"), first), others


@pytest.mark.slow  # 18 layers in each of the three places
@pytest.mark.parametrize("place", PLACES)
def test_the_light_measured_at_the_subject_is_near_the_nominal_one(blender, place):
    """What stands around takes some of a low sky and gives some light back, no more."""
    stage.set_scenery(place)
    units = stage.measure_irradiance(stage.stage_scene(), all_layers(), samples=32)
    for layer in all_layers():
        if layer.kind == "sun":
            assert units[layer.name] == pytest.approx(horizontal_irradiance(layer), rel=0.03)
    for preset in load_lightings().values():
        measured = sum(
            float(luminance(weight)) * units[name] for name, weight in layer_weights(preset).items()
        )
        low = 0.97 if preset.band != "evening" else 0.85  # a glow lies low, behind containers
        assert low < measured / preset.illuminance_lx < 1.03, preset.name


@pytest.mark.parametrize(
    ("camera_y_m", "mirrored"), [(23.04, False), (33.0, False), (45.0, True), (-23.04, False)]
)
def test_a_subject_is_mirrored_only_where_the_quay_does_not_hide_it(camera_y_m, mirrored):
    body = np.array([[0.0, 0, 0], [0, 0, 1.8]])
    assert sceneries.mirrors("wharf", body, np.array([0, camera_y_m, 0.9])) == mirrored
    assert not sceneries.mirrors("desert", body, np.array([0, camera_y_m, 0.9]))


def test_a_camera_inside_a_dune_is_refused_and_says_where(blender):
    _, specs = open_study(str(CI))
    study = load_study(CI)
    buried = 0
    for azimuth_deg in range(0, 360, 15):
        factors = {
            **specs[0].factors,
            "distance_m": 201.6,
            "azimuth_deg": float(azimuth_deg),
            "elevation_deg": 0.0,
        }
        try:
            place_camera(study, replace(specs[0], factors=factors))
        except SceneryError as error:
            buried += 1
            assert f"201.6 m, azimuth {azimuth_deg}, elevation 0" in str(error)
            assert "desert" in str(error)
    assert buried
