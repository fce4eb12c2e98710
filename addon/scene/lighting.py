"""One sun lamp and one sky, set to any light layer or to a whole lighting."""

import math
from collections.abc import Sequence

import bpy
from mathutils import Vector

from ..core.lighting import (
    GLOW_EXPONENT,
    HORIZON_EXPONENT,
    SUN_ANGULAR_DIAMETER_DEG,
    Layer,
    Lighting,
    direction,
    layer_weights,
    parse_layer,
)
from . import compat

__all__ = ["VIEWPORT_EXPOSURE", "add_lights", "light_layer", "light_whole", "link_lights"]

SUN = "Limen Sun"
WORLD = "Limen Sky"
VIEWPORT_EXPOSURE = 0.7  # stops; shows ground of reflectance 0.35 under 1 lx as middle grey
_BLACK = (0.0, 0.0, 0.0)
_WHITE = (1.0, 1.0, 1.0)


def add_lights(scene: bpy.types.Scene) -> None:
    """Give a scene Limen's sun and sky, both dark."""
    lamp = bpy.data.lights.new(SUN, "SUN")
    lamp.angle = math.radians(SUN_ANGULAR_DIAMETER_DEG)
    sun = bpy.data.objects.new(SUN, lamp)
    sun.rotation_mode = "QUATERNION"
    scene.collection.objects.link(sun)
    scene.world = _make_world()
    _set(_BLACK, Layer("", "sun"), {})


def link_lights(scene: bpy.types.Scene) -> None:
    """Show another scene in the light that is set."""
    scene.collection.objects.link(bpy.data.objects[SUN])
    scene.world = bpy.data.worlds[WORLD]


def light_layer(layer: Layer) -> None:
    """Light the scenes with one unit layer alone."""
    if layer.kind == "sun":
        _set(_WHITE, layer, {})
    else:
        _set(_BLACK, layer, {layer.kind: _WHITE}, glow_azimuth_deg=layer.azimuth_deg)


def light_whole(lighting: Lighting) -> None:
    """Light the scenes with a whole lighting, scaled to a horizontal illuminance of 1 lx.

    Raises:
        ValueError: It has two suns or two glows, which one render cannot hold.
    """
    sun_colour: Sequence[float] = _BLACK
    sun_layer = Layer("", "sun")
    sky: dict[str, Sequence[float]] = {}
    glow_azimuth_deg = 0.0
    for name, weight in layer_weights(lighting).items():
        layer = parse_layer(name)
        colour = tuple(float(channel) / lighting.illuminance_lx for channel in weight)
        if layer.kind == "sun":
            if sun_layer.name:
                raise ValueError(
                    f"lighting {lighting.name} has two suns: method exact can hold one"
                )
            sun_colour, sun_layer = colour, layer
        else:
            if layer.kind in sky:
                raise ValueError(
                    f"lighting {lighting.name} has two glows: method exact can hold one"
                )
            sky[layer.kind] = colour
            if layer.kind == "glow":
                glow_azimuth_deg = layer.azimuth_deg
    _set(sun_colour, sun_layer, sky, glow_azimuth_deg)


def _set(
    sun_colour: Sequence[float],
    sun_layer: Layer,
    sky: dict[str, Sequence[float]],
    glow_azimuth_deg: float = 0.0,
) -> None:
    sun = bpy.data.objects[SUN]
    strength = max(sun_colour)
    # Cycles packs the whole scene again for a lamp that was touched: leave one that stays dark.
    if strength or not sun.hide_render:
        sun.hide_render = sun.hide_viewport = strength == 0
        sun.data.energy = strength
        sun.data.color = [channel / strength for channel in sun_colour] if strength else _WHITE
        towards = Vector(direction(sun_layer.azimuth_deg, sun_layer.elevation_deg))
        sun.rotation_quaternion = towards.to_track_quat("Z", "Y")  # a lamp shines along its -Z
    nodes = bpy.data.worlds[WORLD].node_tree.nodes
    for kind in ("uniform", "horizon", "glow"):
        for socket, channel in zip(nodes[kind].inputs, sky.get(kind, _BLACK), strict=True):
            socket.default_value = channel
    nodes["towards glow"].inputs[1].default_value = direction(glow_azimuth_deg, 0.0)


def _make_world() -> bpy.types.World:
    """Build the sky of ``core.lighting.sky_pattern`` as shader nodes."""
    world = bpy.data.worlds.new(WORLD)
    tree = compat.enable_nodes(world)
    nodes, link = tree.nodes, tree.links.new

    def math_node(operation: str, *inputs: float | bpy.types.NodeSocket) -> bpy.types.NodeSocket:
        node = nodes.new("ShaderNodeMath")
        node.operation = operation
        for socket, value in zip(node.inputs, inputs, strict=False):
            if isinstance(value, int | float):
                socket.default_value = value
            else:
                link(value, socket)
        return node.outputs[0]

    def coloured(kind: str, pattern: bpy.types.NodeSocket) -> bpy.types.NodeSocket:
        colour = nodes.new("ShaderNodeCombineXYZ")
        colour.name = kind
        scale = nodes.new("ShaderNodeVectorMath")
        scale.operation = "SCALE"
        link(colour.outputs[0], scale.inputs[0])
        link(pattern, scale.inputs["Scale"])
        return scale.outputs[0]

    def add(a: bpy.types.NodeSocket, b: bpy.types.NodeSocket) -> bpy.types.NodeSocket:
        node = nodes.new("ShaderNodeVectorMath")
        node.operation = "ADD"
        link(a, node.inputs[0])
        link(b, node.inputs[1])
        return node.outputs[0]

    towards = nodes.new("ShaderNodeTexCoord").outputs["Generated"]
    separate = nodes.new("ShaderNodeSeparateXYZ")
    link(towards, separate.inputs[0])
    z = separate.outputs[2]
    up = math_node("GREATER_THAN", z, 0.0)
    low = math_node("MAXIMUM", math_node("SUBTRACT", 1.0, z), 0.0)
    horizon = math_node("MULTIPLY", up, math_node("POWER", low, float(HORIZON_EXPONENT)))
    dot = nodes.new("ShaderNodeVectorMath")
    dot.name = "towards glow"
    dot.operation = "DOT_PRODUCT"
    link(towards, dot.inputs[0])
    lobe = math_node("POWER", math_node("MAXIMUM", dot.outputs["Value"], 0.0), float(GLOW_EXPONENT))
    glow = math_node("MULTIPLY", up, lobe)
    total = add(add(coloured("uniform", up), coloured("horizon", horizon)), coloured("glow", glow))
    background = nodes.new("ShaderNodeBackground")
    link(total, background.inputs["Color"])
    output = nodes.new("ShaderNodeOutputWorld")
    link(background.outputs[0], output.inputs["Surface"])
    # The automatic importance map costs 0.8 CPU-seconds a frame; this sky is smooth.
    world.cycles.sampling_method = "MANUAL"
    world.cycles.sample_map_resolution = 256
    return world
