"""From a light stack and a lighting to a scene-linear image, without Blender.

A stack holds unit light layers of one view (``docs/dataset.md``, "The light stack"); an image is
their weighted sum, with the sky shown where the scene does not cover a pixel. Pure numpy.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .image_io import Box, LayerImage
from .lighting import ALPHA, Lighting, layer_weights
from .sky import seen_sky

__all__ = [
    "FEATHER_PX",
    "RelightError",
    "Stack",
    "changed_box",
    "compose",
    "paste",
    "pixel_directions",
    "stack_from_layers",
    "stack_in_box",
    "whole_layer",
]

FEATHER_PX = 4
_ROWS = 8  # at a time

FloatArray = NDArray[np.float32]


class RelightError(ValueError):
    """A stack and a lighting that do not fit together."""


@dataclass(frozen=True)
class Stack:
    """The light of one view.

    Attributes:
        layers: Layer name -> (H, W, 3) float32, radiance under the unit light.
        alpha: (H, W) float32, how much of each pixel the scene covers.
        directions: (H, W, 3) float32 unit vectors from the camera, world frame.
    """

    layers: Mapping[str, FloatArray]
    alpha: FloatArray
    directions: FloatArray


def pixel_directions(k: ArrayLike, r: ArrayLike, width: int, height: int) -> FloatArray:
    """Return the world direction of every pixel centre.

    Args:
        k: (3, 3) camera matrix, OpenCV convention.
        r: (3, 3) rotation from world to camera.
        width: Image width in pixels.
        height: Image height in pixels.

    Returns:
        (height, width, 3) float32 unit vectors.
    """
    intrinsics = np.asarray(k, float)
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    camera = np.stack(
        [
            (x - intrinsics[0, 2]) / intrinsics[0, 0],
            (y - intrinsics[1, 2]) / intrinsics[1, 1],
            np.ones(x.shape),
        ],
        axis=-1,
    )
    world = camera @ np.asarray(r, float)
    directions: FloatArray = (world / np.linalg.norm(world, axis=-1, keepdims=True)).astype(
        np.float32
    )
    return directions


def paste(canvas: FloatArray, crop: FloatArray, box: Box) -> None:
    """Blend a crop into a canvas in place, over ``FEATHER_PX`` inside the crop's border.

    The border of the image needs no feather: there is nothing to blend to beyond it.

    Args:
        canvas: (H, W, C).
        crop: (h, w, C).
        box: ``(x, y, w, h)`` of the crop within the canvas.

    Raises:
        RelightError: The crop has another size than its box, or the box leaves the canvas.
    """
    x, y, width, height = box
    if crop.shape[:2] != (height, width):
        raise RelightError(f"a crop of {crop.shape[1]}x{crop.shape[0]} px has the box {box}")
    full_height, full_width = canvas.shape[:2]
    inside = 0 <= x <= full_width - width and 0 <= y <= full_height - height
    if not inside or crop.shape[2:] != canvas.shape[2:]:
        raise RelightError(
            f"a crop {crop.shape} in the box {box} does not fit into an image {canvas.shape}"
        )
    across = _ramp(width, x > 0, x + width < full_width)
    down = _ramp(height, y > 0, y + height < full_height)
    weight = np.minimum(down[:, None], across[None, :])[..., None]
    region = canvas[y : y + height, x : x + width]
    region += weight * (crop - region)


def _ramp(length: int, fade_start: bool, fade_end: bool) -> FloatArray:
    ramp = np.ones(length, np.float32)
    rise = (np.arange(length, dtype=np.float32) + 1) / (FEATHER_PX + 1)
    if fade_start:
        ramp = np.minimum(ramp, rise)
    if fade_end:
        ramp = np.minimum(ramp, rise[::-1])
    return ramp


def stack_from_layers(
    plate: Mapping[str, LayerImage] | None,
    crops: Mapping[str, LayerImage],
    directions: FloatArray,
) -> Stack:
    """Put the crops of a view into its plate.

    Args:
        plate: Layer name -> image of the background, ``alpha`` among them; None where the crops
            cover the whole image.
        crops: The same for the view; empty for a view without a target.
        directions: (H, W, 3), see ``pixel_directions``.

    Raises:
        RelightError: A layer is missing, does not fit into the image, or has no plate and does
            not cover the image.
    """
    height, width = directions.shape[:2]
    canvases: dict[str, FloatArray] = {}
    if plate is not None:
        canvases = {name: image.pixels.astype(np.float32) for name, image in plate.items()}
    for name, canvas in canvases.items():
        if canvas.shape[:2] != (height, width):
            raise RelightError(
                f"layer {name} of the plate has {canvas.shape[1]}x{canvas.shape[0]} pixels, its "
                f"image {width}x{height}"
            )
    for name, crop in crops.items():
        pixels = crop.pixels.astype(np.float32)
        if name in canvases:
            paste(canvases[name], pixels, crop.box)
        elif crop.box == (0, 0, width, height):
            canvases[name] = pixels
        else:
            raise RelightError(
                f"layer {name} covers {crop.box} of a {width}x{height} image and has no plate"
            )
    if ALPHA not in canvases:
        raise RelightError("the light stack has no alpha layer")
    alpha = canvases.pop(ALPHA)
    return Stack(canvases, alpha.reshape(height, width), directions)


def changed_box(
    crops: Mapping[str, LayerImage], lighting: Lighting, shape: tuple[int, ...]
) -> Box | None:
    """Return the box in which a view's crops change an image under a lighting, None for nowhere.

    A pixel wider than the crops, so that none but those at the image's border end at the box's.

    Args:
        crops: Layer name -> image.
        lighting: What shines.
        shape: (H, W) of the image.
    """
    needed = {*layer_weights(lighting), ALPHA}
    boxes = np.array([crop.box for name, crop in crops.items() if name in needed])
    if not len(boxes):
        return None
    x0, y0 = np.maximum(boxes[:, :2].min(axis=0) - 1, 0)
    x1, y1 = np.minimum((boxes[:, :2] + boxes[:, 2:]).max(axis=0) + 1, (shape[1], shape[0]))
    return (int(x0), int(y0), int(x1 - x0), int(y1 - y0))


def stack_in_box(
    plate: Mapping[str, LayerImage],
    crops: Mapping[str, LayerImage],
    directions: FloatArray,
    lighting: Lighting,
    box: Box,
) -> Stack:
    """Return what :func:`stack_from_layers` does, of one lighting's layers in a box.

    Args:
        plate: Layer name -> image of the background, of all of the image.
        crops: The same for the view.
        directions: (H, W, 3) of the whole image.
        lighting: Whose layers are wanted.
        box: Of :func:`changed_box`.

    Raises:
        RelightError: See :func:`stack_from_layers`.
    """
    x, y, width, height = box
    part = (slice(y, y + height), slice(x, x + width))
    needed = {*layer_weights(lighting), ALPHA}
    return stack_from_layers(
        {
            name: LayerImage(image.pixels[part], (0, 0, width, height))
            for name, image in plate.items()
            if name in needed
        },
        {
            name: LayerImage(crop.pixels, (crop.box[0] - x, crop.box[1] - y, *crop.box[2:]))
            for name, crop in crops.items()
            if name in needed
        },
        directions[part],
    )


def whole_layer(lighting_name: str) -> str:
    """Return the name of the layer that holds all the light of one lighting (method ``exact``)."""
    return f"lighting-{lighting_name}"


def compose(stack: Stack, lighting: Lighting, sky: FloatArray | None = None) -> FloatArray:
    """Return the scene-linear image (H, W, 3) in cd/m2 of a view under a lighting.

    Args:
        stack: The view's light: unit layers (method ``fast``), or one layer of 1 lx per lighting
            (method ``exact``).
        lighting: A preset, or any other mix of the stack's layers.
        sky: What :func:`~.sky.seen_sky` shows, where it is known; for a part of an image it must
            be: discs and stars are drawn on the whole.

    Raises:
        RelightError: The stack lacks a layer that the lighting needs.
    """
    whole = whole_layer(lighting.name)
    weights: Mapping[str, ArrayLike] = layer_weights(lighting)
    if whole in stack.layers:
        weights = {whole: np.full(3, lighting.illuminance_lx)}
    missing = sorted(set(weights) - set(stack.layers))
    if missing:
        raise RelightError(
            f"lighting {lighting.name} needs the layer {', '.join(missing)} and there are "
            f"{', '.join(sorted(stack.layers))}: render the study with this lighting in it"
        )
    image = _weighted_sum(stack.layers, weights, stack.alpha.shape)
    open_sky = (1 - stack.alpha)[..., None]
    if open_sky.any():
        image += open_sky * (seen_sky(lighting, stack.directions) if sky is None else sky)
    if lighting.monochrome:
        image[...] = image[..., :1]
    return image


def _weighted_sum(
    layers: Mapping[str, FloatArray], weights: Mapping[str, ArrayLike], shape: tuple[int, ...]
) -> FloatArray:
    """Sum weighted layers in rows that a processor's cache holds: a quarter of the time."""
    height, width = shape
    total = np.zeros((height, width, 3), np.float32)
    rows = [
        (layers[name].reshape(height, -1), np.tile(np.asarray(weight, np.float32), width))
        for name, weight in weights.items()
    ]
    part = np.empty((_ROWS, 3 * width), np.float32)
    for first in range(0, height, _ROWS):
        here = total[first : first + _ROWS].reshape(-1, 3 * width)
        for layer, weight in rows:
            some = part[: len(here)]
            here += np.multiply(layer[first : first + _ROWS], weight, out=some)
    return total
