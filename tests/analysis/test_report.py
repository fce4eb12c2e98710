"""The report: what it says, and that a browser shows it without a network."""

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from limen.addon.core.dataset import open_dataset
from limen.analysis.evaluate import evaluate, read_runs
from limen.analysis.models import Answer, Model, make_model
from limen.analysis.report import ReportError, build_report, figures, scores_file
from limen.analysis.report.contact_sheet import (
    _background,
    _persons,
    contact_sheet,
    lighting_columns,
)
from limen.analysis.report.results import collect
from limen.analysis.report.text import density, distance, exposure, illuminance, interval, percent
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
    stub = Model("stub", {}, by_brightness, label="stub", note="Reads the file's name.")
    evaluate(open_dataset(root), stub)
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


def test_every_light_condition_is_scored_by_itself_from_bright_to_dark(with_dusk):
    results = collect(with_dusk, TASKS["presence"], read_runs(with_dusk))
    assert [(cell.lighting, cell.title) for cell in results.by_lighting] == [
        ("noon_south", "noon_south, 90 klx"),
        ("evening_west", "evening_west, 8 lx"),
        ("dusk", "dusk, 1 lx"),
        ("night", "night, 0.25 lx"),
    ]
    assert [cell.band for cell in results.by_band] == ["day", "evening", "night"]
    titles = [cell.title for cell in results.by_lighting_and_distance]
    assert titles[6:9] == ["dusk, 1 lx, 12.6 m", "dusk, 1 lx, 25.2 m", "dusk, 1 lx, 84 m"]


@pytest.fixture
def with_dusk(root, tmp_path):
    """The dataset with a light condition of its own, which has the evening's images."""
    shutil.copytree(root, tmp_path / "dusk", ignore=shutil.ignore_patterns("runs"))
    (part,) = (tmp_path / "dusk/index").glob("*.jsonl")
    rows = [json.loads(line) for line in part.read_text().splitlines()]
    for row in [row for row in rows if row["lighting"] == "evening_west"]:
        own = {"id": f"{row['view_id']}-dusk", "lighting": "dusk", "illuminance_nominal_lx": 1.0}
        rows.append({**row, **own})
    lines = [json.dumps(row, sort_keys=True, separators=(",", ":")) + "\n" for row in rows]
    part.write_text("".join(lines))
    return open_dataset(tmp_path / "dusk")


def test_the_scores_are_written_beside_the_page_a_line_each(page):
    with scores_file(page).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["model", "by", "level", "metric", "value", "low", "high", "n"]
    found = {(r["model"], r["by"], r["level"], r["metric"]): r for r in rows}
    assert len(found) == len(rows)
    row = found["stub", "all", "all", "sensitivity"]
    assert (row["value"], row["low"], row["high"], row["n"]) == (
        *("0.333333", "0.202146", "0.49666"),  # Wilson, 12 of 36
        "36",
    )
    assert found["stub", "lighting", "noon_south", "sensitivity"]["value"] == "1"
    assert found["stub", "distance_m x band", "25.2 x day", "specificity"]["value"] == ""
    assert ("always-no", "distance_m x lighting", "84 x night", "accuracy") in found


def test_pages_side_by_side_have_scores_of_their_own():
    assert scores_file(Path("d/report.html")) == Path("d/scores.csv")
    assert scores_file(Path("demo.html")) == Path("demo.scores.csv")


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
    start = next(i for i, row in enumerate(rows) if row[0] == f"{distance:g} m")
    columns = dict(zip(rows[0], rows[start], strict=True))
    assert (columns["Specificity"], columns["Balanced accuracy"]) == ("–", "–")


def test_what_every_metric_is_over_is_said_with_its_numbers(page):
    assert tables(page)["Images with and without a person by light band"][1:] == [
        ["day", "12", "3"],
        ["evening", "12", "3"],
        ["night", "12", "3"],
    ]


def test_the_note_of_a_model_is_shown_with_its_scores(page):
    assert "<strong>stub</strong> Reads the file&#39;s name." in page.read_text()


def test_the_page_has_a_map_and_a_table_of_light_condition_and_distance(page):
    assert 'id="lighting-heatmaps"' in page.read_text()
    rows = tables(page)["By light condition and distance"]
    assert [row[0] for row in rows[1::3]][:2] == [
        "noon_south, 90 klx, 12.6 m",
        "noon_south, 90 klx, 25.2 m",
    ]


def test_the_settings_and_the_measured_light_are_shown(page):
    found = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page.read_text()))
    assert found["Window"] == "160 x 160 px"
    assert found["Seed"] == "0"
    assert found["Shutter limit"] == "1/25 s"
    assert found["night"].startswith("0.25 lx, measured ")


def test_a_line_breaks_where_a_score_is_undefined(root):
    # At 25.2 m there are no images without a person, so balanced accuracy is undefined there.
    dataset = open_dataset(root)
    results = collect(dataset, TASKS["presence"], read_runs(dataset))
    chart = figures.metric_chart(results, {12.6: 80.0, 25.2: 40.0, 84.0: 12.0})
    (traces,) = re.findall(
        r'Plotly\.newPlot\(\s*"metric-chart",\s*(\[.*?\]),\s*\{"template', chart, re.S
    )
    first = json.loads(traces)[0]
    assert (first["x"], first["y"][1], first["connectgaps"]) == ([12.0, 40.0, 80.0], None, False)
    assert None not in (first["y"][0], first["y"][2])


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


def _view(view_id, distance_m=10.0, present=True, **changed):
    factors = {"subject": "ada", "texture": "plain", "pose": "p", "scenery": "field"}
    if not present:
        factors = {"subject": None, "texture": None, "pose": None, "scenery": "field"}
    factors |= {"distance_m": distance_m, "azimuth_deg": 0.0, "elevation_deg": 0.0, **changed}
    share = 1.0 if present else None
    return {"view_id": view_id, "factors": factors, "unoccluded_fraction": share}


def test_rows_of_the_sheet_share_as_many_factors_as_the_dataset_allows():
    views = [
        _view("a", 5.0, pose="q", azimuth_deg=0.0),
        _view("b", 5.0, pose="p", azimuth_deg=135.0),
        _view("c", 10.0, pose="p", azimuth_deg=135.0),
        _view("d", 10.0, pose="r", azimuth_deg=0.0, texture="sand"),
        _view("e", 20.0, pose="p", azimuth_deg=135.0, texture="sand"),
        _view("f", 20.0, pose="s", azimuth_deg=0.0, subject="ben"),
    ]
    assert [view["view_id"] for view in _persons(views)] == ["b", "c", "e"]


def test_nobody_is_the_background_of_a_row_that_is_shown():
    shown = [_view("b", 5.0, azimuth_deg=135.0), _view("c", 10.0, azimuth_deg=135.0)]
    views = [
        _view("n0", 5.0, present=False),
        _view("n1", 20.0, present=False, azimuth_deg=135.0),
        _view("n2", 10.0, present=False, azimuth_deg=135.0),
    ]
    assert _background(views, shown)["view_id"] == "n2"
    assert _background(views, [])["view_id"] == "n0"


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
    assert illuminance(89953.5) == "89.95 klx"
    assert [density(d) for d in (43.75, 187.5, 1000 / 3)] == [
        *("43.75 px/m", "187.5 px/m", "333.33 px/m")
    ]
    assert (distance(10.752), distance(5)) == ("10.752 m", "5 m")
    assert (percent(0.8734), percent(None)) == ("87.3", "–")
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
    tab.click("button:has-text('Sensitivity')")
    assert tab.locator(".metrics [aria-pressed=true]").all_inner_texts() == ["Sensitivity"]
    after = tab.eval_on_selector_all(path, "all => all.map(one => one.getAttribute('d'))")
    assert before != after
    assert tab.locator("#lighting-heatmaps .heatmaplayer image").count() >= 1


def test_a_browser_shows_pictures_pixel_for_pixel(tab):
    sizes = tab.eval_on_selector_all(
        ".sheet img",
        "all => all.map(i => [i.naturalWidth, i.naturalHeight, i.clientWidth, i.clientHeight])",
    )
    assert len(sizes) == 12
    assert all(size[:2] == size[2:] and size[0] > 0 for size in sizes)


@pytest.mark.parametrize(("width", "columns"), [(1400, 4), (1400, 7), (500, 4)])
def test_pictures_are_scaled_down_alike_until_the_sheet_fits(tab, width, columns):
    tab.set_viewport_size({"width": width, "height": 900})
    # As of 1.4 m at 187.5 px/m, and half of it, which the synthetic cameras do not reach.
    sizes = tab.evaluate(
        """columns => {
            const sheet = document.querySelector(".sheet");
            sheet.style.setProperty("--shown", columns);
            sheet.style.setProperty("--all", columns);
            sheet.style.setProperty("--widest", "262px");
            for (const row of sheet.rows ?? sheet.querySelectorAll("tr"))
                while (row.cells.length <= columns) row.append(row.cells[1].cloneNode(true));
            const widths = [262, 131];
            sheet.querySelectorAll("tbody tr").forEach((row, i) => row.querySelectorAll("img")
                .forEach(img => {
                    img.width = widths[i % 2];
                    img.style.maxWidth = `${100 * widths[i % 2] / 262}%`;
                }));
            const shown = [...sheet.querySelectorAll("tbody tr")].map(
                row => row.querySelector("img").getBoundingClientRect().width);
            return [sheet.scrollWidth - sheet.clientWidth, shown[0], shown[1]];
        }""",
        columns,
    )
    assert sizes[0] <= 0
    assert sizes[1] == pytest.approx(2 * sizes[2], abs=0.1)
    assert (sizes[1] == 262) == ((width, columns) == (1400, 4))


def test_on_a_phone_the_metric_buttons_wrap(tab):
    tab.set_viewport_size({"width": 500, "height": 900})
    tops = tab.eval_on_selector_all(
        ".metrics button", "all => all.map(b => b.getBoundingClientRect().top)"
    )
    assert len(set(tops)) > 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= 500


def test_the_page_fits_a_laptop_without_scrolling_sideways(tab):
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280


def test_every_picture_and_table_says_what_it_is_to_those_who_cannot_see_it(tab):
    assert tab.locator(".sheet img:not([alt]), .sheet img[alt='']").count() == 0
    assert tab.locator("table").count() == tab.locator("table > caption").count()
