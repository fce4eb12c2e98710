"""A batch from the sidebar of a real window: progress, cancel, kill, resume, done, contact sheet.

The extension is installed, as a user has it. Set LIMEN_SCREENSHOTS to a directory to keep the
pictures.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from limen.addon.core.dataset import open_dataset
from limen.addon.core.image_io import read_png
from requirements import require

pytestmark = pytest.mark.real_blender

ROOT = Path(__file__).parents[2]
INSIDE = Path(__file__).parent / "inside"
STUDY = ROOT / "studies" / "ci.toml"
SCREEN = (1600, 900)
SCREEN_MODE = f"{SCREEN[0]}x{SCREEN[1]}x24"
WAIT_S = 420
MODULES = """
import importlib
def module(name):
    return importlib.import_module(f"{limen.__name__}.addon.{name}")
batch = module("operators.batch")
"""
STANDING = """
now = batch.standing()
answer = {"state": now.state, "done": now.done, "total": now.total, "said": now.said,
          "newest": str(now.newest), "ours": now.ours, "pace": now.pace is not None}
"""


class Session:
    """A Blender with a window that runs what it is sent."""

    def __init__(self, blender, display, folder):
        self.folder, self.display, self.sent = folder, display, 0
        geometry = ["--window-geometry", "0", "0", *map(str, SCREEN)]
        script = ["-P", INSIDE / "served.py", "--", folder]
        self.process = blender.start(*geometry, *script, DISPLAY=display)

    def do(self, code):
        """Run code in Blender's main thread; returns its ``answer``."""
        script = self.folder / f"{self.sent}.py"
        script.with_suffix(".part").write_text(MODULES + code)
        script.with_suffix(".part").rename(script)
        result = script.with_suffix(".json")
        until = time.monotonic() + WAIT_S
        while not result.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                self.process.kill()
                pytest.fail(f"no answer to\n{code}\n{self.process.communicate()[0]}")
            time.sleep(0.1)
        self.sent += 1
        said = json.loads(result.read_text())
        assert "error" not in said, said["error"]
        return said["answer"]

    def wait_for(self, *states, views=0):
        """Wait until the panel knows that the batch stands there."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            now = self.do(STANDING)
            if now["state"] in states and now["done"] >= views:
                return now
            time.sleep(0.3)
        pytest.fail(
            f"{now}: {states} were waited for\n" + self.do("answer = batch._log_tail(now.root)")
        )

    def picture(self, name):
        """Keep a picture of the screen, where pictures are asked for."""
        if not (keep := os.environ.get("LIMEN_SCREENSHOTS")):
            return
        time.sleep(1.5)  # the last redraw reaches the screen
        path = self.folder / f"{name}.png"
        subprocess.run(["import", "-display", self.display, "-window", "root", path], check=True)
        Path(keep).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, Path(keep) / f"batch-{name}.png")

    def quit(self):
        """End it and return what it printed."""
        (self.folder / "leave").touch()
        try:
            return self.process.communicate(timeout=60)[0]
        finally:
            self.process.kill()


@pytest.fixture(scope="module")
def display():
    """A virtual screen that chooses its own number."""
    require("Xvfb")
    require("import")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-nolisten", "tcp", "-screen", "0", SCREEN_MODE],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as number:
        yield f":{number.readline().strip()}"
    server.terminate()
    server.wait()


@pytest.fixture
def window(installed, display, tmp_path):
    """Blender with the study open, the Limen tab shown and an output folder chosen."""
    folder = tmp_path / "asked"
    folder.mkdir()
    session = Session(installed, display, folder)
    session.do("area.spaces.active.show_region_ui = True")
    time.sleep(1)
    open_study(session, tmp_path / "out")
    yield session
    printed = session.quit()
    assert "Traceback" not in printed, printed


def open_study(session, out):
    session.do(f"""
region.active_panel_category = "Limen"
bpy.ops.limen.open_study(filepath={str(STUDY)!r})
bpy.context.scene.limen.batch.output = {str(out)!r}
""")


def start(session):
    assert session.do('answer = list(bpy.ops.limen.start_batch("INVOKE_DEFAULT"))') == ["FINISHED"]


@pytest.mark.slow
def test_a_batch_is_started_cancelled_killed_resumed_and_done_and_its_sheet_is_shown(
    window, tmp_path
):
    assert window.wait_for("idle")["total"] == 8
    start(window)
    window.picture("starting")
    running = window.wait_for("running", views=1)
    assert running["ours"] and running["pace"] and Path(running["newest"]).is_file()
    window.picture("running")
    window.do("bpy.ops.limen.cancel_batch()")
    stopped = window.wait_for("stopped")
    assert 1 <= stopped["done"] < 8
    window.picture("stopped")

    start(window)
    window.wait_for("running")
    pid = window.do("answer = batch._processes[batch.standing().root].pid")
    os.kill(pid, signal.SIGKILL)
    window.wait_for("killed")
    window.picture("killed")

    start(window)
    window.wait_for("done")
    window.picture("done")
    root = tmp_path / "out"
    rows = [line for part in (root / "views").glob("*.jsonl") for line in part.open()]
    assert len(rows) == len(open_dataset(root).views) == 8  # nothing was rendered twice

    window.do('bpy.ops.limen.make_contact_sheet("INVOKE_DEFAULT")')
    sheet = read_png(root / "contact-sheet.png")
    assert sheet.shape == (8 * 212 + 4, 3 * 244 + 4, 3)
    editors = (
        "[a.spaces.active for w in bpy.data.window_managers[0].windows for a in w.screen.areas]"
    )
    shown = window.do(
        f"answer = [s.image.name for s in {editors} if s.type == 'IMAGE_EDITOR' and s.image]"
    )
    assert shown == ["contact-sheet.png"]


@pytest.mark.slow
def test_a_batch_goes_on_without_its_blender_and_is_found_again(
    window, installed, display, tmp_path
):
    start(window)
    window.wait_for("running")
    pid = window.do("answer = batch._processes[batch.standing().root].pid")
    window.quit()
    os.kill(pid, 0)  # raises where it is gone
    folder = tmp_path / "again"
    folder.mkdir()
    again = Session(installed, display, folder)
    try:
        open_study(again, tmp_path / "out")
        found = again.wait_for("running", "done")
        if found["state"] == "running":
            assert found["ours"]
            again.do("bpy.ops.limen.cancel_batch()")
            again.wait_for("stopped", "done")
    finally:
        again.quit()


@pytest.mark.slow
def test_a_full_disk_is_said_in_words_and_the_batch_goes_on_where_there_is_room(window, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a small disk is mounted by root")
    disk = tmp_path / "disk"
    disk.mkdir()
    # The window lives in a mount namespace of its own: the disk is mounted there.
    enter = ["nsenter", "-t", str(window.do("import os; answer = os.getpid()")), "-m"]
    mount = [*enter, "mount", "-t", "tmpfs", "-o", "size=300k", "none", str(disk)]
    subprocess.run(mount, check=True)
    window.do(f"bpy.context.scene.limen.batch.output = {str(disk / 'out')!r}")
    window.wait_for("idle")
    start(window)
    failed = window.wait_for("failed", "partly")
    assert any("No space left on device" in line for line in failed["said"]), failed
    window.picture("full-disk")
