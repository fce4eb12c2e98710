"""A raw image in electrons, as the ISP works on it: its colours and their means."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from .sensor import RawImage, noise_model, to_electrons

__all__ = [
    "SITES",
    "Mosaic",
    "area_mean",
    "colour_means",
    "interpolate",
    "linearise",
    "padded",
    "to_signal",
]

FloatArray = NDArray[np.float32]

SITES = (((0, 0),), ((0, 1), (1, 0)), ((1, 1),))
"""(row, column) of red, green and blue in a Bayer mosaic."""


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
        for row, column in SITES[channel]:
            sparse[row::2, column::2] = electrons[row::2, column::2]
        image[..., channel] = cv2.filter2D(sparse, -1, kernel, borderType=cv2.BORDER_REFLECT_101)
    return image


def to_signal(electrons: FloatArray, mosaic: Mosaic) -> FloatArray:
    """White balance, 1.0 = saturation; what saturates in any channel is white rather than pink."""
    factors = np.array(mosaic.white_balance, np.float32) / np.float32(mosaic.saturation_e)
    signal: FloatArray = electrons * factors
    return np.minimum(signal, 1, out=signal)


def colour_means(mosaic: Mosaic, size: tuple[int, int]) -> list[FloatArray]:
    """Return the three colours' electrons a pixel, averaged over the areas of a small image."""
    electrons = mosaic.electrons
    if not mosaic.colour:
        return [area_mean(electrons, size)] * 3
    electrons = padded(electrons, 2)
    means = []
    for sites in SITES:
        planes = [area_mean(electrons[row::2, column::2], size) for row, column in sites]
        means.append(planes[0] if len(planes) == 1 else (planes[0] + planes[1]) / 2)
    return means


def area_mean(image: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Return an image (H, W) in another size (width, height), averaged over areas."""
    # Without this, a small image would be enlarged by nearest neighbours.
    how = cv2.INTER_AREA if size[0] <= image.shape[1] and size[1] <= image.shape[0] else 1
    return np.asarray(cv2.resize(np.ascontiguousarray(image), size, interpolation=how), np.float32)


def padded(electrons: FloatArray, multiple: int) -> FloatArray:
    """Mirror at the far borders up to a multiple; a mirror at a pixel keeps the mosaic's phase."""
    bottom, right = (-length % multiple for length in electrons.shape)
    if not bottom and not right:
        return electrons
    return np.asarray(cv2.copyMakeBorder(electrons, 0, bottom, 0, right, cv2.BORDER_REFLECT_101))
