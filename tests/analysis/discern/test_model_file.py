"""Saved models: they come back whole, hostile files do not, and other features are refused."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from discern_examples import made_examples
from limen.addon.core.dataset import file_record, open_dataset, read_table
from limen.analysis.discern.apply import apply_model
from limen.analysis.discern.estimators import TRUSTED_TYPES
from limen.analysis.discern.features import FeatureSettings
from limen.analysis.discern.learn import fit_examples
from limen.analysis.discern.measure import FeaturesError, feature_names, measure_dataset
from limen.analysis.discern.model_file import (
    ModelChoiceError,
    ModelFileError,
    load_model,
    save_model,
)
from limen.analysis.discern.table import read_labels, shown_media

pytestmark = pytest.mark.slow  # scikit-learn, XGBoost and a fit

FAST = FeatureSettings(samples=20, projections=2)


@pytest.fixture(scope="module")
def fitted():
    examples = made_examples(lambda v: (v[:, 1] > 0.4).astype(float), groups=30, noise=0.05)
    examples = examples.__class__(
        **{
            **vars(examples),
            "names": (*feature_names(), "shown_nv"),
            "settings": FAST.hash(),
            "parameters": FAST.parameters(),
        }
    )
    return fit_examples(examples, trees=8)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    directory = tmp_path_factory.mktemp("models") / "main"
    save_model(fitted, directory)
    return directory


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "copy")


def rewrite(directory, **changes):
    path = directory / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_model_comes_back_with_the_same_probabilities(fitted, saved):
    model = load_model(saved)
    values = fitted.examples.values
    wanted = fitted.models["ensemble"].predict_proba(values)[:, 1]
    assert np.array_equal(model.probability(values), wanted)
    assert model.names == fitted.examples.names


def test_a_file_holds_no_type_that_is_not_listed(saved):
    from skops import io

    assert set(io.get_untrusted_types(file=saved / "model.skops")) <= set(TRUSTED_TYPES)


def test_predictions_are_kept_for_the_report(fitted, saved):
    rows = read_table(saved / "predictions.jsonl")
    assert len(rows) == len(fitted.examples.labels)
    test = [row for row in rows if row["role"] == "test"]
    assert [row["probability"]["tree"] for row in test] == list(fitted.tested["tree"])


def test_the_card_says_what_of_how_good_and_that_it_is_simulated(saved):
    card = (saved / "README.md").read_text()
    assert "Its labels are simulated" in card
    assert "calibrated afterwards" in card and "no real difference" in card
    for model in ("ensemble", "forest", "xgboost", "tree", "logistic"):
        assert f"| {model} |" in card


class Hostile:
    def __reduce__(self):
        return print, ("this must never be printed",)


def test_a_hostile_file_is_refused_by_the_types_that_it_asks_for(copy, capfd):
    from skops import io

    io.dump({"model": Hostile(), "more": np.random.default_rng}, copy / "model.skops")
    rewrite(copy, sha256=file_record(copy / "model.skops")["sha256"])
    with pytest.raises(ModelFileError, match=r"refused: it asks for .*Hostile"):
        load_model(copy)
    assert "never" not in capfd.readouterr().out


@pytest.mark.parametrize("data", [b"", b"no zip", None])
def test_a_damaged_file_is_named(copy, data):
    path = copy / "model.skops"
    path.write_bytes(path.read_bytes()[:5000] if data is None else data)
    with pytest.raises(ModelFileError, match=r"not the file that model\.json names"):
        load_model(copy)
    rewrite(copy, sha256=file_record(path)["sha256"])
    with pytest.raises(ModelFileError, match="damaged or no model"):
        load_model(copy)


def test_something_else_that_skops_can_hold_is_no_model(copy):
    from skops import io

    io.dump([1, 2, 3], copy / "model.skops")
    rewrite(copy, sha256=file_record(copy / "model.skops")["sha256"])
    with pytest.raises(ModelFileError, match="no model"):
        load_model(copy)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"columns": [1]},
        {"trained_on": "robots"},
        {"scores": {}},
        {"threshold": "x"},
        {"labels": None},
        {"tests": {"test": 5}},
        {"scores": {"test": 5}},
        {"calibration": 3},
        {"importance": [1]},
        {"decided": None},
        {"versions": None},
    ],
)
def test_a_damaged_description_is_named(copy, change):
    rewrite(copy, **change)
    with pytest.raises(ModelFileError, match=r"model\.json is damaged"):
        load_model(copy)


def test_a_model_that_cannot_be_saved_leaves_the_one_that_is_there(copy, fitted):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    broken = replace(fitted, decided=(float("nan"), None))
    with pytest.raises(ValueError, match="JSON compliant"):
        save_model(broken, copy)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_where_there_is_no_model_the_error_says_what_makes_one(tmp_path, fitted):
    with pytest.raises(ModelChoiceError, match="limen discern fit"):
        load_model(tmp_path)
    with pytest.raises(ModelChoiceError, match="name"):
        save_model(fitted, tmp_path / "a name")


def test_features_of_another_version_are_refused(copy):
    about = json.loads((copy / "model.json").read_text())
    rewrite(copy, features={**about["features"], "version": 99})
    with pytest.raises(ModelFileError, match="version 99"):
        load_model(copy)


def test_a_dataset_with_other_parameters_is_refused(saved, developed):
    measure_dataset(developed, FeatureSettings(samples=20, projections=2, band_px=9))
    with pytest.raises(FeaturesError, match="other parameters"):
        apply_model(developed, load_model(saved))
    assert not (developed / "labels" / "model.jsonl").exists()


def test_a_dataset_that_was_not_measured_is_refused(saved, developed):
    with pytest.raises(FeaturesError, match="limen discern features"):
        apply_model(developed, load_model(saved))


def test_every_image_gets_a_label_and_nobody_is_invisible_by_definition(saved, developed):
    measure_dataset(developed, FAST)
    model = load_model(saved)
    summary = apply_model(developed, model)
    labels = read_labels(developed)
    shown = shown_media(open_dataset(developed))
    assert labels.keys() == shown.keys()
    assert summary.labelled + summary.abstained + summary.by_definition == len(shown)
    for key, row in labels.items():
        assert (row["by"], row["trained_on"], row["model"]) == ("model", "simulated", "main")
        if not shown[key]["target_present"]:
            assert (row["human_discernable"], row["probability"]) == (0, 0.0)
            continue
        near = abs(row["probability"] - 0.5) < 0.1
        assert row["human_discernable"] == (None if near else int(row["probability"] >= 0.5))
    assert summary == apply_model(developed, model)
    assert len(read_table(developed / "labels" / "model.jsonl")) == len(shown)
