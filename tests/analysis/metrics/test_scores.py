"""Scores of yes/no answers: exact values by hand, scikit-learn's on random data, laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limen.analysis.metrics.scores import (
    ERROR,
    METRICS,
    REFUSED,
    UNPARSED,
    accuracy,
    balanced_accuracy,
    confusion,
    constant_accuracy,
    error_rate,
    macro_f1,
    mcc,
    outcome_code,
    refusal_rate,
    sensitivity,
    specificity,
    unparsable_rate,
    yes_rate,
)

# truth 0: 6 right, 2 false alarms, 1 unparsed, 1 refused;
# truth 1: 3 missed, 12 found, 2 unparsed, 1 refused, 2 failed
COUNTS = np.array([[6, 2, 1, 1, 0], [3, 12, 2, 1, 2]])

answers = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=60)
count_tables = st.lists(st.integers(0, 50), min_size=10, max_size=10).map(
    lambda cells: np.array(cells).reshape(2, 5)
)


def test_outcomes_have_a_place_each():
    assert [outcome_code("ok", 0), outcome_code("ok", 1)] == [0, 1]
    assert outcome_code("unparsed", None) == UNPARSED
    assert outcome_code("refused", None) == REFUSED
    assert outcome_code("error", None) == ERROR


def test_confusion_counts_by_cell_truth_and_outcome():
    counts = confusion([0, 0, 1, 1, 1], [0, 2, 1, 1, 3], [0, 1, 1, 1, 0], 2)
    assert counts.tolist() == [
        [[1, 0, 0, 0, 0], [0, 0, 0, 1, 0]],
        [[0, 0, 1, 0, 0], [0, 2, 0, 0, 0]],
    ]


def test_confusion_refuses_lists_of_different_length_and_foreign_numbers():
    for truths, outcomes in (([0, 1], [0]), ([0, 2], [0, 0]), ([0, 1], [0, 5]), ([-1], [0])):
        with pytest.raises(ValueError):
            confusion(truths, outcomes)


def test_metrics_by_hand_with_missing_answers_counted_wrong():
    assert accuracy(COUNTS) == pytest.approx(18 / 30)
    assert sensitivity(COUNTS) == pytest.approx(12 / 20)
    assert specificity(COUNTS) == pytest.approx(6 / 10)
    assert balanced_accuracy(COUNTS) == pytest.approx(0.6)
    assert yes_rate(COUNTS) == pytest.approx(14 / 30)
    assert unparsable_rate(COUNTS) == pytest.approx(3 / 30)
    assert refusal_rate(COUNTS) == pytest.approx(2 / 30)
    assert error_rate(COUNTS) == pytest.approx(2 / 30)
    assert constant_accuracy(COUNTS) == pytest.approx(20 / 30)
    # F1 of 0: precision 6/9, recall 6/10 -> 12/19; of 1: precision 12/14, recall 12/20 -> 24/34
    assert macro_f1(COUNTS) == pytest.approx((12 / 19 + 24 / 34) / 2)


@pytest.mark.slow
def test_metrics_equal_those_of_scikit_learn_on_random_answers():
    from sklearn import metrics as sk

    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(5, 300))
        truth = (rng.random(n) < rng.uniform(0.05, 0.95)).astype(int)
        truth[:2] = 0, 1
        outcome = np.where(rng.random(n) < 0.1, 2, (rng.random(n) < rng.random()).astype(int))
        counts = confusion(truth, outcome)[0]
        assert accuracy(counts) == pytest.approx(sk.accuracy_score(truth, outcome))
        assert sensitivity(counts) == pytest.approx(sk.recall_score(truth == 1, outcome == 1))
        assert specificity(counts) == pytest.approx(sk.recall_score(truth == 0, outcome == 0))
        assert macro_f1(counts) == pytest.approx(
            sk.f1_score(truth, outcome, labels=[0, 1], average="macro", zero_division=0)
        )
        assert mcc(counts) == pytest.approx(sk.matthews_corrcoef(truth, outcome))
        plain = confusion(truth, outcome % 2)[0]
        assert balanced_accuracy(plain) == pytest.approx(
            sk.balanced_accuracy_score(truth, outcome % 2)
        )


def test_macro_f1_keeps_both_labels_when_no_negative_occurs():
    assert macro_f1(confusion([1] * 10, [1] * 10)[0]) == 0.5
    assert macro_f1(confusion([1] * 10, [1] * 9 + [0])[0]) == pytest.approx(18 / 19 / 2)


def test_what_needs_a_negative_is_undefined_without_one():
    counts = confusion([1, 1], [1, 0])[0]
    assert math.isnan(specificity(counts))
    assert math.isnan(balanced_accuracy(counts))
    assert math.isnan(mcc(counts))


def test_no_answers_at_all_leave_every_metric_undefined():
    assert all(math.isnan(metric(np.zeros((2, 5), int))) for metric in METRICS.values())


@given(answers)
def test_every_defined_metric_lies_in_its_range(pairs):
    counts = confusion(*zip(*pairs, strict=True))[0]
    for name, metric in METRICS.items():
        value = float(metric(counts))
        assert math.isnan(value) or (-1 if name == "mcc" else 0) <= value <= 1


@given(count_tables)
def test_swapping_the_labels_swaps_sensitivity_and_specificity_and_keeps_the_rest(counts):
    swapped = counts[::-1, [1, 0, 2, 3, 4]]
    np.testing.assert_equal(sensitivity(counts), specificity(swapped))
    for metric in (accuracy, balanced_accuracy, macro_f1, mcc, refusal_rate):
        np.testing.assert_allclose(metric(counts), metric(swapped), atol=1e-12)


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 1))
def test_a_constant_answer_has_half_the_balanced_accuracy_and_no_correlation(yes, no, constant):
    counts = confusion([1] * yes + [0] * no, [constant] * (yes + no))[0]
    assert balanced_accuracy(counts) == 0.5
    assert mcc(counts) == 0


def test_metrics_work_on_stacks_of_tables():
    stack = np.stack([COUNTS, COUNTS[::-1, [1, 0, 2, 3, 4]]])
    assert accuracy(stack) == pytest.approx([0.6, 0.6])
    assert macro_f1(stack) == pytest.approx([float(macro_f1(COUNTS))] * 2)
