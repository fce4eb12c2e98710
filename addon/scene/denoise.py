"""Denoising by OpenImageDenoise, through the compositor, of any picture by any guides.

Cycles' own denoising is guided by the albedo and normals of the few samples that make the picture.
Of few samples these are noise, too; they do not depend on the light, so all light layers of a view
can share those of many samples (decision 024).
"""

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.image_io import Box
from . import compat, render

__all__ = ["Guides", "denoised", "denoised_picture", "guides_of", "on_grid"]

_GRID_PX = 16  # the network halves pictures four times
_LEAST_PX = 16  # Blender renders nothing smaller than 4 pixels


@dataclass(frozen=True, eq=False)
class Guides:
    """What is seen whatever the light: where edges and patterns are.

    Attributes:
        albedo: (H, W, 3) reflectance.
        normal: (H, W, 3) in the camera's frame.
    """

    albedo: NDArray[np.float32]
    normal: NDArray[np.float32]

    def part(self, box: Box) -> "Guides":
        """Return a box of them."""
        x, y, width, height = box
        part = (slice(y, y + height), slice(x, x + width))
        return Guides(self.albedo[part], self.normal[part])


def guides_of(passes: render.Passes) -> Guides:
    """Return the guides of a :class:`~.render.Shot` that asked for them."""
    return Guides(
        render.stacked(passes, "Denoising Albedo", "RGB"),
        render.stacked(passes, "Denoising Normal", "XYZ"),
    )


def denoised_picture(passes: render.Passes) -> NDArray[np.float32]:
    """Return the picture (H, W, 3) of a render without its noise, by guides of its own.

    Raises:
        RenderError: Blender failed.
    """
    return denoised(render.stacked(passes, "Combined", "RGB"), guides_of(passes))


def denoised(pixels: NDArray[np.float32], guides: Guides) -> NDArray[np.float32]:
    """Return a picture without its noise.

    Args:
        pixels: (H, W, 3) scene-linear.
        guides: Of the same size.

    Raises:
        RenderError: Blender failed.
    """
    height, width = pixels.shape[:2]
    wider, higher = max(0, _LEAST_PX - width), max(0, _LEAST_PX - height)
    inputs = {"Image": pixels, "Albedo": guides.albedo, "Normal": guides.normal}
    scene = bpy.data.scenes.new("Limen Denoiser")
    images = {}
    try:
        for name, values in inputs.items():
            padded = np.pad(values, ((0, higher), (0, wider), (0, 0)), "edge")
            images[name] = _image(f"Limen {name}", padded)
        scene.render.resolution_x, scene.render.resolution_y = width + wider, height + higher
        compat.set_exr(scene.render.image_settings, multilayer=False)
        tree = compat.add_denoising(scene, images)
        try:
            found = render.render_channels(scene)
        finally:
            compat.remove_compositing(tree)
    finally:
        bpy.data.scenes.remove(scene)
        for image in images.values():
            bpy.data.images.remove(image)
    # The file has one layer, whose name differs between Blenders.
    by_letter = {name.rpartition(".")[2]: channel for name, channel in found.items()}
    return np.stack([by_letter[letter][:height, :width] for letter in "RGB"], axis=-1)


def on_grid(box: Box, size: tuple[int, int]) -> Box:
    """Return a box grown to the grid by which OpenImageDenoise works, within a picture.

    On it a part of a picture comes out as it does in the whole; off it the network sees it
    otherwise.

    Args:
        box: (x, y, width, height) in pixels.
        size: (width, height) of the picture.
    """
    x, y, width, height = box
    x_end, y_end = (
        min(-(-end // _GRID_PX) * _GRID_PX, most)
        for end, most in ((x + width, size[0]), (y + height, size[1]))
    )
    x, y = (start // _GRID_PX * _GRID_PX for start in (x, y))
    return x, y, x_end - x, y_end - y


def _image(name: str, values: NDArray[np.float32]) -> bpy.types.Image:
    height, width = values.shape[:2]
    image = bpy.data.images.new(name, width, height, float_buffer=True, is_data=True)
    pixels = np.ones((height, width, 4), np.float32)
    pixels[..., :3] = values[::-1]  # Blender's pictures begin at the bottom
    image.pixels.foreach_set(pixels.ravel())
    return image
