"""Materials made of a few shader nodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import bpy

from . import compat

__all__ = [
    "Grain",
    "add_haze",
    "by_shade",
    "diffuse_white",
    "emission_white",
    "leaf_material",
    "painted_material",
    "rough_material",
    "times",
    "water_material",
]

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
    material, tree = compat.new_material(name)
    nodes, link = tree.nodes, tree.links.new
    if specular:
        surface = nodes.new("ShaderNodeBsdfPrincipled")
        surface.inputs["Roughness"].default_value = roughness
        surface.inputs["Specular IOR Level"].default_value = specular
    else:  # the same light for less work
        surface = nodes.new("ShaderNodeBsdfDiffuse")
    base = surface.inputs["Base Color" if specular else "Color"]
    base.default_value = (*colour, 1.0)
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
        shade = times(tree, shade, vary.outputs[0])
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
    link(tint.outputs[0], base)
    if normal is not None:
        link(normal, surface.inputs["Normal"])
    return material


def leaf_material(
    name: str, colours: tuple[Rgb, Rgb], *, translucency: float = 0.3
) -> bpy.types.Material:
    """Return a thin leaf that some light comes through, between two colours by attribute ``shade``.

    Args:
        name: The datablock's name.
        colours: Linear reflectance where the attribute is 0 and where it is 1.
        translucency: Share of the light that goes through.
    """
    material, tree = compat.new_material(name)
    nodes, link = tree.nodes, tree.links.new
    colour = by_shade(tree, colours)
    front, through = nodes.new("ShaderNodeBsdfDiffuse"), nodes.new("ShaderNodeBsdfTranslucent")
    mixed = nodes.new("ShaderNodeMixShader")
    mixed.inputs[0].default_value = translucency
    for position, surface in enumerate((front, through), start=1):
        link(colour, surface.inputs["Color"])
        link(surface.outputs[0], mixed.inputs[position])
    output = nodes.new("ShaderNodeOutputMaterial")
    link(mixed.outputs[0], output.inputs["Surface"])
    return material


def by_shade(tree: bpy.types.NodeTree, colours: tuple[Rgb, Rgb]) -> bpy.types.NodeSocket:
    """Return the colour between two by attribute ``shade``."""
    shade = tree.nodes.new("ShaderNodeAttribute")
    shade.attribute_name = "shade"
    colour = tree.nodes.new("ShaderNodeMix")
    colour.data_type = "RGBA"
    for position, rgb in enumerate(colours, start=6):
        colour.inputs[position].default_value = (*rgb, 1.0)
    tree.links.new(shade.outputs["Fac"], colour.inputs[0])
    return colour.outputs[2]


def painted_material(
    name: str, colour: Rgb, *, roughness: float = 0.5, specular: float = 0.3, worn: float = 0.15
) -> bpy.types.Material:
    """Return paint or bare metal with stains; an object's own colour is multiplied onto it."""
    material = rough_material(
        name, (1.0, 1.0, 1.0), [Grain(1.7, worn, detail=2)], roughness=roughness, specular=specular
    )
    tree = material.node_tree
    surface = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
    own = tree.nodes.new("ShaderNodeObjectInfo").outputs["Color"]
    product = tree.nodes.new("ShaderNodeVectorMath")
    product.operation = "MULTIPLY"
    tint = tree.nodes.new("ShaderNodeVectorMath")
    tint.operation = "MULTIPLY"
    tint.inputs[1].default_value = colour
    tree.links.new(own, tint.inputs[0])
    tree.links.new(surface.inputs["Base Color"].links[0].from_socket, product.inputs[0])
    tree.links.new(tint.outputs[0], product.inputs[1])
    tree.links.new(product.outputs[0], surface.inputs["Base Color"])
    return material


def water_material(name: str, colour: Rgb, *, calm_m: float = 120.0) -> bpy.types.Material:
    """Return the surface of deep water: a rough dark mirror with ripples.

    Ripples are relief near the camera and become roughness from ``calm_m`` on, where they are less
    than a pixel: as relief they would be noise there.
    """
    material = rough_material(name, colour, roughness=0.12, specular=0.5)
    tree = material.node_tree
    nodes, link = tree.nodes, tree.links.new
    surface = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    surface.inputs["IOR"].default_value = 1.333
    fade = _by_distance(tree, calm_m)
    position = nodes.new("ShaderNodeNewGeometry").outputs["Position"]
    near = nodes.new("ShaderNodeMath")
    near.operation = "SUBTRACT"
    near.inputs[0].default_value = 1.0
    link(fade, near.inputs[1])
    normal: bpy.types.NodeSocket | None = None
    for size_m, height_m, stretch in ((3.1, 0.30, (1.0, 1.7)), (0.55, 0.045, (1.4, 1.0))):
        noise = nodes.new("ShaderNodeTexNoise")
        noise.noise_dimensions = "2D"
        noise.inputs["Scale"].default_value = 1.0
        noise.inputs["Detail"].default_value = 1.0
        mapped = nodes.new("ShaderNodeVectorMath")
        mapped.operation = "DIVIDE"
        mapped.inputs[1].default_value = (size_m * stretch[0], size_m * stretch[1], 1.0)
        link(position, mapped.inputs[0])
        link(mapped.outputs[0], noise.inputs["Vector"])
        bump = nodes.new("ShaderNodeBump")
        bump.inputs["Distance"].default_value = height_m
        link(near.outputs[0], bump.inputs["Strength"])
        link(noise.outputs[0], bump.inputs["Height"])
        if normal is not None:
            link(normal, bump.inputs["Normal"])
        normal = bump.outputs["Normal"]
    link(normal, surface.inputs["Normal"])
    rough = nodes.new("ShaderNodeMapRange")
    rough.inputs["To Min"].default_value = 0.1
    rough.inputs["To Max"].default_value = 0.26
    link(fade, rough.inputs["Value"])
    link(rough.outputs[0], surface.inputs["Roughness"])
    return material


def add_haze(
    material: bpy.types.Material,
    visibility_m: float = 14_000.0,
    colour: Rgb = (0.47, 0.55, 0.68),
) -> bpy.types.Material:
    """Let a material fade towards the horizon's brightness with distance; returns it.

    Air between camera and surface scatters the scene's own light: it is drawn as a level surface
    would be, so that it follows whatever light layer shines.

    Args:
        material: For what is far away; near surfaces would pay for nothing.
        visibility_m: Where 98 % of a contrast is lost (Koschmieder).
        colour: Radiance of endless air, as a share of the illuminance / pi.
    """
    tree = material.node_tree
    nodes, link = tree.nodes, tree.links.new
    output = next(node for node in nodes if node.type == "OUTPUT_MATERIAL")
    before = output.inputs["Surface"].links[0].from_socket
    up = nodes.new("ShaderNodeCombineXYZ")
    up.inputs[2].default_value = 1.0
    air = nodes.new("ShaderNodeBsdfDiffuse")
    air.inputs["Color"].default_value = (*colour, 1.0)
    link(up.outputs[0], air.inputs["Normal"])
    mixed = nodes.new("ShaderNodeMixShader")
    link(_by_distance(tree, visibility_m / 3.912), mixed.inputs[0])
    link(before, mixed.inputs[1])
    link(air.outputs[0], mixed.inputs[2])
    link(mixed.outputs[0], output.inputs["Surface"])
    return material


def _by_distance(tree: bpy.types.NodeTree, length_m: float) -> bpy.types.NodeSocket:
    """Return 1 - exp(-d / length) of the distance d from the camera."""
    distance = tree.nodes.new("ShaderNodeCameraData").outputs["View Distance"]
    power = tree.nodes.new("ShaderNodeMath")
    power.operation = "POWER"
    power.inputs[0].default_value = math.exp(-1 / length_m)
    tree.links.new(distance, power.inputs[1])
    rest = tree.nodes.new("ShaderNodeMath")
    rest.operation = "SUBTRACT"
    rest.inputs[0].default_value = 1.0
    tree.links.new(power.outputs[0], rest.inputs[1])
    return rest.outputs[0]


def diffuse_white(name: str) -> bpy.types.Material:
    """Return an ideal Lambert reflector: under E lux it shows a luminance of E / pi."""
    material, tree = compat.new_material(name)
    surface = tree.nodes.new("ShaderNodeBsdfDiffuse")
    surface.inputs["Color"].default_value = (1.0, 1.0, 1.0, 1.0)
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(surface.outputs[0], output.inputs["Surface"])
    return material


def emission_white(name: str) -> bpy.types.Material:
    """Return a surface of radiance 1 in every light."""
    material, tree = compat.new_material(name)
    surface = tree.nodes.new("ShaderNodeEmission")
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(surface.outputs[0], output.inputs["Surface"])
    return material


def times(
    tree: bpy.types.NodeTree, a: bpy.types.NodeSocket | None, b: bpy.types.NodeSocket
) -> bpy.types.NodeSocket:
    """Return the product of two values, or the second where there is no first."""
    if a is None:
        return b
    node = tree.nodes.new("ShaderNodeMath")
    node.operation = "MULTIPLY"
    tree.links.new(a, node.inputs[0])
    tree.links.new(b, node.inputs[1])
    return node.outputs[0]
