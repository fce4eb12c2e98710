"""The images of one view: composed, through the lens, recorded, shown, written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...addon.core.dataset import DatasetError, file_record
from ...addon.core.image_io import ImageError, LayerImage, read_layers, read_png, write_png
from ...addon.core.lighting import Lighting
from ...addon.core.photometry import luminance, meter, to_srgb8
from ...addon.core.relight import (
    RelightError,
    Stack,
    compose,
    pixel_directions,
    stack_from_layers,
)
from ..contract import PHOTOGRAPHS
from . import isp as night
from .lens import (
    LensModel,
    Resampling,
    distort_image,
    distort_mask,
    distort_points,
    motion_blur,
    resampling,
)
from .photographs import raw_of_photograph
from .sensor import RawImage, demosaic, expose_raw, noise_model, saturation_iso
from .settings import DevelopError, Settings

__all__ = ["Job", "develop_view", "lens_resampling", "load_stack", "metered_raw", "through_lens"]

Row = dict[str, Any]
FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class Job:
    """The images of a view that are to be made.

    Attributes:
        view: The view's row.
        images: (media id, lighting, variants) for each; a photograph has no lighting.
    """

    view: Row
    images: tuple[tuple[str, Lighting | None, tuple[str, ...]], ...]


def develop_view(root: Path, settings: Settings, job: Job) -> tuple[list[Row], str | None]:
    """Make a view's images; returns their rows, and what was wrong if not all could be made."""
    rows: list[Row] = []
    camera = job.view["camera"]
    try:
        stack = None if job.view["family"] == PHOTOGRAPHS else load_stack(root, job.view)
        variants = {name for _, _, names in job.images for name in names}
        places = {name: _place(root, settings, job.view, name) for name in sorted(variants)}
        for media_id, lighting, names in job.images:
            if stack is None or lighting is None:
                raw = raw_of_photograph(root, media_id, settings.sensor)
            else:
                raw = metered_raw(compose(stack, lighting), settings, media_id, camera)
            for name in names:
                row = _write_image(root, settings, raw, media_id, name)
                rows.append({**row, "geometry": places[name]})
    except (DevelopError, ImageError, RelightError, DatasetError) as error:
        return rows, f"{job.view['view_id']}: {error}"
    return rows, None


# --- light ---------------------------------------------------------------------------------------


def load_stack(root: Path, view: Row) -> Stack:
    """Read the light of a view.

    Raises:
        DevelopError: The dataset has none of it, or a file has another size than recorded.
        ImageError: A light file is missing or damaged.
        RelightError: The files do not fit together.
    """
    crop = f"light/crops/{view['view_id']}.exr"
    plate = f"light/plates/{view['plate_id']}.exr"
    has_crop, has_plate = crop in view["files"], plate in view["files"]
    if not (has_crop or has_plate):
        raise DevelopError("its row names no light file, so there is nothing to develop")
    for path in (crop, plate):
        _check_size(root / path, view["files"].get(path))
    camera = view["camera"]
    directions = pixel_directions(camera["K"], camera["R"], camera["width"], camera["height"])
    return stack_from_layers(
        _read_plate(root / plate) if has_plate else None,
        read_layers(root / crop) if has_crop else {},
        directions,
    )


def _check_size(path: Path, record: Row | None) -> None:
    """Refuse a file that was cut or exchanged: what is left of it may well be readable."""
    if record is not None and path.is_file() and path.stat().st_size != record["size"]:
        raise DevelopError(
            f"{path} is damaged: it has {path.stat().st_size} bytes, {record['size']} were written"
        )


@lru_cache(maxsize=1)
def _read_plate(path: Path) -> dict[str, LayerImage]:
    return read_layers(path)


def metered_raw(
    image_cd_m2: FloatArray, settings: Settings, media_id: str, camera: Mapping[str, Any]
) -> RawImage:
    """Return what the sensor records of an image, metered as the camera does at base gain.

    Metered on the rendered image, before the lens bends it: a dark border that was not rendered
    changes no exposure.

    Args:
        image_cd_m2: (H, W, 3) scene-linear, as rendered.
        settings: Sensor, lens, seed and camera.
        media_id: What the noise belongs to.
        camera: Of the view's row.

    Raises:
        DevelopError: The image holds what is no luminance.
    """
    setup = settings.camera
    light = luminance(image_cd_m2)
    if not (light.min() >= 0 and light.max() < np.inf):
        raise DevelopError(
            f"its light is from {light.min():g} to {light.max():g} cd/m2, which no light is: its "
            "light file is damaged"
        )
    exposure_s = meter(
        light,
        setup.fnumber,
        saturation_iso(settings.sensor),
        shutter_limit_s=setup.shutter_limit_s,
    )
    return expose_raw(
        through_lens(np.maximum(image_cd_m2, 0), settings, exposure_s, camera),
        exposure_s,
        setup.fnumber,
        settings.sensor,
        seed=settings.seed,
        image_id=media_id,
        sensor_px=setup.resolution,
    )


# --- lens ----------------------------------------------------------------------------------------


def through_lens(
    image: FloatArray, settings: Settings, exposure_s: float, camera: Mapping[str, Any]
) -> FloatArray:
    """Return scene-linear light as it reaches the sensor: moved, then bent by the lens.

    What the lens shows beyond the rendered image is dark.
    """
    if settings.motion_px_s is not None:
        image = motion_blur(image, exposure_s, settings.motion_px_s)
    if settings.lens is not None:
        image = distort_image(image, lens_resampling(settings.lens, camera), fill=0)
    return image


def lens_resampling(lens: LensModel, camera: Mapping[str, Any]) -> Resampling:
    """Return where the pixels of a camera's distorted image come from.

    Raises:
        DevelopError: The lens folds the image over within it.
    """
    K = tuple(map(tuple, camera["K"]))
    try:
        return _resampling(K, lens, (camera["width"], camera["height"]))
    except ValueError as error:
        raise DevelopError(f"lens {lens.name}: {error}") from error


@lru_cache(maxsize=2)
def _resampling(
    K: tuple[tuple[float, ...], ...], lens: LensModel, size_px: tuple[int, int]
) -> Resampling:
    return resampling(K, lens, size_px)


def _place(root: Path, settings: Settings, view: Row, variant: str) -> Row | None:
    """Write the masks of a distorted image; returns where its person lies, None without a lens."""
    lens = settings.lens
    if lens is None:
        return None
    camera = view["camera"]
    sampled = lens_resampling(lens, camera)
    joints = None
    if view["joints_px"] is not None:
        bent = distort_points(view["joints_px"], camera["K"], lens)
        joints = [point.tolist() if np.isfinite(point).all() else None for point in bent]
    place: Row = {
        "K": camera["K"],
        "distortion": list(lens.coefficients),
        "missing_share": float(1 - sampled.valid.mean()),
        "joints_px": joints,
    }
    for kind in ("visible", "full"):
        source = f"masks/{view['view_id']}.{kind}.png"
        numbers: Row = dict.fromkeys((f"mask_{kind}", f"{kind}_px", f"box_{kind}"))
        if source in view["files"]:
            try:
                mask = distort_mask(read_png(root / source), sampled, fill=0)
            except ValueError as error:
                raise DevelopError(f"{root / source} is damaged: {error}") from error
            path = f"develop/masks/{variant}/{view['view_id']}.{kind}.png"
            write_png(root / path, mask)
            numbers = {
                f"mask_{kind}": {"path": path, **file_record(root / path)},
                f"{kind}_px": int(np.count_nonzero(mask)),
                f"box_{kind}": _box(mask),
            }
        place |= numbers
    return place


def _box(mask: NDArray[np.uint8]) -> list[int] | None:
    rows, columns = np.nonzero(mask)
    if not rows.size:
        return None
    x, y = int(columns.min()), int(rows.min())
    return [x, y, int(columns.max()) - x + 1, int(rows.max()) - y + 1]


# --- images --------------------------------------------------------------------------------------


def _write_image(root: Path, settings: Settings, raw: RawImage, media_id: str, variant: str) -> Row:
    """Write one variant of a media item; returns its row."""
    mosaic = night.linearise(raw)
    vision = None
    if variant == "nv":
        vision = night.night_vision(mosaic, settings.isp)
        image = vision.image
    else:
        image = to_srgb8(np.clip(demosaic(raw), 0, 1))
    if settings.compression is not None:
        image = settings.compression.apply(image)
    path = f"media/{variant}/{media_id}.png"
    write_png(root / path, image)
    gain_dn_per_e, read_sigma_dn = noise_model(raw)
    return {
        "id": media_id,
        "variant": variant,
        "path": path,
        **file_record(root / path),
        "settings": settings.hash(variant),
        **settings.of(variant),
        "seed": settings.seed,
        "exposure_s": raw.exposure_s,
        "fnumber": raw.fnumber,
        "mean_e": float(mosaic.electrons.mean(dtype=np.float64)),
        "noise_gain_dn_per_e": gain_dn_per_e,
        "noise_read_sigma_dn": read_sigma_dn,
        "white_balance": list(raw.white_balance),
        "gain_db": vision.gain_db if vision else 0.0,
        "binning": vision.binning if vision else None,
        "chroma_block_px": vision.chroma_block_px if vision else None,
        "denoiser": settings.isp.denoiser if vision else None,
        "software": _software(settings, variant),
    }


def _software(settings: Settings, variant: str) -> dict[str, str]:
    versions = {"limen": __version__, "numpy": np.__version__, "opencv": cv2.__version__}
    if variant == "nv" and settings.isp.denoiser == "bm3d":
        versions["bm3d"] = metadata.version("bm3d")
    if settings.compression is not None and settings.compression.codec == "h264":
        versions["av"] = metadata.version("av")
    return versions
