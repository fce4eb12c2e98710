"""What makes a person stand out in an image: features measured through the visible mask.

The published four (facts of the benchmark this reproduces; their parameters are ours, as none were
published), each of one image and the exact mask of the visible person:

- ``area_share``: visible pixels / image pixels.
- ``ks_lightness``: two-sample Kolmogorov-Smirnov statistic of CIE L* (CIE 15:2018, D65 white)
  between the person and a band around it.
- ``sw_chroma``: sliced Wasserstein distance (order 2; Bonneel et al., J. Math. Imaging Vis. 51
  (2015) 22) between the hues and saturations of the two. Hue is an angle, so a colour is the point
  (s cos h, s sin h): red at 359 degrees lies beside red at 1, and grey has no hue to differ in.
- ``edge_iou``: how much of the Sobel response lies on the outline: intersection over union of the
  pixels whose gradient of L* exceeds a threshold with a ring around the mask's border, inside the
  mask dilated by the ring.

A value depends on the pixels and the settings alone. Flipped images have the same values.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addon.core import seeds
from ...addon.core.photometry import luminance, srgb_decode
from .observer import Viewing, visibility_level
from .packages import require
from .region import Mask, Region, band_width, surroundings

__all__ = [
    "EXTRAS",
    "FEATURES",
    "FEATURES_VERSION",
    "FeatureSettings",
    "FeatureSettingsError",
    "area_share",
    "chroma_points",
    "edge_iou",
    "image_features",
    "ks_lightness",
    "lightness",
    "mean_signals",
    "subsample",
    "sw_chroma",
]

FEATURES_VERSION = 1
"""Of what is computed: another one has other values for the same pixels and settings."""

FEATURES = ("area_share", "ks_lightness", "sw_chroma", "edge_iou")
"""The published ones, of each image."""

EXTRAS = ("weber", "michelson", "csf", "noise", "size", "luminance", "lux")
"""Beyond the published, by name; docs/discern.md says what each adds."""

Floats = NDArray[np.float64]
Image = NDArray[np.uint8]

_MARGIN_PX = 2  # beyond the band, so that no gradient ends at the cut
_CODE_STEP = float(srgb_decode(0.5 / 255))


class FeatureSettingsError(ValueError):
    """A parameter of the features is impossible."""


@dataclass(frozen=True)
class FeatureSettings:
    """Parameters of the features.

    A width is given in pixels *and* as a share of the person's size, the longer side of the visible
    box; the greater counts. So distant persons keep a band of some pixels, and near ones a band
    that grows with them. The threshold of an edge is a gradient, likewise: lightness per pixel, and
    lightness per person's size; the greater counts.

    Attributes:
        band_px: Width of the surrounding band, at least.
        band_share: Its width as a share of the person's size.
        outline_px: How far the outline's ring reaches to either side of the border, at least.
        outline_share: As a share of the person's size.
        edge_per_px: Least gradient of an edge in L* per pixel.
        edge_per_size: In L* per person's size.
        samples: Pixels of person and band that colours are compared by, at most.
        projections: Directions of the sliced distance, evenly spaced over half a turn.
        seed: Of the subsample.
        extras: Of :data:`EXTRAS`, what is measured beside the published features.
    """

    band_px: float = 4.0
    band_share: float = 0.25
    outline_px: float = 1.0
    outline_share: float = 0.01
    edge_per_px: float = 2.0
    edge_per_size: float = 20.0
    samples: int = 2000
    projections: int = 32
    seed: int = 0
    extras: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("band_px", "outline_px"):
            if not 1 <= getattr(self, name) <= 1000:
                raise FeatureSettingsError(f"{name} is {getattr(self, name)}: 1 to 1000 pixels")
        for name in ("band_share", "outline_share", "edge_per_px", "edge_per_size"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise FeatureSettingsError(f"{name} is {value}: 0 or more")
        for name in ("samples", "projections"):
            if getattr(self, name) < 1:
                raise FeatureSettingsError(f"{name} is {getattr(self, name)}: 1 or more")
        for name in self.extras:
            if name not in EXTRAS:
                raise FeatureSettingsError(
                    f"there is no feature '{name}'; beside the published there are "
                    f"{', '.join(EXTRAS)}"
                )

    def parameters(self) -> dict[str, Any]:
        """What a row records: the version and every number."""
        mine = asdict(self)
        mine["extras"] = sorted(set(self.extras))
        return {"version": FEATURES_VERSION, **mine}

    def hash(self) -> str:
        """16 hex digits of the parameters, extras apart: equal ones make comparable features."""
        mine = self.parameters()
        del mine["extras"]
        text = json.dumps(mine, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def image_features(
    image: Image, mask: Mask, settings: FeatureSettings | None = None
) -> dict[str, float]:
    """The features of one image: the published, and those extras that pixels alone give.

    An empty mask has the value 0 for each; so has what compares person and band where the mask
    leaves no band.

    Args:
        image: (H, W, 3) sRGB, 8 bits, in order red, green, blue.
        mask: (H, W) the visible person.
        settings: Parameters; extras named there are measured too.

    Raises:
        FeatureSettingsError: Image and mask differ in size.
    """
    settings = settings or FeatureSettings()
    if image.shape != (*mask.shape, 3):
        raise FeatureSettingsError(f"an image of {image.shape} has no mask of {mask.shape}")
    wanted = [name for name in _EXTRA_OF_IMAGE if name in settings.extras]
    region = surroundings(mask, settings.band_px, settings.band_share, _MARGIN_PX)
    if region is None:
        return dict.fromkeys((*FEATURES, *wanted), 0.0)
    cut = image[region.place]
    light = lightness(cut)
    found = {
        "area_share": area_share(mask),
        "ks_lightness": ks_lightness(light[region.mask], light[region.band]),
        "sw_chroma": sw_chroma(cut[region.mask], cut[region.band], settings),
        "edge_iou": edge_iou(light, region, settings),
    }
    for name in wanted:
        found[name] = _EXTRA_OF_IMAGE[name](image, mask, cut, light, region)
    return found


# --- the published features ----------------------------------------------------------------------


def area_share(mask: Mask) -> float:
    """Visible pixels / image pixels: the published unblocked area ratio."""
    return float(np.count_nonzero(mask) / mask.size)


def lightness(image: Image) -> Floats:
    """CIE L* (0..100) of sRGB pixels (..., 3), red, green, blue."""
    y = luminance(_DECODED[image])
    linear = y <= (6 / 29) ** 3
    return np.asarray(np.where(linear, y * (29 / 3) ** 3, 116 * np.cbrt(y) - 16))


_DECODED = srgb_decode(np.arange(256) / 255)


def ks_lightness(person: Floats, band: Floats) -> float:
    """Two-sample Kolmogorov-Smirnov statistic: the greatest distance of the distributions, 0..1.

    Args:
        person: (N,) values; 0 is returned where either is empty.
        band: (M,) values.
    """
    if not (person.size and band.size):
        return 0.0
    person, band = np.sort(person), np.sort(band)
    every = np.concatenate([person, band])
    below = np.searchsorted(person, every, side="right") / person.size
    below -= np.searchsorted(band, every, side="right") / band.size
    return float(np.abs(below).max())


def chroma_points(pixels: Image) -> Floats:
    """Hue h and saturation s (HSV) of pixels (N, 3), as points (s cos h, s sin h)."""
    codes = pixels.astype(float)
    most, least = codes.max(axis=1), codes.min(axis=1)
    span = most - least
    divisor = np.where(span > 0, span, 1)
    red, green, blue = codes.T
    sixth = np.where(
        most == red,
        (green - blue) / divisor,
        np.where(most == green, 2 + (blue - red) / divisor, 4 + (red - green) / divisor),
    )
    saturation = span / np.where(most > 0, most, 1)
    angle = sixth * (math.pi / 3)
    return np.stack([saturation * np.cos(angle), saturation * np.sin(angle)], axis=1)


def subsample(pixels: Image, most: int, seed: int) -> Image:
    """At most so many of the pixels (N, 3): every k-th in order of colour, from a seeded start.

    The order of the pixels does not matter, so a flipped image has the same sample; and it follows
    the distribution of colours more closely than a random one.
    """
    if len(pixels) <= most:
        return pixels
    codes = pixels.astype(np.int64) @ [1 << 16, 1 << 8, 1]
    start = seeds.uniform(seed, str(len(pixels)), "discern-subsample")
    places = ((np.arange(most) + start) * (len(pixels) / most)).astype(np.int64)
    chosen = np.sort(codes)[places]
    parts = np.stack([chosen >> 16, chosen >> 8 & 255, chosen & 255], axis=1)
    return np.asarray(parts, np.uint8)


def sw_chroma(person: Image, band: Image, settings: FeatureSettings) -> float:
    """Sliced Wasserstein distance of order 2 between the hues and saturations of pixels.

    Args:
        person: (N, 3); 0 is returned where either is empty.
        band: (M, 3).
        settings: ``samples``, ``projections`` and ``seed``.
    """
    if not (len(person) and len(band)):
        return 0.0
    angles = np.pi * np.arange(settings.projections) / settings.projections
    points = [
        chroma_points(subsample(pixels, settings.samples, settings.seed))
        for pixels in (person, band)
    ]
    return float(
        _pot().sliced_wasserstein_distance(
            *points, p=2, projections=np.stack([np.cos(angles), np.sin(angles)])
        )
    )


def _pot() -> Any:
    # Without these POT imports every array package that is there: seconds, and hundreds of MB.
    for name in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{name}", "1")
    require("ot")
    import ot

    return ot


def edge_iou(light: Floats, region: Region, settings: FeatureSettings) -> float:
    """How far the edges in and around the person are its outline, 0..1.

    Args:
        light: (h, w) L* of the cut-out.
        region: The cut-out. Where the person leaves the image there is no outline.
        settings: Outline and threshold.
    """
    reach = band_width(region.size_px, settings.outline_px, settings.outline_share)
    threshold = max(settings.edge_per_px, settings.edge_per_size / region.size_px)
    outside, inside = _distance(region.mask), _distance(~region.mask)
    around = outside <= reach + 1e-3
    outline = around & (inside <= reach + 1e-3)
    edges = around & (_sobel(light) >= threshold)
    either = np.count_nonzero(edges | outline)
    return np.count_nonzero(edges & outline) / either if either else 0.0


def _distance(mask: Mask) -> NDArray[np.float32]:
    """Distance of each pixel to the mask, in pixels; infinite where the mask is empty."""
    import cv2

    if not mask.any():
        return np.full(mask.shape, np.inf, np.float32)
    free = (~mask).astype(np.uint8)
    return np.asarray(cv2.distanceTransform(free, cv2.DIST_L2, cv2.DIST_MASK_PRECISE))


def _sobel(light: Floats) -> Floats:
    """Size of the gradient by Sobel's operator, in L* per pixel; the image goes on past its edge.

    Opposite neighbours are added before anything else, so that flipping changes no bit.
    """
    wide = np.pad(light, 1, mode="edge")
    smooth_down = (wide[:-2] + wide[2:]) + 2 * wide[1:-1]
    smooth_along = (wide[:, :-2] + wide[:, 2:]) + 2 * wide[:, 1:-1]
    along = smooth_down[:, 2:] - smooth_down[:, :-2]
    down = smooth_along[2:] - smooth_along[:-2]
    return np.asarray(np.sqrt(along**2 + down**2) / 8)


# --- beyond the published ------------------------------------------------------------------------


def mean_signals(image: Image, mask: Mask, settings: FeatureSettings) -> tuple[float, float]:
    """Mean linear luminance of person and band as a share of white; 0 for an empty mask."""
    region = surroundings(mask, settings.band_px, settings.band_share)
    return (0.0, 0.0) if region is None else _means(image[region.place], region)


def _means(cut: Image, region: Region) -> tuple[float, float]:
    """Mean linear luminance, 0..1, of person and band; the person's own where there is no band."""
    light = luminance(_DECODED[cut])
    person = float(light[region.mask].mean())
    return person, float(light[region.band].mean()) if region.band.any() else person


def _weber(image: Image, mask: Mask, cut: Image, light: Floats, region: Region) -> float:
    person, band = _means(cut, region)
    return (person - band) / max(band, _CODE_STEP)  # a black band: half a code value at least


def _michelson(image: Image, mask: Mask, cut: Image, light: Floats, region: Region) -> float:
    person, band = _means(cut, region)
    return (person - band) / (person + band) if person + band > 0 else 0.0


def _csf(image: Image, mask: Mask, cut: Image, light: Floats, region: Region) -> float:
    return visibility_level(image, mask, Viewing())


def _noise(image: Image, mask: Mask, cut: Image, light: Floats, region: Region) -> float:
    """Standard deviation of the noise of L* in the band.

    From the second differences of both directions, which flat and sloping parts do not have
    (Immerkaer, Computer Vision and Image Understanding 64 (1996) 300), by their median: structure
    is rare.
    """
    if min(light.shape) < 3:
        return 0.0
    middle = region.band[1:-1, 1:-1]
    along = (light[:, :-2] + light[:, 2:]) - 2 * light[:, 1:-1]
    both = (along[:-2] + along[2:]) - 2 * along[1:-1]
    inner = both[middle]
    # The operator's weights have a root sum of squares of 6; 0.6745 is the normal's third quartile.
    return float(np.median(np.abs(inner)) / (6 * 0.6744897501960817)) if inner.size else 0.0


_EXTRA_OF_IMAGE: Mapping[str, Callable[[Image, Mask, Image, Floats, Region], float]] = {
    "weber": _weber,
    "michelson": _michelson,
    "csf": _csf,
    "noise": _noise,
}
