"""Every panel of the sidebar in a real window of 1600x900, at two scales of the interface.

Set LIMEN_SCREENSHOTS to a directory to keep the pictures.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.study import load_study
from limen.addon.core.study.reading import library_poses
from window import Window, open_window, virtual_screen

pytestmark = [pytest.mark.real_blender, pytest.mark.slow, pytest.mark.timeout(1800)]

INSIDE = Path(__file__).parent / "inside"
STUDY = Path(__file__).parents[2] / "studies" / "ci.toml"
PANELS = ("study", "camera", "zones", "lighting", "subject", "scenery", "factors", "render")

FAILED = """
batch = limen('addon.operators.batch')
stage().limen.batch.output = '/tmp/limen-is-not-there'
told = ('Error: OpenImageIO could not write /tmp/limen-is-not-there/media/clean/v0123456789ab-'
        'evening_west.png: No space left on device', 'The batch ended with status 1')
failed = batch.Standing('failed', batch.output_of(bpy.context, stage()), 3, 48, 3, said=told)
batch._look = lambda scene, context: (failed, False)
batch.look(stage())
"""
FAULTS = """
study = stage().limen.study
study.name, study.lightings[0].name = 'a name with blanks', 'noon south'
study.camera.use_window, study.camera.window = True, (5000, 5000)
for level in [*study.actions, *study.camera.azimuths_deg]:
    level.used = False
"""


@pytest.fixture(scope="module")
def opened(installed, tmp_path_factory) -> Iterator[Window]:
    """A window with the rig of a new study in it, and ways to look at one panel alone."""
    folder = tmp_path_factory.mktemp("panels")
    with virtual_screen() as display, open_window(installed.start, display, folder) as window:
        window.run((INSIDE / "panels.py").read_text())
        window.run("note_texts()\nshow_panels()")  # open from their first draw
        # A scene of a million faces is drawn by the processor here: nothing of it is wanted.
        window.run("area_of()[1].spaces.active.clip_end = 0.1")
        window.run("bpy.ops.limen.new_study()\nbpy.ops.limen.place_rig()")
        window.wait("stage().limen.rig_placed")
        window.open_tab()
        yield window


@pytest.fixture(params=[1.0, 1.5], ids=lambda scale: f"scale {scale:g}", scope="module")
def window(request, opened, installed) -> Window:
    """The window at a scale of the interface."""
    opened.set_scale(request.param)
    opened.name = f"{installed.executable.name} {request.param:g}"
    opened.run("bpy.ops.limen.new_study()\nstage().limen.rig_placed = True")  # its rig still stands
    return opened


def pages(window: Window, title: str) -> list[np.ndarray]:
    """Return pictures (h, w, 3) BGR of the sidebar from its top to its end; keeps the screen's."""
    window.run("scroll(-20)")
    found = [window.region_picture()]
    for page in range(1, 9):
        if window.kept:
            window.keep(f"{window.name} {title}{f' {page}' if page > 1 else ''}")
        window.run("scroll(1)")
        found.append(window.region_picture())
        if np.array_equal(found[-1], found[-2]):
            return found[:-1]
    return found


def cut_off(window: Window, title: str) -> list[str]:
    """Return the texts of the panels that are shown which cannot be read whole on any page."""
    window.open_tab()
    seen = pages(window, title)
    texts = window.value("sorted(drawn_texts)")
    assert texts
    return [x for x in texts if not any(window.places_in(page, x) for page in seen)]


@pytest.mark.parametrize("panel", PANELS)
def test_no_text_of_a_panel_is_cut_off(window, panel):
    window.run(f"show_panels('LIMEN_PT_{panel}')")
    assert cut_off(window, panel) == []


def test_no_line_of_what_went_wrong_with_a_batch_is_cut_off(window):
    window.run(FAILED)
    window.run("show_panels('LIMEN_PT_render')")
    assert cut_off(window, "render failed") == []


def test_no_line_of_a_fault_of_the_study_is_cut_off(window):
    window.run(FAULTS)
    window.wait("len(limen('addon.properties.live').state().problems) >= 4")
    window.run("show_panels('LIMEN_PT_study')")
    assert cut_off(window, "faults") == []


def test_a_fault_of_the_study_is_seen_while_its_panel_is_closed(window):
    window.run(f"bpy.ops.limen.open_study(filepath={str(STUDY)!r})")
    window.wait("limen('addon.properties.live').state().problems == ()")
    window.run("show_panels('LIMEN_PT_study')")
    window.open_tab()
    window.close_panel("Study", hides="Seed")
    without = window.find("Study").x
    window.run(FAULTS)
    window.wait("len(limen('addon.properties.live').state().problems) >= 4")
    window.until(lambda: window.find("Study").x > without)  # a warning stands before it
    window.open_panel("Study", shows="Seed")


def test_the_tab_shows_a_view_of_a_study_that_is_opened(window):
    study = load_study(STUDY)
    first = sample_views(study, poses_by_action(study, library_poses()))[0]
    window.run(
        f"bpy.ops.limen.open_study(filepath={str(STUDY)!r})\nbpy.ops.limen.step_view(step=1)"
    )
    window.run("show_panels('LIMEN_PT_study')")
    window.open_tab()
    assert window.value("stage().limen.view_id") == first.view_id
    assert window.sees("ci.toml")
