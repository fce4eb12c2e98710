"""What a study will cost on this machine, from a small measured render.

:func:`measuring` renders and returns rates; :func:`cost_of` turns rates into the cost of any study,
without Blender's scene: so an edited study is estimated again at once.
"""

import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.factors import ViewSpec
from ..core.image_io import LayerImage, write_layers, write_png
from ..core.lighting import layers_of
from ..core.optics import density_at
from ..core.study import Study
from ..scene import lighting, render, stage
from ..scene.boxes import layer_boxes
from ..scene.checks import Finding, check_study
from ..scene.denoise import Guides, denoised, guides_of
from ..scene.samples import COVER, crop_parts, plate_parts
from ..scene.view import find_parts, place_camera, set_up_view, wanted_fraction

__all__ = ["Cost", "Rates", "check_views", "cost_of", "estimate_cost", "measuring"]

_TILE_PX = 320
_EMPTY_PX = 8
_TILE_SAMPLES = 8  # at most: enough to tell what one takes
_WHOLE_PERCENT = 25  # of a picture's width and height, to tell what a sample of all of it takes
_SAMPLED_VIEWS = 6
_IMAGE_S_PER_PX = 0.15e-6  # compose, expose and encode


class Cost(NamedTuple):
    """What rendering costs: whole numbers of things, seconds of time, bytes of disk."""

    views: int
    images: int
    plates: int
    seconds: float
    bytes: float


@dataclass(frozen=True)
class Rates:
    """What rendering takes on a machine and a device, with a denoiser.

    Attributes:
        render_s: A render of next to no pixels, denoised.
        pixel_s: A pixel of a layer, without its samples: denoising, passes, writing.
        sample_s: A sample of a pixel about a person.
        picture_s: A sample of a pixel of whole pictures, much of them sky.
        cover_s: The same without light: what a pixel covers.
        layer_byte: A pixel of a light layer.
        image_byte: A pixel of a clean image.
        crop_m2: The area at the person that a layer of its crop covers, in square metres.
        rendered_m2: What is rendered of a layer of a crop, box and person.
        sampled_m2: The same times its samples, as a share of the study's.
    """

    render_s: float
    pixel_s: float
    sample_s: float
    picture_s: float
    cover_s: float
    layer_byte: float
    image_byte: float
    crop_m2: float
    rendered_m2: float
    sampled_m2: float


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
    backgrounds = {_background(spec): spec for spec in specs}
    for _, spec in sorted(backgrounds.items()):  # by scenery: each is built once
        place_camera(study, spec)
    steps = measuring(study, specs, assets_dir)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cost_of(study, specs, end.value)


def measuring(
    study: Study, specs: Sequence[ViewSpec], assets_dir: Path | None
) -> Generator[tuple[int, int], None, Rates]:
    """Render small parts of some of a study's views, in steps, so that a window stays alive.

    Yields how many steps are done, and of how many; returns what rendering takes.

    Raises:
        ValueError: There are no views.
        RenderError: The render fails, or this Blender lacks the denoiser.
        AssetError: A body is missing.
        SceneryError: A scenery cannot be built, or a camera stands inside it.
    """
    if not specs:
        raise ValueError("there is no view to measure")
    find_parts(study, assets_dir)
    layers = layers_of(study.lightings)
    with_person = [spec for spec in specs if spec.target_present]
    some = with_person or list(specs)
    sampled = some[:: max(1, len(some) // _SAMPLED_VIEWS)][:_SAMPLED_VIEWS]
    area_px = rendered_px = sampled_px = scale = 0.0
    measured = []
    for step, spec in enumerate(sampled):
        yield step, len(sampled)
        view = set_up_view(study, spec, assets_dir)
        # Another layer each time: suns, lamps and skies take unlike times.
        lighting.light_layer(layers[step % len(layers)])
        measured.append(_measure(study))
        if view.person is None:
            continue
        scenery = str(spec.factors["scenery"])
        boxes = layer_boxes(view.person, scenery, layers, view.camera, view.camera_pose)
        area_px += sum(w * h for name, (_, _, w, h) in boxes.items() if name != "alpha")
        for _, (_, _, w, h), samples in crop_parts((COVER, *layers), boxes, study.render):
            rendered_px += w * h
            sampled_px += w * h * samples / study.render.samples
        scale += len(layers) * density_at(view.camera, spec.factors["distance_m"]) ** 2
    areas = (area_px, rendered_px, sampled_px)
    rates = np.mean(measured, axis=0)
    return Rates(*map(float, rates), *(area / scale if scale else 0.0 for area in areas))


def _measure(study: Study) -> tuple[float, ...]:
    """Render a tile about the subject, and the whole small; returns the first seven of Rates."""
    scene = stage.stage_scene()
    size = study.camera.optics().image_px
    tile, empty = _centre(size, _TILE_PX), _centre(size, _EMPTY_PX)
    area = tile[2] * tile[3]
    guided = study.render.denoise == "oidn"
    first = (render.Shot(1, guides=guided, box=box) for box in (tile, empty))
    seen = [render.render_passes(scene, shot) for shot in first]  # which loads what changed
    of_tile, of_empty = (guides_of(passes) if guided else None for passes in seen)
    render_s, _ = _timed(render.Shot(1, box=empty), of_empty)
    samples = min(study.render.samples, _TILE_SAMPLES)
    one_s, passes = _timed(render.Shot(1, box=tile), of_tile)
    all_s, sample_s = one_s, max(one_s - render_s, 0)
    if samples > 1:
        all_s, passes = _timed(render.Shot(samples, box=tile), of_tile)
        # A busy machine may take longer for less: no rate is below zero.
        sample_s = max(all_s - one_s, 0) / (samples - 1)
    pixel_s = max(all_s - render_s - samples * sample_s, 0)
    scene.render.resolution_percentage = _WHOLE_PERCENT
    try:
        picture_s = _sample_s()
        lighting.light_layer(COVER)
        cover_s = _sample_s()
    finally:
        scene.render.resolution_percentage = 100
    pixels = render.stacked(passes, "Combined", "RGB")
    with tempfile.TemporaryDirectory(prefix="limen-") as folder:
        light, image = Path(folder) / "tile.exr", Path(folder) / "tile.png"
        write_layers(light, {"tile": LayerImage(pixels, (0, 0, *tile[2:]))}, tile[2:])
        write_png(image, (np.clip(pixels / max(pixels.max(), 1e-6), 0, 1) * 255).astype(np.uint8))
        layer_bytes, image_bytes = light.stat().st_size, image.stat().st_size
    return (
        render_s,
        pixel_s / area,
        sample_s / area,
        picture_s,
        cover_s,
        layer_bytes / area,
        image_bytes / area,
    )


def _centre(size: tuple[int, int], side: int) -> tuple[int, int, int, int]:
    width, height = min(side, size[0]), min(side, size[1])
    return (size[0] - width) // 2, (size[1] - height) // 2, width, height


def _sample_s() -> float:
    """Return what a sample of a pixel of the whole picture takes in the light that is set."""
    (least_s, whole), (most_s, _) = (_timed(render.Shot(n)) for n in (1, 1 + _TILE_SAMPLES))
    return max(most_s - least_s, 0) / _TILE_SAMPLES / whole["Combined.A"].size


def _timed(shot: render.Shot, guides: Guides | None = None) -> tuple[float, render.Passes]:
    started = time.perf_counter()
    passes = render.render_passes(stage.stage_scene(), shot)
    if guides is not None:
        denoised(render.stacked(passes, "Combined", "RGB"), guides)
    return time.perf_counter() - started, passes


def cost_of(study: Study, specs: Sequence[ViewSpec], rates: Rates) -> Cost:
    """Return what rendering some views of a study costs at given rates."""
    layers, exact = len(layers_of(study.lightings)), study.render.method == "exact"
    camera = study.camera.optics()
    pixels = int(np.prod(camera.image_px))
    with_person = [spec for spec in specs if spec.target_present]
    hidden = sum(wanted_fraction(study, spec) < 1 for spec in specs)  # each has its own plate
    shared = {_background(spec) for spec in specs if wanted_fraction(study, spec) == 1}
    plates = 0 if exact else len(shared) + hidden
    images = len(specs) * len(study.lightings)
    if exact:
        layer_pixels = rendered_pixels = float(images * pixels)
        of_crops, whole, cover = 0.0, layer_pixels * study.render.samples, 0.0
        renders = images
    else:
        per_m2 = [density_at(camera, spec.factors["distance_m"]) ** 2 for spec in with_person]
        stored, rendered, of_crops = (
            layers * sum(min(pixels, area_m2 * scale) for scale in per_m2)
            for area_m2 in (rates.crop_m2, rates.rendered_m2, rates.sampled_m2)
        )
        parts = plate_parts((COVER, *layers_of(study.lightings)), camera.image_px, study.render)
        layer_pixels = plates * layers * pixels + stored
        rendered_pixels = plates * layers * pixels + rendered
        taken = {layer: plates * pixels * samples for layer, _, samples in parts}
        cover = taken.pop(COVER)
        whole = sum(taken.values())
        renders = (plates + 2 * len(with_person)) * layers
    seconds = (
        rendered_pixels * rates.pixel_s
        + study.render.samples * of_crops * rates.sample_s
        + whole * rates.picture_s
        + (cover + (len(specs) if exact else plates) * pixels) * rates.cover_s  # and depth
        + renders * rates.render_s
        + len(specs) * 3 * rates.render_s  # masks, ruler
        + images * pixels * _IMAGE_S_PER_PX
    )
    size = layer_pixels * rates.layer_byte + images * pixels * rates.image_byte
    return Cost(len(specs), images, plates, round(seconds, 1), round(size))


def _background(spec: ViewSpec) -> tuple:
    """Return what views that share a background have in common."""
    names = ("scenery", "distance_m", "azimuth_deg", "elevation_deg")
    return tuple(spec.factors[name] for name in names)
