"""The published aggregation: from its own cells to its own overall columns, and what it hides."""

import numpy as np
import pytest
from limen.analysis.metrics.constant import check_constant
from limen.analysis.metrics.intervals import draw_clusters
from limen.analysis.metrics.published import (
    CONDITIONS,
    always_yes_overall,
    condition_of,
    load_published,
    overall,
    published_scores,
)
from limen.analysis.metrics.size_law import fit_size_law
from limen.analysis.models.known import load_known

TABLE = load_published()
ALL_CELLS = [m for m in TABLE.models.values() if set(m.conditions) == set(CONDITIONS)]
EACH = 10_000  # answers of a cell: two decimals of a percentage are exact


def realised(accuracies, base_rates=(1, 0.9, 0.9)):
    """Truths, outcomes and conditions of answers with these accuracies in percent."""
    truths, outcomes, conditions = [], [], []
    for name, percent, base in zip(CONDITIONS, accuracies, base_rates, strict=True):
        truth = (np.arange(EACH) < base * EACH).astype(int)
        right = np.random.default_rng(0).permutation(EACH) < round(percent * EACH / 100)
        truths.append(truth)
        outcomes.append(np.where(right, truth, 1 - truth))
        conditions += [name] * EACH
    return np.concatenate(truths), np.concatenate(outcomes), np.array(conditions)


@pytest.mark.parametrize("model", ALL_CELLS, ids=lambda model: model.name)
def test_predictions_with_the_published_cells_give_the_published_overall_columns(model):
    assert len(ALL_CELLS) == 3
    for place, metres in enumerate(TABLE.distances_m):
        cells = [model.conditions[name][place] for name in CONDITIONS]
        truth, outcome, condition = realised(cells)
        found = published_scores(truth, outcome, condition, np.full(len(truth), metres))[metres]
        assert [100 * found[n]["accuracy"] for n in CONDITIONS] == pytest.approx(cells)
        assert 100 * found["overall"]["accuracy"] == pytest.approx(model.accuracy[place], abs=0.01)


def test_missing_answers_are_dropped_and_macro_f1_is_over_labels_that_occur():
    truth, outcome = np.array([1, 1, 1, 1]), np.array([1, 1, 2, 4])
    found = published_scores(truth, outcome, np.array(["day"] * 4), np.full(4, 5.4))[5.4]
    assert found["day"] == {"accuracy": 1, "macro_f1": 1}
    missed = published_scores(truth, np.array([1, 1, 1, 0]), np.array(["day"] * 4), np.full(4, 5.4))
    assert missed[5.4]["day"]["macro_f1"] == pytest.approx(6 / 7 / 2)  # near 50 by one error


def test_night_vision_is_its_own_condition_and_evening_is_night():
    assert [condition_of("day", "clean"), condition_of("evening", "camera")] == ["day", "night"]
    assert condition_of("night", "nv") == condition_of("evening", "nv") == "nv"


def test_group_means_are_as_published():
    for name, members in (("small", 9), ("medium", 7)):
        models = [TABLE.models[k.name] for k in load_known() if k.model_class == name]
        assert len(models) == members
        means = np.mean([model.accuracy for model in models], axis=0)
        assert means == pytest.approx(TABLE.groups[name], abs=0.006)
    assert (TABLE.groups["small"][0], TABLE.groups["medium"][0]) == (66.20, 84.68)


def test_always_yes_scores_what_the_implied_base_rates_make_of_it():
    # facts: about 94.5, 92 and 84 % at the three distances.
    for base, expected in zip(TABLE.night_base_rate, (94.7, 92.0, 84.7), strict=True):
        truth, _, condition = realised((100, 100, 100), (1, base, base))
        assert 100 * always_yes_overall(truth, condition) == pytest.approx(expected, abs=0.1)


def test_always_yes_beats_all_but_one_published_model_at_the_nearest_distance():
    always_yes = 100 * overall([1, TABLE.night_base_rate[0], TABLE.night_base_rate[0]])
    better = [m.name for m in TABLE.models.values() if m.accuracy[0] > always_yes - 0.1]
    assert better == ["Gemma-3-4B"]


def test_a_model_that_hardly_looks_is_warned_of_by_itself():
    """Gemma-3-4B at 5.4 m: day 99.98 %, night and night vision 92.0 % at a base rate of 92 %."""
    truth, _, _ = realised((100, 100, 100), (1, 0.92, 0.92))
    rng = np.random.default_rng(1)
    outcome = np.where(truth == 1, rng.random(len(truth)) < 0.999, rng.random(len(truth)) < 0.99)
    clusters = np.arange(len(truth)) % 60
    times = draw_clusters(np.zeros(60, int), rng)
    check = check_constant(truth, outcome.astype(int), clusters, np.zeros(60, int), times)
    assert check.answer == "yes"
    assert check.constant_accuracy == pytest.approx(0.947, abs=0.001)
    near, no_better = check.warnings()
    assert "says yes to 99." in near
    assert "94.7% of answering always yes" in no_better


def test_a_model_that_looks_is_not_warned_of():
    truth = np.tile([1, 1, 0], 200)
    outcome = np.where(np.arange(600) % 10 == 0, 1 - truth, truth)
    times = draw_clusters(np.zeros(60, int), np.random.default_rng(0))
    check = check_constant(truth, outcome, np.arange(600) % 60, np.zeros(60, int), times)
    assert check.warnings() == ()


def test_a_good_model_that_misses_a_few_is_no_constant_answerer():
    # 9 of 10 images show a person; it finds 85 % of them and is never wrong elsewhere.
    truth = np.arange(1000) % 10 > 0
    outcome = truth & (np.arange(1000) // 10 % 20 > 2)
    times = draw_clusters(np.zeros(50, int), np.random.default_rng(0))
    clusters = np.random.default_rng(1).permutation(1000) % 50
    check = check_constant(
        truth.astype(int), outcome.astype(int), clusters, np.zeros(50, int), times
    )
    assert check.is_no_better  # by accuracy
    assert not check.hardly_looks
    assert check.warnings() == ()


def test_a_size_law_finds_the_line():
    law = fit_size_law([0.5, 1, 2, 8], [0.5 + 0.1 * np.log10(b) for b in (0.5, 1, 2, 8)])
    assert law.per_decade == pytest.approx(0.1)
    assert law.at_1b == pytest.approx(0.5)
    assert law.rank_correlation == pytest.approx(1)
    assert fit_size_law([3, 3], [0.1, 0.2]) is None
