"""Which images are shown, which part of them fits a screen, and that they are the recorded ones."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.addon.core.dataset import file_record, open_dataset
from limen.analysis.annotate.errors import AnnotateChoiceError, AnnotateError
from limen.analysis.annotate.items import Library, Picture, choose_items, window_in
from limen.analysis.annotate.serve import open_dataset_store, open_round
from limen.analysis.annotate.tasks import TASKS

WIDE = Picture("image", 1920, 1080, 1, 0.0, (900, 500, 60, 170))
PRESENCE = TASKS["presence"]


@pytest.fixture
def copy(synthetic_dataset, tmp_path):
    shutil.copytree(synthetic_dataset.root, tmp_path / "dataset")
    return tmp_path / "dataset"


def sample(root, rows):
    path = root / "labels" / "samples" / "main.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_dataset(root)


@given(
    width=st.integers(1, 2500),
    height=st.integers(1, 1500),
    x=st.integers(0, 1900),
    y=st.integers(0, 1060),
    box_width=st.integers(1, 1920),
    box_height=st.integers(1, 1080),
    draw=st.tuples(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True)),
)
def test_a_window_lies_in_the_image_and_holds_the_target_or_lies_in_it(
    width, height, x, y, box_width, box_height, draw
):
    box = (x, y, min(box_width, 1920 - x), min(box_height, 1080 - y))
    window = window_in(replace(WIDE, box=box), width, height, draw)
    if width >= 1920 and height >= 1080:
        assert window is None
        return
    for start, length, whole, screen, target, size in zip(
        window[:2], window[2:], (1920, 1080), (width, height), box[:2], box[2:], strict=True
    ):
        assert length == min(screen, whole)
        assert 0 <= start <= whole - length
        if length >= size:
            assert start <= target and target + size <= start + length
        else:
            assert target <= start and start + length <= target + size


def test_windows_are_spread_over_all_places_that_hold_the_target():
    draws = np.linspace(0, 0.999, 50)
    starts = [window_in(WIDE, 400, 1080, (draw, 0.5))[0] for draw in draws]
    assert (starts[0], starts[-1]) == (900 + 60 - 400, 900)
    assert len(set(starts)) == 50


def test_without_a_target_a_window_lies_anywhere():
    catch = replace(WIDE, box=None)
    assert window_in(catch, 400, 300, (0.0, 0.0)) == (0, 0, 400, 300)
    assert window_in(catch, 400, 300, (0.9999, 0.9999)) == (1520, 780, 400, 300)


def test_without_a_sample_all_images_are_asked_about_and_empty_ones_are_catch_trials(
    synthetic_dataset,
):
    items = choose_items(synthetic_dataset, PRESENCE, None, ())
    assert len(items) == 45
    assert sum(item.catch for item in items) == 9
    assert {item.variant for item in items} == {"clean"}


def test_a_sample_says_what_is_shown_and_which_role_it_has(copy):
    ids = list(open_dataset(copy).index)[:2]
    rows = [
        {"id": ids[0], "variant": "clean", "role": "test", "stratum": "night/far", "catch": False},
        {"id": ids[1], "variant": "clean", "role": "train", "stratum": "day/near", "catch": False},
    ]
    items = choose_items(sample(copy, rows), PRESENCE, "main", ())
    assert {(i.media_id, i.role, i.stratum) for i in items} == {
        (ids[0], "test", "night/far"),
        (ids[1], "train", "day/near"),
    }


def test_a_sample_of_another_dataset_is_refused_with_its_line(copy):
    dataset = sample(copy, [{"id": "v000000000000-noon", "variant": "clean"}])
    with pytest.raises(AnnotateError, match=r"main.jsonl:1: .* has no image 'clean'"):
        choose_items(dataset, PRESENCE, "main", ())


def test_a_catch_trial_with_a_target_in_it_is_refused(copy):
    dataset = open_dataset(copy)
    present = next(row for row in dataset.index.values() if row["target_present"])
    dataset = sample(copy, [{"id": present["id"], "variant": "clean", "catch": True}])
    with pytest.raises(AnnotateError, match="is a catch trial, but a target is there"):
        choose_items(dataset, PRESENCE, "main", ())


@pytest.mark.parametrize("name", ["../../study", "nothing", "", "a/b"])
def test_a_sample_that_is_not_there_is_named_with_those_that_are(copy, name):
    dataset = sample(copy, [])
    with pytest.raises(AnnotateChoiceError, match="there are main"):
        choose_items(dataset, PRESENCE, name, ())


def test_a_variant_that_was_not_made_is_refused(synthetic_dataset):
    with pytest.raises(AnnotateChoiceError, match="no image to show as nv; it has clean"):
        choose_items(synthetic_dataset, PRESENCE, None, ("nv",))


def test_stills_cannot_be_asked_about_as_clips(synthetic_dataset):
    with pytest.raises(AnnotateChoiceError, match="about clip and sequence"):
        choose_items(synthetic_dataset, TASKS["clip"], None, ())


def test_an_image_that_changed_since_it_was_recorded_is_not_shown(copy):
    library = Library(open_dataset(copy))
    media_id, row = next(iter(open_dataset(copy).index.items()))
    file = copy / row["media"]["clean"]["path"]
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(AnnotateError, match="is not the file that its row records"):
        library.png(media_id, "clean", 0, None)


def test_a_link_out_of_the_dataset_is_not_followed(copy, tmp_path):
    library = Library(open_dataset(copy))
    media_id, row = next(iter(open_dataset(copy).index.items()))
    file = copy / row["media"]["clean"]["path"]
    outside = tmp_path / "outside.png"
    file.rename(outside)
    file.symlink_to(outside)
    with pytest.raises(AnnotateError, match="leads out of"):
        library.png(media_id, "clean", 0, None)


def test_a_round_does_not_go_on_with_images_that_were_made_anew(copy):
    dataset, store = open_dataset_store(copy, None)
    open_round(dataset, store)
    part = copy / "index" / "synthetic.jsonl"
    part = next((copy / "index").glob("*.jsonl"))
    first = dataset.index[next(iter(dataset.index))]["media"]["clean"]["sha256"]
    part.write_text(part.read_text().replace(first, "f" * 64))
    with pytest.raises(AnnotateError, match="start another round"):
        open_round(open_dataset(copy), store)
    store.close()


def moving(root, kind, record):
    """Make the first media item of a dataset a moving one."""
    part = next((root / "index").glob("*.jsonl"))
    first, *rest = part.read_text().splitlines(keepends=True)
    row = json.loads(first)
    row["media"] = {"kind": kind, "clean": record}
    part.write_text(json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" + "".join(rest))
    return row["id"]


def test_a_sequence_is_shown_frame_by_frame(copy):
    rows = list(open_dataset(copy).index.values())
    frames = [row["media"]["clean"] for row in rows[:3]]
    media_id = moving(copy, "sequence", {**frames[0], "frames": frames, "fps": 12})
    library = Library(open_dataset(copy))
    picture = library.picture(media_id, "clean")
    assert (picture.kind, picture.frames, picture.fps) == ("sequence", 3, 12)
    for number, frame in enumerate(frames):
        data = (copy / frame["path"]).read_bytes()
        assert library.png(media_id, "clean", number, None) == data
    with pytest.raises(AnnotateError, match="has 3 frames, no number 3"):
        library.png(media_id, "clean", 3, None)


def test_a_lossless_clip_is_decoded_to_the_frames_that_were_encoded(copy):
    import av
    import cv2

    rng = np.random.default_rng(0)
    wanted = rng.integers(0, 256, (4, 48, 64, 3), np.uint8)
    path = copy / "media" / "clean" / "clip.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "bgr0"
        for image in wanted:
            frame = av.VideoFrame.from_ndarray(image, format="bgr24").reformat(format="bgr0")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    record = {"path": "media/clean/clip.mkv", "fps": 10, **file_record(path)}
    media_id = moving(copy, "clip", record)
    library = Library(open_dataset(copy))
    assert library.picture(media_id, "clean").frames == 4
    for number, image in enumerate(wanted):
        png = np.frombuffer(library.png(media_id, "clean", number, None), np.uint8)
        assert np.array_equal(cv2.imdecode(png, cv2.IMREAD_COLOR), image)
