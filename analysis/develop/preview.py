"""One page that shows how an image is developed: every stage, its noise, a strip into the dark."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...addon.core.dataset import Dataset, open_dataset, write_file
from ...addon.core.lighting import Lighting
from ...addon.core.photometry import expose, luminance, srgb_decode, srgb_encode, to_srgb8
from ...addon.core.relight import compose
from ...addon.core.study import Study, load_study
from ..contract import is_photographs, rows_blamed
from ..report import text
from . import isp
from .compression import Compression, require_codec
from .denoise import require_denoiser
from .sensor import RawImage, demosaic, expose_raw, saturation_iso, to_electrons
from .settings import DevelopChoiceError, DevelopError, Settings, choose_settings
from .view import load_stack, metered_raw, through_lens

__all__ = ["STRIP_LX", "build_preview"]

STRIP_LX = (100.0, 10.0, 1.0, 0.1, 0.01)
"""Illuminances of the strip into the dark."""

SHOWN_PX = (640, 560)
STRIP_PX = (230, 420)

_TEMPLATES = Path(__file__).parent / "templates"
_CSS = Path(__file__).parents[1] / "report" / "templates" / "report.css"

_STAGE_TITLES = {
    "linear": ("Linearised", "black subtracted, white-balanced, at base gain"),
    "gain": ("Automatic gain", "brought to its mean; noise comes with it"),
    "denoised": ("Denoised", "in counted electrons, then the same gain"),
    "equalised": ("Local contrast", "CLAHE on luma"),
    "toned": ("Tone mapped", "the night vision image"),
}

Bytes = NDArray[np.uint8]
FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class Picture:
    """A picture of the page.

    Attributes:
        title: What it is.
        note: What was done.
        source: A data URI.
        width: In pixels.
        height: In pixels.
        histogram: Points of an SVG polyline in a box of 256 x 64, empty for none.
    """

    title: str
    note: str
    source: str
    width: int
    height: int
    histogram: str = ""


def build_preview(
    root: Path,
    media_id: str,
    out: Path,
    *,
    isp_name: str = "neutral-v1",
    denoiser: str | None = None,
    sensor: str | None = None,
    lens: str | None = None,
    motion_px_s: tuple[float, float] | None = None,
    compression: Compression | None = None,
) -> None:
    """Write the preview page of a media item; needs no network, changes nothing else.

    Args:
        root: The dataset.
        media_id: A media item, of any band.
        out: The HTML file, replaced whole.
        isp_name: As ``isp`` of :func:`.run.develop_dataset`, and so are the others.
        denoiser: Instead of the preset's.
        sensor: A sensor model.
        lens: A lens.
        motion_px_s: Of the image.
        compression: Of the camera's image and of night vision.

    Raises:
        DevelopChoiceError: There is no such item, preset, denoiser, sensor or lens.
        DevelopError: The view has no light stack.
        DatasetError: ``root`` is no dataset, or a row of it is damaged.
        ImageError: A light file is missing or damaged.
        DenoiserMissingError, CodecMissingError: A package is not installed.
    """
    dataset = open_dataset(root)
    if media_id not in dataset.index:
        some = ", ".join([*list(dataset.index)[:3], "..."]) if dataset.index else "none yet"
        raise DevelopChoiceError(f"{root} has no media item '{media_id}'; it has {some}")
    if is_photographs(dataset):
        raise DevelopChoiceError(
            f"{root} holds photographs: a preview shows how light is developed, and they have none "
            "stored; limen develop without --preview makes night vision of them"
        )
    study = load_study(dataset.root / "study.toml")
    settings = choose_settings(
        study,
        isp=isp_name,
        denoiser=denoiser,
        sensor=sensor,
        lens=lens,
        motion_px_s=motion_px_s,
        compression=compression,
    )
    require_denoiser(settings.isp.denoiser)
    with rows_blamed(dataset):
        page = _page(dataset, media_id, study, settings)
    write_file(out, page.encode())


def _page(dataset: Dataset, media_id: str, study: Study, settings: Settings) -> str:
    """Return the page of a media item."""
    import jinja2

    row = dataset.index[media_id]
    view = dataset.views[row["view_id"]]
    camera = view["camera"]
    require_codec(settings.compression, (camera["width"], camera["height"]))
    lightings = {lighting.name: lighting for lighting in study.lightings}
    if row["lighting"] not in lightings:
        raise DevelopError(f"{media_id}: study.toml has no lighting {row['lighting']}")
    lighting = lightings[row["lighting"]]
    stack = load_stack(dataset.root, view)

    scene = compose(stack, lighting)
    raw = metered_raw(scene, settings, media_id, camera)
    vision = isp.night_vision(isp.linearise(raw), settings.isp, keep_stages=True)
    exposed = _exposed(
        through_lens(scene, settings, raw.exposure_s, camera), raw.exposure_s, settings
    )
    box = _box(view, SHOWN_PX)
    gain = 10 ** (vision.gain_db / 20)
    pictures = [
        _picture("Scene", "noise-free, as exposed", exposed, box),
        _picture("Scene with the gain", "noise-free, what there is to see", exposed * gain, box),
        _picture("Camera", "what the sensor recorded, at base gain", demosaic(raw), box),
        *(_picture(*_STAGE_TITLES[stage], image, box) for stage, image in vision.stages.items()),
    ]
    if settings.compression is not None:
        images = {"Camera": to_srgb8(np.clip(demosaic(raw), 0, 1)), "Night vision": vision.image}
        note = _compression(settings.compression)
        for name, image in images.items():
            shown = srgb_decode(settings.compression.apply(image) / 255).astype(np.float32)
            pictures.append(_picture(f"{name}, compressed", note, shown, box))
    strip = []
    for lux in STRIP_LX:
        darker = replace(lighting, illuminance_lx=lux)
        strip.append(_strip_column(compose(stack, darker), settings, f"{media_id}@{lux:g}", view))

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("preview.html.j2").render(
        version=__version__,
        media_id=media_id,
        facts=_facts(view, lighting, raw, vision, settings),
        pictures=pictures,
        strip=strip,
        lux=[text.illuminance(value) for value in STRIP_LX],
        noise=_noise_chart(scene, settings, media_id),
        css=_CSS.read_text(encoding="utf-8"),
    )


def _facts(
    view: Mapping[str, Any],
    lighting: Lighting,
    raw: RawImage,
    vision: isp.NightVision,
    settings: Settings,
) -> list[tuple[str, str]]:
    distance = text.distance(view["factors"]["distance_m"])
    iso = saturation_iso(settings.sensor)
    side = vision.binning
    binned = f", pixels added up {side} x {side}" if side > 1 else ""
    light = text.illuminance(lighting.illuminance_lx)
    optics = []
    if settings.lens is not None:
        optics.append(("Lens", settings.lens.name))
    if settings.motion_px_s is not None:
        length = math.hypot(*settings.motion_px_s) * raw.exposure_s
        optics.append(("Motion", f"{length:.1f} px while the shutter is open"))
    if settings.compression is not None:
        optics.append(("Compression", _compression(settings.compression)))
    return [
        ("Light", f"{lighting.name.replace('_', ' ')}, {light}"),
        ("Distance", f"{distance}, {text.density(view['density_nominal_px_per_m'])}"),
        ("Shutter", f"{text.exposure(raw.exposure_s)}, f/{raw.fnumber:g}"),
        ("Sensor", f"{settings.sensor.name}, ISO {iso:.0f} at base gain"),
        ("Mean signal", f"{_count(vision.mean_e)} electrons a pixel"),
        ("Automatic gain", f"{vision.gain_db:.1f} dB"),
        ("Denoiser", settings.isp.denoiser + binned),
        ("ISP", settings.isp.name),
        *optics,
    ]


def _compression(compression: Compression) -> str:
    if compression.codec == "jpeg":
        return f"JPEG, quality {compression.strength}"
    return f"H.264 key frame, rate factor {compression.strength}"


def _count(electrons: float) -> str:
    return f"{electrons:,.0f}" if electrons >= 100 else f"{electrons:.3g}"


def _exposed(scene: FloatArray, exposure_s: float, settings: Settings) -> FloatArray:
    """The linear signal without noise, 1.0 = saturation."""
    iso = saturation_iso(settings.sensor)
    signal = expose(scene, exposure_s, settings.camera.fnumber, iso)
    return np.asarray(np.minimum(signal, 1), np.float32)


def _strip_column(
    scene: FloatArray, settings: Settings, image_id: str, view: Mapping[str, Any]
) -> tuple[Picture, Picture]:
    """The camera's image and night vision of a scene."""
    raw = metered_raw(scene, settings, image_id, view["camera"])
    vision = isp.night_vision(isp.linearise(raw), settings.isp)
    box = _box(view, STRIP_PX)
    binned = f", {vision.binning} x {vision.binning}" if vision.binning > 1 else ""
    notes = (
        text.exposure(raw.exposure_s),
        f"{_count(vision.mean_e)} e, {vision.gain_db:.0f} dB{binned}",
    )
    images = to_srgb8(np.clip(demosaic(raw), 0, 1)), vision.image
    if settings.compression is not None:
        images = settings.compression.apply(images[0]), settings.compression.apply(images[1])
    return _encoded("", notes[0], images[0], box), _encoded("", notes[1], images[1], box)


# --- pictures ------------------------------------------------------------------------------------


def _picture(title: str, note: str, image: FloatArray, box: tuple[int, int, int, int]) -> Picture:
    shown = np.clip(image, 0, 1)
    codes = 255 * srgb_encode(luminance(shown))
    counts, _ = np.histogram(codes, bins=64, range=(0, 255))
    return replace(_encoded(title, note, to_srgb8(shown), box), histogram=_histogram(counts))


def _encoded(title: str, note: str, image: Bytes, box: tuple[int, int, int, int]) -> Picture:
    left, top, width, height = box
    crop = image[top : top + height, left : left + width, ::-1]
    _, png = cv2.imencode(".png", crop, [cv2.IMWRITE_PNG_COMPRESSION, 6])
    source = "data:image/png;base64," + base64.b64encode(png.tobytes()).decode()
    return Picture(title, note, source, width, height)


def _box(view: Mapping[str, Any], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Left, top, width, height around the person, at the image's own pixels."""
    camera = view["camera"]
    width, height = min(camera["width"], size[0]), min(camera["height"], size[1])
    x, y, w, h = view["box_full"] or (0, 0, camera["width"], camera["height"])
    left = min(max(0, round(x + w / 2 - width / 2)), camera["width"] - width)
    top = min(max(0, round(y + h / 2 - height / 2)), camera["height"] - height)
    return left, top, width, height


def _histogram(counts: NDArray[np.intp]) -> str:
    """A filled outline in a box of 256 x 64; the tallest bar but one may touch the top."""
    tallest = max(int(np.sort(counts)[-2]), 1)
    heights = np.minimum(counts / tallest, 1) * 64
    steps = [f"{4 * i},{64 - h:.1f} {4 * (i + 1)},{64 - h:.1f}" for i, h in enumerate(heights)]
    return "0,64 " + " ".join(steps) + " 256,64"


# --- noise ---------------------------------------------------------------------------------------

_CHART = (560, 300)
_CHART_E = (0.1, 10_000.0)
_CHART_SIGMA_E = (1.0, 100.0)


def _noise_chart(scene: FloatArray, settings: Settings, media_id: str) -> Mapping[str, Any]:
    """Measured and predicted noise over signal: two exposures of a scene, as EMVA 1288 does.

    Each of a run of exposures that saturates a little more gives a part of the curve.
    """
    camera = settings.camera
    iso = saturation_iso(settings.sensor)
    signal = float(expose(scene, 1.0, camera.fnumber, iso).mean())
    points: list[tuple[float, float]] = []
    read_noise_e = 0.0
    for mean in (0.0005, 0.01, 0.2):
        first, second = (
            expose_raw(
                scene,
                mean / signal,
                camera.fnumber,
                replace(settings.sensor, dark_current_e_s=0),  # the long ones would warm it up
                seed=settings.seed,
                image_id=f"{media_id}@{mean}{side}",
                sensor_px=camera.resolution,
            )
            for side in "ab"
        )
        read_noise_e = isp.linearise(first).read_noise_e
        points += _measured(to_electrons(first), to_electrons(second))
    levels = np.geomspace(*_CHART_E, 60)
    model = [(float(e), float(np.sqrt(e + read_noise_e**2))) for e in levels]
    return {
        "size": _CHART,
        "points": [_place(*point) for point in points if _inside(*point)],
        "model": " ".join("{:.1f},{:.1f}".format(*_place(*point)) for point in model),
        "x_ticks": [(f"{e:g}", _place(e, 1.0)[0]) for e in (0.1, 1, 10, 100, 1000, 10_000)],
        "y_ticks": [(f"{s:g}", _place(1.0, s)[1]) for s in (1, 3, 10, 30, 100)],
        "read_noise_e": f"{read_noise_e:.2f}",
    }


def _measured(first: FloatArray, second: FloatArray) -> list[tuple[float, float]]:
    """(mean, standard deviation) in electrons of the pixels at about one level.

    Levels are of the neighbourhood: a pixel's own noise must not choose the level it counts to.
    """
    signal = (first + second) / 2
    around = cv2.blur(signal, (9, 9))
    difference = (first - second).astype(np.float64)
    found = []
    for low, high in pairwise(np.quantile(around, np.linspace(0, 1, 9))):
        inside = (around >= low) & (around <= high)
        mean = float(signal[inside].mean(dtype=np.float64))
        found.append((mean, float(difference[inside].std() / np.sqrt(2))))
    return found


def _inside(electrons: float, sigma_e: float) -> bool:
    return (
        _CHART_E[0] <= electrons <= _CHART_E[1]
        and _CHART_SIGMA_E[0] <= sigma_e <= _CHART_SIGMA_E[1]
    )


def _place(electrons: float, sigma_e: float) -> tuple[float, float]:
    """Where a point lies in the chart, both axes logarithmic."""

    def along(value: float, ends: Sequence[float], length: int) -> float:
        return float(np.log(value / ends[0]) / np.log(ends[1] / ends[0]) * length)

    width, height = _CHART
    x = along(electrons, _CHART_E, width)
    return round(x, 1), round(height - along(sigma_e, _CHART_SIGMA_E, height), 1)
