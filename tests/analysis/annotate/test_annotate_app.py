"""The web application: who gets in, what is told to whom, and what is refused."""

import json
import re

import pytest
from limen.analysis.annotate.answers import read_answers
from limen.analysis.annotate.app import COOKIE, create_app
from limen.analysis.annotate.errors import AnnotateChoiceError, ReplyError
from limen.analysis.annotate.security import Gate
from limen.analysis.annotate.tasks import Settings, check_reply
from starlette.testclient import TestClient

PASSWORD = "sand and boulders"


@pytest.fixture
def browser(presence, presence_store, library):
    """Open the application as a browser would, on this machine or (password) on a wider address."""

    def browser(password=None):
        gate = Gate("127.0.0.1" if password is None else "0.0.0.0", password)
        app = create_app(presence, presence_store, library, gate)
        return TestClient(app, base_url="http://127.0.0.1:8710", follow_redirects=False)

    return browser


def enter(client, name="anna", **form):
    """Sign in and say how one looks; returns what changing requests carry."""
    assert client.post("/login", data={"name": name, **form}).status_code == 303
    csrf = re.search(r'name="csrf" value="([^"]+)"', client.get("/start").text)[1]
    conditions = {"distance_cm": "60", "lighting": "dim", "calibrated": "no", "dpr": "1.5"}
    assert client.post("/start", data={"csrf": csrf, **conditions}).status_code == 303
    return {"X-Limen-CSRF": csrf}


def answer(client, headers, trial, value="visible", **more):
    body = {"token": trial["token"], "value": value, **more}
    return client.post("/api/answer", json=body, headers=headers)


def test_an_annotator_signs_in_says_how_they_look_and_answers(browser, presence, presence_store):
    client = browser()
    headers = enter(client)
    state = client.get("/api/state").json()
    view = {"dpr": 1.5, "width": 1920, "height": 1080, "window": None, "rubbish": "<script>"}
    said = answer(client, headers, state["trial"], response_ms=812.34, view=view).json()
    assert (said["outcome"], said["done"], said["total"]) == ("kept", 1, 49)
    assert said["trial"]["token"] == state["next"]["token"]
    (kept,) = read_answers(presence_store, presence)
    assert (kept.annotator, kept.by, kept.value) == ("anna", "human", "visible")
    assert (kept.variant, kept.response_ms) == ("clean", 812.3)
    assert kept.view == {
        "dpr": 1.5, "width": 1920, "height": 1080, "window": None, "full_screen": False
    }  # fmt: skip
    assert (kept.conditions["distance_cm"], kept.conditions["lighting"]) == (60, "dim")
    assert (kept.conditions["calibrated"], kept.conditions["diagonal_inch"]) == (False, None)


def test_a_person_is_told_nothing_that_names_the_image_and_a_program_is(browser):
    person, program = browser(), browser()
    enter(person)
    enter(program, "observer", simulated="true")
    told = person.get("/api/state").json()
    assert set(told["trial"]) == {
        "token", "kind", "width", "height", "frames", "fps", "window"
    }  # fmt: skip
    assert set(program.get("/api/state").json()["trial"]["item"]) == {"id", "variant"}


def test_an_image_is_served_to_its_annotator_by_the_trials_token_alone(browser):
    client, other, nobody = browser(), browser(), browser()
    enter(client)
    enter(other, "berta")
    trial = client.get("/api/state").json()["trial"]
    served = client.get(f"/image/{trial['token']}/0")
    assert served.content.startswith(b"\x89PNG")
    assert served.headers["content-type"] == "image/png"
    assert other.get(f"/image/{trial['token']}/0").status_code == 404
    assert nobody.get(f"/image/{trial['token']}/0").status_code == 303


@pytest.mark.parametrize(
    "path",
    [
        "/image/..%2f..%2fstudy.toml/0",
        "/image/%2e%2e/0",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2fapp.py",
        "/static/app.py",
        "/image/x/-1",
        "/image/x/999999999999999999999",
    ],
)
def test_no_path_leads_to_another_file(browser, path):
    client = browser()
    enter(client)
    assert client.get(path).status_code in (404, 422)


def test_a_request_without_the_pages_token_changes_nothing(browser, presence, presence_store):
    client = browser()
    enter(client)
    trial = client.get("/api/state").json()["trial"]
    for headers in ({}, {"X-Limen-CSRF": "guess"}):
        assert answer(client, headers, trial).status_code == 403
        body = {"token": trial["token"]}
        assert client.post("/api/undo", json=body, headers=headers).status_code == 403
    assert client.post("/start", data={"csrf": "guess"}).status_code == 403
    assert client.post("/logout", data={"csrf": "guess"}).status_code == 403
    assert list(read_answers(presence_store, presence)) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://["},
    ],
)
def test_a_page_of_another_site_can_send_nothing_not_even_a_name(browser, headers):
    client = browser()
    assert client.post("/login", data={"name": "anna"}, headers=headers).status_code == 403


def test_a_foreign_name_that_leads_to_this_machine_is_refused(browser):
    client = browser()
    assert client.get("/", headers={"Host": "evil.example:8710"}).status_code == 421
    assert client.get("/", headers={"Host": "["}).status_code == 421
    assert client.get("/", headers={"Host": "localhost:8710"}).status_code == 200
    assert client.get("/", headers={"Host": "[::1]:8710"}).status_code == 200


def test_a_wider_address_demands_a_password():
    with pytest.raises(AnnotateChoiceError, match=r"--host 0.0.0.0 .* LIMEN_ANNOTATE_PASSWORD"):
        Gate("0.0.0.0", None)
    with pytest.raises(AnnotateChoiceError, match="at least 8 characters"):
        Gate("0.0.0.0", "short")
    for local in ("127.0.0.1", "127.5.5.5", "::1", "localhost"):
        Gate(local, None)


def test_only_the_password_lets_in(browser):
    client = browser(PASSWORD)
    for wrong in ("", PASSWORD[:-1], PASSWORD + "s", PASSWORD.upper()):
        refused = client.post("/login", data={"name": "anna", "password": wrong})
        assert refused.status_code == 403
        assert COOKIE not in refused.cookies
    assert client.get("/api/state").status_code == 401
    enter(client, password=PASSWORD)
    assert client.get("/api/state").status_code == 200


def test_who_guesses_passwords_has_to_wait(browser):
    client = browser(PASSWORD)
    for _ in range(5):
        client.post("/login", data={"name": "anna", "password": "guess"})
    refused = client.post("/login", data={"name": "anna", "password": PASSWORD})
    assert refused.status_code == 429


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(browser):
    said = browser().post("/login", data={"name": "anna"}).headers["set-cookie"].casefold()
    assert "httponly" in said and "samesite=strict" in said


def test_a_forged_cookie_opens_nothing(browser):
    client = browser()
    client.cookies.set(COOKIE, "a" * 43)
    assert client.get("/api/state").status_code == 401


def test_after_signing_out_the_cookie_is_worth_nothing(browser):
    client = browser()
    headers = enter(client)
    cookie = client.cookies[COOKIE]
    client.post("/logout", data={"csrf": headers["X-Limen-CSRF"]})
    client.cookies.set(COOKIE, cookie)
    assert client.get("/api/state").status_code == 401


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\x00b", "a\u202eb"])
def test_a_name_that_is_none_is_refused(browser, name):
    refused = browser().post("/login", data={"name": name})
    assert refused.status_code == 422
    assert "a name has 1 to 60 characters" in refused.text


def test_a_hostile_name_is_shown_as_text(browser):
    client = browser()
    enter(client, "<script>alert(1)</script>")
    assert "<script>alert" not in client.get("/start").text
    assert "&lt;script&gt;" in client.get("/start").text


def test_no_foreign_script_or_frame_is_allowed(browser):
    policy = browser().get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def test_a_request_that_is_too_large_is_refused(browser):
    client = browser()
    headers = enter(client)
    trial = client.get("/api/state").json()["trial"]
    assert answer(client, headers, trial, text="x" * 70_000).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        {"value": "maybe"},
        {"value": None},
        {"value": ["visible"]},
        {"value": "visible", "response_ms": -1},
        {"value": "visible", "response_ms": "1"},
        {"value": "visible", "response_ms": float("nan")},
        {"value": "visible", "response_ms": True},
        {"value": "visible", "response_ms": 10**400},
        {"value": "visible", "confidence": 6},
        {"value": "visible", "showings": -1},
        {"value": "visible", "view": "wide"},
    ],
)
def test_an_answer_that_is_none_is_refused(body):
    with pytest.raises(ReplyError):
        check_reply(Settings("presence", "?", None, ()), body)


def test_numbers_that_describe_no_display_are_left_out():
    view = {"dpr": 10**400, "width": -(10**30), "height": 900, "window": [0, 0, 10**400, 1]}
    kept = check_reply(Settings("presence", "?", None, ()), {"value": "visible", "view": view})
    assert kept.view == {"height": 900, "window": None, "full_screen": False}


@pytest.mark.parametrize("frame", [-1, 1, 10**30])
def test_a_frame_that_is_not_there_is_not_found_and_names_no_image(browser, frame):
    client = browser()
    enter(client)
    token = client.get("/api/state").json()["trial"]["token"]
    said = client.get(f"/image/{token}/{frame}")
    assert (said.status_code, said.json()) == (404, {"detail": "there is no such frame"})


@pytest.mark.parametrize("token", ["\ud800", "\x00", ["x"], None])
def test_a_token_that_no_database_can_be_asked_for_is_of_no_trial(browser, token):
    client = browser()
    headers = {**enter(client), "Content-Type": "application/json"}
    body = json.dumps({"token": token, "value": "visible"})
    assert client.post("/api/answer", content=body, headers=headers).status_code == 404
    assert client.post("/api/undo", content=body, headers=headers).status_code == 404


@pytest.mark.parametrize("text", [None, "", "  ", "x" * 501, "a\nb", 5])
def test_a_named_action_comes_with_a_text(text):
    with pytest.raises(ReplyError):
        check_reply(Settings("action", "?", None, ()), {"value": "named", "text": text})


def test_a_round_that_asks_for_confidence_gets_it_save_from_who_is_unsure():
    settings = Settings("presence", "?", None, (), confidence=True)
    assert check_reply(settings, {"value": "visible", "confidence": 4}).confidence == 4
    assert check_reply(settings, {"value": "unsure"}).confidence is None
    with pytest.raises(ReplyError, match="confidence from 1 to 5"):
        check_reply(settings, {"value": "visible"})


def test_a_wrong_answer_is_said_to_be_wrong_and_the_trial_waits(browser):
    client = browser()
    headers = enter(client)
    trial = client.get("/api/state").json()["trial"]
    refused = answer(client, headers, trial, value="maybe")
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("answer 'maybe': task presence knows visible")
    assert client.get("/api/state").json()["trial"]["token"] == trial["token"]


def test_a_reload_is_kept_with_the_answer(browser, presence, presence_store):
    client = browser()
    headers = enter(client)
    client.get("/api/state")
    trial = client.get("/api/state").json()["trial"]
    answer(client, headers, trial)
    (kept,) = read_answers(presence_store, presence)
    assert kept.shown_count == 2


def test_a_screen_that_is_too_small_gets_a_window_that_stays(browser):
    client = browser()
    enter(client)
    trial = client.get("/api/state?width=100&height=90").json()["trial"]
    again = client.get(f"/api/window/{trial['token']}?width=100&height=90").json()
    assert trial["window"] == again["window"]
    assert trial["window"][2:] == [100, 90]
    assert client.get("/api/state?width=160&height=160").json()["trial"]["window"] is None


def test_the_agreement_page_opens_when_all_is_answered(browser):
    client = browser()
    headers = enter(client)
    assert client.get("/agreement").status_code == 403
    state = client.get("/api/state").json()
    while state["trial"]:
        state = answer(client, headers, state["trial"]).json()
    assert "Krippendorff" in client.get("/agreement").text
    assert "You answered all 49 images" in client.get("/start").text
