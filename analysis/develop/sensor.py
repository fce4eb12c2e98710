"""What a camera's sensor records of a scene: photons, electrons, digital numbers.

The linear model of EMVA 1288 (release 4.0), in its order: light reaches a pixel through the lens,
photons become electrons with the quantum efficiency of the pixel's colour, Poisson distributed
together with the dark current; the pixel saturates; read noise and the fixed offset are added;
then gain, black level, rounding. ``docs/sensor.md`` holds the photon budget and what is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...addon.core.photometry import luminance, saturation_luminance
from ...addon.core.seeds import generator
from . import lens
from .presets import read_presets, read_toml

__all__ = [
    "SPECTRA",
    "TRANSMISSION",
    "RawImage",
    "SensorError",
    "SensorModel",
    "demosaic",
    "expose_raw",
    "fixed_pattern",
    "load_sensor_models",
    "noise_model",
    "photons_per_lux_s_m2",
    "photons_per_pixel",
    "saturation_iso",
    "to_electrons",
    "white_balance",
]

FloatArray = NDArray[np.float32]

SPECTRA = ("daylight", "555nm", "850nm")
"""Kinds of light. At 850 nm, where the eye sees nothing, 1 lx stands for 1/683 W/m2 and 1 cd/m2 for
1/683 W/(m2 sr)."""

TRANSMISSION = 0.90 * 0.98 * math.cos(math.radians(10)) ** 4
"""What a lens lets through: ISO 12232's 0.90 on its axis, times the 0.98 (vignetting) and cos^4 of
10 degrees by which that standard stands for the whole field; the same 0.65 = pi/4 x 0.83 that
``photometry`` exposes with."""

_AXIAL_TRANSMISSION = 0.90

_LUMENS_PER_WATT = 683.002  # at 555 nm, where V = 1 (SI definition of the candela)
_PLANCK_J_S = 6.62607015e-34
_LIGHT_M_S = 299_792_458

_CHANNELS = {"bayer-rggb": 3, "mono": 1}

# What a sensor can have, with room: beyond, single precision and the generator of noise give out.
_RANGES = {
    "pixel_pitch_um": (0.1, 1000.0),
    "full_well_e": (1.0, 1e8),
    "read_noise_e": (0.0, 1e5),
    "dark_current_e_s": (0.0, 1e8),
    "prnu": (0.0, 1.0),
    "dsnu_e": (0.0, 1e5),
    "gain_dn_per_e": (1e-5, 1e5),
    "black_level_dn": (0.0, math.inf),
}
_EFFICIENCY = (1e-4, 1.0)
_DATA = Path(__file__).parent / "sensors.toml"


class SensorError(ValueError):
    """A sensor that cannot be; the message says which, where and what is allowed."""


@dataclass(frozen=True)
class SensorModel:
    """A sensor in the terms of EMVA 1288.

    Attributes:
        name: Its key in ``sensors.toml``.
        pixel_pitch_um: Side of a pixel; all of it gathers light.
        bit_depth: Bits of a digital number, 8 to 16.
        full_well_e: Electrons that saturate a pixel at base gain.
        read_noise_e: Temporal noise in the dark, standard deviation.
        dark_current_e_s: Electrons per second without light.
        prnu: Standard deviation of the pixels' sensitivity, as a share of it.
        dsnu_e: Standard deviation of the pixels' offset.
        quantum_efficiency: (red, green, blue), or one; electrons per photon under ``spectrum``.
        gain_dn_per_e: Digital numbers per electron at base gain.
        black_level_dn: Digital number of no electrons.
        filter: ``bayer-rggb`` (the first pixel of an image is red) or ``mono``.
        source: Where the numbers are from.
        spectrum: The light that the quantum efficiency holds for, one of ``SPECTRA``.

    Raises:
        SensorError: A value is impossible.
    """

    name: str
    pixel_pitch_um: float
    bit_depth: int
    full_well_e: float
    read_noise_e: float
    dark_current_e_s: float
    prnu: float
    dsnu_e: float
    quantum_efficiency: tuple[float, ...]
    gain_dn_per_e: float
    black_level_dn: float
    filter: str
    source: str
    spectrum: str = "daylight"

    def __post_init__(self) -> None:
        if type(self.bit_depth) is not int or not 8 <= self.bit_depth <= 16:
            self._refuse("bit_depth", "a whole number from 8 to 16 is allowed")
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                self._refuse(name, f"{low:g} to {high:g} is allowed")
        if self.black_level_dn > self.max_dn / 2:
            self._refuse("black_level_dn", f"at most half of the greatest number, {self.max_dn}")
        if not self.saturation_e >= 1:
            self._refuse("gain_dn_per_e", "a single electron would saturate the pixel")
        if self.filter not in _CHANNELS:
            self._refuse("filter", f"one of {', '.join(_CHANNELS)} is allowed")
        efficiency, (least, most) = self.quantum_efficiency, _EFFICIENCY
        if len(efficiency) != _CHANNELS[self.filter] or not all(
            least <= each <= most for each in efficiency
        ):
            self._refuse(
                "quantum_efficiency",
                f"{self.filter} takes {_CHANNELS[self.filter]}, each from {least:g} to {most:g}",
            )
        if self.spectrum not in SPECTRA:
            self._refuse("spectrum", f"one of {', '.join(SPECTRA)} is allowed")

    @property
    def max_dn(self) -> int:
        """The greatest digital number."""
        return (1 << self.bit_depth) - 1

    @property
    def saturation_e(self) -> float:
        """Electrons that saturate the signal: the pixel, or the converter before it."""
        converter_e = (self.max_dn - self.black_level_dn) / self.gain_dn_per_e
        return min(self.full_well_e, converter_e)

    def _refuse(self, name: str, allowed: str) -> None:
        raise SensorError(f"sensor {self.name!r}: {name} is {getattr(self, name)}: {allowed}")


@dataclass(frozen=True, eq=False)
class RawImage:
    """One exposure as a sensor delivers it.

    Attributes:
        dn: (H, W) uint16 digital numbers, a mosaic whose first pixel is red, or monochrome.
        model: The sensor.
        exposure_s: Shutter time.
        fnumber: Focal length / aperture.
        white_balance: (3,) factors of red, green, blue that make D65 grey neutral; green is 1.
        black_dn: Digital number of no light: black level and mean dark current, as a sensor's
            covered rows show it.
    """

    dn: NDArray[np.uint16]
    model: SensorModel
    exposure_s: float
    fnumber: float
    white_balance: tuple[float, float, float]
    black_dn: float


def load_sensor_models(path: Path | None = None) -> dict[str, SensorModel]:
    """Return name -> sensor model from a file (by default the embedded one), in its order.

    Raises:
        SensorError: The file cannot be read or holds a wrong or unknown value.
    """
    return dict(_models(path or _DATA))


@lru_cache
def _models(path: Path) -> tuple[tuple[str, SensorModel], ...]:
    return tuple(read_presets(path, "sensor", SensorModel, SensorError).items())


@lru_cache
def photons_per_lux_s_m2(spectrum: str = "daylight") -> float:
    """Return how many photons one lux brings to a square metre in a second.

    Daylight counts the photons from 400 to 700 nm of CIE D65 (trapezoidal rule in 10 nm steps,
    0.05 % from the CIE's finer tables): 1.085e16, against 4.091e15 at 555 nm.

    Raises:
        ValueError: There is no such spectrum.
    """
    if spectrum not in SPECTRA:
        raise ValueError(f"no spectrum {spectrum!r}: one of {', '.join(SPECTRA)} is allowed")
    if spectrum != "daylight":
        wavelength_m = float(spectrum.removesuffix("nm")) * 1e-9
        return wavelength_m / (_PLANCK_J_S * _LIGHT_M_S * _LUMENS_PER_WATT)
    table = _curves()
    power = np.array(table["d65"])
    wavelength_m = (table["first_nm"] + table["step_nm"] * np.arange(power.size)) * 1e-9
    ends = np.r_[0.5, np.ones(power.size - 2), 0.5]  # steps of equal width cancel
    photons = np.sum(ends * power * wavelength_m) / (_PLANCK_J_S * _LIGHT_M_S)
    return float(photons / (_LUMENS_PER_WATT * np.sum(ends * power * np.array(table["v"]))))


def photons_per_pixel(
    luminance_cd_m2: ArrayLike,
    exposure_s: float,
    fnumber: float,
    pixel_pitch_um: float,
    transmission: float = TRANSMISSION,
    spectrum: str = "daylight",
) -> NDArray[np.floating[Any]]:
    """Return the mean number of photons that reach a pixel, in the shape of the luminance.

    The illuminance behind a lens focused far away is pi/4 x L x transmission / N^2 [lux]; times
    the time, the pixel's area and the photons per lux of the spectrum.

    Args:
        luminance_cd_m2: Luminance of what the pixel sees.
        exposure_s: Shutter time.
        fnumber: Focal length / aperture.
        pixel_pitch_um: Side of the pixel.
        transmission: Share of the light that the lens lets through.
        spectrum: One of ``SPECTRA``; daylight counts the photons from 400 to 700 nm.

    Raises:
        ValueError: The exposure or f-number is not positive, or there is no such spectrum.
    """
    if not (0 < exposure_s < math.inf and 0 < fnumber < math.inf):
        raise ValueError(
            f"cannot expose for {exposure_s} s at f/{fnumber}: both are greater than 0"
        )
    lux_per_luminance = math.pi / 4 * transmission / fnumber**2
    area_m2 = (pixel_pitch_um * 1e-6) ** 2
    photons = lux_per_luminance * exposure_s * area_m2 * photons_per_lux_s_m2(spectrum)
    return np.asarray(luminance_cd_m2) * photons


def saturation_iso(model: SensorModel) -> float:
    """Return the sensitivity at base gain: the ISO at which ``photometry`` saturates as it does.

    The saturation-based speed of ISO 12232, of the channel that saturates first (green).
    """
    electrons = max(model.quantum_efficiency) * photons_per_pixel(
        1.0, 1.0, 1.0, model.pixel_pitch_um, spectrum=model.spectrum
    )
    return float(saturation_luminance(1.0, 1.0, 1.0) * electrons / model.saturation_e)


def expose_raw(
    image_cd_m2: ArrayLike,
    exposure_s: float,
    fnumber: float,
    model: SensorModel,
    *,
    seed: int,
    image_id: str,
    focal_px: float | None = None,
    sensor_px: tuple[int, int] | None = None,
) -> RawImage:
    """Return what a sensor records of a scene-linear image.

    A channel of a colour sensor sees the same channel of the image, scaled so that D65 grey gives
    its quantum efficiency times the photons of that luminance; a monochrome sensor sees luminance.
    Noise is drawn from (seed, image_id), the fixed patterns from (seed, name of the model): an
    image alone is the same as in a full run, and the patterns are the same in every image.

    Args:
        image_cd_m2: (H, W, 3) linear Rec. 709 in cd/m2, from 0.
        exposure_s: Shutter time, greater than 0.
        fnumber: Focal length / aperture, greater than 0.
        model: The sensor.
        seed: The study's; it is also the camera's.
        image_id: What the noise belongs to, as a media id.
        focal_px: Focal length in pixels: the lens then loses cos^4 of the angle off its axis, the
            middle of the image. Without it the field is even, at ISO 12232's mean.
        sensor_px: (width, height) of the whole sensor, of which the image is the middle; without
            it the image is the whole sensor.

    Raises:
        ValueError: The image has another shape or holds what is no luminance, or a number is out of
            its range.
    """
    image = np.asarray(image_cd_m2, np.float32)
    if image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
        raise ValueError(f"an image of shape {image.shape} cannot be exposed: it is (H, W, 3)")
    if not (image.min() >= 0 and image.max() < np.inf):
        raise ValueError(
            f"cannot expose luminances from {image.min():g} to {image.max():g} cd/m2: "
            "they are finite and not negative"
        )
    electrons = _mean_electrons(image, exposure_s, fnumber, model, focal_px)
    height, width = electrons.shape
    sensitivity, offset_e = _window_of_pattern(model, seed, (width, height), sensor_px)

    electrons *= sensitivity
    electrons += np.float32(model.dark_current_e_s * exposure_s)
    # Twice the full well saturates for certain, and keeps a sun's disc out of the generator.
    np.clip(electrons, 0, np.float32(2 * model.full_well_e + 1000), out=electrons)
    charge = generator(seed, image_id, "sensor-photons").poisson(electrons)
    signal = charge.astype(np.float32)
    np.minimum(signal, np.float32(model.full_well_e), out=signal)

    noise = generator(seed, image_id, "sensor-read").standard_normal(signal.shape, np.float32)
    noise *= np.float32(model.read_noise_e)
    signal += noise
    signal += offset_e
    signal *= np.float32(model.gain_dn_per_e)
    signal += np.float32(model.black_level_dn)
    np.rint(signal, out=signal)
    dn = np.clip(signal, 0, model.max_dn, out=signal).astype(np.uint16)

    dark_dn = model.gain_dn_per_e * model.dark_current_e_s * exposure_s
    return RawImage(
        dn, model, exposure_s, fnumber, white_balance(model), model.black_level_dn + dark_dn
    )


def fixed_pattern(
    model: SensorModel, seed: int, sensor_px: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Return the (H, W) sensitivity, mean 1, and offset in electrons, mean 0, of every pixel.

    Both are white and normal, drawn from (seed, name of the model) alone.
    """
    width, height = sensor_px
    patterns = []
    for stage, mean, spread in (("sensor-prnu", 1, model.prnu), ("sensor-dsnu", 0, model.dsnu_e)):
        pattern = generator(seed, model.name, stage).standard_normal((height, width), np.float32)
        pattern *= np.float32(spread)
        pattern += np.float32(mean)
        pattern.setflags(write=False)
        patterns.append(pattern)
    return patterns[0], patterns[1]


def to_electrons(raw: RawImage) -> FloatArray:
    """Return the (H, W) mosaic in electrons of light: black subtracted, divided by the gain.

    Noise around black makes values negative; they stay, so that means are true.
    """
    signal = raw.dn.astype(np.float32)
    signal -= np.float32(raw.black_dn)
    signal /= np.float32(raw.model.gain_dn_per_e)
    return signal


def noise_model(raw: RawImage) -> tuple[float, float]:
    """Return (gain, read_sigma), both in DN, of the noise in the mosaic.

    A pixel whose digital number lies on average ``s`` above ``black_dn`` has the variance
    ``gain s + read_sigma^2``: photon noise, and read noise, dark current, offsets and rounding.
    The spread of sensitivity adds (prnu s)^2, which is left out: a twentieth of the photon noise's
    variance at a tenth of saturation, up to a half next to it.
    """
    model = raw.model
    gain = model.gain_dn_per_e
    electrons = model.read_noise_e**2 + model.dsnu_e**2 + model.dark_current_e_s * raw.exposure_s
    return gain, math.sqrt(gain**2 * electrons + 1 / 12)


def demosaic(raw: RawImage, method: Literal["edge-aware", "bilinear"] = "edge-aware") -> FloatArray:
    """Return the (H, W, 3) linear image: black subtracted, white-balanced, 1.0 = saturation.

    Noise around black stays negative. What saturates in any channel after white balance is cut at
    1, so that it is white rather than pink. A monochrome image has three equal channels.

    Args:
        raw: The exposure.
        method: OpenCV's edge-aware interpolation, or its bilinear one, which is linear: noise
            stays zero-mean and independent of edges.
    """
    model = raw.model
    if model.filter == "mono":
        signal = np.repeat(raw.dn.astype(np.float32)[..., None], 3, axis=2)
    else:
        code = cv2.COLOR_BayerRGGB2RGB_EA if method == "edge-aware" else cv2.COLOR_BayerRGGB2RGB
        # Interpolated in 16 bit, so that averages keep fractions of a digital number; two pixels of
        # mirrored border keep the mosaic's phase.
        fraction_bits = 16 - model.bit_depth
        mosaic = cv2.copyMakeBorder(raw.dn << fraction_bits, 2, 2, 2, 2, cv2.BORDER_REFLECT_101)
        signal = cv2.cvtColor(mosaic, code)[2:-2, 2:-2].astype(np.float32)
        signal *= np.float32(1 / (1 << fraction_bits))
    signal -= np.float32(raw.black_dn)
    signal *= np.array(raw.white_balance, np.float32) / np.float32(
        model.gain_dn_per_e * model.saturation_e
    )
    return np.minimum(signal, 1, out=signal)


def _mean_electrons(
    image: FloatArray,
    exposure_s: float,
    fnumber: float,
    model: SensorModel,
    focal_px: float | None,
) -> FloatArray:
    """Return the (H, W) mean number of photoelectrons of each pixel."""
    transmission = TRANSMISSION if focal_px is None else _AXIAL_TRANSMISSION
    per_luminance = photons_per_pixel(
        1.0, exposure_s, fnumber, model.pixel_pitch_um, transmission, model.spectrum
    )
    rates = [np.float32(per_luminance * q) for q in model.quantum_efficiency]
    if model.filter == "mono":
        electrons: FloatArray = luminance(image).astype(np.float32)
        electrons *= rates[0]
    else:
        electrons = np.empty(image.shape[:2], np.float32)
        for row, column, channel in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 2)):
            sites = np.s_[row::2, column::2]
            np.multiply(image[..., channel][sites], rates[channel], out=electrons[sites])
    if focal_px is not None:
        height, width = electrons.shape
        electrons *= lens.falloff(width, height, focal_px)
    return electrons


def _window_of_pattern(
    model: SensorModel, seed: int, image_px: tuple[int, int], sensor_px: tuple[int, int] | None
) -> tuple[FloatArray, FloatArray]:
    """Return the middle of the sensor's fixed patterns."""
    sensor = image_px if sensor_px is None else sensor_px
    if sensor[0] < image_px[0] or sensor[1] < image_px[1]:
        raise ValueError(
            f"an image of {image_px[0]}x{image_px[1]} pixels is no part of a sensor with "
            f"{sensor[0]}x{sensor[1]}: give the whole sensor's pixels"
        )
    left, top = ((whole - part) // 2 for whole, part in zip(sensor, image_px, strict=True))
    window = np.s_[top : top + image_px[1], left : left + image_px[0]]
    sensitivity, offset_e = _cached_pattern(model, seed, sensor)
    return sensitivity[window], offset_e[window]


# A run exposes thousands of images with one sensor.
_cached_pattern = lru_cache(maxsize=2)(fixed_pattern)


def white_balance(model: SensorModel) -> tuple[float, float, float]:
    """Return the factors of red, green and blue that make D65 grey neutral; green is 1."""
    if model.filter == "mono":
        return 1.0, 1.0, 1.0
    red, green, blue = model.quantum_efficiency
    return green / red, 1.0, green / blue


@lru_cache
def _curves() -> dict[str, Any]:
    return dict(read_toml(_DATA, SensorError)["daylight"])
