"""The features table: whole, resumable, of one set of parameters, of the images that are there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest
from limen.addon.core.dataset import append_table, open_dataset, read_table
from limen.addon.core.photometry import luminance
from limen.addon.core.relight import compose
from limen.addon.core.study import load_study
from limen.analysis.develop.table import mask_of, with_variants
from limen.analysis.develop.view import load_stack
from limen.analysis.discern.features import EXTRAS, FEATURES, FeatureSettings, image_features
from limen.analysis.discern.measure import (
    PAIR,
    FeaturesError,
    feature_names,
    feature_vector,
    measure_dataset,
    read_features,
)
from limen.analysis.images import read_image

FAST = FeatureSettings(samples=50, projections=4)


@pytest.fixture(scope="module")
def measured(developed_dataset, tmp_path_factory):
    """A dataset with all features measured. Read only."""
    root = shutil.copytree(developed_dataset.root, tmp_path_factory.mktemp("measured") / "dataset")
    summary = measure_dataset(root, FeatureSettings(samples=50, projections=4, extras=EXTRAS))
    assert summary.made == len(open_dataset(root).index) and not summary.failed
    return open_dataset(root)


def test_every_item_has_the_features_of_its_own_images_and_mask(measured):
    rows = with_variants(measured)
    for media_id, row in read_features(measured.root).items():
        item = rows[media_id]
        if not item["target_present"]:
            assert row["features"] is None
            continue
        assert row["raw_variant"] == ("clean" if item["band"] == "day" else "camera")
        for name, variant in zip(PAIR, (row["raw_variant"], "nv"), strict=True):
            if name == "nv" and item["band"] == "day":
                assert row["features"]["nv"] is row["media"]["nv"] is None
                continue
            image = read_image(measured.root / item["media"][variant]["path"])[..., ::-1]
            mask = read_image(mask_of(measured, item, variant), grey=True) > 127
            wanted = image_features(np.ascontiguousarray(image), mask, FAST)
            assert {key: row["features"][name][key] for key in FEATURES} == wanted
            assert row["media"][name] == item["media"][variant]["sha256"]


def test_day_images_stand_in_for_the_night_vision_that_they_have_not(measured):
    rows = read_features(measured.root).values()
    row = next(row for row in rows if row["features"] and not row["features"]["nv"])
    names = feature_names()
    assert names == tuple(f"{image}_{key}" for image in ("raw", "nv") for key in FEATURES)
    values = feature_vector(row, names)
    assert values[:4] == values[4:]


def test_extras_are_what_they_say(measured):
    rows = with_variants(measured)
    study = load_study(measured.root / "study.toml")
    day = next(light for light in study.lightings if light.band == "day")
    checked = 0
    for media_id, row in read_features(measured.root).items():
        item = rows[media_id]
        if not row["features"] or item["band"] != "day":
            continue
        view = measured.views[item["view_id"]]
        found = row["features"]["item"]
        assert found["lux"] == item["illuminance_measured_lx"]
        assert found["size_px"] == max(view["box_visible"][2:])
        # The truth, from the light stack; the image is 8 bits of it, and saturates somewhere.
        scene = luminance(compose(load_stack(measured.root, view), day))
        mask = read_image(mask_of(measured, item), grey=True) > 127
        assert found["person_cd_m2"] == pytest.approx(scene[mask].mean(), rel=0.03)
        person_m = found["size_px"] / view["density_nominal_px_per_m"]
        angle = np.degrees(2 * np.arctan(person_m / 2 / item["distance_m"]))
        assert found["size_deg"] == pytest.approx(angle, rel=0.1)
        checked += 1
    assert checked >= 6


def test_measuring_again_measures_nothing_and_a_changed_image_anew(developed):
    assert measure_dataset(developed, FAST, limit=4).made > 0
    total = len(open_dataset(developed).index)
    rest = measure_dataset(developed, FAST)
    assert 0 < rest.made < total and rest.there == total - rest.made
    assert measure_dataset(developed, FAST).made == 0
    develop = developed / "develop" / "000.jsonl"
    row = next(row for row in read_table(develop) if row["variant"] == "nv")
    append_table(develop, [{**row, "sha256": "0" * 64}])
    assert measure_dataset(developed, FAST).made == 1


def test_a_half_written_row_is_measured_anew(developed):
    measure_dataset(developed, FAST, limit=3)
    table = developed / "labels" / "features" / "000.jsonl"
    table.write_bytes(table.read_bytes()[:-40])
    whole = read_features(developed)
    assert measure_dataset(developed, FAST, limit=3).made == 1
    assert len(read_features(developed)) == len(whole) + 1


def test_features_of_other_parameters_are_refused_until_redone(developed):
    measure_dataset(developed, FAST, limit=2)
    wider = FeatureSettings(samples=50, projections=4, band_share=0.5)
    with pytest.raises(FeaturesError, match=r"band_share 0\.25, now 0\.5.*--redo"):
        measure_dataset(developed, wider, limit=2)
    assert measure_dataset(developed, wider, limit=2, redo=True).there == 0


def test_an_extra_that_was_not_measured_is_measured_when_it_is_asked_for(developed):
    measure_dataset(developed, FAST, limit=2)
    row = next(row for row in read_features(developed).values() if row["features"])
    with pytest.raises(FeaturesError, match="--extra weber"):
        feature_vector(row, feature_names(["weber"]))
    more = FeatureSettings(samples=50, projections=4, extras=("weber",))
    assert measure_dataset(developed, more, limit=2).there == 0
    assert measure_dataset(developed, FAST, limit=2).made == 0


def test_a_missing_image_and_a_damaged_mask_fail_by_name_and_the_others_are_measured(developed):
    rows = [row for row in with_variants(open_dataset(developed)).values() if row["target_present"]]
    night = next(row for row in rows if row["band"] == "night")
    (developed / night["media"]["nv"]["path"]).unlink()
    other = next(row for row in rows if row["view_id"] != night["view_id"])
    (developed / f"masks/{other['view_id']}.visible.png").write_bytes(b"no picture")
    summary = measure_dataset(developed, FAST)
    assert len(summary.failed) == 4  # one item, and three lightings of the other's view
    assert sum("nv" in text and "missing" in text for text in summary.failed) == 1
    assert summary.made == len(open_dataset(developed).index) - 4


def test_a_mask_of_another_size_fails_by_name(developed):
    row = next(row for row in open_dataset(developed).views.values() if row["target_present"])
    cv2.imwrite(str(developed / f"masks/{row['view_id']}.visible.png"), np.zeros((7, 9), np.uint8))
    summary = measure_dataset(developed, FAST)
    assert len(summary.failed) == 3 and "no mask of (7, 9)" in summary.failed[0]


def test_a_row_of_another_table_is_named(developed):
    append_table(developed / "labels" / "features" / "000.jsonl", [{"id": "v1"}])
    with pytest.raises(FeaturesError, match=r"000\.jsonl:1 is no row"):
        read_features(developed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"parameters": [1]},
        {"parameters": {"a": 1}},
        {"media": ["raw", "nv"]},
        {"features": {"raw": {}, "nv": None}},
        {"features": {"raw": {}, "nv": None, "item": {"lux": 1e300}}},
    ],
)
def test_a_row_that_later_steps_would_stumble_on_is_named(developed, measured, change):
    row = next(row for row in read_features(measured.root).values() if row["features"])
    append_table(developed / "labels/features/000.jsonl", [{**row, **change}])
    with pytest.raises(FeaturesError, match=r"000\.jsonl:1 is no row of the features table"):
        read_features(developed)


def test_killed_in_the_middle_it_goes_on_and_ends_with_the_same_rows(developed, tmp_path):
    """Two workers, the first process killed: they end with it, and nothing is lost or doubled."""
    command = [sys.executable, "-m", "limen.analysis.cli", "discern", "features", str(developed)]
    options = ["--workers", "2", "--samples", "50", "--projections", "4"]
    table = developed / "labels" / "features" / "000.jsonl"
    run = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL, start_new_session=True)
    while run.poll() is None and not (table.exists() and table.stat().st_size):
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = sorted(json.dumps(row, sort_keys=True) for row in read_table(table))
    fresh = tmp_path / "fresh"
    shutil.copytree(developed, fresh)
    shutil.rmtree(fresh / "labels")
    measure_dataset(fresh, FAST)
    wanted = read_features(fresh).values()
    assert found == sorted(json.dumps(row, sort_keys=True) for row in wanted)
