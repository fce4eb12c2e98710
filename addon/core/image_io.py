"""Image files of a dataset: 8-bit PNG, float depth, and the light stack's multi-part OpenEXR.

Every file is written whole or not at all, and equal images give equal bytes with one OpenImageIO.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .dataset import replacing

__all__ = [
    "Box",
    "ImageError",
    "LayerImage",
    "box_of",
    "read_channels",
    "read_depth",
    "read_layers",
    "read_png",
    "write_depth",
    "write_layers",
    "write_png",
]

Box = tuple[int, int, int, int]
"""(x, y, width, height) in pixels, from the picture's upper left corner."""


def box_of(mask: npt.NDArray[np.bool_], margin_px: int = 0) -> Box | None:
    """Return the box of a mask's (H, W) pixels and a margin about it, None where it has none."""
    ys, xs = np.nonzero(mask)
    if len(xs) == 0:
        return None
    height, width = mask.shape
    x, y = (max(int(axis.min()) - margin_px, 0) for axis in (xs, ys))
    x_end = min(int(xs.max()) + margin_px + 1, width)
    y_end = min(int(ys.max()) + margin_px + 1, height)
    return x, y, x_end - x, y_end - y


class ImageError(Exception):
    """An image file cannot be read or written; the message names it and says why."""


@dataclass(frozen=True)
class LayerImage:
    """A light layer of a view, or the part of it inside a box.

    Attributes:
        pixels: (height, width, channels) float; 3 channels R G B, or 1 (``alpha``). The layer
            itself, not multiplied by ``scale``.
        box: Where it lies in the image: x, y, width, height.
        scale: The file holds pixels times this, so that they fit half float. A power of two loses
            nothing.
    """

    pixels: npt.NDArray[np.floating[Any]]
    box: Box
    scale: float = 1.0


@cache
def _oiio() -> Any:
    try:
        import OpenImageIO
    except ImportError as error:
        raise ImageError(
            "Python's OpenImageIO module is missing. Blender 4.4 and later bring it; "
            "Debian has the package python3-openimageio, pip has openimageio."
        ) from error
    return OpenImageIO


def write_png(path: Path, image: npt.NDArray[np.uint8]) -> None:
    """Write 8-bit pixels.

    Args:
        path: The file.
        image: (height, width) or (height, width, 3), uint8.

    Raises:
        ImageError: Another type or shape, or the file cannot be written.
    """
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)):
        raise ImageError(
            f"{path}: a PNG takes uint8 of shape (h, w) or (h, w, 3), "
            f"not {image.dtype} of shape {image.shape}"
        )
    height, width = image.shape[:2]
    spec = _oiio().ImageSpec(width, height, 3 if image.ndim == 3 else 1, "uint8")
    spec.attribute("png:compressionLevel", 1)
    _write(path, [(spec, image.reshape(height, width, -1))])


def read_png(path: Path) -> npt.NDArray[np.uint8]:
    """Read 8-bit pixels: (height, width) of grey, (height, width, 3) of colour.

    Raises:
        ImageError: The file is missing, damaged, or not 8-bit grey or RGB.
    """
    ((spec, pixels),) = _read(path, "uint8")
    if str(spec.format) != "uint8" or spec.nchannels not in (1, 3):
        raise ImageError(
            f"{path} has {spec.nchannels} channels of {spec.format}; 1 or 3 of uint8 are expected"
        )
    return pixels[:, :, 0] if spec.nchannels == 1 else pixels


def write_depth(path: Path, depth_m: npt.NDArray[np.float32]) -> None:
    """Write a depth map as single-channel float32 OpenEXR.

    Args:
        path: The file.
        depth_m: (height, width) planar depth in metres, 0 where there is none.

    Raises:
        ImageError: Not of this shape, values not finite, or the file cannot be written.
    """
    if depth_m.ndim != 2 or not np.isfinite(depth_m).all():
        raise ImageError(
            f"{path}: depth is (h, w) of finite metres, 0 where there is none; "
            f"found shape {depth_m.shape}, {np.count_nonzero(~np.isfinite(depth_m))} not finite"
        )
    height, width = depth_m.shape
    spec = _oiio().ImageSpec(width, height, 1, "float")
    spec.channelnames = ("Z",)
    _write(path, [(spec, depth_m.astype(np.float32)[:, :, None])])


def read_depth(path: Path) -> npt.NDArray[np.float32]:
    """Read a depth map: (height, width) float32 metres, 0 where there is none.

    Raises:
        ImageError: The file is missing, damaged or no depth map.
    """
    ((spec, pixels),) = _read(path, "float")
    if spec.nchannels != 1:
        raise ImageError(f"{path} has {spec.nchannels} channels; a depth map has 1")
    return pixels[:, :, 0]


def write_layers(path: Path, layers: Mapping[str, LayerImage], size: tuple[int, int]) -> None:
    """Write light layers as a multi-part half-float OpenEXR, a part per layer in order of name.

    Args:
        path: The file.
        layers: By name.
        size: Width and height of the image that the boxes lie in.

    Raises:
        ImageError: A layer's shape and box disagree, its box leaves the image, a value is not
            finite or times scale beyond half float (65504), or the file cannot be written.
    """
    if not layers:
        raise ImageError(f"{path}: there are no layers to write")
    parts = []
    for name, layer in sorted(layers.items()):
        where = f"{path}: layer {name}"
        x, y, width, height = layer.box
        if layer.pixels.shape not in ((height, width, 1), (height, width, 3)):
            raise ImageError(f"{where} has shape {layer.pixels.shape}, its box is {layer.box}")
        if not (0 <= x < x + width <= size[0] and 0 <= y < y + height <= size[1]):
            raise ImageError(f"{where}: its box {layer.box} is empty or leaves the image {size}")
        if not (np.isfinite(layer.scale) and layer.scale > 0):
            raise ImageError(f"{where}: its scale is {layer.scale}; it is greater than 0")
        if not np.isfinite(layer.pixels).all():
            raise ImageError(f"{where} holds values that are not finite")
        with np.errstate(over="ignore"):
            half = (layer.pixels.astype(np.float32) * np.float32(layer.scale)).astype(np.float16)
        if not np.isfinite(half).all():
            raise ImageError(
                f"{where}: its largest value {np.abs(layer.pixels).max():g} times scale "
                f"{layer.scale:g} is beyond half float (65504); choose a smaller scale"
            )
        spec = _oiio().ImageSpec(width, height, half.shape[2], "half")
        spec.x, spec.y, spec.full_x, spec.full_y = x, y, 0, 0
        spec.full_width, spec.full_height = size
        spec.channelnames = ("A",) if half.shape[2] == 1 else ("R", "G", "B")
        spec.attribute("oiio:subimagename", name)
        spec.attribute("limen:scale", float(layer.scale))
        parts.append((spec, half))
    _write(path, parts)


def read_layers(path: Path) -> dict[str, LayerImage]:
    """Read light layers by name, in its order; pixels are float32, divided by their scale.

    Raises:
        ImageError: The file is missing, damaged, or not a light file.
    """
    layers = {}
    for spec, pixels in _read(path, "half"):
        name = spec.getattribute("oiio:subimagename")
        scale = spec.getattribute("limen:scale")
        if (
            not name
            or not isinstance(scale, float)
            or not scale > 0
            or spec.nchannels not in (1, 3)
        ):
            raise ImageError(f"{path} is not a light file: part {name!r} has limen:scale {scale!r}")
        if not np.isfinite(pixels).all():
            raise ImageError(f"{path} is damaged: layer {name} holds values that are not finite")
        box = (spec.x, spec.y, spec.width, spec.height)
        layers[name] = LayerImage(pixels.astype(np.float32) / np.float32(scale), box, scale)
    return layers


def read_channels(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """Read a multilayer OpenEXR file as Blender writes it, in one part or in one part per pass.

    Returns:
        Channel name as in ``ViewLayer.Combined.R`` -> (h, w) float32.

    Raises:
        ImageError: The file is missing or damaged.
    """
    channels = {}
    for spec, pixels in _read(path, "float"):
        part = spec.getattribute("oiio:subimagename") or ""
        for number, name in enumerate(spec.channelnames):
            full = name if "." in name else f"{part}.{name}"
            channels[full] = np.ascontiguousarray(pixels[..., number])
    return channels


def _write(path: Path, parts: list[tuple[Any, npt.NDArray[Any]]]) -> None:
    """Write the parts (OpenImageIO spec, pixels) of an image whole or not at all."""
    oiio = _oiio()
    with replacing(path) as partial:
        output = oiio.ImageOutput.create(str(partial))
        if output is None:
            raise ImageError(f"{path} cannot be written: {oiio.geterror()}")
        size = sum(pixels.nbytes for _, pixels in parts)
        specs = tuple(spec for spec, _ in parts)
        if Path(path).suffix == ".exr":
            for spec in specs:
                spec.attribute("compression", "zip")
                # OpenImageIO writes the time of writing unless there is one.
                spec.attribute("DateTime", "1970:01:01 00:00:00")
        opened = output.open(str(partial), specs if len(specs) > 1 else specs[0])
        for number, (spec, pixels) in enumerate(parts):
            if number:
                opened = output.open(str(partial), spec, "AppendSubimage")
            if not opened or not output.write_image(np.ascontiguousarray(pixels)):
                raise _not_written(path, output.geterror(), size)
        if not output.close():
            raise _not_written(path, output.geterror(), size)


def _not_written(path: Path, said: str, size: int) -> ImageError:
    """Return the error of a failed write; writers of images do not tell a full disk from others."""
    if shutil.disk_usage(path.parent).free < size:
        said = f"{os.strerror(errno.ENOSPC)} ({said})"
    return ImageError(f"{path} cannot be written: {said}")


def _read(path: Path, format_name: str) -> list[tuple[Any, npt.NDArray[Any]]]:
    """Read all parts of an image as (OpenImageIO spec, (h, w, c) pixels of the format)."""
    oiio = _oiio()
    if not Path(path).is_file():
        raise ImageError(f"{path} is missing")
    source = oiio.ImageInput.open(str(path))
    if source is None:
        raise ImageError(f"{path} cannot be read: {oiio.geterror()}")
    parts: list[tuple[Any, npt.NDArray[Any]]] = []
    try:
        while source.seek_subimage(len(parts), 0):
            spec = source.spec()
            pixels = source.read_image(len(parts), 0, 0, spec.nchannels, format_name)
            if pixels is None:
                raise ImageError(f"{path} is damaged: {source.geterror()}")
            parts.append((spec, pixels))
    finally:
        source.close()
    return parts
