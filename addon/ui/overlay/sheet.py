"""What is laid over the scene: boxes and texts in pixels, in the part of a region that is free."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import blf
import bpy
import gpu
from gpu_extras.batch import batch_for_shader

from .kept import Rgba, once, shader

__all__ = [
    "BOX",
    "DIM",
    "LINE",
    "PAD",
    "TEXT",
    "WARN",
    "Box",
    "Free",
    "Sheet",
    "forget_widths",
    "free_part",
]

Box = tuple[float, float, float, float, Rgba]  # left, bottom, width, height in pixels, and colour
Text = tuple[float, float, str, Rgba]  # left end of the base line in pixels, text, colour

_FONT = 0
_SIZE = 12
PAD, LINE = 8, 18  # pixels at interface scale 1
TEXT: Rgba = (1.0, 1.0, 1.0, 1.0)
DIM: Rgba = (0.78, 0.78, 0.78, 1.0)
WARN: Rgba = (1.0, 0.72, 0.25, 1.0)
BOX: Rgba = (0.05, 0.05, 0.05, 0.8)


@lru_cache(maxsize=512)
def _width(text: str, scale: float) -> float:
    blf.size(_FONT, _SIZE * scale)
    return float(blf.dimensions(_FONT, text)[0])


def forget_widths() -> None:
    """Let go of the widths of texts."""
    _width.cache_clear()


@dataclass
class Sheet:
    """Boxes and texts of one drawing, in pixels of the region from its lower left."""

    scale: float
    boxes: list[Box] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)

    def width(self, text: str) -> float:
        """Return the width of a text in pixels."""
        return _width(text, self.scale)

    def draw(self) -> None:
        """Draw the boxes, and the texts over them."""
        if self.boxes:
            batch = once("boxes", tuple(self.boxes), lambda: _boxes_batch(self.boxes))
            gpu.state.blend_set("ALPHA")
            flat = shader("FLAT_COLOR")
            flat.bind()
            batch.draw(flat)
            gpu.state.blend_set("NONE")
        blf.size(_FONT, _SIZE * self.scale)
        blf.disable(_FONT, blf.SHADOW)
        for x, y, text, text_colour in self.texts:
            blf.color(_FONT, *text_colour)
            blf.position(_FONT, x, y, 0)
            blf.draw(_FONT, text)


def _boxes_batch(boxes: Sequence[Box]) -> gpu.types.GPUBatch:
    places, paint = [], []
    for x, y, width, height, colour in boxes:
        a, b, c, d = (x, y), (x + width, y), (x + width, y + height), (x, y + height)
        places += [a, b, c, a, c, d]
        paint += [colour] * 6
    return batch_for_shader(shader("FLAT_COLOR"), "TRIS", {"pos": places, "color": paint})


@dataclass(frozen=True)
class Free:
    """The part of the region over which no other region lies: left, bottom, right, top."""

    left: float
    bottom: float
    right: float
    top: float


def free_part(context: bpy.types.Context) -> Free:
    """Return the free part of the region that is drawn."""
    region = context.region
    left, right, top = 0.0, float(region.width), float(region.height)
    for other in context.area.regions:
        if other.width <= 1 or other.height <= 1:
            continue
        x, y = other.x - region.x, other.y - region.y
        if other.type == "TOOLS":
            left = max(left, x + other.width)
        elif other.type == "UI":
            right = min(right, x)
        elif other.type in ("HEADER", "TOOL_HEADER") and y > region.height / 2:
            top = min(top, y)
    return Free(left, 0.0, right, top)
