"""Night vision of photographs: the ISP on what a camera has already made a picture of.

A photograph is no raw image. Its sRGB values are made linear and put on a sensor's mosaic, so that
the ISP finds what it expects: gain, denoising and tone mapping then do to it what they do to a
simulated recording. The noise that the denoiser counts on is the sensor model's at that signal;
the photograph's own was changed by its camera, nobody knows how.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...addon.core.dataset import Dataset
from ...addon.core.photometry import luminance, srgb_decode
from ...addon.core.study import CameraSetup, Study
from ..images import read_image
from .sensor import RawImage, SensorModel, load_sensor_models, white_balance
from .settings import DevelopChoiceError, DevelopError

__all__ = ["photographic_study", "photographic_variants", "raw_of_photograph"]

# Nobody knows them; only the dark current that the denoiser counts on depends on the time.
_EXPOSURE_S = 0.04
_FNUMBER = 1.4
_SITES = (((0, 0),), ((0, 1), (1, 0)), ((1, 1),))
_DECODED = srgb_decode(np.arange(256) / 255).astype(np.float32)


def photographic_study(dataset: Dataset) -> Study:
    """Return a study that stands for an unknown camera, with the first colour sensor's pixels.

    Development asks it for a seed and for the size of a pixel, and for nothing else.
    """
    model = next(m for m in load_sensor_models().values() if m.filter != "mono")
    cameras = [view["camera"] for view in dataset.views.values()]
    width = max(camera["width"] for camera in cameras)
    height = max(camera["height"] for camera in cameras)
    pitch_mm = model.pixel_pitch_um / 1000
    camera = CameraSetup(
        sensor="photograph",
        sensor_width_mm=width * pitch_mm,
        sensor_height_mm=height * pitch_mm,
        lens_mm=1.0,
        fnumber=_FNUMBER,
        resolution=(width, height),
        distances_m=(),
        azimuths_deg=(),
        elevations_deg=(),
    )
    return Study("photographs", "visibility", 0, camera, (), (), (), ())


def photographic_variants(
    variants: Sequence[str], lens: str | None, motion_px_s: tuple[float, float] | None
) -> tuple[str, ...]:
    """Return the variants that a photograph can get: it is what a camera recorded already.

    Raises:
        DevelopChoiceError: Only ``camera`` is asked for, or a lens or motion.
    """
    if lens is not None or motion_px_s is not None:
        raise DevelopChoiceError("a photograph went through its lens already: no lens, no motion")
    left = tuple(name for name in variants if name != "camera")
    if not left:
        raise DevelopChoiceError(
            "a photograph is its own 'camera' image: --variant nv develops night vision of it"
        )
    return left


def raw_of_photograph(root: Path, media_id: str, model: SensorModel) -> RawImage:
    """Return the raw image that a sensor would have had to deliver for this picture.

    No noise is added. A picture of odd size loses nothing: the mosaic may end in the middle of a
    cell.

    Raises:
        DevelopError: The picture is missing or damaged.
    """
    image = read_image(root / f"media/clean/{media_id}.png")
    if image is None:
        raise DevelopError("the picture is missing or damaged")
    linear = _DECODED[image[..., ::-1]]
    balance = white_balance(model)
    if model.filter == "mono":
        signal = luminance(linear).astype(np.float32)
    else:
        signal = np.empty(linear.shape[:2], np.float32)
        for channel, sites in enumerate(_SITES):
            for y, x in sites:
                signal[y::2, x::2] = linear[y::2, x::2, channel] / np.float32(balance[channel])
    black_dn = model.black_level_dn + model.gain_dn_per_e * model.dark_current_e_s * _EXPOSURE_S
    dn = signal * np.float32(model.saturation_e * model.gain_dn_per_e) + np.float32(black_dn)
    counted = np.clip(np.rint(dn), 0, model.max_dn).astype(np.uint16)
    return RawImage(counted, model, _EXPOSURE_S, _FNUMBER, balance, black_dn)
