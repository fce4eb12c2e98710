"""What the overlay keeps from one redraw to the next: shaders, batches, textures."""

from collections.abc import Callable, Sequence
from typing import Any

import gpu
from gpu_extras.batch import batch_for_shader

__all__ = ["Rgba", "count", "draw_lines", "forget", "lines_batch", "once", "shader"]

Rgba = tuple[float, float, float, float]

_kept: dict[str, tuple[Any, Any]] = {}


def once(name: str, key: Any, make: Callable[[], Any]) -> Any:
    """Return what ``make`` made for a key; made again when the key is another one."""
    before = _kept.get(name)
    if before is None or before[0] != key:
        before = _kept[name] = key, make()
    return before[1]


def count() -> int:
    """Return how many things are kept."""
    return len(_kept)


def forget() -> None:
    """Let go of all of it; Blender frees what nobody refers to any more."""
    _kept.clear()


def shader(name: str) -> gpu.types.GPUShader:
    """Return a shader of Blender's by its name."""
    return once(f"shader {name}", name, lambda: gpu.shader.from_builtin(name))


def lines_batch(places: Sequence[Any], paint: Sequence[Rgba]) -> gpu.types.GPUBatch | None:
    """Return a batch of lines from their ends (x, y, z) and the ends' colours, None for none."""
    if not len(places):
        return None
    content = {"pos": places, "color": paint}
    return batch_for_shader(shader("POLYLINE_FLAT_COLOR"), "LINES", content)


def draw_lines(batch: gpu.types.GPUBatch | None, width_px: float) -> None:
    """Draw what :func:`lines_batch` made."""
    if batch is None:
        return
    lines = shader("POLYLINE_FLAT_COLOR")
    lines.bind()
    lines.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    lines.uniform_float("lineWidth", width_px)
    batch.draw(lines)
