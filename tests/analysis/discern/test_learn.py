"""Learning: what is learnt from, what is refused, and whether the ensemble beats the tree."""

from dataclasses import replace

import numpy as np
import pytest
from discern_examples import made_examples
from limen.addon.core.dataset import open_dataset
from limen.analysis.discern.assess import NO_DIFFERENCE
from limen.analysis.discern.estimators import ESTIMATORS, group_folds
from limen.analysis.discern.features import FeatureSettings
from limen.analysis.discern.learn import (
    FitChoiceError,
    FitError,
    fit_examples,
    labelled_examples,
    topics,
)
from limen.analysis.discern.measure import measure_dataset, read_features
from limen.analysis.discern.table import LabelsChoiceError, append_labels, role_of, shown_media


def sum_of_many(values):
    """Every feature says a little: a forest adds up what a tree of few leaves cannot."""
    return 1 / (1 + np.exp(-14 * (values.mean(axis=1) - 0.5)))


def one_threshold(values):
    """One feature decides at one value: a single cut is all there is to learn."""
    return (values[:, 2] > 0.4).astype(float)


@pytest.fixture(scope="module")
def simple():
    """Models of what one cut decides, with answers that are wrong at random."""
    return fit_examples(made_examples(one_threshold, groups=40, noise=0.1), trees=15)


@pytest.mark.slow
def test_the_ensemble_beats_the_tree_where_that_is_planted():
    fitted = fit_examples(made_examples(sum_of_many, groups=60, per_group=25), trees=25)
    assert fitted.test_of("tree", "ensemble").verdict == "ensemble is better"
    assert fitted.test_of("ensemble", "tree", "cross-validation").verdict == "ensemble is better"


@pytest.mark.slow
def test_the_ensemble_does_not_beat_the_tree_where_one_cut_decides(simple):
    found = simple.test_of("ensemble", "tree")
    assert found.verdict in (NO_DIFFERENCE, "tree is better")
    assert simple.scores["test"]["tree"]["accuracy"].value == pytest.approx(0.9, abs=0.05)


@pytest.mark.slow
def test_probabilities_are_calibrated_though_labels_are_unbalanced():
    fitted = fit_examples(
        made_examples(lambda v: 0.3 * v[:, 0] ** 2, groups=40, per_group=25), trees=8
    )
    assert fitted.examples.labels.mean() < 0.15
    truth = fitted.examples.labels[fitted.examples.test]
    for name in ESTIMATORS:
        assert fitted.tested[name].mean() == pytest.approx(truth.mean(), abs=0.05), name


@pytest.mark.slow
def test_what_decides_is_the_most_important_and_what_does_not_is_not(simple):
    importance = simple.importance
    assert next(iter(importance)) == "c"
    assert importance["c"][0] > 0.05
    assert all(abs(mean) < 0.01 for topic, (mean, _) in importance.items() if topic != "c")


@pytest.mark.slow
def test_fitted_again_with_other_labels_in_the_test_the_models_are_the_same(simple):
    examples = made_examples(one_threshold, groups=40, noise=0.1)
    labels = np.where(examples.test, 1 - examples.labels, examples.labels)
    upside_down = fit_examples(replace(examples, labels=labels), trees=15)
    assert upside_down.parameters == simple.parameters
    for name in ESTIMATORS:
        assert np.array_equal(upside_down.tested[name], simple.tested[name])
    assert upside_down.scores["test"]["ensemble"]["accuracy"].value < 0.2


def test_folds_share_no_group_and_leave_each_row_out_once():
    examples = made_examples(one_threshold, groups=17, per_group=9)
    left_out = []
    for learn, test in group_folds(examples.labels, examples.groups, 5, seed=3):
        assert not set(examples.groups[learn]) & set(examples.groups[test])
        left_out += list(test)
    assert sorted(left_out) == list(range(len(examples.labels)))


def test_raw_and_night_vision_of_one_feature_are_one_topic():
    names = ("raw_ks_lightness", "nv_ks_lightness", "lux", "shown_nv")
    assert topics(names) == {"ks_lightness": [0, 1], "lux": [2], "shown_nv": [3]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: replace(e, test=np.zeros_like(e.test)), "held out"),
        (lambda e: replace(e, labels=np.ones_like(e.labels)), "training labels are 0"),
        (lambda e: replace(e, groups=e.groups % 3), "groups of each"),
    ],
)
def test_too_little_to_learn_from_says_what_is_missing(change, said):
    with pytest.raises(FitError, match=said):
        fit_examples(change(made_examples(one_threshold)))


@pytest.mark.parametrize(
    "wrong", [{"chosen": "svm"}, {"threshold": 1.0}, {"abstain": 0.5}, {"trees": 0}]
)
def test_an_impossible_setting_is_refused(wrong):
    with pytest.raises(FitChoiceError):
        fit_examples(made_examples(one_threshold), **wrong)


def labelled(developed, by="human", **of):
    """Label every image of a developed dataset by a rule."""
    rows = [
        {
            "id": key[0],
            "variant": key[1],
            "human_discernable": of.get(row["band"], 1) if row["target_present"] else 0,
            "probability": None,
            "by": by,
        }
        for key, row in shown_media(open_dataset(developed)).items()
    ]
    append_labels(developed, rows)
    return rows


def test_examples_are_labelled_measured_images_with_a_person(developed):
    labelled(developed, night=0, evening=None)
    measure_dataset(developed, FeatureSettings(samples=20, projections=2))
    dataset = open_dataset(developed)
    examples = labelled_examples(dataset)
    assert examples.source == "human" and examples.names[-1] == "shown_nv"
    for key, values, label, test in zip(
        examples.keys, examples.values, examples.labels, examples.test, strict=True
    ):
        row = dataset.index[key[0]]
        assert row["target_present"] and row["band"] != "evening"
        assert label == (row["band"] == "day")
        assert values[-1] == (key[1] == "nv")
        measured = read_features(developed)[key[0]]["features"]
        assert values[0] == measured["raw"]["area_share"]
        assert test == (role_of(row) == "test")
    present = sum(row["target_present"] for row in dataset.index.values())
    assert len(examples.labels) == present  # a day's clean, a night's two; no evening
    assert examples.dropped["undecided"] == 2 * present // 3


def test_labels_of_two_kinds_of_eyes_are_not_learnt_from_together(developed):
    labelled(developed)
    labelled(developed, by="simulated", night=0)
    measure_dataset(developed, FeatureSettings(samples=20, projections=2))
    dataset = open_dataset(developed)
    with pytest.raises(LabelsChoiceError, match="not mixed"):
        labelled_examples(dataset)
    assert set(labelled_examples(dataset, "human").labels) == {1}
    assert set(labelled_examples(dataset, "simulated").labels) == {0, 1}


def test_without_labels_or_features_it_says_which_command_makes_them(developed):
    dataset = open_dataset(developed)
    with pytest.raises(FitError, match="limen annotate"):
        labelled_examples(dataset)
    labelled(developed)
    with pytest.raises(FitError, match="limen discern features"):
        labelled_examples(dataset)
