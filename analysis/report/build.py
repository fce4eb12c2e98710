"""Puts a dataset's report together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import __version__
from ...addon.core import toml_check
from ...addon.core.dataset import Dataset, frozen_study, open_dataset, write_file
from ..contract import rows_blamed
from ..evaluate import Run, read_runs
from ..tasks import Task, find_task
from . import figures, text
from .contact_sheet import CROP_M, contact_sheet, lighting_columns
from .results import Results, collect, scores_csv

__all__ = ["ReportError", "build_report", "scores_file"]

_TEMPLATES = Path(__file__).parent / "templates"

TABLE_TITLES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "macro_f1": "Macro-F1",
    "unanswered_rate": "No answer",
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


class ReportError(Exception):
    """There is nothing to report on; the message says what is missing."""


def build_report(root: Path, out: Path, task_name: str = "presence") -> Results:
    """Write the report of a dataset: what it holds, and the scores of its runs.

    The same dataset and runs give the same page, and the same scores as CSV beside it.

    Args:
        root: The dataset.
        out: The HTML file, replaced whole; the scores go where :func:`scores_file` says.
        task_name: Whose runs are shown.

    Returns:
        The scores.

    Raises:
        ReportError: The dataset has no views yet.
        DatasetError: ``root`` is no dataset, a row breaks the contract, or a table is damaged.
        UnreadableError: The frozen study is no TOML.
        EvaluateError: A run does not belong to the images.
    """
    dataset = open_dataset(root)
    if not dataset.views:
        raise ReportError(f"{root} holds no views yet: render it first")
    task = find_task(task_name)
    with rows_blamed(dataset):
        runs = read_runs(dataset, task_name)
        results = collect(dataset, task, runs)
        page = _page(dataset, task, runs, results)
    write_file(out, page.encode())
    write_file(scores_file(out), scores_csv(results).encode())
    return results


def scores_file(report: Path) -> Path:
    """``scores.csv`` beside ``report.html``; beside a ``NAME.html``, ``NAME.scores.csv``."""
    name = "scores.csv" if report.stem == "report" else f"{report.stem}.scores.csv"
    return report.with_name(name)


def _page(dataset: Dataset, task: Task, runs: Sequence[Run], results: Results) -> str:
    import jinja2

    root = dataset.root
    study = _study(root)
    densities = _densities(dataset)
    columns = lighting_columns(dataset.index.values())
    sheet = contact_sheet(dataset, columns)

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("percent", "interval", "illuminance", "density", "distance"):
        environment.filters[name] = getattr(text, name)
    return environment.get_template("report.html.j2").render(
        version=__version__,
        name=study.get("name", root.name),
        lead=_lead(dataset, densities),
        counts=_counts(dataset),
        factors=_factors(dataset, densities),
        settings=_settings(dataset, study),
        lights=_lights(dataset),
        columns=columns,
        hidden_columns=sum(not column.shown for column in columns),
        crop_m=CROP_M,
        sheet=sheet,
        widest=max((picture.width for row in sheet for picture in row.pictures), default=0),
        task=task,
        results=results,
        runs=[_run_facts(run, len(dataset.index)) for run in runs],
        metric_titles=TABLE_TITLES,
        truths=_truths(dataset),
        partial=_partial(runs),
        notes=[(run.label, run.about["note"]) for run in runs if run.about.get("note")],
        metric_chart=figures.metric_chart(results, densities) if results.labels else "",
        metric_buttons=figures.metric_buttons(results),
        lighting_heatmaps=figures.lighting_heatmaps(results, densities) if results.labels else "",
        band_heatmaps=figures.band_heatmaps(results, densities) if results.labels else "",
        plotly=figures.plotly_script() if results.labels else "",
        css=(_TEMPLATES / "report.css").read_text(encoding="utf-8"),
    )


def _study(root: Path) -> Mapping[str, Any]:
    path = frozen_study(root)
    study = toml_check.parse(toml_check.read_text(path, "Study"), path.as_posix(), "Study")
    if not isinstance(study.get("camera"), dict):
        raise ReportError(f"{path} has no table [camera]: limen check {root} says what is wrong")
    return study


def _lead(dataset: Dataset, densities: Mapping[float, float]) -> str:
    """One line that says which part of the physical range is covered."""
    lux = [row["illuminance_nominal_lx"] for row in dataset.index.values()]
    views = [view["factors"] for view in dataset.views.values()]
    ranges = [
        f"{text.number(min(densities.values()))} to {text.density(max(densities.values()))}",
        f"{text.illuminance(min(lux))} to {text.illuminance(max(lux))}" if lux else "",
    ]
    for key, what in (("azimuth_deg", "azimuth"), ("elevation_deg", "elevation")):
        n = len({factors[key] for factors in views})
        ranges.append(f"{n} {what}{'' if n == 1 else 's'}")
    return ", ".join(filter(None, ranges))


def _partial(runs: Sequence[Run]) -> bool:
    """Whether runs answered about different images, so that their scores do not compare."""
    return len({frozenset(row["id"] for row in run.rows) for run in runs}) > 1


def _counts(dataset: Dataset) -> list[tuple[str, str]]:
    views = dataset.views.values()
    persons = sum(view["target_present"] for view in views)
    plates = {view["plate_id"] for view in views} - {None}
    lightings = {row["lighting"] for row in dataset.index.values()}
    counts = [
        (len(dataset.index), "images"),
        (persons, "views with a person"),
        (len(views) - persons, "views without"),
        (len(lightings), "light conditions"),
        (len(plates), "backgrounds"),
    ]
    return [(f"{n:,}", what) for n, what in counts if n]


def _densities(dataset: Dataset) -> dict[float, float]:
    return {
        view["factors"]["distance_m"]: view["density_nominal_px_per_m"]
        for view in dataset.views.values()
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
        "distance_m": lambda d: f"{text.distance(d)} = {text.density(densities[d])}",
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
    camera = study["camera"]
    sizes = sorted({(view["camera"]["width"], view["camera"]["height"]) for view in views})
    ratios = [v["density_measured_px_per_m"] / v["density_nominal_px_per_m"] - 1 for v in views]
    table = [("Image", ", ".join(f"{w} x {h} px" for w, h in sizes))]
    for title, parts in _CAMERA.items():
        told = [form.format(camera[key]) for key, form in parts.items() if key in camera]
        if told:
            table.append((title, ", ".join(told)))
    for title, key in (("Full resolution", "resolution"), ("Window", "window")):
        if key in camera:
            table.append((title, " x ".join(map(str, camera[key])) + " px"))
    if "shutter_limit_s" in camera:
        table.append(("Shutter limit", text.exposure(camera["shutter_limit_s"])))
    table.append(
        ("Measured density", f"within {max(map(abs, ratios)):.2%} of the nominal pixel density")
    )
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
        values = sorted({str(view["render"][key]) for view in views})
        table.append((title, ", ".join(values)))
    return table


def _lights(dataset: Dataset) -> list[tuple[str, str]]:
    """(light condition, its illuminance nominal and measured), bright to dark."""
    found: dict[tuple[float, str], list[float]] = {}
    for row in dataset.index.values():
        key = -row["illuminance_nominal_lx"], row["lighting"]
        found.setdefault(key, []).append(row["illuminance_measured_lx"])
    table = []
    for (nominal, name), measured in sorted(found.items()):
        ends = dict.fromkeys(text.illuminance(lux) for lux in (min(measured), max(measured)))
        words = f"{text.illuminance(-nominal)}, measured {' to '.join(ends)}"
        table.append((name.replace("_", " "), words))
    return table


def _truths(dataset: Dataset) -> list[tuple[str, int, int]]:
    """(band, images with a person, images without)."""
    found = Counter((row["band"], row["target_present"]) for row in dataset.index.values())
    bands = dict.fromkeys(column.band for column in lighting_columns(dataset.index.values()))
    return [(band, found[band, True], found[band, False]) for band in bands]


def _run_facts(run: Run, items: int) -> Mapping[str, Any]:
    outcomes = Counter(row["outcome"] for row in run.rows)
    settings = run.about["model"].get("settings", {})
    sessions = run.about["sessions"]
    versions = sessions[-1]["versions"] if sessions else {}
    return {
        "label": run.label,
        "model": run.about["model"]["name"],
        "settings": ", ".join(f"{key} {value}" for key, value in settings.items()) or "none",
        "variant": run.about["variant"],
        "answered": f"{len(run.rows):,} of {items:,}",
        "outcomes": ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(outcomes.items())),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
