"""Several processes on one dataset: whatever dies, the dataset is what one process renders."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from limen.addon.core.dataset import compare, done_views, open_dataset

pytestmark = pytest.mark.render

ROOT = Path(__file__).parents[2]
DONE, FAILED, WRONG_USE, PARTLY_DONE = 0, 1, 2, 3


@pytest.fixture
def launch(small_study):
    """Start a launcher of two processes; returns it."""
    running = []

    def start(out: Path, *more: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen:
        command = [sys.executable, ROOT / "batch" / "launch.py", "--study", small_study]
        command = [*prefix, *map(str, command), "--out", str(out), "--shards", "2", *more]
        running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


def processes_of(out: Path) -> list[int]:
    """Ids of the processes that render into a dataset."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if b"--launched" in words and str(out).encode() in words:
            found.append(int(entry.name))
    return found


def wait_until(condition, process: subprocess.Popen | None = None) -> None:
    until = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < until
        assert process is None or process.poll() is None, process.communicate()[0]
        time.sleep(0.01)


def test_processes_and_launcher_killed_at_random_moments_change_nothing(
    launch, small_dataset, tmp_path
):
    rng = random.Random(4)
    out = tmp_path / "dataset"
    first = launch(out)
    wait_until(lambda: len(processes_of(out)) == 2, first)
    time.sleep(rng.uniform(0.5, 3))
    os.kill(rng.choice(processes_of(out)), signal.SIGKILL)  # replaced by the launcher
    time.sleep(rng.uniform(0.5, 3))
    first.kill()
    first.wait()
    wait_until(lambda: not processes_of(out))  # they stop when their launcher is gone
    again = launch(out)
    said = again.communicate()[0]
    assert again.returncode == DONE, said
    assert compare(out, small_dataset.root) == []
    assert not (out / "work").exists()


def test_a_view_that_kills_its_process_each_time_is_given_up_after_two_tries(
    launch, small_dataset, tmp_path
):
    out = tmp_path / "dataset"
    victim = sorted(small_dataset.views)[0]
    process = launch(out)
    tries = out / "work" / "tries" / victim
    kills = 0
    while process.poll() is None:
        if tries.exists() and tries.stat().st_size > kills:
            # Whoever has it in hand: with views of a second it is killed before it is done.
            for worker in processes_of(out):
                os.kill(worker, signal.SIGKILL)
            kills = tries.stat().st_size
        time.sleep(0.005)
    said = process.communicate()[0]
    assert process.returncode == PARTLY_DONE, said
    assert kills == 2
    assert f"given up: view {victim}" in said
    assert "run the same command to go on" in said
    assert victim not in done_views(out)

    again = launch(out)  # a new launch is a new chance
    assert again.wait() == DONE, again.communicate()[0]
    assert compare(out, small_dataset.root) == []


def test_two_launchers_on_one_dataset_share_the_work(launch, small_dataset, tmp_path):
    out = tmp_path / "dataset"
    first, second = launch(out), launch(out)
    for process in (first, second):
        said = process.communicate()[0]
        assert process.returncode == DONE, said
    assert compare(out, small_dataset.root) == []
    written = sum(
        len(path.read_text().splitlines()) for path in (out / "views").glob("worker-*.jsonl")
    )
    assert written == len(small_dataset.views)  # nothing was rendered twice


def test_ctrl_c_lets_the_views_in_hand_finish_and_the_same_command_goes_on(
    launch, small_dataset, tmp_path
):
    out = tmp_path / "dataset"
    first = launch(out)
    wait_until(lambda: (out / "views").exists() and list((out / "media").rglob("*.png")), first)
    first.send_signal(signal.SIGINT)
    said = first.communicate()[0]
    assert first.returncode in (DONE, PARTLY_DONE), said
    assert "Stopping after the views in hand" in said
    assert not processes_of(out)
    again = launch(out)
    assert again.wait() == DONE, again.communicate()[0]
    assert compare(out, small_dataset.root) == []


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount a small disk"
)
def test_a_full_disk_stops_the_launch_in_words_and_costs_nothing_that_was_done(
    launch, small_dataset, tmp_path
):
    disk, out = tmp_path / "disk", tmp_path / "copied"
    disk.mkdir()
    size = sum(p.stat().st_size for p in small_dataset.root.rglob("*") if p.is_file())
    mount = f'mount -t tmpfs -o size={size // 2} none {disk} && "$@"; status=$?; '
    keep = f"cp -r {disk}/. {out}; exit $status"
    shell = ("unshare", "-m", "bash", "-c", mount + keep, "bash")
    process = launch(disk / "dataset", prefix=shell)
    said = process.communicate()[0]
    assert process.returncode in (FAILED, PARTLY_DONE), said
    assert re.search("No space left|cannot be written", said), said
    assert "Traceback" not in said
    again = launch(out / "dataset")
    assert again.wait() == DONE, again.communicate()[0]
    assert compare(out / "dataset", small_dataset.root) == []


def test_a_directory_that_cannot_be_written_is_said(launch, tmp_path):
    (tmp_path / "file").write_text("")
    process = launch(tmp_path / "file" / "dataset")
    said = process.communicate()[0]
    assert process.returncode == WRONG_USE
    assert str(tmp_path / "file") in said
    assert "Traceback" not in said


def test_another_study_is_refused_before_anything_starts(launch, small_dataset, tmp_path):
    out = tmp_path / "dataset"
    shutil.copytree(small_dataset.root, out)
    study = out / "study.toml"
    study.write_text(study.read_text().replace("samples = 1", "samples = 2"))
    process = launch(out)
    said = process.communicate()[0]
    assert process.returncode == WRONG_USE
    assert "samples" in said
    assert open_dataset(out).views.keys() == small_dataset.views.keys()
