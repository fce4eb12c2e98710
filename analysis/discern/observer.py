"""A simulated observer: would someone at a screen tell that there is a person? It is no human.

It stands in for people so that sampling, annotation, features and models can be run and tested
without any. A detection model of contrast and size, in luminance alone:

1. **Display.** A code value becomes luminance: sRGB curve between black and white, plus what the
   screen reflects of the room.
2. **Contrast sensitivity and area summation.** Contrast to the mean of the surround is weighted in
   the frequency domain by Barten's contrast sensitivity for a field as large as the person. Its
   term in the size of the field is the area summation: a smaller person needs more contrast.
3. **Signal.** The silhouette (mean contrast over the mask), and the texture that the person has
   more or less of than as much surround, added as energies. In units of the threshold. Of texture,
   only what exceeds a Weber fraction of the surround's own counts, as in telling contrasts apart.
4. **Clutter** (structure and noise of the surround, weighted likewise) raises the threshold. It is
   not summed over more than a patch: over a larger person it averages out, where signal adds up.
5. **Criterion.** Threshold is where the signal is three times the eye's own noise, which is where
   the criterion stands; the criterion varies from answer to answer, and some answers are slips.

Source of 2: P. G. J. Barten, "Formula for the contrast sensitivity of the human eye", Proc. SPIE
5294 (2004) 231. The factor between laboratory and a task without a known place and form is a field
factor, as the visibility level of W. Adrian, Lighting Research & Technology 21 (1989) 181 has it.
The Weber fraction is that of G. E. Legge and J. M. Foley, J. Opt. Soc. Am. 70 (1980) 1458, squared.
Colour, motion and search over the image are left out. Numbers without a source are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...addon.core import seeds
from ...addon.core.photometry import luminance, srgb_decode
from .region import surroundings

__all__ = [
    "Observer",
    "ObserverError",
    "Viewing",
    "answer",
    "barten_sensitivity",
    "display_luminance",
    "probability_seen",
    "repeat_consistency",
    "visibility_level",
]

K_THRESHOLD = 3.0
"""Signal to noise at the threshold (Barten 1999)."""

_WEBER_ENERGY = 0.5  # contrasts differ noticeably by a fifth to a quarter, energies by a half
_PATCH_DEG = 0.3  # that clutter is summed over
_BAND_SHARE = 0.25
_BAND_MIN_PX = 4
_PAD_DEG = 0.5  # around the person, so that filtering does not wrap

Floats = NDArray[np.float64]
Image = NDArray[np.uint8]
Mask = NDArray[np.bool_]


class ObserverError(ValueError):
    """Viewing conditions or settings of the observer are impossible."""


@dataclass(frozen=True)
class Viewing:
    """Conditions under which an image is looked at, at native device pixels.

    The defaults are a calibrated office screen: 24 inches, 1920x1080, 0.6 m away.

    Attributes:
        distance_m: Eye to screen.
        pixel_pitch_mm: Of the screen.
        white_cd_m2: Luminance of code 255.
        black_cd_m2: Luminance of code 0 in a dark room.
        reflected_cd_m2: What the screen reflects of the room.
    """

    distance_m: float = 0.6
    pixel_pitch_mm: float = 0.277
    white_cd_m2: float = 120.0
    black_cd_m2: float = 0.12
    reflected_cd_m2: float = 0.3

    def __post_init__(self) -> None:
        for name in ("distance_m", "pixel_pitch_mm", "white_cd_m2"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ObserverError(f"viewing {name} is {getattr(self, name)}: more than 0")
        for name in ("black_cd_m2", "reflected_cd_m2"):
            if not 0 <= getattr(self, name) < self.white_cd_m2:
                raise ObserverError(
                    f"viewing {name} is {getattr(self, name)}: 0 up to white ({self.white_cd_m2})"
                )
        if self.black_cd_m2 + self.reflected_cd_m2 == 0:
            raise ObserverError("a screen is never without any light: black or reflected above 0")

    @property
    def px_per_deg(self) -> float:
        """Screen pixels to a degree of visual angle."""
        return 2 * math.tan(math.radians(0.5)) * self.distance_m * 1000 / self.pixel_pitch_mm


@dataclass(frozen=True)
class Observer:
    """How the simulated observer decides.

    Attributes:
        field_factor: By how much a threshold is higher than in the laboratory, where the observer
            knows where and what to look for.
        clutter_weight: How much of the surround's own contrast counts as noise.
        criterion_noise: Standard deviation of the criterion, in units of the eye's noise.
        lapse: Share of answers given without looking.
    """

    field_factor: float = 2.0
    clutter_weight: float = 1.0
    criterion_noise: float = 1.0
    lapse: float = 0.01

    def __post_init__(self) -> None:
        if not (math.isfinite(self.field_factor) and self.field_factor > 0):
            raise ObserverError(f"field_factor is {self.field_factor}: more than 0")
        for name in ("clutter_weight", "criterion_noise"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ObserverError(f"{name} is {getattr(self, name)}: 0 or more")
        if not 0 <= self.lapse < 1:
            raise ObserverError(f"lapse is {self.lapse}: a share, 0 up to 1")


def display_luminance(image: Image, viewing: Viewing) -> Floats:
    """Luminance on the screen in cd/m2 (H, W) of an sRGB image (H, W, 3): red, green, blue."""
    span = viewing.white_cd_m2 - viewing.black_cd_m2
    return np.asarray(
        viewing.black_cd_m2 + viewing.reflected_cd_m2 + span * luminance(_DECODED[image])
    )


_DECODED = srgb_decode(np.arange(256) / 255)


def barten_sensitivity(
    frequency_cpd: ArrayLike, luminance_cd_m2: float, field_deg: float
) -> Floats:
    """Contrast sensitivity (1 / threshold modulation) for gratings seen with both eyes.

    Args:
        frequency_cpd: Cycles per degree, any shape; 0 gives 0.
        luminance_cd_m2: Adaptation luminance.
        field_deg: Side of the square field.

    Source: Barten 2004 (see the module), his formula for a square field at a typical age.
    """
    u2 = np.square(np.asarray(frequency_cpd, float))
    light = max(luminance_cd_m2, 1e-6)
    optics = 5200 * np.exp(-0.0016 * u2 * (1 + 100 / light) ** 0.08)
    spatial = 1 + 144 / field_deg**2 + 0.64 * u2
    with np.errstate(divide="ignore"):
        noise = 63 / light**0.83 + 1 / -np.expm1(-0.02 * u2)
    return np.asarray(optics / np.sqrt(spatial * noise))


def visibility_level(
    image: Image,
    mask: Mask,
    viewing: Viewing | None = None,
    clutter_weight: float = Observer.clutter_weight,
) -> float:
    """How many times its laboratory threshold a person's contrast is; 0 where none is visible.

    Args:
        image: (H, W, 3) sRGB, 8 bits, red, green, blue.
        mask: (H, W), the visible person.
        viewing: How the image is looked at.
        clutter_weight: See :class:`Observer`.
    """
    viewing = viewing or Viewing()
    region = surroundings(mask, _BAND_MIN_PX, _BAND_SHARE)
    if region is None:
        return 0.0
    light = display_luminance(image[region.place], viewing)
    person, band = region.mask, region.band
    around = float(light[band].mean()) if band.any() else float(light.mean())
    inside = light[person]
    area_deg2 = inside.size / viewing.px_per_deg**2
    silhouette = (inside.mean() - around) / around
    field_deg = math.sqrt(area_deg2)
    weigh = _Weighting(person.shape, viewing)
    flat, textured, cluttered = (
        weigh.spectrum(np.where(where, contrast, 0.0), int(where.sum()))
        for where, contrast in (
            (person, silhouette),
            (person, (light - inside.mean()) / around),
            (band, (light - around) / around),
        )
    )
    silhouette2 = weigh(flat, around, field_deg)
    texture2, clutter2 = (weigh(of, around, field_deg) for of in (textured, cluttered))
    texture2 = max(0.0, abs(texture2 - clutter2) - _WEBER_ENERGY * clutter2)
    noise2 = weigh(cluttered, around, min(field_deg, _PATCH_DEG))
    return math.sqrt((silhouette2 + texture2) / (1 + clutter_weight**2 * noise2))


class _Weighting:
    """Mean squared contrast, weighted by the eye's sensitivity, in thresholds of a grating."""

    def __init__(self, shape: tuple[int, ...], viewing: Viewing):
        from scipy.fft import next_fast_len

        pad = math.ceil(_PAD_DEG * viewing.px_per_deg)
        self._shape = tuple(next_fast_len(side + pad, real=True) for side in shape)
        down = np.fft.fftfreq(self._shape[0])[:, None] * viewing.px_per_deg
        along = np.fft.rfftfreq(self._shape[1])[None] * viewing.px_per_deg
        self._frequency_cpd = np.hypot(down, along)

    def spectrum(self, contrast: Floats, pixels: int) -> Floats:
        """The power of a contrast that so many pixels have, per frequency."""
        from scipy.fft import rfft2

        found = rfft2(contrast, self._shape)
        power = found.real**2 + found.imag**2
        # Of a real image only half the spectrum is computed: its other columns count twice.
        power[:, 1 : -1 if self._shape[1] % 2 == 0 else None] *= 2
        # Parseval; a grating of modulation m has mean square m^2 / 2.
        return np.asarray(2 * power / math.prod(self._shape) / max(1, pixels))

    def __call__(self, power: Floats, light_cd_m2: float, field_deg: float) -> float:
        """The weighted sum over frequencies."""
        gain = barten_sensitivity(self._frequency_cpd, light_cd_m2, field_deg)
        return float((gain**2 * power).sum())


def probability_seen(level: float, observer: Observer | None = None) -> float:
    """Probability of the answer "visible" at a visibility level; 0 stands for nobody there."""
    observer = observer or Observer()
    distance = K_THRESHOLD * (level / observer.field_factor - 1)
    seen = 0.5 * math.erfc(-distance / math.sqrt(2 * (1 + observer.criterion_noise**2)))
    return float(observer.lapse / 2 + (1 - observer.lapse) * seen)


def answer(probability: float, key: tuple[str, str], repetition: int = 0, seed: int = 0) -> bool:
    """The answer to one showing of an image: visible or not.

    Args:
        probability: Of "visible".
        key: (id, variant) of the image.
        repetition: Which showing; each is drawn anew.
        seed: Another one is another observer of the same kind.
    """
    stage = f"observer-{key[1]}-{repetition}"
    return seeds.uniform(seed, key[0], stage) < probability


def repeat_consistency(probability: ArrayLike) -> float:
    """The share of images at which two showings are answered alike: mean of p^2 + (1 - p)^2."""
    p = np.asarray(probability, float)
    return float(np.mean(p**2 + (1 - p) ** 2))
