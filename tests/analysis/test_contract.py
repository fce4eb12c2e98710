"""A row that breaks the contract is named, whatever command meets it first."""

import json
import re
import shutil

import pytest
from limen.addon.core.dataset import DatasetError, open_dataset
from limen.addon.core.study import StudyError
from limen.analysis.contract import against_schema, rows_blamed
from limen.analysis.evaluate import evaluate
from limen.analysis.models import make_model
from limen.analysis.report import build_report


@pytest.fixture
def broken(tiny_dataset, tmp_path):
    """Return a function that breaks a row of a copy and returns the copy and the row's id."""
    root = tmp_path / "dataset"
    shutil.copytree(
        tiny_dataset.root, root, ignore=shutil.ignore_patterns("light", "depth", "masks")
    )

    def break_row(table, key, value):
        (part,) = root.glob(f"{table}/*.jsonl")
        rows = [json.loads(line) for line in part.read_text().splitlines()]
        rows[1][key] = value
        part.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return root, rows[1]["id" if table == "index" else "view_id"]

    return break_row


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("views", "camera", None),
        ("views", "factors", {}),
        ("views", "density_nominal_px_per_m", 0),
        ("index", "band", "<script>"),
        ("index", "band", []),
        ("index", "illuminance_nominal_lx", "x"),
    ],
)
def test_a_report_over_a_broken_row_names_the_row_and_the_key(broken, tmp_path, table, key, value):
    root, row_id = broken(table, key, value)
    with pytest.raises(DatasetError, match=rf"breaks the contract: {re.escape(row_id)}\.{key}"):
        build_report(root, tmp_path / "report.html")


def test_a_number_beyond_every_float_breaks_the_contract(tiny_dataset):
    row = {**next(iter(tiny_dataset.index.values())), "exposure_s": float("inf")}
    assert list(against_schema("index")(row)) == [("", "holds a number that is not finite")]


def test_an_error_that_no_row_has_caused_stays_what_it_is(tiny_dataset):
    with pytest.raises(KeyError, match="a bug of ours"), rows_blamed(tiny_dataset):
        raise KeyError("a bug of ours")


def test_an_error_with_words_of_its_own_stays_what_it_is_beside_a_broken_row(broken):
    root, _ = broken("index", "band", [])
    with pytest.raises(StudyError, match="its own words"), rows_blamed(open_dataset(root)):
        raise StudyError(["its own words"])


def test_a_broken_row_that_a_model_never_looks_at_does_not_stop_it(broken):
    root, _ = broken("views", "camera", None)
    assert evaluate(open_dataset(root), make_model("always-no"), limit=1).asked == 3
