"""Scores, calibration and paired tests of probabilities."""

import numpy as np
import pytest
from limen.analysis.discern.assess import (
    METRICS,
    NO_DIFFERENCE,
    TOO_FEW,
    calibration_curve,
    compare_models,
    score_model,
)
from sklearn import metrics


def rng(seed=0):
    return np.random.default_rng(seed)


def answers(groups=40, per_group=25, seed=0):
    """Labels, probabilities with ties, and groups."""
    draw = rng(seed)
    n = groups * per_group
    probability = np.round(draw.uniform(size=n), 2)
    labels = (draw.uniform(size=n) < 0.25 + 0.6 * probability).astype(int)
    return labels, probability, np.repeat(np.arange(groups), per_group)


def test_scores_are_those_of_scikit_learn():
    labels, probability, groups = answers()
    found = score_model(labels, probability, groups, threshold=0.5, rng=rng())
    said = probability >= 0.5
    assert {name: found[name].value for name in METRICS} == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(labels, said),
            "macro_f1": metrics.f1_score(labels, said, average="macro"),
            "balanced_accuracy": metrics.balanced_accuracy_score(labels, said),
            "auc": metrics.roc_auc_score(labels, probability),
            "brier": metrics.brier_score_loss(labels, probability),
        }
    )
    for estimate in found.values():
        low, high = estimate.interval
        assert low < estimate.value < high and estimate.clusters == 40


def test_a_resample_of_groups_scores_as_their_images_would():
    labels, probability, groups = answers(groups=6)
    same = score_model(labels, probability, groups, threshold=0.5, rng=rng())
    # Ten copies of each group: the same value, and an interval that copies make no narrower.
    copies = [np.tile(x, 10) for x in (labels, probability, groups)]
    copied = score_model(*copies, threshold=0.5, rng=rng())
    for name in METRICS:
        assert copied[name].value == pytest.approx(same[name].value)
        assert copied[name].interval == pytest.approx(same[name].interval)


def test_a_set_of_one_label_has_no_auc():
    labels, probability, groups = answers()
    found = score_model(np.ones_like(labels), probability, groups, threshold=0.5, rng=rng())
    assert found["auc"].value is None and found["auc"].interval is None
    assert found["brier"].value == pytest.approx(np.mean((1 - probability) ** 2))


def planted(share_first, share_second, groups=40, seed=1):
    """Two models that are right at these shares of the same images."""
    draw = rng(seed)
    n = groups * 20
    labels = draw.integers(0, 2, n)
    models = {
        name: np.where(draw.uniform(size=n) < share, labels, 1 - labels) * 0.8 + 0.1
        for name, share in (("ensemble", share_first), ("tree", share_second))
    }
    return compare_models(labels, models, np.arange(n) % groups, threshold=0.5, rng=rng())[0]


def test_a_planted_difference_is_found_and_its_winner_named():
    found = planted(0.95, 0.80)
    assert found.verdict == "ensemble is better"
    assert found.p_holm < 0.001 and found.difference.value == pytest.approx(0.15, abs=0.04)
    assert planted(0.80, 0.95).verdict == "tree is better"


def test_no_real_difference_is_said_where_there_is_none():
    assert planted(0.90, 0.90).verdict == NO_DIFFERENCE
    # One image of 400, as published: 362 right against 361.
    labels = np.ones(400, int)
    models = {
        name: np.where(np.arange(400) < right, 0.9, 0.1)
        for name, right in (("ensemble", 362), ("tree", 361))
    }
    groups = np.random.default_rng(0).permutation(np.arange(400) % 40)
    found = compare_models(labels, models, groups, threshold=0.5, rng=rng())[0]
    assert (found.only_first, found.only_second, found.verdict) == (1, 0, NO_DIFFERENCE)


def test_a_difference_that_a_single_group_makes_is_not_real():
    draw = rng()
    labels = draw.integers(0, 2, 800)
    groups = np.repeat(np.arange(10), 80)
    right = np.abs(labels - 0.1)
    wrong_in_one = np.where(groups == 3, 1 - right, right)
    models = {"ensemble": right, "tree": wrong_in_one}
    found = compare_models(labels, models, groups, threshold=0.5, rng=rng())[0]
    assert found.p_mcnemar < 1e-6  # as if images were independent
    assert found.verdict == NO_DIFFERENCE


def test_one_group_alone_says_too_little():
    labels, probability, groups = answers(groups=1)
    models = {"ensemble": probability, "tree": 1 - probability}
    found = compare_models(labels, models, groups, threshold=0.5, rng=rng())[0]
    assert found.verdict == TOO_FEW and found.p_holm is None


def test_many_pairs_are_adjusted_for():
    labels, probability, groups = answers()
    draw = rng(5)
    models = {
        f"m{k}": np.clip(probability + draw.normal(0, 0.2, len(labels)), 0, 1) for k in range(5)
    }
    found = compare_models(labels, models, groups, threshold=0.5, rng=rng())
    assert len(found) == 10
    assert all(test.p_holm >= test.p_value for test in found)
    assert (
        min(test.p_holm for test in found)
        >= min(1, 10 * min(test.p_value for test in found)) - 1e-12
    )


def test_calibration_bins_hold_all_images_and_their_own_means():
    labels, probability, _ = answers()
    bins = calibration_curve(labels, probability, 8)
    assert sum(one.n for one in bins) == len(labels)
    assert [one.probability for one in bins] == sorted(one.probability for one in bins)
    whole = sum(one.n * one.share for one in bins) / len(labels)
    assert whole == pytest.approx(labels.mean())
