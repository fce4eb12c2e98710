"""Materials of people: skin, hair, cloth, and painted texture images.

Three attributes of the mesh's points carry what the shaders need: ``limen_cloth`` (where on the
cloth a point lies, metres), ``limen_around`` (how far around the body, metres, in x) and
``limen_shade`` (factors on the colour).
"""

from collections.abc import Callable
from pathlib import Path

import bpy

from ..core.appearance import Cloth
from ..core.assets import AssetError
from . import compat

__all__ = [
    "AROUND_ATTRIBUTE",
    "CLOTH_ATTRIBUTE",
    "SHADE_ATTRIBUTE",
    "UV_MAP",
    "cloth_material",
    "hair_material",
    "image_material",
    "plain_material",
    "skin_material",
]

AROUND_ATTRIBUTE = "limen_around"
CLOTH_ATTRIBUTE = "limen_cloth"
SHADE_ATTRIBUTE = "limen_shade"
UV_MAP = "limen_uv"

Rgb = tuple[float, float, float]
Socket = bpy.types.NodeSocket


class _Shader:
    """A principled surface under construction."""

    def __init__(self, name: str, roughness: float, specular: float) -> None:
        self.material, self.tree = compat.new_material(name)
        if specular:
            self.surface = self.tree.nodes.new("ShaderNodeBsdfPrincipled")
            self.surface.inputs["Roughness"].default_value = roughness
            self.surface.inputs["Specular IOR Level"].default_value = specular
            self.colour = self.surface.inputs["Base Color"]
        else:  # the same surface, at half the cost
            self.surface = self.tree.nodes.new("ShaderNodeBsdfDiffuse")
            self.colour = self.surface.inputs["Color"]
        output = self.tree.nodes.new("ShaderNodeOutputMaterial")
        self.tree.links.new(self.surface.outputs[0], output.inputs["Surface"])
        self._cloth: Socket | None = None
        self._normal: Socket | None = None

    def _put(self, socket: Socket, value: object) -> None:
        if isinstance(value, bpy.types.NodeSocket):
            self.tree.links.new(value, socket)
        else:
            socket.default_value = value

    def maths(self, operation: str, *values: "float | Socket") -> Socket:
        node = self.tree.nodes.new("ShaderNodeMath")
        node.operation = operation
        for socket, value in zip(node.inputs, values, strict=False):
            self._put(socket, value)
        return node.outputs[0]

    def vector(self, operation: str, *values: "Rgb | Socket") -> Socket:
        node = self.tree.nodes.new("ShaderNodeVectorMath")
        node.operation = operation
        for socket, value in zip(node.inputs, values, strict=False):
            self._put(socket, value)
        return node.outputs[0]

    def scaled(self, colour: "Rgb | Socket", factor: Socket) -> Socket:
        node = self.tree.nodes.new("ShaderNodeVectorMath")
        node.operation = "SCALE"
        self._put(node.inputs[0], colour)
        self._put(node.inputs["Scale"], factor)
        return node.outputs[0]

    def attribute(self, name: str) -> Socket:
        node = self.tree.nodes.new("ShaderNodeAttribute")
        node.attribute_name = name
        return node.outputs["Vector"]

    def place(self) -> Socket:
        if self._cloth is None:
            self._cloth = self.attribute(CLOTH_ATTRIBUTE)
        return self._cloth

    def around(self) -> Socket:
        node = self.tree.nodes.new("ShaderNodeSeparateXYZ")
        self.tree.links.new(self.attribute(AROUND_ATTRIBUTE), node.inputs[0])
        return node.outputs[0]

    def axis(self, k: int) -> Socket:
        node = self.tree.nodes.new("ShaderNodeSeparateXYZ")
        self.tree.links.new(self.place(), node.inputs[0])
        return node.outputs[k]

    def noise(self, size_m: Rgb, detail: float = 0.0) -> Socket:
        """Noise about 0.5, mostly within 0.25 of it."""
        node = self.tree.nodes.new("ShaderNodeTexNoise")
        node.inputs["Scale"].default_value = 1.0
        node.inputs["Detail"].default_value = detail
        self.tree.links.new(self.vector("DIVIDE", self.place(), size_m), node.inputs["Vector"])
        return node.outputs[0]

    def ramp(self, value: Socket, low: float, high: float, to: tuple[float, float]) -> Socket:
        node = self.tree.nodes.new("ShaderNodeMapRange")
        for socket, number in zip(node.inputs[1:5], (low, high, *to), strict=True):
            socket.default_value = number
        self.tree.links.new(value, node.inputs[0])
        return node.outputs[0]

    def mixed(self, share: Socket, first: "Rgb | Socket", second: "Rgb | Socket") -> Socket:
        rest = self.maths("SUBTRACT", 1.0, share)
        return self.vector("ADD", self.scaled(first, rest), self.scaled(second, share))

    def bump(self, height: Socket, distance_m: float) -> None:
        node = self.tree.nodes.new("ShaderNodeBump")
        node.inputs["Distance"].default_value = distance_m
        self.tree.links.new(height, node.inputs["Height"])
        if self._normal is not None:
            self.tree.links.new(self._normal, node.inputs["Normal"])
        self._normal = node.outputs["Normal"]

    def finish(self, colour: "Rgb | Socket") -> bpy.types.Material:
        socket = self.colour
        if isinstance(colour, tuple):
            socket.default_value = (*colour, 1.0)
        else:
            self.tree.links.new(colour, socket)
        if self._normal is not None:
            self.tree.links.new(self._normal, self.surface.inputs["Normal"])
        return self.material


def skin_material(name: str, colour: Rgb) -> bpy.types.Material:
    """Return skin of a reflectance, shaded by ``limen_shade``."""
    shader = _Shader(name, roughness=0.48, specular=0.35)
    blotches = shader.ramp(shader.noise((0.025, 0.025, 0.025), 0.0), 0.25, 0.75, (0.93, 1.07))
    shade = shader.scaled(shader.attribute(SHADE_ATTRIBUTE), blotches)
    return shader.finish(shader.vector("MULTIPLY", shade, colour))


def hair_material(name: str, colour: Rgb) -> bpy.types.Material:
    """Return hair with strands that run down."""
    shader = _Shader(name, roughness=0.55, specular=0.25)
    strands = shader.noise((0.0045, 0.06, 0.0045), 0.0)
    shader.bump(strands, 0.004)
    return shader.finish(shader.scaled(colour, shader.ramp(strands, 0.25, 0.75, (0.55, 1.45))))


def plain_material(name: str, colour: Rgb) -> bpy.types.Material:
    """Return rubber, for soles."""
    return _Shader(name, roughness=0.7, specular=0.2).finish(colour)


def image_material(name: str, image: Path) -> bpy.types.Material:
    """Return a surface painted with an image by the mesh's ``limen_uv`` coordinates.

    Raises:
        AssetError: Blender cannot read the image.
    """
    shader = _Shader(name, roughness=0.7, specular=0.2)
    picture = shader.tree.nodes.new("ShaderNodeTexImage")
    try:
        picture.image = bpy.data.images.load(str(image))
    except RuntimeError as error:
        raise AssetError(f"{image} cannot be read ({str(error).strip()}): get it anew") from error
    if 0 in picture.image.size:
        raise AssetError(f"{image} is damaged, Blender finds no picture in it: get it anew")
    uv = shader.tree.nodes.new("ShaderNodeUVMap")
    uv.uv_map = UV_MAP
    shader.tree.links.new(uv.outputs[0], picture.inputs["Vector"])
    return shader.finish(picture.outputs["Color"])


def cloth_material(name: str, cloth: Cloth) -> bpy.types.Material:
    """Return a fabric in its colours: pattern, weave, and the relief of its folds."""
    fabric = cloth.fabric
    shader = _Shader(name, fabric.roughness, fabric.specular)
    weave = shader.noise((fabric.grain_m, 1.4 * fabric.grain_m, fabric.grain_m))
    colour = _SURFACES[cloth.surface](shader, cloth)
    if fabric.crease_m:
        shader.bump(shader.noise((0.10, 0.055, 0.10), 0.6), fabric.crease_m)
    shade = shader.ramp(weave, 0.25, 0.75, (1 - fabric.grain, 1 + fabric.grain))
    return shader.finish(shader.scaled(colour, shade))


# ------------------------------------------------------------------------- patterns on cloth


def _plain(shader: _Shader, cloth: Cloth) -> Rgb | Socket:
    return cloth.colour


def _heather(shader: _Shader, cloth: Cloth) -> Rgb | Socket:
    flecks = shader.noise((0.005, 0.008, 0.005), 1.0)
    return shader.scaled(cloth.colour, shader.ramp(flecks, 0.25, 0.75, (0.8, 1.2)))


def _line(shader: _Shader, place: Socket, period_m: float, width: float) -> Socket:
    """1 on lines, 0 between; ``width`` is the share of the period that a line takes."""
    turn = shader.maths("FRACT", shader.maths("DIVIDE", place, period_m))
    return shader.maths("LESS_THAN", turn, width)


def _rings(period_m: float, width: float) -> Callable[[_Shader, Cloth], Socket]:
    """Stripes around the trunk and the sleeves."""

    def stripes(shader: _Shader, cloth: Cloth) -> Socket:
        lines = _line(shader, shader.axis(1), period_m, width)
        return shader.mixed(lines, cloth.colour, cloth.second)

    return stripes


def _stripes_down(period_m: float, width: float) -> Callable[[_Shader, Cloth], Socket]:
    """Stripes that run down the trunk and out along the sleeves."""

    def stripes(shader: _Shader, cloth: Cloth) -> Socket:
        lines = _line(shader, shader.around(), period_m, width)
        return shader.mixed(lines, cloth.colour, cloth.second)

    return stripes


def _checks(shader: _Shader, cloth: Cloth) -> Socket:
    across = _line(shader, shader.around(), 0.055, 0.45)
    along = _line(shader, shader.axis(1), 0.055, 0.45)
    both = shader.maths("MULTIPLY", shader.maths("ADD", across, along), 0.5)
    dark = (cloth.second[0] * 0.6, cloth.second[1] * 0.6, cloth.second[2] * 0.6)
    return shader.mixed(both, cloth.colour, dark)


def _faded(shader: _Shader, cloth: Cloth) -> Socket:
    worn = shader.ramp(shader.noise((0.16, 0.30, 0.16), 0.0), 0.30, 0.70, (0.75, 1.65))
    return shader.scaled(cloth.colour, worn)


def _quilted(shader: _Shader, cloth: Cloth) -> Rgb:
    turn = shader.maths("FRACT", shader.maths("DIVIDE", shader.axis(1), 0.075))
    bulge = shader.maths("SINE", shader.maths("MULTIPLY", turn, 3.14159))
    shader.bump(shader.maths("POWER", bulge, 0.6), 0.018)
    return cloth.colour


def _camouflage(shader: _Shader, cloth: Cloth) -> Socket:
    large = shader.maths("GREATER_THAN", shader.noise((0.11, 0.07, 0.11), 2.0), 0.54)
    dark = (cloth.second[0] * 0.5, cloth.second[1] * 0.5, cloth.second[2] * 0.5)
    return shader.mixed(large, cloth.colour, dark)


def _bands(shader: _Shader, cloth: Cloth) -> Socket:
    """Two grey reflective bands about the trunk."""
    y = shader.axis(1)
    first = shader.maths("COMPARE", y, -0.16, 0.025)
    second = shader.maths("COMPARE", y, -0.31, 0.025)
    return shader.mixed(shader.maths("ADD", first, second), cloth.colour, (0.50, 0.51, 0.52))


_SURFACES: dict[str, Callable[[_Shader, Cloth], Rgb | Socket]] = {
    "plain": _plain,
    "heather": _heather,
    "stripes": _rings(0.055, 0.5),
    "wide-stripes": _rings(0.16, 0.5),
    "fine-stripes": _stripes_down(0.018, 0.25),
    "checks": _checks,
    "faded": _faded,
    "quilted": _quilted,
    "camouflage": _camouflage,
    "bands": _bands,
}
