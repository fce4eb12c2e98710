"""Failure points: which level fails first, and the survival curve."""

import numpy as np
import pytest
from limen.analysis.metrics.failure import kaplan_meier, survival, trajectories


def test_a_trajectory_runs_from_easy_to_hard_and_fails_at_its_first_wrong_answer():
    (one,) = trajectories(["a"] * 4, [20, 200, 50, 100], [True, True, False, True])
    assert one.levels == (200, 100, 50, 20)
    assert one.failure == 50
    assert one.recovers


def test_a_small_level_may_be_the_easy_one():
    (one,) = trajectories(["a"] * 3, [3, 1, 2], [False, True, True], easy_is_high=False)
    assert (one.levels, one.failure, one.recovers) == ((1, 2, 3), 3, False)


def test_a_level_met_twice_is_right_when_both_answers_are():
    (one,) = trajectories(["a"] * 3, [2, 1, 1], [True, True, False])
    assert one.right == (True, False)


def test_a_view_seen_at_one_level_is_no_trajectory():
    assert trajectories(["a", "b", "b"], [1, 1, 1], [True] * 3) == []


def test_survival_by_hand():
    # a fails at 50, b never does, c fails at once, d was not shown 200.
    found = trajectories(
        list("aaabbbcccdd"),
        [200, 100, 50, 200, 100, 50, 200, 100, 50, 100, 50],
        [1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0],
    )
    curve = survival(found)
    assert curve.levels == (200, 100, 50)
    assert curve.at_risk == (3, 3, 3)
    assert curve.failed == (1, 0, 2)
    assert curve.surviving == pytest.approx((2 / 3, 2 / 3, 2 / 9))
    assert (curve.trajectories, curve.never_failed, curve.recovered) == (4, 1, 1)
    assert curve.median == 50


@pytest.mark.slow
def test_kaplan_meier_equals_statsmodels_with_delayed_entry():
    from statsmodels.duration.survfunc import SurvfuncRight

    rng = np.random.default_rng(0)
    for _ in range(10):
        entry = rng.integers(0, 3, 80)
        last = entry + rng.integers(1, 8, 80)
        event = rng.random(80) < 0.6
        ours = kaplan_meier(entry, last, event, 12)
        # Theirs has entered whoever's entry time lies before the event.
        theirs = SurvfuncRight(last.astype(float), event.astype(int), entry=entry - 0.5)
        at = theirs.surv_times.astype(int)
        assert ours["surviving"][at] == pytest.approx(theirs.surv_prob)
        se = np.sqrt(np.maximum(theirs.surv_prob_se, 0) ** 2)
        inside = (theirs.surv_prob > 0.05) & (theirs.surv_prob < 1)
        s = theirs.surv_prob[inside]
        width = 1.959964 * (se[inside] / s) / np.abs(np.log(s))
        assert ours["low"][at][inside] == pytest.approx(s ** np.exp(width), rel=1e-6)
