"""Labels from answers, and answers to files and back."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from limen.addon.core.dataset import open_dataset
from limen.analysis.annotate.agreement_page import write_agreement
from limen.analysis.annotate.answers import read_answers
from limen.analysis.annotate.database import open_store
from limen.analysis.annotate.errors import AnnotateChoiceError, AnnotateError
from limen.analysis.annotate.exchange import export_answers, import_answers
from limen.analysis.annotate.labels import label_rows, write_labels
from limen.analysis.annotate.serve import open_round
from limen.analysis.annotate.tasks import Reply
from limen.analysis.discern.table import read_labels
from test_annotate_agreement import BASE

VIEW = {"dpr": 2, "full_screen": True, "height": 600, "width": 800, "window": [1, 2, 3, 4]}


@pytest.fixture
def other(tmp_path):
    opened = open_store(tmp_path / "other.sqlite", "0" * 64)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def answered_file(synthetic_dataset, tmp_path_factory):
    """Answers of people and a program to three tasks, hostile texts among them; 20 in all."""
    path = tmp_path_factory.mktemp("answered") / "annotations.sqlite"
    store = open_store(path, "0" * 64)
    texts = ["=1+1", "'quoted'", 'say "hi", then go', "läuft – schnell", "-5"]
    for task, name, by in (("presence", "anna", "human"), ("presence", "sim", "simulated"),
                           ("action", "anna", "human"), ("rating", "berta", "human")):  # fmt: skip
        round_ = open_round(synthetic_dataset, store, task=task)
        sitting = store.sitting(store.sign_in(round_, name, by), round_.id)
        for i in range(5):
            reply = {
                "presence": Reply(("visible", "not_visible", "unsure")[i % 3], response_ms=800.5),
                "action": Reply("named", text=texts[i], replays=i),
                "rating": Reply(("1", "2", "3", "4", "unsure")[i], view=VIEW),
            }[task]
            store.answer(round_, sitting, store.state(round_, sitting).trial.token, reply)
    store.close()
    return path


@pytest.fixture
def answered(answered_file, tmp_path):
    opened = open_store(Path(shutil.copy(answered_file, tmp_path / "answered.sqlite")), "0" * 64)
    yield opened
    opened.close()


def all_answers(store):
    return sorted(
        (a for round_ in store.rounds() for a in read_answers(store, round_)),
        key=lambda a: (a.round, a.annotator, a.position),
    )


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_answers_come_back_from_a_file_as_they_were(
    synthetic_dataset, answered, other, tmp_path, ending
):
    path = tmp_path / f"answers{ending}"
    assert export_answers(synthetic_dataset, answered, path) == 20
    assert import_answers(synthetic_dataset, other, path).added == 20
    assert all_answers(other) == all_answers(answered)


def test_answers_come_back_from_label_studios_format(synthetic_dataset, answered, other, tmp_path):
    path = tmp_path / "answers.json"
    export_answers(synthetic_dataset, answered, path)
    assert import_answers(synthetic_dataset, other, path).added == 20
    wanted = [
        (a.round, a.annotator, a.by, a.id, a.variant, a.showing, a.value, a.text, a.response_ms)
        for a in all_answers(answered)
    ]
    assert [
        (a.round, a.annotator, a.by, a.id, a.variant, a.showing, a.value, a.text, a.response_ms)
        for a in all_answers(other)
    ] == wanted


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".json"])
def test_a_file_read_twice_adds_nothing(synthetic_dataset, answered, tmp_path, ending):
    path = tmp_path / f"answers{ending}"
    export_answers(synthetic_dataset, answered, path)
    found = import_answers(synthetic_dataset, answered, path)
    assert (found.added, found.there) == (0, 20)


def test_no_text_is_a_formula_to_a_spreadsheet(synthetic_dataset, answered, tmp_path):
    path = tmp_path / "answers.csv"
    export_answers(synthetic_dataset, answered, path)
    with path.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert {"'=1+1", "''quoted'", "'-5"} <= set(cells)
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]


def test_a_contradiction_is_named_and_nothing_of_the_file_is_kept(
    synthetic_dataset, answered, tmp_path
):
    path = tmp_path / "answers.jsonl"
    export_answers(synthetic_dataset, answered, path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0] |= {"annotator": "carla"}
    rows[1] |= {"value": "visible" if rows[1]["value"] != "visible" else "unsure", "text": None}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows if row["task"] == "presence"))
    with pytest.raises(AnnotateChoiceError, match=r"answer 2: anna answered .* the file says"):
        import_answers(synthetic_dataset, answered, path)
    assert "carla" not in {a.annotator for a in all_answers(answered)}


def test_what_label_studio_itself_exports_is_read(synthetic_dataset, other, tmp_path):
    """The shape of Label Studio's own export: numbers for people, boxes, skipped annotations."""
    media_id = next(iter(synthetic_dataset.index))
    choice = {"from_name": "presence", "to_name": "image", "type": "choices", "id": "x1",
              "origin": "manual", "value": {"choices": ["visible"]}}  # fmt: skip
    box = {"from_name": "box", "to_name": "image", "type": "rectanglelabels", "id": "x2",
           "value": {"x": 1, "y": 2, "width": 3, "height": 4}}  # fmt: skip
    task = {
        "id": 7,
        "data": {"image": f"/data/local-files/?d=media/clean/{media_id}.png"},
        "annotations": [
            {"id": 1, "completed_by": 3, "was_cancelled": False, "lead_time": 4.2,
             "created_at": "2026-11-30T10:00:00.000000Z", "result": [box, choice]},
            {"id": 2, "completed_by": {"id": 4, "email": "b@example.org"}, "was_cancelled": True,
             "result": []},
        ],
        "predictions": [],
    }  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task]))
    with pytest.raises(AnnotateChoiceError, match="--by human or --by simulated"):
        import_answers(synthetic_dataset, other, path)
    assert import_answers(synthetic_dataset, other, path, by="human").added == 1
    (answer,) = all_answers(other)
    assert (answer.id, answer.variant, answer.value) == (media_id, "clean", "visible")
    assert (answer.annotator, answer.by, answer.response_ms) == ("ls-3", "human", 4200)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.jsonl", "{nothing", "Expecting"),
        ("a.jsonl", "[1]", "line 1 is not a JSON object"),
        ("a.jsonl", '{"annotator":"a","by":"human","variant":"clean","value":"visible"}', "'id'"),
        ("a.jsonl", '{"annotator":"a","by":"human","id":"x","variant":"clean","value":"visible"}',
         "the dataset has no image x 'clean'"),
        ("a.csv", "id,variant\n", "columns annotator, value are missing"),
        ("a.json", "{}", "a list of tasks"),
        ("a.json", '[{"data":{}}]', "task 1 is not as Label Studio exports it"),
        ("a.txt", "", "read from .csv, .json, .jsonl"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_named_with_what_is_wrong(
    synthetic_dataset, other, tmp_path, name, text, complaint
):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(AnnotateChoiceError) as caught:
        import_answers(synthetic_dataset, other, path)
    assert complaint in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"round": "../\x1b[2J"},
        {"round": "\ud800"},
        {"role": ["train"]},
        {"stratum": {"a": 1}},
        {"answered_at": "\ud800"},
        {"conditions": {"dpr": float("nan")}},
        {"annotator": None},
        {"annotator": 5},
    ],
)
def test_an_answer_that_no_database_holds_is_named_and_nothing_kept(
    synthetic_dataset, other, tmp_path, change
):
    row = {"annotator": "a", "by": "human", "variant": "clean", "value": "visible"}
    row["id"] = next(iter(synthetic_dataset.index))
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "annotator": "b", **change}))
    with pytest.raises(AnnotateChoiceError, match="answer 2: "):
        import_answers(synthetic_dataset, other, path)
    assert other.rounds() == []


def test_a_row_with_a_cell_too_many_is_no_answer(synthetic_dataset, other, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("annotator,id,variant,value\na,b,clean,visible,more\n")
    with pytest.raises(AnnotateChoiceError, match="line 2 has more cells"):
        import_answers(synthetic_dataset, other, path)


# --- labels --------------------------------------------------------------------------------------


def votes(dataset, present, *values, by="human"):
    media_id = next(k for k, row in dataset.index.items() if row["target_present"] == present)
    return [
        replace(BASE, id=media_id, annotator=f"a{i}", value=value, by=by)
        for i, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "label", "probability"),
    [
        (("visible", "visible", "not_visible"), 1, 2 / 3),
        (("visible", "not_visible"), None, 0.5),
        (("not_visible", "unsure"), 0, 0.25),
        (("unsure",), None, 0.5),
        (("visible", "unsure", "unsure"), 1, 2 / 3),
    ],
)
def test_the_majority_decides_and_unsure_counts_half(synthetic_dataset, values, label, probability):
    (row,) = label_rows(votes(synthetic_dataset, True, *values), synthetic_dataset)
    assert row["human_discernable"] == label
    assert row["probability"] == pytest.approx(probability)
    assert row["by"] == "human"


def test_where_nobody_is_the_label_is_0_whatever_was_answered(synthetic_dataset):
    (row,) = label_rows(votes(synthetic_dataset, False, "visible", "visible"), synthetic_dataset)
    assert (row["human_discernable"], row["probability"]) == (0, 0.0)
    assert row["votes"]["visible"] == 2


def test_a_repeat_gives_no_second_vote(synthetic_dataset):
    first = votes(synthetic_dataset, True, "visible")
    again = [replace(first[0], showing=1, value="not_visible")]
    (row,) = label_rows(first + again, synthetic_dataset)
    assert (row["human_discernable"], row["annotators"]) == (1, 1)


def test_labels_of_people_and_of_programs_lie_apart(answered, synthetic_dataset, tmp_path):
    shutil.copytree(synthetic_dataset.root, tmp_path / "dataset")
    dataset = open_dataset(tmp_path / "dataset")
    written = {w.by: w for w in write_labels(dataset, answered)}
    assert {by: w.labels for by, w in written.items()} == {"human": 5, "simulated": 5}
    people = read_labels(dataset.root, "human")
    assert {row["by"] for row in people.values()} == {"human"}
    assert {row["by"] for row in read_labels(dataset.root, "simulated").values()} == {"simulated"}
    single = [json.loads(line) for line in written["human"].single.read_text().splitlines()]
    assert {row["id"] for row in single} == {media_id for media_id, _ in people}
    before = written["human"].path.read_bytes()
    write_labels(dataset, answered)
    assert written["human"].path.read_bytes() == before


def test_labels_that_no_annotation_made_are_not_replaced(answered, synthetic_dataset, tmp_path):
    root = tmp_path / "dataset"
    shutil.copytree(synthetic_dataset.root, root)
    dataset = open_dataset(root)
    write_labels(dataset, answered)
    path = root / "labels" / "human.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    del rows[0]["votes"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = path.read_bytes()
    with pytest.raises(AnnotateError, match="move that file away"):
        write_labels(dataset, answered)
    assert path.read_bytes() == before


def test_without_answers_there_are_no_labels_and_no_page(synthetic_dataset, other, tmp_path):
    with pytest.raises(AnnotateChoiceError, match="nobody was asked yet"):
        write_agreement(synthetic_dataset, other, tmp_path / "a.html")
    open_round(synthetic_dataset, other)
    with pytest.raises(AnnotateError, match="nobody answered yet"):
        write_agreement(synthetic_dataset, other, tmp_path / "a.html")
    with pytest.raises(AnnotateError, match="no answer counts yet"):
        write_labels(synthetic_dataset, other)


def test_the_page_says_whose_answers_it_compares_and_what_is_left_out(
    synthetic_dataset, answered, tmp_path
):
    numbers = write_agreement(synthetic_dataset, answered, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "simulated observers, no people" in page
    assert "An answer given in less than 150 ms is left out." in page
    assert "http://" not in page and "https://" not in page
    found = json.loads(numbers.read_text())["agreements"]
    assert [(a["round"], a["by"]) for a in found] == [
        ("presence", "human"), ("presence", "simulated"), ("action", "human"), ("rating", "human")
    ]  # fmt: skip
