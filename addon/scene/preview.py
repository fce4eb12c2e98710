"""A view as a batch would render it, layer by layer, its light kept to be mixed anew at once."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import photometry, relight
from ..core.factors import ViewSpec
from ..core.image_io import LayerImage
from ..core.lighting import Lighting, layer_weights, layers_of
from ..core.relight import whole_layer
from ..core.study import CameraSetup, Study
from . import stack
from .clean_images import clean_image, metered_exposure_s
from .samples import COVER
from .view import LightPlan, SetView, light_plan

__all__ = ["Picture", "Preview", "compose", "missing_light", "rendering"]

_PLATES_KEPT = 40  # files of a layer each; a layer of 1920 x 1080 pixels takes some 8 MB


@dataclass(frozen=True, eq=False)
class Preview:
    """What was rendered of a view.

    Attributes:
        study: What it was rendered for.
        spec: Which view.
        key: Equal where the same light would be rendered.
        plate: Layer name -> image of the background.
        images: Layer name -> image of what is the view's own.
        light: Both together.
        metered: What the camera meters on: the background alone, where there is one.
        whole: Method ``exact``: lighting name -> the lighting that its layer was rendered under.
        thinned: Both stacks with every nth pixel only, for n = 2, 3, ...; made when asked for.
    """

    study: Study
    spec: ViewSpec
    key: tuple[Any, ...]
    plate: Mapping[str, LayerImage]
    images: Mapping[str, LayerImage]
    light: relight.Stack
    metered: relight.Stack
    whole: Mapping[str, Lighting]
    thinned: dict[int, tuple[relight.Stack, relight.Stack]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Picture:
    """A view under a lighting.

    Attributes:
        pixels: (H, W, 3) uint8, sRGB.
        exposure_s: The shutter time that the camera chose.
        limit: ``longest`` or ``shortest`` where it was held at that, else "".
        signal: Mean signal, as a share of saturation.
    """

    pixels: NDArray[np.uint8]
    exposure_s: float
    limit: str
    signal: float


def rendering(
    view: SetView, folder: Path, lightings: Sequence[Lighting], before: Preview | None = None
) -> Generator[tuple[int, int], None, Preview]:
    """Render the light of a view for some lightings of its study, in steps of a layer.

    Plates, boxes and seeds are those of a batch, which also renders the layers of the study's other
    lightings: so the pictures are the same to the byte.

    Args:
        view: From :func:`limen.addon.scene.view.set_up_view`, with nothing changed since.
        folder: Where layers of backgrounds are kept for the next preview.
        lightings: Of the study.
        before: What was rendered last: of the same view, its layers are taken over.

    Yields how many steps are done, and of how many; returns the preview.

    Raises:
        RenderError: Blender failed.
        ImageError: A file could not be written.
    """
    plan = light_plan(view)
    study = view.study
    key = (plan, replace(study, name="", lightings=()), view.spec.view_id)
    plate: dict[str, LayerImage] = {}
    images: dict[str, LayerImage] = {}
    whole: dict[str, Lighting] = {}
    if before is not None and before.key == key:
        plate, images, whole = dict(before.plate), dict(before.images), dict(before.whole)
    if plan.plate is None:
        wanted = [item for item in lightings if whole.get(item.name) != item]
        for i, item in enumerate(wanted):
            yield i, len(wanted)
            images |= stack.exact_layers((item,), study.render, plan.view_seed)
            whole[item.name] = item
    else:
        yield from _render_layers(plan, plan.plate, view, folder, lightings, plate, images)
    k, r = view.camera.K, view.camera_pose.R
    directions = relight.pixel_directions(k, r, *view.camera.image_px)
    light = relight.stack_from_layers(plate or None, images, directions)
    metered = relight.stack_from_layers(plate, {}, directions) if plate else light
    return Preview(study, view.spec, key, plate, images, light, metered, whole)


def _render_layers(
    plan: LightPlan,
    key: stack.PlateKey,
    view: SetView,
    folder: Path,
    lightings: Sequence[Lighting],
    plate: dict[str, LayerImage],
    images: dict[str, LayerImage],
) -> Generator[tuple[int, int], None, None]:
    """Render the layers that ``plate`` and ``images`` lack, into them."""
    settings = view.study.render
    needed = {COVER.name, *(layer.name for layer in layers_of(lightings))}
    every = (COVER, *plan.layers)
    wanted = [x for x in every if x.name in needed and x.name not in plate]
    folder.mkdir(parents=True, exist_ok=True)
    crops = stack.Crops(plan.boxes, settings, plan.view_seed, key)
    for i, layer in enumerate(wanted):
        yield 2 * i, 2 * len(wanted)
        path = folder / f"{key.name}-{layer.name}.exr"
        layers = stack.use_plate(path, (layer,), settings, key).layers
        yield 2 * i + 1, 2 * len(wanted)
        images |= crops.render((layer,))
        plate |= layers
    files = sorted(folder.glob("*.exr"), key=lambda file: file.stat().st_mtime_ns)
    for old in files[:-_PLATES_KEPT]:
        old.unlink()


def missing_light(preview: Preview, lighting: Lighting) -> tuple[str, ...]:
    """Return the layers that a lighting needs and a preview lacks, () where it can be composed."""
    if preview.study.render.method == "exact":
        rendered = preview.whole.get(lighting.name)
        if rendered and replace(rendered, illuminance_lx=lighting.illuminance_lx) == lighting:
            return ()
        return (whole_layer(lighting.name),)
    return tuple(sorted(set(layer_weights(lighting)) - set(preview.light.layers)))


def compose(preview: Preview, lighting: Lighting, setup: CameraSetup, every: int = 1) -> Picture:
    """Return a preview's picture under a lighting, without rendering.

    Args:
        preview: The rendered light.
        lighting: Any whose layers it has, see :func:`missing_light`.
        setup: Whose exposure is used.
        every: 1: the picture of a batch, to the byte. 2, 3, ...: every so many pixels of it, and
            half as many of a row and a column for metering.

    Raises:
        RelightError: The preview lacks a layer.
    """
    light, metered = _thinned(preview, every)
    if every > 1:  # the mean needs fewer still
        metered = _thinned(preview, 2 * every)[1]
    exposure_s = metered_exposure_s(metered, lighting, setup)
    pixels = clean_image(light, lighting, exposure_s, setup)
    limit = {setup.shutter_limit_s: "longest", photometry.SHUTTER_MIN_S: "shortest"}
    return Picture(pixels, exposure_s, limit.get(exposure_s, ""), _signal(pixels))


def _signal(pixels: NDArray[np.uint8]) -> float:
    """Return the mean signal of a picture, of some of its pixels."""
    some = pixels[::4, ::4] / 255
    return float(photometry.luminance(photometry.srgb_decode(some)).mean())


def _thinned(preview: Preview, every: int) -> tuple[relight.Stack, relight.Stack]:
    if every == 1:
        return preview.light, preview.metered
    if every not in preview.thinned:
        light, metered = (
            relight.Stack(
                {k: x[::every, ::every].copy() for k, x in of.layers.items()},
                of.alpha[::every, ::every].copy(),
                of.directions[::every, ::every].copy(),
            )
            for of in (preview.light, preview.metered)
        )
        preview.thinned[every] = light, metered
    return preview.thinned[every]
