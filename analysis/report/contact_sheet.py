"""Pictures of the report: the same view under each light, at each distance, pixel for pixel."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ...addon.core.dataset import Dataset
from ...addon.core.lighting import BANDS
from ..develop.table import VARIANTS, with_variants
from ..images import read_image
from . import text

__all__ = [
    "CROP_M",
    "Column",
    "Picture",
    "SheetRow",
    "contact_sheet",
    "crop_box",
    "lighting_columns",
]

CROP_M = (1.4, 2.3)
"""Width and height of what a picture shows, in metres at the look-at point."""

_PLACE = ("scenery", "azimuth_deg", "elevation_deg", "distance_m")
_PERSON = ("subject", "texture", "pose", "scenery", "azimuth_deg", "elevation_deg")
_MOST_ROWS = 6
_REFERENCES = 40  # as many are tried: each is compared with every view

Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """A light condition of the sheet, in one variant of its image.

    Attributes:
        lighting: Its name.
        variant: ``clean``, ``camera`` or ``nv``.
        band: ``day``, ``evening`` or ``night``.
        illuminance_lx: On the horizontal, unobstructed; None for a photograph.
        shown: Whether it is shown at first: one is, of those that differ in direction only.
    """

    lighting: str
    variant: str
    band: str
    illuminance_lx: float | None
    shown: bool


@dataclass(frozen=True)
class Picture:
    """An image, cut out around the person at its own pixels.

    Attributes:
        source: A data URI; None where the image is not there.
        width: In pixels.
        height: In pixels.
        caption: Density, illuminance and exposure.
        description: What the picture shows, for those who cannot see it.
    """

    source: str | None
    width: int
    height: int
    caption: str
    description: str


@dataclass(frozen=True)
class SheetRow:
    """A row of the sheet: one view under every light.

    Attributes:
        title: The distance, or that nobody is there.
        lines: What else there is to know of the view.
        pictures: One per column.
    """

    title: str
    lines: tuple[str, ...]
    pictures: tuple[Picture, ...]


def lighting_columns(items: Iterable[Row]) -> tuple[Column, ...]:
    """The light conditions of a dataset, from bright to dark within day, evening and night.

    Each with its variants side by side: clean first, then what ``limen develop`` made of it.

    Args:
        items: Index rows with their variants.
    """
    found: dict[str, tuple[int, float, str]] = {}
    made: dict[str, set[str]] = {}
    for row in items:
        name = row["lighting"]
        lux = row["illuminance_nominal_lx"]
        found[name] = (BANDS.index(row["band"]), -(lux or 0.0), name)
        made.setdefault(name, set()).update(v for v in VARIANTS if row["media"].get(v))
    columns = []
    for (band, lux), names in groupby(sorted(found.values()), key=lambda place: place[:2]):
        for number, (*_, name) in enumerate(names):
            for variant in ("clean", *(v for v in VARIANTS if v in made[name])):
                columns.append(Column(name, variant, BANDS[band], -lux or None, shown=number == 0))
    return tuple(columns)


def contact_sheet(dataset: Dataset, columns: Iterable[Column]) -> tuple[SheetRow, ...]:
    """A row per distance, near to far, and one without a person where the dataset has such.

    Of more than six distances, six evenly spread ones.

    The rows differ in as few factors as the dataset allows, so that they show what distance does;
    the one without a person is the background of another row where there is such a view.
    """
    columns, media = tuple(columns), with_variants(dataset)
    present = [view for view in dataset.views.values() if view["target_present"]]
    absent = [view for view in dataset.views.values() if not view["target_present"]]
    shown = _persons(present)
    rows = [
        _row(dataset, media, view, columns, text.distance(view["factors"]["distance_m"]))
        for view in shown
    ]
    if absent:
        rows.append(_row(dataset, media, _background(absent, shown), columns, "Nobody"))
    return tuple(rows)


def _first(value: float | None) -> tuple[bool, float]:
    """Orders what is known before what is not."""
    return value is None, value or 0.0


def _from_the_front(view: Row) -> tuple[Any, ...]:
    factors = view["factors"]
    return (
        *(_first(factors[key]) for key in ("elevation_deg", "azimuth_deg", "distance_m")),
        view["view_id"],
    )


def _alike(view: Row, other: Row, factors: Iterable[str]) -> int:
    """How many of some factors two views share."""
    return sum(view["factors"][key] == other["factors"][key] for key in factors)


def _persons(views: list[Row]) -> list[Row]:
    """One view per distance, as alike to each other as there are, the person in sight."""
    places: dict[float, list[Row]] = {}
    for view in sorted(views, key=lambda view: (_hidden(view), _from_the_front(view))):
        places.setdefault(view["factors"]["distance_m"], []).append(view)
    distances = sorted(places, key=_first)
    if not distances:
        return []
    if len(distances) > _MOST_ROWS:
        last = len(distances) - 1
        distances = [distances[round(k * last / (_MOST_ROWS - 1))] for k in range(_MOST_ROWS)]

    def nearest(reference: Row) -> list[Row]:
        return [
            min(places[d], key=lambda view: (_hidden(view), -_alike(view, reference, _PERSON)))
            for d in distances
        ]

    def unlike(reference: Row) -> tuple[int, int]:
        chosen = nearest(reference)
        return sum(map(_hidden, chosen)), -sum(_alike(v, reference, _PERSON) for v in chosen)

    # A distance that has fewest views leaves the least choice to the others.
    rarest = min((places[d] for d in distances), key=len)
    return nearest(min(rarest[:_REFERENCES], key=unlike))


def _hidden(view: Row) -> bool:
    return (view["unoccluded_fraction"] or 0) < 0.5


def _background(views: list[Row], shown: list[Row]) -> Row:
    """The view without a person that is most alike to one of those shown, the nearer first."""
    pairs = (
        (-_alike(view, other, _PLACE), number, _from_the_front(view), view)
        for view in views
        for number, other in enumerate(shown)
    )
    *_, best = min(pairs, key=lambda pair: pair[:3], default=(min(views, key=_from_the_front),))
    return best


def _row(
    dataset: Dataset,
    media: Mapping[str, Row],
    view: Row,
    columns: tuple[Column, ...],
    title: str,
) -> SheetRow:
    density = view["density_nominal_px_per_m"]
    factors = view["factors"]
    what = (factors["pose"] or f"at {text.distance(factors['distance_m'])}").replace("_", " ")
    who = f"{factors['subject']}, {factors['texture']}" if factors["subject"] else ""
    classes = view["pixel_density_class"]
    lines = (
        text.density(density),
        f"2014: {classes['dori_2014'] or 'below detect'}",
        f"2025: {classes['classes_2025'] or 'below overview'}",
        f"{what}, {factors['scenery']}",
        *filter(None, [who]),
        f"azimuth {text.degrees(factors['azimuth_deg'])}",
        f"elevation {text.degrees(factors['elevation_deg'])}",
    )
    if density is None:  # a photograph
        lines = tuple(filter(None, [factors["scenery"], view.get("source", {}).get("path")]))
    box = crop_box(view)
    pictures = []
    for column in columns:
        item = media.get(f"{view['view_id']}-{column.lighting}")
        pictures.append(_picture(dataset.root, item, density, box, title, column))
    return SheetRow(title, lines, tuple(pictures))


def crop_box(view: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Left, top, width, height: ``CROP_M`` around the person, inside the image.

    All of a photograph of unknown density.
    """
    camera, density = view["camera"], view["density_nominal_px_per_m"]
    if density is None:
        return 0, 0, camera["width"], camera["height"]
    width = min(camera["width"], max(1, round(CROP_M[0] * density)))
    height = min(camera["height"], max(1, round(CROP_M[1] * density)))
    if view["box_full"]:
        x, y, w, h = view["box_full"]
        centre = (x + w / 2, y + h / 2)
    else:
        centre = (camera["width"] / 2, camera["height"] / 2)
    left = min(max(0, round(centre[0] - width / 2)), camera["width"] - width)
    top = min(max(0, round(centre[1] - height / 2)), camera["height"] - height)
    return left, top, width, height


def _picture(
    root: Path,
    item: Mapping[str, Any] | None,
    density: float,
    box: tuple[int, int, int, int],
    title: str,
    column: Column,
) -> Picture:
    import cv2

    left, top, width, height = box
    media = item["media"].get(column.variant) if item else None
    image = read_image(root / media["path"]) if media else None
    crop = None if image is None else image[top : top + height, left : left + width]
    if item is None or crop is None or crop.shape[:2] != (height, width):
        missing = "no image" if column.variant == "clean" else "not developed"
        return Picture(None, width, height, missing, "")
    _, png = cv2.imencode(".png", crop, [cv2.IMWRITE_PNG_COMPRESSION, 6])
    lux = text.illuminance(item["illuminance_nominal_lx"])
    shutter = text.exposure(item["exposure_s"])
    return Picture(
        source="data:image/png;base64," + base64.b64encode(png.tobytes()).decode(),
        width=width,
        height=height,
        caption=f"{text.density(density)} · {lux} · {shutter}",
        description=(
            f"{title}, {column.lighting}, {column.variant}: {text.density(density)}, {lux}"
        ),
    )
