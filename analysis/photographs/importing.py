"""Make a dataset of pictures: rows and files that keep the contract (docs/dataset.md)."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...addon.core.dataset import (
    PartWriter,
    done_views,
    file_record,
    init_dataset,
    log_event,
    write_file,
)
from ...addon.core.image_io import write_png
from ...addon.core.lighting import BANDS
from ...addon.core.standards import class_of, load_scales
from ..contract import PHOTOGRAPHS
from .sources import PictureError, Source, coco_sources, folder_sources, mask_of_coco, with_table

__all__ = [
    "FORMS",
    "LIGHTING",
    "Defaults",
    "ImportSummary",
    "PhotographsError",
    "import_photographs",
]

FORMS = ("folder", "coco")
LIGHTING = "photograph"

_EXPOSURE_TAG, _FNUMBER_TAG, _EXIF_IFD = 33434, 33437, 0x8769

Row = dict[str, Any]


class PhotographsError(ValueError):
    """Pictures cannot be imported; the message says why and what to do."""


@dataclass(frozen=True)
class Defaults:
    """What holds for pictures of which nothing else says it.

    Attributes:
        band: ``day``, ``evening`` or ``night``.
        person: Whether somebody is there.
    """

    band: str | None = None
    person: bool | None = None


@dataclass(frozen=True)
class ImportSummary:
    """What an import did.

    Attributes:
        made: Pictures imported by this call.
        there: Pictures that were there already.
        failed: A message for each picture that cannot be read.
    """

    made: int
    there: int
    failed: tuple[str, ...]


def import_photographs(
    form: str,
    source: Path,
    out: Path,
    *,
    defaults: Defaults | None = None,
    table: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ImportSummary:
    """Copy pictures into a dataset; stopped, it goes on where it was.

    A picture becomes an 8-bit sRGB PNG, turned upright, without its metadata.

    Args:
        form: ``folder`` or ``coco``.
        source: The folder; or a COCO annotations file.
        out: The dataset: a new directory, or one that this began.
        defaults: What holds where nothing else says it.
        table: A CSV file with what is known, a row for each picture.
        progress: Told (pictures done, pictures in all).

    Raises:
        PhotographsError: Nothing says whether persons are there, or in what light.
        PictureError: The source is not as it should be.
        DatasetError: ``out`` holds something else.
    """
    if form not in FORMS:
        raise PhotographsError(f"pictures come from {' or '.join(FORMS)}, not from '{form}'")
    if find_spec("PIL") is None:
        raise PhotographsError("pictures are read with Pillow, not installed: pip install pillow")
    if form == "folder" and not source.is_dir():
        raise PhotographsError(f"{source} is no folder")
    if form == "coco" and not source.is_file():
        raise PhotographsError(f"{source} is no file: --from coco takes the annotations' JSON file")
    found = folder_sources(source) if form == "folder" else coco_sources(source)
    if table is not None:
        found = with_table(found, table)
    found = [_with_defaults(one, defaults or Defaults()) for one in found]
    if form == "folder" and out.resolve().is_relative_to(source.resolve()):
        raise PhotographsError(f"{out} lies in {source}: the dataset would import itself")

    init_dataset(out, _study(form, source))
    log_event(out, event="start", part="import", limen=__version__)
    done = done_views(out, [LIGHTING])
    made, failed = 0, []
    if progress is not None:
        progress(len(done), len(found))
    there = 0
    with PartWriter(out, "import") as writer:
        for one in found:
            try:
                data = one.path.read_bytes()
                view_id = _view_id(one, data)
                if view_id in done:
                    there += 1
                    continue
                writer.write(*_write(out, view_id, one, data))
                made += 1
            except (PictureError, OSError) as error:
                failed.append(f"{one.name}: {error}")
            if progress is not None:
                progress(there + made + len(failed), len(found))
    write_file(out / "README.md", _card(form, source, len(found) - len(failed)).encode())
    log_event(out, event="end", part="import", views=made)
    return ImportSummary(made, there, tuple(failed))


def _with_defaults(source: Source, defaults: Defaults) -> Source:
    person, known = source.person, dict(source.known)
    if person is None and source.mask is None:
        person = defaults.person
    if person is None and source.mask is None:
        raise PhotographsError(
            f"{source.name}: nothing says whether a person is there. Sort pictures into folders "
            "person/ and empty/, or give masks/NAME.png, a table with a column person (--table), "
            "or --target person|empty for all of them"
        )
    known.setdefault("band", defaults.band)
    if known["band"] not in BANDS:
        raise PhotographsError(
            f"{source.name}: nothing says in what light it was taken: --band day, evening or "
            "night for all of them, or a table with a column band (--table)"
        )
    return replace(source, person=person, known=known)


def _study(form: str, source: Path) -> str:
    name = json.dumps(_text(source.stem) or "photographs", ensure_ascii=False)
    name = name.replace("\x7f", "\\u007f")  # TOML has it escaped, JSON need not
    return (
        f"# Photographs, imported by limen import. There is nothing to render here.\n"
        f"name = {name}\n"
        f'family = "{PHOTOGRAPHS}"\n'
        f"seed = 0\n\n"
        f'[camera]\nsensor = "unknown"\n\n'
        f'[photographs]\nfrom = "{form}"\n'
    )


def _card(form: str, source: Path, n: int) -> str:
    return (
        f"# {_text(source.stem)}\n\n{n:,} photographs, imported from a {form} by limen "
        f"{__version__}. Each is an 8-bit sRGB PNG without its metadata; what is not known of one "
        "is null.\n"
    )


def _text(name: str) -> str:
    """A file's name as text: a name may be no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


# --- one picture ---------------------------------------------------------------------------------


def _view_id(source: Source, data: bytes) -> str:
    text = f"{PHOTOGRAPHS}\n{source.name}\n{hashlib.sha256(data).hexdigest()}"
    return "v" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _write(root: Path, view_id: str, source: Source, data: bytes) -> tuple[Row, list[Row]]:
    pixels, exposure_s, fnumber = _decoded(data)
    height, width = pixels.shape[:2]
    files: dict[str, Row] = {}
    mask = _mask(source, width, height)
    present = bool(mask.any()) if source.person is None and mask is not None else source.person
    if mask is not None and not present and mask.any():
        raise PictureError("it is said to show nobody, and its mask shows somebody")
    if mask is not None and present:
        if not mask.any():
            raise PictureError("it is said to show a person, and its mask is empty")
        path = f"masks/{view_id}.visible.png"
        write_png(root / path, (mask * np.uint8(255)).astype(np.uint8))
        files[path] = file_record(root / path)
    row_id = f"{view_id}-{LIGHTING}"
    path = f"media/clean/{row_id}.png"
    write_png(root / path, pixels)
    known = source.known
    factors = {
        "action": known.get("action") if present else None,
        "pose": None,
        "scenery": known.get("scenery", "photographs"),
        "distance_m": known.get("distance_m"),
        "azimuth_deg": known.get("azimuth_deg"),
        "elevation_deg": known.get("elevation_deg"),
        "subject": known.get("subject") if present else None,
        "texture": None,
    }
    density = known.get("px_per_m")
    view = {
        "view_id": view_id,
        "family": PHOTOGRAPHS,
        "source": {
            "path": _text(source.name),
            "sha256": hashlib.sha256(data).hexdigest(),
            "fnumber": fnumber,
        },
        "factors": factors,
        "target_present": present,
        "target_kind": "person" if present else None,
        "camera": {
            "label": "cam000",
            "width": width,
            "height": height,
            **dict.fromkeys(("K", "R", "t", "position_m")),
        },
        "density_nominal_px_per_m": density,
        "density_measured_px_per_m": density,
        "pixel_density_class": {
            name.replace("-", "_"): None if density is None else class_of(density, scale)
            for name, scale in load_scales().items()
        },
        **dict.fromkeys(("subject", "pose", "joints_m", "joints_px")),
        **_mask_numbers(source, mask, bool(present), width, height),
        "truncated": False,
        "plate_id": None,
        "light": {"layers": [], "irradiance_lx": {}},
        "render": {
            "method": "photograph",
            **dict.fromkeys(("samples", "denoise", "blender")),
            "limen": __version__,
        },
        "files": files,
    }
    names = ("action", "scenery", "pose", "subject", "distance_m", "azimuth_deg", "elevation_deg")
    index = {
        "id": row_id,
        "view_id": view_id,
        "lighting": LIGHTING,
        "band": known["band"],
        "target_present": present,
        **{name: factors[name] for name in names},
        "illuminance_nominal_lx": known.get("illuminance_lx"),
        "illuminance_measured_lx": known.get("illuminance_lx"),
        "exposure_s": exposure_s,
        "media": {"kind": "image", "clean": {"path": path, **file_record(root / path)}},
    }
    return view, [index]


def _decoded(data: bytes) -> tuple[NDArray[np.uint8], float | None, float | None]:
    """(H, W, 3) sRGB upright, and the exposure and f-number that the picture tells.

    Raises:
        PictureError: It is no picture, or damaged.
    """
    from PIL import Image, ImageCms, ImageOps

    try:
        with Image.open(io.BytesIO(data)) as image:
            exif = image.getexif().get_ifd(_EXIF_IFD)
            profile = image.info.get("icc_profile")
            image.load()
            upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith(("I;16", "I", "F")):
            values = np.asarray(upright, np.float64)
            scale = 257.0 if upright.mode.startswith("I") and values.max() > 255 else 1.0
            upright = Image.fromarray(np.clip(np.rint(values / scale), 0, 255).astype(np.uint8))
        rgb = upright.convert("RGB")
        if profile and upright.mode == "RGB":
            try:
                given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
                converted = ImageCms.profileToProfile(rgb, given, ImageCms.createProfile("sRGB"))
                rgb = converted or rgb
            except ImageCms.PyCMSError:
                pass  # a broken profile is as good as none
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise PictureError(f"it cannot be read as a picture: {error}") from None
    return np.asarray(rgb, np.uint8), _positive(exif, _EXPOSURE_TAG), _positive(exif, _FNUMBER_TAG)


def _positive(exif: Mapping[int, Any], tag: int) -> float | None:
    try:
        value = float(exif[tag])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return value if 0 < value < 1e6 else None


def _mask(source: Source, width: int, height: int) -> NDArray[np.bool_] | None:
    if isinstance(source.mask, tuple):
        return mask_of_coco(source.mask, width, height)
    if source.mask is None:
        return None
    from PIL import Image

    try:
        with Image.open(source.mask) as image:
            mask = np.asarray(image.convert("L")) > 0
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise PictureError(f"its mask cannot be read: {error}") from None
    if mask.shape != (height, width):
        raise PictureError(
            f"its mask is {mask.shape[1]} x {mask.shape[0]} px, the picture {width} x {height}"
        )
    return np.asarray(mask)


def _mask_numbers(
    source: Source, mask: NDArray[np.bool_] | None, present: bool, width: int, height: int
) -> Row:
    """What a mask, or a box alone, says; null what nobody measured."""
    numbers: Row = dict.fromkeys(
        (
            "box_visible",
            "box_full",
            "visible_px",
            "full_px",
            "visible_area_share",
            "unoccluded_fraction",
        )
    )
    if not present:
        return numbers | {"visible_px": 0, "full_px": 0, "visible_area_share": 0.0}
    if mask is not None:
        rows, columns = np.nonzero(mask)
        x, y = int(columns.min()), int(rows.min())
        numbers["box_visible"] = [x, y, int(columns.max()) + 1 - x, int(rows.max()) + 1 - y]
        numbers["visible_px"] = len(rows)
        numbers["visible_area_share"] = len(rows) / mask.size
    elif source.box is not None:
        left, top, wide, high = source.box
        x, y = max(0, int(left)), max(0, int(top))
        right, bottom = min(width, round(left + wide)), min(height, round(top + high))
        if right > x and bottom > y:
            numbers["box_visible"] = [x, y, right - x, bottom - y]
    return numbers
