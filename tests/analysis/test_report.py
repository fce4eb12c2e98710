"""The report: what it says, its tables, and that a browser shows it without a network."""

import csv
import json
import re
import shutil
from html.parser import HTMLParser

import cv2
import numpy as np
import pytest
from limen.addon.core.dataset import open_dataset
from limen.analysis.discern.table import LabelsChoiceError
from limen.analysis.metrics.psychometric import Threshold
from limen.analysis.photographs import Defaults, import_photographs
from limen.analysis.report import ReportError, build_report, compare_in_dataset, figures
from limen.analysis.report.answers import load_answers
from limen.analysis.report.compare import CompareError
from limen.analysis.report.contact_sheet import (
    _background,
    _persons,
    contact_sheet,
    lighting_columns,
)
from limen.analysis.report.export import csv_text, latex_table
from limen.analysis.report.limits import find_limits, ratio_interval
from limen.analysis.report.results import collect, everyone
from limen.analysis.report.style import looks
from limen.analysis.report.text import (
    density,
    distance,
    exposure,
    illuminance,
    interval,
    percent,
    threshold,
)
from made_answers import make_dataset, sees, write_labels, write_run
from requirements import require


def by_brightness(row, view, variant, rng):
    """Yes by day, no at night, and something that cannot be read in the evening."""
    said = {"day": ("ok", 1, "yes"), "night": ("ok", 0, "no")}
    return said.get(row["band"], ("unparsed", None, "I will not say."))


@pytest.fixture(scope="module")
def root(synthetic_dataset, tmp_path_factory):
    """The synthetic dataset with a run."""
    root = tmp_path_factory.mktemp("report") / "dataset"
    shutil.copytree(synthetic_dataset.root, root, ignore=shutil.ignore_patterns("light", "depth"))
    directory = write_run(open_dataset(root), "stub", by_brightness)
    about = json.loads((directory / "run.json").read_text())
    about["note"] = "Reads the light of the row."
    (directory / "run.json").write_text(json.dumps(about))
    return root


@pytest.fixture(scope="module")
def page(root):
    return build_report(root, root / "report.html").page


DENSITIES = (250.0, 120.0, 60.0, 30.0, 15.0, 8.0)


@pytest.fixture(scope="module")
def limits_root(synthetic_dataset, tmp_path_factory):
    """Six densities under three lights, three models, and what people see."""
    root = tmp_path_factory.mktemp("limits") / "dataset"
    dataset = make_dataset(root, synthetic_dataset, densities=DENSITIES, views=180, blanks=36)
    known = {"parameters_b": 3.0, "model_class": "small"}
    write_run(dataset, "keen", sees(px=20, lux=0.001), known=known)
    write_run(dataset, "slow", sees(px=60, lux=0.001))
    write_run(dataset, "yea-sayer", lambda row, view, variant, rng: ("ok", 1, "1"))
    write_labels(dataset, px=10, lux=0.001)
    return root


@pytest.fixture(scope="module")
def judged(limits_root):
    answers = load_answers(open_dataset(limits_root))
    return answers, collect(answers)


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


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# --- scores --------------------------------------------------------------------------------------


def test_cells_hold_the_scores_of_their_images_only(root):
    results = collect(load_answers(open_dataset(root)))
    of = {
        band: results.find("stub", "presence", ("band",), (band,)).estimates
        for band in ("day", "evening", "night")
    }
    assert (of["day"]["sensitivity"].value, of["day"]["specificity"].value) == (1, 0)
    assert (of["night"]["sensitivity"].value, of["night"]["specificity"].value) == (0, 1)
    assert of["evening"]["unparsable_rate"].value == 1
    assert of["evening"]["accuracy"].value == 0
    pairs = [
        s
        for s in results.scores.values()
        if s.label == "stub" and s.by == ("density_px_per_m", "band")
    ]
    assert len(pairs) == 9
    assert sum(s.positives + s.negatives for s in pairs) == 45


def test_constant_answers_are_scored_without_a_run(root):
    results = collect(load_answers(open_dataset(root)))
    assert results.labels == ("stub", "always-no", "always-yes")
    yes, no = (results.find(f"always-{word}", "presence").estimates for word in ("yes", "no"))
    assert yes["accuracy"].value == pytest.approx(36 / 45)
    assert yes["balanced_accuracy"].value == 0.5
    assert no["specificity"].value == 1


def test_images_of_one_person_in_one_pose_are_one_cluster_and_so_are_those_of_a_background(root):
    dataset = open_dataset(root)
    results = collect(load_answers(dataset))
    persons = {(r["subject"], r["pose"]) for r in dataset.index.values() if r["target_present"]}
    backgrounds = {v["plate_id"] for v in dataset.views.values() if not v["target_present"]}
    overall = results.find("stub", "presence").estimates
    assert overall["accuracy"].clusters == len(persons) + len(backgrounds)
    assert overall["sensitivity"].clusters == results.person_clusters == len(persons)
    assert results.few_clusters


def test_scores_are_against_what_a_human_sees_and_against_presence(judged):
    answers, results = judged
    assert results.truths == ("discernable", "presence")
    seen, there = (results.find("keen", truth) for truth in results.truths)
    assert seen.positives < there.positives
    assert seen.positives + seen.negatives == there.positives + there.negatives
    # People are right by definition against their own labels: they are judged by presence only.
    assert results.find("human", "discernable") is None
    assert results.find("human", "presence").estimates["specificity"].value == 1
    assert answers.truth_words == "whether a human sees somebody"


def test_where_nobody_labelled_an_image_only_presence_is_known(synthetic_dataset, tmp_path):
    dataset = make_dataset(tmp_path / "d", synthetic_dataset, views=12, blanks=3)
    write_run(dataset, "keen", sees())
    write_labels(dataset, share=0.5)
    answers = load_answers(dataset)
    unknown = (answers.items.truths["discernable"] < 0).sum()
    assert 0 < unknown < 36
    score = collect(answers).find("keen", "discernable")
    assert score.positives + score.negatives == 45 - unknown


def test_runs_of_one_model_about_different_variants_are_one_answerer(synthetic_dataset, tmp_path):
    dataset = make_dataset(tmp_path / "d", synthetic_dataset, views=6, blanks=0)
    for variant in ("camera", "nv"):
        write_run(dataset, "keen", sees(), variants=(variant,))
    answers = load_answers(dataset)
    (one,) = answers.presence
    assert (len(one.runs), int(one.asked.sum())) == (2, 36)


def test_two_models_of_one_name_are_told_apart_by_their_runs(synthetic_dataset, tmp_path):
    dataset = make_dataset(tmp_path / "d", synthetic_dataset, views=6, blanks=0)
    write_run(dataset, "keen", sees(), name="one")
    write_run(dataset, "keen", sees(), name="other", variants=("camera",))
    assert {one.label for one in load_answers(dataset).presence} == {
        "keen__presence__clean",
        "keen__presence__camera",
    }


def test_a_constant_answerer_is_warned_of_and_ranked_below_those_who_look(judged):
    _, results = judged
    assert [results.kinds[label] for label in results.labels] == [
        *("human", "model", "model", "model", "constant", "constant")
    ]
    assert results.labels[1:4] == ("keen", "slow", "yea-sayer")
    assert "says yes to 100.0%" in results.checks["yea-sayer"].warnings()[0]
    assert results.checks["keen"].warnings() == ()


def test_everyone_is_compared_with_everyone_and_corrected_for_it(judged):
    _, results = judged
    assert len(results.pairs) == 6
    best = next(p for p in results.pairs if {p.first, p.second} == {"keen", "yea-sayer"})
    assert best.first == "keen"
    assert best.comparison.difference.interval[0] > 0
    assert best.p_holm >= best.comparison.p_value


def test_the_gain_of_night_vision_is_paired_per_image(synthetic_dataset, tmp_path):
    dataset = make_dataset(tmp_path / "d", synthetic_dataset, views=60, blanks=12)

    def only_with_night_vision(row, view, variant, rng):
        yes = int(variant == "nv" and row["target_present"])
        return "ok", yes, str(yes)

    for variant in ("camera", "nv"):
        write_run(dataset, "owl", only_with_night_vision, variants=(variant,))
    gains = {gain.over: gain for gain in collect(load_answers(dataset)).gains}
    assert (gains["seen"].before, gains["seen"].after) == (0, 1)
    assert gains["seen"].difference.n == 60 * 3
    assert gains["false alarms"].difference.value == 0
    assert gains["accuracy"].difference.value == pytest.approx(60 / 72)


# --- limits --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def limits(judged):
    answers, _ = judged
    people = [one for one in everyone(answers) if one.kind != "constant"]
    return find_limits(answers, people, lux_alone=True)


def test_thresholds_of_models_and_people_come_back(limits):
    curves = {curve.label: curve for curve in limits.of("density_px_per_m", "day")}
    for label, planted in (("keen", 20), ("slow", 60), ("human", 10)):
        low, high = curves[label].fit.threshold(0.5).interval
        assert low < planted < high, label
    assert curves["yea-sayer"].fit.threshold(0.5).value is None


def test_a_models_threshold_is_told_in_times_that_of_people(limits):
    curves = {curve.label: curve for curve in limits.of("density_px_per_m", "day")}
    ratio, low, high = curves["slow"].ratio_to_human
    assert low < 6 < high
    assert low < ratio < high
    assert curves["human"].ratio_to_human is None
    assert limits.reference == "human"
    assert ratio_interval(curves["slow"].fit, curves["yea-sayer"].fit) is None


def test_trajectories_fail_where_the_model_stops(limits):
    found = {one.label: one.curve for one in limits.failures if one.axis == "illuminance_lx"}
    assert found["yea-sayer"].never_failed == found["yea-sayer"].trajectories == 180


# --- the tables beside the page ------------------------------------------------------------------


@pytest.fixture(scope="module")
def limits_report(limits_root, tmp_path_factory):
    return build_report(limits_root, tmp_path_factory.mktemp("tables") / "demo.html")


@pytest.fixture(scope="module")
def files(limits_report):
    return {path.name: path for path in limits_report.tables}


@pytest.mark.slow
def test_every_table_is_there_for_spreadsheets_programs_and_papers(files):
    assert {path.parent.name for path in files.values()} == {"demo_tables"}
    for name in ("scores", "thresholds", "failure_points", "comparisons", "published_rule"):
        assert f"{name}.csv" in files
        assert f"{name}.parquet" in files
    assert {name for name in files if name.endswith(".tex")} == {
        "leaderboard.tex",
        "published_rule.tex",
        "thresholds.tex",
    }


@pytest.mark.slow
def test_a_score_is_a_line_with_its_interval_and_what_it_is_over(files, judged):
    rows = read_csv(files["scores.csv"])
    assert list(rows[0]) == [
        *("model", "truth", "by", "level", "metric", "value", "low", "high", "n", "clusters")
    ]
    found = {(r["model"], r["truth"], r["by"], r["level"], r["metric"]): r for r in rows}
    assert len(found) == len(rows)
    row = found["keen", "presence", "density_px_per_m x band", "60 x day", "sensitivity"]
    assert (row["n"], row["value"] != "") == ("30", True)
    overall = found["keen", "discernable", "all", "all", "accuracy"]
    assert float(overall["value"]) == pytest.approx(
        judged[1].find("keen", "discernable").estimates["accuracy"].value, abs=1e-6
    )


@pytest.mark.slow
def test_parquet_holds_the_same_numbers_and_all_pairs_of_factors(files):
    from pyarrow import parquet

    rows = parquet.read_table(files["scores.parquet"]).to_pylist()
    assert any(row["by"] == "action x azimuth_deg" for row in rows)
    answers = parquet.read_table(files["answers.parquet"]).to_pydict()
    assert len(answers["id"]) == 216 * 3
    assert set(answers["answer of yea-sayer"]) == {"1"}


@pytest.mark.slow
def test_thresholds_are_a_table_with_what_to_know(files):
    rows = {(r["model"], r["panel"], r["share"]): r for r in read_csv(files["thresholds.csv"])}
    assert rows["slow", "day", "0.5"]["ratio_to"] == "human"
    assert rows["yea-sayer", "day", "0.5"]["threshold"] == ""
    assert "no threshold" in rows["yea-sayer", "day", "0.5"]["warnings"]


def test_a_latex_table_is_booktabs_and_escapes_what_latex_reads():
    found = latex_table(["Model", "n"], [["a_b & 50 %", "1–2"]], "note")
    assert "\\toprule" in found
    assert "a\\_b \\& 50 \\% & 1--2 \\\\" in found


def test_a_name_that_a_spreadsheet_would_compute_is_text():
    assert csv_text([{"model": "=1+1", "value": -0.5}]) == "model,value\n'=1+1,-0.5\n"


# --- two runs ------------------------------------------------------------------------------------


def test_two_runs_are_compared_question_by_question_in_all_and_by_factor(limits_root, tmp_path):
    truth, cells = compare_in_dataset(limits_root, "keen", "slow", out=tmp_path / "c.csv")
    assert truth == "whether a human sees somebody"
    overall = cells[0]
    assert (overall.factor, overall.comparison.difference.n) == ("all", 648)
    assert overall.first > overall.second
    assert overall.comparison.p_value < 0.001
    by_density = [c for c in cells if c.factor == "density_px_per_m"]
    assert sum(c.comparison.difference.n for c in by_density) == 648
    assert [r["factor"] for r in read_csv(tmp_path / "c.csv")][:2] == ["all", "condition"]


def test_the_p_values_of_cells_allow_for_how_many_were_looked_at(limits_root):
    _, (overall, *cells) = compare_in_dataset(limits_root, "keen", "slow")
    assert overall.p_holm == overall.comparison.p_value
    tested = [cell for cell in cells if cell.comparison.p_value is not None]
    least = min(tested, key=lambda cell: cell.comparison.p_value)
    assert least.p_holm == pytest.approx(min(1, len(tested) * least.comparison.p_value))
    assert all(cell.p_holm >= cell.comparison.p_value for cell in tested)


def test_labels_that_are_asked_for_and_not_there_are_an_error(root):
    with pytest.raises(LabelsChoiceError, match="holds no human labels"):
        load_answers(open_dataset(root), "human")


def test_a_run_that_is_not_there_is_named_with_those_that_are(limits_root):
    with pytest.raises(CompareError, match=r"'kean'; did you mean 'keen'\? There are: keen"):
        compare_in_dataset(limits_root, "kean", "slow")
    with pytest.raises(CompareError, match="are one"):
        compare_in_dataset(limits_root, "keen", "keen__presence__clean")


# --- actions -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def actions_root(synthetic_dataset, tmp_path_factory):
    root = tmp_path_factory.mktemp("actions") / "dataset"
    dataset = make_dataset(
        root, synthetic_dataset, views=48, blanks=0, lightings=(("noon", "day", 2e4),)
    )

    def names_it(row, view, variant, rng):
        if view["density_nominal_px_per_m"] < 50:
            return "refused", None, "I cannot identify people."
        name = row["action"].replace("_", " ")
        return "ok", f"The person is {name}", f"The person is {name}"

    write_run(dataset, "namer", names_it, task="action")
    write_run(dataset, "kicker", lambda *_: ("ok", "kicking", "C"), task="action-choice:options=8")
    return root


def test_actions_in_own_words_are_read_and_a_refusal_is_wrong(actions_root):
    from limen.analysis.report.actions import collect_actions

    named, chosen = collect_actions(load_answers(open_dataset(actions_root)), None)
    (namer,), (kicker,) = named.results, chosen.results
    assert namer.accuracy.value == pytest.approx(2 / 3)
    assert namer.missing == pytest.approx(1 / 3)
    assert namer.rules == {"phrase": 32, "missing": 16}
    assert namer.by_density[43.75].value == 0
    assert kicker.chance == 1 / 8
    column = kicker.columns.index("kicking")
    assert kicker.matrix.sum() == kicker.matrix[:, column].sum() == 48


def test_the_similarity_takes_answers_word_for_word_also_those_that_were_refused(actions_root):
    from limen.analysis.report.actions import collect_actions

    asked = set()

    def embed(texts):
        asked.update(texts)
        return np.eye(64, dtype=np.float32)[[sum(map(ord, text)) % 64 for text in texts]]

    named, _ = collect_actions(load_answers(open_dataset(actions_root)), embed)
    assert "I cannot identify people." in asked
    assert named.results[0].similarity.n == 48
    assert named.results[0].corrected is not None


# --- the page ------------------------------------------------------------------------------------


def test_the_page_refers_to_nothing_outside_itself(page):
    text = page.read_text()
    assert re.findall(r"<script[^>]+src=", text) == []
    # What the scripts might fetch, the browser tests below see.
    markup = re.sub(r"(?s)<script.*?</script>", "", text)
    assert re.findall(r"<(?:link|iframe|object)\b|@import|url\(", markup) == []
    sources = re.findall(r'<img[^>]+src="([^"]{0,30})', markup)
    assert len(sources) > 12
    assert all(source.startswith("data:image/") for source in sources)


def test_the_table_shows_the_scores_in_percent_with_their_intervals(page):
    rows = tables(page)[
        "Against whether somebody is there, seen or not: percent, with 95 % intervals"
    ]
    stub = dict(zip(rows[0], rows[1], strict=True))
    assert stub["Model"].startswith("stub")
    assert stub["To be answered yes / no"] == "36 / 9"
    assert stub["Accuracy"].startswith("33.3 ")  # 12 of 36 by day, 3 of 9 at night: 15 of 45
    assert re.fullmatch(r"33\.3 \d+\.\d–\d+\.\d", stub["Sensitivity"])
    assert stub["Unparsable"] == "33.3"
    assert [row[0].split()[0] for row in rows[1:]] == ["stub", "always-no", "always-yes"]


def test_a_score_with_nothing_to_be_computed_over_is_a_dash(page):
    rows = tables(page)["Table by pixel density"]
    columns = dict(zip(rows[0], next(r for r in rows if r[0] == "40 px/m"), strict=True))
    assert (columns["Specificity"], columns["Balanced accuracy"]) == ("–", "–")


def test_what_every_metric_is_over_is_said_with_its_numbers(page):
    assert tables(page)["Images by light band and variant"][1:] == [
        ["day", "clean", "12", "3"],
        ["evening", "clean", "12", "3"],
        ["night", "clean", "12", "3"],
    ]


def test_the_reader_is_warned_first_of_what_is_wrong_with_the_numbers(page, root):
    text = page.read_text()
    warned = text[text.index("Read this first") : text.index('id="leaderboard"')]
    assert "no labels say what a human can see" in warned
    assert "below 20 a 95 % interval covers less than it says" in warned
    assert re.search(r"<strong>stub</strong> its accuracy of 33.3% is .* always yes", warned)


def test_simulated_labels_are_never_passed_off_as_people(synthetic_dataset, tmp_path):
    dataset = make_dataset(tmp_path / "d", synthetic_dataset, views=12, blanks=3)
    write_run(dataset, "keen", sees())
    write_labels(dataset, by="simulated")
    made = build_report(dataset.root, tmp_path / "r.html")
    text = made.page.read_text()
    assert "labels come from the simulated observer" in text
    assert "Against whether the simulated observer sees somebody" in text
    assert "human" not in made.results.labels


def test_the_note_and_the_question_of_a_run_are_shown(page):
    text = page.read_text()
    assert "<strong>stub</strong> Reads the light of the row." in text
    assert "<q>Is there a person visible in the image?</q>" in text


def test_the_settings_and_the_measured_light_are_shown(page):
    found = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page.read_text()))
    assert found["Window"] == "160 x 160 px"
    assert found["Seed"] == "0"
    assert found["Shutter limit"] == "1/25 s"
    assert found["night"].startswith("0.065 lx, measured ")


def test_a_line_breaks_where_a_score_is_undefined(root):
    # At 40 px/m there are no images without a person, so balanced accuracy is undefined there.
    answers = load_answers(open_dataset(root))
    results = collect(answers)
    look = looks(results.labels, results.kinds)
    chart = figures.metric_chart(results, answers.items, look)
    (traces,) = re.findall(
        r'Plotly\.newPlot\(\s*"metric-chart",\s*(\[.*?\]),\s*\{"template', chart, re.S
    )
    first = json.loads(traces)[0]
    assert (first["x"], first["y"][1], first["connectgaps"]) == ([12.0, 40.0, 80.0], None, False)
    assert None not in (first["y"][0], first["y"][2])


@pytest.mark.slow
def test_the_gallery_shows_failures_of_every_kind_with_answer_truth_and_outline(limits_report):
    text = limits_report.page.read_text()
    cards = re.findall(r'(?s)<figure class="failure".*?</figure>', text)
    assert len(cards) == 72
    kinds = {re.search('data-kind="([^"]*)"', card)[1] for card in cards}
    assert kinds == {"missed", "false alarm", "beyond sight"}
    missed = next(card for card in cards if 'data-kind="missed"' in card and "<path" in card)
    assert "somebody is there, and a human sees them" in missed
    assert re.search(r'<li class="wrong"><b>[\w-]+</b> 0', missed)


def test_the_same_dataset_gives_the_same_page(page, root, tmp_path):
    build_report(root, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_without_runs_the_page_shows_the_dataset_and_constant_answers(synthetic_dataset, tmp_path):
    build_report(synthetic_dataset.root, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "No model has been evaluated yet." in text
    assert text.count("<img ") == 12
    assert "<script" not in text
    rows = tables(tmp_path / "report.html")[
        "Against whether somebody is there, seen or not: percent, with 95 % intervals"
    ]
    assert [row[0] for row in rows[1:]] == ["always-no", "always-yes"]


def test_one_model_one_level_and_no_negatives_make_a_page_too(synthetic_dataset, tmp_path):
    dataset = make_dataset(
        tmp_path / "d",
        synthetic_dataset,
        views=6,
        blanks=0,
        densities=(80.0,),
        lightings=(("noon", "day", 2e4),),
        azimuths=(0.0,),
        elevations=(0.0,),
        subjects=1,
    )
    write_run(dataset, "keen", sees())
    text = build_report(dataset.root, tmp_path / "r.html").page.read_text()
    assert "no image is to be answered no by day" in text
    assert "Where seeing ends" not in text


def test_photographs_of_which_nothing_is_known_have_a_page(tmp_path):
    for folder, n in (("person", 3), ("empty", 2)):
        for number in range(n):
            path = tmp_path / "photos" / folder / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.default_rng(number).integers(0, 255, (60, 80, 3), np.uint8)
            assert cv2.imwrite(str(path), pixels)
    import_photographs("folder", tmp_path / "photos", tmp_path / "d", defaults=Defaults(band="day"))
    write_run(open_dataset(tmp_path / "d"), "stub", lambda *_: ("ok", 1, "1"))
    made = build_report(tmp_path / "d", tmp_path / "r.html")
    score = made.results.find("stub", "presence")
    assert (score.positives, score.negatives) == (3, 2)
    assert score.estimates["accuracy"].clusters == 5  # each stands for itself
    assert re.search(r"person/\d\.png", made.page.read_text())


def test_runs_over_different_images_are_pointed_out(synthetic_dataset, tmp_path):
    dataset = make_dataset(tmp_path / "d", synthetic_dataset, views=6, blanks=3)
    write_run(dataset, "keen", sees())
    write_run(dataset, "lazy", sees(), only=lambda row: row["band"] == "day")
    text = build_report(dataset.root, tmp_path / "r.html").page.read_text()
    assert "not every model was asked about the same images" in text


def test_a_name_from_outside_cannot_run_a_script(synthetic_dataset, tmp_path):
    dataset = make_dataset(tmp_path / "d", synthetic_dataset, views=12, blanks=3)
    directory = write_run(
        dataset, "keen", lambda *_: ("unparsed", None, "<script>alert(3)</script>")
    )
    about = json.loads((directory / "run.json").read_text())
    about["label"] = "</script><script>alert(2)</script>"
    (directory / "run.json").write_text(json.dumps(about))
    study = dataset.root / "study.toml"
    hostile = 'name = "<script>alert(1)</script>"'
    study.write_text(re.sub("(?m)^name = .*", hostile, study.read_text(), count=1))
    build_report(dataset.root, tmp_path / "report.html")
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
        {"lighting": name, "band": band, "illuminance_nominal_lx": lux, "media": {"clean": {}}}
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


def test_what_was_developed_stands_beside_the_clean_image():
    item = {"lighting": "night", "band": "night", "illuminance_nominal_lx": 0.2}
    columns = lighting_columns(
        [{**item, "media": {v: {"path": "x.png"} for v in ("clean", "nv", "camera")}}]
    )
    assert [c.variant for c in columns] == ["clean", "camera", "nv"]


def test_of_many_distances_six_are_shown_from_the_nearest_to_the_farthest():
    views = [_view(f"v{k}", float(k)) for k in range(1, 12)]
    shown = [view["factors"]["distance_m"] for view in _persons(views)]
    assert shown == [1, 3, 5, 7, 9, 11]


def test_a_threshold_is_written_with_its_interval_or_the_end_that_is_known():
    def words(value, low, high):
        return threshold(Threshold(0.5, value, (low, high)), "px/m")

    assert words(31.41, 27.9, 36.02) == "31.4 px/m (27.9–36)"
    assert words(31.41, None, 36.02) == "31.4 px/m (?–36)"
    assert words(None, None, 5.2) == "below 5.2 px/m"
    assert words(None, 250.0, None) == "above 250 px/m"
    assert words(None, None, None) == "–"


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

LAPTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def opened(page):
    """The page, opened from its file in a window of a browser; its script errors and requests."""
    from playwright.sync_api import sync_playwright

    chromium = require("chromium", "chromium-browser", "google-chrome")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet)
        tab = browser.new_page(viewport=LAPTOP)
        errors, requests = [], []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(page.as_uri())
        tab.wait_for_selector("#metric-chart .scatterlayer path.js-line", state="attached")
        yield tab, errors, requests
        browser.close()


@pytest.fixture
def tab(opened, page):
    """The page in a window of a laptop; fails on a script error or a request to anywhere."""
    tab, errors, requests = opened
    tab.set_viewport_size(LAPTOP)
    yield tab
    assert errors == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [page.as_uri()]


@pytest.mark.slow
def test_a_browser_draws_the_charts_and_a_button_changes_the_metric(tab):
    path = "#metric-chart .scatterlayer .trace path.js-line"
    before = tab.eval_on_selector_all(path, "all => all.map(one => one.getAttribute('d'))")
    tab.click("button:has-text('Sensitivity')")
    assert tab.locator(".metrics [aria-pressed=true]").all_inner_texts() == ["Sensitivity"]
    after = tab.eval_on_selector_all(path, "all => all.map(one => one.getAttribute('d'))")
    assert before != after
    assert tab.locator("#band-heatmaps .heatmaplayer image").count() >= 1


@pytest.mark.slow
def test_a_browser_shows_pictures_pixel_for_pixel(tab):
    sizes = tab.eval_on_selector_all(
        ".sheet img",
        "all => all.map(i => [i.naturalWidth, i.naturalHeight, i.clientWidth, i.clientHeight])",
    )
    assert len(sizes) == 12
    assert all(size[:2] == size[2:] and size[0] > 0 for size in sizes)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "columns"), [(1400, 4), (1400, 7), (500, 4)])
def test_pictures_are_scaled_down_alike_until_the_sheet_fits(tab, width, columns):
    tab.set_viewport_size({"width": width, "height": 900})
    # As of 1.4 m at 187.5 px/m, and half of it, which the synthetic cameras do not reach.
    sizes = tab.evaluate(
        """columns => {
            const sheet = document.querySelector(".sheet");
            const before = sheet.cloneNode(true);
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
            const overflow = sheet.scrollWidth - sheet.clientWidth;
            sheet.replaceWith(before);
            return [overflow, shown[0], shown[1]];
        }""",
        columns,
    )
    assert sizes[0] <= 0
    assert sizes[1] == pytest.approx(2 * sizes[2], abs=0.1)
    assert (sizes[1] == 262) == ((width, columns) == (1400, 4))


@pytest.mark.slow
def test_on_a_phone_the_metric_buttons_wrap(tab):
    tab.set_viewport_size({"width": 500, "height": 900})
    tops = tab.eval_on_selector_all(
        ".metrics button", "all => all.map(b => b.getBoundingClientRect().top)"
    )
    assert len(set(tops)) > 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= 500


@pytest.mark.slow
def test_the_page_fits_a_laptop_without_scrolling_sideways(tab):
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.slow
def test_every_picture_and_table_says_what_it_is_to_those_who_cannot_see_it(tab):
    assert tab.locator(".sheet img:not([alt]), .sheet img[alt='']").count() == 0
    assert tab.locator("table").count() == tab.locator("table > caption").count()
