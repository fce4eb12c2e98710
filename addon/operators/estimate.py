"""What a study will cost on this machine, from a small measured render."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.factors import ViewSpec
from ..core.image_io import LayerImage, write_layers, write_png
from ..core.lighting import layers_of
from ..core.study import Study
from ..scene import lighting, render, stack, stage
from ..scene.checks import Finding, check_study
from ..scene.view import find_parts, place_camera, set_up_view, wanted_fraction

__all__ = ["Cost", "check_views", "estimate_cost"]

_TILE_PX = 320
_SAMPLED_VIEWS = 6
_FIXED_S = 0.06  # a render of no pixels, with persistent data
_IMAGE_S_PER_PX = 0.11e-6  # compose, expose and encode


class Cost(NamedTuple):
    """What rendering costs: whole numbers of things, seconds of time, bytes of disk."""

    views: int
    images: int
    plates: int
    seconds: float
    bytes: float


def check_views(
    study: Study,
    specs: Sequence[ViewSpec],
    assets_dir: Path | None,
    tell: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Check views without rendering them; see :mod:`limen.addon.scene.checks`."""
    return check_study(study, specs, assets_dir, tell)


def estimate_cost(study: Study, specs: Sequence[ViewSpec], assets_dir: Path | None) -> Cost:
    """Return the cost of rendering some views of a study, measured on a tile of the first.

    Raises:
        RenderError: The render fails, or this Blender lacks the denoiser.
        AssetError: A body is missing.
        SceneryError: A scenery cannot be built, or a camera stands inside it.
    """
    find_parts(study, assets_dir)
    if not specs:
        return Cost(0, 0, 0, 0.0, 0)
    layers = layers_of(study.lightings)
    exact = study.render.method == "exact"
    with_person = [spec for spec in specs if spec.target_present]
    width, height = study.camera.optics().image_px
    pixels = width * height
    backgrounds = {_background(spec): spec for spec in specs}
    for _, spec in sorted(backgrounds.items()):  # by scenery: each is built once
        place_camera(study, spec)
    step = max(1, len(with_person) // _SAMPLED_VIEWS)
    areas = []
    for spec in with_person[::step][:_SAMPLED_VIEWS]:
        view = set_up_view(study, spec, assets_dir)
        scenery = str(spec.factors["scenery"])
        boxes = stack.layer_boxes(view.person, scenery, layers, view.camera, view.camera_pose)
        areas.append(sum(w * h for name, (_, _, w, h) in boxes.items() if name != "alpha"))
    if not areas:
        set_up_view(study, specs[0], assets_dir)
    second_per_px, layer_byte_per_px, image_byte_per_px = _measure_tile(study, width, height)
    hidden = sum(wanted_fraction(study, spec) < 1 for spec in specs)  # each has its own plate
    shared = {_background(spec) for spec in specs if wanted_fraction(study, spec) == 1}
    plates = 0 if exact else len(shared) + hidden
    images = len(specs) * len(study.lightings)
    if exact:
        layer_pixels = images * pixels
        renders = images
    else:
        layer_pixels = plates * len(layers) * pixels + len(with_person) * float(np.mean(areas or 0))
        renders = (plates + len(with_person)) * len(layers)
    seconds = (
        layer_pixels * second_per_px
        + renders * _FIXED_S
        + len(specs) * (pixels * second_per_px / study.render.samples + 3 * _FIXED_S)
        + images * pixels * _IMAGE_S_PER_PX
    )
    size = layer_pixels * layer_byte_per_px + images * pixels * image_byte_per_px
    return Cost(len(specs), images, plates, round(seconds, 1), round(size))


def _background(spec: ViewSpec) -> tuple:
    """Return what views that share a background have in common."""
    names = ("scenery", "distance_m", "azimuth_deg", "elevation_deg")
    return tuple(spec.factors[name] for name in names)


def _measure_tile(study: Study, width: int, height: int) -> tuple[float, float, float]:
    """Render a tile about the subject; returns seconds, light bytes and image bytes per pixel."""
    w, h = min(_TILE_PX, width), min(_TILE_PX, height)
    box = ((width - w) // 2, (height - h) // 2, w, h)
    shot = render.Shot(study.render.samples, denoise=study.render.denoise == "oidn", box=box)
    lighting.light_layer(layers_of(study.lightings)[0])
    render.render_passes(stage.stage_scene(), render.Shot(1, box=box))  # loads the scene
    started = time.perf_counter()
    passes = render.render_passes(stage.stage_scene(), shot)
    seconds = time.perf_counter() - started
    pixels = render.stacked(passes, "Combined", "RGB")
    with tempfile.TemporaryDirectory(prefix="limen-") as folder:
        light, image = Path(folder) / "tile.exr", Path(folder) / "tile.png"
        write_layers(light, {"tile": LayerImage(pixels, (0, 0, w, h))}, (w, h))
        write_png(image, (np.clip(pixels / max(pixels.max(), 1e-6), 0, 1) * 255).astype(np.uint8))
        area = w * h
        return seconds / area, light.stat().st_size / area, image.stat().st_size / area
