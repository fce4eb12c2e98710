"""Scores of yes/no answers: exact values by hand, published intervals, laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.analysis.metrics import (
    METRICS,
    accuracy,
    balanced_accuracy,
    cluster_bootstrap,
    cluster_counts,
    confusion,
    macro_f1,
    score,
    sensitivity,
    specificity,
    unanswered_rate,
    wilson_interval,
)

# truth 0: 6 right, 2 false alarms, 2 unanswered; truth 1: 3 missed, 12 found, 5 unanswered
COUNTS = np.array([[6, 2, 2], [3, 12, 5]])

answers = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([0, 1, None])), min_size=1, max_size=60
)
count_tables = st.lists(st.integers(0, 50), min_size=6, max_size=6).map(
    lambda cells: np.array(cells).reshape(2, 3)
)


def test_confusion_counts_by_truth_and_outcome():
    counts = confusion([0, 0, 1, 1, 1], [0, None, 1, 1, 0])
    assert counts.tolist() == [[1, 0, 1], [1, 2, 0]]


def test_confusion_refuses_lists_of_different_length():
    with pytest.raises(ValueError, match="zip"):
        confusion([0, 1], [0])


def test_metrics_by_hand_with_missing_answers_counted_wrong():
    assert accuracy(COUNTS) == pytest.approx(18 / 30)
    assert sensitivity(COUNTS) == pytest.approx(12 / 20)
    assert specificity(COUNTS) == pytest.approx(6 / 10)
    assert balanced_accuracy(COUNTS) == pytest.approx(0.6)
    assert unanswered_rate(COUNTS) == pytest.approx(7 / 30)
    # F1 of 0: precision 6/9, recall 6/10 -> 12/19; of 1: precision 12/14, recall 12/20 -> 24/34
    assert macro_f1(COUNTS) == pytest.approx((12 / 19 + 24 / 34) / 2)


def test_macro_f1_keeps_both_labels_when_no_negative_occurs():
    assert macro_f1(confusion([1] * 10, [1] * 10)) == 0.5
    assert macro_f1(confusion([1] * 10, [1] * 9 + [0])) == pytest.approx(18 / 19 / 2)


def test_specificity_and_balanced_accuracy_are_undefined_without_negatives():
    counts = confusion([1, 1], [1, 0])
    assert math.isnan(specificity(counts))
    assert math.isnan(balanced_accuracy(counts))
    estimates = score([1, 1], [1, 0], ["a", "b"], np.random.default_rng(0)).estimates
    assert estimates["specificity"].value is None
    assert estimates["specificity"].interval is None
    assert estimates["balanced_accuracy"].value is None


def test_no_answers_at_all_leave_every_metric_undefined():
    assert all(math.isnan(metric(np.zeros((2, 3), int))) for metric in METRICS.values())


@given(answers)
def test_every_defined_metric_lies_between_0_and_1(pairs):
    counts = confusion(*zip(*pairs, strict=True))
    for metric in METRICS.values():
        value = float(metric(counts))
        assert math.isnan(value) or 0 <= value <= 1


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    a, b = (confusion(*zip(*p, strict=True)) for p in (pairs, shuffled))
    assert (a == b).all()


@given(count_tables)
def test_swapping_the_labels_swaps_sensitivity_and_specificity_and_keeps_the_rest(counts):
    swapped = counts[::-1, [1, 0, 2]]
    np.testing.assert_equal(sensitivity(counts), specificity(swapped))
    for metric in (accuracy, balanced_accuracy, macro_f1, unanswered_rate):
        np.testing.assert_allclose(metric(counts), metric(swapped))


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 1))
def test_a_constant_answer_has_a_balanced_accuracy_of_one_half(positives, negatives, constant):
    truths = [1] * positives + [0] * negatives
    assert balanced_accuracy(confusion(truths, [constant] * len(truths))) == 0.5


def test_metrics_work_on_stacks_of_tables():
    stack = np.stack([COUNTS, COUNTS[::-1, [1, 0, 2]]])
    assert accuracy(stack) == pytest.approx([0.6, 0.6])
    assert macro_f1(stack) == pytest.approx([float(macro_f1(COUNTS))] * 2)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_interval_gives_the_published_values(hits, n, low, high):
    assert wilson_interval(hits, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_interval_is_undefined_without_trials():
    assert wilson_interval(0, 0) is None


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_holds_the_proportion_and_mirrors(trial):
    hits, n = trial
    low, high = wilson_interval(hits, n)
    assert 0 <= low <= hits / n <= high <= 1
    mirrored = wilson_interval(n - hits, n)
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_cluster_counts_sum_to_the_confusion():
    truths, predictions = [0, 1, 1, 0], [0, 1, None, 1]
    counts = cluster_counts(truths, predictions, ["b", "a", "a", "c"])
    assert counts.tolist() == [
        [[0, 0, 0], [0, 1, 1]],
        [[1, 0, 0], [0, 0, 0]],
        [[0, 1, 0], [0, 0, 0]],
    ]
    assert (counts.sum(axis=0) == confusion(truths, predictions)).all()


def _answers_with_clusters(size, groups):
    """One right and one wrong half in both classes; ``groups`` clusters of like answers in each."""
    truths, predictions, clusters = [], [], []
    for truth in (0, 1):
        for group in range(groups):
            truths += [truth] * size
            predictions += [truth if group % 2 else 1 - truth] * size
            clusters += [f"{truth}-{group}"] * size
    return truths, predictions, clusters


def test_cluster_bootstrap_is_the_same_for_the_same_seed():
    predictions = np.random.default_rng(0).integers(0, 2, 200).tolist()
    counts = cluster_counts([0, 1] * 100, predictions, [f"{i % 30}" for i in range(200)])
    a, b, c = (
        cluster_bootstrap(balanced_accuracy, counts, np.random.default_rng(seed))
        for seed in (1, 1, 2)
    )
    assert a == b
    assert a != c


def test_cluster_bootstrap_widens_when_answers_of_a_cluster_agree():
    # The same 400 answers: as 400 clusters of one, and as 8 of fifty.
    truths, predictions, clusters = _answers_with_clusters(50, 4)
    alone = cluster_counts(truths, predictions, [f"{t}-{i}" for i, t in enumerate(truths)])
    together = cluster_counts(truths, predictions, clusters)
    widths = [
        np.ptp(cluster_bootstrap(balanced_accuracy, counts, np.random.default_rng(0)))
        for counts in (alone, together)
    ]
    assert widths[1] > 4 * widths[0]


def test_cluster_bootstrap_of_a_mean_has_the_width_that_theory_gives():
    # Accuracy over 100 clusters of one: standard error sqrt(.25/100) = 0.05, interval +-1.96 of it.
    truths = [1] * 100
    counts = cluster_counts(truths, [i % 2 for i in range(100)], [f"{i:03}" for i in range(100)])
    low, high = cluster_bootstrap(accuracy, counts, np.random.default_rng(0), resamples=20000)
    assert low == pytest.approx(0.402, abs=0.01)
    assert high == pytest.approx(0.598, abs=0.01)


def test_cluster_bootstrap_says_nothing_of_a_single_cluster():
    counts = cluster_counts([1, 1, 0, 0], [1, 0, 0, 1], ["a", "a", "x", "y"])
    assert cluster_bootstrap(balanced_accuracy, counts, np.random.default_rng(0)) is None


def test_score_states_what_each_metric_is_over():
    truths, predictions, clusters = [1, 1, 1, 0, 0], [1, 0, None, 0, 0], list("aabxy")
    scores = score(truths, predictions, clusters, np.random.default_rng(0))
    assert scores.clusters == 4
    assert {name: e.n for name, e in scores.estimates.items()} == {
        "accuracy": 5,
        "balanced_accuracy": 5,
        "sensitivity": 3,
        "specificity": 2,
        "macro_f1": 5,
        "unanswered_rate": 5,
    }
    assert scores.estimates["accuracy"].value == pytest.approx(0.6)
    assert scores.estimates["sensitivity"].interval == wilson_interval(1, 3)
