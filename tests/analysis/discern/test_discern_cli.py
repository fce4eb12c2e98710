"""`limen discern`: help that teaches, and one line for each mistake."""

import json

import pytest
from limen.addon.core.dataset import append_table, open_dataset
from limen.analysis.cli import app
from limen.analysis.discern import packages
from limen.analysis.discern.sampling import read_sample
from limen.analysis.discern.table import read_labels
from typer.testing import CliRunner

COMMANDS = ("sample", "observe", "features", "fit", "apply", "report")
OK, FAILED, WRONG_USE = 0, 1, 2


def limen(*arguments):
    done = CliRunner().invoke(app, ["discern", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, " ".join(done.output.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_an_example(command):
    status, said = limen(command, "--help")
    assert status == OK and f"Example: limen discern {command}" in said


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("sample", "--margin", 5), WRONG_USE, "margin is 5.0: it lies between 0 and 1"),
        (("sample", "--catch", 1), WRONG_USE, "catch_share is 1.0"),
        (("sample", "--train-factor", "nan"), WRONG_USE, "train_factor is nan"),
        (("sample", "--name", "../x"), WRONG_USE, "letters, digits"),
        (("sample", "--margin", 1e-300), WRONG_USE, "finer than can be computed"),
        (("sample", "--confidence", 1 - 1e-16), WRONG_USE, "finer than can be computed"),
        (("fit", "--name", "../../x"), WRONG_USE, "model name '../../x'"),
        (("fit", "--name", ""), WRONG_USE, "model name ''"),
        (("observe",), WRONG_USE, "limen discern sample"),
        (("observe", "--url", "http://[::1"), WRONG_USE, "is no address such as"),
        (("observe", "--url", "http://127.0.0.1:x"), WRONG_USE, "is no address such as"),
        (("observe", "--sample", "all", "--distance", 0), WRONG_USE, "viewing distance_m is 0.0"),
        (("observe", "--sample", "all", "--field-factor", "inf"), WRONG_USE, "field_factor is inf"),
        (("features", "--extra", "colour"), WRONG_USE, "there is no feature 'colour'"),
        (("features", "--samples", 0), WRONG_USE, "samples is 0"),
        (("fit",), FAILED, "has no labels to learn from"),
        (("fit", "--labels", "robot"), WRONG_USE, "there are no 'robot' labels"),
        (("apply",), WRONG_USE, "there is no model in"),
        (("report",), FAILED, "has no labels"),
        (("report", "--model", "mian"), WRONG_USE, "there is no model in"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(developed, arguments, status, said):
    command, *options = arguments
    found, output = limen(command, developed, *options)
    assert (found, said in output) == (status, True), output
    assert "Traceback" not in output


def test_a_dataset_that_was_not_developed_is_told_how(synthetic_dataset):
    for command in ("sample", "features", "observe"):
        options = ("--sample", "all") if command == "observe" else ()
        status, said = limen(command, synthetic_dataset.root, *options)
        assert status == FAILED and "limen develop" in said


def test_the_simulated_observer_labels_a_sample_once_and_goes_on(developed):
    limen("sample", developed, "--test-share", 0.4)
    status, said = limen("observe", developed, "--workers", 1)
    assert status == OK and "simulated observer:" in said and "false alarms" in said
    labels = read_labels(developed)
    assert len(labels) == len(read_sample(developed))
    assert {row["by"] for row in labels.values()} == {"simulated"}
    table = developed / "labels" / "simulated.jsonl"
    lines = table.read_bytes().splitlines(keepends=True)
    table.write_bytes(b"".join(lines[:-2]) + lines[-2][:30])
    assert "2 images labelled" in limen("observe", developed, "--workers", 1)[1]
    assert read_labels(developed) == labels
    status, said = limen("observe", developed, "--seed", 5)
    assert status == WRONG_USE and "seed 0, now 5" in said and "--redo" in said


def test_repeats_give_shares_and_catch_trials_stay_0(developed):
    limen("observe", developed, "--sample", "all", "--repeats", 4, "--workers", 1)
    index = open_dataset(developed).index
    for (media_id, _), row in read_labels(developed).items():
        if not index[media_id]["target_present"]:
            assert row["human_discernable"] == 0 and row["catch"] and row["answer"] in (0, 1, None)
            continue
        assert 4 * row["probability"] in (0, 1, 2, 3, 4)
        tie = row["probability"] == 0.5
        assert row["human_discernable"] == (None if tie else int(row["probability"] > 0.5))


@pytest.mark.parametrize(
    ("table", "command"),
    [
        ("labels/human.jsonl", "fit"),
        ("labels/samples/main.jsonl", "observe"),
        ("labels/features/000.jsonl", "features"),
    ],
)
@pytest.mark.parametrize("row", [{}, {"id": 3}, {"id": "v", "variant": "nv", "by": []}])
def test_a_table_of_nonsense_is_named_with_its_line(developed, table, command, row):
    append_table(developed / table, [row])
    status, said = limen(command, developed)
    assert status in (FAILED, WRONG_USE) and f"{table.rsplit('/', 1)[1]}:1" in said.replace(" ", "")


def test_a_line_that_is_no_json_is_named(developed):
    (developed / "labels").mkdir(exist_ok=True)
    (developed / "labels" / "human.jsonl").write_text("{no json}\n")
    status, said = limen("report", developed)
    assert status == FAILED and "is not JSON" in said


def test_a_sample_of_images_that_are_gone_is_an_error(developed):
    row = {"id": "v000000000000-night", "variant": "nv", "stratum": "", "catch": False}
    append_table(developed / "labels" / "samples" / "main.jsonl", [{**row, "role": "test"}])
    status, said = limen("observe", developed)
    assert status == WRONG_USE and "v000000000000-night" in said


def test_labels_as_written_are_plain_json(developed):
    limen("observe", developed, "--sample", "all", "--workers", 1)
    for line in (developed / "labels" / "simulated.jsonl").read_text().splitlines():
        assert json.loads(line)["observer"]["field_factor"] == 2.0


def test_without_the_extra_it_says_what_to_install(developed, monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda module: None)
    for command in ("features", "fit"):
        status, said = limen(command, developed)
        assert status == FAILED and "pip install 'limen[discern]'" in said
