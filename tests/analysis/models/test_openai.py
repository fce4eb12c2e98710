"""Models behind a server, in every mood that a server has."""

import base64
import json
import random
import time

import pytest
from limen.addon.core.dataset import read_table
from limen.analysis.cli import app
from limen.analysis.evaluate import EvaluateError, evaluate, evaluate_all, read_runs
from limen.analysis.models import Access, ModelError, make_model
from limen.analysis.tasks import TASKS
from misbehaving import completion
from typer.testing import CliRunner

KEY = "sk-planted-4f0e9d1c"


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def model_at(server, settings="timeout_s=20", **access):
    return make_model(f"openai:seer,{settings}", Access(base_url=server.url, **access))


def rows_of(dataset):
    (table,) = (dataset.root / "runs").glob("*/predictions.jsonl")
    return read_table(table)


def test_a_question_carries_the_datasets_own_pixels_the_prompt_and_nothing_else(dataset, serve):
    server = serve(lambda number, before, handler: (200, {}, completion("1")))
    evaluate(dataset, model_at(server), limit=1)
    body = server.bodies[0]
    (message,) = body["messages"]
    picture, text = message["content"]
    sent = base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/png;base64,"))
    assert sent in [path.read_bytes() for path in (dataset.root / "media/clean").iterdir()]
    assert text["text"] == TASKS["presence"].question
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == (
        "seer",
        0,
        42,
        512,
    )
    row = rows_of(dataset)[0]
    assert (row["tokens_in"], row["tokens_out"], row["served_model"]) == (100, 1, "served")
    assert row["received"]["sent"] == [{"size": [160, 160], "format": "png"}]


def test_published_compatibility_squashes_the_picture_as_it_was_published(dataset, serve):
    server = serve(lambda number, before, handler: (200, {}, completion("1")))
    access = Access(base_url=server.url, published_compat=True)
    evaluate(dataset, make_model("openai:gpt-4o-mini-2024-07-18", access), limit=1)
    body = server.bodies[0]
    assert "temperature" not in body
    assert body["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/jpeg")
    assert rows_of(dataset)[0]["received"]["sent"] == [{"size": [512, 512], "format": "jpeg"}]


@pytest.mark.slow
def test_a_server_in_every_mood_loses_nothing_and_scores_nothing_0_by_mistake(dataset, serve):
    # What each question meets before it is answered, by its number: every mood, and two in a row.
    moods = [
        lambda h: (429, {"Retry-After": "0.05"}, b'{"error": {"message": "slow down"}}'),
        lambda h: (500, {}, b"oops"),
        lambda h: (200, {}, b"<html>nonsense</html>"),
        lambda h: (200, {}, b'{"choices": []}'),
        lambda h: (200, {}, b'{"choices": [{"message": {"content": 0}}]}'),
        lambda h: h.half_a_body(),
        lambda h: h.hang(0.5),
    ]

    def behave(number, before, handler):
        if before < 1 + number % 2:
            return moods[(number + before) % len(moods)](handler)
        return 200, {}, completion("1")

    server = serve(behave)
    summary = evaluate(dataset, model_at(server, "timeout_s=0.3,backoff_s=0.02,concurrency=8"))
    assert summary.outcomes == {"ok": 45}
    assert {(row["prediction"], row["outcome"]) for row in rows_of(dataset)} == {(1, "ok")}


def test_what_never_answers_is_an_error_never_a_0_and_is_asked_again(dataset, serve):
    server = serve(lambda number, before, handler: (503, {}, b"busy"))
    model = model_at(server, "retries=1,backoff_s=0.02")
    (summary,) = evaluate_all(dataset, model, [TASKS["presence"]], "clean", limit=2, max_failures=1)
    assert summary.outcomes == {"error": 6}
    assert "status 503" in summary.last_error
    row = rows_of(dataset)[0]
    assert (row["prediction"], row["answer"]) == (None, None)
    assert "given up after 2 attempt(s): status 503" in row["error"]
    server.behave = lambda number, before, handler: (200, {}, completion("0"))
    assert evaluate(dataset, model, limit=2).outcomes == {"ok": 6}


def test_a_server_that_drips_is_cut_off_at_the_time_for_the_whole_answer(dataset, serve):
    def drip(number, before, handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    server = serve(drip)
    started = time.monotonic()
    model = model_at(server, "retries=0,timeout_s=0.3")
    (summary,) = evaluate_all(dataset, model, [TASKS["presence"]], "clean", limit=1, max_failures=1)
    assert summary.outcomes == {"error": 3}
    assert time.monotonic() - started < 4
    assert "no whole answer within 0.3 s" in rows_of(dataset)[0]["error"]


def test_retry_after_holds_for_all_questions(dataset, serve):
    times = []

    def behave(number, before, handler):
        times.append(time.monotonic())
        if len(times) == 1:
            return 429, {"Retry-After": "0.6"}, b"{}"
        return 200, {}, completion("1")

    server = serve(behave)
    evaluate(dataset, model_at(server, "concurrency=1"), limit=1)
    assert times[1] - times[0] >= 0.6


def test_concurrency_grows_while_the_server_keeps_up_and_has_a_limit(dataset, serve):
    def behave(number, before, handler):
        time.sleep(0.1)
        return 200, {}, completion("1")

    server = serve(behave)
    evaluate(dataset, model_at(server, "concurrency=6"))
    assert 4 < server.most_at_once <= 6


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_that_refuses_altogether_stops_the_run_at_once(dataset, serve, status):
    says = json.dumps({"error": {"message": f"no: {KEY}"}}).encode()
    server = serve(lambda number, before, handler: (status, {}, says))
    with pytest.raises(EvaluateError, match="the server refuses") as caught:
        evaluate(dataset, model_at(server, "concurrency=1"))
    assert len(server.bodies) == 1
    assert KEY not in str(caught.value)


def test_a_server_of_ones_own_may_come_back_on_another_port_and_another_one_is_another_run(
    dataset, serve
):
    first, second = (serve(lambda *_: (200, {}, completion("1"))) for _ in range(2))
    evaluate(dataset, model_at(first), limit=1)
    patient = model_at(second, "timeout_s=30,concurrency=2")  # changes no answer
    assert evaluate(dataset, patient, limit=2).asked == 3
    elsewhere = make_model("openai:seer", Access(base_url="http://192.0.2.1/v1"))
    with pytest.raises(EvaluateError, match=r"another model: \{'server': 'this machine'\}, now"):
        evaluate(dataset, elsewhere)


def test_a_refusal_is_its_own_outcome(dataset, serve):
    server = serve(lambda number, before, handler: (200, {}, completion(None, refusal="I won't.")))
    assert evaluate(dataset, model_at(server), limit=1).outcomes == {"refused": 3}
    assert (rows_of(dataset)[0]["answer"], rows_of(dataset)[0]["prediction"]) == ("I won't.", None)


def test_a_planted_key_is_nowhere(dataset, serve, capsys, caplog):
    caplog.set_level("DEBUG")
    echo = completion(f"Yes, and your key is {KEY}.", refusal=None)
    error = json.dumps({"error": {"message": f"bad key {KEY} for Bearer {KEY}"}}).encode()

    def behave(number, before, handler):
        return (400, {}, error) if number % 2 else (200, {}, echo)

    server = serve(behave)
    model = model_at(server, "retries=0")
    evaluate_all(dataset, model, [TASKS["presence"]], "clean", max_failures=1)
    assert set(server.keys) == {f"Bearer {KEY}"}
    files = [path for path in dataset.root.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    for key in ("error", "answer"):
        assert any("***" in (row.get(key) or "") for row in rows_of(dataset))
    read_runs(dataset)
    printed = capsys.readouterr()
    assert KEY not in printed.out + printed.err + caplog.text + repr(model.settings)


def test_answers_of_a_run_that_is_stopped_anywhere_are_kept_and_not_asked_again(dataset, serve):
    server = serve(lambda number, before, handler: (200, {}, completion("1")))
    rng = random.Random(1)
    while True:
        stop_at = rng.randint(1, 12)

        seen = []

        def stop(done, total, seen=seen, stop_at=stop_at):
            seen.append(done)
            if len(seen) > stop_at and done < total:
                raise KeyboardInterrupt

        try:
            evaluate(dataset, model_at(server), progress=stop)
            break
        except KeyboardInterrupt:
            recorded = {(row["id"], row["variant"]) for row in rows_of(dataset)}
            assert len(recorded) == len(rows_of(dataset))
    rows = rows_of(dataset)
    assert len(rows) == len({row["id"] for row in rows}) == 45


def test_the_command_asks_several_tasks_and_tells_a_choice_beside_chance(dataset, serve):
    server = serve(lambda number, before, handler: (200, {}, completion("A")))
    options = ("--base-url", server.url, "--variant", "clean", "--limit", "6")
    tasks = ("--task", "presence", "--task", "action-choice")
    command = ["evaluate", str(dataset.root), "-m", "openai:seer", *options, *tasks]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "openai-seer, presence: asked 18 of 18 questions (0 ok, 18 unparsed" in result.stdout
    assert "(by chance" not in result.stdout and "by chance 25.0%)" in result.stdout
    again = CliRunner().invoke(app, [*command, "--parser", "published"])
    assert "all 18 answers are there, 18 read again" in again.stdout


def test_what_a_server_counts_and_nests_leaves_the_table_readable(dataset, serve):
    def behave(number, before, handler):
        if before == 0:
            return 200, {}, b"[" * 100_000
        return (
            200,
            {},
            completion("1").replace(b'"prompt_tokens": 100', b'"prompt_tokens": 1' + b"0" * 20),
        )

    model = model_at(serve(behave), "backoff_s=0.01")
    assert evaluate(dataset, model, limit=1).outcomes == {"ok": 3}
    assert {(row["tokens_in"], row["tokens_out"]) for row in rows_of(dataset)} == {(None, 1)}


@pytest.mark.parametrize(
    ("spec", "access", "message"),
    [
        ("openai:x", Access(), "needs the address of its server: --base-url"),
        ("openai:x", Access(base_url="ftp://x"), "is 'ftp://x': http://"),
        ("openai:x", Access(base_url="http://[::1/v1"), "http://... or https://... is needed"),
        ("openai:x", Access(base_url="http://h:99999/v1"), "http://... or https://... is needed"),
        ("openai:x", Access(base_url="http://h:a/v1"), "http://... or https://... is needed"),
        ("openai:x", Access(base_url="http://me:secret@x/v1"), "keys come from the environment"),
        ("openai:x,temperature=hot", Access(base_url="http://x"), "temperature is 'hot'"),
        ("openai:x,detail=fine", Access(base_url="http://x"), "one of high, low, auto, none"),
        ("openai:", Access(base_url="http://x"), "openai:NAME is needed"),
    ],
)
def test_a_wrong_setting_is_refused(spec, access, message):
    with pytest.raises(ModelError, match=message):
        make_model(spec, access)
