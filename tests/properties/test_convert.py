"""A study in a scene's properties: what goes in comes out, to the last digit."""

import json
from dataclasses import replace
from pathlib import Path

import bpy
import limen
import pytest
from any_study import studies
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core.optics import load_sensors
from limen.addon.core.study import OwnScenery, Study
from limen.addon.properties import live
from limen.addon.properties.convert import show_study, study_of

pytestmark = pytest.mark.render

STUDIES = Path(__file__).parents[2] / "studies"
EXAMPLES = settings(deadline=None, max_examples=25)


@pytest.fixture(scope="module", autouse=True)
def blender():
    """An empty Blender with Limen in it."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        limen.register()


@pytest.fixture
def scene():
    """A scene in which the study of "New Study" is open."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.limen.new_study()
    return stage()


def stage() -> bpy.types.Scene:
    """The scene in which a study is open: undo and opened files make another object of it."""
    (found,) = (scene for scene in bpy.data.scenes if scene.limen.is_open)
    return found


def shown() -> Study:
    return study_of(stage().limen.study)


def show(study: Study) -> None:
    show_study(stage().limen.study, study)


# --- round trips ---------------------------------------------------------------------------------


@EXAMPLES
@given(studies())
def test_any_study_comes_back_as_it_went_in(study):
    properties = bpy.context.scene.limen.study
    show_study(properties, study)
    assert study_of(properties) == study


@EXAMPLES
@given(studies(), studies())
def test_nothing_of_the_study_before_shows_through(before, after):
    properties = bpy.context.scene.limen.study
    show_study(properties, before)
    show_study(properties, after)
    assert study_of(properties) == after


@pytest.mark.parametrize("name", ["demo", "ci", "limits", "paper-size"])
def test_a_ready_study_opened_and_saved_leaves_its_file_as_it_is_to_the_byte(name, tmp_path):
    file = tmp_path / f"{name}.toml"
    before = (STUDIES / f"{name}.toml").read_bytes()
    file.write_bytes(before)
    bpy.ops.limen.open_study(filepath=str(file))
    bpy.ops.limen.save_study()
    assert file.read_bytes() == before


def test_what_32_bits_do_not_hold_comes_back(scene):
    study = shown()
    camera = replace(
        study.camera,
        sensor="a chip 4/3",
        sensor_width_mm=16 / 3,
        fnumber=1.4000000000000001,
        look_at_height_m=0.1 + 0.2,
        azimuths_deg=(0.0, 1 / 3, 359.999999),
        bands=(),
        distances_m=(5.376000000000001, 1999.9999999),
    )
    study = replace(study, seed=2**63 - 1, camera=camera)
    show(study)
    assert shown() == study


def test_three_hundred_betas_come_back_and_an_edit_of_one_leaves_the_rest(scene):
    study = shown()
    betas = tuple(0.1 * i / 7 - 2 for i in range(300))
    show(replace(study, subjects=(replace(study.subjects[0], betas=betas),)))
    assert shown().subjects[0].betas == betas
    stage().limen.study.subjects[0].betas[3] = 1.5
    edited = shown().subjects[0].betas
    assert edited[3] == 1.5
    assert edited[:3] == betas[:3] and edited[4:] == betas[4:]


def test_an_own_scenery_that_is_switched_off_and_on_is_the_same(scene):
    yard = OwnScenery("yard", "The yard", "Here", "0123456789abcdef" * 4)
    study = replace(shown(), sceneries=("yard", "desert"), own_sceneries=(yard,))
    show(study)
    item = stage().limen.study.sceneries["yard"]
    item.used = False
    assert (shown().sceneries, shown().own_sceneries) == (("desert",), ())
    item.used = True
    assert shown() == study


# --- edits ---------------------------------------------------------------------------------------

# A property, a value for it, and the study that it makes of another.
EDITS = {
    "name": ("study.name", "other", lambda s: replace(s, name="other")),
    "seed": ("study.seed", 7, lambda s: replace(s, seed=7)),
    "depth": ("study.depth", False, lambda s: replace(s, outputs=replace(s.outputs, depth=False))),
    "samples": ("study.samples", 9, lambda s: replace(s, render=replace(s.render, samples=9))),
    "method": (
        "study.method",
        "exact",
        lambda s: replace(s, render=replace(s.render, method="exact")),
    ),
    "iso": ("study.camera.iso", 100.0, lambda s: replace(s, camera=replace(s.camera, iso=100.0))),
    "fnumber": (
        "study.camera.fnumber",
        2.8,
        lambda s: replace(s, camera=replace(s.camera, fnumber=2.8)),
    ),
    "look-at height": (
        "study.camera.look_at_height_m",
        1.1,
        lambda s: replace(s, camera=replace(s.camera, look_at_height_m=1.1)),
    ),
    "shutter": (
        "study.camera.shutter_limit_s",
        0.02,
        lambda s: replace(s, camera=replace(s.camera, shutter_limit_s=0.02)),
    ),
    "yaw": (
        "study.subjects[0].yaw_deg",
        12.3,
        lambda s: replace(s, subjects=(replace(s.subjects[0], yaw_deg=12.3), *s.subjects[1:])),
    ),
    "lux": (
        "study.lightings[0].illuminance_lx",
        1234.5,
        lambda s: replace(
            s, lightings=(replace(s.lightings[0], illuminance_lx=1234.5), *s.lightings[1:])
        ),
    ),
    "an azimuth": (
        "study.camera.azimuths_deg[0].value",
        359.5,
        lambda s: replace(
            s, camera=replace(s.camera, azimuths_deg=(359.5, *s.camera.azimuths_deg[1:]))
        ),
    ),
}


def edit(path: str, value: object) -> None:
    """Set a property of the open study by its path from ``scene.limen``."""
    owner, _, name = path.rpartition(".")
    setattr(stage().limen.path_resolve(owner), name, value)


@EXAMPLES
@given(study=studies(), what=st.sampled_from(sorted(EDITS)))
def test_an_edit_changes_what_was_edited_and_nothing_else(study, what):
    if not bpy.context.scene.limen.is_open:
        bpy.ops.limen.new_study()
    show(study)
    path, value, expected = EDITS[what]
    edit(path, value)
    assert shown() == expected(study)


def test_a_preset_sensor_brings_its_size_and_another_size_makes_it_ones_own(scene):
    camera = stage().limen.study.camera
    camera.sensor = "syndorbench"
    preset = shown().camera
    camera.resolution = (1280, 720)
    own = shown().camera
    assert (own.sensor, own.resolution) == ("own", (1280, 720))
    assert own.sensor_width_mm == preset.sensor_width_mm


@pytest.mark.parametrize("name", load_sensors())
def test_a_preset_sensor_stays_chosen_whatever_was_chosen_before(scene, name):
    camera = stage().limen.study.camera
    for before in load_sensors():
        camera.sensor = before
        camera.sensor = name
        preset = load_sensors()[name]
        assert (camera.sensor, *camera.resolution) == (name, preset.width_px, preset.height_px)
        assert shown().camera.sensor == name


# --- undo, and files of Blender ------------------------------------------------------------------


def test_undo_and_redo_give_the_study_before_and_after(scene):
    bpy.ops.ed.undo_push(message="start")
    before = shown()
    for factor in ("lighting", "elevation", "subject"):
        done = {"lighting": {"name": "noon_east"}}.get(factor, {})
        bpy.ops.limen.add_level(factor=factor, **done)
        bpy.ops.ed.undo_push(message=factor)
    after = shown()
    assert after != before
    for _ in range(3):
        bpy.ops.ed.undo()
    assert shown() == before
    assert live.current_state(stage()).study == before
    for _ in range(3):
        bpy.ops.ed.redo()
    assert shown() == after
    assert live.current_state(stage()).study == after


@settings(deadline=None, max_examples=5)
@given(studies(), studies())
def test_undo_keeps_every_digit(before, after):
    if not any(scene.limen.is_open for scene in bpy.data.scenes):
        bpy.ops.limen.new_study()
    show(before)
    bpy.ops.ed.undo_push(message="before")
    show(after)
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert shown() == before
    bpy.ops.ed.redo()
    assert shown() == after


@settings(deadline=None, max_examples=4)
@given(studies())
def test_a_saved_blend_file_keeps_the_study(tmp_path_factory, study):
    file = str(tmp_path_factory.mktemp("blend") / "study.blend")
    if not any(scene.limen.is_open for scene in bpy.data.scenes):
        bpy.ops.limen.new_study()
    show(study)
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert not bpy.context.scene.limen.is_open
    bpy.ops.wm.open_mainfile(filepath=file)
    assert shown() == study


# --- hostile values ------------------------------------------------------------------------------


def refused(action, *says: str) -> None:
    """Assert that an operator refuses in words, without a traceback."""
    with pytest.raises(RuntimeError) as caught:
        action()
    text = str(caught.value)
    assert "Traceback" not in text
    for part in says:
        assert part in text


LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("study.name", LONG, "Study name is"),
        ("study.name", "", "Study name is"),
        ("study.name", "a\x1b[31m\nb", "Study name is"),
        ("study.subjects[0].name", LONG, "subject[0].name is"),
        ("study.subjects[0].body", "../../etc/passwd", "subject[0].body is"),
        ("study.subjects[0].textures[0].name", LONG, "subject[0].textures[0] is"),
        ("study.lightings[0].name", LONG, "name is"),
        ("study.sceneries[0].name", LONG, "sceneries[0] is"),
        ("study.actions[0].name", LONG, "actions[0] is"),
        ("study.camera.azimuths_deg[0].value", float("nan"), "azimuths_deg[0] is"),
        ("study.camera.azimuths_deg[0].value", float("inf"), "azimuths_deg[0] is"),
        ("study.camera.elevations_deg[0].value", -1e30, "elevations_deg[0] is"),
        ("study.camera.lens_mm", 0.01, "camera.lens_mm is"),
        ("study.camera.resolution", (2**31 - 1, 2**31 - 1), "no square pixels"),
        ("study.family", "temporal", "not built yet"),
    ],
)
def test_what_cannot_be_is_told_in_words(scene, tmp_path, path, value, says):
    edit(path, value)
    problems = live.current_state(stage()).problems
    assert problems
    assert any(says in problem.text for problem in problems), problems
    assert all(len(problem.text) < 600 for problem in problems)
    file = tmp_path / "x.toml"
    refused(lambda: bpy.ops.limen.save_study_as(filepath=str(file)), says)
    refused(bpy.ops.limen.place_rig, says)
    assert not file.exists()


@given(st.text(max_size=40) | st.sampled_from(["0", "[]", '{"seed": 3}', '{"seed": [1, null]}']))
@settings(deadline=None, max_examples=60)
def test_no_text_in_the_hidden_memory_ends_in_a_traceback(text):
    if not any(scene.limen.is_open for scene in bpy.data.scenes):
        bpy.ops.limen.new_study()
    # A .blend file of somebody else's may hold anything there.
    stage().limen.study.exact = text.replace("\0", "")
    try:
        live.current_state(stage())
    finally:
        stage().limen.study.exact = ""


def test_a_studys_hidden_memory_is_json():
    bpy.ops.limen.new_study()
    for group in (stage().limen.study, stage().limen.study.camera):
        assert isinstance(json.loads(group.exact or "{}"), dict)


# --- what is asked for twice, or by nobody -------------------------------------------------------


def test_a_list_of_poses_that_are_all_switched_off_is_a_fault_and_not_all_poses(scene):
    study = stage().limen.study
    study.all_poses = False
    for pose in study.poses:
        pose.used = False
    now = live.current_state(stage())
    assert now.study is None and [problem.path for problem in now.problems] == [("poses",)]
    for pose in study.poses:
        pose.used = True
    assert live.current_state(stage()).study.poses == tuple(pose.name for pose in study.poses)


def test_a_script_may_go_on_as_soon_as_a_fault_is_mended(scene, tmp_path):
    stage().limen.batch.output = str(tmp_path / "out")
    stage().limen.study.name = ""
    assert live.current_state(stage()).problems
    stage().limen.study.name = "mended"
    assert bpy.ops.limen.preview_cell.poll() and bpy.ops.limen.copy_command_line.poll()


@pytest.mark.parametrize("save", ["save_study", "copy_command_line"])
def test_a_file_that_somebody_changed_meanwhile_is_neither_saved_over_nor_rendered(
    scene, tmp_path, save
):
    file = tmp_path / "ci.toml"
    file.write_bytes((STUDIES / "ci.toml").read_bytes())
    bpy.ops.limen.open_study(filepath=str(file))
    stage().limen.batch.output = str(tmp_path / "out")
    changed = file.read_text(encoding="utf-8").replace("seed = 1", "seed = 7")
    file.write_text(changed, encoding="utf-8")
    with pytest.raises(RuntimeError, match="was changed since it was opened or saved here"):
        getattr(bpy.ops.limen, save)()
    assert file.read_text(encoding="utf-8") == changed


def test_comments_that_somebody_wrote_meanwhile_stay(scene, tmp_path):
    file = tmp_path / "ci.toml"
    file.write_bytes((STUDIES / "ci.toml").read_bytes())
    bpy.ops.limen.open_study(filepath=str(file))
    with file.open("a", encoding="utf-8") as text:
        text.write("# a note\n")
    stage().limen.study.seed = 5
    bpy.ops.limen.save_study()
    assert "seed = 5" in (said := file.read_text(encoding="utf-8")) and "# a note" in said


@pytest.mark.parametrize("made_of", ["", "{", '{"components": 3}'])
def test_a_lighting_without_its_light_is_a_fault_in_words(scene, made_of):
    lighting = stage().limen.study.lightings.add()
    lighting.name, lighting.made_of = "strange", made_of
    (problem,) = live.current_state(stage()).problems
    assert problem.path == ("lighting",) and "remove it and add it again" in problem.text


def test_a_scale_that_is_changed_and_changed_back_has_the_classes_that_it_had(scene):
    camera = stage().limen.study.camera
    before = shown()
    camera.scale = "classes-2025"
    assert shown().camera.bands == ("perceive", "discern", "outline")
    camera.scale = "dori-2014"
    assert shown() == before
