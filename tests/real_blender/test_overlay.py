"""The viewport's overlay in a real window: right where it is drawn, quick, and gone afterwards."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from requirements import require
from window import virtual_screen

pytestmark = pytest.mark.real_blender

INSIDE = Path(__file__).parent / "inside"
SCREEN = (1600, 900)
DRAW_S = 0.004  # promised, where a graphics card draws
# Here the processor draws: 32 texts alone take 1 ms in Blender 4.3, and 3 to 4 ms in 5.2.
SOFTWARE = 2


@pytest.fixture(scope="module")
def report(installed, tmp_path_factory):
    require("import")
    out = tmp_path_factory.mktemp("overlay")
    ready, leave, picture = out / "ready.json", out / "leave", out / "screen.png"
    with virtual_screen(SCREEN) as display:
        geometry = ["--window-geometry", "0", "0", *map(str, SCREEN)]
        script = ["-P", INSIDE / "overlay.py", "--", ready, leave]
        process = installed.start(*geometry, *script, DISPLAY=display)
        try:
            waited_until = time.monotonic() + 400
            while not ready.exists() and process.poll() is None and time.monotonic() < waited_until:
                time.sleep(0.2)
            if ready.exists():
                time.sleep(1)  # the last redraw reaches the screen
                subprocess.run(
                    ["import", "-display", display, "-window", "root", picture], check=True
                )
            leave.touch()
            printed, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert ready.exists(), printed
    assert "Traceback" not in printed, printed
    if keep := os.environ.get("LIMEN_SCREENSHOTS"):
        Path(keep).mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, Path(keep) / f"{installed.executable.name}-overlay.png")
    return json.loads(ready.read_text())


@pytest.mark.parametrize("where", ["on the rig", "dragged"])
def test_the_class_drawn_over_a_ground_point_is_that_of_its_density(report, where):
    points = [point for point in report["points"] if point[0] == where]
    assert len(points) == 50
    assert [drawn for *_, drawn in points] == [expected for *_, expected, _ in points]
    assert len({expected for *_, expected, _ in points}) > 2  # classes, and outside


def test_a_dragged_camera_is_told_from_one_on_the_rig_until_it_is_kept(report):
    moved = [report[f"moved {when}"] for when in ("at first", "when dragged", "when kept")]
    assert moved == [False, True, False]


def test_the_test_person_has_the_class_of_the_zone_that_it_stands_on(report):
    seen, drawn = report["test person"]
    assert seen == drawn


def test_the_camera_object_follows_the_lens_of_the_study(report):
    assert report["fitted mm"] == pytest.approx(6.95)
    assert report["lens after"] / report["lens before"] == pytest.approx(6.95 / 2.8, rel=1e-3)


@pytest.mark.parametrize(
    ("moved", "most_s"), [("view", SOFTWARE * DRAW_S), ("camera", 2 * SOFTWARE * DRAW_S)]
)
def test_32_cameras_and_zones_are_drawn_in_milliseconds(report, moved, most_s):
    assert report["cameras"] == 32
    frames_s = sorted(map(sum, zip(*report["times"][moved].values(), strict=False)))
    assert len(frames_s) >= 8  # it was drawn
    # The least of several: others at work here take the processor's caches.
    assert frames_s[0] < most_s, frames_s


def test_the_chip_was_made_and_nothing_is_left_after_unregistering(report):
    assert report["chip"]
    assert report["left"] == [0, 0]
