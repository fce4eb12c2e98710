"""What a view looks like under each lighting of its study, without a dataset."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core import relight
from ..core.factors import ViewSpec
from ..core.lighting import ALPHA, layers_of
from ..core.study import Study
from ..scene import compat, stack, stage
from ..scene.clean_images import clean_image, metered_exposure_s
from ..scene.samples import COVER
from ..scene.view import set_up_view

__all__ = ["can_denoise", "view_pictures"]


def can_denoise() -> bool:
    """Return whether this Blender has the denoiser."""
    return compat.has_denoiser()


def view_pictures(
    study: Study, spec: ViewSpec, assets_dir: Path | None = None
) -> Mapping[str, NDArray[np.uint8]]:
    """Return lighting name -> (H, W, 3) sRGB, metered on the whole picture.

    Raises:
        AssetError: The subject's body is not there.
        RenderError: Blender failed.
        SceneryError: The scenery cannot be built, or the camera stands inside it.
    """
    stage.setup_stage()
    view = set_up_view(study, spec, assets_dir)
    width, height = view.camera.image_px
    layers = layers_of(study.lightings)
    boxes = dict.fromkeys([ALPHA, *(layer.name for layer in layers)], (0, 0, width, height))
    images = stack.Crops(boxes, study.render, study.seed).render((COVER, *layers))
    directions = relight.pixel_directions(view.camera.K, view.camera_pose.R, width, height)
    light = relight.stack_from_layers(None, images, directions)
    setup, pictures = study.camera, {}
    for item in study.lightings:
        exposure_s = metered_exposure_s(light, item, setup)
        pictures[item.name] = clean_image(light, item, exposure_s, setup)
    return pictures
