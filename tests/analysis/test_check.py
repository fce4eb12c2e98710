"""Every kind of damage is found, and a sound dataset has none."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from limen.addon.core.dataset import DatasetError, file_record, open_dataset
from limen.analysis.check import check_dataset


@pytest.fixture
def root(tiny_dataset, tmp_path):
    shutil.copytree(tiny_dataset.root, tmp_path / "dataset")
    return tmp_path / "dataset"


def problems(root, **options):
    return [
        (check.name, problem.where, problem.what)
        for check in check_dataset(root, **options)
        for problem in check.problems
    ]


def edit(root: Path, table: str, change) -> dict:
    """Change the first row of a table that ``change`` returns true for; returns the row."""
    (part,) = (root / table).glob("*.jsonl")
    rows = [json.loads(line) for line in part.read_text().splitlines()]
    row = next(row for row in rows if change(row))
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return row


def edit_view(root, **values):
    first = first_person(root)["view_id"]
    return edit(root, "views", lambda row: row["view_id"] == first and (row.update(values) or True))


def first_person(root):
    return next(v for v in open_dataset(root).views.values() if v["target_present"])


def rewrite(root: Path, path: str, image: np.ndarray) -> None:
    """Replace an image and what the rows record of it, so that only its content is wrong."""
    cv2.imwrite(str(root / path), image)
    record = file_record(root / path)

    def change(row):
        if path in row.get("files", {}):
            row["files"][path] = record
        elif row.get("media", {}).get("clean", {}).get("path") == path:
            row["media"]["clean"].update(record)
        else:
            return False
        return True

    edit(root, "views" if path.startswith("masks") else "index", change)


def test_a_sound_dataset_has_no_problem_and_everything_was_looked_at(root):
    checks = {check.name: check for check in check_dataset(root, complete=True)}
    assert not any(check.problems for check in checks.values())
    assert {name: check.checked for name, check in checks.items()} == {
        "table lines": 16,
        "view rows, schema": 4,
        "index rows, schema": 12,
        "lightings of views": 12,
        "views of the study": 4,
        "poses": 3,
        "pixel density": 4,
        "visible shares": 4,
        "files, size and hash": 28,
        "masks and joints": 3,
        "images": 12,
    }
    assert checks["masks and joints"].note == "100.00% of 66 body joints on the full mask"


def test_quick_opens_no_image_and_reads_no_hash(root):
    image = next((root / "media/clean").glob("*.png"))
    image.write_bytes(bytes(image.stat().st_size))
    assert problems(root, quick=True) == []
    assert {name for name, *_ in problems(root)} == {"files, size and hash", "images"}


def test_what_is_no_dataset_is_an_error(tmp_path):
    with pytest.raises(DatasetError, match=r"holds no study\.toml"):
        check_dataset(tmp_path)


def test_a_broken_line_is_found_with_its_place(root):
    (part,) = (root / "index").glob("*.jsonl")
    part.write_bytes(part.read_bytes() + b'{"id": "v0')
    ((name, where, _),) = problems(root)
    assert (name, where) == ("table lines", f"index/{part.name}:13")


def test_two_different_rows_of_one_id_end_the_check(root):
    (part,) = (root / "views").glob("*.jsonl")
    row = json.loads(part.read_text().splitlines()[0])
    part.write_text(
        part.read_text() + json.dumps({**row, "truncated": not row["truncated"]}) + "\n"
    )
    ((_, _, what),) = problems(root)
    assert f"{row['view_id']} has two different rows" in what


def test_a_row_against_the_schema_is_found_with_the_key(root):
    row = edit(root, "index", lambda row: row.update(band="dusk") or True)
    found = problems(root)
    assert found == [
        (
            "index rows, schema",
            f"{row['id']}.band",
            "'dusk' is not one of ['day', 'evening', 'night']",
        )
    ]


def test_a_view_that_lacks_a_lighting_is_found(root):
    (part,) = (root / "index").glob("*.jsonl")
    first, *rest = part.read_text().splitlines()
    part.write_text("\n".join(rest) + "\n")
    row = json.loads(first)
    assert ("lightings of views", row["view_id"], f"has no index row for {row['lighting']}") in (
        problems(root, quick=True)
    )


def test_a_pose_that_changed_while_the_dataset_grew_is_found(root):
    (part,) = (root / "views").glob("*.jsonl")
    rows = sorted(map(json.loads, part.read_text().splitlines()), key=lambda r: r["view_id"])
    first, second = [row for row in rows if row["pose"]][:2]
    second["pose"] = {**first["pose"], "axis_angle_rad": [[0.1, 0, 0]] * 55}
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    what = f"its pose {first['pose']['name']} is another than that of {first['view_id']}"
    assert problems(root, quick=True) == [("poses", second["view_id"], what)]


def test_a_view_that_was_not_rendered_yet_is_a_note_or_a_problem(root):
    (views,), (index,) = (root / "views").glob("*.jsonl"), (root / "index").glob("*.jsonl")
    first, *rest = views.read_text().splitlines()
    gone = json.loads(first)["view_id"]
    views.write_text("\n".join(rest) + "\n")
    index.write_text("".join(x + "\n" for x in index.read_text().splitlines() if gone not in x))
    (study,) = (c for c in check_dataset(root, quick=True) if c.name == "views of the study")
    assert (study.note, study.problems) == ("1 of 4 not rendered yet", ())
    assert problems(root, quick=True, complete=True) == [
        ("views of the study", gone, "is not rendered yet")
    ]


def test_a_view_that_the_study_does_not_ask_for_is_found(root):
    text = (root / "study.toml").read_text()
    (root / "study.toml").write_text(text.replace('"field"', '"wharf"'))
    found = {(name, what) for name, _, what in problems(root, quick=True)}
    assert found == {("views of the study", "is none of the study's views")}


def test_a_missing_file_is_found_with_the_row_that_names_it(root):
    path = f"depth/{first_person(root)['view_id']}.exr"
    (root / path).unlink()
    ((name, where, what),) = problems(root, quick=True)
    assert (name, where) == ("files, size", path)
    assert what == f"is missing (of {first_person(root)['view_id']})"


def test_a_truncated_file_is_found(root):
    path = f"light/crops/{first_person(root)['view_id']}.exr"
    data = (root / path).read_bytes()
    (root / path).write_bytes(data[:-1])
    ((_, where, what),) = problems(root, quick=True)
    assert where == path
    assert what.startswith(f"has {len(data) - 1} bytes, ")


def test_a_flipped_bit_is_found(root):
    path = f"depth/{first_person(root)['view_id']}.exr"
    data = bytearray((root / path).read_bytes())
    data[-1] ^= 1
    (root / path).write_bytes(data)
    ((name, where, what),) = problems(root)
    assert (name, where) == ("files, size and hash", path)
    assert "its sha256 is not what" in what


def test_a_density_2_percent_off_is_found_and_half_a_percent_is_not(root):
    nominal = first_person(root)["density_nominal_px_per_m"]
    edit_view(root, density_measured_px_per_m=nominal * 1.005)
    assert problems(root, quick=True) == []
    row = edit_view(root, density_measured_px_per_m=nominal * 1.02)
    ((name, where, what),) = problems(root, quick=True)
    assert (name, where) == ("pixel density", row["view_id"])
    assert "+2.0%" in what


@pytest.mark.parametrize(
    ("key", "value"), [("unoccluded_fraction", 0.25), ("visible_area_share", 0.5)]
)
def test_a_share_that_its_pixel_counts_do_not_give_is_found(root, key, value):
    row = edit_view(root, **{key: value})
    ((name, where, what),) = problems(root, quick=True)
    assert (name, where) == ("visible shares", row["view_id"])
    assert what.startswith(f"{key} is {value}, but {row['visible_px']} visible")


def test_a_box_that_is_not_the_masks_is_found(root):
    x, y, width, height = first_person(root)["box_full"]
    row = edit_view(root, box_full=[x + 1, y, width, height])
    ((name, where, what),) = problems(root)
    assert (name, where) == ("masks and joints", f"masks/{row['view_id']}.full.png")
    assert what == f"has the box {[x, y, width, height]}, box_full is {[x + 1, y, width, height]}"


def test_joints_beside_the_mask_are_found_and_joints_outside_the_image_are_not_counted(root):
    joints = first_person(root)["joints_px"]
    edit_view(root, joints_px=[[-5.0, y] for _, y in joints])
    assert problems(root) == []
    row = edit_view(root, joints_px=[[1.0, 1.0]] * 55)
    ((name, where, what),) = problems(root)
    assert (name, where) == ("masks and joints", row["view_id"])
    assert what.startswith("0 of 22 body joints")


def test_a_mask_of_other_values_than_0_and_255_is_found(root):
    path = f"masks/{first_person(root)['view_id']}.full.png"
    mask = cv2.imread(str(root / path), cv2.IMREAD_GRAYSCALE)
    rewrite(root, path, np.where(mask > 0, 128, 0).astype(np.uint8))
    assert problems(root) == [("masks and joints", path, "holds other values than 0 and 255")]


@pytest.mark.parametrize(
    ("colour", "what"),
    [
        ((0, 0, 0), "is black all over"),
        ((255, 0, 255), "is magenta in 100.0%: a texture was missing"),
        ((90, 4, 120), "is magenta in 100.0%: a texture was missing"),
    ],
)
def test_a_black_or_magenta_image_is_found(root, colour, what):
    path = next(iter(open_dataset(root).index.values()))["media"]["clean"]["path"]
    height, width = cv2.imread(str(root / path)).shape[:2]
    rewrite(root, path, np.full((height, width, 3), colour, np.uint8))
    assert problems(root) == [("images", path, what)]


def test_an_image_of_another_size_than_its_camera_is_found(root):
    path = next(iter(open_dataset(root).index.values()))["media"]["clean"]["path"]
    rewrite(root, path, np.full((10, 20, 3), 99, np.uint8))
    ((_, where, what),) = problems(root)
    assert where == path
    assert what.startswith("is 20x10 px, its camera ")


def test_progress_tells_how_far_each_check_is(root):
    told = []
    check_dataset(root, quick=True, progress=lambda *step: told.append(step))
    assert ("pixel density", 1, 4) in told
    assert ("files, size", 28, 28) in told


def test_a_target_of_which_nothing_is_visible_is_found(root):
    view_id = edit_view(root, visible_px=0)["view_id"]
    assert (view_id, "has a target of which no pixel is visible") in [
        (where, what) for _, where, what in problems(root, quick=True)
    ]
