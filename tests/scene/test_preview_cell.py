"""Preview this cell: the picture of a batch, and the same light mixed anew without rendering."""

import shutil
from pathlib import Path

import bpy
import numpy as np
import pytest
from limen.addon.core import relight
from limen.addon.core.dataset import open_dataset
from limen.addon.core.image_io import read_layers, read_png
from limen.addon.operators import preview as previews
from limen.addon.operators.lighting import own_pictures, own_presets, presets_file, refresh_presets
from limen.addon.properties import live
from limen.addon.scene import stage
from limen.addon.ui import light_pictures

pytestmark = pytest.mark.render

STUDY = """\
name = "previewed"
seed = 5
lightings = ["morning_east", "noon_south", "evening_west"]
sceneries = ["desert"]
actions = ["walking"]
poses = ["walking_left_foot_forward"]

[camera]
sensor = "syndorbench"
window = [48, 72]
bands = ["detect"]
azimuths_deg = [0]
elevations_deg = [22.5]

[[subject]]
name = "sam"
textures = ["limen-texture-00010"]

[sampling]
views = "all"
person_free = 0

[render]
samples = 2
denoise = "none"
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("previewed") / "previewed.toml"
    pose = next(name for name in live.library_poses() if name.startswith("walking"))
    path.write_text(STUDY.replace("walking_left_foot_forward", pose))
    return path


@pytest.fixture(scope="module")
def batch(study, render_grid, tmp_path_factory):
    """The study as a batch renders it, in a process of its own."""
    out = tmp_path_factory.mktemp("batch") / "dataset"
    render_grid(study, out)
    return open_dataset(out)


@pytest.fixture(scope="module")
def opened(blender, study):
    """The scene in which the study is open, its morning previewed."""
    bpy.ops.limen.open_study(filepath=str(study))
    bpy.ops.limen.show_cell(lighting="morning_east")
    return stage.stage_scene()


@pytest.fixture
def scene(opened):
    """The scene as it was opened, its morning shown and previewed, nothing edited."""
    settings = opened.limen
    bpy.ops.limen.show_cell(lighting="morning_east")
    if previews.shown_preview() is None or previews.shown_preview().is_draft:
        bpy.ops.limen.preview_cell()
    yield opened
    with live.filling():
        settings.cell.lighting = "morning_east"
    for index in range(len(settings.study.lightings)):
        settings.light.index = index
        if bpy.ops.limen.reset_lighting.poll():
            bpy.ops.limen.reset_lighting()


def image_pixels() -> np.ndarray:
    """The picture (H, W, 3) that Blender holds, 8 bits, rows from above."""
    image = previews.preview_image()
    width, height = image.size
    flat = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(flat)
    return np.rint(flat.reshape(height, width, 4)[::-1, :, :3] * 255).astype(np.uint8)


def in_batch(batch, view_id: str, lighting: str) -> np.ndarray:
    return read_png(batch.root / batch.index[f"{view_id}-{lighting}"]["media"]["clean"]["path"])


# --- the same picture ----------------------------------------------------------------------------


@pytest.mark.parametrize("lighting", ["morning_east", "noon_south", "evening_west"])
def test_the_preview_has_the_id_and_the_pixels_of_the_batch(scene, batch, lighting):
    bpy.ops.limen.show_cell(lighting=lighting)
    assert bpy.ops.limen.preview_cell() == {"FINISHED"}
    shown = previews.shown_preview()
    assert shown.view_id in batch.views and shown.lighting == lighting
    assert np.array_equal(image_pixels(), in_batch(batch, shown.view_id, lighting))
    row = batch.index[f"{shown.view_id}-{lighting}"]
    assert shown.picture.exposure_s == pytest.approx(row["exposure_s"], rel=1e-5)


def test_the_image_is_named_after_the_cell_and_nothing_is_left_to_be_saved(scene):
    bpy.ops.limen.preview_cell()
    image, view_id = previews.preview_image(), scene.limen.view_id
    assert image.name == f"{view_id}-morning_east"
    assert not image.is_dirty and Path(image.filepath).is_relative_to(bpy.app.tempdir)


def test_after_a_preview_the_scene_stands_in_the_light_of_its_cell(scene):
    bpy.ops.limen.preview_cell()
    assert not scene.render.film_transparent
    suns = [x for x in scene.objects if x.type == "LIGHT" and x.data.type == "SUN"]
    lit = [
        x.name for x in suns if any(x.data.node_tree.nodes["emission"].inputs[0].default_value[:3])
    ]
    assert lit == ["sun-90-15"]


def test_after_a_preview_the_viewport_is_not_cut_to_what_was_rendered(scene):
    bpy.ops.limen.preview_cell()
    assert not scene.render.use_border


def test_a_draft_is_called_one_and_a_preview_after_it_is_the_batch_s_again(scene, batch):
    render = scene.limen.study
    render.samples = 6
    try:
        bpy.ops.limen.preview_cell(draft=True)
        shown = previews.shown_preview()
        assert (shown.is_draft, shown.samples, shown.study_samples) == (True, 4, 6)
        assert previews.preview_image().name.endswith("draft 4 samples")
    finally:
        render.samples = 2
    bpy.ops.limen.preview_cell()
    assert not previews.shown_preview().is_draft
    expected = in_batch(batch, previews.shown_preview().view_id, "morning_east")
    assert np.array_equal(image_pixels(), expected)


# --- mixed without rendering ---------------------------------------------------------------------


@pytest.fixture
def no_render(monkeypatch):
    """Rendering fails."""

    def refuse(*_arguments, **_named):
        raise AssertionError("it was rendered")

    monkeypatch.setattr("limen.addon.scene.render.render_passes", refuse)


def test_an_edit_of_the_light_gives_the_picture_that_a_batch_would_compose(scene, batch, no_render):
    item = scene.limen.study.lightings["morning_east"]
    item.illuminance_lx, item.sun_percent = 300.0, 25.0
    view_id = scene.limen.view_id
    row = batch.views[view_id]
    plate = read_layers(batch.root / f"light/plates/{row['plate_id']}.exr")
    crops = read_layers(batch.root / f"light/crops/{view_id}.exr")
    k, r = row["camera"]["K"], row["camera"]["R"]
    directions = relight.pixel_directions(k, r, 48, 72)
    study = live.current_state(scene).study
    (light,) = (x for x in study.lightings if x.name == "morning_east")
    assert light.illuminance_lx == 300 and light.components[0].share == 0.25
    metered = relight.stack_from_layers(plate, {}, directions)
    from limen.addon.scene.clean_images import clean_image, metered_exposure_s

    exposure_s = metered_exposure_s(metered, light, study.camera)
    stack = relight.stack_from_layers(plate, crops, directions)
    assert np.array_equal(image_pixels(), clean_image(stack, light, exposure_s, study.camera))


def test_another_lighting_is_shown_at_once_if_its_light_is_there(scene, batch, monkeypatch):
    bpy.ops.limen.preview_cell(all_lightings=True)

    def refuse(*_arguments, **_named):
        raise AssertionError("it was rendered")

    monkeypatch.setattr("limen.addon.scene.render.render_passes", refuse)
    scene.limen.light.index = scene.limen.study.lightings.find("evening_west")
    shown = previews.shown_preview()
    assert (shown.lighting, shown.problem) == ("evening_west", "")
    assert np.array_equal(image_pixels(), in_batch(batch, shown.view_id, "evening_west"))


def test_a_lighting_whose_light_is_missing_says_that_it_must_be_rendered(scene):
    bpy.ops.limen.preview_cell()
    before = image_pixels()
    bpy.ops.limen.add_lighting(preset="night_lamps")
    try:
        shown = previews.shown_preview()
        assert shown.problem.startswith("night_lamps needs light that was not rendered: lamps")
        assert np.array_equal(image_pixels(), before)
    finally:
        bpy.ops.limen.show_cell(lighting="morning_east")
        index = scene.limen.study.lightings.find("night_lamps")
        bpy.ops.limen.remove_level(factor="lighting", index=index)
    bpy.ops.limen.show_cell(lighting="morning_east")
    assert previews.shown_preview().problem == ""


def test_a_thinned_picture_is_every_nth_pixel_of_the_whole_but_for_the_exposure(scene):
    from limen.addon.scene import preview

    light = live.current_state(scene).study.lightings[0]
    camera = live.current_state(scene).study.camera
    kept = previews._kept
    whole = preview.compose(kept, light, camera)
    thin = preview.compose(kept, light, camera, every=2)
    assert thin.pixels.shape == (36, 24, 3)
    assert thin.exposure_s == pytest.approx(whole.exposure_s, rel=0.1)
    difference = np.abs(thin.pixels.astype(int) - whole.pixels[::2, ::2])
    assert np.median(difference) <= 6


def test_at_night_the_shutter_limit_is_said_to_be_reached(scene):
    item = scene.limen.study.lightings["morning_east"]
    item.illuminance_lx = 0.05
    picture = previews.shown_preview().picture
    assert (picture.limit, picture.exposure_s) == ("longest", 0.04)
    assert picture.signal < 0.05


def test_a_study_with_faults_is_not_previewed(scene):
    scene.limen.study.lightings["noon_south"].name = "no good"
    try:
        with pytest.raises(RuntimeError, match="The study has faults: mend them first"):
            bpy.ops.limen.preview_cell()
    finally:
        scene.limen.study.lightings[1].name = "noon_south"


# --- presets of one's own ------------------------------------------------------------------------


@pytest.fixture
def presets(tmp_path, monkeypatch):
    """An empty folder for the user's presets."""
    monkeypatch.setattr("limen.addon.operators.lighting.user_folder", lambda: tmp_path)
    refresh_presets()
    yield tmp_path / "lightings.toml"
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    refresh_presets()


def test_an_edited_lighting_is_saved_as_a_preset_and_comes_back_equal(scene, presets):
    item = scene.limen.study.lightings["morning_east"]
    item.illuminance_lx, item.sun_percent = 777.0, 33.3
    assert bpy.ops.limen.save_lighting_preset(name="my_morning") == {"FINISHED"}
    assert presets_file() == presets and "[[lighting]]" in presets.read_text()
    saved = own_presets()["my_morning"]
    bpy.ops.limen.add_lighting(preset="my_morning")
    try:
        study = live.current_state(scene).study
        assert study.lightings[-1] == saved and saved.illuminance_lx == 777
        assert str(presets) not in live.current_state(scene).text
    finally:
        bpy.ops.limen.show_cell(lighting="morning_east")
        bpy.ops.limen.remove_level(factor="lighting", index=len(scene.limen.study.lightings) - 1)


def test_the_last_preview_is_the_picture_of_the_preset_that_it_shows(scene, presets):
    bpy.ops.limen.save_lighting_preset(name="mine")
    path, _ = own_pictures()["mine"]
    assert read_png(path).shape == (96, 96, 3)
    bpy.ops.limen.remove_lighting_preset(name="mine")
    assert not path.exists() and own_pictures() == {}


def test_without_a_preview_a_preset_has_the_picture_of_one_with_its_light(
    scene, presets, monkeypatch
):
    monkeypatch.setattr("limen.addon.operators.lighting.shown_preview", lambda: None)
    scene.limen.study.lightings["morning_east"].illuminance_lx = 500.0
    scene.limen.cell.lighting = "morning_east"
    bpy.ops.limen.save_lighting_preset(name="mine")
    assert own_pictures() == {}
    assert light_pictures._like("mine") == "morning_east"


def test_a_preset_is_removed_and_the_others_stay(scene, presets):
    for name in ("mine_1", "mine_2"):
        bpy.ops.limen.save_lighting_preset(name=name)
    bpy.ops.limen.remove_lighting_preset(name="mine_1")
    refresh_presets()
    assert list(own_presets()) == ["mine_2"]


def test_limen_s_own_names_and_bad_ones_are_refused(scene, presets):
    with pytest.raises(RuntimeError, match="'night' is one of Limen's presets: choose another"):
        bpy.ops.limen.save_lighting_preset(name="night")
    with pytest.raises(RuntimeError, match="letters, digits and underscores"):
        bpy.ops.limen.save_lighting_preset(name="my night")
    assert not presets.exists()


def test_a_presets_file_with_a_fault_is_told_and_never_overwritten(scene, presets):
    from limen.addon.operators.lighting import presets_problem

    presets.write_text("[[lighting]]\nname = 3\n")
    refresh_presets()
    assert "lighting name is 3" in presets_problem() and not own_presets()
    with pytest.raises(RuntimeError, match="lighting name is 3"):
        bpy.ops.limen.save_lighting_preset(name="mine")
    assert presets.read_text() == "[[lighting]]\nname = 3\n"
