"""Ground whose colour and relief come from small pictures drawn at set-up, not from noise nodes.

A noise node is paid for at every point a ray meets; a picture that repeats is drawn once and costs
a look-up. Each tile holds one range of scales, and edges fit no other's: nothing repeats to the
eye. The pictures live in memory, packed; no file is written.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from . import compat
from .materials import Grain, Rgb, by_shade, times

__all__ = ["Tile", "bake_tile", "grass_material", "paved_material", "tiled_material"]

_NOISE_SPREAD = 0.5  # standard deviation of a grain in units of its contrast
_OCTAVE_WIDTH = 0.6  # of a grain's band, in octaves
_MOST = 2.5  # standard deviations: what is rarer is cut
_RELIEF_FADES_M, _RELIEF_ENDS_M = 50.0, 110.0  # from the camera: farther, it is less than a pixel
_EVEN_SHARE = 0.05  # of a tile's edge: as far about its beginning its shade is as even as it gets
_BEYOND_PLANE = 1.1  # 1 would lie in a blade's plane
_LEANING_AWAY = 0.75  # so that blades are about as bright as the others, under high suns and low
_SLOPE, _SHADE = "limen_slope", "limen_shade"  # of an image: what its highest values stand for


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
    # The subject stands where a tile begins: there the ground is neither dark nor light.
    apart = np.fft.fft2((picture[..., 2] - 1) ** 2)
    near = np.exp(-0.5 * (2 * np.pi * _EVEN_SHARE * tile.edge_m * np.hypot(across, along)) ** 2)
    y, x = np.unravel_index(np.fft.ifft2(apart * near).real.argmin(), apart.shape)
    return np.roll(picture, (-y, -x), axis=(0, 1))


def tiled_material(
    name: str, colour: Rgb, tiles: Sequence[Tile], *, level: bool = False
) -> bpy.types.Material:
    """Return matt ground of a colour, varied by tiles along the world's axes.

    Args:
        name: The datablock's name.
        colour: Linear Rec. 709 reflectance, each channel 0..1.
        tiles: Their shades are multiplied, their slopes added.
        level: The ground is a level plane that is never seen from afar, which is cheaper: else its
            relief fades with distance from the camera, where it would be less than a pixel.
    """
    material, tree = compat.new_material(name)
    nodes, link = tree.nodes, tree.links.new
    surface = nodes.new("ShaderNodeBsdfDiffuse")
    shade: bpy.types.NodeSocket | None = None
    whole = 1.0
    reliefs = []
    for tile in tiles:
        picture = _look_up(tree, tile)
        shade = times(tree, shade, picture.outputs["Alpha"])
        whole *= picture.image[_SHADE]
        if any(grain.bump_m for grain in tile.grains):
            reliefs.append(picture)
    tint = nodes.new("ShaderNodeVectorMath")
    tint.operation = "SCALE"
    tint.inputs[0].default_value = [whole * channel for channel in colour]
    link(shade, tint.inputs["Scale"])
    link(tint.outputs[0], surface.inputs["Color"])
    if reliefs:
        link(_tilted(tree, reliefs, level), surface.inputs["Normal"])
    output = nodes.new("ShaderNodeOutputMaterial")
    link(surface.outputs[0], output.inputs["Surface"])
    return material


def paved_material(
    name: str, colour: Rgb, tiles: Sequence[Tile], *, slab_m: float, joint_m: float = 0.02
) -> bpy.types.Material:
    """Return level slabs with joints along the object's axes, varied by tiles.

    Args:
        name: The datablock's name.
        colour: Linear Rec. 709 reflectance of a middling slab.
        tiles: As of :func:`tiled_material`.
        slab_m: Length of a slab's edge.
        joint_m: Width of a joint.
    """
    material = tiled_material(name, colour, tiles, level=True)
    tree = material.node_tree
    nodes, link = tree.nodes, tree.links.new
    brick = nodes.new("ShaderNodeTexBrick")
    brick.offset, brick.squash = 0.0, 1.0
    for socket, value in (
        ("Color1", (0.88, 0.88, 0.88, 1.0)),
        ("Color2", (1.1, 1.09, 1.06, 1.0)),
        ("Mortar", (0.3, 0.29, 0.27, 1.0)),
        ("Scale", 1.0),
        ("Mortar Size", joint_m / 2),
        ("Mortar Smooth", 0.3),
        ("Brick Width", slab_m),
        ("Row Height", slab_m),
    ):
        brick.inputs[socket].default_value = value
    link(nodes.new("ShaderNodeTexCoord").outputs["Object"], brick.inputs["Vector"])
    product = nodes.new("ShaderNodeVectorMath")
    product.operation = "MULTIPLY"
    base = next(node for node in nodes if node.type == "BSDF_DIFFUSE").inputs["Color"]
    link(base.links[0].from_socket, product.inputs[0])
    link(brick.outputs["Color"], product.inputs[1])
    link(product.outputs[0], base)
    return material


def grass_material(name: str, colours: tuple[Rgb, Rgb], ground: Tile) -> bpy.types.Material:
    """Return grass that is lit as level ground is, between two colours by attribute ``shade``.

    Blades are finer than a pixel. Were each lit by its own tilt, a pixel would be a sum of bright
    and dark that takes many samples to tell; lit by the sky above all, they differ in colour alone,
    as a meadow does from afar.

    Args:
        name: The datablock's name.
        colours: Linear reflectance where the attribute is 0 and where it is 1.
        ground: Whose shade the blades share with what is beneath them.
    """
    material, tree = compat.new_material(name)
    nodes, link = tree.nodes, tree.links.new
    picture = _look_up(tree, ground)
    shade = nodes.new("ShaderNodeMath")
    shade.operation = "MULTIPLY"
    shade.inputs[1].default_value = picture.image[_SHADE]
    link(picture.outputs["Alpha"], shade.inputs[0])
    own = nodes.new("ShaderNodeVectorMath")
    own.operation = "SCALE"
    link(by_shade(tree, colours), own.inputs[0])
    link(shade.outputs[0], own.inputs["Scale"])
    # A translucent surface that faces down is lit from above, whichever side is seen. But Cycles
    # takes no light where a shading normal looks to the other side of a surface than the light:
    # blades that lean away from the light have a second normal, just beyond their own plane.
    face = nodes.new("ShaderNodeNewGeometry").outputs["Normal"]
    up = nodes.new("ShaderNodeSeparateXYZ")
    beyond = nodes.new("ShaderNodeMath")
    beyond.operation = "MULTIPLY"
    beyond.inputs[1].default_value = _BEYOND_PLANE
    in_plane = nodes.new("ShaderNodeVectorMath")
    in_plane.operation = "MULTIPLY_ADD"
    in_plane.inputs[2].default_value = (0.0, 0.0, -1.0)
    unit = nodes.new("ShaderNodeVectorMath")
    unit.operation = "NORMALIZE"
    down = nodes.new("ShaderNodeCombineXYZ")
    down.inputs[2].default_value = -1.0
    link(face, up.inputs[0])
    link(up.outputs[2], beyond.inputs[0])
    link(face, in_plane.inputs[0])
    link(beyond.outputs[0], in_plane.inputs[1])
    link(in_plane.outputs[0], unit.inputs[0])
    away = nodes.new("ShaderNodeVectorMath")
    away.operation = "SCALE"
    away.inputs["Scale"].default_value = _LEANING_AWAY
    link(own.outputs[0], away.inputs[0])
    both = nodes.new("ShaderNodeAddShader")
    for position, (colour, normal) in enumerate(((own, down), (away, unit))):
        surface = nodes.new("ShaderNodeBsdfTranslucent")
        link(colour.outputs[0], surface.inputs["Color"])
        link(normal.outputs[0], surface.inputs["Normal"])
        link(surface.outputs[0], both.inputs[position])
    output = nodes.new("ShaderNodeOutputMaterial")
    link(both.outputs[0], output.inputs["Surface"])
    return material


def _look_up(tree: bpy.types.NodeTree, tile: Tile) -> bpy.types.ShaderNodeTexImage:
    """Return the node of a tile's picture at the world's x and y.

    A mapping node would work out its angles anew at every point: a scale is enough.
    """
    scaled = tree.nodes.new("ShaderNodeVectorMath")
    scaled.operation = "SCALE"
    scaled.inputs["Scale"].default_value = 1 / tile.edge_m
    tree.links.new(tree.nodes.new("ShaderNodeNewGeometry").outputs["Position"], scaled.inputs[0])
    picture = tree.nodes.new("ShaderNodeTexImage")
    picture.image = _image(tile)
    tree.links.new(scaled.outputs[0], picture.inputs["Vector"])
    return picture


def _tilted(
    tree: bpy.types.NodeTree, reliefs: Sequence[bpy.types.ShaderNodeTexImage], level: bool
) -> bpy.types.NodeSocket:
    """Return the normal tilted by the slopes of pictures."""
    nodes, link = tree.nodes, tree.links.new

    def multiply_add(
        a: bpy.types.NodeSocket, b: Sequence[float] | bpy.types.NodeSocket, c: object
    ) -> bpy.types.NodeSocket:
        node = nodes.new("ShaderNodeVectorMath")
        node.operation = "MULTIPLY_ADD"
        for socket, value in zip(node.inputs, (a, b, c), strict=False):
            if isinstance(value, bpy.types.NodeSocket):
                link(value, socket)
            else:
                socket.default_value = value
        return node.outputs[0]

    most = sum(picture.image[_SLOPE] for picture in reliefs)
    slope: object = (-most, -most, 1.0 if level else 0.0)  # half of what is stored is none
    for picture in reliefs:
        factor = 2 * picture.image[_SLOPE]
        slope = multiply_add(picture.outputs["Color"], (factor, factor, 0.0), slope)
    if not level:
        fading = nodes.new("ShaderNodeMath")
        fading.operation, fading.use_clamp = "MULTIPLY_ADD", True
        link(nodes.new("ShaderNodeCameraData").outputs["View Distance"], fading.inputs[0])
        fading.inputs[1].default_value = -1 / (_RELIEF_ENDS_M - _RELIEF_FADES_M)
        fading.inputs[2].default_value = _RELIEF_ENDS_M / (_RELIEF_ENDS_M - _RELIEF_FADES_M)
        normal = nodes.new("ShaderNodeNewGeometry").outputs["Normal"]
        slope = multiply_add(slope, fading.outputs[0], normal)
    unit = nodes.new("ShaderNodeVectorMath")
    unit.operation = "NORMALIZE"
    link(slope, unit.inputs[0])
    return unit.outputs[0]


def _image(tile: Tile) -> bpy.types.Image:
    """Return a tile's picture, drawn once for all the materials of a scenery.

    Slopes lie in red and green about the middle, the shade in alpha: a byte for each, so that the
    pictures of a scenery stay in a processor's cache.
    """
    grains = json.dumps(
        [[g.size_m, g.contrast, g.bump_m, g.detail, g.stretch] for g in tile.grains]
    )
    about = f"{tile.seed} {tile.edge_m} {tile.pixels} {grains}"
    name = f"Limen Tile {zlib.crc32(about.encode()):08x}"
    image = bpy.data.images.get(name)
    if image is None:
        baked = bake_tile(tile)
        slope, shade = float(np.abs(baked[..., :2]).max()), float(baked[..., 2].max())
        stored = np.zeros_like(baked)
        stored[..., :2] = 0.5 + 0.5 * baked[..., :2] / (slope or 1.0)
        stored[..., 3] = baked[..., 2] / shade
        image = bpy.data.images.new(name, tile.pixels, tile.pixels, alpha=True, is_data=True)
        image.alpha_mode = "CHANNEL_PACKED"
        image[_SLOPE], image[_SHADE] = slope, shade
        image.pixels.foreach_set(stored.ravel())
        image.pack()  # a saved scene keeps it
    return image
