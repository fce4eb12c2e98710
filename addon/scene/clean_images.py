"""The clean images of a view, developed from its light: of a background once, then what changes.

All views of a plate show the same background under the same lighting, exposed alike: it is
developed once, and again only in the box in which a person changes it.
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..core import photometry, relight
from ..core.image_io import LayerImage
from ..core.lighting import Lighting
from ..core.sky import seen_sky
from ..core.study import CameraSetup
from .stack import Background, Plate

__all__ = ["CleanImages", "clean_image", "metered_exposure_s"]


def metered_exposure_s(metered: relight.Stack, item: Lighting, setup: CameraSetup) -> float:
    """Return the shutter time that a study's camera chooses for what it meters."""
    return _meter(relight.compose(metered, item), setup)


def clean_image(
    light: relight.Stack, item: Lighting, exposure_s: float, setup: CameraSetup
) -> NDArray[np.uint8]:
    """Return the clean image (H, W, 3), sRGB, of a view under a lighting."""
    return _developed(relight.compose(light, item), exposure_s, setup)


class CleanImages:
    """The clean images of a view."""

    def __init__(
        self,
        plate: Plate | None,
        crops: Mapping[str, LayerImage],
        directions: NDArray[np.float32],
        setup: CameraSetup,
    ) -> None:
        """Take a view's light.

        Args:
            plate: Its background, None where the crops show all of it (method ``exact``).
            crops: Layer name -> image of what a person changes, or of all.
            directions: (H, W, 3), see :func:`~..core.relight.pixel_directions`.
            setup: The study's camera.
        """
        self._plate = plate
        self._crops = crops
        self._directions = directions
        self._setup = setup
        self._backgrounds = {} if plate is None else plate.backgrounds

    def exposure_s(self, item: Lighting) -> float:
        """Return the shutter time under a lighting; where there is a plate, one for all its views.

        Metered without the person: the brightness of the ground must not tell who stands on it.
        """
        return self._background(item).exposure_s

    def image(self, item: Lighting) -> NDArray[np.uint8]:
        """Return the clean image (H, W, 3), sRGB, under a lighting."""
        background = self._background(item)
        box = relight.changed_box(self._crops, item, self._directions.shape[:2])
        if self._plate is None or box is None:
            return background.image
        x, y, width, height = box
        part = (slice(y, y + height), slice(x, x + width))
        light = relight.stack_in_box(self._plate.layers, self._crops, self._directions, item, box)
        sky = None
        if background.sky is not None:
            sky = background.sky[part]
        elif (light.alpha < 1).any():  # an edge that the background has not
            sky = seen_sky(item, self._directions)[part]
        pixels = relight.compose(light, item, sky)
        image = background.image.copy()
        image[part] = _developed(pixels, background.exposure_s, self._setup)
        return image

    def _background(self, item: Lighting) -> Background:
        """Return the background, or all there is without one, under a lighting."""
        setup = self._setup
        key = (item, setup.fnumber, setup.iso, setup.shutter_limit_s)
        if key not in self._backgrounds:
            light = self._light
            sky = seen_sky(item, self._directions) if (light.alpha < 1).any() else None
            pixels = relight.compose(light, item, sky)
            exposure_s = _meter(pixels, setup)
            kept = None if self._plate is None else sky
            developed = _developed(pixels, exposure_s, setup)
            self._backgrounds[key] = Background(exposure_s, developed, kept)
        return self._backgrounds[key]

    @cached_property
    def _light(self) -> relight.Stack:
        if self._plate is None:
            return relight.stack_from_layers(None, self._crops, self._directions)
        return relight.stack_from_layers(self._plate.layers, {}, self._directions)


def _meter(pixels_cd_m2: NDArray[np.float32], setup: CameraSetup) -> float:
    return photometry.meter(
        photometry.luminance(pixels_cd_m2),
        fnumber=setup.fnumber,
        iso=setup.iso,
        shutter_limit_s=setup.shutter_limit_s,
    )


def _developed(
    pixels_cd_m2: NDArray[np.float32], exposure_s: float, setup: CameraSetup
) -> NDArray[np.uint8]:
    return photometry.to_srgb8(
        photometry.expose(pixels_cd_m2, exposure_s, setup.fnumber, setup.iso)
    )
