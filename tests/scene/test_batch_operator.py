"""The sidebar's batch, without a window: started, stopped, killed, gone on with."""

import time
from pathlib import Path

import bpy
import pytest
from limen.addon.core.dataset import compare, init_dataset, open_dataset
from limen.addon.operators import batch, preflight
from limen.addon.operators.estimate import Rates

pytestmark = pytest.mark.render

OPERATORS = bpy.ops.limen
WAIT_S = 240


@pytest.fixture
def scene(blender, small_study, tmp_path, monkeypatch):
    """The small study, open, with an output folder and the user's files of its own."""
    user = tmp_path / "user"
    user.mkdir()
    for module in (batch, preflight):
        monkeypatch.setattr(module, "user_folder", lambda: user)
    OPERATORS.open_study(filepath=str(small_study))
    scene = bpy.context.scene
    scene.limen.batch.output = str(tmp_path / "out")
    yield scene
    for process in batch._processes.values():
        process.kill()
        process.wait()
    batch._processes.clear()
    scene.limen.batch.output = ""
    scene.limen.is_open = False


def wait_for(scene, *states, views=0):
    """Look until the batch stands there; returns the standing."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        batch.look(scene)
        now = batch.standing()
        if now.state in states and now.done >= views:
            return now
        time.sleep(0.1)
    pytest.fail(f"{now}\n{batch._log_tail(now.root)}")


def standing(scene):
    batch.look(scene)
    return batch.standing()


@pytest.mark.slow
def test_a_batch_that_was_stopped_goes_on_and_equals_one_in_a_single_run(scene, small_dataset):
    assert (standing(scene).state, standing(scene).total) == ("idle", 6)
    assert OPERATORS.start_batch() == {"FINISHED"}
    running = wait_for(scene, "running", views=1)
    assert running.ours and running.newest.is_file() and running.pace.images_per_min > 0
    OPERATORS.cancel_batch()
    stopped = wait_for(scene, "stopped")
    assert 1 <= stopped.done < 6
    OPERATORS.start_batch()
    assert wait_for(scene, "done").done == 6
    assert compare(small_dataset.root, stopped.root) == []
    views = [line for part in (stopped.root / "views").iterdir() for line in part.open()]
    assert len(views) == 6  # nothing was rendered twice


@pytest.mark.slow
def test_a_batch_that_was_killed_is_said_to_be_and_goes_on(scene):
    OPERATORS.start_batch()
    wait_for(scene, "running", views=1)
    batch._processes[batch.standing().root].kill()
    killed = wait_for(scene, "killed")
    assert killed.done < 6
    OPERATORS.start_batch()
    wait_for(scene, "done")


@pytest.mark.slow
def test_a_batch_is_found_again_by_a_blender_that_did_not_start_it(scene):
    OPERATORS.start_batch()
    wait_for(scene, "running", views=1)
    process = batch._processes.pop(batch.standing().root)  # as after another start of Blender
    found = standing(scene)
    assert (found.state, found.ours) == ("running", True)
    OPERATORS.cancel_batch()
    assert standing(scene).state == "stopping"
    OPERATORS.cancel_batch()  # at once
    process.wait(10)
    assert standing(scene).state == "stopped"


def test_a_dataset_of_another_study_is_said_at_once_and_not_started(scene, tmp_path):
    init_dataset(tmp_path / "out", "name = 'another'\n")
    now = standing(scene)
    assert now.state == "refused"
    assert "holds a dataset of another study" in now.said[0]
    with pytest.raises(RuntimeError, match="holds a dataset of another study"):
        OPERATORS.start_batch()
    assert not batch._processes


def test_a_folder_that_cannot_be_made_is_said_in_words(scene, tmp_path):
    (tmp_path / "file").write_text("")
    scene.limen.batch.output = str(tmp_path / "file" / "out")
    with pytest.raises(RuntimeError, match=r"out: Not a directory"):
        OPERATORS.start_batch()
    assert not batch._processes


def test_without_an_output_folder_the_button_says_so(scene):
    scene.limen.batch.output = ""
    scene.limen.study_path = ""
    with pytest.raises(RuntimeError, match="Choose an output folder first"):
        OPERATORS.start_batch()


def test_the_command_line_is_that_of_the_batch_and_saves_the_study_beside_the_output(
    scene, tmp_path, monkeypatch
):
    copied = []
    monkeypatch.setattr(batch, "shell_line", lambda command, **_: copied.append(command) or "")
    scene.limen.study_path = ""
    OPERATORS.copy_command_line()
    study = tmp_path / "out.toml"
    assert study.is_file()
    assert Path(bpy.path.abspath(scene.limen.study_path)) == study
    (command,) = copied
    assert command[command.index("--study") + 1] == str(study)
    assert command[command.index("--out") + 1] == str(tmp_path / "out")


def test_a_study_that_is_saved_already_is_not_written_again(scene, small_study):
    before = small_study.stat().st_mtime_ns
    OPERATORS.copy_command_line()
    assert small_study.stat().st_mtime_ns == before


def test_the_contact_sheet_is_loaded_as_an_image(scene, small_dataset):
    scene.limen.batch.output = str(small_dataset.root)
    assert standing(scene).state == "done"
    OPERATORS.make_contact_sheet()
    image = bpy.data.images["contact-sheet.png"]
    assert tuple(image.size) == (1 * 60 + 4, 6 * 100 + 4)
    (small_dataset.root / "contact-sheet.png").unlink()
    bpy.data.images.remove(image)


def test_preflight_keeps_its_findings_for_the_panel(scene):
    scene.limen.study.camera.window = (24, 24)  # cuts the person off
    OPERATORS.preflight()
    report = preflight.preflight()
    assert report.views == 6
    cut_off = next(f for f in report.findings if f.check == "frame")
    assert "cuts the person off" in cut_off.text
    OPERATORS.show_finding(index=report.findings.index(cut_off))
    assert scene.limen.view_id == cut_off.view_ids[0]
    OPERATORS.show_finding(index=report.findings.index(cut_off))
    assert scene.limen.view_id == cut_off.view_ids[1 % len(cut_off.view_ids)]


def test_nothing_is_estimated_before_it_is_measured(scene):
    preflight.look_at_cost(scene)
    now = preflight.estimate()
    assert (now.measured, now.cost.seconds, now.cost.bytes) == (None, 0, 0)
    assert (now.cost.views, now.cost.images, now.cost.plates) == (6, 6, 3)


def test_what_was_measured_is_kept_and_an_edited_study_is_estimated_from_it(scene):
    OPERATORS.measure()
    measured = preflight.estimate()
    assert measured.cost.seconds > 0 and measured.cost.bytes > 0
    scene.limen.study.samples = 1000
    preflight.look_at_cost(scene)
    assert preflight.estimate().cost.seconds > measured.cost.seconds
    assert preflight.estimate().measured == measured.measured
    scene.limen.batch.device = "gpu"  # other rates, and none were measured
    preflight.look_at_cost(scene)
    assert preflight.estimate().measured is None
    scene.limen.batch.device = "cpu"


def test_rates_that_cannot_be_read_are_measured_again(scene, tmp_path):
    preflight._keep_rates("cpu", Rates(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
    assert preflight._kept_rates("cpu")[0] == Rates(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    (tmp_path / "user" / "rates.json").write_text("{")
    assert preflight._kept_rates("cpu") is None


def test_an_image_of_the_dataset_is_shown_as_the_newest(scene, small_dataset):
    scene.limen.batch.output = str(small_dataset.root)
    newest = standing(scene).newest
    assert newest.stem.rpartition("-")[0] in open_dataset(small_dataset.root).views
