"""Models and detectors of transformers, tiny and random, and a real server of one."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from limen.addon.core.dataset import open_dataset, read_table
from limen.analysis.cli import app
from limen.analysis.evaluate import evaluate_all, read_runs
from limen.analysis.models import Access, Model, ModelError, make_model
from limen.analysis.tasks import TASKS, find_task
from tiny import ARCHITECTURES, DETECTORS, build_detector, build_vlm
from typer.testing import CliRunner

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _offline():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("TRANSFORMERS_VERBOSITY", "error")
        yield


@pytest.fixture(scope="module")
def vlms(tmp_path_factory):
    root = tmp_path_factory.mktemp("vlms")
    return {name: build_vlm(name, root) for name in ARCHITECTURES}


def ask(dataset, model: Model, tasks=("presence",), limit=2):
    found = [find_task(task) for task in tasks]
    for name in tasks:
        shutil.rmtree(dataset.root / "runs" / f"{model.label}__{name}__clean", ignore_errors=True)
    evaluate_all(dataset, model, found, "clean", limit=limit, max_failures=1)
    tables = [dataset.root / "runs" / f"{model.label}__{name}__clean" for name in tasks]
    return [row for table in tables for row in read_table(table / "predictions.jsonl")]


# What each one's processor makes of an image of 160 x 160, and how many tokens of it.
RECEIVED = {
    "llava": ([1, 3, 56, 56], 16),
    "idefics3": ([1, 1, 3, 56, 56], 4),
    "gemma3": ([1, 3, 56, 56], 4),
}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_answers_through_its_own_processor_and_template(dataset, vlms, architecture):
    model = make_model(f"hf:{vlms[architecture]},max_new_tokens=4,label={architecture}")
    rows = ask(dataset, model, ("presence", "action-choice"))
    shape, tokens = RECEIVED[architecture]
    assert {row["outcome"] for row in rows} <= {"ok", "unparsed", "refused"}
    for row in rows:
        assert row["received"]["pixel_values"] == shape
        assert row["image_tokens"] == tokens
        assert row["tokens_in"] > tokens
        assert 0 < row["tokens_out"] <= 4
    assert model.settings["weights"].startswith("sha256:")
    assert (model.settings["dtype"], model.settings["trust_remote_code"]) == ("float32", False)
    assert model.runtime["parameters"] > 10_000


def test_a_model_says_the_same_each_time_and_in_a_batch(dataset, vlms):
    spec = f"hf:{vlms['llava']},max_new_tokens=8,label=again"
    first, again = (ask(dataset, make_model(spec)) for _ in range(2))
    batch = ask(dataset, make_model(spec + ",batch=4"))
    words = [
        [(row["id"], row["answer"]) for row in sorted(rows, key=lambda r: r["id"])]
        for rows in (first, again, batch)
    ]
    assert words[0] == words[1] == words[2]


def test_another_picture_changes_what_a_model_says(dataset, vlms):
    rows = ask(dataset, make_model(f"hf:{vlms['llava']},max_new_tokens=8,label=x"), limit=None)
    assert len({row["answer"] for row in rows}) > 1


def test_other_weights_are_another_model(vlms, tmp_path):
    copy = tmp_path / "llava"
    shutil.copytree(vlms["llava"], copy)
    first, same = (make_model(f"hf:{path}").settings["weights"] for path in (vlms["llava"], copy))
    config = copy / "generation_config.json"
    config.write_text(config.read_text() + " ")
    assert first == same != make_model(f"hf:{copy}").settings["weights"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nobody/nothing", "no model hf:nobody/nothing here, and it cannot be fetched"),
        ("./missing", "no such directory"),
        ("{empty}", "holds no config.json"),
        ("{llava},dtype=float8", "dtype is 'float8'"),
        ("{llava},batch=0", "batch is 0: 1 to 1024"),
        ("{llava},quantise=4bit", "needs bitsandbytes"),
        ("{llava},device=cuda", "this machine has cpu"),
    ],
)
def test_a_model_that_cannot_be_is_refused_before_anything_is_asked(
    vlms, tmp_path, target, message
):
    if "cuda" in target:
        import torch

        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
    with pytest.raises(ModelError, match=message):
        make_model("hf:" + target.format(llava=vlms["llava"], empty=tmp_path))


@pytest.mark.parametrize("architecture", DETECTORS)
def test_a_detector_says_yes_from_its_threshold_on(dataset, tmp_path, architecture):
    path = build_detector(architecture, tmp_path)
    rows = ask(dataset, make_model(f"hf-detect:{path},label=d"), limit=None)
    assert {row["outcome"] for row in rows} == {"ok"}
    assert rows[0]["received"]["pixel_values"] == [1, 3, 64, 64]
    scores = [row["score"] for row in rows if row["score"] is not None]
    for row in rows:
        sure = row["score"] is not None and row["score"] >= 0.5
        assert row["prediction"] == int(sure) == int(row["detections"] > 0)
    if scores:
        low = ask(dataset, make_model(f"hf-detect:{path},threshold=0.01,label=d2"), limit=None)
        assert {row["prediction"] for row in low if row["score"] is not None} == {1}


# --- a real server -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(vlms, tmp_path_factory):
    """``transformers serve`` with a tiny model; skipped where it is not installed."""
    program = Path(sys.executable).with_name("transformers")
    if not program.is_file():
        pytest.skip("transformers serve is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log"
    model = vlms["llava"]
    command = [
        program,
        "serve",
        model,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--device",
        "cpu",
    ]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    deadline = time.monotonic() + 120
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
                break
            except OSError:
                assert process.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < deadline, log.read_text()[-3000:]
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1", model
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_a_real_server_is_asked_as_any_other(dataset, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    url, name = server
    spec = f"openai:{name},max_new_tokens=4,concurrency=2,label=served"
    rows = ask(dataset, make_model(spec, Access(base_url=url)), ("presence", "action"), limit=2)
    assert len(rows) >= 6
    assert [row["error"] for row in rows if row["outcome"] == "error"] == []
    assert all(row["tokens_in"] > 16 for row in rows)
    assert open_dataset(dataset.root).index.keys() >= {row["id"] for row in rows}
    assert TASKS["presence"].prompt.system is None


# --- every kind at once, on rendered images ------------------------------------------------------


@pytest.mark.render
def test_every_kind_of_model_answers_about_600_rendered_images_and_the_report_shows_them(
    medium_dataset, vlms, server, tmp_path, monkeypatch
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    root = tmp_path / "dataset"
    shutil.copytree(medium_dataset.root, root)
    run = CliRunner()
    assert run.invoke(app, ["discern", "observe", str(root), "--sample", "all"]).exit_code == 0
    url, served = server
    specs = ["hog", "always-yes", "always-no", "observer"]
    specs.append(f"hf-detect:{build_detector('detr', tmp_path)},threshold=0.01,batch=16")
    specs += [f"hf:{path},max_new_tokens=2,batch=16,label={name}" for name, path in vlms.items()]
    specs.append(f"openai:{served},max_new_tokens=2,concurrency=2,label=served")
    command = ["evaluate", str(root), "--variant", "published", "--base-url", url]
    for spec in specs:
        command += ["-m", spec]
    done = run.invoke(app, command)
    assert done.exit_code == 0, done.output
    runs = {one.label.partition("__")[0]: one for one in read_runs(open_dataset(root), "presence")}
    assert len(runs) == len(specs) == 9
    # 192 by day; 432 in evening and night, as the camera recorded them and as night vision.
    assert {len(one.rows) for one in runs.values()} == {192 + 2 * 432}
    outcomes = {label: {row["outcome"] for row in one.rows} for label, one in runs.items()}
    assert not any("error" in found for found in outcomes.values())
    said = run.invoke(app, ["report", str(root), "--out", str(tmp_path / "report.html")])
    assert said.exit_code == 0, said.output
    text = (tmp_path / "report.html").read_text()
    assert all(label in text for label in runs)
    assert "Simulated" in text or "simulated" in text
