"""Models and the runs that keep their answers."""

import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from limen.addon.core.dataset import (
    DatasetError,
    append_table,
    file_record,
    open_dataset,
    read_table,
)
from limen.analysis.conversation import Turn
from limen.analysis.evaluate import EvaluateError, evaluate, evaluate_all, read_runs
from limen.analysis.models import MODELS, Answer, AnswerError, Model, ModelError, make_model
from limen.analysis.tasks import TASKS, Prompt, TaskError, find_task, for_dataset
from limen.analysis.tasks.parsing import read_presence


@dataclass(frozen=True)
class SecondLook:
    """Asks to describe the image, then whether that was a person: a task of two turns."""

    name: str = "second-look"
    prompt: Prompt = TASKS["presence"].prompt
    parser: str = "strict"
    question: str = "Describe the image. / Was that a person?"

    def truth(self, row):
        return int(row["target_present"])

    def asks(self, row):
        return True

    def dialogue(self, item):
        described = yield Turn("Describe the image.", (item.media,))
        answer = yield Turn(f"You said: {described}. Was that a person? Answer 1 or 0.")
        return read_presence(answer)


@pytest.fixture
def developed(dataset):
    """The dataset with stand-ins for its developed images: copies of the clean ones."""
    for row in dataset.index.values():
        if row["band"] == "day":
            continue
        for variant in ("camera", "nv"):
            path = f"media/{variant}/{row['id']}.png"
            (dataset.root / path).parent.mkdir(exist_ok=True)
            data = (dataset.root / row["media"]["clean"]["path"]).read_bytes() + variant.encode()
            (dataset.root / path).write_bytes(data)
            record = {"path": path, "settings": "x", **file_record(dataset.root / path)}
            append_table(
                dataset.root / "develop/000.jsonl",
                [{"id": row["id"], "variant": variant, **record}],
            )
    return open_dataset(dataset.root)


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


def run_of(dataset, label="stub", task="presence", variant="clean"):
    return dataset.root / "runs" / f"{label}__{task}__{variant}"


def predictions(dataset, *which):
    return read_table(run_of(dataset, *which) / "predictions.jsonl")


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
    assert {row["variant"] for row in rows} == {"clean"}
    assert all(row["latency_s"] >= 0 for row in rows)


def test_a_second_run_asks_nothing_and_writes_nothing(dataset):
    evaluate(dataset, answering("yes"))
    table = run_of(dataset) / "predictions.jsonl"
    about = run_of(dataset) / "run.json"
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
    tasks = [TASKS["presence"]]
    (summary,) = evaluate_all(dataset, failing, tasks, "clean", max_failures=1)
    assert summary.outcomes == {"error": 45}
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
        "import sys, time; from limen.analysis.evaluate import evaluate\n"
        "from limen.analysis.models import Answer, Model\n"
        "from limen.addon.core.dataset import open_dataset\n"
        "def slow(path, question): time.sleep(0.03); return Answer('yes')\n"
        "evaluate(open_dataset(sys.argv[1]), Model('stub', {}, slow, label='stub'))\n"
    )
    table = run_of(dataset) / "predictions.jsonl"
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
    about = json.loads((run_of(dataset, "always-no") / "run.json").read_text())
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
    with pytest.raises(EvaluateError, match=f"other images: {row['id']} has changed"):
        read_runs(reopened)
    summary = evaluate(reopened, answering("yes"))
    # Asked anew; here the file is still the old one, so that there is no answer.
    assert (summary.asked, summary.outcomes) == (1, {"ok": 44, "error": 1})


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
    (run_of(dataset) / "run.json").write_text("{")
    with pytest.raises(EvaluateError, match=r"run\.json is damaged"):
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
    table = run_of(dataset) / "predictions.jsonl"
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
    path = run_of(dataset) / "run.json"
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
    run_of(dataset).rename(dataset.root / "runs/=1+1")
    with pytest.raises(EvaluateError, match="rename the directory"):
        read_runs(dataset)


# --- variants ------------------------------------------------------------------------------------


def test_the_published_layout_shows_clean_by_day_camera_in_the_dark_and_that_again_as_nv(developed):
    summary = evaluate(developed, answering("1"), variant="published")
    rows = predictions(developed, "stub", "presence", "published")
    bands = Counter((developed.index[row["id"]]["band"], row["variant"]) for row in rows)
    # 15 views, each under a day, an evening and a night lighting.
    assert bands == {
        ("day", "clean"): 15,
        ("evening", "camera"): 15,
        ("evening", "nv"): 15,
        ("night", "camera"): 15,
        ("night", "nv"): 15,
    }
    assert summary.asked == len(rows) == 75
    (run,) = read_runs(developed)
    assert (len(run.rows), run.variant, run.label) == (75, "published", "stub")
    assert evaluate(developed, answering("1"), variant="published").asked == 0


def test_the_published_layout_needs_developed_images_and_says_how_to_get_them(dataset):
    with pytest.raises(
        EvaluateError, match=r"have no 'camera' image.*limen develop.*--variant cle"
    ):
        evaluate(dataset, answering("1"), variant="published")


def test_runs_of_one_model_on_several_variants_are_told_apart(developed):
    for variant in ("clean", "nv"):
        evaluate(developed, answering("1"), variant=variant)
    assert [run.label for run in read_runs(developed)] == ["stub (clean)", "stub (nv)"]
    assert len(predictions(developed, "stub", "presence", "nv")) == 30


# --- tasks ---------------------------------------------------------------------------------------


def test_questions_about_one_image_follow_each_other_and_it_is_read_once(dataset):
    asked, prepared = [], []

    def ask(conversations):
        asked.extend((c.item.row["id"], c.question) for c in conversations)
        return [Answer("A") for _ in conversations]

    model = Model("stub", {}, ask=ask, label="stub", prepare=lambda data: prepared.append(1))
    tasks = [TASKS["presence"], TASKS["action-choice"]]
    presence, choice = evaluate_all(dataset, model, tasks, "clean")
    assert (presence.asked, choice.asked) == (45, 36)  # 3 views show nobody
    ids = [row_id for row_id, _ in asked]
    assert ids == sorted(ids)
    assert len(prepared) == 45
    assert sum(first == second for first, second in pairwise(ids)) == 36


def test_a_choice_is_kept_with_its_options_and_read_back_as_an_action(dataset):
    evaluate(dataset, answering("B."), "action-choice")
    row = predictions(dataset, "stub", "action-choice")[0]
    assert row["letter"] == "B"
    assert row["prediction"] == row["options"][1]
    (run,) = read_runs(dataset, "action-choice")
    right = [row["prediction"] == TASKS["action-choice"].truth(row) for row in run.rows]
    assert 0 < sum(right) < len(right)


def test_a_dataset_that_is_not_rendered_whole_asks_the_same_as_it_will_later(dataset):
    whole = for_dataset(TASKS["action-choice"], dataset).positions
    for part in ((dataset.root / "views"), (dataset.root / "index")):
        (file,) = part.glob("*.jsonl")
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[: len(lines) // 3]))
    assert for_dataset(TASKS["action-choice"], open_dataset(dataset.root)).positions == whole


def test_an_action_in_own_words_is_text(dataset):
    evaluate(dataset, answering("Walking."), "action")
    assert {row["prediction"] for row in predictions(dataset, "stub", "action")} == {"Walking"}


def test_a_task_of_two_turns_shows_the_image_once_and_sends_the_first_answer_back(dataset):
    seen = []

    def ask(conversations):
        seen.append([(len(c.turns), c.answers, c.question) for c in conversations])
        return [Answer("a dune" if len(c.turns) == 1 else "0") for c in conversations]

    model = Model("stub", {}, ask=ask, label="stub", batch=4)
    assert evaluate(dataset, model, SecondLook()).outcomes == {"ok": 45}
    assert seen[0] == [(1, (), "Describe the image.")] * 4
    question = "You said: a dune. Was that a person? Answer 1 or 0."
    assert seen[1] == [(2, ("a dune",), question)] * 4
    row = predictions(dataset, "stub", "second-look")[0]
    assert (row["answer"], row["answers"], row["prediction"]) == ("0", ["a dune", "0"], 0)


def test_a_model_of_one_image_and_question_has_no_answer_to_a_second_turn(dataset):
    tasks = [SecondLook()]
    (summary,) = evaluate_all(dataset, answering("1"), tasks, "clean", max_failures=1)
    assert summary.outcomes == {"error": 45}


def test_a_model_is_not_asked_what_it_cannot_answer(dataset):
    with pytest.raises(TaskError, match="hog answers presence only, not action"):
        evaluate(dataset, make_model("hog"), "action")


# --- reading again -------------------------------------------------------------------------------


def test_another_parser_reads_the_recorded_answers_again_and_asks_nothing(dataset):
    calls = []
    evaluate(dataset, answering("not 1", calls), limit=10)
    assert {row["outcome"] for row in predictions(dataset)} == {"unparsed"}
    published = find_task("presence", parser="published")
    model = answering("not 1", calls)
    (summary,) = evaluate_all(dataset, model, [published], "clean", limit=2)
    assert (summary.asked, summary.read_again, len(calls)) == (0, 30, 30)
    assert summary.outcomes == {"ok": 6}
    rows = predictions(dataset)
    assert {(row["prediction"], row["answer"]) for row in rows} == {(1, "not 1")}
    assert json.loads((run_of(dataset) / "run.json").read_text())["parser"] == "published"
    assert evaluate(dataset, answering("not 1", calls), limit=10).outcomes == {"unparsed": 30}


# --- failures ------------------------------------------------------------------------------------


def test_a_run_stops_when_too_many_questions_fail_and_says_why(dataset):
    calls = []

    def fail(path, question):
        calls.append(path)
        raise AnswerError("the server is away")

    failing = replace(answering(""), answer=fail)
    with pytest.raises(EvaluateError, match=r"20 of 20 questions failed.*the server is away"):
        evaluate(dataset, failing)
    assert len(calls) == 20
    assert evaluate(dataset, answering("1")).outcomes == {"ok": 45}


def test_what_a_model_says_outside_of_unicode_is_kept_as_well_as_it_can_be(dataset):
    assert evaluate(dataset, answering("1 \ud800"), limit=1).asked == 3
    assert predictions(dataset)[0]["answer"].startswith("1 ")
    assert evaluate(dataset, answering("1"), limit=1).asked == 0


@pytest.mark.parametrize("change", [{"answer": None}, {"answers": 3}, {"answers": [None]}])
def test_a_recorded_answer_that_is_no_text_is_not_read_again(dataset, change):
    evaluate(dataset, answering("1"), limit=1)
    path = run_of(dataset) / "predictions.jsonl"
    rows = [{**row, **change} for row in read_table(path)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = path.read_bytes()
    with pytest.raises(EvaluateError, match="which is no text and cannot be read again"):
        evaluate(dataset, answering("1"), find_task("presence", parser="published"), limit=1)
    assert path.read_bytes() == before


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_an_error_and_the_table_stays_readable(dataset, score):
    model = replace(answering(""), answer=lambda path, question: Answer("no", score))
    assert evaluate(dataset, model, limit=1).outcomes == {"error": 3}
    assert {row["prediction"] for row in predictions(dataset)} == {None}


def test_a_new_wording_is_another_question(dataset):
    evaluate(dataset, answering("1"), limit=1)
    evaluate(dataset, answering("yes"), "presence:prompt=yes-no", limit=1)
    assert len(read_runs(dataset)) == 2
    changed = replace(TASKS["presence"].prompt, text="Anyone?", version=2)
    with pytest.raises(EvaluateError, match="made with another question"):
        evaluate(dataset, answering("1"), replace(TASKS["presence"], prompt=changed))


# --- killed anywhere -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_as_one_that_never_was(dataset, tmp_path):
    """kill -9, again and again: no recorded answer is asked again, and the results are the same."""
    script = (
        "import sys, time; from limen.analysis.evaluate import evaluate\n"
        "from limen.analysis.models import Answer, Model\n"
        "from limen.addon.core.dataset import open_dataset\n"
        "def slow(path, question):\n"
        "    with open(sys.argv[2], 'a') as file: file.write(path.name + '\\n')\n"
        "    time.sleep(0.02); return Answer(str(sum(path.name.encode()) % 3))\n"
        "evaluate(open_dataset(sys.argv[1]), Model('stub', {}, slow, label='stub'))\n"
    )
    log, table = tmp_path / "asked", run_of(dataset) / "predictions.jsonl"
    rng = random.Random(0)
    kills = 0
    while True:
        before = table.read_bytes().count(b"\n") if table.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", script, str(dataset.root), str(log)])
        wanted = before + rng.randint(1, 15)
        while process.poll() is None and (
            not table.exists() or table.read_bytes().count(b"\n") < wanted
        ):
            time.sleep(0.002)
        if process.poll() is not None:
            assert process.returncode == 0
            break
        process.kill()
        process.wait()
        kills += 1
    assert kills >= 2
    asked = Counter(log.read_text().split())
    rows = predictions(dataset)
    assert len(rows) == len(asked) == 45
    # What was in hand when a kill came was never recorded: at most one question for each.
    assert sum(asked.values()) <= 45 + kills

    def digest(rows):
        return sorted(
            (r["id"], r["answer"], r["prediction"], r["outcome"], r["request"]) for r in rows
        )

    interrupted = digest(rows)
    shutil.rmtree(dataset.root / "runs")
    subprocess.run([sys.executable, "-c", script, str(dataset.root), str(log)], check=True)
    assert digest(predictions(dataset)) == interrupted
