"""The `limen` command: help that teaches, one clear message for a mistake, exit statuses."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from limen import __version__
from limen.analysis import cli
from typer.testing import CliRunner

COMMANDS = (
    "run",
    "check",
    "develop",
    "annotate",
    "evaluate",
    "report",
    "grid",
    "compare",
    "sample",
    "bodies",
    "import",
    "tasks",
    "models",
)


@pytest.fixture
def limen():
    """Call the command in this process; returns the result with exit_code, stdout and stderr."""
    return lambda *arguments: CliRunner().invoke(cli.app, [str(a) for a in arguments])


@pytest.fixture
def root(tiny_dataset, tmp_path):
    shutil.copytree(tiny_dataset.root, tmp_path / "dataset")
    return tmp_path / "dataset"


def told(result):
    """The message on the error stream, without the frame and line ends that the console adds."""
    return " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_shows_an_example(limen, command):
    result = limen(command, "--help")
    assert result.exit_code == 0
    assert f"Example: limen {command} " in result.stdout


def test_the_help_lists_every_command(limen):
    listed = limen("--help").stdout
    assert all(f" {command} " in listed for command in COMMANDS)


def test_help_imports_nothing_heavy():
    heavy = ("cv2", "jinja2", "jsonschema", "numpy", "pandas", "plotly", "scipy")
    script = (
        "import sys; from limen.analysis.cli import app\n"
        "try: app(['--help'])\n"
        f"except SystemExit: print('loaded', [m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_the_version_is_the_packages(limen):
    assert limen("--version").stdout == f"limen {__version__}\n"


@pytest.mark.parametrize("command", ["check", "report", "evaluate", "compare"])
def test_a_directory_that_is_no_dataset_is_wrong_use(limen, tmp_path, command):
    more = {"evaluate": ["--model", "hog"], "compare": [tmp_path]}.get(command, [])
    result = limen(command, tmp_path, *more)
    assert result.exit_code == 2
    assert "it holds no study.toml" in told(result)


def test_a_misspelt_model_is_wrong_use_and_nothing_is_asked(limen, root):
    result = limen("evaluate", root, "--model", "always-yes", "--model", "hogg")
    assert result.exit_code == 2
    assert told(result).startswith("Error: there is no model 'hogg'; did you mean 'hog'?")
    assert not (root / "runs").exists()


def test_a_failure_of_ours_is_one_message_and_no_traceback(root):
    (part,) = (root / "index").glob("*.jsonl")
    row = json.loads(part.read_text().splitlines()[0])
    part.write_text(part.read_text() + json.dumps({**row, "exposure_s": 9.0}) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "limen.analysis.cli", "report", str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "has two different rows" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bug_shows_its_traceback(limen, root, monkeypatch):
    def broken(*arguments):
        raise KeyError("a bug")

    monkeypatch.setattr(cli.dataset, "check_and_show", broken)
    assert isinstance(limen("check", root).exception, KeyError)


def test_a_file_that_cannot_be_written_is_named(limen, root, tmp_path):
    (tmp_path / "file").write_text("")
    result = limen("report", root, "--out", tmp_path / "file" / "report.html")
    assert result.exit_code == 1
    assert told(result).startswith(f"Error: {tmp_path / 'file'}")


def test_ctrl_c_exits_with_130_and_says_how_to_go_on(limen, root, monkeypatch):
    def stopped(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.evaluation, "ask_and_show", stopped)
    result = limen("evaluate", root, "--model", "hog", "--variant", "clean")
    assert result.exit_code == 130
    assert told(result) == "stopped. The same command goes on where it stopped."


def test_check_shows_what_was_checked_and_exits_with_0(limen, root):
    result = limen("check", root)
    assert result.exit_code == 0
    assert re.search(r"(?m)^files, size and hash +28 +0 ", result.stdout)


def test_check_shows_the_first_20_problems_and_how_many_there_are(limen, root):
    for path in [*root.rglob("*.png"), *root.rglob("*.exr")]:
        path.unlink()
    result = limen("check", root, "--quick")
    assert result.exit_code == 1
    assert result.stdout.count(" is missing (of v") == 20
    assert "the first 20 of 29 problems" in result.stdout  # 28 files, a plate of two views


def test_evaluate_says_what_it_asked_and_a_second_time_that_there_is_nothing_to_do(limen, root):
    models = ("--model", "always-yes", "--model", "always-no")
    ask = ("evaluate", root, *models, "--variant", "clean", "--limit", 2)
    first, second = limen(*ask), limen(*ask)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert (
        "always-yes: asked 6 of 6 questions (6 ok, 0 unparsed, 0 refused, 0 error)" in first.stdout
    )
    assert "always-no: nothing to do, all 6 answers are there" in second.stdout


def test_evaluate_fails_when_a_question_ended_in_an_error(limen, root):
    for path in (root / "media/clean").glob("*.png"):
        path.unlink()
    result = limen("evaluate", root, "--model", "hog", "--variant", "clean", "--limit", 1)
    assert result.exit_code == 1
    assert "0 ok, 0 unparsed, 0 refused, 3 error" in result.stdout


def test_report_goes_into_the_dataset_unless_told_otherwise(limen, root, tmp_path):
    assert limen("report", root).exit_code == 0
    assert limen("report", root, "--out", tmp_path / "page.html").exit_code == 0
    assert (root / "report.html").read_bytes() == (tmp_path / "page.html").read_bytes()


def test_sample_makes_a_dataset_that_compares_equal_to_another_of_its_seed(
    limen, synthetic_dataset, tmp_path
):
    sample, other = tmp_path / "sample", synthetic_dataset.root
    assert limen("sample", sample).exit_code == 0
    same = limen("compare", sample, other)
    assert (same.exit_code, same.stdout) == (0, "equal\n")
    next((sample / "media/clean").glob("*.png")).unlink()
    different = limen("compare", sample, other)
    assert different.exit_code == 1
    assert "is only in" in different.stdout
    assert "1 difference" in different.stdout


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_grid_exports_every_view_of_a_study_by_its_name(limen, tmp_path, suffix):
    out = tmp_path / f"grid.{suffix}"
    assert limen("grid", "ci", "--out", out).exit_code == 0
    lines = out.read_text().splitlines()
    assert len(lines) == 8 + (suffix == "csv")  # 4 views with a person, as many backgrounds
    assert "azimuth_deg" in lines[0]


def test_grid_refuses_another_kind_of_file(limen, tmp_path):
    result = limen("grid", "ci", "--out", tmp_path / "grid.xlsx")
    assert result.exit_code == 2
    assert "written as .csv or .jsonl" in told(result)


def test_a_faulty_study_is_wrong_use_with_every_fault(limen, tmp_path):
    (tmp_path / "bad.toml").write_text('name = "bad"\nseed = -1\ncolour = 3\n')
    result = limen("grid", tmp_path / "bad.toml", "--out", tmp_path / "grid.csv")
    assert result.exit_code == 2
    assert "seed" in told(result)
    assert "colour" in told(result)


def test_bodies_refuses_what_is_no_wheel(limen, tmp_path):
    (tmp_path / "x.whl").write_text("")
    result = limen("bodies", "--wheel", tmp_path / "x.whl", "--out", tmp_path)
    assert result.exit_code == 1
    assert "is not a wheel" in told(result)


def test_what_steers_a_terminal_is_escaped(limen, root):
    (part,) = root.glob("views/*.jsonl")
    lines = part.read_text().splitlines()
    row = json.loads(lines[0])
    row["family"] = "\x1b[2J\u202e"
    part.write_text("\n".join([json.dumps(row, ensure_ascii=False), *lines[1:]]) + "\n")
    result = limen("check", root, "--quick")
    assert result.exit_code == 1
    assert "\x1b[2J" not in result.stdout
    assert "\u202e" not in result.stdout


def test_a_report_on_a_damaged_study_is_one_message(limen, root):
    (root / "study.toml").write_bytes(b"x = [")
    result = limen("report", root)
    assert result.exit_code == 2
    assert "Study is not valid TOML" in told(result)
