"""A batch from the sidebar of a real window: progress, cancel, kill, resume, done, contact sheet.

The extension is installed, as a user has it. Set LIMEN_SCREENSHOTS to a directory to keep the
pictures.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from limen.addon.core.dataset import open_dataset
from limen.addon.core.image_io import read_png
from window import Window, open_window, virtual_screen

pytestmark = [pytest.mark.real_blender, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "ci.toml"
WAIT_S = 420
STANDING = (
    "(lambda now: {'state': now.state, 'done': now.done, 'total': now.total,"
    " 'said': list(now.said), 'newest': str(now.newest), 'ours': now.ours,"
    " 'paced': now.pace is not None})(limen('addon.operators.batch').standing())"
)
PID = "(lambda batch: batch._processes[batch.standing().root].pid)(limen('addon.operators.batch'))"


@pytest.fixture(scope="module")
def display():
    with virtual_screen() as number:
        yield number


@contextmanager
def opened(blender, display, folder: Path, out: Path) -> Iterator[Window]:
    """A window with the study open and its output folder chosen."""
    folder.mkdir()
    with open_window(blender.start, display, folder) as window:
        window.open_tab()
        window.run(f"bpy.ops.limen.open_study(filepath={str(STUDY)!r})")
        render_to(window, out)
        yield window


@pytest.fixture
def window(installed, display, tmp_path):
    with opened(installed, display, tmp_path / "asked", tmp_path / "out") as found:
        yield found


def render_to(window: Window, out: Path) -> None:
    window.run(f"stage().limen.batch.output = {str(out)!r}")


def start(window: Window) -> None:
    window.run("bpy.ops.limen.start_batch('INVOKE_DEFAULT')")


def wait_for(window: Window, *states: str, views: int = 0) -> dict:
    """Wait until the panel knows that the batch stands there; returns what it knows."""
    until = time.monotonic() + WAIT_S
    while True:
        now = window.value(STANDING)
        if now["state"] in states and now["done"] >= views:
            return now
        assert time.monotonic() < until, f"{now}: {states} were waited for"
        time.sleep(0.3)


def test_a_batch_is_started_cancelled_killed_resumed_and_done_and_its_sheet_is_shown(
    window, tmp_path
):
    assert wait_for(window, "idle")["total"] == 8
    start(window)
    running = wait_for(window, "running", views=1)
    assert running["ours"] and running["paced"] and Path(running["newest"]).is_file()
    window.keep("batch-running")
    window.run("bpy.ops.limen.cancel_batch()")
    assert 1 <= wait_for(window, "stopped")["done"] < 8

    start(window)
    wait_for(window, "running")
    os.kill(window.value(PID), signal.SIGKILL)
    wait_for(window, "killed")
    window.keep("batch-killed")

    start(window)
    wait_for(window, "done")
    window.keep("batch-done")
    root = tmp_path / "out"
    rows = [line for part in (root / "views").glob("*.jsonl") for line in part.open()]
    assert len(rows) == len(open_dataset(root).views) == 8  # nothing was rendered twice

    window.run("bpy.ops.limen.make_contact_sheet('INVOKE_DEFAULT')")
    sheet = read_png(root / "contact-sheet.png")
    assert sheet.shape == (8 * 212 + 4, 3 * 244 + 4, 3)
    editors = (
        "[a.spaces.active for w in bpy.data.window_managers[0].windows for a in w.screen.areas]"
    )
    shown = f"[s.image.name for s in {editors} if s.type == 'IMAGE_EDITOR' and s.image]"
    assert window.value(shown) == ["contact-sheet.png"]


def test_a_batch_goes_on_without_its_blender_and_is_found_again(installed, display, tmp_path):
    out = tmp_path / "out"
    with opened(installed, display, tmp_path / "first", out) as window:
        start(window)
        wait_for(window, "running")
        pid = window.value(PID)
    os.kill(pid, 0)  # raises where it is gone
    with opened(installed, display, tmp_path / "again", out) as window:
        found = wait_for(window, "running", "done")
        if found["state"] == "running":
            assert found["ours"]
            window.run("bpy.ops.limen.cancel_batch()")
            wait_for(window, "stopped", "done")


def test_a_full_disk_is_said_in_words(window, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a small disk is mounted by root")
    disk = tmp_path / "disk"
    disk.mkdir()
    # The window lives in a mount namespace and a root of its own: the disk is mounted there.
    enter = ["nsenter", "-t", str(window.value("__import__('os').getpid()")), "-m", "-r"]
    mount = [*enter, "mount", "-t", "tmpfs", "-o", "size=300k", "none", str(disk)]
    subprocess.run(mount, check=True)
    render_to(window, disk / "out")
    wait_for(window, "idle")
    start(window)
    failed = wait_for(window, "failed", "partly")
    assert any("No space left on device" in line for line in failed["said"]), failed
    window.keep("batch-full-disk")
