"""The neutral ISP: from a raw image to night vision, in float, in five plain stages.

Linearise, automatic gain, denoise, local contrast (CLAHE), tone map. The denoiser works on counted
electrons, where the sensor model says how strong the noise is, so gain changes nothing for it; only
the last step rounds to 8 bits.
"""

from __future__ import annotations

import importlib.util
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ...addon.core.photometry import luminance, meter, saturation_luminance, to_srgb8
from .sensor import RawImage, noise_model, to_electrons

__all__ = [
    "DENOISERS",
    "STAGES",
    "DenoiserMissingError",
    "IspPreset",
    "IspPresetError",
    "Mosaic",
    "NightVision",
    "add_up",
    "automatic_gain",
    "binning_for",
    "denoise",
    "equalise",
    "interpolate",
    "inverse_anscombe",
    "linearise",
    "load_isp_presets",
    "night_vision",
    "require_denoiser",
    "stabilise",
    "tone_map",
]

FloatArray = NDArray[np.float32]

STAGES = ("linear", "gain", "denoised", "equalised", "toned")
"""What :func:`night_vision` keeps on request, in order."""

BINNINGS = (1, 2, 4)
CHROMA_BLOCKS = (2, 4, 8, 16, 32)

_PRESETS = Path(__file__).parent / "isp_presets.toml"

# Luma of a Bayer mosaic without interpolating it: zero at the frequencies that carry colour
# ((pi, 0), (0, pi), (pi, pi)), so every pixel weighs R, G, B as 1 : 2 : 1, and flatter below them
# than the binomial filter that has the same zeros.
_LUMA_TAPS = np.array([-1, 4, 10, 4, -1], np.float32) / 16

_BM3D_PSD_SIZE = (
    16  # side of the noise spectrum that BM3D works with; 32 by default, at twice the time
)
_BM3D_EXACT_LAYERS = 1  # of the exact variances; 4 by default, at twice the time
_BM3D_WINDOW_PX = 39  # the full profile's search window; that of the fast profile saves nothing

# For noise of standard deviation 1 after the luma filter, at a third of the time of OpenCV's own
# windows of 7 and 21.
_NLM_TEMPLATE_PX, _NLM_SEARCH_PX, _NLM_STRENGTH = 5, 13, 2.1

_CURVE_BINS = 1024
_KNEE = 0.04  # luma below which the contrast curves' scale is linear, above logarithmic


class IspPresetError(ValueError):
    """A preset that cannot be used; the message says which, where and what is allowed."""


class DenoiserMissingError(Exception):
    """The denoiser's package is not installed; the message says how to get it."""


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
class Mosaic:
    """A raw image in electrons.

    Attributes:
        electrons: (H, W) float32 of light, black subtracted; noise around black is negative.
        colour: Whether it is a Bayer mosaic whose first pixel is red, or monochrome.
        read_noise_e: Standard deviation of the noise in the dark.
        saturation_e: Electrons that are signal 1.0.
        white_balance: (3,) factors of red, green, blue.
    """

    electrons: FloatArray
    colour: bool
    read_noise_e: float
    saturation_e: float
    white_balance: tuple[float, float, float]


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
    return {preset.name: preset for preset in _load(path or _PRESETS)}


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
        keep("linear", _signal(interpolate(mosaic.electrons, mosaic.colour), mosaic))
    gain = automatic_gain(_metered_luma(mosaic), preset.agc_target, preset.agc_cap_db)
    if keep_stages:
        keep("gain", stages["linear"] * np.float32(gain))
    mean_e = float(mosaic.electrons.mean(dtype=np.float64))
    binning, block_px = _block_sides(mean_e, mosaic.colour, preset)
    signal = _signal(denoise(mosaic, preset), mosaic)
    signal *= np.float32(gain)
    keep("denoised", signal)
    signal = keep("equalised", equalise(signal, preset))
    signal = keep("toned", tone_map(signal, preset.white))
    gain_db = 20 * math.log10(gain)
    return NightVision(to_srgb8(signal), mean_e, binning, block_px, gain_db, stages)


# --- linearise -----------------------------------------------------------------------------------


def linearise(raw: RawImage) -> Mosaic:
    """Return a raw image in electrons, with what the sensor model says of its noise."""
    gain_dn_per_e, read_sigma_dn = noise_model(raw)
    return Mosaic(
        to_electrons(raw),
        raw.model.filter != "mono",
        read_sigma_dn / gain_dn_per_e,
        raw.model.saturation_e,
        raw.white_balance,
    )


def interpolate(electrons: FloatArray, colour: bool) -> FloatArray:
    """Return the (H, W, 3) image of a mosaic by bilinear interpolation, noise and all."""
    if not colour:
        return np.repeat(electrons[..., None], 3, axis=2)
    cross = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]], np.float32) / 4
    square = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32) / 4
    image = np.empty((*electrons.shape, 3), np.float32)
    for channel, kernel in ((0, square), (1, cross), (2, square)):
        sparse = np.zeros_like(electrons)
        for row, column in _SITES[channel]:
            sparse[row::2, column::2] = electrons[row::2, column::2]
        image[..., channel] = cv2.filter2D(sparse, -1, kernel, borderType=cv2.BORDER_REFLECT_101)
    return image


_SITES = (((0, 0),), ((0, 1), (1, 0)), ((1, 1),))  # of red, green, blue in the Bayer mosaic


def _signal(electrons: FloatArray, mosaic: Mosaic) -> FloatArray:
    """White balance, 1.0 = saturation; what saturates in any channel is white rather than pink."""
    factors = np.array(mosaic.white_balance, np.float32) / np.float32(mosaic.saturation_e)
    signal: FloatArray = electrons * factors
    return np.minimum(signal, 1, out=signal)


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
    means = np.stack(_colour_means(mosaic, size), axis=-1)
    return np.asarray(luminance(_signal(means, mosaic)), np.float32)


def _colour_means(mosaic: Mosaic, size: tuple[int, int]) -> list[FloatArray]:
    """Return the three colours' electrons a pixel, averaged over the areas of a small image."""
    electrons = mosaic.electrons
    if not mosaic.colour:
        return [_area_mean(electrons, size)] * 3
    electrons = _padded(electrons, 2)
    means = []
    for sites in _SITES:
        planes = [_area_mean(electrons[row::2, column::2], size) for row, column in sites]
        means.append(planes[0] if len(planes) == 1 else (planes[0] + planes[1]) / 2)
    return means


def _area_mean(image: FloatArray, size: tuple[int, int]) -> FloatArray:
    # Without this, a small image would be enlarged by nearest neighbours.
    how = cv2.INTER_AREA if size[0] <= image.shape[1] and size[1] <= image.shape[0] else 1
    return np.asarray(cv2.resize(np.ascontiguousarray(image), size, interpolation=how), np.float32)


# --- denoise -------------------------------------------------------------------------------------


def stabilise(electrons: FloatArray, read_noise_e: float) -> FloatArray:
    """Return the generalised Anscombe transform: about unit variance at every brightness.

    ``2 sqrt(x + 3/8 + sigma^2)``, for Poisson counts with Gaussian noise (Starck, Murtagh and
    Bijaoui 1998). Below about 2 electrons the variance drops under 1.
    """
    shifted = electrons + np.float32(3 / 8 + read_noise_e**2)
    return np.asarray(2 * np.sqrt(np.maximum(shifted, 0)), np.float32)


def inverse_anscombe(stable: FloatArray, read_noise_e: float) -> FloatArray:
    """Return the electrons whose transform has a mean: the exact unbiased inverse, not negative.

    The closed form of Mäkitalo and Foi, "Optimal inversion of the generalized Anscombe
    transformation for Poisson-Gaussian noise", IEEE Transactions on Image Processing 22 (2013).
    The algebraic inverse is too dark, by a quarter of an electron where light is plenty.
    """
    least = 2 * math.sqrt(3 / 8)  # no light: below, the closed form turns up again
    d = np.maximum(stable, np.float32(least))
    inverse = 1 / d
    tail = math.sqrt(1.5) / 4 + inverse * (-11 / 8 + inverse * np.float32(5 / 8 * math.sqrt(1.5)))
    electrons = d * d / 4 + inverse * tail - np.float32(1 / 8 + read_noise_e**2)
    return np.asarray(np.maximum(electrons, 0), np.float32)


def binning_for(mean_e: float, below_e: float) -> int:
    """Return how many pixels a side to add up, 1, 2 or 4, so that a sum has ``below_e`` electrons.

    Args:
        mean_e: Mean electrons of a pixel.
        below_e: Least mean that the noise transform holds for, about 2.
    """
    return next((n for n in BINNINGS if mean_e * n * n >= below_e), BINNINGS[-1])


def add_up(electrons: FloatArray, binning: int) -> FloatArray:
    """Return (H, W) summed over squares, (H / n, W / n) rounded up; the border is mirrored."""
    padded = _padded(electrons, binning)
    height, width = padded.shape
    blocks = padded.reshape(height // binning, binning, width // binning, binning)
    return np.asarray(blocks.sum(axis=(1, 3)), np.float32)


def _block_sides(mean_e: float, colour: bool, preset: IspPreset) -> tuple[int, int]:
    """Return the sides of the squares that luma is added up in and that colour is averaged over."""
    if preset.denoiser == "none":
        return 1, 1
    enough = (side for side in CHROMA_BLOCKS if mean_e * (side / 2) ** 2 >= preset.chroma_block_e)
    block_px = next(enough, CHROMA_BLOCKS[-1]) if colour else 1
    return binning_for(mean_e, preset.binning_below_e), block_px


def denoise(mosaic: Mosaic, preset: IspPreset) -> FloatArray:
    """Return the (H, W, 3) denoised image in electrons a pixel.

    Luma is denoised where its noise is known exactly: pixels are stabilised one by one, where noise
    is white, before a filter makes luma of them, whose noise spectrum is that filter's. Where the
    image is darker than ``binning_below_e``, squares of pixels are added up first. Colour is
    averaged over blocks, and follows the luma's edges by a guided filter (He, Sun and Tang 2013);
    its averages are of electrons, so the image keeps the raw image's brightness and colour.

    Raises:
        DenoiserMissingError: The preset's denoiser is not installed.
    """
    electrons = mosaic.electrons
    if preset.denoiser == "none":
        return interpolate(electrons, mosaic.colour)
    run = _DENOISERS[preset.denoiser]
    mean_e = float(electrons.mean(dtype=np.float64))
    binning, block_px = _block_sides(mean_e, mosaic.colour, preset)
    white = np.ones(1, np.float32)
    if binning == 1:
        stable = stabilise(electrons, mosaic.read_noise_e)
        taps = _LUMA_TAPS if mosaic.colour else white
        luma = np.asarray(
            cv2.sepFilter2D(stable, -1, taps, taps, borderType=cv2.BORDER_REFLECT_101), np.float32
        )
        clean = inverse_anscombe(run(luma, taps, preset.denoise_strength), mosaic.read_noise_e)
    else:
        read_noise_e = binning * mosaic.read_noise_e
        stable = stabilise(add_up(electrons, binning), read_noise_e)
        sums = inverse_anscombe(run(stable, white, preset.denoise_strength), read_noise_e)
        clean = _enlarged(sums / np.float32(binning**2), binning, electrons.shape)
    if not mosaic.colour:
        return np.repeat(clean[..., None], 3, axis=2)
    return _coloured(clean, mosaic, block_px)


def require_denoiser(name: str) -> None:
    """Check that a denoiser can run.

    Raises:
        DenoiserMissingError: Its package is not installed.
    """
    if name == "bm3d" and importlib.util.find_spec("bm3d") is None:
        raise DenoiserMissingError(
            "denoiser bm3d needs the package bm3d, which is licensed for non-commercial use only: "
            "pip install 'limen[bm3d]'. Denoiser nlm (--denoiser nlm) needs nothing more"
        )


def _bm3d(stable: FloatArray, taps: FloatArray, strength: float) -> FloatArray:
    """BM3D for coloured noise (Mäkinen, Azzari and Foi 2020): white noise through a filter."""
    require_denoiser("bm3d")
    import bm3d

    profile = bm3d.BM3DProfileLC()
    profile.search_window_ht = profile.search_window_wiener = _BM3D_WINDOW_PX
    profile.nf, profile.k = _BM3D_PSD_SIZE, _BM3D_EXACT_LAYERS
    profile.num_threads = 1  # the sums of several threads differ from run to run
    noise: Any = strength
    if taps.size > 1:
        kernel = np.zeros(stable.shape)
        kernel[: taps.size, : taps.size] = strength * np.outer(taps, taps)
        noise = np.abs(np.fft.fft2(kernel)) ** 2 * kernel.size
    return np.asarray(bm3d.bm3d(stable.astype(np.float64), noise, profile), np.float32)


def _nlm(stable: FloatArray, taps: FloatArray, strength: float) -> FloatArray:
    """Non-local means (Buades, Coll and Morel 2005), OpenCV's, in 16 bits."""
    scale = 65535 / max(float(stable.max()), 1.0)
    sigma = strength * float(taps @ taps)
    clean = cv2.fastNlMeansDenoising(
        np.rint(stable * np.float32(scale)).clip(0, 65535).astype(np.uint16),
        h=[_NLM_STRENGTH * sigma * scale],
        templateWindowSize=_NLM_TEMPLATE_PX,
        searchWindowSize=_NLM_SEARCH_PX,
        normType=cv2.NORM_L1,
    )
    return np.asarray(clean, np.float32) / np.float32(scale)


_DENOISERS: Mapping[str, Callable[[FloatArray, FloatArray, float], FloatArray]] = {
    "bm3d": _bm3d,
    "nlm": _nlm,
}
DENOISERS = (*_DENOISERS, "none")


def _coloured(luma_e: FloatArray, mosaic: Mosaic, block_px: int) -> FloatArray:
    """Give the three colours to a denoised luma: guided filter on blocks, in electrons."""
    height, width = luma_e.shape
    size = (math.ceil(width / block_px), math.ceil(height / block_px))
    guide = _area_mean(luma_e, size)
    mean = cv2.blur(guide, (5, 5))
    spread = cv2.blur(guide * guide, (5, 5)) - mean * mean
    image = np.empty((height, width, 3), np.float32)
    for channel, colour in enumerate(_colour_means(mosaic, size)):
        pixels = len(_SITES[channel]) * (block_px / 2) ** 2
        difference = colour - guide
        average = cv2.blur(difference, (5, 5))
        together = cv2.blur(guide * difference, (5, 5)) - mean * average
        # One hue for all brightnesses, unless another slope stands out of the averages' noise.
        noise = (np.maximum(mean + average, 0) + mosaic.read_noise_e**2) / pixels
        hue = average / np.maximum(mean, np.float32(1e-3))
        slope = (together + noise * hue) / (spread + noise)
        offset = average - slope * mean
        slope, offset = cv2.blur(slope, (5, 5)), cv2.blur(offset, (5, 5))
        full_slope = cv2.resize(slope, (width, height), interpolation=cv2.INTER_LINEAR)
        full_offset = cv2.resize(offset, (width, height), interpolation=cv2.INTER_LINEAR)
        image[..., channel] = luma_e * (1 + full_slope) + full_offset
    return np.maximum(image, 0, out=image)


def _enlarged(image: FloatArray, binning: int, shape: tuple[int, ...]) -> FloatArray:
    size = (image.shape[1] * binning, image.shape[0] * binning)
    full = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)[: shape[0], : shape[1]]
    return np.maximum(full, 0)


def _padded(electrons: FloatArray, multiple: int) -> FloatArray:
    """Mirror at the far borders up to a multiple; a mirror at a pixel keeps the mosaic's phase."""
    bottom, right = (-length % multiple for length in electrons.shape)
    if not bottom and not right:
        return electrons
    return np.asarray(cv2.copyMakeBorder(electrons, 0, bottom, 0, right, cv2.BORDER_REFLECT_101))


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
def _load(path: Path) -> tuple[IspPreset, ...]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["preset"]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError) as error:
        raise IspPresetError(f"{path}: cannot be read as ISP presets: {error}") from error
    known = {item.name for item in fields(IspPreset)}
    for table in tables:
        wrong = sorted(known ^ set(table))
        if wrong:
            raise IspPresetError(
                f"{path.name}: preset {table.get('name')!r}: {wrong[0]} is missing or unknown: "
                f"a preset has {', '.join(sorted(known))}"
            )
    return tuple(IspPreset(**table) for table in tables)
