"""The commands that ask models, as a user types them."""

import json
import shutil

import pytest
from limen.analysis import cli
from limen.analysis.tasks import TASKS
from typer.testing import CliRunner


@pytest.fixture
def limen():
    return lambda *arguments: CliRunner().invoke(cli.app, [str(a) for a in arguments])


@pytest.fixture
def root(tiny_dataset, tmp_path):
    shutil.copytree(tiny_dataset.root, tmp_path / "dataset")
    return tmp_path / "dataset"


def told(result):
    return " ".join(result.stderr.replace("│", " ").split())


def test_the_published_layout_needs_developed_images_and_is_the_default_where_they_are(limen, root):
    result = limen("evaluate", root, "-m", "always-yes", "--variant", "published")
    assert result.exit_code == 1
    assert f"limen develop {root} makes the others; --variant clean asks" in told(result)
    result = limen("evaluate", root, "-m", "always-yes")
    assert result.exit_code == 0
    assert "Nothing was developed: the clean images are asked about" in told(result)
    assert [run.name for run in (root / "runs").iterdir()] == ["always-yes__presence__clean"]
    limen("develop", root, "--denoiser", "none", "--workers", 1)
    assert limen("evaluate", root, "-m", "always-yes").exit_code == 0
    assert (root / "runs" / "always-yes__presence__published").is_dir()


def test_a_prompt_is_shown_word_for_word(limen):
    result = limen("tasks", "presence")
    assert TASKS["presence"].question in result.stdout
    assert "prompt published, version 1" in result.stdout


def test_a_studys_questions_are_counted_before_anything_is_rendered(limen):
    result = limen("tasks", "--study", "paper-size")
    assert "12,192" in result.stdout and "27,432" in result.stdout


def test_models_are_listed_and_explain_their_settings(limen):
    assert "hf:Qwen/Qwen2.5-VL-3B-Instruct" in limen("models").stdout
    hog = limen("models", "hog").stdout
    assert "group=2" in hog and "Raises" not in hog
    assert limen("models", "hogg").exit_code == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--task", "presense"), "no task 'presense'; did you mean 'presence'"),
        (("--parser", "lax"), "no parser 'lax'"),
        (("--engine", "slurm"), "--engine is 'slurm'"),
        (("--workers", 2), "--workers is for --engine ray"),
        (("--price-in", 1), "--price-in and --price-out belong together"),
        (("-m", "always-yes"), "two models would be called always-yes"),
        (("--task", "action"), "always-yes answers presence only, not action"),
        (("-m", "openai:x"), "needs the address of its server"),
    ],
)
def test_wrong_use_is_one_message_and_nothing_is_asked(limen, root, monkeypatch, more, message):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    result = limen("evaluate", root, "-m", "always-yes", "--variant", "clean", *more)
    assert result.exit_code == 2
    assert message in told(result)
    assert not list(root.glob("runs/*/predictions.jsonl"))


def test_a_paid_run_tells_its_price_and_is_not_begun_without_a_word(limen, root, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    prices = ("--price-in", 0.15, "--price-out", 0.6)
    ask = ("evaluate", root, "-m", "openai:gpt-4o-mini-2024-07-18", "--variant", "clean", *prices)
    result = limen(*ask)
    # 12 questions, a picture of one tile each: 2,833 + 5,667 tokens, and 131 characters.
    assert "12 questions, about 102,393 tokens asked and 60 answered: about 0.02 USD" in told(
        result
    )
    assert "--yes pays without asking" in told(result)
    assert result.exit_code == 2
    assert not (
        root / "runs/openai-gpt-4o-mini-2024-07-18__presence__clean/predictions.jsonl"
    ).exists()


def test_a_run_is_named_by_model_task_and_variant_and_keeps_what_was_asked(limen, root):
    result = limen("evaluate", root, "-m", "oracle-area", "-m", "hog", "--variant", "clean")
    assert result.exit_code == 0
    runs = {path.name for path in (root / "runs").iterdir()}
    assert runs == {"oracle-area__presence__clean", "hog__presence__clean"}
    about = json.loads((root / "runs/hog__presence__clean/run.json").read_text())
    assert about["prompt"]["text"] == TASKS["presence"].question
    assert about["parser"] == "strict"
