"""Models and the runs that keep their answers."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from limen.addon.core.dataset import DatasetError, open_dataset, read_table
from limen.analysis.evaluate import EvaluateError, evaluate, read_runs
from limen.analysis.models import MODELS, Answer, AnswerError, Model, ModelError, make_model
from limen.analysis.tasks import TASKS


@pytest.fixture
def dataset(synthetic_dataset, tmp_path):
    """A copy to write runs into; without the light stack and depth, which no model sees."""
    root = tmp_path / "dataset"
    shutil.copytree(
        synthetic_dataset.root, root, ignore=shutil.ignore_patterns("light", "depth", "masks")
    )
    return open_dataset(root)


def answering(text, calls=None):
    """A model that answers the same to everything and counts how often it was asked."""

    def answer(path, question):
        if calls is not None:
            calls.append(path)
        return Answer(text)

    return Model("stub", {}, answer, label="stub")


def predictions(dataset, label="stub"):
    return read_table(dataset.root / "runs" / label / "predictions.jsonl")


# --- models --------------------------------------------------------------------------------------


def test_every_model_of_the_registry_can_be_made():
    for name in MODELS:
        model = make_model(name)
        assert (model.name, model.label) == (name, name)
        json.dumps(model.settings)


def test_an_unknown_model_is_named_with_the_nearest_one():
    with pytest.raises(ModelError, match="no model 'hogg'; did you mean 'hog'"):
        make_model("hogg")


def test_settings_are_read_and_those_that_differ_from_the_default_name_the_run():
    model = make_model("hog:upscale=2,threshold=0")
    assert model.settings["upscale"] == 2
    assert model.settings["threshold"] == 0
    assert model.label == "hog_upscale=2"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hog:upscal=2", "no setting of hog 'upscal'; did you mean 'upscale'"),
        ("hog:upscale=big", "hog:upscale is 'big': a number is needed"),
        ("hog:upscale=0.5", "1 to 8 is allowed"),
        ("hog:threshold=nan", "a finite number is needed"),
        ("always-yes:x=1", "always-yes has no settings"),
    ],
)
def test_a_wrong_setting_is_refused(spec, message):
    with pytest.raises(ModelError, match=message):
        make_model(spec)


def test_hog_sees_a_person_by_day_and_none_at_night(synthetic_dataset):
    # The nearest person that faces the camera, 136 px tall: twice that is the detector's size.
    model = make_model("hog:upscale=2")
    nearest = min(
        (view for view in synthetic_dataset.views.values() if view["target_present"]),
        key=lambda view: (view["factors"]["distance_m"], view["factors"]["azimuth_deg"]),
    )
    answers = {
        row["band"]: model.answer(synthetic_dataset.root / row["media"]["clean"]["path"], "?")
        for row in synthetic_dataset.index.values()
        if row["view_id"] == nearest["view_id"]
    }
    assert answers["day"].text == "yes"
    assert answers["day"].score > 0
    assert answers["night"] == Answer("no", None, {"detections": 0, "upscale": 2.0})


def test_hog_enlarges_an_image_smaller_than_its_window_and_says_so(tmp_path):
    import cv2
    import numpy as np

    cv2.imwrite(str(tmp_path / "small.png"), np.zeros((64, 64, 3), np.uint8))
    answer = make_model("hog").answer(tmp_path / "small.png", "?")
    assert answer.details["upscale"] == 2.0


def test_hog_has_no_answer_about_a_damaged_image(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"not an image")
    with pytest.raises(AnswerError, match="missing or damaged"):
        make_model("hog").answer(tmp_path / "broken.png", "?")


# --- answers -------------------------------------------------------------------------------------


def test_every_item_gets_one_row_with_the_raw_answer_and_what_was_read_of_it(dataset):
    summary = evaluate(dataset, answering("Yes."))
    rows = predictions(dataset)
    assert (summary.asked, summary.outcomes) == (45, {"ok": 45})
    assert [row["id"] for row in rows] == list(dataset.index)
    assert {(row["answer"], row["prediction"], row["outcome"]) for row in rows} == {
        ("Yes.", 1, "ok")
    }
    assert all("latency" not in key and "time" not in key for key in rows[0])


def test_a_second_run_asks_nothing_and_writes_nothing(dataset):
    evaluate(dataset, answering("yes"))
    table = dataset.root / "runs/stub/predictions.jsonl"
    about = dataset.root / "runs/stub/run.json"
    before = table.read_bytes(), about.read_bytes()
    calls = []
    assert evaluate(dataset, answering("yes", calls)).asked == 0
    assert calls == []
    assert (table.read_bytes(), about.read_bytes()) == before


def test_an_answer_that_says_neither_is_its_own_outcome_and_is_kept(dataset):
    evaluate(dataset, answering("I cannot tell."))
    assert {(r["answer"], r["prediction"], r["outcome"]) for r in predictions(dataset)} == {
        ("I cannot tell.", None, "unparsed")
    }


def test_a_failure_is_its_own_outcome_and_is_asked_again(dataset):
    def fail(path, question):
        raise AnswerError("the server is away")

    failing = replace(answering(""), answer=fail)
    assert evaluate(dataset, failing).outcomes == {"error": 45}
    row = predictions(dataset)[0]
    assert (row["outcome"], row["prediction"], row["error"]) == (
        "error",
        None,
        "the server is away",
    )
    assert evaluate(dataset, answering("no")).outcomes == {"ok": 45}
    (run,) = read_runs(dataset)
    assert {row["outcome"] for row in run.rows} == {"ok"}


def test_a_limit_takes_whole_views_and_a_longer_run_adds_to_them(dataset):
    evaluate(dataset, answering("yes"), limit=2)
    ids = [row["id"] for row in predictions(dataset)]
    assert ids == [i for i in dataset.index if i.split("-")[0] in list(dataset.views)[:2]]
    assert len(ids) == 6
    assert evaluate(dataset, answering("yes")).asked == 39


def test_a_run_stopped_by_ctrl_c_keeps_what_was_answered_and_goes_on(dataset):
    def stop(done, total):
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(dataset, answering("yes"), progress=stop)
    assert len(predictions(dataset)) == 10
    assert evaluate(dataset, answering("yes")).asked == 35


def test_a_killed_run_goes_on_where_it_stopped(dataset):
    script = (
        "import sys, time; from limen.analysis import evaluate as e\n"
        "from limen.analysis.models import Answer, Model\n"
        "from limen.addon.core.dataset import open_dataset\n"
        "e._FLUSH_S = 0.05\n"
        "def slow(path, question): time.sleep(0.03); return Answer('yes')\n"
        "e.evaluate(open_dataset(sys.argv[1]), Model('stub', {}, slow, label='stub'))\n"
    )
    table = dataset.root / "runs/stub/predictions.jsonl"
    process = subprocess.Popen([sys.executable, "-c", script, str(dataset.root)])
    deadline = time.monotonic() + 60
    while not (table.exists() and table.stat().st_size):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    with table.open("ab") as file:  # what a kill in the middle of a write leaves
        file.write(b'{"id": "v00')
    kept = len(predictions(dataset))
    assert 0 < kept < 45
    assert evaluate(dataset, answering("yes")).asked == 45 - kept
    assert sorted(row["id"] for row in predictions(dataset)) == list(dataset.index)


def test_run_json_says_what_the_answers_come_from(dataset):
    evaluate(dataset, make_model("always-no"))
    about = json.loads((dataset.root / "runs/always-no/run.json").read_text())
    assert about["model"] == {"name": "always-no", "settings": {}}
    assert (about["task"], about["variant"]) == ("presence", "clean")
    assert about["question"] == TASKS["presence"].question
    (session,) = about["sessions"]
    assert session["items"] == 45
    assert len(session["dataset_sha256"]) == 64
    assert {"limen", "python", "platform"} <= session["versions"].keys()
    assert session["latency_ms"]["median"] <= session["latency_ms"]["max"]


def test_run_json_keeps_the_models_note_and_a_new_one_replaces_it(dataset):
    evaluate(dataset, replace(answering("yes"), note="It guesses."))
    (run,) = read_runs(dataset)
    assert run.about["note"] == "It guesses."
    evaluate(dataset, replace(answering("yes"), note="It always guesses."))
    (run,) = read_runs(dataset)
    assert (run.about["note"], len(run.about["sessions"])) == ("It always guesses.", 1)


def test_hog_says_which_sizes_it_finds():
    assert "from about 96 px up to 75% of the image's height" in make_model("hog").note
    assert "from about 48 px" in make_model("hog:upscale=2").note


def test_answers_of_other_settings_are_not_mixed(dataset):
    evaluate(dataset, answering("yes"))
    with pytest.raises(EvaluateError, match="made with another model"):
        evaluate(dataset, replace(answering("yes"), settings={"temperature": 1}))


def test_answers_about_other_images_are_not_mixed(dataset):
    evaluate(dataset, answering("yes"))
    (part,) = (dataset.root / "index").glob("*.jsonl")
    row = json.loads(part.read_text().splitlines()[0])
    changed = part.read_text().replace(row["media"]["clean"]["sha256"], "0" * 64)
    part.write_text(changed)
    reopened = open_dataset(dataset.root)
    for use in (lambda: evaluate(reopened, answering("yes")), lambda: read_runs(reopened)):
        with pytest.raises(EvaluateError, match=f"other images: {row['id']} has changed"):
            use()


def test_a_variant_that_was_not_written_is_an_error_before_anything_is_asked(dataset):
    calls = []
    with pytest.raises(EvaluateError, match=r"45 of 45 items .* no 'nv' image.*clean"):
        evaluate(dataset, answering("yes", calls), variant="nv")
    assert calls == []
    assert not (dataset.root / "runs").exists()


def test_runs_are_read_back_joined_with_the_index(dataset):
    evaluate(dataset, make_model("always-yes"), limit=1)
    evaluate(dataset, make_model("always-no"))
    no, yes = read_runs(dataset)
    assert (no.label, len(no.rows), yes.label, len(yes.rows)) == ("always-no", 45, "always-yes", 3)
    assert {"band", "distance_m", "prediction", "outcome"} <= no.rows[0].keys()


def test_a_damaged_run_json_is_named(dataset):
    evaluate(dataset, answering("yes"), limit=1)
    (dataset.root / "runs/stub/run.json").write_text("{")
    with pytest.raises(EvaluateError, match=r"stub.run\.json is damaged"):
        read_runs(dataset)


# --- what a disk or a hand has changed -----------------------------------------------------------


def test_an_image_that_is_not_the_recorded_one_is_an_error_not_an_answer(dataset):
    first, second = list(dataset.index)[:2]
    paths = [dataset.root / dataset.index[i]["media"]["clean"]["path"] for i in (first, second)]
    paths[0].write_bytes(paths[1].read_bytes())
    calls = []
    assert evaluate(dataset, answering("yes", calls)).outcomes == {"error": 1, "ok": 44}
    assert len(calls) == 44


@pytest.mark.parametrize(
    ("key", "value"),
    [("id", 7), ("media_sha256", None), ("outcome", "fine"), ("prediction", 2), ("outcome", [])],
)
def test_an_answer_that_was_not_written_here_is_refused(dataset, key, value):
    evaluate(dataset, answering("yes"), limit=1)
    table = dataset.root / "runs/stub/predictions.jsonl"
    rows = [{**row, key: value} for row in read_table(table)]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for read in (lambda: evaluate(dataset, answering("yes")), lambda: read_runs(dataset)):
        with pytest.raises(EvaluateError, match=r"predictions\.jsonl:1 is no answer"):
            read()


@pytest.mark.parametrize(
    ("key", "value"),
    [("model", {"name": 7, "settings": {}}), ("model", []), ("sessions", [1]), ("variant", None)],
)
def test_a_run_that_says_nonsense_about_itself_is_refused(dataset, key, value):
    evaluate(dataset, answering("yes"), limit=1)
    path = dataset.root / "runs/stub/run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(EvaluateError, match=r"run\.json is damaged"):
        read_runs(dataset)


def test_a_run_has_one_writer_at_a_time(dataset):
    def meanwhile(path, question):
        with pytest.raises(DatasetError, match="is being written by another process"):
            evaluate(dataset, answering("no"))
        return Answer("yes")

    assert evaluate(dataset, Model("stub", {}, meanwhile, label="stub"), limit=1).asked == 3


def test_a_run_that_a_spreadsheet_would_take_for_a_formula_is_refused(dataset):
    evaluate(dataset, answering("yes"), limit=1)
    (dataset.root / "runs/stub").rename(dataset.root / "runs/=1+1")
    with pytest.raises(EvaluateError, match="rename the directory"):
        read_runs(dataset)
