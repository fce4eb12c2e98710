"""The neutral ISP: from a raw image to night vision, in float, in five plain stages.

Linearise, automatic gain, denoise, local contrast (CLAHE), tone map. The denoiser works on counted
electrons, where the sensor model says how strong the noise is, so gain changes nothing for it; only
the last step rounds to 8 bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from ...addon.core.photometry import luminance, meter, saturation_luminance, to_srgb8
from .denoise import DENOISERS, block_sides, denoise
from .mosaic import Mosaic, colour_means, interpolate, linearise, to_signal
from .presets import read_presets

__all__ = [
    "STAGES",
    "IspPreset",
    "IspPresetError",
    "NightVision",
    "automatic_gain",
    "equalise",
    "linearise",
    "load_isp_presets",
    "night_vision",
    "tone_map",
]

FloatArray = NDArray[np.float32]

STAGES = ("linear", "gain", "denoised", "equalised", "toned")
"""What :func:`night_vision` keeps on request, in order."""

_PRESETS = Path(__file__).parent / "isp_presets.toml"

_CURVE_BINS = 1024
_KNEE = 0.04  # luma below which the contrast curves' scale is linear, above logarithmic


class IspPresetError(ValueError):
    """A preset that cannot be used; the message says which, where and what is allowed."""


@dataclass(frozen=True)
class IspPreset:
    """The numbers of the neutral ISP.

    Attributes:
        name: Its key in ``isp_presets.toml``.
        agc_target: Mean luma that automatic gain aims at; 1 is display white.
        agc_cap_db: Greatest gain, 20 log10 of the factor.
        denoiser: One of ``DENOISERS``.
        denoise_strength: Factor on the noise that the sensor model predicts.
        binning_below_e: Mean electrons a pixel below which pixels are added up.
        chroma_block_e: Electrons of each colour that a block of pixels must hold, on average, to
            be averaged to one colour: it fixes the blocks' side.
        clahe_tile_px: Side of a tile of the local contrast, about.
        clahe_slope: Greatest steepness of a tile's curve, 1 or more.
        white: Luma after gain that the tone map shows as white.

    Raises:
        IspPresetError: A value is impossible.
    """

    name: str
    agc_target: float
    agc_cap_db: float
    denoiser: str
    denoise_strength: float
    binning_below_e: float
    chroma_block_e: float
    clahe_tile_px: int
    clahe_slope: float
    white: float

    def __post_init__(self) -> None:
        rules: tuple[tuple[str, bool, str], ...] = (
            ("agc_target", 0 < self.agc_target < 1, "between 0 and 1"),
            ("agc_cap_db", 0 <= self.agc_cap_db <= 120, "0 to 120 dB"),
            ("denoiser", self.denoiser in DENOISERS, "one of " + ", ".join(DENOISERS)),
            ("denoise_strength", 0 < self.denoise_strength <= 10, "above 0, up to 10"),
            ("binning_below_e", 0 <= self.binning_below_e < math.inf, "0 or more electrons"),
            ("chroma_block_e", 0 < self.chroma_block_e < math.inf, "above 0 electrons"),
            ("clahe_tile_px", 8 <= self.clahe_tile_px <= 4096, "8 to 4096 pixels"),
            ("clahe_slope", 1 <= self.clahe_slope <= 100, "1 (no contrast is added) to 100"),
            ("white", 1 <= self.white < math.inf, "1 or more"),
        )
        for key, fine, allowed in rules:
            if not fine:
                raise IspPresetError(
                    f"ISP preset {self.name!r}: {key} is {getattr(self, key)!r}: {allowed}"
                )


@dataclass(frozen=True, eq=False)
class NightVision:
    """What the ISP made of a raw image.

    Attributes:
        image: (H, W, 3) uint8 sRGB.
        mean_e: Mean electrons of a pixel: of green, red and blue as the mosaic mixes them.
        binning: Side of the squares of pixels that were added up before denoising.
        chroma_block_px: Side of the blocks that colour was averaged over; 1 without a denoiser.
        gain_db: Automatic gain, 20 log10 of the factor.
        stages: Stage -> (H, W, 3) float32 linear image, those of ``STAGES``; empty unless kept.
    """

    image: NDArray[np.uint8]
    mean_e: float
    binning: int
    chroma_block_px: int
    gain_db: float
    stages: Mapping[str, FloatArray] = field(default_factory=dict)


def load_isp_presets(path: Path | None = None) -> dict[str, IspPreset]:
    """Return name -> preset from a presets file (by default the embedded one), in its order.

    Raises:
        IspPresetError: The file cannot be read or holds a wrong or unknown value.
    """
    return dict(_load(path or _PRESETS))


def night_vision(mosaic: Mosaic, preset: IspPreset, *, keep_stages: bool = False) -> NightVision:
    """Return what night vision shows of a raw image.

    Args:
        mosaic: See :func:`linearise`.
        preset: The numbers.
        keep_stages: Keep each stage's output too, six images in float.

    Raises:
        DenoiserMissingError: The preset's denoiser is not installed.
    """
    stages: dict[str, FloatArray] = {}

    def keep(stage: str, image: FloatArray) -> FloatArray:
        if keep_stages:
            stages[stage] = image.copy()
        return image

    if keep_stages:
        keep("linear", to_signal(interpolate(mosaic.electrons, mosaic.colour), mosaic))
    gain = automatic_gain(_metered_luma(mosaic), preset.agc_target, preset.agc_cap_db)
    if keep_stages:
        keep("gain", stages["linear"] * np.float32(gain))
    mean_e = float(mosaic.electrons.mean(dtype=np.float64))
    binning, block_px = block_sides(mean_e, mosaic.colour, preset)
    signal = to_signal(denoise(mosaic, preset), mosaic)
    signal *= np.float32(gain)
    keep("denoised", signal)
    signal = keep("equalised", equalise(signal, preset))
    signal = keep("toned", tone_map(signal, preset.white))
    gain_db = 20 * math.log10(gain)
    return NightVision(to_srgb8(signal), mean_e, binning, block_px, gain_db, stages)


# --- automatic gain ------------------------------------------------------------------------------


def automatic_gain(luma: FloatArray, target: float, cap_db: float) -> float:
    """Return the factor that brings an image's mean luma to a target.

    Metered as an exposure is (``photometry.meter``): a pixel brighter than white counts as white.
    Between 1 and the cap: a scene darker than the cap reaches stays dark.

    Args:
        luma: Linear, 1.0 = saturation; of any shape.
        target: Mean aimed at, between 0 and 1.
        cap_db: 20 log10 of the greatest factor.
    """
    # A gain is a longer exposure of a camera that 1 cd/m2 saturates in 1 s.
    iso = saturation_luminance(1.0, 1.0, 1.0)
    return meter(
        np.maximum(luma, 0),
        fnumber=1.0,
        iso=iso,
        shutter_limit_s=10 ** (cap_db / 20),
        shutter_min_s=1.0,
        target=target,
    )


def _metered_luma(mosaic: Mosaic) -> FloatArray:
    """Luma of blocks of about 8 pixels: clipping at white must not count single noisy pixels."""
    height, width = mosaic.electrons.shape
    size = (math.ceil(width / 8), math.ceil(height / 8))
    means = np.stack(colour_means(mosaic, size), axis=-1)
    return np.asarray(luminance(to_signal(means, mosaic)), np.float32)


# --- contrast and tone ---------------------------------------------------------------------------


def equalise(image: FloatArray, preset: IspPreset) -> FloatArray:
    """Return an image with its local contrast raised: CLAHE on luma, colours keep their ratios.

    Contrast-limited adaptive histogram equalisation (Zuiderveld 1994) on a logarithmic scale from 0
    to ``white``. A tile's curve is a broken line that pixels are interpolated on, between tiles
    too: no value is rounded. OpenCV's, in 16 bits, cannot limit the contrast of a tile that has
    fewer pixels than it has bins.

    Args:
        image: (H, W, 3) linear, 1 is display white.
        preset: ``clahe_tile_px``, ``clahe_slope`` and ``white`` are used.
    """
    luma = np.asarray(luminance(image), np.float32)
    np.clip(luma, 0, preset.white, out=luma)
    scale = math.log1p(preset.white / _KNEE)
    value: FloatArray = np.log1p(luma / np.float32(_KNEE))
    value /= np.float32(scale)
    equal = _clahe(value, preset.clahe_tile_px, preset.clahe_slope)
    equal *= np.float32(scale)
    target: FloatArray = np.expm1(equal, out=equal)
    target *= np.float32(_KNEE)
    return _with_luma(image, luma, target)


def tone_map(image: FloatArray, white: float) -> FloatArray:
    """Return an image in 0..1: luma ``white`` is shown as 1, the shadows stay as they are.

    Extended Reinhard on luma, L (1 + L / white^2) / (1 + L) (Reinhard et al. 2002, equation 4).
    """
    luma = np.asarray(luminance(image), np.float32)
    np.maximum(luma, 0, out=luma)
    target = luma * (1 + luma / np.float32(white**2)) / (1 + luma)
    toned = _with_luma(image, luma, target)
    return np.clip(toned, 0, 1, out=toned)


def _with_luma(image: FloatArray, luma: FloatArray, target: FloatArray) -> FloatArray:
    ratio = target / np.maximum(luma, np.float32(1e-6))
    return np.asarray(image * ratio[..., None], np.float32)


def _clahe(value: FloatArray, tile_px: int, slope: float) -> FloatArray:
    """Equalise values in 0..1 tile by tile."""
    height, width = value.shape
    rows, columns = max(1, round(height / tile_px)), max(1, round(width / tile_px))
    row_of = np.arange(height) * rows // height
    column_of = np.arange(width) * columns // width
    bins = np.minimum((value * _CURVE_BINS).astype(np.int32), _CURVE_BINS - 1)
    bins += ((row_of * columns * _CURVE_BINS)[:, None] + column_of * _CURVE_BINS).astype(np.int32)
    counts = np.bincount(bins.ravel(), minlength=rows * columns * _CURVE_BINS)
    curves = _curves(counts.reshape(rows * columns, _CURVE_BINS), slope)

    upper, down = _between(height, rows)
    left, right = _between(width, columns)
    position = value * np.float32(_CURVE_BINS)

    def look_up(row: NDArray[np.intp], column: NDArray[np.intp]) -> FloatArray:
        tile = np.clip(row, 0, rows - 1)[:, None] * columns + np.clip(column, 0, columns - 1)
        looked_up = cv2.remap(curves, position, tile.astype(np.float32), cv2.INTER_LINEAR)
        return np.asarray(looked_up, np.float32)

    def across(row: NDArray[np.intp]) -> FloatArray:
        start = look_up(row, left)
        if columns > 1:
            start += (look_up(row, left + 1) - start) * right
        return start

    result = across(upper)
    if rows > 1:
        result += (across(upper + 1) - result) * down[:, None]
    return result


def _curves(counts: NDArray[np.intp], slope: float) -> FloatArray:
    """Return a tile's (bins + 1) knots from 0 to 1: its distribution, no steeper than ``slope``."""
    share = counts / counts.sum(axis=1, keepdims=True)
    limit = slope / counts.shape[1]
    for _ in range(4):  # what is cut off goes to all bins alike, and lifts some over the limit
        excess = np.maximum(share - limit, 0).sum(axis=1, keepdims=True)
        share = np.minimum(share, limit) + excess / counts.shape[1]
    knots = np.zeros((counts.shape[0], counts.shape[1] + 1), np.float32)
    np.cumsum(share, axis=1, out=knots[:, 1:])
    return knots


def _between(length: int, tiles: int) -> tuple[NDArray[np.intp], FloatArray]:
    """For each pixel, the tile whose centre lies before it, and how far it is to the next."""
    place = (np.arange(length) + 0.5) * tiles / length - 0.5
    before = np.floor(place)
    return before.astype(np.intp), (place - before).astype(np.float32)


# --- presets -------------------------------------------------------------------------------------


@lru_cache
def _load(path: Path) -> tuple[tuple[str, IspPreset], ...]:
    return tuple(read_presets(path, "preset", IspPreset, IspPresetError).items())
