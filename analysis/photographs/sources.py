"""What a folder, or a COCO file, says of its pictures."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addon.core.lighting import BANDS

__all__ = ["PictureError", "Source", "coco_sources", "folder_sources"]

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"})
WITH = frozenset({"person", "persons", "people", "with", "positive", "yes", "1"})
WITHOUT = frozenset({"empty", "without", "background", "backgrounds", "negative", "no", "0"})
PERSON = frozenset({"person", "people", "human", "pedestrian"})
MASKS = "masks"
TABLE_COLUMNS = {
    "file": str,
    "person": str,
    "band": str,
    "action": str,
    "scenery": str,
    "subject": str,
    "distance_m": float,
    "px_per_m": float,
    "illuminance_lx": float,
    "azimuth_deg": float,
    "elevation_deg": float,
}

Mask = NDArray[np.bool_]


class PictureError(ValueError):
    """Pictures that cannot be imported as they are; the message says what is missing."""


_PIXELS_MOST = 1_000_000


@dataclass(frozen=True)
class Source:
    """A picture and what is known of it.

    Attributes:
        path: The file.
        name: Its path in the source, with ``/``.
        person: Whether somebody is in it, None where nothing says so yet.
        mask: A mask's file; or polygons and runs, as COCO writes them; None for none.
        box: ``[x, y, width, height]`` around all persons, where there is no mask.
        known: Columns of the table, without ``file`` and ``person``.
    """

    path: Path
    name: str
    person: bool | None = None
    mask: Path | tuple[Any, ...] | None = None
    box: tuple[float, float, float, float] | None = None
    known: Mapping[str, Any] = field(default_factory=dict)


# --- a folder ------------------------------------------------------------------------------------


def folder_sources(root: Path) -> list[Source]:
    """Find the pictures of a folder and its sub-folders, by name.

    Whether somebody is in one is told by a sub-folder (``person`` or ``empty``), or by a mask
    ``masks/SAME/NAME.png``, which is not black where the person is.

    Raises:
        PictureError: There are none, or two would share a mask.
    """
    masks = root / MASKS
    found = []
    for path in sorted(root.rglob("*")):
        if path.suffix.lower() not in SUFFIXES or not path.is_file() or masks in path.parents:
            continue
        name = path.relative_to(root)
        mask = (masks / name).with_suffix(".png")
        folders = {part.casefold() for part in name.parts[:-1]}
        with_, without = bool(folders & WITH), bool(folders & WITHOUT)
        if with_ and without:
            raise PictureError(f"{path} lies in a folder for persons and in one for none")
        person = True if with_ else False if without else None
        there = mask if mask.is_file() else None
        found.append(Source(path, name.as_posix(), person, there))
    if not found:
        kinds = ", ".join(sorted(SUFFIXES))
        raise PictureError(f"{root} holds no pictures ({kinds})")
    return found


def with_table(sources: list[Source], table: Path) -> list[Source]:
    """Add what a CSV table says of some pictures; its column ``file`` names them.

    Raises:
        PictureError: The table has an unknown column, a wrong value, or a file that is not there.
    """
    of_name = {source.name: i for i, source in enumerate(sources)}
    found, seen = list(sources), set[str]()
    for number, row in enumerate(_rows(table), 2):
        where = f"{table}:{number}"
        name = (row.get("file") or "").strip().replace("\\", "/")
        if name not in of_name:
            raise PictureError(f"{where}: file is '{name}', which is none of the pictures")
        if name in seen or None in row:
            fault = "has more cells than columns" if None in row else f"names '{name}' again"
            raise PictureError(f"{where} {fault}: each picture has one row, each column one cell")
        seen.add(name)
        known: dict[str, Any] = {}
        for column, kind in TABLE_COLUMNS.items():
            text = (row.get(column) or "").strip()
            if column != "file" and text:
                known[column] = _value(where, column, text, kind)
        at = of_name[name]
        person = known.pop("person", None)
        source = found[at]
        found[at] = replace(source, known=known, person=source.person if person is None else person)
    return found


def _rows(table: Path) -> Iterator[dict[str, Any]]:
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            unknown = set(reader.fieldnames or ()) - TABLE_COLUMNS.keys()
            if unknown or "file" not in (reader.fieldnames or ()):
                columns = ", ".join(map(str, reader.fieldnames or ["none"]))
                raise PictureError(
                    f"{table} has the columns {columns}: file is needed, and allowed are "
                    f"{', '.join(TABLE_COLUMNS)}"
                )
            yield from reader
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PictureError(f"{table} cannot be read as CSV: {error}") from None


def _value(where: str, column: str, text: str, kind: type) -> Any:
    if column == "person":
        if text.casefold() in WITH:
            return True
        if text.casefold() in WITHOUT:
            return False
        raise PictureError(f"{where}: person is '{text}': 1 or 0 is allowed")
    if column == "band" and text not in BANDS:
        raise PictureError(f"{where}: band is '{text}': one of {', '.join(BANDS)} is allowed")
    if kind is str:
        return text
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    least = {"azimuth_deg": -360.0, "elevation_deg": -90.0}.get(column, 1e-9)
    most = {"azimuth_deg": 360.0, "elevation_deg": 90.0}.get(column, 1e9)
    if not least <= number <= most:
        raise PictureError(f"{where}: {column} is '{text}': {least:g} to {most:g} is allowed")
    return number


# --- COCO ----------------------------------------------------------------------------------------


def coco_sources(file: Path) -> list[Source]:
    """Read a COCO annotations file; the pictures lie beside it, or in ``images/`` beside it.

    Somebody is in a picture that has an annotation of the category person.

    Raises:
        PictureError: It is no COCO file, or a picture is missing.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        persons = {c["id"] for c in data["categories"] if str(c["name"]).casefold() in PERSON}
        images = sorted(data["images"], key=lambda image: str(image["file_name"]))
        annotations = [a for a in data["annotations"] if a["category_id"] in persons]
        of_image: dict[Any, list[Mapping[str, Any]]] = {image["id"]: [] for image in images}
        for annotation in annotations:
            of_image[annotation["image_id"]].append(annotation)
    except (OSError, UnicodeDecodeError) as error:
        raise PictureError(f"{file} cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PictureError(
            f"{file} is no COCO annotations file ({error!r}): it holds images, annotations and "
            "categories"
        ) from None
    if not persons:
        raise PictureError(f"{file} has no category named person")
    names = [str(image["file_name"]) for image in images]
    if len(of_image) < len(images) or len(set(names)) < len(names):
        again = next((n for n in names if names.count(n) > 1), "an id")
        raise PictureError(f"{file} names {again} twice: each of its images has an id and a file")
    return [_coco_source(file, image, of_image[image["id"]]) for image in images]


def _coco_source(
    file: Path, image: Mapping[str, Any], annotations: list[Mapping[str, Any]]
) -> Source:
    name = str(image["file_name"])
    places = [file.parent / name, file.parent / "images" / name, file.parent.parent / name]
    root = file.parent.parent.resolve()
    there = [p for p in places if p.is_file() and root in p.resolve().parents]
    if not there:
        raise PictureError(f"{file}: its picture {name} is not beside it, nor in images/ there")
    parts = tuple(a["segmentation"] for a in annotations if a.get("segmentation"))
    whole = parts and len(parts) == len(annotations)
    boxes = [a["bbox"] for a in annotations if a.get("bbox")]
    for found in boxes:
        numbers: list[Any] = found if isinstance(found, list) and len(found) == 4 else [None]
        if not all(type(n) in (int, float) and abs(n) <= _PIXELS_MOST for n in numbers):
            raise PictureError(f"{file}: a bbox of {name} is {found!r}: four numbers are needed")
    box = None
    if boxes:
        left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
        right, bottom = max(b[0] + b[2] for b in boxes), max(b[1] + b[3] for b in boxes)
        box = (left, top, right - left, bottom - top)
    return Source(there[0], name, bool(annotations), parts if whole else None, box)


def mask_of_coco(parts: tuple[Any, ...], width: int, height: int) -> Mask:
    """Draw segmentations: polygons, or runs as a list or in COCO's compressed text.

    Raises:
        PictureError: One is neither, or of another size.
    """
    import cv2

    mask = np.zeros((height, width), np.uint8)
    for part in parts:
        try:
            if isinstance(part, list):
                for polygon in part:
                    points = np.asarray(polygon, float).reshape(-1, 2)
                    if not (np.abs(points) <= _PIXELS_MOST).all():
                        raise ValueError("a corner of a polygon is no place in a picture")
                    cv2.fillPoly(mask, [np.rint(points).astype(np.int32)], (255,))
            else:
                mask |= _of_runs(part, width, height)
        except (ValueError, KeyError, TypeError, IndexError, cv2.error) as error:
            raise PictureError(f"a segmentation cannot be drawn: {error!r}") from None
    return np.asarray(mask > 0)


def _of_runs(part: Mapping[str, Any], width: int, height: int) -> NDArray[np.uint8]:
    """Runs of 0 and 1 in turn, down the columns."""
    if list(part["size"]) != [height, width]:
        raise ValueError(f"it is {part['size']}, the picture {[height, width]}")
    counts = part["counts"]
    runs = _uncompressed(counts) if isinstance(counts, str) else list(counts)
    if not all(type(n) is int and n >= 0 for n in runs) or sum(runs) != width * height:
        raise ValueError("its runs do not fill the picture")
    values = np.arange(len(runs)) % 2 * 255
    flat = np.repeat(values.astype(np.uint8), runs)
    return np.asarray(flat.reshape(width, height).T)


def _uncompressed(text: str) -> list[int]:
    """COCO's compressed runs: 5 bits a character, the difference to the run before last."""
    runs: list[int] = []
    at = 0
    while at < len(text):
        value, shift, more = 0, 0, True
        while more:
            code = ord(text[at]) - 48
            value |= (code & 0x1F) << shift
            more = bool(code & 0x20)
            at, shift = at + 1, shift + 5
            if not more and code & 0x10:
                value |= -1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
    return runs
