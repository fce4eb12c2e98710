"""Sun, sky, the scenery's lamps and one at the camera, set to a light layer or a whole lighting."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import bpy
from mathutils import Matrix, Vector

from ..core.lighting import (
    ALPHA,
    GLOW_AZIMUTH_EXPONENT,
    GLOW_HEIGHT_EXPONENT,
    HORIZON_EXPONENT,
    ILLUMINATOR,
    LAMPS,
    SUN_ANGULAR_DIAMETER_DEG,
    Layer,
    Lighting,
    direction,
    layer_weights,
    parse_layer,
)
from . import compat

__all__ = [
    "VIEWPORT_EXPOSURE",
    "Lamp",
    "add_lamp",
    "add_lights",
    "aim_illuminator",
    "light_layer",
    "light_whole",
    "link_lights",
]

LIGHTS = "Limen Lights"
CAMERA_LAMP = "Limen Illuminator"
_LAMP_MARK = "limen_lamp"
_SUN_MARK = "limen_sun"
_CAMERA_LAMP_CONE_DEG = 130.0  # covers the picture of any usual lens
WORLD = "Limen Sky"
_GLOW_SHADOWS_DEG = 12.0  # twilight has no one direction: about where it is brightest
VIEWPORT_EXPOSURE = 0.7  # stops; shows ground of reflectance 0.35 under 1 lx as middle grey
_BLACK = (0.0, 0.0, 0.0)
_WHITE = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Lamp:
    """A lamp of a scenery: a flat disc that shines forwards as a Lambertian source.

    Attributes:
        position_m: (3,).
        aims_at_m: (3,).
        size_m: Diameter.
    """

    position_m: tuple[float, float, float]
    aims_at_m: tuple[float, float, float]
    size_m: float = 0.4


def add_lamp(collection: bpy.types.Collection, lamp: Lamp) -> None:
    """Add a lamp to a scenery, dark."""
    data = bpy.data.lights.new("Limen Lamp", "AREA")
    data.shape, data.size = "DISK", lamp.size_m
    item = bpy.data.objects.new("Limen Lamp", data)
    item.location = lamp.position_m
    item.rotation_mode = "QUATERNION"
    away = Vector(lamp.position_m) - Vector(lamp.aims_at_m)
    item.rotation_quaternion = away.to_track_quat("Z", "Y")  # it shines along its -Z
    item[_LAMP_MARK] = True
    item.hide_render = item.hide_viewport = True
    collection.objects.link(item)


def aim_illuminator(scene: bpy.types.Scene) -> None:
    """Put the lamp at the camera where the scene's camera is."""
    place: Matrix = scene.camera.matrix_world
    bpy.data.objects[CAMERA_LAMP].matrix_world = place.copy()


def add_lights(scene: bpy.types.Scene) -> None:
    """Give a scene Limen's sky and lamp at the camera, dark. Suns come when they first shine."""
    spot = bpy.data.lights.new(CAMERA_LAMP, "SPOT")
    spot.spot_size, spot.spot_blend = math.radians(_CAMERA_LAMP_CONE_DEG), 0.5
    spot.shadow_soft_size = 0.03
    at_camera = bpy.data.objects.new(CAMERA_LAMP, spot)
    at_camera.visible_camera = False
    lights = bpy.data.collections.new(LIGHTS)
    lights.objects.link(at_camera)
    scene.collection.children.link(lights)
    scene.world = _make_world()
    _set(_Light())


def remove_lights() -> None:
    """Remove Limen's lights and sky, or what is left of them; a scenery's lamps stay."""
    for item in list(bpy.data.objects):
        if item.type == "LIGHT" and (_SUN_MARK in item or item.data.name == CAMERA_LAMP):
            bpy.data.lights.remove(item.data)  # and the object with it
    for collection in [item for item in bpy.data.collections if item.name == LIGHTS]:
        bpy.data.collections.remove(collection)
    for world in [item for item in bpy.data.worlds if item.name == WORLD]:
        bpy.data.worlds.remove(world)


def is_lit(scene: bpy.types.Scene) -> bool:
    """Return whether Limen's sky and lights are there, and in a scene."""
    lights, world = bpy.data.collections.get(LIGHTS), bpy.data.worlds.get(WORLD)
    return (
        lights is not None
        and CAMERA_LAMP in lights.objects
        and LIGHTS in scene.collection.children
        and world is not None
        and scene.world == world
    )


def link_lights(scene: bpy.types.Scene) -> None:
    """Show another scene in the light that is set."""
    scene.collection.children.link(bpy.data.collections[LIGHTS])
    scene.world = bpy.data.worlds[WORLD]


@dataclass
class _Light:
    """What every light is set to."""

    sun_colour: Sequence[float] = _BLACK
    sun: Layer | None = None
    sky: dict[str, Sequence[float]] = field(default_factory=dict)
    glow_azimuth_deg: float = 0.0
    lamps_lm: Sequence[float] = _BLACK
    illuminator_cd: Sequence[float] = _BLACK


def light_layer(layer: Layer) -> None:
    """Light the scenes with one unit layer alone; ``alpha`` is none, and all is dark."""
    _set(_Light() if layer.kind == ALPHA else _with_layer(_Light(), layer, _WHITE))


def light_whole(lighting: Lighting) -> None:
    """Light the scenes with a whole lighting, scaled to a horizontal illuminance of 1 lx.

    Raises:
        ValueError: It has two suns or two glows, which one render cannot hold.
    """
    light = _Light()
    for name, weight in layer_weights(lighting).items():
        layer = parse_layer(name)
        if layer.kind == "sun" and light.sun is not None:
            raise ValueError(f"lighting {lighting.name} has two suns: method exact can hold one")
        if layer.kind in light.sky:
            raise ValueError(f"lighting {lighting.name} has two glows: method exact can hold one")
        colour = tuple(float(channel) / lighting.illuminance_lx for channel in weight)
        light = _with_layer(light, layer, colour)
    _set(light)
    _aim_solid_shadows(light)


def _aim_solid_shadows(light: _Light) -> None:
    """Have solid shading, where it shows shadows, cast them away from sun, moon or glow.

    How bright a lighting is, rendered shading and previews show.
    """
    azimuth_deg, elevation_deg = light.glow_azimuth_deg, _GLOW_SHADOWS_DEG
    if light.sun is not None:
        azimuth_deg, elevation_deg = light.sun.azimuth_deg, light.sun.elevation_deg
    elif "glow" not in light.sky:  # from all of the sky, straight below
        elevation_deg = 90.0
    east, north, up = direction(azimuth_deg, elevation_deg)
    for scene in filter(is_lit, bpy.data.scenes):
        scene.display.light_direction = (east, up, -north)  # Y up, Z to the south


def _with_layer(light: _Light, layer: Layer, colour: Sequence[float]) -> _Light:
    if layer.kind == "sun":
        return replace(light, sun=layer, sun_colour=colour)
    if layer.kind == LAMPS:
        return replace(light, lamps_lm=colour)
    if layer.kind == ILLUMINATOR:
        return replace(light, illuminator_cd=colour)
    turned = layer.azimuth_deg if layer.kind == "glow" else light.glow_azimuth_deg
    return replace(light, sky={**light.sky, layer.kind: colour}, glow_azimuth_deg=turned)


def _lamps() -> Iterator[bpy.types.Object]:
    return (item for item in bpy.data.objects if item.type == "LIGHT" and _LAMP_MARK in item)


def _shine(item: bpy.types.Object, colour: Sequence[float], energy_per_unit: float = 1.0) -> bool:
    """Set a lamp; returns whether it shines."""
    strength = max(colour)
    # Cycles packs the whole scene again for a lamp that was touched: leave one that stays dark.
    if strength or not item.hide_render:
        item.hide_render = item.hide_viewport = strength == 0
        item.data.energy = strength * energy_per_unit
        item.data.color = [channel / strength for channel in colour] if strength else _WHITE
    return strength > 0


def _set(light: _Light) -> None:
    if light.sun is not None and not any(item[_SUN_MARK] == light.sun.name for item in _suns()):
        _add_sun(light.sun)
    for item in _suns():
        shines = light.sun is not None and item[_SUN_MARK] == light.sun.name
        colour = item.data.node_tree.nodes["emission"].inputs["Color"]
        colour.default_value = (*(light.sun_colour if shines else _BLACK), 1.0)
    # Blender's power of a flat lamp is its flux; a spot's is that of a point lamp, 4 pi times its
    # intensity (1 unit of irradiance is 1 lx).
    for lamp in _lamps():
        _shine(lamp, light.lamps_lm)
    _shine(bpy.data.objects[CAMERA_LAMP], light.illuminator_cd, 4 * math.pi)
    nodes = bpy.data.worlds[WORLD].node_tree.nodes
    for kind in ("uniform", "horizon", "glow"):
        for socket, channel in zip(nodes[kind].inputs, light.sky.get(kind, _BLACK), strict=True):
            socket.default_value = channel
    nodes["towards glow"].inputs[1].default_value = direction(light.glow_azimuth_deg, 0.0)


def _suns() -> list[bpy.types.Object]:
    return [item for item in bpy.data.collections[LIGHTS].objects if _SUN_MARK in item]


def _add_sun(layer: Layer) -> None:
    """Add a sun that stays where it is: its colour alone is set, in a shader.

    Cycles packs the whole scene again for a lamp whose power or direction has changed (half a
    CPU-second a render), and not for a changed colour in a shader. A sun whose shader is black
    takes no samples.
    """
    lamp = bpy.data.lights.new(layer.name, "SUN")
    lamp.angle = math.radians(SUN_ANGULAR_DIAMETER_DEG)
    lamp.energy = 1.0
    tree = compat.enable_nodes(lamp)
    emission = tree.nodes.new("ShaderNodeEmission")
    emission.name = "emission"
    output = tree.nodes.new("ShaderNodeOutputLight")
    tree.links.new(emission.outputs[0], output.inputs["Surface"])
    sun = bpy.data.objects.new(layer.name, lamp)
    sun[_SUN_MARK] = layer.name
    sun.rotation_mode = "QUATERNION"
    towards = Vector(direction(layer.azimuth_deg, layer.elevation_deg))
    sun.rotation_quaternion = towards.to_track_quat("Z", "Y")  # it shines along its -Z
    bpy.data.collections[LIGHTS].objects.link(sun)


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
    side = math_node("MAXIMUM", dot.outputs["Value"], 0.0)
    lobe = math_node("POWER", side, float(GLOW_AZIMUTH_EXPONENT))
    height = math_node("POWER", low, float(GLOW_HEIGHT_EXPONENT))
    glow = math_node("MULTIPLY", up, math_node("MULTIPLY", lobe, height))
    total = add(add(coloured("uniform", up), coloured("horizon", horizon)), coloured("glow", glow))
    background = nodes.new("ShaderNodeBackground")
    link(total, background.inputs["Color"])
    output = nodes.new("ShaderNodeOutputWorld")
    link(background.outputs[0], output.inputs["Surface"])
    # The automatic importance map costs 0.8 CPU-seconds a frame; this sky is smooth.
    world.cycles.sampling_method = "MANUAL"
    world.cycles.sample_map_resolution = 256
    return world
