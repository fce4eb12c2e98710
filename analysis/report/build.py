"""Puts a dataset's report together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ...addon.core import toml_check
from ...addon.core.dataset import Dataset, frozen_study, open_dataset, write_file
from ..contract import rows_blamed
from ..develop.table import with_variants
from ..embedding import OFFLINE_EMBEDDER, EmbeddingError, load_embedder
from ..metrics.scores import OUTCOMES
from ..metrics.similarity import Embed, cached, score_title
from ..metrics.tables import cells_of
from . import text
from .actions import ActionTable, collect_actions
from .answers import Answerer, Answers, load_answers
from .compare import ComparedCell, compare_runs
from .contact_sheet import CROP_M, contact_sheet, lighting_columns
from .export import csv_text, tables_directory, write_tables
from .gallery import gallery
from .limits import Limits, find_limits
from .page import charts, warnings_of
from .results import Results, collect, everyone

__all__ = ["Report", "ReportError", "build_report", "compare_in_dataset"]

_TEMPLATES = Path(__file__).parent / "templates"

TABLE_TITLES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "macro_f1": "Macro-F1",
    "mcc": "MCC",
}

_CAMERA = {
    "Sensor": {
        "sensor": "{}",
        "sensor_width_mm": "{:.5g} mm wide",
        "sensor_height_mm": "{:.5g} high",
    },
    "Lens": {"lens_mm": "{} mm", "fnumber": "f/{}"},
    "Sensitivity": {"iso": "ISO {}"},
}
"""Title -> key of the study's camera -> how it is written."""

Progress = Callable[[str, int, int], None]


class ReportError(Exception):
    """There is nothing to report on; the message says what is missing."""


@dataclass(frozen=True, eq=False)
class Report:
    """What was written, and what is in it.

    Attributes:
        page: The HTML file.
        tables: CSV, Parquet and LaTeX files beside it.
        results: Scores of presence.
        labelled_by: Who gave the labels that are the truth, in words; "" without labels.
    """

    page: Path
    tables: tuple[Path, ...]
    results: Results
    labelled_by: str


def build_report(
    root: Path,
    out: Path,
    *,
    labels: str | None = None,
    embedder: str = OFFLINE_EMBEDDER,
    progress: Progress | None = None,
) -> Report:
    """Write the report of a dataset: what it holds, and what everyone answered.

    The same dataset, runs and labels give the same page, and the same tables beside it.

    Args:
        root: The dataset.
        out: The HTML file, replaced whole; tables go where :func:`.export.tables_directory` says.
        labels: Whose labels are the truth, ``human`` or ``simulated``, where there are both.
        embedder: Of actions named in own words, see :func:`..embedding.load_embedder`.
        progress: Told (what, done, in all).

    Raises:
        ReportError: The dataset has no views yet.
        DatasetError: ``root`` is no dataset, a row breaks the contract, or a table is damaged.
        UnreadableError: The frozen study is no TOML.
        EvaluateError: A run does not belong to the images.
        LabelsError: The labels cannot be used.
    """
    dataset = open_dataset(root)
    if not dataset.views:
        raise ReportError(f"{root} holds no views yet: render it first")
    out.parent.mkdir(parents=True, exist_ok=True)  # now, not after minutes of work
    with rows_blamed(dataset):
        answers = load_answers(dataset, labels)
        results = collect(answers, progress)
        people = sorted(everyone(answers), key=lambda one: results.labels.index(one.label))
        study = _study(dataset.root)
        limits = find_limits(
            answers,
            [one for one in people if one.kind != "constant"],
            lux_alone=_lux_alone(study),
            progress=progress,
        )
        embed, note = _embedder(dataset, answers, embedder)
        actions = collect_actions(answers, embed, progress)
        page = _page(dataset, study, answers, people, results, limits, actions, embedder, note)
    write_file(out, page.encode())
    files = write_tables(tables_directory(out), answers, people, results, limits, actions)
    return Report(out, files, results, answers.labels.words if answers.labels else "")


def compare_in_dataset(
    root: Path, first: str, second: str, *, labels: str | None = None, out: Path | None = None
) -> tuple[str, tuple[ComparedCell, ...]]:
    """Compare two runs of a dataset; the same table as CSV where ``out`` says.

    Returns:
        What they were judged against, in words, and the cells.

    Raises:
        CompareError: A run is not there, or they share no question.
        EvaluateError: A run does not belong to the images.
    """
    dataset = open_dataset(root)
    with rows_blamed(dataset):
        answers = load_answers(dataset, labels)
        cells = compare_runs(answers, everyone(answers), first, second)
    if out is not None:
        rows = [
            {
                "factor": cell.factor,
                "level": cell.level,
                "first": cell.first,
                "second": cell.second,
                "difference": cell.comparison.difference.value,
                "low": (cell.comparison.difference.interval or (None, None))[0],
                "high": (cell.comparison.difference.interval or (None, None))[1],
                "only_first_right": cell.comparison.only_first,
                "only_second_right": cell.comparison.only_second,
                "p": cell.comparison.p_value,
                "p_holm": cell.p_holm,
                "p_mcnemar": cell.comparison.p_mcnemar,
                "n": cell.comparison.difference.n,
                "clusters": cell.comparison.difference.clusters,
            }
            for cell in cells
        ]
        write_file(out, csv_text(rows).encode())
    return answers.truth_words, cells


def _embedder(dataset: Dataset, answers: Answers, name: str) -> tuple[Embed | None, str]:
    """The embedder, where answers in own words need one, and a note where it is missing."""
    if not any(task.partition(":")[0] == "action" for task in answers.tasks):
        return None, ""
    try:
        embed = load_embedder(name)
    except EmbeddingError as error:
        return None, str(error)
    return cached(embed, name, dataset.root / "runs"), ""


def _lux_alone(study: Mapping[str, Any]) -> bool:
    """Whether the study's light conditions differ in illuminance only."""
    tables = study.get("lighting")
    if not isinstance(tables, list) or len(tables) < 2:
        return False
    varying = {"name", "band", "illuminance_lx"}
    return len({repr({k: v for k, v in t.items() if k not in varying}) for t in tables}) == 1


def _page(
    dataset: Dataset,
    study: Mapping[str, Any],
    answers: Answers,
    people: Sequence[Answerer],
    results: Results,
    limits: Limits,
    actions: Sequence[ActionTable],
    embedder: str,
    embedder_note: str,
) -> str:
    import jinja2

    densities = _densities(dataset)
    columns = lighting_columns(with_variants(dataset).values())
    sheet = contact_sheet(dataset, columns)
    failures, failed = gallery(dataset, answers, people)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("percent", "interval", "illuminance", "density", "distance", "threshold"):
        environment.filters[name] = getattr(text, name)
    return environment.get_template("report.html.j2").render(
        version=__version__,
        name=study.get("name", dataset.root.name),
        lead=_lead(dataset, densities),
        counts=_counts(dataset, answers),
        factors=_factors(dataset, densities),
        settings=_settings(dataset, study),
        lights=_lights(dataset),
        photographs=_photographs(dataset),
        columns=columns,
        hidden_columns=sum(not column.shown for column in columns),
        crop_m=CROP_M,
        densities=densities,
        sheet=sheet,
        widest=max((picture.width for row in sheet for picture in row.pictures), default=0),
        answers=answers,
        truth_words=answers.truth_words,
        results=results,
        limits=limits,
        actions=actions,
        similarity_title=score_title(embedder),
        embedder=embedder,
        embedder_note=embedder_note,
        failures=failures,
        failed=failed,
        runs=[_run_facts(one, about) for one in _all(answers) for about in one.runs],
        metric_titles=TABLE_TITLES,
        truths=_truths(answers),
        warnings=warnings_of(answers, people, results, limits),
        notes=_notes(answers),
        questions=_questions(answers),
        css=(_TEMPLATES / "report.css").read_text(encoding="utf-8"),
        **charts(answers, people, results, limits, actions),
    )


def _all(answers: Answers) -> list[Answerer]:
    return [one for of in answers.tasks.values() for one in of]


def _notes(answers: Answers) -> list[tuple[str, str]]:
    notes = {
        (one.label, str(about["note"]))
        for one in _all(answers)
        for about in one.runs
        if about.get("note")
    }
    return sorted(notes)


def _questions(answers: Answers) -> list[tuple[str, str]]:
    """(task, its question word for word)."""
    found: dict[str, str] = {}
    for task, people in answers.tasks.items():
        for one in people:
            for about in one.runs:
                found.setdefault(task, str(about.get("question", "")))
    return list(found.items())


def _study(root: Path) -> Mapping[str, Any]:
    path = frozen_study(root)
    study = toml_check.parse(toml_check.read_text(path, "Study"), path.as_posix(), "Study")
    if not isinstance(study.get("camera", {}), dict):
        raise ReportError(f"{path}: camera is no table: limen check {root} says what is wrong")
    return study


def _lead(dataset: Dataset, densities: Mapping[float, float]) -> str:
    """One line that says which part of the physical range is covered."""
    lux = [row["illuminance_nominal_lx"] for row in dataset.index.values()]
    lux = [value for value in lux if value is not None]
    views = [view["factors"] for view in dataset.views.values()]
    ranges = [
        _range(list(densities.values()), text.density),
        _range(lux, text.illuminance),
    ]
    for key, what in (("azimuth_deg", "azimuth"), ("elevation_deg", "elevation")):
        n = len({factors[key] for factors in views} - {None})
        ranges.append(f"{n} {what}{'' if n == 1 else 's'}" if n else "")
    return ", ".join(filter(None, ranges))


def _range(values: Sequence[float], write: Callable[[float], str]) -> str:
    return (
        " to ".join(dict.fromkeys(write(end) for end in (min(values), max(values))))
        if values
        else ""
    )


def _counts(dataset: Dataset, answers: Answers) -> list[tuple[str, str]]:
    views = dataset.views.values()
    persons = sum(view["target_present"] for view in views)
    plates = {view["plate_id"] for view in views} - {None}
    lightings = {row["lighting"] for row in dataset.index.values()}
    asked = len(answers.items.keys) if answers.tasks else 0
    counts = [
        (asked, "images asked about"),
        (len(dataset.index), "photographs" if _photographs(dataset) else "images rendered"),
        (persons, "views with a person"),
        (len(views) - persons, "views without"),
        (len(lightings), "light conditions"),
        (len(plates), "backgrounds"),
        (len({one.label for one in _all(answers)}), "models"),
    ]
    return [(f"{n:,}", what) for n, what in counts if n]


def _photographs(dataset: Dataset) -> bool:
    """Return whether its images were taken and not rendered."""
    return all(view["render"]["method"] == "photograph" for view in dataset.views.values())


def _densities(dataset: Dataset) -> dict[float, float]:
    return {
        view["factors"]["distance_m"]: view["density_nominal_px_per_m"]
        for view in dataset.views.values()
        if view["density_nominal_px_per_m"] is not None
        and view["factors"]["distance_m"] is not None
    }


def _factors(dataset: Dataset, densities: Mapping[float, float]) -> list[tuple[str, str]]:
    """Factor -> its levels with how many views (light: images) each has."""
    rows = [view["factors"] for view in dataset.views.values()]
    titles = {
        "distance_m": "Distance",
        "azimuth_deg": "Azimuth",
        "elevation_deg": "Elevation",
        "action": "Action",
        "pose": "Pose",
        "scenery": "Scenery",
        "subject": "Subject",
        "texture": "Texture",
    }
    write = {
        "distance_m": lambda d: f"{text.distance(d)} = {text.density(densities.get(d or 0.0))}",
        "azimuth_deg": text.degrees,
        "elevation_deg": text.degrees,
    }
    table = []
    for key, title in titles.items():
        found = Counter(row[key] for row in rows if row[key] is not None)
        levels = [f"{write.get(key, str)(level)} ({n:,})" for level, n in sorted(found.items())]
        shown = levels if len(levels) <= 12 else [*levels[:12], f"and {len(levels) - 12} more"]
        table.append((title, ", ".join(shown) or text.UNDEFINED))
    return table


def _settings(dataset: Dataset, study: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the images were rendered with, from the rows and the frozen study."""
    views = list(dataset.views.values())
    camera = study.get("camera", {})
    sizes = sorted({(view["camera"]["width"], view["camera"]["height"]) for view in views})
    ratios = [
        v["density_measured_px_per_m"] / v["density_nominal_px_per_m"] - 1
        for v in views
        if v["density_measured_px_per_m"] and v["density_nominal_px_per_m"]
    ]
    few = [f"{w} x {h} px" for w, h in sizes[:6]]
    few += [f"and {len(sizes) - 6} more"] if len(sizes) > 6 else []
    table = [("Image", ", ".join(few))]
    for title, parts in _CAMERA.items():
        told = [form.format(camera[key]) for key, form in parts.items() if key in camera]
        if told:
            table.append((title, ", ".join(told)))
    for title, key in (("Full resolution", "resolution"), ("Window", "window")):
        if key in camera:
            table.append((title, " x ".join(map(str, camera[key])) + " px"))
    if "shutter_limit_s" in camera:
        table.append(("Shutter limit", text.exposure(camera["shutter_limit_s"])))
    if ratios:
        widest = max(map(abs, ratios))
        table.append(("Measured density", f"within {widest:.2%} of the nominal pixel density"))
    if "seed" in study:
        table.append(("Seed", str(study["seed"])))
    titles = {
        "method": "Method",
        "samples": "Samples",
        "denoise": "Denoiser",
        "blender": "Blender",
        "limen": "Limen",
    }
    for key, title in titles.items():
        values = sorted({str(v["render"][key]) for v in views if v["render"][key] is not None})
        if values:
            table.append((title, ", ".join(values)))
    return table


def _lights(dataset: Dataset) -> list[tuple[str, str]]:
    """(light condition, its illuminance nominal and measured), bright to dark."""
    found: dict[tuple[float, str], list[float]] = {}
    for row in dataset.index.values():
        if row["illuminance_nominal_lx"] is None or row["illuminance_measured_lx"] is None:
            continue
        key = -row["illuminance_nominal_lx"], row["lighting"]
        found.setdefault(key, []).append(row["illuminance_measured_lx"])
    table = []
    for (nominal, name), measured in sorted(found.items()):
        ends = dict.fromkeys(text.illuminance(lux) for lux in (min(measured), max(measured)))
        words = f"{text.illuminance(-nominal)}, measured {' to '.join(ends)}"
        table.append((name.replace("_", " "), words))
    return table


def _truths(answers: Answers) -> list[tuple[str, str, int, int, int | None, int | None]]:
    """(band, variant, with a person, without, seen by a human, not seen) of the images asked about.

    The last two are None without labels.
    """
    items = answers.items
    present = items.truths["presence"]
    seen = items.truths.get("discernable")
    found = []
    for levels, rows in cells_of(items, ("band", "variant")):
        there = present[rows]
        known = None if seen is None else seen[rows][there == 1]
        found.append(
            (
                str(levels["band"]),
                str(levels["variant"]),
                int(there.sum()),
                int((there == 0).sum()),
                None if known is None else int((known == 1).sum()),
                None if known is None else int((known == 0).sum()),
            )
        )
    return found


def _run_facts(one: Answerer, about: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = about["model"].get("settings", {})
    sessions = about["sessions"]
    last: Mapping[str, Any] = sessions[-1] if sessions else {}
    latency = last.get("latency_ms") or {}
    counts = Counter(OUTCOMES[code] for code in one.outcomes if code >= 0)
    missing = {name: counts[name] for name in OUTCOMES[2:] if counts[name]}
    size = one.parameters_b
    prompt = about.get("prompt") or {}
    return {
        "label": one.label,
        "model": about["model"]["name"],
        "parameters": f"{size:g} B" if size else "",
        "task": about["task"],
        "prompt": f"{prompt['name']} v{prompt['version']}" if prompt else "",
        "parser": about.get("parser", ""),
        "settings": ", ".join(f"{key} {value}" for key, value in settings.items()) or "none",
        "variant": about["variant"],
        "answered": f"{int(one.asked.sum()):,}",
        "missing": ", ".join(f"{n:,} {name}" for name, n in missing.items()) or "none",
        "latency": f"{latency['median']:g} / {latency['p95']:g} ms" if latency else "",
        "when": str(last.get("started", ""))[:16].replace("T", " "),
        "runtime": ", ".join(f"{k} {v}" for k, v in (last.get("runtime") or {}).items()),
        "versions": ", ".join(f"{k} {v}" for k, v in (last.get("versions") or {}).items()),
    }
