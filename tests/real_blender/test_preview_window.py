"""Preview this cell in a real window: by its button, shown where renders are, mixed by a slider.

Set LIMEN_SCREENSHOTS to a directory to keep the pictures.
"""

import numpy as np
import pytest
from limen.addon.core.image_io import read_png
from window import open_window, virtual_screen

pytestmark = [pytest.mark.real_blender, pytest.mark.slow, pytest.mark.timeout(1800)]

PREVIEW = "limen('addon.operators.preview')"
SMALL = """
study = stage().limen.study
study.samples, study.denoise = 1, "none"
study.camera.use_window, study.camera.window = True, (96, 96)
"""


@pytest.fixture(scope="module")
def seen(installed, tmp_path_factory):
    """Preview the first cell of a new study, then make its light weaker; returns what was seen."""
    folder = tmp_path_factory.mktemp("preview")
    name = installed.executable.name
    shown = f"{PREVIEW}.shown_preview()"
    found = {}
    with virtual_screen() as display, open_window(installed.start, display, folder) as window:
        window.open_tab()
        window.click("New")
        window.wait("stage().limen.is_open")
        window.run(SMALL)
        window.click("Place Rig")
        window.wait("stage().limen.rig_placed")
        found["view_id"] = window.value("stage().limen.view_id")
        window.click("Camera")  # closes it
        window.open_panel("Lighting", "evening_west")
        window.open_panel("Preview", "Preview Cell")
        window.click("Preview Cell")
        window.wait(f"{shown} is not None", 600)
        window.keep(f"{name} preview")
        found["image"] = window.value(f"{PREVIEW}.preview_image().name")
        found["windows"] = window.value(
            "[a.spaces.active.image.name for w in bpy.context.window_manager.windows"
            " for a in w.screen.areas if a.type == 'IMAGE_EDITOR' and a.spaces.active.image]"
        )
        found["dirty"] = window.value("any(i.is_dirty for i in bpy.data.images)")
        file = window.value(f"bpy.path.abspath({PREVIEW}.preview_image().filepath)")
        found["noon"] = read_png(file)
        window.run("item = stage().limen.study.lightings[0]\nitem.sun_percent = 0\nitem.stops = -6")
        window.wait(
            f"{shown}.picture.pixels.shape[0] == 96 and {shown}.picture.exposure_s > 0.0005"
        )
        window.wait(f"not {PREVIEW}.preview_image().is_dirty")
        window.keep(f"{name} preview mixed")
        found["overcast"] = read_png(file)
        found["problem"] = window.value(f"{shown}.problem")
    return found


def test_the_preview_is_shown_in_a_window_under_the_name_of_its_cell(seen):
    assert seen["image"] == f"{seen['view_id']}-noon_south"
    assert seen["image"] in seen["windows"]


def test_blender_does_not_ask_to_save_it(seen):
    assert not seen["dirty"]


def test_a_slider_changes_the_picture_without_rendering(seen):
    assert seen["problem"] == ""
    assert seen["noon"].shape == seen["overcast"].shape == (96, 96, 3)
    assert not np.array_equal(seen["noon"], seen["overcast"])
