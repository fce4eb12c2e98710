"""Your own pictures as a dataset: imported, checked, developed, asked about."""

import json
import shutil

import cv2
import numpy as np
import pytest
from limen.addon.core.dataset import DatasetError, open_dataset, read_table
from limen.analysis.check import check_dataset
from limen.analysis.develop.preview import build_preview
from limen.analysis.develop.run import DevelopChoiceError, develop_dataset
from limen.analysis.discern.apply import apply_model
from limen.analysis.discern.model_file import SavedModel
from limen.analysis.discern.simulate import ObserverError, observe
from limen.analysis.discern.table import read_labels
from limen.analysis.evaluate import evaluate
from limen.analysis.images import read_image
from limen.analysis.models import make_model
from limen.analysis.photographs import Defaults, PhotographsError, import_photographs
from limen.analysis.photographs.sources import PictureError, mask_of_coco

NIGHT = Defaults(band="night")


def picture(path, seed=0, size=(48, 65)):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 40, (*size, 3), np.uint8)
    assert cv2.imwrite(str(path), pixels)
    return pixels


def mask(path, box=None, size=(48, 65)):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros(size, np.uint8)
    if box:
        x, y, w, h = box
        pixels[y : y + h, x : x + w] = 255
    cv2.imwrite(str(path), pixels)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "photos"
    picture(root / "person/a.jpg", 1)
    picture(root / "person/b.png", 2)
    picture(root / "empty/a.png", 3)
    mask(root / "masks/person/b.png", (10, 5, 8, 20))
    return root


def views_of(root):
    return {view["source"]["path"]: view for view in open_dataset(root).views.values()}


def problems(root):
    return [(check.name, p.where, p.what) for check in check_dataset(root) for p in check.problems]


# --- folders -------------------------------------------------------------------------------------


def test_folders_and_masks_tell_the_truth_and_the_dataset_passes_its_check(folder, tmp_path):
    out = tmp_path / "dataset"
    summary = import_photographs("folder", folder, out, defaults=NIGHT)
    assert (summary.made, summary.there, summary.failed) == (3, 0, ())
    views = views_of(out)
    assert {name: view["target_present"] for name, view in views.items()} == {
        "person/a.jpg": True,
        "person/b.png": True,
        "empty/a.png": False,
    }
    masked = views["person/b.png"]
    assert (masked["visible_px"], masked["box_visible"]) == (160, [10, 5, 8, 20])
    assert masked["full_px"] is None  # what is hidden, nobody knows
    assert views["person/a.jpg"]["visible_px"] is None
    assert views["empty/a.png"]["visible_px"] == 0
    assert problems(out) == []


def test_a_png_keeps_its_pixels(folder, tmp_path):
    out = tmp_path / "dataset"
    import_photographs("folder", folder, out, defaults=NIGHT)
    view = views_of(out)["person/b.png"]
    image = read_image(out / f"media/clean/{view['view_id']}-photograph.png")
    assert np.array_equal(image, picture(tmp_path / "again.png", 2))


def test_a_second_import_does_nothing_and_a_new_picture_is_added(folder, tmp_path):
    out = tmp_path / "dataset"
    import_photographs("folder", folder, out, defaults=NIGHT)
    rows = (out / "views/import.jsonl").read_bytes()
    again = import_photographs("folder", folder, out, defaults=NIGHT)
    assert (again.made, again.there) == (0, 3)
    assert (out / "views/import.jsonl").read_bytes() == rows
    picture(folder / "empty/new.png", 9)
    assert import_photographs("folder", folder, out, defaults=NIGHT).made == 1


def test_masks_alone_tell_whether_somebody_is_there(tmp_path):
    root = tmp_path / "photos"
    for name, box in (("x.png", (1, 2, 3, 4)), ("y.png", None)):
        picture(root / name)
        mask(root / "masks" / name, box)
    import_photographs("folder", root, tmp_path / "out", defaults=NIGHT)
    views = views_of(tmp_path / "out")
    assert (views["x.png"]["target_present"], views["y.png"]["target_present"]) == (True, False)


def test_a_table_tells_what_is_known(folder, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(
        "file,band,distance_m,px_per_m,illuminance_lx,action,subject\n"
        "person/a.jpg,evening,12.5,90,3,walking,ada\n"
    )
    out = tmp_path / "out"
    import_photographs("folder", folder, out, defaults=NIGHT, table=table)
    view = views_of(out)["person/a.jpg"]
    row = open_dataset(out).index[f"{view['view_id']}-photograph"]
    assert (row["band"], row["distance_m"], row["action"]) == ("evening", 12.5, "walking")
    assert row["illuminance_nominal_lx"] == 3
    assert view["pixel_density_class"]["dori_2014"] == "observe"
    assert problems(out) == []


def test_a_picture_is_turned_upright_and_loses_its_metadata(tmp_path):
    from PIL import Image

    pixels = np.zeros((20, 40, 3), np.uint8)
    pixels[:, :10] = 200
    exif = Image.Exif()
    exif[274] = 6  # to be turned by 90 degrees
    exif[315] = "the artist"
    exif.get_ifd(0x8769)[33434] = 0.01
    root = tmp_path / "photos/empty"
    root.mkdir(parents=True)
    Image.fromarray(pixels).save(root / "a.jpg", exif=exif, quality=95)
    out = tmp_path / "out"
    import_photographs("folder", root.parent, out, defaults=NIGHT)
    ((row_id, row),) = open_dataset(out).index.items()
    path = out / f"media/clean/{row_id}.png"
    image = read_image(path)
    assert image.shape == (40, 20, 3)
    assert image[:8].mean() > 150 > image[15:].mean()
    assert b"artist" not in path.read_bytes()
    assert row["exposure_s"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda root: picture(root / "loose.png"), "nothing says whether a person is there"),
        (lambda root: picture(root / "empty/person/a.png"), "a folder for persons and in one for"),
        (lambda root: shutil.rmtree(root), "is no folder"),
        (lambda root: [p.unlink() for p in root.rglob("*") if p.is_file()], "holds no pictures"),
    ],
)
def test_a_folder_that_does_not_say_enough_is_refused(folder, tmp_path, change, error):
    change(folder)
    with pytest.raises((PhotographsError, PictureError), match=error):
        import_photographs("folder", folder, tmp_path / "out", defaults=NIGHT)
    assert not (tmp_path / "out").exists()


def test_light_must_be_told(folder, tmp_path):
    with pytest.raises(PhotographsError, match="nothing says in what light it was taken: --band"):
        import_photographs("folder", folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("name\nx\n", "has the columns name: file is needed"),
        ("file,bamd\nperson/a.jpg,day\n", "has the columns file, bamd"),
        ("file,band\nperson/z.jpg,day\n", "table.csv:2: file is 'person/z.jpg', which is none"),
        ("file,band\nperson/a.jpg,dusk\n", "band is 'dusk'"),
        ("file,distance_m\nperson/a.jpg,near\n", "distance_m is 'near'"),
        ("file,distance_m\nperson/a.jpg,nan\n", "distance_m is 'nan'"),
        ("file,person\nperson/a.jpg,maybe\n", "person is 'maybe'"),
        ("file,band\nperson/a.jpg,day\nperson/a.jpg,night\n", "csv:3 names 'person/a.jpg' again"),
        ("file,band\nperson/a.jpg,day,night\n", "csv:2 has more cells than columns"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(folder, tmp_path, text, error):
    table = tmp_path / "table.csv"
    table.write_text(text)
    with pytest.raises(PictureError, match=error):
        import_photographs("folder", folder, tmp_path / "out", defaults=NIGHT, table=table)


def test_a_damaged_picture_and_a_mask_of_another_size_are_named_and_the_others_imported(
    folder, tmp_path
):
    (folder / "person/broken.jpg").write_bytes(b"\xff\xd8 nothing")
    mask(folder / "masks/person/a.png", (0, 0, 5, 5), size=(10, 10))
    summary = import_photographs("folder", folder, tmp_path / "out", defaults=NIGHT)
    assert summary.made == 2
    broken, other = sorted(summary.failed, reverse=True)
    assert broken.startswith("person/broken.jpg: it cannot be read as a picture")
    assert other == "person/a.jpg: its mask is 10 x 10 px, the picture 65 x 48"
    assert problems(tmp_path / "out") == []


def test_the_folder_is_not_written_into_and_a_rendered_dataset_is_not_overwritten(
    folder, tmp_path, synthetic_dataset
):
    with pytest.raises(PhotographsError, match="would import itself"):
        import_photographs("folder", folder, folder / "out", defaults=NIGHT)
    copy = tmp_path / "rendered"
    copy.mkdir()
    shutil.copy(synthetic_dataset.root / "study.toml", copy)
    with pytest.raises(DatasetError, match="a dataset of another study"):
        import_photographs("folder", folder, copy, defaults=NIGHT)


# --- COCO ----------------------------------------------------------------------------------------


def coco(tmp_path, segmentation, category="person"):
    picture(tmp_path / "coco/images/one.png", 1, (4, 6))
    picture(tmp_path / "coco/images/two.png", 2, (4, 6))
    file = tmp_path / "coco/instances.json"
    annotation = {
        "id": 1,
        "image_id": 7,
        "category_id": 3,
        "bbox": [1, 0, 2, 3],
        "segmentation": segmentation,
        "iscrowd": 0,
    }
    data = {
        "images": [
            {"id": 7, "file_name": "one.png", "width": 6, "height": 4},
            {"id": 8, "file_name": "two.png", "width": 6, "height": 4},
        ],
        "annotations": [annotation],
        "categories": [{"id": 3, "name": category}],
    }
    file.write_text(json.dumps(data))
    return file


# Column by column: the 2 x 3 pixels whose corner is (1, 0). Compressed by pycocotools 2.0.11.
RUNS = [4, 3, 1, 3, 13]
COMPRESSED = "4310<"


@pytest.mark.parametrize(
    "segmentation",
    [
        [[1, 0, 2, 0, 2, 2, 1, 2]],
        {"size": [4, 6], "counts": RUNS},
        {"size": [4, 6], "counts": COMPRESSED},
    ],
)
def test_coco_segmentations_are_masks(tmp_path, segmentation):
    import_photographs("coco", coco(tmp_path, segmentation), tmp_path / "out", defaults=NIGHT)
    views = views_of(tmp_path / "out")
    assert (views["one.png"]["target_present"], views["two.png"]["target_present"]) == (True, False)
    assert (views["one.png"]["visible_px"], views["one.png"]["box_visible"]) == (6, [1, 0, 2, 3])
    assert problems(tmp_path / "out") == []


def test_coco_boxes_without_a_segmentation_are_boxes(tmp_path):
    import_photographs("coco", coco(tmp_path, None), tmp_path / "out", defaults=NIGHT)
    view = views_of(tmp_path / "out")["one.png"]
    assert (view["visible_px"], view["box_visible"]) == (None, [1, 0, 2, 3])


@pytest.mark.parametrize("counts", [[1, 2], [-1, 25], "x" * 40, [24.5]])
def test_runs_that_do_not_fill_the_picture_are_refused(counts):
    with pytest.raises(PictureError, match="a segmentation cannot be drawn"):
        mask_of_coco(({"size": [4, 6], "counts": counts},), 6, 4)


@pytest.mark.parametrize("corner", [float("nan"), 1e30])
def test_a_polygon_outside_of_every_picture_is_refused(corner):
    with pytest.raises(PictureError, match="a corner of a polygon is no place"):
        mask_of_coco(([[0, 0, corner, 0, 0, 4]],), 6, 4)


@pytest.mark.parametrize(
    "bbox", ["abcd", [1, 2], [float("nan"), 0, 1, 1], {"a": 1}, [[1], 2, 3, 4]]
)
def test_a_box_of_no_four_numbers_is_refused(tmp_path, bbox):
    file = coco(tmp_path, None)
    data = json.loads(file.read_text())
    data["annotations"][0]["bbox"] = bbox
    file.write_text(json.dumps(data))
    with pytest.raises(PictureError, match=r"a bbox of one\.png is .*: four numbers are needed"):
        import_photographs("coco", file, tmp_path / "out", defaults=NIGHT)


@pytest.mark.parametrize("key", ["id", "file_name"])
def test_an_image_that_coco_names_twice_is_refused_not_doubled(tmp_path, key):
    file = coco(tmp_path, None)
    data = json.loads(file.read_text())
    data["images"][1][key] = data["images"][0][key]
    file.write_text(json.dumps(data))
    with pytest.raises(PictureError, match="twice: each of its images has an id and a file"):
        import_photographs("coco", file, tmp_path / "out", defaults=NIGHT)


def test_a_mask_that_unpacks_to_gigabytes_is_refused(folder, tmp_path, monkeypatch):
    mask(folder / "masks/person/a.png", (0, 0, 5, 5), size=(200, 200))
    from PIL import Image

    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    summary = import_photographs("folder", folder, tmp_path / "out", defaults=NIGHT)
    (failed,) = summary.failed
    assert failed.startswith("person/a.jpg: its mask cannot be read") and "bomb" in failed


def test_a_file_that_is_no_coco_is_refused(tmp_path):
    with pytest.raises(PictureError, match="no category named person"):
        import_photographs("coco", coco(tmp_path, None, "cat"), tmp_path / "out", defaults=NIGHT)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(PictureError, match="is no COCO annotations file"):
        import_photographs("coco", tmp_path / "x.json", tmp_path / "out", defaults=NIGHT)
    file = coco(tmp_path, None)
    file.write_text(file.read_text().replace("one.png", "../../../etc/passwd"))
    with pytest.raises(PictureError, match="is not beside it"):
        import_photographs("coco", file, tmp_path / "out", defaults=NIGHT)


# --- what follows --------------------------------------------------------------------------------


def test_photographs_are_developed_as_night_vision_only(folder, tmp_path):
    out = tmp_path / "out"
    import_photographs("folder", folder, out, defaults=NIGHT)
    with pytest.raises(DevelopChoiceError, match="is its own 'camera' image"):
        develop_dataset(out, variants=("camera",), denoiser="none")
    summary = develop_dataset(out, denoiser="none")
    assert (summary.made, summary.failed) == (3, ())
    assert problems(out) == []
    for row in open_dataset(out).index.values():
        dark = read_image(out / row["media"]["clean"]["path"])
        bright = read_image(out / f"media/nv/{row['id']}.png")
        assert bright.shape == dark.shape
        assert bright.mean() > 2 * dark.mean()


def test_a_photograph_has_no_preview_of_light_and_says_so(folder, tmp_path):
    out = tmp_path / "out"
    import_photographs("folder", folder, out, defaults=NIGHT)
    media_id = next(iter(open_dataset(out).index))
    with pytest.raises(DevelopChoiceError, match="holds photographs"):
        build_preview(out, media_id, tmp_path / "page.html", denoiser="none")
    assert not (tmp_path / "page.html").exists()


def test_night_vision_of_a_photograph_keeps_its_colours_and_what_is_where(tmp_path):
    pixels = np.full((64, 96, 3), (20, 20, 60), np.uint8)  # dark red, in OpenCV's order
    pixels[:, 48:] = (60, 20, 20)  # dark blue
    (tmp_path / "photos/empty").mkdir(parents=True)
    cv2.imwrite(str(tmp_path / "photos/empty/a.png"), pixels)
    import_photographs("folder", tmp_path / "photos", tmp_path / "out", defaults=NIGHT)
    develop_dataset(tmp_path / "out", denoiser="none")
    (path,) = (tmp_path / "out/media/nv").iterdir()
    blue, _, red = (read_image(path)[..., c].astype(float) for c in range(3))
    assert red[:, :40].mean() > 1.5 * blue[:, :40].mean()
    assert blue[:, 56:].mean() > 1.5 * red[:, 56:].mean()


def test_the_published_layout_takes_a_photograph_for_what_the_camera_recorded(folder, tmp_path):
    out = tmp_path / "out"
    import_photographs("folder", folder, out, defaults=NIGHT)
    develop_dataset(out, denoiser="none")
    summary = evaluate(open_dataset(out), make_model("hog"), variant="published")
    rows = read_table(summary.directory / "predictions.jsonl")
    assert sorted(row["variant"] for row in rows) == ["camera"] * 3 + ["nv"] * 3
    oracle = evaluate(open_dataset(out), make_model("oracle-area"), variant="clean")
    assert oracle.outcomes == {"ok": 2}  # one has no mask: nobody knows its area


# --- what can be seen ----------------------------------------------------------------------------


def test_a_person_without_a_mask_is_unknown_to_the_observer_and_not_invisible(folder, tmp_path):
    out = tmp_path / "dataset"
    import_photographs("folder", folder, out, defaults=Defaults(band="day"))
    with pytest.raises(ObserverError, match="shows a person and has no mask"):
        observe(out, None)
    assert read_labels(out, "simulated") == {}


def test_a_learnt_model_has_no_label_for_a_person_without_a_mask(folder, tmp_path):
    (folder / "person/b.png").unlink()
    (folder / "masks/person/b.png").unlink()
    out = tmp_path / "dataset"
    import_photographs("folder", folder, out, defaults=Defaults(band="day"))
    about = {"features": {}, "trained_on": "human", "name": "main", "sha256": "0"}
    summary = apply_model(out, SavedModel(out, about, None))
    assert (summary.labelled, summary.abstained, summary.by_definition) == (0, 1, 1)
    index = open_dataset(out).index
    said = {
        index[media_id]["target_present"]: (row["human_discernable"], row["reason"])
        for (media_id, _), row in read_labels(out, "human").items()
    }
    assert said == {True: (None, "the person has no mask"), False: (0, "no target is visible")}
