"""Asking on a Ray cluster, here of one machine."""

import shutil

import pytest
from limen.addon.core.dataset import read_table
from limen.analysis.evaluate import EvaluateError, evaluate_all
from limen.analysis.models import Answer, Model, ModelError, make_model
from limen.analysis.tasks import TASKS

pytest.importorskip("ray")
pytestmark = pytest.mark.slow


def answers(summary):
    rows = read_table(summary.directory / "predictions.jsonl")
    return sorted((r["id"], r["answer"], r["score"], r["request"], r["prediction"]) for r in rows)


def test_two_workers_give_the_answers_of_one(dataset):
    model, tasks = make_model("hog:upscale=2"), [TASKS["presence"]]
    (alone,) = evaluate_all(dataset, model, tasks, "clean")
    expected = answers(alone)
    shutil.rmtree(alone.directory)
    (first,) = evaluate_all(dataset, model, tasks, "clean", limit=3, engine="ray", ray_workers=2)
    assert first.asked == 9
    (rest,) = evaluate_all(dataset, model, tasks, "clean", engine="ray", ray_workers=2)
    assert (rest.asked, rest.outcomes) == (36, {"ok": 45})
    assert answers(rest) == expected


def test_a_model_that_cannot_be_made_again_is_refused(dataset):
    model = Model("stub", {}, lambda path, question: Answer("1"), label="stub")
    with pytest.raises((ModelError, EvaluateError), match="cannot be made again"):
        evaluate_all(dataset, model, [TASKS["presence"]], "clean", engine="ray")
