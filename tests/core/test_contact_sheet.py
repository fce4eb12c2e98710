"""A dataset at a glance."""

import shutil

import numpy as np
import pytest
from limen.addon.core.contact_sheet import (
    FILE_NAME,
    contact_sheet,
    make_contact_sheet,
    some_views,
)
from limen.addon.core.dataset import DatasetError, compare, init_dataset, open_dataset
from limen.addon.core.image_io import read_png


@pytest.fixture
def root(tiny_dataset, tmp_path):
    return shutil.copytree(tiny_dataset.root, tmp_path / "copy")


def lightings_of(dataset):
    return list(dict.fromkeys(row["lighting"] for row in dataset.index.values()))


def test_pictures_stand_in_rows_and_columns():
    tiles = [[np.full((2, 3, 3), 10 * i + j + 100, np.uint8) for j in range(3)] for i in range(2)]
    sheet = contact_sheet(tiles)
    assert sheet.shape == (2 * 6 + 4, 3 * 7 + 4, 3)
    for i in range(2):
        for j in range(3):
            y, x = 4 + 6 * i, 4 + 7 * j
            assert (sheet[y : y + 2, x : x + 3] == 10 * i + j + 100).all()


def test_a_wide_picture_is_averaged_to_a_tile():
    wide = np.zeros((8, 640, 3), np.uint8)
    wide[:, ::2] = 100  # every second column
    sheet = contact_sheet([[wide]])
    assert sheet.shape == (4 + 8, 320 + 8, 3)
    assert (sheet[4:8, 4:324] == 50).all()


def test_a_grey_picture_is_shown_grey():
    assert (contact_sheet([[np.full((2, 2), 9, np.uint8)]])[4:6, 4:6] == 9).all()


def test_the_sheet_holds_each_view_under_each_lighting(root):
    dataset = open_dataset(root)
    lightings = lightings_of(dataset)
    path = make_contact_sheet(root, lightings)
    assert path == root / FILE_NAME
    sheet, views = read_png(path), some_views(dataset, lightings)
    assert set(views) == set(dataset.views)
    distances = [dataset.index[f"{v}-{lightings[0]}"]["distance_m"] for v in views]
    assert distances == sorted(distances)
    clean = dataset.index[f"{views[1]}-{lightings[1]}"]["media"]["clean"]
    picture = read_png(root / clean["path"])
    height, width = picture.shape[:2]
    y, x = 4 + (height + 4), 4 + (width + 4)
    assert (sheet[y : y + height, x : x + width] == picture).all()


def test_of_many_views_some_are_taken_evenly(synthetic_dataset):
    lightings = lightings_of(synthetic_dataset)
    every = some_views(synthetic_dataset, lightings, most=100)
    assert some_views(synthetic_dataset, lightings, most=5) == every[::3]


def test_a_dataset_with_its_sheet_equals_the_one_without(root, tiny_dataset):
    make_contact_sheet(root, lightings_of(tiny_dataset))
    assert compare(root, tiny_dataset.root) == []


def test_without_images_it_is_said_what_to_do(tmp_path):
    init_dataset(tmp_path / "empty", "x")
    with pytest.raises(DatasetError, match="has no clean images yet: render some views"):
        make_contact_sheet(tmp_path / "empty", ["noon"])
