"""Taking the noise out of a raw image, where the sensor model says how strong it is.

Pixels are stabilised so that their noise is alike everywhere, luma is denoised by one of
``DENOISERS``, and colour is averaged and follows it. docs/develop.md says why.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .mosaic import SITES, Mosaic, area_mean, colour_means, interpolate, padded

if TYPE_CHECKING:
    from .isp import IspPreset

__all__ = [
    "DENOISERS",
    "DenoiserMissingError",
    "add_up",
    "binning_for",
    "block_sides",
    "denoise",
    "inverse_anscombe",
    "require_denoiser",
    "stabilise",
]

FloatArray = NDArray[np.float32]

BINNINGS = (1, 2, 4)
CHROMA_BLOCKS = (2, 4, 8, 16, 32)

# Luma of a Bayer mosaic without interpolating it: zero at the frequencies that carry colour
# ((pi, 0), (0, pi), (pi, pi)), so every pixel weighs R, G, B as 1 : 2 : 1, and flatter below them
# than the binomial filter that has the same zeros.
_LUMA_TAPS = np.array([-1, 4, 10, 4, -1], np.float32) / 16

_AROUND = np.ones((5, 5), np.uint8)  # blocks that give a block its colour

_BM3D_PSD_SIZE = (
    16  # side of the noise spectrum that BM3D works with; 32 by default, at twice the time
)
_BM3D_EXACT_LAYERS = 1  # of the exact variances; 4 by default, at twice the time
_BM3D_STEPS_PX = 8, 6  # from block to block, hard thresholding and Wiener; 6 and 5 in the profile
_BM3D_WINDOW_PX = 39  # the full profile's search window; that of the fast profile saves nothing

# For noise of standard deviation 1 after the luma filter, at a third of the time of OpenCV's own
# windows of 7 and 21.
_NLM_TEMPLATE_PX, _NLM_SEARCH_PX, _NLM_STRENGTH = 5, 13, 2.1


class DenoiserMissingError(Exception):
    """The denoiser's package is not installed; the message says how to get it."""


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
    whole = padded(electrons, binning)
    height, width = whole.shape
    blocks = whole.reshape(height // binning, binning, width // binning, binning)
    return np.asarray(blocks.sum(axis=(1, 3)), np.float32)


def block_sides(mean_e: float, colour: bool, preset: IspPreset) -> tuple[int, int]:
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
    binning, block_px = block_sides(mean_e, mosaic.colour, preset)
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
    profile.step_ht, profile.step_wiener = _BM3D_STEPS_PX
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
    guide = area_mean(luma_e, size)
    mean = cv2.blur(guide, (5, 5))
    spread = cv2.blur(guide * guide, (5, 5)) - mean * mean
    image = np.empty((height, width, 3), np.float32)
    for channel, colour in enumerate(colour_means(mosaic, size)):
        pixels = len(SITES[channel]) * (block_px / 2) ** 2
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
        # The line holds between the brightnesses around it. Beyond, at a dark edge between blue sky
        # and sand, it would make colours that are nowhere: amber, mostly.
        hues = cv2.blur(colour, (3, 3)) / np.maximum(cv2.blur(guide, (3, 3)), np.float32(1e-3))
        least = cv2.resize(cv2.erode(hues, _AROUND), (width, height))
        most = cv2.resize(cv2.dilate(hues, _AROUND), (width, height))
        shade = luma_e * (1 + full_slope) + full_offset
        image[..., channel] = np.clip(shade, luma_e * least, luma_e * most)
    return np.maximum(image, 0, out=image)


def _enlarged(image: FloatArray, binning: int, shape: tuple[int, ...]) -> FloatArray:
    size = (image.shape[1] * binning, image.shape[0] * binning)
    full = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)[: shape[0], : shape[1]]
    return np.maximum(full, 0)
