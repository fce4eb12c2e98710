"""The light stack of a view: unit light layers of the background (plate) and of the person (crop).

The background is rendered once per camera and scenery. The person changes the picture only where
it stands, where its shadow falls, and where it hides the sky from the ground around it: of each
layer only that box is rendered again.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core.image_io import ImageError, LayerImage, read_layers, write_layers
from ..core.lighting import ALPHA, ILLUMINATOR, LAMPS, Layer, Lighting, direction
from ..core.optics import Camera, CameraPose
from ..core.relight import paste, whole_layer
from ..core.study import RenderSettings
from . import compat, lighting, render, stage
from .occluder import Occluder
from .scenery import lamps_of, lowest_level_m, mirrors, scenery_version
from .subject import PlacedSubject, subject_hidden

__all__ = [
    "Plate",
    "exact_layers",
    "ground_settings",
    "layer_boxes",
    "plate_id",
    "plate_path",
    "render_crops",
    "render_plate",
    "use_plate",
]

Box = tuple[int, int, int, int]
NamedLight = tuple[str, Callable[[], None]]

_STACK_VERSION = 3  # raise it when the same settings come to give other pixels
_PAD_PX = 8
_NEAREST_M = 0.1  # to the camera
_RING_LINES = 33  # each way
_GROUND_SHARE = 8  # of a study's samples, where no person stands and noise is removed
_MAGENTA_MOST = 0.003
_MAY_BE_BLACK = (LAMPS, ILLUMINATOR)  # where there are no lamps, or nothing is near the camera
_OCCLUSION_RING_M = 2.0  # nearer than this the person takes more than 0.5 % of the sky's light
_GLOW_SHADOW_ELEVATION_DEG = 10.0
_MAX_SHADOW_M = {"sun": 40.0, "glow": 8.0, LAMPS: 40.0}


@dataclass(frozen=True, eq=False)
class Plate:
    """A background as it lies in a dataset.

    Attributes:
        name: See :func:`plate_id`.
        layers: Layer name -> image over the full picture.
        exposures_s: What was metered on it so far; by the caller's own keys.
    """

    name: str
    layers: Mapping[str, LayerImage]
    exposures_s: dict[tuple[object, ...], Mapping[str, float]] = field(default_factory=dict)


def layer_boxes(
    person: PlacedSubject,
    scenery: str,
    layers: Sequence[Layer],
    camera: Camera,
    pose: CameraPose,
) -> dict[str, Box]:
    """Return layer name -> the box (x, y, width, height) that the person changes; also ``alpha``.

    A layer's box depends on the scene and the layer alone. Layers whose box lies outside the
    picture are left out.
    """
    body = person.vertices_m
    low, high = body.min(axis=0), body.max(axis=0)
    lowest_m = lowest_level_m(scenery)
    ring = _mesh_lines(low - _OCCLUSION_RING_M, high + _OCCLUSION_RING_M, lowest_m)
    spot = (body, body)
    touched: dict[str, list[tuple[NDArray, NDArray]]] = {ALPHA: [spot]}
    for layer in layers:
        lines = [spot]
        if layer.is_sky:
            lines.append(ring)
        if layer.kind == LAMPS:
            for lamp in lamps_of(scenery):
                along = body - lamp.position_m
                along /= np.linalg.norm(along, axis=-1, keepdims=True)
                landing = _landing_points(body, along, lowest_m, _MAX_SHADOW_M[LAMPS])
                lines.append((body, landing))
        elif layer.kind in _MAX_SHADOW_M:
            elevation = layer.elevation_deg if layer.kind == "sun" else _GLOW_SHADOW_ELEVATION_DEG
            along = -direction(layer.azimuth_deg, elevation)
            reach_m = _MAX_SHADOW_M[layer.kind]
            lines.append((body, _landing_points(body, along, lowest_m, reach_m)))
        touched[layer.name] = lines
    boxes = {name: _bounding_box(lines, camera, pose) for name, lines in touched.items()}
    if mirrors(scenery, body, pose.position_m):
        width, height = camera.image_px
        boxes |= {layer.name: (0, 0, width, height) for layer in layers}
    return {name: box for name, box in boxes.items() if box is not None}


def _mesh_lines(low: NDArray, high: NDArray, level_m: float) -> tuple[NDArray, NDArray]:
    """Return lines both ways over a level rectangle: a picture may show its inside alone."""
    xs, ys = (np.linspace(low[i], high[i], _RING_LINES) for i in (0, 1))
    one = np.ones(_RING_LINES)
    start = np.concatenate([np.stack([xs, low[1] * one], -1), np.stack([low[0] * one, ys], -1)])
    end = np.concatenate([np.stack([xs, high[1] * one], -1), np.stack([high[0] * one, ys], -1)])
    level = np.full((2 * _RING_LINES, 1), level_m)
    return np.hstack([start, level]), np.hstack([end, level])


def _landing_points(points: NDArray, along: NDArray, lowest_m: float, reach_m: float) -> NDArray:
    """Return where rays from ``points`` reach the lowest level of the scenery.

    What they meet before, a rise or a rock, lies on the way there, and so within the box of both
    ends: no ray needs to be cast.
    """
    fall = np.maximum(points[:, 2] - lowest_m, 0) / -along[..., 2]
    return points + along * np.minimum(fall, reach_m)[:, None]


def _bounding_box(
    lines: Sequence[tuple[NDArray, NDArray]], camera: Camera, pose: CameraPose
) -> Box | None:
    """Return the box of what is seen of straight lines between points (N, 3), and a margin."""
    width, height = camera.image_px
    start, end = (np.concatenate(ends) @ pose.R.T + pose.t for ends in zip(*lines, strict=True))
    # Inside the picture's cone each of these is above 0: a line is cut where one is 0.
    k, pad = camera.K, _PAD_PX + 1
    left, top = (k[0, 2] + pad) / k[0, 0], (k[1, 2] + pad) / k[1, 1]
    right, bottom = (width - k[0, 2] + pad) / k[0, 0], (height - k[1, 2] + pad) / k[1, 1]
    planes = np.array(
        [[1, 0, left], [-1, 0, right], [0, 1, top], [0, -1, bottom], [0, 0, 1]], float
    ).T
    near = np.array([0, 0, 0, 0, _NEAREST_M])
    a, b = start @ planes - near, end @ planes - near
    out = (a < 0, b < 0)
    if out[0].any() or out[1].any():
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = a / (a - b)
        enter = np.where(out[0] & ~out[1], crossing, 0.0).max(axis=1, keepdims=True)
        leave = np.where(~out[0] & out[1], crossing, 1.0).min(axis=1, keepdims=True)
        seen = (enter <= leave)[:, 0] & ~(out[0] & out[1]).any(axis=1)
        if not seen.any():
            return None
        start, along = start[seen], (end - start)[seen]
        start, end = start + along * enter[seen], start + along * leave[seen]
    points = np.concatenate([start, end])
    pixels = points[:, :2] / points[:, 2:] * k[[0, 1], [0, 1]] + k[:2, 2]
    x0, y0 = np.floor(pixels.min(axis=0)).astype(int) - _PAD_PX
    x1, y1 = np.ceil(pixels.max(axis=0)).astype(int) + _PAD_PX + 1
    x0, x1 = np.clip([x0, x1], 0, width)
    y0, y1 = np.clip([y0, y1], 0, height)
    if x0 >= x1 or y0 >= y1:
        return None
    return (int(x0), int(y0), int(x1 - x0), int(y1 - y0))


def plate_id(
    camera: Camera,
    pose: CameraPose,
    scenery: str,
    layers: Sequence[Layer],
    settings: RenderSettings,
    seed: int,
    occluder: Occluder | None = None,
) -> str:
    """Return the content hash of a plate: equal only where the picture would be."""
    content = {
        "stack": _STACK_VERSION,
        "blender": compat.blender_version(),
        "camera": asdict(camera),
        "position": pose.position_m.round(9).tolist(),
        "rotation": pose.R.round(9).tolist(),
        "scenery": scenery_version(scenery),
        "layers": sorted(layer.name for layer in layers),
        "render": asdict(settings),
        "seed": seed,
        **({} if occluder is None else {"occluder": asdict(occluder)}),
    }
    text = json.dumps(content, sort_keys=True)
    return f"p{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def plate_path(root: Path, plate: str) -> Path:
    """Return where a plate lies in a dataset."""
    return root / "light" / "plates" / f"{plate}.exr"


def use_plate(path: Path, layers: Sequence[Layer], settings: RenderSettings, seed: int) -> Plate:
    """Return a plate, from its file or, where it is missing or damaged, rendered anew."""
    try:
        return _read_plate(path, _changed_ns(path))
    except ImageError:
        render_plate(path, layers, settings, seed)
        return _read_plate(path, _changed_ns(path))


def _changed_ns(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@lru_cache(maxsize=1)  # views come in the order of their plates
def _read_plate(path: Path, _changed: int) -> Plate:
    return Plate(path.stem, read_layers(path))


def render_plate(path: Path, layers: Sequence[Layer], settings: RenderSettings, seed: int) -> None:
    """Render the unit layers of the empty scene in front of the camera and write them."""
    width, height = _image_size()
    boxes = dict.fromkeys([ALPHA, *(layer.name for layer in layers)], (0, 0, width, height))
    with subject_hidden():
        rendered = _render(_layer_lights(layers), boxes, ground_settings(settings), seed)
    write_layers(path, rendered, (width, height))


def render_crops(
    layers: Sequence[Layer], boxes: Mapping[str, Box], settings: RenderSettings, seed: int
) -> dict[str, LayerImage]:
    """Render the boxes that the person changes: itself by all samples, the ground about it by few.

    Samples go where they are seen: what the eye and a model look at is the person, and denoised
    ground is as good with an eighth of them.
    """
    touched = [layer for layer in layers if layer.name in boxes]
    lights = _layer_lights(touched)
    ground = ground_settings(settings)
    person = boxes.get(ALPHA)
    if ground == settings or person is None:
        return _render(lights, boxes, ground, seed)
    near = _render(lights, dict.fromkeys(boxes, person), settings, seed)
    wider = [light for light in lights if boxes[light[0]] != person]
    around = _render(wider, {name: boxes[name] for name, _ in wider}, ground, seed)
    return near | {name: _inlaid(image, near[name]) for name, image in around.items()}


def ground_settings(settings: RenderSettings) -> RenderSettings:
    """Return the settings for what shows no person: without a denoiser, the study's own."""
    if settings.denoise == "none":
        return settings
    return replace(settings, samples=max(1, settings.samples // _GROUND_SHARE))


def _inlaid(outer: LayerImage, inner: LayerImage) -> LayerImage:
    """Return a layer's image with a smaller one blended into it."""
    pixels = outer.pixels.astype(np.float32)
    x, y = inner.box[0] - outer.box[0], inner.box[1] - outer.box[1]
    paste(pixels, inner.pixels.astype(np.float32), (x, y, *inner.box[2:]))
    return replace(outer, pixels=pixels.astype(np.float16))


def exact_layers(
    lightings: Sequence[Lighting], settings: RenderSettings, seed: int
) -> dict[str, LayerImage]:
    """Render each lighting whole, at 1 lx, over the full picture (method ``exact``)."""
    width, height = _image_size()
    names = [whole_layer(item.name) for item in lightings]
    boxes = dict.fromkeys([ALPHA, *names], (0, 0, width, height))
    lights = [(whole_layer(item.name), partial(lighting.light_whole, item)) for item in lightings]
    return _render(lights, boxes, settings, seed)


def _layer_lights(layers: Sequence[Layer]) -> list[NamedLight]:
    return [(layer.name, partial(lighting.light_layer, layer)) for layer in layers]


def _render(
    lights: Sequence[NamedLight], boxes: Mapping[str, Box], settings: RenderSettings, seed: int
) -> dict[str, LayerImage]:
    """Render every light's box; one seed, so that anti-aliasing and alpha are the same in all."""
    rendered: dict[str, LayerImage] = {}
    for name, set_light in lights:
        set_light()
        box = boxes[name]
        shot = render.Shot(
            settings.samples, seed, denoise=settings.denoise == "oidn", box=_or_whole(box)
        )
        passes = render.render_passes(stage.stage_scene(), shot)
        # Rounded to what the file holds, so that images made now and from the file are equal.
        pixels = render.stacked(passes, "Combined", "RGB").astype(np.float16)
        _check_pixels(name, pixels, whole=_or_whole(box) is None)
        rendered[name] = LayerImage(pixels, box)
        if ALPHA in boxes and ALPHA not in rendered:
            rendered[ALPHA] = _cut(passes["Combined.A"], box, boxes[ALPHA])
    return rendered


def _check_pixels(name: str, pixels: NDArray[np.float16], *, whole: bool) -> None:
    """Refuse what no scene looks like: values without end, black, the magenta of a lost picture.

    Blender draws a picture that is not there as reflectance (1, 0, 1): white light comes back
    without any green.
    """
    if not np.isfinite(pixels).all():
        raise render.RenderError(f"light layer {name} holds values that are not finite")
    if whole and name not in _MAY_BE_BLACK and not pixels.any():
        raise render.RenderError(
            f"light layer {name} is all black: the camera sees nothing, or no light reaches it"
        )
    red, green, blue = (pixels[..., i].astype(np.float32) for i in range(3))
    bright = np.maximum(red, blue)
    magenta = (bright > 1e-4) & (green < 1e-3 * bright) & (np.abs(red - blue) < 0.02 * bright)
    if magenta.mean() > _MAGENTA_MOST:
        raise render.RenderError(
            f"light layer {name} is magenta in {magenta.mean():.1%} of its pixels: a material's "
            "picture is missing"
        )


def _or_whole(box: Box) -> Box | None:
    return None if box == (0, 0, *_image_size()) else box


def _image_size() -> tuple[int, int]:
    settings = stage.stage_scene().render
    return settings.resolution_x, settings.resolution_y


def _cut(alpha: NDArray, outer: Box, inner: Box) -> LayerImage:
    x, y = inner[0] - outer[0], inner[1] - outer[1]
    part = alpha[y : y + inner[3], x : x + inner[2], None]
    return LayerImage(np.clip(part, 0, 1).astype(np.float16), inner)
