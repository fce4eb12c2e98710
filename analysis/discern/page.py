"""The discernibility report: one self-contained page (`limen discern report`)."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ...addon.core.dataset import Dataset, open_dataset, read_table, write_file
from ..contract import rows_blamed
from ..develop.table import geometry_of, with_variants
from ..images import read_image
from . import figures
from .estimators import ESTIMATORS
from .limits import Curve, curves_over_density, curves_over_lux, grids, looked
from .model_file import ModelFileError, comparisons, read_about
from .region import band_width
from .table import Key, LabelsError, Row, label_sources, read_labels, who

__all__ = ["ReportSummary", "build_report", "outdated"]

_TEMPLATES = Path(__file__).parent / "templates"
_CSS = Path(__file__).parents[1] / "report" / "templates" / "report.css"
_EXAMPLES = 6
_CROP_PX = 320

METRIC_TITLES = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro-F1",
    "balanced_accuracy": "Balanced accuracy",
    "auc": "AUC",
    "brier": "Brier (less is better)",
}


@dataclass(frozen=True)
class ReportSummary:
    """What a report shows.

    Attributes:
        labels: How many labels.
        curves: Psychometric functions that could be fitted.
        model: Name of the model, or None.
    """

    labels: int
    curves: int
    model: str | None


@dataclass(frozen=True)
class _Picture:
    source: str
    width: int
    height: int
    text: str


def build_report(
    root: Path, out: Path, *, source: str | None = None, model: str | None = "main"
) -> ReportSummary:
    """Write the report of a dataset's labels, and of a model if there is one.

    Args:
        root: The dataset.
        out: The HTML file, replaced whole.
        source: Whose eyes: ``human`` or ``simulated``; None for the only ones there are.
        model: Name of a model in ``labels/models``; it is left out where there is none.

    Raises:
        LabelsChoiceError: There are human and simulated labels, and ``source`` does not choose.
        LabelsError: There are no labels.
        ModelFileError: The model's files are damaged.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
    """
    dataset = open_dataset(root)
    with rows_blamed(dataset):
        labels = read_labels(dataset.root, source)
        if not labels:
            raise LabelsError(
                f"{dataset.root} has no {f'{source} ' if source else ''}labels: "
                "limen annotate asks people, limen discern observe the simulated observer"
            )
        if source is None:
            source = label_sources(dataset.root)[0]
        about, predictions = _model(dataset, model, source)
        found = looked(dataset, labels)
        density, lux = curves_over_density(found), curves_over_lux(found)
        page = _render(
            name=dataset.root.resolve().name,
            version=__version__,
            source=source,
            counts=_counts(labels),
            modelled=any(row["by"] == "model" for row in labels.values()),
            outdated=bool(about and outdated(labels, about)),
            density=density,
            lux=lux,
            density_chart=figures.curves_chart(density, "px/m", "pixel density, px/m", "density"),
            lux_chart=figures.curves_chart(lux, "lx", "illuminance, lx", "lux"),
            grid_chart=figures.grid_chart(grids(found)),
            about=about,
            importance=figures.importance_chart(about["importance"]) if about else "",
            calibration=(
                figures.calibration_chart(about["calibration"], about["chosen"]) if about else ""
            ),
            sentences=comparisons(about) if about else [],
            examples=_examples(dataset, labels, predictions, about),
        )
    write_file(out, page.encode())
    fitted = sum(curve.fit is not None for curve in (*density, *lux))
    return ReportSummary(len(labels), fitted, about["name"] if about else None)


def _render(**values: Any) -> str:
    import jinja2
    from plotly.offline import get_plotlyjs

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"amount": _amount, "threshold": _threshold, "verdict": _bold}
    return environment.get_template("discern.html.j2").render(
        css=_CSS.read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
        metrics=METRIC_TITLES,
        estimators=ESTIMATORS,
        **values,
    )


def _model(
    dataset: Dataset, name: str | None, source: str
) -> tuple[Row | None, list[Mapping[str, Any]]]:
    """The model that learnt from these eyes, and its predictions; none where there is none."""
    directory = dataset.root / "labels" / "models" / (name or "")
    if name is None or not (directory / "model.json").is_file():
        return None, []
    about = read_about(directory)
    if about["trained_on"] != source:
        return None, []
    rows = read_table(directory / "predictions.jsonl")
    for row in rows:
        if not (isinstance(row.get("probability"), dict) and row.get("label") in (0, 1)):
            raise ModelFileError(f"{directory / 'predictions.jsonl'} is damaged: fit anew")
    return about, list(rows)


def outdated(labels: Mapping[Key, Row], about: Row) -> bool:
    """Whether a model's labels are of an earlier fit than the one that the page shows."""
    return any(
        row["by"] == "model"
        and row.get("model") == about["name"]
        and row.get("model_sha256") != about["sha256"]
        for row in labels.values()
    )


def _counts(labels: Mapping[Key, Row]) -> list[tuple[str, str, Counter[Any]]]:
    """(who gave them, variant, label -> how many), the observers first."""
    found: dict[tuple[str, str, str], Counter[Any]] = {}
    for (_, variant), row in labels.items():
        key = ("model" if row["by"] == "model" else "", who(row), variant)
        found.setdefault(key, Counter())[row["human_discernable"]] += 1
    return [(giver, variant, counts) for (_, giver, variant), counts in sorted(found.items())]


# --- examples ------------------------------------------------------------------------------------


def _examples(
    dataset: Dataset,
    labels: Mapping[Key, Row],
    predictions: Sequence[Mapping[str, Any]],
    about: Row | None,
) -> list[tuple[str, list[_Picture]]]:
    rows = with_variants(dataset)
    if about is None:
        present = [
            (key, row)
            for key, row in labels.items()
            if row["by"] != "model" and rows[key[0]]["target_present"]
        ]
        kinds = {
            title: [
                (key, f"{key[1]}") for key, row in present if row["human_discernable"] == wanted
            ]
            for title, wanted in (("Called visible", 1), ("Called not visible", 0))
        }
    else:
        kinds = _of_model(predictions, about)
    made = []
    for title, items in kinds.items():
        pictures = []
        for key, text in items[:_EXAMPLES]:
            picture = _picture(dataset, rows[key[0]], key[1], text)
            if picture is not None:
                pictures.append(picture)
        if pictures:
            made.append((title, pictures))
    return made


def _of_model(
    predictions: Sequence[Mapping[str, Any]], about: Row
) -> dict[str, list[tuple[Key, str]]]:
    """Test images that the chosen model is surest, wrong and undecided about."""
    threshold, abstain = about["threshold"], about["abstain"]
    test = [
        ((row["id"], row["variant"]), row["label"], row["probability"][about["chosen"]])
        for row in predictions
        if row["role"] == "test"
    ]

    def words(key: Key, label: int, p: float) -> str:
        return f"{key[1]}, p = {p:.2f}, label {label}"

    def chosen(keep: Any, order: Any) -> list[tuple[Key, str]]:
        kept = sorted((one for one in test if keep(one)), key=order)
        return [(key, words(key, label, p)) for key, label, p in kept]

    def right(one: tuple[Key, int, float]) -> bool:
        return bool((one[2] >= threshold) == one[1])

    def near(one: tuple[Key, int, float]) -> bool:
        return bool(abs(one[2] - threshold) < abstain)

    return {
        "Visible and right, the surest first": chosen(
            lambda one: one[1] == 1 and right(one), lambda one: -one[2]
        ),
        "Not visible and right, the surest first": chosen(
            lambda one: one[1] == 0 and right(one), lambda one: one[2]
        ),
        "Wrong, the surest first": chosen(
            lambda one: not right(one) and not near(one), lambda one: -abs(one[2] - threshold)
        ),
        "Abstained": chosen(near, lambda one: abs(one[2] - threshold)),
    }


def _picture(dataset: Dataset, row: Row, variant: str, text: str) -> _Picture | None:
    """The person with what surrounds it, at native pixels."""
    import cv2

    image: Any = read_image(dataset.root / row["media"][variant]["path"])
    if image is None:
        return None
    height, width = image.shape[:2]
    box = geometry_of(dataset, row, variant)["box_visible"]
    if box:
        x, y, w, h = box
        reach = band_width(max(w, h), 16, 0.5)
        x0, y0 = max(0, x - reach), max(0, y - reach)
        x1, y1 = min(width, x + w + reach), min(height, y + h + reach)
        image = image[y0:y1, x0:x1]
    scale = min(1.0, _CROP_PX / max(image.shape[:2]))
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    ok, png = cv2.imencode(".png", image)
    if not ok:
        return None
    shown = max(1, round(120 / max(image.shape[:2])))
    source = "data:image/png;base64," + base64.b64encode(png.tobytes()).decode()
    return _Picture(source, image.shape[1] * shown, image.shape[0] * shown, text)


# --- how things are written ----------------------------------------------------------------------


def _amount(score: Mapping[str, Any], name: str) -> tuple[str, str]:
    """A score and its interval as text."""
    if score["value"] is None:
        return "–", ""
    share = name in ("accuracy", "macro_f1", "balanced_accuracy")

    def write(value: float) -> str:
        return f"{100 * value:.1f}" if share else f"{value:.3f}"

    ends = score["interval"]
    return write(score["value"]), f"{write(ends[0])}–{write(ends[1])}" if ends else ""


def _threshold(curve: Curve, share: float) -> str:
    if curve.fit is None:
        return "–"
    found = curve.fit.threshold(share)
    if found.value is None and found.interval == (None, None):
        return "–"
    low, high = ("…" if end is None else _plain(end) for end in found.interval)
    value = "beyond the levels" if found.value is None else _plain(found.value)
    return f"{value} ({low} to {high})"


def _plain(value: float) -> str:
    """A number with three digits, never as a power of ten."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _bold(sentence: str) -> Any:
    """A sentence with its **verdict** set in bold."""
    from markupsafe import Markup, escape

    before, _, rest = sentence.partition("**")
    verdict, _, after = rest.partition("**")
    return Markup("{}<strong>{}</strong>{}").format(escape(before), escape(verdict), escape(after))
