"""The sidebar in a real window under Xvfb, judged by a picture of the screen.

Set LIMEN_SCREENSHOTS to a directory to keep the pictures.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import cv2
import pytest
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.study import load_study
from limen.addon.core.study.reading import library_poses
from requirements import require
from window import virtual_screen

pytestmark = pytest.mark.real_blender

INSIDE = Path(__file__).parent / "inside"
STUDY = Path(__file__).parents[2] / "studies" / "ci.toml"
SCREEN = (1600, 900)
TABS_PX = 24  # the strip of tab names at the sidebar's right edge


@pytest.fixture(scope="module")
def display():
    require("import")  # ImageMagick's: takes the picture
    with virtual_screen(SCREEN) as number:
        yield number


@pytest.fixture(scope="module")
def sidebar(installed, display, tmp_path_factory):
    """What Blender reports of the open tab, and the picture of the sidebar (h, w, 3) BGR."""
    out = tmp_path_factory.mktemp("window")
    ready, leave, picture = out / "ready.json", out / "leave", out / "screen.png"
    geometry = ["--window-geometry", "0", "0", *map(str, SCREEN)]
    script = ["-P", INSIDE / "window.py", "--", STUDY, ready, leave]
    process = installed.start(*geometry, *script, DISPLAY=display)
    try:
        waited_until = time.monotonic() + 120
        while not ready.exists() and process.poll() is None and time.monotonic() < waited_until:
            time.sleep(0.2)
        if ready.exists():
            time.sleep(1)  # the last redraw reaches the screen
            subprocess.run(["import", "-display", display, "-window", "root", picture], check=True)
        leave.touch()
        printed, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert ready.exists(), printed
    assert "Traceback" not in printed, printed
    if keep := os.environ.get("LIMEN_SCREENSHOTS"):
        Path(keep).mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, Path(keep) / f"{installed.executable.name}.png")
    report = json.loads(ready.read_text())
    screen = cv2.imread(str(picture))
    x, y, width, height = report["sidebar"]
    top = report["window"][1] - y - height  # Blender counts rows from below
    return report, screen[top : top + height, x : x + width], picture


def test_the_tab_opens_and_shows_a_view_of_the_study(sidebar):
    report, _, _ = sidebar
    study = load_study(STUDY)
    first = sample_views(study, poses_by_action(study, library_poses()))[0]
    assert (report["tab"], report["view"]) == ("Limen", first.view_id)


def test_the_panels_are_drawn_with_text_and_fields(sidebar):
    _, pixels, picture = sidebar
    panels = pixels[:, :-TABS_PX]
    light = panels.min(axis=2) > 180
    # Letters are nearly white on grey, whatever lies behind; a blank or black region has none.
    assert light.any(axis=1).sum() > 60, picture
    assert light.mean() < 0.2, picture
