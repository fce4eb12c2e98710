"""Puts a dataset's report together."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import __version__
from ...addon.core.dataset import Dataset, frozen_study, open_dataset, write_file
from ..evaluate import Run, read_runs
from ..tasks import find_task
from . import figures, text
from .contact_sheet import CROP_M, contact_sheet, lighting_columns
from .results import collect

__all__ = ["ReportError", "build_report"]

_TEMPLATES = Path(__file__).parent / "templates"

TABLE_TITLES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "macro_f1": "Macro-F1",
    "unanswered_rate": "No answer",
}


class ReportError(Exception):
    """There is nothing to report on; the message says what is missing."""


def build_report(root: Path, out: Path, task_name: str = "presence") -> None:
    """Write the report of a dataset: what it holds, and the scores of its runs.

    The same dataset and runs give the same page.

    Args:
        root: The dataset.
        out: The HTML file, replaced whole.
        task_name: Whose runs are shown.

    Raises:
        ReportError: The dataset has no views yet.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
        EvaluateError: A run does not belong to the images.
    """
    import jinja2

    dataset = open_dataset(root)
    if not dataset.views:
        raise ReportError(f"{root} holds no views yet: render it first")
    task = find_task(task_name)
    runs = read_runs(dataset, task_name)
    results = collect(dataset, task, runs)
    densities = _densities(dataset)
    columns = lighting_columns(dataset.index.values())

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("percent", "interval", "illuminance", "density", "distance"):
        environment.filters[name] = getattr(text, name)
    page = environment.get_template("report.html.j2").render(
        version=__version__,
        name=_study(root).get("name", root.name),
        lead=_lead(dataset, densities),
        counts=_counts(dataset),
        factors=_factors(dataset, densities),
        settings=_settings(dataset),
        columns=columns,
        hidden_columns=sum(not column.shown for column in columns),
        crop_m=CROP_M,
        sheet=contact_sheet(dataset, columns),
        task=task,
        results=results,
        runs=[_run_facts(run, len(dataset.index)) for run in runs],
        metric_titles=TABLE_TITLES,
        truths=_truths(dataset),
        partial=_partial(runs),
        metric_chart=figures.metric_chart(results, densities) if results.labels else "",
        heatmaps=figures.heatmaps(results, densities) if results.labels else "",
        plotly=figures.plotly_script() if results.labels else "",
        css=(_TEMPLATES / "report.css").read_text(encoding="utf-8"),
    )
    write_file(out, page.encode())


def _study(root: Path) -> Mapping[str, Any]:
    return tomllib.loads(frozen_study(root).read_text(encoding="utf-8"))


def _lead(dataset: Dataset, densities: Mapping[float, float]) -> str:
    """One line that says which part of the physical range is covered."""
    lux = [row["illuminance_nominal_lx"] for row in dataset.index.values()]
    views = [view["factors"] for view in dataset.views.values()]
    ranges = [
        f"{min(densities.values()):.3g} to {text.density(max(densities.values()))}",
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


def _settings(dataset: Dataset) -> list[tuple[str, str]]:
    """What the images were rendered with, from the rows and the frozen study."""
    views = list(dataset.views.values())
    camera = _study(dataset.root).get("camera", {})
    sizes = sorted({(view["camera"]["width"], view["camera"]["height"]) for view in views})
    ratios = [v["density_measured_px_per_m"] / v["density_nominal_px_per_m"] - 1 for v in views]
    table = [("Image", ", ".join(f"{w} x {h} px" for w, h in sizes))]
    optics = {"sensor": "{}", "lens_mm": "{} mm", "fnumber": "f/{}"}
    told = [form.format(camera[key]) for key, form in optics.items() if key in camera]
    if told:
        table.append(("Camera", ", ".join(told)))
    table.append(
        ("Measured density", f"within {max(map(abs, ratios)):.2%} of the nominal pixel density")
    )
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
