"""Coefficients against their published examples and the reference package; rules; summaries."""

from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from limen.analysis.annotate import coefficients as co
from limen.analysis.annotate.agreement import Rules, agreement_of, kept_answers, parse_rules
from limen.analysis.annotate.answers import AnswerRecord
from limen.analysis.annotate.errors import AnnotateChoiceError

BASE = AnswerRecord(
    round="presence", task="presence", annotator="anna", by="human", id="a", variant="clean",
    view_id="v", catch=False, role=None, stratum=None, position=0, showing=0, value="visible",
    text=None, confidence=None, response_ms=900.0, displayed_ms=900.0, shown_count=1, replays=0,
    interrupted=False, undone=0, view=None, conditions=None, answered_at="2026-01-01",
)  # fmt: skip

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers,
# twelve units; there alpha is 0.743 for nominal data, 0.815 for ordinal.
FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
).T - 1  # fmt: skip

# Fleiss (1971), as worked through in Wikipedia's "Fleiss' kappa": 14 raters, 10 subjects, 0.210.
FOURTEEN_RATERS = np.array(
    [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
     [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
)  # fmt: skip


def answers(values, annotator="anna", **more):
    """One answer for each value, about images a0, a1, ... of views of their own."""
    return [
        replace(BASE, id=f"a{i}", view_id=f"v{i}", value=v, annotator=annotator, **more)
        for i, v in enumerate(values)
    ]


def test_alpha_of_the_published_example():
    assert co.alpha(FOUR_OBSERVERS, "nominal", 5) == pytest.approx(0.743, abs=5e-4)
    assert co.alpha(FOUR_OBSERVERS, "ordinal", 5) == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_alphas_that_are_resampled_are_the_packages(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (40, 3)) + rng.integers(-1, 2, (40, 1))
    codes = np.where(rng.random((40, 3)) < 0.2, -1, np.clip(codes, 0, 4))
    counts = np.stack([(codes == v).sum(axis=1) for v in range(5)], axis=1)
    data = np.where(codes < 0, np.nan, codes).T
    nominal = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
    ordinal = krippendorff.alpha(reliability_data=data, level_of_measurement="ordinal")
    assert co.nominal_alpha(co.nominal_parts(counts).sum(axis=0)[None])[0] == pytest.approx(nominal)
    assert co.ordinal_alpha(co.alpha_parts(counts).sum(axis=0)[None])[0] == pytest.approx(ordinal)


def test_fleiss_kappa_of_the_published_example():
    assert co.fleiss_kappa(FOURTEEN_RATERS) == pytest.approx(0.210, abs=5e-4)


def test_cohens_kappa_of_a_table_worked_by_hand():
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: 0.7 observed, 0.5 expected.
    a, b = [0] * 25 + [1] * 25, [0] * 20 + [1] * 5 + [0] * 10 + [1] * 15
    assert co.cohen_kappa(a, b) == pytest.approx(0.4)


def test_for_two_codes_the_kappas_for_many_and_for_weights_are_one():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 50))
    pairs = np.concatenate([(a == b)[:, None], np.eye(2)[a], np.eye(2)[b]], axis=1)
    assert co.nominal_kappa(pairs.sum(axis=0)[None])[0] == pytest.approx(co.cohen_kappa(a, b))
    assert co.cohen_kappa(a, b, co.quadratic(2)) == pytest.approx(co.cohen_kappa(a, b))


def test_where_everyone_says_the_same_no_coefficient_is_defined():
    found = agreement_of(answers(["visible"] * 30) + answers(["visible"] * 30, "berta"))
    assert (found.alpha.value, found.fleiss.value) == (None, None)
    assert found.cohen["anna", "berta"].value is None


def test_perfect_agreement_is_1_and_unsure_does_not_count_against_it():
    values = ["visible", "not_visible"] * 15
    other = [*values[:-2], "unsure", "unsure"]
    found = agreement_of(answers(values) + answers(other, "berta"))
    assert found.alpha.value == found.fleiss.value == found.cohen["anna", "berta"].value == 1
    assert found.alpha.n == 28
    assert found.annotators[1].unsure.value == pytest.approx(2 / 30)


def test_the_interval_of_alpha_covers_the_truth_nine_times_in_ten_and_more():
    """Two annotators flip 10 % each of a fair truth: alpha of endless data is 0.64."""
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 150)
        codes = np.stack([truth ^ (rng.random(150) < 0.1) for _ in range(2)], axis=1)
        parts = co.nominal_parts(np.stack([(codes == v).sum(axis=1) for v in (0, 1)], axis=1))
        low, high = co.bootstrap(co.nominal_alpha, parts, np.arange(150), f"test{seed}")
        covered += low <= 0.64 <= high
    assert covered >= 35


def test_images_of_one_view_count_as_one_in_an_interval():
    values = ["visible", "not_visible"] * 30

    def width(found):
        return found.alpha.interval[1] - found.alpha.interval[0]

    noisy = ["not_visible" if i < 20 else v for i, v in enumerate(values)]
    every = answers(values) + answers(noisy, "berta")
    grouped = [replace(a, view_id=f"v{int(a.id[1:]) // 10}") for a in every]
    assert width(agreement_of(grouped)) > 1.3 * width(agreement_of(every))


def test_who_sees_people_in_catch_trials_is_left_out():
    careful = answers(["not_visible"] * 12, catch=True)
    careless = answers(["visible"] * 4 + ["not_visible"] * 8, "berta", catch=True)
    kept, reasons = kept_answers(careful + careless, Rules())
    assert reasons == {"berta": "saw someone in 4 of 12 catch trials"}
    assert {a.annotator for a in kept} == {"anna"}


def test_who_contradicts_themselves_is_left_out_as_soon_as_there_are_enough_repeats():
    first = answers(["visible"] * 10)
    again = answers(["visible"] * 6 + ["not_visible"] * 4, showing=1)
    assert kept_answers(first + again, Rules())[1] == {"anna": "answered 6 of 10 repeats as before"}
    assert kept_answers(first[:9] + again[1:10], Rules())[1] == {}


def test_an_answer_that_came_too_quickly_does_not_count():
    quick = [replace(a, response_ms=120.0) for a in answers(["visible"] * 3)]
    kept, _ = kept_answers([*quick, *answers(["visible"], "berta")], Rules())
    assert [a.annotator for a in kept] == ["berta"]


def test_a_program_measures_no_time_and_is_not_too_quick():
    assert len(kept_answers([replace(BASE, response_ms=None)], Rules())[0]) == 1


def test_bias_is_the_difference_to_the_others_on_the_same_images():
    anna = answers(["visible"] * 20 + ["not_visible"] * 10)
    berta = answers(["visible"] * 10 + ["not_visible"] * 20, "berta")
    found = {a.name: a for a in agreement_of(anna + berta).annotators}
    assert found["anna"].bias.value == pytest.approx(1 / 3)
    assert found["berta"].bias.value == pytest.approx(-1 / 3)
    low, high = found["anna"].bias.interval
    assert 0 < low < 1 / 3 < high


def test_times_with_a_break_in_them_do_not_count():
    timed = [
        replace(BASE, id=f"a{i}", response_ms=ms, interrupted=ms > 5000)
        for i, ms in enumerate((800.0, 1000.0, 1200.0, 90_000.0))
    ]
    assert agreement_of(timed).annotators[0].seconds == 1.0


def test_ratings_are_ordinal_and_weighted():
    anna = answers([str(1 + i % 5) for i in range(40)], task="rating")
    near = answers([str(min(5, 2 + i % 5)) for i in range(40)], "berta", task="rating")
    found = agreement_of(anna + near)
    assert found.cohen["anna", "berta"].value > 0.7
    assert found.alpha.value == pytest.approx(
        krippendorff.alpha(
            reliability_data=[[1 + i % 5 for i in range(40)],
                              [min(5, 2 + i % 5) for i in range(40)]],
            level_of_measurement="ordinal",
        )
    )  # fmt: skip


def test_texts_agree_whatever_their_case_and_full_stop():
    anna = answers(["named"] * 20 + ["not_visible"] * 5, task="action", text="Running.")
    berta = answers(["named"] * 20 + ["not_visible"] * 5, "berta", task="action", text=" running")
    assert agreement_of(anna + berta).alpha.value == 1


def test_a_rule_is_changed_by_its_name():
    assert parse_rules(["min_answers=1", "max_catch_errors=0.5"]) == Rules(
        min_answers=1, max_catch_errors=0.5
    )


@pytest.mark.parametrize("change", ["no=1", "min_answers", "max_catch_errors=2", "min_catch=x"])
def test_a_rule_that_is_none_is_refused(change):
    with pytest.raises(AnnotateChoiceError, match="NAME=VALUE"):
        parse_rules([change])
