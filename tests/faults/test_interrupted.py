"""A run that is stopped, politely or not, loses at most the view in hand; run again, nothing."""

import json
import platform
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from limen.addon.core.dataset import compare, done_views, open_dataset

pytestmark = pytest.mark.render

FAILED, PARTLY_DONE = 1, 3
KILLS = 3
MEMORY = Path("/dev/shm")
CONTENT = ("depth", "light", "masks", "media")


@pytest.fixture(scope="module")
def start(grid_command, small_study):
    """Start a run of the small study; returns the process."""
    running = []

    def run(out: Path) -> subprocess.Popen:
        command = [*grid_command, "--study", small_study, "--out", out]
        running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        )
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen, out: Path, pattern: str, count: int = 1) -> None:
    """Wait until so many files are there."""
    until = time.monotonic() + 300
    while len(list(out.glob(pattern))) < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until, f"no {count} files {pattern} after 300 s"
        time.sleep(0.002)


# --- killed --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Killed:
    """A dataset whose run was killed, what was done by then, and what it is once run again."""

    process: int
    at_the_kill: Path
    done: set[str]
    resumed: Path
    said: str


@pytest.fixture(scope="module", params=range(KILLS))
def killed(request, start, render_grid, small_study, small_dataset, tmp_path_factory) -> Killed:
    """The small study, killed at a random moment of each third of its run, and run again."""
    rng = random.Random(request.param)
    out = tmp_path_factory.mktemp("killed") / "dataset"
    files = sum(path.is_file() for path in small_dataset.root.rglob("*.*"))
    process = start(out)
    moment = (request.param + rng.random()) / KILLS
    wait_for(process, out, "**/*.*", 1 + int(moment * (files - 2)))
    time.sleep(rng.uniform(0, 0.3))  # anywhere in the work that follows a file
    process.send_signal(signal.SIGKILL)
    process.wait()
    (MEMORY / f"limen-{platform.node()}-{process.pid}-left").mkdir()
    copy = tmp_path_factory.mktemp("killed") / "copy"
    shutil.copytree(out, copy)
    done = done_views(out, ["overcast"]) if (out / "study.toml").exists() else set()
    return Killed(process.pid, copy, done, out, render_grid(small_study, out).stderr)


def test_a_kill_leaves_whole_files_only(killed, small_dataset):
    for directory in CONTENT:
        for path in (killed.at_the_kill / directory).rglob("*.*"):
            if ".partial-" not in path.name:
                whole = small_dataset.root / path.relative_to(killed.at_the_kill)
                assert path.read_bytes() == whole.read_bytes(), path.name


def test_a_killed_run_that_is_run_again_makes_the_dataset_of_one_run(killed, small_dataset):
    assert compare(killed.resumed, small_dataset.root) == []


def test_a_view_that_was_done_before_the_kill_is_not_rendered_again(killed):
    lines = (killed.resumed / "log.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["rendered"] == 6 - len(killed.done)
    assert (f"{len(killed.done)} views are done already" in killed.said) == bool(killed.done)


def test_the_frame_in_the_memory_of_a_killed_run_is_removed_by_the_next(killed):
    assert not list(MEMORY.glob(f"limen-*-{killed.process}-*"))


# --- interrupted ---------------------------------------------------------------------------------


def test_ctrl_c_ends_after_the_view_in_hand_with_status_3_and_a_second_run_does_the_rest(
    start, render_grid, small_study, small_dataset, tmp_path
):
    out = tmp_path / "dataset"
    process = start(out)
    wait_for(process, out, "media/clean/*.png")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == PARTLY_DONE, said
    assert "Stopping after this view; once more stops at once." in said
    assert "Traceback" not in said
    stopped = open_dataset(out)
    assert 0 < len(stopped.views) < 6
    assert done_views(out) == set(stopped.views)
    left = 6 - len(stopped.views)
    assert f"{left} of 6 views are missing; run the same command to go on" in said
    assert json.loads((out / "log.jsonl").read_text().splitlines()[-1])["interrupted"]

    done = render_grid(small_study, out)
    assert f"{len(stopped.views)} views are done already" in done.stderr
    assert compare(out, small_dataset.root) == []


def test_a_second_ctrl_c_ends_at_once(start, tmp_path):
    out = tmp_path / "dataset"
    process = start(out)
    wait_for(process, out, "log.jsonl")
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if line.startswith("Stopping"):
            break
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == PARTLY_DONE
    assert "views are missing" not in said  # it waited for nothing


# --- failing -------------------------------------------------------------------------------------


def test_views_that_cannot_be_written_are_named_and_rendered_once_they_can(
    render_grid, small_study, small_dataset, tmp_path
):
    out = tmp_path / "dataset"
    out.mkdir()
    shutil.copy(small_dataset.root / "study.toml", out)
    (out / "light").touch()  # a file where the light stacks should go
    said = render_grid(small_study, out, status=FAILED).stderr
    assert "Traceback" not in said
    failed = set(re.findall(r"^missing: view (v\w{12}) \(.*light", said, re.MULTILINE))
    assert len(failed) == 5 and failed < set(small_dataset.views)
    assert "gave up after 5 failures in a row" in said
    assert "6 of 6 views are missing; run the same command to go on" in said

    (out / "light").unlink()
    render_grid(small_study, out, "--limit", "1")
    ((view_id, row),) = open_dataset(out).views.items()
    assert row == small_dataset.views[view_id]
