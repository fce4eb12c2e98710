"""Ground whose colour and relief come from small pictures drawn at set-up, not from noise nodes.

A noise node is paid for at every point a ray meets; a picture that repeats is drawn once and costs
a look-up. Each tile holds one range of scales, and edges fit no other's: nothing repeats to the
eye. The pictures live in memory, packed; no file is written.
"""

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from . import compat
from .materials import Grain, Rgb, times

__all__ = ["Tile", "bake_tile", "tiled_material"]

_NOISE_SPREAD = 0.5  # standard deviation of a grain in units of its contrast
_OCTAVE_WIDTH = 0.6  # of a grain's band, in octaves
_MOST = 2.5  # standard deviations: what is rarer is cut


@dataclass(frozen=True)
class Tile:
    """One picture that repeats over the ground.

    Attributes:
        edge_m: Its size on the ground.
        grains: The scales that it holds, none above a quarter of the edge.
        pixels: Along an edge.
        seed: Of its noise.
    """

    edge_m: float
    grains: tuple[Grain, ...]
    pixels: int = 512
    seed: int = 0


def bake_tile(tile: Tile) -> NDArray[np.float32]:
    """Return a tile's picture (pixels, pixels, 4): fall along x and y, shade about 1, and 1.

    Noise is white noise seen through one band of frequencies for each grain, so it closes at the
    edges; slopes are exact derivatives. The mean shade is 1: colours stay what they are.
    """
    rng = np.random.default_rng(tile.seed)
    count = tile.pixels
    frequency = np.fft.fftfreq(count, tile.edge_m / count)
    across, along = np.meshgrid(frequency, frequency)
    slopes = np.zeros((2, count, count))
    shade = np.ones((count, count))
    for grain in tile.grains:
        spectrum = np.fft.fft2(rng.normal(size=(count, count)))
        cycles = grain.size_m * np.hypot(across * grain.stretch[0], along * grain.stretch[1])
        octave = np.log2(np.maximum(cycles, 1e-9))
        band = np.zeros_like(octave)
        for higher in range(1 + int(grain.detail)):
            band += 0.5**higher * np.exp(-0.5 * ((octave - higher) / _OCTAVE_WIDTH) ** 2)
        spectrum *= band / np.maximum(cycles, 1e-9)  # as much at each octave, by area
        spectrum[0, 0] = 0
        noise = np.fft.ifft2(spectrum).real
        spread = noise.std()
        shade *= 1 + grain.contrast * _NOISE_SPREAD * np.clip(noise / spread, -_MOST, _MOST)
        if grain.bump_m:
            height = spectrum * (grain.bump_m * 0.5 * _NOISE_SPREAD / spread)
            for k, axis in enumerate((across, along)):
                slopes[k] += np.fft.ifft2(2j * np.pi * axis * height).real
    picture = np.ones((count, count, 4), np.float32)
    picture[..., :2] = -slopes.transpose(1, 2, 0)
    picture[..., 2] = shade / shade.mean()
    return picture


def tiled_material(
    name: str,
    colour: Rgb,
    tiles: Sequence[Tile],
    *,
    relief_to_m: float = 40.0,
) -> bpy.types.Material:
    """Return level matt ground of a colour, varied by tiles along the object's axes.

    Args:
        name: The datablock's name.
        colour: Linear Rec. 709 reflectance, each channel 0..1.
        tiles: Multiplied onto each other.
        relief_to_m: Relief fades over this distance from the camera: beyond, it is less than a
            pixel and would be noise.
    """
    material = bpy.data.materials.new(name)
    tree = compat.enable_nodes(material)
    nodes, link = tree.nodes, tree.links.new
    surface = nodes.new("ShaderNodeBsdfDiffuse")
    shade: bpy.types.NodeSocket | None = None
    slope: bpy.types.NodeSocket | None = None
    for tile in tiles:
        colour_out = _look_up(tree, tile)
        apart = nodes.new("ShaderNodeSeparateXYZ")
        link(colour_out, apart.inputs[0])
        shade = times(tree, shade, apart.outputs[2])
        if any(grain.bump_m for grain in tile.grains):
            if slope is not None:
                raise ValueError(f"{name}: two tiles have relief, and one may")
            slope = colour_out
    tint = nodes.new("ShaderNodeVectorMath")
    tint.operation = "SCALE"
    tint.inputs[0].default_value = colour
    link(shade, tint.inputs["Scale"])
    link(tint.outputs[0], surface.inputs["Color"])
    if slope is not None:
        link(_tilted(tree, slope, relief_to_m), surface.inputs["Normal"])
    output = nodes.new("ShaderNodeOutputMaterial")
    link(surface.outputs[0], output.inputs["Surface"])
    return material


def _look_up(tree: bpy.types.NodeTree, tile: Tile) -> bpy.types.NodeSocket:
    """Return the colour of a tile at the object's x and y.

    A mapping node would work out its angles anew at every point: a scale is enough.
    """
    scaled = tree.nodes.new("ShaderNodeVectorMath")
    scaled.operation = "SCALE"
    scaled.inputs["Scale"].default_value = 1 / tile.edge_m
    tree.links.new(tree.nodes.new("ShaderNodeTexCoord").outputs["Object"], scaled.inputs[0])
    picture = tree.nodes.new("ShaderNodeTexImage")
    picture.image = _image(tile)
    tree.links.new(scaled.outputs[0], picture.inputs["Vector"])
    return picture.outputs["Color"]


def _tilted(
    tree: bpy.types.NodeTree, slope: bpy.types.NodeSocket, relief_to_m: float
) -> bpy.types.NodeSocket:
    """Return the normal tilted by a slope, which fades with distance from the camera."""
    fading = tree.nodes.new("ShaderNodeMath")
    fading.operation = "POWER"
    fading.inputs[0].default_value = math.exp(-1 / relief_to_m)
    link = tree.links.new
    link(tree.nodes.new("ShaderNodeCameraData").outputs["View Distance"], fading.inputs[1])
    level = tree.nodes.new("ShaderNodeCombineXYZ")  # the third channel is the shade
    link(fading.outputs[0], level.inputs[0])
    link(fading.outputs[0], level.inputs[1])
    tilted = tree.nodes.new("ShaderNodeVectorMath")
    tilted.operation = "MULTIPLY_ADD"
    link(slope, tilted.inputs[0])
    link(level.outputs[0], tilted.inputs[1])
    link(tree.nodes.new("ShaderNodeNewGeometry").outputs["Normal"], tilted.inputs[2])
    unit = tree.nodes.new("ShaderNodeVectorMath")
    unit.operation = "NORMALIZE"
    link(tilted.outputs[0], unit.inputs[0])
    return unit.outputs[0]


def _image(tile: Tile) -> bpy.types.Image:
    """Return a tile's picture, drawn once for all the materials of a scenery."""
    grains = json.dumps(
        [[g.size_m, g.contrast, g.bump_m, g.detail, g.stretch] for g in tile.grains]
    )
    about = f"{tile.seed} {tile.edge_m} {tile.pixels} {grains}"
    name = f"Limen Tile {zlib.crc32(about.encode()):08x}"
    image = bpy.data.images.get(name)
    if image is None:
        image = bpy.data.images.new(name, tile.pixels, tile.pixels, float_buffer=True, is_data=True)
        image.alpha_mode = "NONE"
        image.pixels.foreach_set(bake_tile(tile).ravel())
        image.pack()  # a saved scene keeps it
    return image
