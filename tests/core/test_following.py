"""How far a dataset is, read off its files while they grow."""

import json

import pytest
from limen.addon.core.dataset import PartWriter, held_parts, init_dataset, log_event, open_dataset
from limen.addon.core.following import Follower, Run, batch_state, pace_of, told


@pytest.fixture
def rows(tiny_dataset):
    """The view rows of a dataset with the index rows of each."""
    index = list(tiny_dataset.index.values())
    return [
        (view, [row for row in index if row["view_id"] == view_id])
        for view_id, view in tiny_dataset.views.items()
    ]


def begin(root, views=4, pid=7):
    init_dataset(root, "x")
    log_event(root, event="start", machine="here", pid=pid, views=views)


def end(root, pid=7, **more):
    facts = {"rendered": 0, "missing": 0, "failed": {}, "interrupted": False}
    log_event(root, event="end", pid=pid, **(facts | more))


def test_a_folder_that_is_not_there_yet_has_no_views_and_no_run(tmp_path):
    follower = Follower(tmp_path / "none")
    assert follower.look() is False
    assert (follower.views, follower.newest, follower.run) == (set(), "", None)


def test_each_look_finds_the_views_that_were_written_since(tmp_path, rows):
    begin(tmp_path)
    follower = Follower(tmp_path)
    with PartWriter(tmp_path, "a") as writer:
        for i, (view, index) in enumerate(rows):
            writer.write(view, index)
            follower.look()
            assert follower.newest == view["view_id"]
            assert len(follower.views) == i + 1
    assert follower.views == set(open_dataset(tmp_path).views)


def test_half_a_line_is_read_once_it_is_whole(tmp_path, rows):
    begin(tmp_path)
    line = json.dumps(rows[0][0], sort_keys=True, separators=(",", ":")).encode() + b"\n"
    part = tmp_path / "views" / "a.jsonl"
    part.parent.mkdir()
    part.write_bytes(line[:100])
    follower = Follower(tmp_path)
    follower.look()
    assert not follower.views
    part.write_bytes(line)
    follower.look()
    assert follower.views == {rows[0][0]["view_id"]}


def test_a_view_that_was_rendered_twice_counts_once(tmp_path, rows):
    begin(tmp_path)
    for part in "ab":
        with PartWriter(tmp_path, part) as writer:
            writer.write(*rows[0])
    follower = Follower(tmp_path)
    follower.look()
    assert len(follower.views) == 1


def test_a_dataset_that_was_made_anew_is_read_from_its_beginning(tmp_path, rows):
    begin(tmp_path)
    with PartWriter(tmp_path, "a") as writer:
        writer.write(*rows[0])
        writer.write(*rows[1])
    follower = Follower(tmp_path)
    follower.look()
    part = tmp_path / "views" / "a.jsonl"
    part.write_bytes(part.read_bytes().split(b"\n")[1] + b"\n")
    follower.look()
    assert follower.views == {rows[1][0]["view_id"]}


def test_little_is_read_at_once_where_little_is_asked_for(tmp_path, rows):
    begin(tmp_path)
    with PartWriter(tmp_path, "a") as writer:
        for view, index in rows:
            writer.write(view, index)
    follower = Follower(tmp_path)
    looks = 1
    while follower.look(most_bytes=1):
        looks += 1
    assert looks > 1
    assert len(follower.views) == len(rows)


def test_the_last_run_is_told_with_how_it_ended(tmp_path):
    begin(tmp_path, pid=7)
    follower = Follower(tmp_path)
    follower.look()
    assert (follower.run.pid, follower.run.views, follower.run.ended) == (7, 4, False)
    end(tmp_path, rendered=3, missing=1, failed={"v1": "no"}, interrupted=True)
    follower.look()
    run = follower.run
    assert (run.ended, run.rendered, run.missing, run.failed) == (True, 3, 1, {"v1": "no"})
    assert run.interrupted


def test_the_end_of_another_process_is_not_that_of_the_last_one(tmp_path):
    begin(tmp_path, pid=7)
    begin(tmp_path, pid=8)
    end(tmp_path, pid=7)
    follower = Follower(tmp_path)
    follower.look()
    assert (follower.run.pid, follower.run.ended) == (8, False)


def test_a_part_is_held_as_long_as_its_writer_lives(tmp_path):
    begin(tmp_path)
    assert held_parts(tmp_path) == ()
    with PartWriter(tmp_path, "a"), PartWriter(tmp_path, "b"):
        assert held_parts(tmp_path) == ("a", "b")
    assert held_parts(tmp_path) == ()


def run(**more):
    return Run("here", 7, 1000.0, 10, **more)


def test_the_pace_is_that_of_the_run_since_its_start():
    pace = pace_of(run(), missing=6, images_per_view=3, now_s=1060.0)
    assert pace.images_per_min == pytest.approx(12)  # 4 views of 3 images in a minute
    assert pace.left_s == pytest.approx(90)  # 15 s a view


def test_there_is_no_pace_before_the_first_view():
    assert pace_of(run(), missing=10, images_per_view=3, now_s=1060.0) is None


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({}, "idle"),
        ({"writing": True}, "starting"),
        ({"writing": True, "run": run(ended=True)}, "starting"),
        ({"writing": True, "run": run()}, "running"),
        ({"writing": True, "run": run(), "stop_asked": True}, "stopping"),
        ({"missing": 0, "run": run(ended=True), "status": 0}, "done"),
        ({"missing": 0}, "done"),
        ({"run": run(ended=True, interrupted=True), "stop_asked": True, "status": 3}, "stopped"),
        ({"run": run(ended=True, interrupted=True)}, "stopped"),
        ({"run": run(), "stop_asked": True, "status": -9}, "stopped"),
        ({"run": run(), "status": -9}, "killed"),
        ({"run": run()}, "killed"),
        ({"run": run(ended=True, missing=3), "status": 3}, "partly"),
        ({"run": run(ended=True, missing=3)}, "partly"),
        ({"status": 2}, "failed"),
        ({"run": run(ended=True, missing=10), "status": 1}, "failed"),
    ],
)
def test_where_a_batch_stands(facts, state):
    unsaid = {"writing": False, "status": None, "stop_asked": False, "run": None, "missing": 4}
    assert batch_state(**(unsaid | facts)) == state


def test_of_blender_5s_own_log_only_errors_are_told():
    log = "00:00.197  color_management | Using OCIO=x\n00:01.000  cycles | ERROR out of memory\n"
    assert told(log) == ("00:01.000  cycles | ERROR out of memory",)


def test_of_a_log_the_last_lines_are_told_that_say_something():
    log = "Read prefs\n1/4 views, 3 images/min, 2 s left (walking)\n\nout: No space left\n"
    log += "Blender quit\n"
    assert told(log, most=2) == ("Read prefs", "out: No space left")
