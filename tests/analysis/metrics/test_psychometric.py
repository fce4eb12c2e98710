"""Psychometric fits: planted thresholds come back, and what the data do not say stays open."""

import numpy as np
import pytest
from limen.analysis.metrics import likelihood
from limen.analysis.metrics.psychometric import PsychometricError, fit_psychometric

LEVELS = np.geomspace(5, 250, 10)


def answers(rng, threshold, slope, guess, lapse, per_level=60, blanks=100, spread=0.0):
    """(stimulus, seen, clusters) of an observer; ``spread`` decades between its 40 clusters."""
    x = np.concatenate([np.repeat(LEVELS, per_level), np.zeros(blanks)])
    cluster = rng.permutation(np.arange(len(x)) % 40)
    location = np.log10(threshold) + spread * rng.standard_normal(40)[cluster]
    away = np.log10(np.where(x > 0, x, 1)) - location
    rise = np.where(x > 0, 1 / (1 + np.exp(-slope * away)), 0)
    return x, rng.random(len(x)) < guess + (1 - guess - lapse) * rise, cluster


def holds(interval, value):
    low, high = interval
    return (low is None or low <= value) and (high is None or value <= high)


def _recovered(simulations):
    """Shares of fits whose intervals hold the planted 50 % and 80 % thresholds and the slope."""
    hits = np.zeros(3)
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        t, b = 10 ** rng.uniform(1, 2), rng.uniform(4, 12)
        g, lapse = rng.uniform(0, 0.15, 2)
        fit = fit_psychometric(*answers(rng, t, b, g, lapse)[:2])
        half, most = fit.thresholds
        true = t, t * 10 ** (np.log(4) / b), b
        found = half.interval, most.interval, fit.slope_interval
        hits += [holds(interval, value) for interval, value in zip(found, true, strict=True)]
    return hits / simulations


@pytest.mark.slow
def test_planted_thresholds_and_slopes_come_back():
    # 30 fits of intervals that cover 95 %: 5 misses or more come once in fifty tries.
    assert (_recovered(30) >= 25 / 30).all()


@pytest.mark.acceptance
def test_planted_thresholds_come_back_in_93_percent_of_300_simulations():
    assert (_recovered(300)[:2] >= 0.93).all()


@pytest.mark.acceptance
def test_intervals_of_clustered_answers_hold_the_threshold_in_93_percent():
    hits = 0
    for seed in range(300):
        rng = np.random.default_rng([7, seed])
        t = 10 ** rng.uniform(1.2, 1.8)
        fit = fit_psychometric(*answers(rng, t, 8, 0.05, 0.05, spread=0.15))
        hits += holds(fit.threshold(0.5).interval, t)
    assert hits / 300 >= 0.93


def test_the_likelihood_is_as_high_as_scipy_finds():
    from scipy.optimize import minimize

    for seed in range(4):
        x, seen, _ = answers(np.random.default_rng(seed), 30, 7, 0.1, 0.1)
        table = likelihood.AnswerTable.of(x, seen.astype(float), None)
        bounds = likelihood.bounds_of(table, None, None)
        _, best = likelihood.fit(table, bounds)

        def loss(theta, table=table):
            share = likelihood.curve(theta[None], table.x, 0.0)
            return -float(likelihood.log_likelihood(share, table)[0])

        starts = [(t, b, 0.05, 0.05) for t in (1, 1.5, 2) for b in (1, 2)]
        found = [minimize(loss, s, bounds=bounds.T, method="L-BFGS-B").fun for s in starts]
        assert best >= -min(found) - 1e-4


def test_a_threshold_is_a_share_of_the_way_from_guess_to_ceiling():
    x, seen, _ = answers(np.random.default_rng(1), 30, 8, 0.2, 0.1, per_level=2000)
    fit = fit_psychometric(x, seen)
    for share in (0.5, 0.8):
        at = fit.probability(fit.threshold(share).value)
        assert at == pytest.approx(fit.guess + share * (1 - fit.guess - fit.lapse))
    assert fit.guess == pytest.approx(0.2, abs=0.02)
    assert fit.lapse == pytest.approx(0.1, abs=0.02)
    assert fit.probability([0.0]) == pytest.approx([fit.guess])


def test_clusters_that_differ_widen_the_interval():
    x, seen, cluster = answers(np.random.default_rng(2), 30, 8, 0.02, 0.02, spread=0.3)
    alone, together = fit_psychometric(x, seen), fit_psychometric(x, seen, cluster)
    assert together.design_effect > 1.5
    width = [
        np.log(f.threshold(0.5).interval[1] / f.threshold(0.5).interval[0])
        for f in (alone, together)
    ]
    assert width[1] > 1.2 * width[0]


STEPS = np.repeat([5, 10, 20, 40, 80, 160.0], 20)


def test_a_jump_between_two_levels_puts_the_threshold_between_them():
    fit = fit_psychometric(STEPS, STEPS > 30)
    half = fit.threshold(0.5)
    assert 20 < half.value < 40
    assert half.interval[0] == pytest.approx(20, abs=1)
    assert half.interval[1] == pytest.approx(40, abs=1)
    assert fit.slope_interval[1] is None
    assert any("jump" in warning for warning in fit.warnings)


def test_what_is_always_seen_is_seen_from_below_what_was_shown():
    half = fit_psychometric(STEPS, STEPS > 0, unit="px/m").threshold(0.5)
    assert half.value is None
    assert half.interval[0] is None
    assert half.interval[1] == pytest.approx(5, abs=0.5)


def test_what_is_never_seen_lies_above_what_was_shown():
    fit = fit_psychometric(STEPS, STEPS < 0, unit="px/m")
    half = fit.threshold(0.5)
    assert half.value is None
    assert half.interval[1] is None
    assert half.interval[0] > 160
    assert fit.warnings[0].endswith("are no: no more than a bound is known")


@pytest.mark.parametrize(
    "seen",
    [np.arange(120) % 2, STEPS < 30],
    ids=["a coin", "the wrong way round"],
)
def test_answers_that_do_not_rise_with_the_stimulus_have_no_threshold(seen):
    fit = fit_psychometric(STEPS, seen)
    assert not fit.depends
    assert fit.threshold(0.5).value is None
    assert fit.threshold(0.5).interval == (None, None)
    assert any("no dependence" in warning for warning in fit.warnings)


def test_always_yes_has_no_threshold_when_blanks_are_seen_too():
    fit = fit_psychometric(np.r_[STEPS, np.zeros(30)], np.ones(150))
    assert not fit.depends
    assert fit.threshold(0.5).interval == (None, None)


def test_few_clusters_are_warned_of():
    fit = fit_psychometric(STEPS, STEPS > 30, np.arange(120) % 3)
    assert any("only 3 independent groups" in warning for warning in fit.warnings)


def test_a_fixed_guess_rate_stays():
    seen = np.random.default_rng(0).random(120) < 0.25 + 0.75 * (STEPS > 30)
    assert fit_psychometric(STEPS, seen, guess=0.25).guess == 0.25


def test_many_different_stimuli_are_binned():
    rng = np.random.default_rng(4)
    x = 10 ** rng.uniform(0.7, 2.4, 6000)
    fit = fit_psychometric(x, rng.random(6000) < 1 / (1 + (30 / x) ** 3))
    assert len(fit.levels) <= 64
    assert sum(level.n for level in fit.levels) == 6000
    assert holds(fit.threshold(0.5).interval, 30)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([], []), "two levels"),
        (([5, 5], [0, 1]), "two levels"),
        (([5, -1], [0, 1]), "at least 0"),
        (([5, float("nan")], [0, 1]), "at least 0"),
        (([5, 10], [0, 2]), "0 or 1"),
        (([5, 10], [0]), "equally long"),
        (([5, 10], [0, 1], ["a"]), "equally long"),
    ],
)
def test_what_cannot_be_fitted_is_refused(arguments, says):
    with pytest.raises(PsychometricError, match=says):
        fit_psychometric(*arguments)


@pytest.mark.parametrize(
    ("answer", "side"),
    [(0, "no"), (1, "yes")],
)
def test_answers_that_are_all_alike_bound_a_threshold_and_give_no_shape(answer, side):
    stimulus = np.repeat([10.0, 30.0, 90.0], 40)
    fit = fit_psychometric(stimulus, np.full(120, answer), unit="px/m")
    assert fit.constant
    assert fit.warnings == (
        f"all 120 answers from 10 px/m to 90 px/m are {side}: no more than a bound is known",
    )
    assert [found.value for found in fit.thresholds] == [None, None]
    mixed = fit_psychometric(stimulus, np.repeat([0, 1, 1], 40))
    assert not mixed.constant
