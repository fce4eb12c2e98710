"""Annotation in a real browser: keys and clicks, pixels, windows, times, a server that dies."""

import json
import shutil
import threading
import time

import cv2
import numpy as np
import pytest
import uvicorn
from annotation_page import launch_browser, painted, sign_in, start
from limen.addon.core import seeds
from limen.addon.core.dataset import open_dataset
from limen.analysis.annotate.answers import read_answers
from limen.analysis.annotate.app import create_app
from limen.analysis.annotate.items import Library
from limen.analysis.annotate.security import Gate
from limen.analysis.annotate.serve import open_dataset_store, open_round
from test_annotate_items import moving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch_browser(playwright)
        yield browser
        browser.close()


@pytest.fixture
def web(synthetic_dataset, sqlite_store):
    """Serve a round in this process, over a real socket; returns the round and its address."""
    servers = []

    def web(dataset=synthetic_dataset, task="presence", **options):
        round_ = open_round(dataset, sqlite_store, task=task, options=options)
        app = create_app(round_, sqlite_store, Library(dataset), Gate("127.0.0.1", None))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        servers.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return round_, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"

    yield web
    for server, thread in servers:
        server.should_exit = server.force_exit = True
        thread.join()


@pytest.fixture
def visit(chromium):
    """Open the server as someone, up to the first image; returns the page."""
    contexts = []

    def visit(url, name="anna", size=(900, 600), dpr=1, program=False, begin=True, watch=None):
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]}, device_scale_factor=dpr
        )
        contexts.append(context)
        page = context.new_page()
        if watch:
            watch(page)
        sign_in(page, url, name, program)
        if begin:
            start(page)
        return page

    yield visit
    for context in contexts:
        context.close()


def screen(page):
    """What the screen shows: (height, width, 3) of device pixels, and where the image lies."""
    data = np.frombuffer(page.screenshot(), np.uint8)
    box = page.evaluate(
        "(() => { const r = document.getElementById('image').getBoundingClientRect();"
        "return [r.left, r.top, r.width, r.height].map((v) => v * devicePixelRatio); })()"
    )
    return cv2.imdecode(data, cv2.IMREAD_COLOR), [round(value) for value in box]


def shown_png(page):
    """The file of the image that waits."""
    token = page.get_attribute("body", "data-trial")
    data = page.request.get(page.url.replace("annotate", f"image/{token}/0")).body()
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def test_a_round_answered_by_keys_and_clicks_is_kept_as_answered(web, visit, sqlite_store):
    """59 images, by the simulated observer's hand, with undo, double clicks and breaks."""
    round_, url = web(repeats=0.3, break_every=20)
    page = visit(url, "observer", program=True)
    assert page.is_visible(".simulated")
    wanted, token = [], page.get_attribute("body", "data-painted")
    for number in range(59):
        item = json.loads(page.get_attribute("body", "data-item"))
        draw = seeds.uniform(0, f"{item['id']}/{number}", "browser")
        value = "visible" if draw < 0.5 else "not_visible" if draw < 0.9 else "unsure"
        if number == 7:  # a slip, taken back
            page.keyboard.press("u")
            painted(page, token)
            page.keyboard.press("Backspace")
            token = painted(page, page.get_attribute("body", "data-painted"))
            assert json.loads(page.get_attribute("body", "data-item")) == item
        if number % 2:
            page.keyboard.press(value[0])
        elif number % 4:
            page.click(f"button[data-value={value}]")
        else:
            page.dblclick(f"button[data-value={value}]")
        wanted.append((item["id"], item["variant"], value))
        if number in (19, 39):
            page.wait_for_selector("#cover-title:has-text('Break')")
            page.keyboard.press("Enter")
        if number < 58:
            token = painted(page, token)
    page.wait_for_selector("#cover-title:has-text('That was the last image')")
    answers = list(read_answers(sqlite_store, round_))
    assert [(a.id, a.variant, a.value) for a in answers] == wanted
    assert {a.by for a in answers} == {"simulated"}
    assert all(a.response_ms >= 150 and a.displayed_ms == a.response_ms for a in answers)
    assert {(a.view["width"], a.view["height"], a.view["dpr"]) for a in answers} == {(900, 600, 1)}
    assert answers[0].conditions["lighting"] == "dim"
    assert [a.undone for a in answers] == [int(i == 7) for i in range(59)]


@pytest.mark.parametrize("dpr", [1, 1.25, 1.5, 2])
def test_an_image_pixel_is_a_device_pixel(web, visit, dpr):
    _, url = web()
    page = visit(url, size=(901, 603), dpr=dpr)
    picture, (x, y, width, height) = screen(page)
    wanted = shown_png(page)
    assert (height, width) == wanted.shape[:2]
    assert np.array_equal(picture[y : y + height, x : x + width], wanted)
    assert picture[5, 5].tolist() == [0x77, 0x77, 0x77]


def test_a_screen_that_is_too_small_says_so_and_shows_a_window_with_the_target(
    web, visit, sqlite_store, synthetic_dataset
):
    round_, url = web()
    page = visit(url, "observer", size=(130, 110), program=True, begin=False)
    page.wait_for_selector("#go:visible")
    page.keyboard.press("Enter")
    page.wait_for_selector("#cover-title:has-text('Your screen is too small')")
    assert "It holds 130 × 110 pixels, and an image has 160 × 160" in page.text_content("#cover")
    page.keyboard.press("Enter")
    painted(page)
    for _ in range(3):
        token = page.get_attribute("body", "data-painted")
        row = synthetic_dataset.index[json.loads(page.get_attribute("body", "data-item"))["id"]]
        told = page.text_content("#small")
        assert "you see a window of 130 × 110 of its 160 × 160 pixels" in told
        picture, box = screen(page)
        wanted = shown_png(page)
        page.keyboard.press("v")
        painted(page, token)
        x, y, width, height = list(read_answers(sqlite_store, round_))[-1].view["window"]
        assert (box, width, height) == ([0, 0, 130, 110], 130, 110)
        assert np.array_equal(picture, wanted[y : y + height, x : x + width])
        target = synthetic_dataset.views[row["view_id"]]["box_visible"]
        for axis in (0, 1) if target else ():
            start, end = (x, y)[axis], (x + width, y + height)[axis]
            low, high = target[axis], target[axis] + target[axis + 2]
            assert (start <= low and high <= end) or (low <= start and end <= high)


def test_after_the_display_time_the_image_is_gone_and_the_answer_is_waited_for(
    web, visit, sqlite_store
):
    round_, url = web(display_ms=250)
    page = visit(url)
    page.wait_for_selector("body:not([data-shown])")
    picture, (x, y, width, height) = screen(page)
    assert (picture[y : y + height, x : x + width] == 0x77).all()
    page.keyboard.press("v")
    painted(page, page.get_attribute("body", "data-painted"))
    (answer,) = read_answers(sqlite_store, round_)
    assert 240 <= answer.displayed_ms < answer.response_ms


def test_a_key_held_down_or_pressed_too_early_answers_nothing(web, visit, sqlite_store):
    round_, url = web()
    page = visit(url)
    token = painted(page)
    page.evaluate(
        "for (let i = 0; i < 5; i += 1) document.dispatchEvent(new KeyboardEvent('keydown',"
        "{ key: 'v', code: 'KeyV', repeat: true, bubbles: true }))"
    )
    page.wait_for_timeout(200)
    assert list(read_answers(sqlite_store, round_)) == []
    page.evaluate(
        "for (let i = 0; i < 5; i += 1) document.dispatchEvent(new KeyboardEvent('keydown',"
        "{ key: 'v', code: 'KeyV', bubbles: true }))"
    )
    painted(page, token)
    assert len(list(read_answers(sqlite_store, round_))) == 1


def test_two_tabs_of_one_annotator_answer_an_image_once(web, visit, sqlite_store):
    round_, url = web()
    one = visit(url)
    two = one.context.new_page()
    two.goto(url + "annotate")
    start(two)
    token = one.get_attribute("body", "data-painted")
    assert two.get_attribute("body", "data-painted") == token
    one.keyboard.press("v")
    painted(one, token)
    two.keyboard.press("n")
    painted(two, token)
    assert [a.value for a in read_answers(sqlite_store, round_)] == ["visible"]
    assert two.text_content("#count") == "1 of 47"


def test_an_answer_given_while_the_server_is_dead_arrives_when_it_is_back(
    serve, visit, synthetic_dataset, tmp_path
):
    database = f"sqlite:///{tmp_path / 'killed.sqlite'}"
    server = serve(synthetic_dataset.root, "--database", database)
    page = visit(server.url)
    token = page.get_attribute("body", "data-painted")
    server.kill()
    page.keyboard.press("v")
    page.wait_for_selector("#cover-title:has-text('The server does not answer')")
    server.start()
    second = painted(page, token)
    server.kill()
    page.keyboard.press("n")
    page.wait_for_selector("#cover-title:has-text('The server does not answer')")
    context = page.context
    page.close()  # with an answer in it
    server.start()
    page = context.new_page()
    page.goto(server.url + "annotate")
    start(page)
    assert page.get_attribute("body", "data-painted") not in (token, second)
    assert page.text_content("#count") == "2 of 47"
    server.kill()
    _, store = open_dataset_store(synthetic_dataset.root, database)
    values = [a.value for a in read_answers(store, store.rounds()[0])]
    store.close()
    assert values == ["visible", "not_visible"]


def test_an_action_is_typed_and_a_rating_comes_with_its_confidence(web, visit, sqlite_store):
    action, url = web(task="action")
    page = visit(url)
    for keys in (("type", "walking, v n u"), ("press", "Alt+KeyN"), ("press", "Alt+KeyU")):
        token = painted(page)
        getattr(page.keyboard, keys[0])(keys[1])
        if keys[0] == "type":
            page.keyboard.press("Enter")
        painted(page, token)
    rating, url = web(task="rating", confidence=True)
    page = visit(url, "berta")
    token = painted(page)
    page.keyboard.press("4")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.click("button[data-confidence='5']")
    painted(page, token)
    assert [(a.value, a.text) for a in read_answers(sqlite_store, action)] == [
        ("named", "walking, v n u"), ("not_visible", None), ("unsure", None)
    ]  # fmt: skip
    assert [(a.value, a.confidence) for a in read_answers(sqlite_store, rating)] == [("2", 5)]


def test_a_sequence_plays_its_frames_in_order_and_again(
    web, visit, sqlite_store, synthetic_dataset, tmp_path
):
    root = tmp_path / "dataset"
    shutil.copytree(synthetic_dataset.root, root)
    frames = [row["media"]["clean"] for row in list(open_dataset(root).index.values())[:3]]
    moving(root, "sequence", {**frames[0], "frames": frames, "fps": 8})
    round_, url = web(open_dataset(root), task="clip")
    page = visit(url)
    wanted = [cv2.imread(str(root / frame["path"])) for frame in frames]
    seen = set()
    until = time.monotonic() + 20
    while len(seen) < 3 and time.monotonic() < until:
        picture, (x, y, width, height) = screen(page)
        shown = picture[y : y + height, x : x + width]
        seen |= {i for i, frame in enumerate(wanted) if np.array_equal(shown, frame)}
    assert seen == {0, 1, 2}
    page.keyboard.press("Alt+KeyR")
    page.keyboard.type("sand")
    page.keyboard.press("Enter")
    page.wait_for_selector("#cover-title:has-text('That was the last image')")
    (answer,) = read_answers(sqlite_store, round_)
    assert (answer.text, answer.value) == ("sand", "named")
    assert answer.replays >= 1


def test_the_pages_ask_nothing_of_the_network(web, visit):
    _, url = web()
    asked, errors = [], []

    def watch(page):
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))

    visit(url, watch=watch)
    assert asked and all(request.startswith(url) for request in asked)
    assert errors == []
