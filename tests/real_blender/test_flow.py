"""From an empty scene to a contact sheet in a real window, by mouse and keys alone.

Set LIMEN_SCREENSHOTS to a directory to keep the pictures of each step.
"""

from pathlib import Path

import cv2
import pytest
from limen.addon.core.dataset import compare, open_dataset
from limen.addon.core.study import load_study
from window import open_window, virtual_screen

pytestmark = [pytest.mark.real_blender, pytest.mark.slow, pytest.mark.timeout(2400)]

BATCH, LIVE = "limen('addon.operators.batch')", "limen('addon.properties.live')"
LIBRARY = "limen('addon.operators.library')"
SMALL = """
study = stage().limen.study
study.samples = 1
study.camera.use_window, study.camera.window = True, (64, 96)
study.all_views, study.views = False, 2
study.lightings.remove(2)
"""  # what a batch takes minutes for, not hours: a person would type these numbers


@pytest.fixture(scope="module")
def flow(installed, tmp_path_factory):
    """Do the whole work of the sidebar once; returns what Blender said of it at each step."""
    folder = tmp_path_factory.mktemp("flow")
    study_file, output = folder / "study.toml", folder / "study"
    seen = {"study": study_file, "output": output}
    name = installed.executable.name

    def keep(window, step):
        window.keep(f"{name} {len(seen):02d} {step}")

    with virtual_screen() as display, open_window(installed.start, display, folder) as window:
        window.open_tab()
        window.click("New")
        window.wait("stage().limen.is_open")
        window.run(SMALL)
        keep(window, "new study")

        window.click("Place Rig")
        window.wait("stage().limen.rig_placed")
        seen["placed"] = window.value("[len(stage().objects), stage().limen.view_id]")
        keep(window, "rig placed")

        window.click_icon("Camera 1 of 96", from_right=1)
        window.wait("stage().limen.cell.elevation == 1")
        window.undo()
        window.wait("stage().limen.cell.elevation == 0")
        window.redo()
        window.wait("stage().limen.cell.elevation == 1")
        seen["next camera"] = window.value("stage().limen.view_id")
        keep(window, "next camera")
        window.close_panel("Camera", "Place Rig")

        window.open_panel("Lighting", "evening_west")
        window.click("evening_west")
        window.wait("stage().limen.cell.lighting == 'evening_west'")
        keep(window, "lighting")
        window.close_panel("Lighting", "evening_west")

        window.open_panel("Subject", "Poses")
        window.open_panel("Poses", "All poses of the actions")
        before = window.value(f"{LIBRARY}.standing('pose')")
        window.click_icon("In the study", up=5)  # the gallery's next, beside its picture
        window.wait(f"{LIBRARY}.standing('pose') != {before!r}")
        seen["pose"] = (before, window.value(f"{LIBRARY}.standing('pose')"))
        keep(window, "pose")
        window.close_panel("Poses", "All poses of the actions")

        window.open_panel("Textures", "In the study")
        before = window.value(f"{LIBRARY}.standing('texture')")
        window.click_icon("In the study", up=5)
        window.wait(f"{LIBRARY}.standing('texture') != {before!r}")
        seen["texture"] = (before, window.value(f"{LIBRARY}.standing('texture')"))
        window.click("Add")
        window.wait("len(stage().limen.study.subjects[0].textures) == 2")
        keep(window, "texture")
        window.close_panel("Subject", "Textures")

        window.open_panel("Factors", "Elevation")
        window.click("Elevation")
        window.wait("stage().limen.factor == 'elevation'")
        keep(window, "factors")
        window.close_panel("Factors", "Elevation")

        window.click("Save")
        window.save_in(folder)
        window.wait("stage().limen.study_path != ''")
        seen["saved"] = window.value("stage().limen.saved_text")
        keep(window, "saved")

        window.click("Start Batch")
        window.wait(f"{BATCH}.standing().state in ('starting', 'running', 'done')")
        keep(window, "batch started")
        window.wait(f"{BATCH}.standing().done >= 1", 900)
        keep(window, "progress")
        window.wait(f"{BATCH}.standing().state == 'done'", 900)
        keep(window, "batch done")
        window.click("Contact Sheet")
        window.wait("area_of('IMAGE_EDITOR')[1] is not None", 120)
        window.until(lambda: shows_a_picture(window))  # a new window is black at first
        keep(window, "contact sheet")
        seen["views"] = window.value(f"[view.view_id for view in {LIVE}.state().views]")
    return seen


def shows_a_picture(window) -> bool:
    """Whether the image editor shows more than its grey background and the texts over it."""
    height, width = (seen := window.region_picture("IMAGE_EDITOR", "WINDOW")).shape[:2]
    return float(seen[height // 4 : -height // 4, width // 4 : -width // 4].std()) > 5


def test_the_rig_is_placed_and_the_next_camera_is_another_view(flow):
    objects, first = flow["placed"]
    assert objects > 3
    assert flow["next camera"] != first


def test_pose_and_texture_step_to_others(flow):
    for factor in ("pose", "texture"):
        before, after = flow[factor]
        assert before and after and before != after


def test_the_saved_study_reads_back(flow):
    study = load_study(flow["study"])
    assert study.sampling.views == 2
    assert study.subjects[0].textures[1] == flow["texture"][1]


def test_the_batch_rendered_the_views_that_the_sidebar_counted(flow):
    dataset = open_dataset(flow["output"])
    assert sorted(dataset.views) == sorted(flow["views"])


def test_a_terminal_renders_the_saved_study_to_the_same_dataset(flow, installed, tmp_path):
    (script,) = installed.home.rglob("limen/batch/render_grid.py")
    again = tmp_path / "again"
    installed.run("-b", "-P", script, "--", "--study", flow["study"], "--out", again, timeout_s=900)
    assert compare(again, flow["output"]) == []


def test_the_contact_sheet_shows_every_image(flow):
    (sheet,) = Path(flow["output"]).rglob("contact*sheet*")
    picture = cv2.imread(str(sheet))
    assert picture is not None and picture.std() > 5
