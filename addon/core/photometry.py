"""Lux, luminance, exposure metering and the view transform: the only place for either.

Images are linear Rec. 709 in cd/m2 as composed from the light stack. A camera with a shutter time,
an f-number and a sensitivity maps them to sensor signals, 1.0 at saturation, and the sRGB curve
maps those to 8 bits.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "METERING_TARGET",
    "SHUTTER_MIN_S",
    "expose",
    "illuminance_text",
    "luminance",
    "meter",
    "plate_illuminance",
    "plate_luminance",
    "read_illuminance_lx",
    "saturation_luminance",
    "srgb_decode",
    "srgb_encode",
    "to_srgb8",
]

FloatArray = NDArray[np.floating[Any]]

METERING_TARGET = 0.18
"""Mean signal that metering aims at, as a share of saturation: middle grey."""

SHUTTER_MIN_S = 1 / 50_000
"""The shortest shutter time of the published camera."""

# ISO 12232:2019: saturation-based speed S = 78 / H_sat, H in lux seconds; focal-plane exposure
# H = q L t / N^2 with q = 0.65 for a typical lens (transmission, vignetting, angle).
_SPEED_CONSTANT = 78.0
_LENS_CONSTANT = 0.65

_REC709 = (0.2126, 0.7152, 0.0722)  # ITU-R BT.709: luminance of the primaries

_BUCKET_SHIFT = 14  # float32 bits dropped: buckets of 1/512 of a power of two
_BLOCK = 1 << 16  # pixels at a time: what a processor's cache holds


def luminance(rgb: ArrayLike) -> FloatArray:
    """Return the luminance (...) of linear Rec. 709 (..., 3), in the unit of the input."""
    image = np.asarray(rgb)
    weights = np.array(_REC709, image.dtype if image.dtype.kind == "f" else float)
    return np.asarray(image @ weights)


def plate_luminance(illuminance_lx: float, reflectance: float = 1.0) -> float:
    """Return the luminance in cd/m2 of a matt (Lambertian) plate: E rho / pi."""
    return illuminance_lx * reflectance / math.pi


def plate_illuminance(luminance_cd_m2: float, reflectance: float = 1.0) -> float:
    """Return the illuminance in lux of a matt plate of a luminance: L pi / rho."""
    return luminance_cd_m2 * math.pi / reflectance


def saturation_luminance(exposure_s: float, fnumber: float, iso: float) -> float:
    """Return the luminance in cd/m2 that just saturates the sensor: 78 N^2 / (0.65 S t).

    Source: ISO 12232, saturation-based speed.
    """
    return _SPEED_CONSTANT * fnumber**2 / (_LENS_CONSTANT * iso * exposure_s)


def meter(
    luminance_cd_m2: ArrayLike,
    fnumber: float,
    iso: float,
    *,
    shutter_limit_s: float,
    shutter_min_s: float = SHUTTER_MIN_S,
    target: float = METERING_TARGET,
) -> float:
    """Return the shutter time in seconds that an image is taken with.

    The time at which the mean signal of all pixels is ``target`` of saturation, where a pixel
    counts as what the sensor records of it: brighter than saturation is saturation. So a lamp or a
    strip of sky counts at most by its area. Held between the shortest time and the shutter limit:
    at night the limit is reached and the image is dark.

    Args:
        luminance_cd_m2: Luminance of the pixels, of any shape, or the mean alone.
        fnumber: Focal length / aperture.
        iso: Sensitivity at base gain.
        shutter_limit_s: The longest time.
        shutter_min_s: The shortest time.
        target: Mean signal aimed at, between 0 and 1.

    Raises:
        ValueError: There are no pixels, or a luminance is negative or no finite number.
    """
    pixels = np.asarray(luminance_cd_m2, float).ravel()
    low, high = (pixels.min(), pixels.max()) if pixels.size else (np.nan, np.nan)
    if not (low >= 0 and np.isfinite(high)):
        raise ValueError(
            f"cannot meter {pixels.size} pixels from {low:g} to {high:g} cd/m2: "
            "luminances are finite and not negative"
        )
    limit_signal = pixels / saturation_luminance(shutter_limit_s, fnumber, iso)
    if np.minimum(limit_signal, 1).mean() <= target:
        return shutter_limit_s
    # The mean signal is concave in time and linear between saturating pixels, so Newton's steps
    # from the left end on the root exactly, after a few.
    share = 0.0
    bright, summed = 0, float(limit_signal.sum())
    while True:
        step = (target * pixels.size - bright) / summed
        if not step > share:  # nor is NaN
            break
        share = step
        clipped = limit_signal * share >= 1
        bright, summed = int(clipped.sum()), float(limit_signal[~clipped].sum())
    return max(shutter_min_s, share * shutter_limit_s)


def expose(image_cd_m2: ArrayLike, exposure_s: float, fnumber: float, iso: float) -> FloatArray:
    """Return the linear sensor signal of an image: 1.0 saturates, more is kept."""
    image = np.asarray(image_cd_m2)
    return np.asarray(image / saturation_luminance(exposure_s, fnumber, iso))


def srgb_encode(linear: ArrayLike) -> NDArray[np.float64]:
    """Return the sRGB value of a linear value in 0..1 (IEC 61966-2-1); more is not clipped.

    Negative values are mirrored: they give minus the value of their magnitude.
    """
    x = np.asarray(linear, float)
    size = np.abs(x)
    power = 1.055 * size ** (1 / 2.4) - 0.055
    return np.asarray(np.copysign(np.where(size <= 0.0031308, 12.92 * size, power), x))


def srgb_decode(encoded: ArrayLike) -> NDArray[np.float64]:
    """Return the linear value of an sRGB value in 0..1 (IEC 61966-2-1), mirrored for negatives."""
    x = np.asarray(encoded, float)
    size = np.abs(x)
    power = ((size + 0.055) / 1.055) ** 2.4
    return np.asarray(np.copysign(np.where(size <= 0.04045, size / 12.92, power), x))


def to_srgb8(linear: ArrayLike) -> NDArray[np.uint8]:
    """Return linear values in 0..1 as 8-bit sRGB: clipped, encoded, half a step rounded up.

    Computed in single precision, as images are: exactly ``floor(255 srgb_encode(x) + 0.5)`` of
    the float32 value x.

    Raises:
        ValueError: A value is not a number.
    """
    image = np.asarray(linear, np.float32, order="C")
    if np.isnan(image).any():
        raise ValueError("cannot encode an image with NaN pixels: find out where they come from")
    codes = np.empty(image.shape, np.uint8)
    pixels, out = image.reshape(-1), codes.reshape(-1)
    for start in range(0, pixels.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        x = np.clip(pixels[part], 0, 1) + np.float32(0)  # no negative zero: its bits are no bucket
        buckets = (x.view(np.uint32) >> _BUCKET_SHIFT).astype(np.intp)
        code = _BUCKET_CODES.take(buckets, mode="clip")
        # A bucket holds at most one step between codes.
        code += x >= _NEXT_CODE_FROM.take(code, mode="clip")
        out[part] = code
    return codes


def _code_tables() -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the 8-bit code at the lower end of each bucket of float32 bits, and where codes end.

    The second table holds, for each code, the least float32 that has a greater one.
    """
    steps = srgb_decode((np.arange(255) + 0.5) / 255)
    from_value = steps.astype(np.float32)
    from_value = np.where(from_value < steps, np.nextafter(from_value, np.float32(2)), from_value)
    ends = np.append(from_value, np.float32(np.inf)).astype(np.float32)
    buckets = np.arange((np.float32(1).view(np.uint32) >> _BUCKET_SHIFT) + 1, dtype=np.uint32)
    lower = (buckets << _BUCKET_SHIFT).view(np.float32)
    return np.searchsorted(from_value, lower, side="right").astype(np.uint8), ends


_BUCKET_CODES, _NEXT_CODE_FROM = _code_tables()


def illuminance_text(illuminance_lx: float, figures: int = 3) -> str:
    """Return an illuminance as it is read: ``90,000 lx``, ``8 lx``, ``0.065 lx``.

    Args:
        illuminance_lx: In lux, above 0.
        figures: How many significant figures are told.
    """
    value = float(f"{illuminance_lx:.{figures}g}")
    decimals = max(0, figures - 1 - math.floor(math.log10(value)))
    text = f"{value:,.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if decimals else text} lx"


def read_illuminance_lx(text: str) -> float:
    """Return the illuminance that a text says: ``90,000 lx``, ``1e4`` or ``0.3``, in lux.

    Raises:
        ValueError: It says none, or none above 0.
    """
    value = float(text.strip().lower().removesuffix("lx").replace(",", "").strip())
    if not 0 < value < math.inf:
        raise ValueError(f"an illuminance is above 0 lx, not {text}")
    return value
