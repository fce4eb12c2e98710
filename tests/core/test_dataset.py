import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limen.addon.core import dataset
from limen.addon.core.dataset import (
    DatasetError,
    DoneViews,
    PartWriter,
    append_table,
    compare,
    done_views,
    exclusive,
    file_record,
    frozen_study,
    init_dataset,
    join,
    log_event,
    open_dataset,
    read_table,
    recorded_files,
    write_file,
)

STUDY = 'name = "ci"\n'
LIGHTINGS = ("noon_south", "night")


def view_id(number):
    return f"v{number:012x}"


def write_view(root, number, content=b"picture"):
    """Write the files of a view; returns its rows."""
    view = view_id(number)
    mask = f"masks/{view}.full.png"
    write_file(root / mask, content + view.encode())
    index = []
    for lighting in LIGHTINGS:
        path = f"media/clean/{view}-{lighting}.png"
        write_file(root / path, content + lighting.encode())
        clean = {"path": path, **file_record(root / path)}
        index.append(
            {
                "id": f"{view}-{lighting}",
                "view_id": view,
                "lighting": lighting,
                "media": {"kind": "image", "clean": clean},
            }
        )
    row = {"view_id": view, "action": "größer", "files": {mask: file_record(root / mask)}}
    return row, index


def render(root, numbers, part="000"):
    """Render what is not done, as a worker does."""
    init_dataset(root, STUDY)
    done = done_views(root, LIGHTINGS)
    with PartWriter(root, part) as writer:
        for number in numbers:
            if view_id(number) not in done:
                writer.write(*write_view(root, number))
    return root


# --- reading and writing -------------------------------------------------------------------------


def test_what_was_written_is_read(tmp_path):
    init_dataset(tmp_path, STUDY)
    view, index = write_view(tmp_path, 7)
    with PartWriter(tmp_path, "000") as writer:
        writer.write(view, index)
    dataset = open_dataset(tmp_path)
    assert dataset.views == {view_id(7): view}
    assert list(dataset.index.values()) == sorted(index, key=lambda row: row["id"])
    assert dataset.broken_lines == []


def test_parts_are_merged_in_order_of_ids(tmp_path):
    render(tmp_path, [3, 1], "b")
    render(tmp_path, [2], "a")
    dataset = open_dataset(tmp_path)
    assert list(dataset.views) == [view_id(n) for n in (1, 2, 3)]
    assert list(dataset.index) == [
        f"{view_id(n)}-{x}" for n in (1, 2, 3) for x in sorted(LIGHTINGS)
    ]


def test_lines_are_canonical_json(tmp_path):
    render(tmp_path, [1])
    line = (tmp_path / "views/000.jsonl").read_bytes()
    assert line.startswith('{"action":"größer","files":{"masks/'.encode())
    assert line.endswith(b'"view_id":"v000000000001"}\n')


def test_equal_rows_in_two_parts_are_one_row(tmp_path):
    render(tmp_path, [1], "a")
    with PartWriter(tmp_path, "b") as writer:
        writer.write(*write_view(tmp_path, 1))
    assert len(open_dataset(tmp_path).views) == 1
    assert len(open_dataset(tmp_path).index) == 2


def test_different_rows_with_one_id_are_an_error_that_names_both_lines(tmp_path):
    render(tmp_path, [0, 1], "a")
    with PartWriter(tmp_path, "b") as writer:
        writer.write(*write_view(tmp_path, 1, b"another picture"))
    with pytest.raises(
        DatasetError, match=r"views/a\.jsonl:2 and views/b\.jsonl:1 .*differ in files"
    ):
        _ = open_dataset(tmp_path).views


def test_a_missing_directory_is_no_dataset(tmp_path):
    with pytest.raises(DatasetError, match="not a directory"):
        open_dataset(tmp_path / "absent")


def test_a_directory_without_a_study_is_no_dataset(tmp_path):
    with pytest.raises(DatasetError, match=r"no study\.toml"):
        open_dataset(tmp_path)
    with pytest.raises(DatasetError, match=r"no study\.toml"):
        PartWriter(tmp_path, "000")


@pytest.mark.parametrize("part", ["", "../a", "a.b", "-a", "a" * 65, "a/b"])
def test_a_part_name_that_is_no_plain_name_is_refused(tmp_path, part):
    init_dataset(tmp_path, STUDY)
    with pytest.raises(DatasetError, match="part name"):
        PartWriter(tmp_path, part)


def test_an_index_row_of_another_view_is_refused(tmp_path):
    init_dataset(tmp_path, STUDY)
    view, _ = write_view(tmp_path, 1)
    _, index = write_view(tmp_path, 2)
    with (
        PartWriter(tmp_path, "000") as writer,
        pytest.raises(DatasetError, match="belongs to view"),
    ):
        writer.write(view, index)


def test_a_value_that_json_has_not_is_refused_and_nothing_is_written(tmp_path):
    init_dataset(tmp_path, STUDY)
    view, index = write_view(tmp_path, 1)
    with PartWriter(tmp_path, "000") as writer:
        for bad in (float("nan"), {1, 2}, 10**20):  # of the last, no reader takes the digits
            with pytest.raises(DatasetError, match="cannot be written"):
                writer.write({**view, "stature_m": bad}, index)
    assert (tmp_path / "index/000.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x.png", "a/../../x", "C:/x.png", "a\\b.png", "a//b.png", ".x", ""]
)
def test_a_row_that_names_a_path_outside_the_dataset_is_an_error(tmp_path, path):
    render(tmp_path, [1])
    file = tmp_path / "views/000.jsonl"
    row = json.loads(file.read_bytes())
    row["files"] = {path: {"size": 1, "sha256": "0" * 64}}
    with PartWriter(tmp_path, "001") as writer, pytest.raises(DatasetError, match="plain path"):
        writer.write(row, [])
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(DatasetError, match=r"views/000\.jsonl:1: path .* is not a plain path"):
        _ = open_dataset(tmp_path).views


def test_a_hostile_id_is_an_error(tmp_path):
    render(tmp_path, [1])
    (tmp_path / "views/000.jsonl").write_text('{"view_id":"../../x","files":{}}\n')
    with pytest.raises(DatasetError, match="12 hex digits"):
        _ = open_dataset(tmp_path).views


def test_damage_in_the_middle_is_passed_over_and_named(tmp_path):
    render(tmp_path, [1, 2, 3])
    file = tmp_path / "views/000.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b"\0" * 20 + b"\n" + b"[]\n" + lines[2])
    dataset = open_dataset(tmp_path)
    assert list(dataset.views) == [view_id(1), view_id(3)]
    assert len(dataset.index) == 4
    assert dataset.broken_lines == ["views/000.jsonl:2", "views/000.jsonl:3"]


def test_files_of_rows_are_listed_with_their_records(tmp_path):
    view, index = write_view(tmp_path, 1)
    digest = sha256(b"picture" + b"noon_south").hexdigest()
    assert recorded_files(view).keys() == {f"masks/{view_id(1)}.full.png"}
    assert recorded_files(index[0])[f"media/clean/{view_id(1)}-noon_south.png"] == {
        "path": f"media/clean/{view_id(1)}-noon_south.png",
        "size": 17,
        "sha256": digest,
    }
    assert recorded_files({"media": {"kind": "image", "clean": None}}) == {}


# --- one writer a part ---------------------------------------------------------------------------


def test_a_second_writer_of_a_part_is_refused_and_another_part_is_not(tmp_path):
    init_dataset(tmp_path, STUDY)
    with PartWriter(tmp_path, "gpu0"):
        with pytest.raises(DatasetError, match=r"'gpu0'.*has a writer already"):
            PartWriter(tmp_path, "gpu0")
        PartWriter(tmp_path, "gpu1").close()
    PartWriter(tmp_path, "gpu0").close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no open file")
@pytest.mark.parametrize("table", ["views", "index"])
def test_a_view_is_not_written_into_a_part_that_was_removed(tmp_path, table):
    init_dataset(tmp_path, STUDY)
    with PartWriter(tmp_path, "000") as writer:
        (tmp_path / table / "000.jsonl").unlink()
        with pytest.raises(DatasetError, match="removed while it was written"):
            writer.write(*write_view(tmp_path, 1))


def test_a_killed_writer_gives_its_part_free_and_loses_only_the_view_in_hand(tmp_path):
    init_dataset(tmp_path, STUDY)
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_dataset import PartWriter, _append_index_only, write_view
root = Path({str(tmp_path)!r})
writer = PartWriter(root, "000")
writer.write(*write_view(root, 1))
_append_index_only(writer, write_view(root, 2)[1])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    assert list(open_dataset(tmp_path).index) == [f"{view_id(1)}-{x}" for x in sorted(LIGHTINGS)]
    assert done_views(tmp_path) == {view_id(1)}
    render(tmp_path, [1, 2])
    assert len((tmp_path / "index/000.jsonl").read_bytes().splitlines()) == 4
    assert len(open_dataset(tmp_path).views) == 2


def _append_index_only(writer, rows):
    for row in rows:
        os.write(writer._index, json.dumps(row).encode() + b"\n")


def test_rows_of_a_killed_writer_do_not_contradict_the_view_rendered_elsewhere(tmp_path):
    init_dataset(tmp_path, STUDY)
    with PartWriter(tmp_path, "killed") as writer:
        _append_index_only(writer, write_view(tmp_path, 1, b"of another CPU")[1])
    render(tmp_path, [1], "other")
    assert len(open_dataset(tmp_path).index) == 2
    assert done_views(tmp_path, LIGHTINGS) == {view_id(1)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return render(tmp_path_factory.mktemp("whole"), range(4))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_kill_at_any_byte_is_made_good_by_the_next_run(tmp_path_factory, whole, data):
    root = tmp_path_factory.mktemp("cut") / "dataset"
    shutil.copytree(whole, root)
    views, index = root / "views/000.jsonl", root / "index/000.jsonl"
    # What a writer has written when it dies: index rows first, and view rows never ahead of them.
    view_ends = _line_ends(views)
    index_ends = _line_ends(index)[:: len(LIGHTINGS)]
    at = data.draw(st.integers(0, index.stat().st_size), label="bytes of index rows")
    finished = sum(end <= at for end in index_ends[1:])
    last = view_ends[finished]
    first = view_ends[finished - 1] if finished and at == index_ends[finished] else last
    os.truncate(index, at)
    os.truncate(views, data.draw(st.integers(first, last), label="bytes of view rows"))
    before = open_dataset(root)
    assert set(before.views) <= set(open_dataset(whole).views)
    assert {row["view_id"] for row in before.index.values()} == set(before.views)
    render(root, range(4))
    assert compare(whole, root) == []
    assert views.read_bytes() == (whole / "views/000.jsonl").read_bytes()
    assert index.read_bytes() == (whole / "index/000.jsonl").read_bytes()


def _line_ends(path):
    ends = [0]
    for line in path.read_bytes().splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    return ends


def test_a_writer_that_meets_a_full_disk_leaves_no_half_row(tmp_path, monkeypatch):
    render(tmp_path, [1])
    before = (tmp_path / "index/000.jsonl").read_bytes()
    rows = write_view(tmp_path, 2)
    really_write = os.write

    def half(descriptor, data):
        if len(data) < 50:
            raise OSError(28, "No space left on device")
        return really_write(descriptor, data[: len(data) - 20])

    with PartWriter(tmp_path, "000") as writer:
        monkeypatch.setattr(os, "write", half)
        with pytest.raises(OSError, match="No space"):
            writer.write(*rows)
    assert (tmp_path / "index/000.jsonl").read_bytes() == before


# --- resume --------------------------------------------------------------------------------------


def test_a_whole_view_is_done_and_a_run_again_writes_nothing(tmp_path):
    render(tmp_path, [1, 2])
    assert done_views(tmp_path, LIGHTINGS) == {view_id(1), view_id(2)}
    before = (tmp_path / "views/000.jsonl").read_bytes()
    render(tmp_path, [1, 2])
    assert (tmp_path / "views/000.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "path", [f"masks/{view_id(1)}.full.png", f"media/clean/{view_id(1)}-night.png"]
)
@pytest.mark.parametrize("size", [None, 0, 3])
def test_a_view_with_a_missing_or_shorter_file_is_not_done(tmp_path, path, size):
    render(tmp_path, [1, 2])
    if size is None:
        (tmp_path / path).unlink()
    else:
        os.truncate(tmp_path / path, size)
    assert done_views(tmp_path) == {view_id(2)}


@pytest.mark.parametrize("table", ["views", "index"])
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path, table):
    render(tmp_path, [1, 2])
    before = open_dataset(tmp_path).index
    part = tmp_path / table / "000.jsonl"
    part.write_bytes(b"\xef\xbb\xbf" + part.read_bytes().replace(b"\n", b"\r\n"))
    assert done_views(tmp_path, LIGHTINGS) == {view_id(1), view_id(2)}
    render(tmp_path, [3])
    after = open_dataset(tmp_path)
    assert before.items() < after.index.items()
    assert (len(after.views), after.broken_lines) == (3, [])


@pytest.mark.parametrize("table", ["views", "index"])
def test_a_view_whose_row_no_reader_takes_is_not_done(tmp_path, table):
    render(tmp_path, [1, 2])
    part = tmp_path / table / "000.jsonl"
    part.write_text("x" + part.read_text())  # of a slip in an editor
    assert done_views(tmp_path, LIGHTINGS) == {view_id(2)}


def test_a_view_without_its_directory_of_files_is_not_done(tmp_path):
    render(tmp_path, [1])
    (tmp_path / f"masks/{view_id(1)}.full.png").unlink()
    (tmp_path / "masks").rmdir()
    assert done_views(tmp_path) == set()


def test_a_view_that_lacks_a_lighting_is_not_done(tmp_path):
    render(tmp_path, [1])
    assert done_views(tmp_path, ["noon_south"]) == {view_id(1)}
    assert done_views(tmp_path, [*LIGHTINGS, "evening_west"]) == set()


def test_a_view_without_index_rows_is_not_done(tmp_path):
    render(tmp_path, [1])
    os.truncate(tmp_path / "index/000.jsonl", 0)
    assert done_views(tmp_path) == set()


def test_a_view_whose_images_are_not_kept_is_done(tmp_path):
    init_dataset(tmp_path, STUDY)
    view, index = write_view(tmp_path, 1)
    for row in index:
        row["media"]["clean"] = None
    with PartWriter(tmp_path, "000") as writer:
        writer.write(view, index)
    assert done_views(tmp_path, LIGHTINGS) == {view_id(1)}


def test_resume_agrees_with_the_rows_of_a_real_dataset(synthetic_dataset):
    lightings = {row["lighting"] for row in synthetic_dataset.index.values()}
    assert done_views(synthetic_dataset.root, lightings) == set(synthetic_dataset.views)


# --- the study -----------------------------------------------------------------------------------


def test_the_study_is_frozen_as_it_is_given(tmp_path):
    text = 'name = "größer"\r\n'
    init_dataset(tmp_path / "new/dataset", text)
    assert frozen_study(tmp_path / "new/dataset").read_bytes() == text.encode()
    init_dataset(tmp_path / "new/dataset", text)


def test_another_study_is_refused_with_the_first_difference(tmp_path):
    init_dataset(tmp_path, "a = 1\nb = 2\n")
    with pytest.raises(DatasetError, match=r"line 2 .*'b = 2'.*'b = 3'"):
        init_dataset(tmp_path, "a = 1\nb = 3\n")
    assert frozen_study(tmp_path).read_text() == "a = 1\nb = 2\n"


def test_a_directory_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(DatasetError, match=r"not empty.*thesis\.tex"):
        init_dataset(tmp_path, STUDY)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_workers_that_start_at_once_agree_on_one_study(tmp_path):
    script = (
        "import sys; from limen.addon.core.dataset import *\n"
        "sys.stdin.read()\n"
        "try: init_dataset(sys.argv[1], sys.argv[2])\n"
        "except DatasetError: sys.exit(7)"
    )
    root, studies = str(tmp_path / "dataset"), ["a = 1", "a = 2", "a = 1", "a = 2"]
    workers = [
        subprocess.Popen([sys.executable, "-c", script, root, text], stdin=subprocess.PIPE)
        for text in studies
    ]
    for worker in workers:
        worker.stdin.close()
    codes = [worker.wait() for worker in workers]
    frozen = frozen_study(Path(root)).read_text()
    assert codes == [0 if text == frozen else 7 for text in studies]


def test_events_are_logged_a_line_each_with_their_time(tmp_path):
    init_dataset(tmp_path, STUDY)
    log_event(tmp_path, event="start", device="cpu")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"event":"hal')  # of a process that was killed, or of a full disk
    log_event(tmp_path, event="end")
    start, end = read_table(tmp_path / "log.jsonl")
    assert (start["event"], start["device"], end["event"]) == ("start", "cpu", "end")
    assert start["time"].endswith("+00:00") and start["time"] <= end["time"]


# --- equality ------------------------------------------------------------------------------------


def test_datasets_are_equal_whatever_the_order_parts_and_logs(tmp_path):
    a = render(tmp_path / "a", [1, 2, 3], "x")
    b = render(tmp_path / "b", [3], "y")
    render(b, [2, 1], "z")
    log_event(a, event="only here")
    append_table(a / "runs/model/results.jsonl", [{"id": "x"}])
    (a / "masks" / "m.partial-0123abcd.png").touch()
    assert compare(a, b) == []


def test_each_difference_of_two_datasets_is_named(tmp_path):
    a = render(tmp_path / "a", [1, 2])
    b = render(tmp_path / "b", [1, 3])
    path = f"masks/{view_id(1)}.full.png"
    (b / path).write_bytes(b"PICTURE" + view_id(1).encode())
    (a / "README.md").touch()
    found = compare(a, b)
    assert f"view {view_id(2)} is only in {a}" in found
    assert f"index row {view_id(3)}-night is only in {b}" in found
    assert f"file {path} differs" in found
    assert f"file README.md is only in {a}" in found
    assert len(found) == 2 * (1 + 2 + 3) + 2


def test_a_row_that_differs_is_named_with_the_key(tmp_path):
    a, b = render(tmp_path / "a", [1]), render(tmp_path / "b", [])
    with PartWriter(b, "000") as writer:
        view, index = write_view(b, 1)
        writer.write({**view, "action": "kicking"}, index)
    assert compare(a, b) == [f"view {view_id(1)} differs in action"]


# --- tables of analysis --------------------------------------------------------------------------


def test_a_table_is_appended_and_read(tmp_path):
    path = tmp_path / "runs/model/results.jsonl"
    append_table(path, [{"id": "a", "answer": "ja"}])
    append_table(path, [{"id": "b"}, {"id": "c"}])
    assert read_table(path) == [{"id": "a", "answer": "ja"}, {"id": "b"}, {"id": "c"}]


def test_half_a_row_at_the_end_of_a_table_is_ignored_and_cut_off(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"id":"a"}\n{"id":')
    assert read_table(path) == [{"id": "a"}]
    append_table(path, [{"id": "b"}])
    assert read_table(path) == [{"id": "a"}, {"id": "b"}]


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=200_000), st.binary(max_size=70_000).map(lambda b: b.replace(b"\n", b"")))
def test_the_broken_end_of_a_line_is_cut_off_however_long_it_is(tmp_path_factory, whole, rest):
    path = tmp_path_factory.mktemp("table") / "t.jsonl"
    kept = whole + b"\n" if whole else b""
    path.write_bytes(kept + rest)
    append_table(path, [])
    assert path.read_bytes() == kept


def test_damage_inside_a_table_is_an_error_that_names_the_line(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"id":"a"}\nnonsense\n{"id":"b"}\n')
    with pytest.raises(DatasetError, match=r"t\.jsonl:2 is not JSON"):
        read_table(path)


def test_a_missing_table_is_an_error(tmp_path):
    with pytest.raises(DatasetError, match="missing"):
        read_table(tmp_path / "t.jsonl")


def test_a_table_is_joined_to_index_and_view_rows(tmp_path):
    dataset = open_dataset(render(tmp_path, [1, 2]))
    media_id = f"{view_id(2)}-night"
    table = [{"id": media_id, "answer": 1}, {"id": media_id, "answer": 0}]
    joined = join(dataset, table)
    assert [row["answer"] for row in joined] == [1, 0]
    assert {row["lighting"] for row in joined} == {"night"}
    (of_view,) = join(dataset, [{"view_id": view_id(1), "label": 1}], key="view_id")
    assert (of_view["action"], of_view["label"]) == ("größer", 1)


def test_a_table_of_another_dataset_is_not_joined(tmp_path):
    dataset = open_dataset(render(tmp_path, [1]))
    with pytest.raises(DatasetError, match="belongs to another dataset"):
        join(dataset, [{"id": f"{view_id(9)}-night"}])
    with pytest.raises(DatasetError, match="lighting is 'noon', in the dataset 'night'"):
        join(dataset, [{"id": f"{view_id(1)}-night", "lighting": "noon"}])
    with pytest.raises(DatasetError, match="keyed by id or view_id"):
        join(dataset, [], key="lighting")


# --- hostile lines and disks ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "hostile",
    [
        b'{"view_id":"v000000000001","x":NaN}',
        b'{"view_id":"v000000000001","x":-Infinity}',
        b'{"view_id":"v000000000001","x":' + b"9" * 400 + b"}",
        b'{"view_id":"v000000000001","x":"\\ud800"}',
        b"[" * 100_000,
        b"\xff\xfe{}",
    ],
    ids=["nan", "infinity", "digits", "surrogate", "deep", "bytes"],
)
def test_a_line_that_is_no_json_of_the_contract_is_passed_over_and_named(tmp_path, hostile):
    render(tmp_path, [1])
    with (tmp_path / "views/000.jsonl").open("ab") as file:
        file.write(hostile + b"\n")
    dataset = open_dataset(tmp_path)
    assert list(dataset.views) == [view_id(1)]
    assert dataset.broken_lines == ["views/000.jsonl:2"]
    table = tmp_path / "table.jsonl"
    table.write_bytes(hostile + b"\n")
    with pytest.raises(DatasetError, match="is not JSON"):
        read_table(table)


def test_a_part_that_is_a_link_to_nothing_is_an_error_not_an_empty_part(tmp_path):
    render(tmp_path, [1])
    (tmp_path / "views/other.jsonl").symlink_to("/an/unmounted/disk.jsonl")
    with pytest.raises(DatasetError, match=r"other\.jsonl is a directory, a pipe or a link"):
        _ = open_dataset(tmp_path).views


def test_a_pipe_among_the_parts_does_not_block(tmp_path):
    render(tmp_path, [1])
    os.mkfifo(tmp_path / "views/other.jsonl")
    with pytest.raises(DatasetError, match="a pipe"):
        done_views(tmp_path)


def test_media_that_is_no_record_is_an_error_that_names_the_line(tmp_path):
    render(tmp_path, [1])
    part = tmp_path / "index/000.jsonl"
    rows = [json.loads(line) for line in part.read_text().splitlines()]
    rows[1]["media"]["clean"] = 7
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DatasetError, match=r"000\.jsonl:2: its files are not recorded"):
        _ = open_dataset(tmp_path).index


def test_an_error_of_the_disk_names_the_file_and_no_temporary_one(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for write in (
        lambda path: write_file(path, b"x"),
        lambda path: append_table(path, [{"x": 1}]),
    ):
        with pytest.raises(OSError, match="No space left") as caught:
            write(tmp_path / "x.jsonl")
        assert caught.value.filename == str(tmp_path / "x.jsonl")


def test_a_lock_is_held_for_a_block_and_no_longer(tmp_path):
    busy = pytest.raises(DatasetError, match="is being written by another process")
    with exclusive(tmp_path / "run/lock"), busy, exclusive(tmp_path / "run/lock"):
        pass
    with exclusive(tmp_path / "run/lock"):
        pass


def test_a_file_in_the_datasets_place_is_named(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(DatasetError, match="x is a file; a dataset is a directory"):
        init_dataset(tmp_path / "x", STUDY)


def test_views_done_are_read_as_they_are_appended(tmp_path):
    init_dataset(tmp_path, STUDY)
    asked_again = DoneViews(tmp_path, LIGHTINGS)
    assert asked_again() == set()
    for part in ("000", "001"):
        for number in range(3):
            with PartWriter(tmp_path, part) as writer:
                writer.write(*write_view(tmp_path, number + 3 * int(part)))
            assert asked_again() == done_views(tmp_path, LIGHTINGS)
    assert len(asked_again()) == 6


def test_only_what_was_appended_is_read_again(tmp_path, monkeypatch):
    render(tmp_path, range(20))
    asked_again = DoneViews(tmp_path, LIGHTINGS)
    asked_again()
    render(tmp_path, [20])
    asked_for = []
    real = dataset._file_size
    monkeypatch.setattr(dataset, "_file_size", lambda *a: asked_for.append(a) or real(*a))
    monkeypatch.setattr(dataset, "_file_sizes", lambda *_: pytest.fail("a directory was listed"))
    assert asked_again() == set(map(view_id, range(21)))
    assert len(asked_for) == 1 + len(LIGHTINGS)  # the files of one view
    asked_again()
    assert len(asked_for) == 1 + len(LIGHTINGS)


def test_rows_cut_off_after_a_kill_and_written_again_are_not_missed(tmp_path):
    init_dataset(tmp_path, STUDY)
    with PartWriter(tmp_path, "000") as writer:
        writer.write(*write_view(tmp_path, 1))
        _append_index_only(writer, write_view(tmp_path, 2)[1])
    asked_again = DoneViews(tmp_path, LIGHTINGS)
    assert asked_again() == {view_id(1)}
    with PartWriter(tmp_path, "000") as writer:  # cuts the rows of view 2
        writer.write(*write_view(tmp_path, 3))
        writer.write(*write_view(tmp_path, 2))
    assert asked_again() == {view_id(1), view_id(2), view_id(3)}


def test_a_view_whose_file_comes_late_is_done_once_it_is_there(tmp_path):
    root = render(tmp_path, [1])
    (clean,) = list((root / "media").rglob(f"{view_id(1)}-{LIGHTINGS[0]}*"))[:1]
    content = clean.read_bytes()
    clean.unlink()
    asked_again = DoneViews(root, LIGHTINGS)
    assert asked_again() == set()
    clean.write_bytes(content)
    assert asked_again() == {view_id(1)}
