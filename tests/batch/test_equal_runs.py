"""A dataset does not depend on how many processes made it, in which order, or what came before."""

import json
import subprocess

import pytest
from limen.addon.core.dataset import compare, open_dataset
from limen.analysis.check import check_dataset

pytestmark = pytest.mark.render


@pytest.fixture(scope="module")
def sharded(grid_command, small_study, tmp_path_factory):
    """The small study rendered by three processes at once."""
    out = tmp_path_factory.mktemp("sharded") / "dataset"
    arguments = ["--study", small_study, "--out", out]
    running = [
        subprocess.Popen([*grid_command, *arguments, "--shard", f"{i}/3"], stderr=subprocess.PIPE)
        for i in range(3)
    ]
    for process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
    return open_dataset(out)


def test_three_processes_at_once_make_the_dataset_of_one(sharded, small_dataset):
    assert compare(sharded.root, small_dataset.root) == []


def test_each_process_has_written_a_part_of_its_own(sharded):
    parts = sorted(path.name for path in sharded.root.glob("views/*.jsonl"))
    assert parts == [f"shard-{i}-of-3.jsonl" for i in range(3)]
    assert all((sharded.root / "views" / name).stat().st_size > 0 for name in parts)


def test_a_repeated_run_renders_nothing(sharded, render_grid, small_study):
    files = [path for path in sharded.root.rglob("*.*") if path.name != "log.jsonl"]
    before = {path: path.stat().st_mtime_ns for path in files}
    done = render_grid(small_study, sharded.root)
    assert "6 views are done already" in done.stderr
    assert "0 views, 0 images" in done.stderr
    logs = (sharded.root / "log.jsonl").read_text().splitlines()
    assert json.loads(logs[-1])["rendered"] == 0
    changed = [path for path, time in before.items() if path.stat().st_mtime_ns != time]
    assert [path.name for path in changed] == []


def test_a_limit_renders_the_first_view_as_a_whole_run_does(
    render_grid, small_study, small_dataset, tmp_path
):
    render_grid(small_study, tmp_path / "dataset", "--limit", "1")
    limited = open_dataset(tmp_path / "dataset")
    ((view_id, row),) = limited.views.items()
    assert row == small_dataset.views[view_id]  # with the hashes of its files


def test_a_complete_run_passes_every_check(small_dataset):
    checks = check_dataset(small_dataset.root, complete=True)
    assert [problem for check in checks for problem in check.problems] == []
