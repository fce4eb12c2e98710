"""Models by name: settings, labels, judges, oracles, and what is known of the published ones."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from limen.addon.core.dataset import append_table, read_table
from limen.analysis.evaluate import EvaluateError, evaluate, evaluate_all
from limen.analysis.models import KINDS, Access, ModelError, make_model
from limen.analysis.models.known import CLASSES, find_known, load_known, table_of_known
from limen.analysis.tasks import TASKS

ROOT = Path(__file__).parents[3]


def rows_of(summary):
    return read_table(summary.directory / "predictions.jsonl")


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hogg", "no model 'hogg'; did you mean 'hog'"),
        ("hf:", "'hf:' names no model: hf:ORG/NAME or a directory is needed"),
        ("yolo:x.pt", "needs ultralytics.*AGPL.*onnx:FILE"),
        ("oracle-area:least_px=-1", "least_px is -1: 0 or more is allowed"),
        ("oracle-luminance:least=300", "least is 300: 0 to 255 is allowed"),
        ("oracle-area:least_px=1.5", "a whole number is needed"),
        ("hog:label=a/b", "label is 'a/b': letters, digits"),
        ("human:x=1", "human has no settings"),
    ],
)
def test_a_wrong_model_or_setting_is_refused(spec, message):
    with pytest.raises(ModelError, match=message):
        make_model(spec)


def test_published_compatibility_is_noted_and_so_is_what_it_cannot_repeat(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    access = Access(published_compat=True)
    assert (
        "squash=512, jpeg_quality=95, temperature=none"
        in make_model("openai:gpt-4o-mini-2024-07-18", access).note
    )
    note = make_model("openai:MLAdaptiveIntelligence/LLaVAction-7B", access).note
    assert "max_new_tokens=4096. The published evaluation gave it a text about a video" in note
    assert make_model("openai:other", access).note == ""


def test_a_key_that_can_be_none_is_refused_without_being_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\u00e9\u00e9\u00e9")
    with pytest.raises(ModelError, match="the key in OPENAI_API_KEY holds characters") as caught:
        make_model("openai:x")
    assert "\u00e9" not in str(caught.value)


def test_a_long_name_is_cut_and_stays_its_own(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    labels = {make_model(f"openai:{'x' * 300}{end}").label for end in "ab"}
    assert len(labels) == 2
    assert all(len(label) < 120 for label in labels)


def test_a_label_of_ones_own_names_the_run():
    assert make_model("hog:upscale=2,label=big").label == "big"


# --- judges and oracles --------------------------------------------------------------------------


def label(row, by, seen, **more):
    return {
        "id": row["id"],
        "variant": "clean",
        "human_discernable": seen,
        "probability": None,
        "by": by,
        **more,
    }


def test_a_judge_answers_what_its_labels_say_about_labelled_images_only(dataset):
    first, second, third, fourth = list(dataset.index.values())[:4]
    append_table(
        dataset.root / "labels/human.jsonl",
        [label(first, "human", 1), label(second, "human", 0), label(third, "human", None)],
    )
    append_table(dataset.root / "labels/simulated.jsonl", [label(fourth, "simulated", 1)])
    rows = rows_of(evaluate(dataset, make_model("human")))
    assert [(row["id"], row["outcome"], row["prediction"]) for row in rows] == [
        (first["id"], "ok", 1),
        (second["id"], "ok", 0),
        (third["id"], "unparsed", None),
    ]
    (row,) = rows_of(evaluate(dataset, make_model("observer")))
    assert (row["id"], row["prediction"]) == (fourth["id"], 1)


def test_a_judge_whose_labels_changed_is_asked_again(dataset):
    first, second = list(dataset.index.values())[:2]
    table = dataset.root / "labels/human.jsonl"
    append_table(table, [label(first, "human", 1), label(second, "human", 0)])
    evaluate(dataset, make_model("human"))
    append_table(table, [label(first, "human", 0)])
    summary = evaluate(dataset, make_model("human"))
    assert summary.asked == 1
    said = {row["id"]: row["prediction"] for row in rows_of(summary)}
    assert said == {first["id"]: 0, second["id"]: 0}


def test_a_judge_without_labels_says_so(dataset):
    with pytest.raises(EvaluateError, match="has none of its labels for clean images"):
        evaluate(dataset, make_model("human"))


def test_the_area_oracle_goes_by_the_pixels_of_the_mask(dataset):
    for row in rows_of(evaluate(dataset, make_model("oracle-area:least_px=200"))):
        view = dataset.views[dataset.index[row["id"]]["view_id"]]
        assert row["prediction"] == int(view["visible_px"] >= 200)
        assert row["score"] == view["visible_px"]


def test_the_luminance_oracle_goes_by_the_light_on_the_person(dataset):
    rows = rows_of(evaluate(dataset, make_model("oracle-luminance")))
    said = {}
    for row in rows:
        item = dataset.index[row["id"]]
        said.setdefault((item["band"], item["target_present"]), set()).add(row["prediction"])
    assert said["day", True] == {1}
    assert said["night", True] == {0}
    assert said["day", False] == {0}


# --- ultralytics, by a stand-in with its interface -----------------------------------------------


@pytest.mark.slow  # it imports torch
def test_yolo_asks_for_full_resolution_and_counts_persons_only(dataset, tmp_path, monkeypatch):
    asked = []

    class Boxes:
        conf = np.array([0.9, 0.4])
        cls = np.array([2.0, 0.0])

    def predict(self, image, **settings):
        asked.append((image.size, settings))
        return [SimpleNamespace(boxes=Boxes, names={0: "person", 2: "car"})]

    package = SimpleNamespace(
        YOLO=type("YOLO", (), {"__init__": lambda *_: None, "predict": predict})
    )
    monkeypatch.setitem(sys.modules, "ultralytics", package)
    monkeypatch.setattr("limen.analysis.models.detectors.find_spec", lambda name: object())
    monkeypatch.setattr("limen.analysis.evaluate.run.metadata.version", lambda name: "stand-in")
    weights = tmp_path / "yolo11x.pt"
    weights.write_bytes(b"weights")
    spec = f"yolo:{weights}"
    (low,) = rows_of(evaluate(dataset, make_model(spec + ",threshold=0.3,label=low"), limit=1))[:1]
    (high,) = rows_of(evaluate(dataset, make_model(spec + ",label=high"), limit=1))[:1]
    assert (low["prediction"], low["score"], high["prediction"]) == (1, 0.4, 0)
    assert asked[0][0] == (160, 160)
    assert asked[0][1]["imgsz"] == 160
    published = make_model(spec, Access(published_compat=True))
    assert (published.settings["threshold"], published.settings["size"]) == (0.6, 640)


# --- known models --------------------------------------------------------------------------------


def test_the_published_models_are_known_with_class_and_size():
    known = load_known()
    assert len(known) == 18
    assert {model.model_class for model in known} == set(CLASSES)
    assert [model.name for model in known if model.parameters_b is None] == ["GPT-4o-mini"]
    assert {model.run.partition(":")[0] for model in known} <= KINDS.keys()


# Accuracy at 5.4 m as published, whose group means are published too: 66.20 and 84.68.
ACCURACY_5_4 = {
    "SmolVLM2-256M": 10.02, "SmolVLM2-500M": 23.20, "SmolVLM2-2.2B": 80.84, "InternVL3-1B": 87.77,
    "InternVL3-8B": 85.45, "Perception-LM-1B": 69.77, "Perception-LM-3B": 75.76,
    "Qwen2.5-VL-3B": 66.70, "Qwen2.5-VL-7B": 86.13, "Gemma-3-4B": 94.66, "Gemma-3n-E2B": 87.10,
    "Gemma-3n-E4B": 87.77, "Phi-4-multimodal": 84.97, "LLaVAction-7B": 81.80,
    "LLaVA-NeXT-Video-7B": 81.99, "Molmo-7B-D": 84.63,
}  # fmt: skip


@pytest.mark.parametrize(("group", "mean"), [("small", 66.20), ("medium", 84.68)])
def test_the_classes_are_the_groups_whose_means_were_published(group, mean):
    members = [ACCURACY_5_4[model.name] for model in load_known() if model.model_class == group]
    assert round(sum(members) / len(members), 2) == mean


def test_a_local_copy_or_a_served_one_is_known_by_its_name():
    assert find_known("hf:/models/gemma-3-4b-it/").name == "Gemma-3-4B"
    assert find_known("openai:Qwen/Qwen2.5-VL-7B-Instruct").name == "Qwen2.5-VL-7B"
    assert find_known("hf:someone/else") is None
    assert find_known("hog") is None


def test_the_table_of_the_docs_is_made_from_the_data():
    assert table_of_known() in (ROOT / "docs" / "models.md").read_text()


def test_a_run_of_a_known_model_keeps_what_is_known(dataset, monkeypatch):
    import json

    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = make_model("openai:gpt-4o-mini-2024-07-18,retries=0,label=mini")
    (summary,) = evaluate_all(dataset, model, [TASKS["presence"]], "clean", limit=1, max_failures=1)
    about = json.loads((summary.directory / "run.json").read_text())
    assert about["known"]["name"] == "GPT-4o-mini"
    assert summary.outcomes == {"error": 3}
