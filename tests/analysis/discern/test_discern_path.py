"""The whole way on rendered images: sample, annotate, features, fit, apply, report."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from annotation_page import launch_browser, painted, sign_in, start
from limen.addon.core.dataset import open_dataset, read_table
from limen.analysis.cli import app
from limen.analysis.develop.table import with_variants
from limen.analysis.discern.limits import curves_over_density, curves_over_lux, looked
from limen.analysis.discern.observer import answer, repeat_consistency
from limen.analysis.discern.page import outdated
from limen.analysis.discern.sampling import read_sample
from limen.analysis.discern.simulate import probabilities
from limen.analysis.discern.table import read_labels, shown_media
from typer.testing import CliRunner

pytestmark = [pytest.mark.render, pytest.mark.slow]

BY_HAND = 50
SHARE = "0.3"  # of 36 subjects in a pose, 11 are held out
LIMEN = [sys.executable, "-m", "limen.analysis.cli"]


def limen(*arguments) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def answered_by_hand(root, url) -> None:
    """Let the observer's first answers be given by keys and clicks in a real browser."""
    from playwright.sync_api import sync_playwright

    keys = [(row["id"], row["variant"]) for row in read_sample(root)]
    p = probabilities(open_dataset(root), keys)
    with sync_playwright() as playwright:
        browser = launch_browser(playwright)
        page = browser.new_context(viewport={"width": 900, "height": 600}).new_page()
        sign_in(page, url, "simulated observer", program=True)
        token = start(page)
        for number in range(BY_HAND):
            item = json.loads(page.get_attribute("body", "data-item"))
            key = item["id"], item["variant"]
            value = "visible" if answer(p[key], key, 0, 0) else "not_visible"
            if number % 2:
                page.keyboard.press(value[0])
            else:
                page.click(f"button[data-value={value}]")
            token = painted(page, token)
        browser.close()


@pytest.fixture(scope="module")
def labelled(medium_dataset, tmp_path_factory):
    """The medium dataset, sampled and answered about by the observer through the web server."""
    root = tmp_path_factory.mktemp("path") / "dataset"
    shutil.copytree(medium_dataset.root, root)
    limen("discern", "sample", root, "--test-share", SHARE, "--margin", 0.07)
    server = subprocess.Popen(
        [*LIMEN, "annotate", str(root), "--sample", "main", "--port", "0", "--repeats", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = re.search(r"http://\S+", server.stdout.readline())[0]
        answered_by_hand(root, url)
        said = limen("discern", "observe", root, "--url", url)
        assert f"{len(read_sample(root)) - BY_HAND} answers given" in said
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    limen("annotate", root, "--labels")
    return root


@pytest.fixture(scope="module")
def fitted(labelled):
    limen("discern", "features", labelled, "--workers", 1, "--samples", 300, "--projections", 16)
    limen("discern", "fit", labelled, "--trees", 40)  # holds out whom the sample holds out
    return labelled


def test_the_observers_answers_become_labels_that_say_that_they_are_simulated(labelled):
    labels = read_labels(labelled)
    sample = {(row["id"], row["variant"]): row for row in read_sample(labelled)}
    assert labels.keys() == sample.keys() and len(labels) >= 400
    assert {row["by"] for row in labels.values()} == {"simulated"}
    assert not (labelled / "labels" / "human.jsonl").exists()
    catch = [key for key, row in sample.items() if row["catch"]]
    assert catch and all(labels[key]["human_discernable"] == 0 for key in catch)


def test_the_sample_covers_lighting_distance_and_difficulty(labelled):
    rows = [row for row in read_sample(labelled) if not row["catch"]]
    index = open_dataset(labelled).index
    lights = Counter(index[row["id"]]["lighting"] for row in rows)
    assert len(lights) == 13
    # Seven lightings of nine in the dark are shown twice, as recorded and as night vision.
    per_image = [n / (1 if index_band == "day" else 2) for index_band, n in _by_band(rows, index)]
    assert max(per_image) <= 1.5 * min(per_image)
    assert {row["stratum"].rsplit("=", 1)[1] for row in rows} == {"hard", "middle", "easy"}


def _by_band(rows, index):
    counts = Counter((index[row["id"]]["band"], index[row["id"]]["lighting"]) for row in rows)
    return [(band, n) for (band, _), n in counts.items()]


def test_the_ensemble_agrees_with_a_redrawn_observer_as_the_observer_does_with_itself(fitted):
    rows = read_table(fitted / "labels" / "models" / "main" / "predictions.jsonl")
    test = [row for row in rows if row["role"] == "test"]
    keys = [(row["id"], row["variant"]) for row in test]
    p = probabilities(open_dataset(fitted), keys)
    seen = np.array([p[key] for key in keys])
    said = np.array([row["probability"]["ensemble"] >= 0.5 for row in test])
    accuracy = np.mean(
        [
            np.mean(
                said == [answer(one, key, 0, seed) for one, key in zip(seen, keys, strict=True)]
            )
            for seed in range(1000, 1020)
        ]
    )
    consistency = repeat_consistency(seen)
    best = np.mean(np.maximum(seen, 1 - seen))  # of whoever knows the probabilities
    print(f"n {len(keys)}, ensemble {accuracy:.3f}, consistency {consistency:.3f}, best {best:.3f}")
    assert len(keys) >= 100
    assert accuracy >= consistency - 0.02
    assert accuracy <= best + 0.02


def test_the_report_of_the_fit_says_whether_the_ensemble_beats_the_tree(fitted):
    card = (fitted / "labels" / "models" / "main" / "README.md").read_text()
    assert re.search(r"ensemble and tree, test: \*\*(no real difference|\w+ is better)\*\*", card)
    about = json.loads((fitted / "labels" / "models" / "main" / "model.json").read_text())
    assert about["labels"]["train"]["groups"] >= 20 and about["labels"]["test"]["groups"] >= 10
    assert about["scores"]["test"]["ensemble"]["balanced_accuracy"]["value"] > 0.75


def test_every_other_image_is_labelled_and_the_page_shows_where_seeing_ends(fitted, tmp_path):
    limen("discern", "apply", fitted)
    shown = shown_media(open_dataset(fitted))
    labels = read_labels(fitted)
    assert labels.keys() == shown.keys()
    assert {row["by"] for row in labels.values()} == {"simulated", "model"}
    page = tmp_path / "page.html"
    limen("discern", "report", fitted, "--out", page)
    text = page.read_text()
    for words in ("<strong>Simulated.</strong>", "80 % seen", "the simulated observer", "ensemble"):
        assert words in text
    about = json.loads((fitted / "labels" / "models" / "main" / "model.json").read_text())
    assert "Outdated" not in text and not outdated(labels, about)
    assert outdated(labels, about | {"sha256": "of another fit"})
    assert "http://" not in re.sub(r"<script>.*?</script>", "", text, flags=re.S).replace(
        "http://www.w3.org", ""
    )


def test_thresholds_move_as_light_and_density_say(fitted):
    dataset = open_dataset(fitted)
    found = looked(dataset, read_labels(fitted))
    rows = with_variants(dataset)
    assert all(one.px_per_m > 0 and one.lux > 0 for one in found)
    assert {one.key for one in found} <= {(k, v) for k, row in rows.items() for v in row["media"]}
    over_lux = {
        curve.slice: curve.fit.threshold(0.5).value
        for curve in curves_over_lux(found)
        if curve.image == "raw"
    }
    assert over_lux["90 px/m"] < over_lux["10 px/m"]  # nearer persons are seen in less light
    curves = curves_over_density(found)
    assert {(curve.slice, curve.image) for curve in curves} == {
        ("day", "raw"),
        *((band, image) for band in ("evening", "night") for image in ("raw", "nv")),
    }
