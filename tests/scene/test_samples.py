"""Where samples go, and that what a picture shows depends on nothing rendered before it."""

import bpy
import numpy as np
import pytest
from limen.addon.core.lighting import ALPHA, parse_layer
from limen.addon.core.optics import look_at_pose
from limen.addon.core.study import RenderSettings
from limen.addon.scene import camera_rig, lighting, render, stack, stage
from limen.addon.scene.materials import diffuse_white
from limen.addon.scene.mesh import add_object, make_mesh
from limen.addon.scene.samples import COVER, crop_parts, plate_parts

pytestmark = pytest.mark.render

SUN, DOME = parse_layer("sun-90-30"), parse_layer("dome-uniform")
LAYERS = (COVER, DOME, SUN)
SETTINGS = RenderSettings(method="fast", samples=32, denoise="oidn")
RAW = RenderSettings(method="fast", samples=8, denoise="none")
PERSON, WIDE = (10, 4, 20, 30), (0, 0, 60, 40)
GROUND = (0, 0, 900, 400)


@pytest.fixture
def lit(blender, published_camera):
    """A white ball-like solid before the sky, in the stage."""
    scene = stage.stage_scene()
    camera_rig.aim_camera(scene, published_camera((64, 48)), look_at_pose(30, 10, 30, 0.5))
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (0, 1)], float)
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]])
    mesh = make_mesh("Solid", corners * (0.4, 0.9, 1.1), faces, smooth=False)
    mesh.materials.append(diffuse_white("Solid"))
    item = add_object("Solid", mesh, scene.collection)
    yield scene
    bpy.data.objects.remove(item)
    bpy.data.meshes.remove(mesh)


def samples_of(boxes, settings=SETTINGS):
    """Layer name -> the samples of its parts, in their order."""
    found = {}
    for layer, box, samples in crop_parts(LAYERS, boxes, settings):
        found.setdefault(layer.name, []).append((box, samples))
    return found


def test_the_person_lies_on_top_and_takes_more_samples_than_the_ground_about_it():
    found = samples_of({ALPHA: PERSON, DOME.name: GROUND, SUN.name: GROUND})
    assert [box for box, _ in found[ALPHA]] == [PERSON]
    for layer in (DOME, SUN):
        (around, few), (person, many) = found[layer.name]
        assert (around, person) == (GROUND, PERSON)
        assert many >= 4 * few


def test_a_box_that_is_the_persons_is_rendered_once():
    found = samples_of({ALPHA: PERSON, SUN.name: PERSON})
    ((box, samples),) = found[SUN.name]
    assert box == PERSON
    assert samples <= found[ALPHA][0][1]  # edges are seen under every light


def test_the_fewer_pixels_a_person_has_the_more_samples_each_takes():
    sides = (40, 80, 160, 400)
    taken = [samples_of({ALPHA: (0, 0, side, side)})[ALPHA][0][1] for side in sides]
    assert taken == sorted(taken, reverse=True)
    assert taken[0] > taken[-1]


def test_without_a_denoiser_every_pixel_takes_the_study_s_samples():
    found = samples_of({ALPHA: PERSON, DOME.name: WIDE, SUN.name: WIDE}, RAW)
    assert all(parts[0][1] == RAW.samples and len(parts) == 1 for parts in found.values())
    plate = plate_parts(LAYERS, (64, 48), RAW)
    assert {samples for _, _, samples in plate} == {RAW.samples}


def test_what_a_pixel_covers_does_not_depend_on_the_layers_asked_for(lit):
    boxes = dict.fromkeys((ALPHA, DOME.name, SUN.name), WIDE)
    alone, both = (
        stack.Crops(boxes, RAW, 5).render((COVER, *layers))[ALPHA].pixels
        for layers in ((SUN,), (DOME, SUN))
    )
    assert 0.05 < alone.mean() < 0.95
    assert np.array_equal(alone, both)


def test_layers_have_noise_of_their_own(lit):
    boxes = dict.fromkeys((ALPHA, DOME.name, SUN.name), WIDE)
    found, again, other = (stack.Crops(boxes, RAW, seed).render(LAYERS) for seed in (5, 5, 6))
    for name in (ALPHA, DOME.name, SUN.name):
        assert np.array_equal(found[name].pixels, again[name].pixels)
        assert not np.array_equal(found[name].pixels, other[name].pixels)
    edge = (found[ALPHA].pixels > 0) & (found[ALPHA].pixels < 1)
    shown = found[DOME.name].pixels.mean(axis=-1, keepdims=True)[edge].astype(float)
    covered = found[ALPHA].pixels[edge].astype(float)
    assert len(covered) > 30
    assert len(np.unique(np.round(shown / covered, 3))) > 10


def test_one_sample_falls_anywhere_in_a_pixel(lit):
    """Cycles takes the first of a sequence at the centre, in all layers alike."""

    def covered(seed, **options):
        return render.render_passes(lit, render.Shot(1, seed, **options))["Combined.A"]

    lighting.light_layer(COVER)
    shares = np.mean([covered(seed) for seed in range(24)], axis=0)
    edge = (shares > 0) & (shares < 1)
    assert edge.sum() > 30
    known = render.render_passes(lit, render.Shot(256))["Combined.A"]
    assert abs(shares[edge] - known[edge]).mean() < 0.1
    assert np.array_equal(covered(1, exact_pixels=True), covered(2, exact_pixels=True))


def test_a_picture_is_the_same_whatever_was_rendered_before_it(lit):
    def shown(samples, box, layer=SUN, seed=3):
        lighting.light_layer(layer)
        passes = render.render_passes(lit, render.Shot(samples, seed, box=box))
        return render.stacked(passes, "Combined", "RGB")

    before = shown(6, PERSON)
    for samples, box, layer in ((48, PERSON, SUN), (1, WIDE, DOME), (200, (0, 0, 8, 8), DOME)):
        shown(samples, box, layer, seed=9)
        assert np.array_equal(shown(6, PERSON), before)
