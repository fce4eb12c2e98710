"""The report: what it says, and that a browser shows it without a network."""

import re
import shutil
from html.parser import HTMLParser

import pytest
from limen.addon.core.dataset import open_dataset
from limen.analysis.evaluate import evaluate, read_runs
from limen.analysis.models import Answer, Model, make_model
from limen.analysis.report import ReportError, build_report
from limen.analysis.report.contact_sheet import contact_sheet, lighting_columns
from limen.analysis.report.results import collect
from limen.analysis.report.text import density, exposure, illuminance, interval, percent
from limen.analysis.tasks import TASKS
from requirements import require


def by_brightness(path, question):
    """A stand-in for a model: yes by day, no at night, and a refusal in the evening."""
    texts = {"noon": "yes", "night": "no"}
    return Answer(next((t for key, t in texts.items() if key in path.name), "I will not say."))


@pytest.fixture(scope="module")
def root(synthetic_dataset, tmp_path_factory):
    """The synthetic dataset with a run."""
    root = tmp_path_factory.mktemp("report") / "dataset"
    shutil.copytree(synthetic_dataset.root, root, ignore=shutil.ignore_patterns("light", "depth"))
    evaluate(open_dataset(root), Model("stub", {}, by_brightness, label="stub"))
    return root


@pytest.fixture(scope="module")
def page(root):
    build_report(root, root / "report.html")
    return root / "report.html"


class _Tables(HTMLParser):
    """Caption -> rows of cell texts."""

    def __init__(self):
        super().__init__()
        self.tables, self._into = {}, None

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        if tag in ("td", "th", "caption"):
            self._into = tag

    def handle_endtag(self, tag):
        if tag in ("td", "th", "caption"):
            self._into = None
        elif tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if self._into == "caption":
            self._caption += data
        elif self._into:
            self._rows[-1][-1] = (self._rows[-1][-1] + " " + data).strip()


def tables(path):
    parser = _Tables()
    parser.feed(path.read_text())
    return parser.tables


# --- scores --------------------------------------------------------------------------------------


def test_cells_hold_the_scores_of_their_images_only(root):
    dataset = open_dataset(root)
    results = collect(dataset, TASKS["presence"], read_runs(dataset))
    day, evening, night = results.by_band
    assert [cell.band for cell in results.by_band] == ["day", "evening", "night"]
    scores = {cell.band: cell.lines[0].scores.estimates for cell in (day, evening, night)}
    assert (scores["day"]["sensitivity"].value, scores["day"]["specificity"].value) == (1, 0)
    assert (scores["night"]["sensitivity"].value, scores["night"]["specificity"].value) == (0, 1)
    assert scores["evening"]["unanswered_rate"].value == 1
    assert scores["evening"]["accuracy"].value == 0
    assert len(results.by_both) == len(results.by_distance) * 3
    assert sum(cell.lines[0].scores.counts.sum() for cell in results.by_both) == 45


def test_constant_answers_are_scored_without_a_run_over_the_images_that_were_asked_about(root):
    dataset = open_dataset(root)
    results = collect(dataset, TASKS["presence"], read_runs(dataset))
    yes, no = results.overall.lines[1:]
    assert (yes.label, yes.is_baseline, no.label, no.is_baseline) == (
        "always-yes",
        True,
        "always-no",
        True,
    )
    assert yes.scores.estimates["accuracy"].value == pytest.approx(36 / 45)
    assert yes.scores.estimates["balanced_accuracy"].value == 0.5
    assert no.scores.estimates["specificity"].value == 1


def test_images_of_one_person_in_one_pose_are_one_cluster(root):
    dataset = open_dataset(root)
    results = collect(dataset, TASKS["presence"], read_runs(dataset))
    persons = {(r["subject"], r["pose"]) for r in dataset.index.values() if r["target_present"]}
    backgrounds = {v["plate_id"] for v in dataset.views.values() if not v["target_present"]}
    assert results.overall.lines[0].scores.clusters == len(persons) + len(backgrounds)


# --- the page ------------------------------------------------------------------------------------


def test_the_page_refers_to_nothing_outside_itself(page):
    text = page.read_text()
    assert re.findall(r"<script[^>]+src=", text) == []
    # What the scripts might fetch, the browser tests below see.
    markup = re.sub(r"(?s)<script.*?</script>", "", text)
    assert re.findall(r"<(?:link|iframe|object)\b|@import|url\(", markup) == []
    sources = re.findall(r'<img[^>]+src="([^"]{0,30})', markup)
    assert len(sources) == 12
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_the_table_shows_the_scores_in_percent_with_their_intervals(page):
    rows = tables(page)["All images, in percent, with 95 % intervals"]
    stub = dict(zip(rows[0], rows[1], strict=True))
    assert stub["Model"] == "stub"
    assert stub["Images with / without"] == "36 / 9"
    assert stub["Accuracy"].startswith("33.3 ")  # 12 of 36 by day, 3 of 9 at night: 15 of 45
    assert stub["Sensitivity"] == "33.3 20.2–49.7"  # Wilson, 12 of 36
    assert stub["No answer"].startswith("33.3 ")
    assert [row[0] for row in rows[1:]] == ["stub", "always-yes", "always-no"]


def test_a_score_with_nothing_to_be_computed_over_is_a_dash(page, root):
    dataset = open_dataset(root)
    bare = {row["distance_m"] for row in dataset.index.values()} - {
        row["distance_m"] for row in dataset.index.values() if not row["target_present"]
    }
    (distance,) = bare
    rows = tables(page)["By distance"]
    start = next(i for i, row in enumerate(rows) if row[0] == f"{distance:.1f} m")
    columns = dict(zip(rows[0], rows[start], strict=True))
    assert (columns["Specificity"], columns["Balanced accuracy"]) == ("–", "–")


def test_what_every_metric_is_over_is_said_with_its_numbers(page):
    assert tables(page)["Images with and without a person by light band"][1:] == [
        ["day", "12", "3"],
        ["evening", "12", "3"],
        ["night", "12", "3"],
    ]


def test_the_same_dataset_gives_the_same_page(page, root, tmp_path):
    build_report(root, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_without_runs_the_page_shows_the_dataset_and_constant_answers(synthetic_dataset, tmp_path):
    build_report(synthetic_dataset.root, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "No model has been evaluated yet." in text
    assert text.count("<img ") == 12
    assert "<script" not in text
    rows = tables(tmp_path / "report.html")["All images, in percent, with 95 % intervals"]
    assert [row[0] for row in rows[1:]] == ["always-yes", "always-no"]


def test_runs_over_different_images_are_pointed_out(root, tmp_path):
    shutil.copytree(root, tmp_path / "dataset")
    evaluate(open_dataset(tmp_path / "dataset"), make_model("always-yes"), limit=1)
    build_report(tmp_path / "dataset", tmp_path / "report.html")
    assert "Not every run has answered about the same images" in (
        (tmp_path / "report.html").read_text()
    )


def test_a_name_from_outside_cannot_run_a_script(synthetic_dataset, tmp_path):
    shutil.copytree(synthetic_dataset.root, tmp_path / "d")
    study = tmp_path / "d/study.toml"
    hostile = 'name = "<script>alert(1)</script>"'
    study.write_text(re.sub("(?m)^name = .*", hostile, study.read_text(), count=1))
    assert hostile in study.read_text()
    build_report(tmp_path / "d", tmp_path / "report.html")
    assert "<script>alert" not in (tmp_path / "report.html").read_text()


def test_a_dataset_without_views_is_an_error(tmp_path):
    (tmp_path / "study.toml").write_text('name = "empty"\n')
    with pytest.raises(ReportError, match="holds no views yet"):
        build_report(tmp_path, tmp_path / "report.html")


# --- pictures ------------------------------------------------------------------------------------


def test_a_picture_shows_2_3_metres_at_the_pixels_that_the_camera_has_for_them(root):
    dataset = open_dataset(root)
    rows = contact_sheet(dataset, lighting_columns(dataset.index.values()))
    # 80, 40 and 12 px/m; the window of 160 px is less high than 2.3 m x 80 px/m.
    assert [(r.pictures[0].width, r.pictures[0].height) for r in rows[:3]] == [
        (112, 160),
        (56, 92),
        (17, 28),
    ]
    assert rows[3].title == "Nobody"


def test_of_lightings_that_differ_in_direction_only_one_is_shown_at_first():
    items = [
        {"lighting": name, "band": band, "illuminance_nominal_lx": lux}
        for name, band, lux in [
            ("night", "night", 0.25),
            ("noon_south", "day", 9e4),
            ("noon_east", "day", 9e4),
            ("evening_west", "evening", 8.0),
        ]
    ]
    columns = lighting_columns(items)
    assert [(c.lighting, c.shown) for c in columns] == [
        ("noon_east", True),
        ("noon_south", False),
        ("evening_west", True),
        ("night", True),
    ]


def test_quantities_are_written_as_people_write_them():
    assert (illuminance(90000), illuminance(8), illuminance(0.25)) == ("90 klx", "8 lx", "0.25 lx")
    assert (exposure(1 / 49574), exposure(0.04), exposure(2)) == ("1/50,000 s", "1/25 s", "2 s")
    assert (density(93.75), percent(0.8734), percent(None)) == ("93.8 px/m", "87.3", "–")
    assert (interval((0.2553, 0.3662)), interval(None)) == ("25.5–36.6", "")


# --- a real browser ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = require("chromium", "chromium-browser", "google-chrome")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=quiet)
        yield opened
        opened.close()


@pytest.fixture
def tab(browser, page):
    """The page, opened from its file; fails on a script error or a request to anywhere."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    errors, requests = [], []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(page.as_uri())
    tab.wait_for_selector("#metric-chart .scatterlayer path.js-line", state="attached")
    yield tab
    tab.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [page.as_uri()]


def test_a_browser_draws_the_charts_and_a_button_changes_the_metric(tab):
    path = "#metric-chart .scatterlayer .trace path.js-line"
    before = tab.eval_on_selector_all(path, "all => all.map(one => one.getAttribute('d'))")
    tab.click("#metric-chart text:has-text('Sensitivity')")
    after = tab.eval_on_selector_all(path, "all => all.map(one => one.getAttribute('d'))")
    assert before != after
    assert tab.locator("#heatmaps .heatmaplayer image").count() >= 1


def test_a_browser_shows_pictures_pixel_for_pixel(tab):
    sizes = tab.eval_on_selector_all(
        ".sheet img",
        "all => all.map(i => [i.naturalWidth, i.naturalHeight, i.clientWidth, i.clientHeight])",
    )
    assert len(sizes) == 12
    assert all(size[:2] == size[2:] and size[0] > 0 for size in sizes)


def test_the_page_fits_a_laptop_without_scrolling_sideways(tab):
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280


def test_every_picture_and_table_says_what_it_is_to_those_who_cannot_see_it(tab):
    assert tab.locator(".sheet img:not([alt]), .sheet img[alt='']").count() == 0
    assert tab.locator("table").count() == tab.locator("table > caption").count()
