"""Materials made of a few shader nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import bpy

from . import compat

__all__ = ["Grain", "diffuse_white", "emission_white", "rough_material"]

Rgb = Sequence[float]


@dataclass(frozen=True)
class Grain:
    """One scale of procedural noise on a surface.

    Attributes:
        size_m: Wavelength of the noise.
        contrast: The colour varies by this share to either side.
        bump_m: Height of the relief it makes; 0 for colour alone.
        detail: Octaves. Relief below a pixel is noise that costs samples: keep it low.
        stretch: Noise space is divided by this along x, y, z (ripples are long one way).
    """

    size_m: float
    contrast: float
    bump_m: float = 0.0
    detail: float = 2.0
    stretch: tuple[float, float, float] = (1.0, 1.0, 1.0)


def rough_material(
    name: str,
    colour: Rgb,
    grains: Sequence[Grain] = (),
    *,
    roughness: float = 0.9,
    specular: float = 0.0,
) -> bpy.types.Material:
    """Return a material whose colour and relief vary over several scales.

    Args:
        name: The datablock's name.
        colour: Linear Rec. 709 reflectance, each channel 0..1.
        grains: The scales, each multiplied onto the last.
        roughness: Of the surface, 0..1.
        specular: Blender's "Specular IOR Level": 0 for sand and cloth (and cheaper), 0.5 for skin.
    """
    material = bpy.data.materials.new(name)
    tree = compat.enable_nodes(material)
    nodes, link = tree.nodes, tree.links.new
    surface = nodes.new("ShaderNodeBsdfPrincipled")
    surface.inputs["Roughness"].default_value = roughness
    surface.inputs["Specular IOR Level"].default_value = specular
    surface.inputs["Base Color"].default_value = (*colour, 1.0)
    output = nodes.new("ShaderNodeOutputMaterial")
    link(surface.outputs[0], output.inputs["Surface"])
    if not grains:
        return material
    position = nodes.new("ShaderNodeTexCoord").outputs["Object"]
    shade: bpy.types.NodeSocket | None = None
    normal: bpy.types.NodeSocket | None = None
    for grain in grains:
        mapped = nodes.new("ShaderNodeVectorMath")
        mapped.operation = "DIVIDE"
        link(position, mapped.inputs[0])
        mapped.inputs[1].default_value = [grain.size_m * axis for axis in grain.stretch]
        noise = nodes.new("ShaderNodeTexNoise")
        noise.inputs["Scale"].default_value = 1.0
        noise.inputs["Detail"].default_value = grain.detail
        link(mapped.outputs[0], noise.inputs["Vector"])
        value = noise.outputs[0]
        vary = nodes.new("ShaderNodeMapRange")  # noise lies about 0.5, mostly within 0.25 of it
        for socket, number in (
            ("From Min", 0.25),
            ("From Max", 0.75),
            ("To Min", 1 - grain.contrast),
            ("To Max", 1 + grain.contrast),
        ):
            vary.inputs[socket].default_value = number
        link(value, vary.inputs["Value"])
        shade = _times(tree, shade, vary.outputs[0])
        if grain.bump_m:
            bump = nodes.new("ShaderNodeBump")
            bump.inputs["Distance"].default_value = grain.bump_m
            link(value, bump.inputs["Height"])
            if normal is not None:
                link(normal, bump.inputs["Normal"])
            normal = bump.outputs["Normal"]
    tint = nodes.new("ShaderNodeVectorMath")
    tint.operation = "SCALE"
    tint.inputs[0].default_value = colour
    link(shade, tint.inputs["Scale"])
    link(tint.outputs[0], surface.inputs["Base Color"])
    if normal is not None:
        link(normal, surface.inputs["Normal"])
    return material


def diffuse_white(name: str) -> bpy.types.Material:
    """Return an ideal Lambert reflector: under E lux it shows a luminance of E / pi."""
    material = bpy.data.materials.new(name)
    tree = compat.enable_nodes(material)
    surface = tree.nodes.new("ShaderNodeBsdfDiffuse")
    surface.inputs["Color"].default_value = (1.0, 1.0, 1.0, 1.0)
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(surface.outputs[0], output.inputs["Surface"])
    return material


def emission_white(name: str) -> bpy.types.Material:
    """Return a surface of radiance 1 in every light."""
    material = bpy.data.materials.new(name)
    tree = compat.enable_nodes(material)
    surface = tree.nodes.new("ShaderNodeEmission")
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(surface.outputs[0], output.inputs["Surface"])
    return material


def _times(
    tree: bpy.types.NodeTree, a: bpy.types.NodeSocket | None, b: bpy.types.NodeSocket
) -> bpy.types.NodeSocket:
    if a is None:
        return b
    node = tree.nodes.new("ShaderNodeMath")
    node.operation = "MULTIPLY"
    tree.links.new(a, node.inputs[0])
    tree.links.new(b, node.inputs[1])
    return node.outputs[0]
