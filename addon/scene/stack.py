"""The light stack of a view: unit light layers of the background (plate) and of the person (crop).

The background is rendered once per camera and scenery. The person changes the picture only where
it stands, where its shadow falls, and where it hides the sky from the ground around it: of each
layer only that box is rendered again.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core import seeds
from ..core.image_io import Box, ImageError, LayerImage, box_of, read_layers, write_layers
from ..core.lighting import ALPHA, ILLUMINATOR, LAMPS, Layer, Lighting
from ..core.optics import Camera, CameraPose
from ..core.relight import paste, whole_layer
from ..core.study import RenderSettings
from . import compat, lighting, render, stage
from .denoise import Guides, denoised, denoised_picture, guides_of, on_grid
from .occluder import Occluder
from .samples import COVER, crop_parts, plate_parts
from .scenery import scenery_version
from .subject import subject_hidden

__all__ = [
    "Background",
    "Crops",
    "Plate",
    "PlateKey",
    "exact_layers",
    "plate_id",
    "plate_path",
    "render_plate",
    "use_plate",
]

_STACK_VERSION = 6  # raise it when the same settings come to give other pixels
_EDGE_PX = 8  # so that no border of the denoiser is seen
_MAGENTA_MOST = 0.003
_MAY_BE_BLACK = (LAMPS, ILLUMINATOR)  # where there are no lamps, or nothing is near the camera


@dataclass(frozen=True, eq=False)
class Background:
    """A plate under a lighting.

    Attributes:
        exposure_s: The shutter time that was metered.
        image: (H, W, 3) uint8, the clean image without a person.
        sky: (H, W, 3) what is seen of the sky, None where the scene covers all.
    """

    exposure_s: float
    image: NDArray[np.uint8]
    sky: NDArray[np.float32] | None


@dataclass(frozen=True, eq=False)
class Plate:
    """A background as it lies in a dataset.

    Attributes:
        name: See :func:`plate_id`.
        layers: Layer name -> image over the full picture.
        backgrounds: What was developed of it so far; by the caller's own keys.
    """

    name: str
    layers: Mapping[str, LayerImage]
    backgrounds: dict[tuple[object, ...], Background] = field(default_factory=dict)


_kept: dict[tuple[Path, int], Plate] = {}


@dataclass(frozen=True)
class PlateKey:
    """Which plate.

    Attributes:
        name: See :func:`plate_id`.
        seed: Of Cycles; a layer's own is drawn from it.
    """

    name: str
    seed: int


@dataclass(frozen=True, eq=False)
class _Seen:
    """What is seen in a box whatever the light.

    Attributes:
        cover: (h, w, 1) how much of a pixel the scene covers.
        guides: For the denoiser, None where noise is not removed.
    """

    cover: NDArray[np.float32]
    guides: Guides | None

    def part(self, box: Box) -> "_Seen":
        """Return a box of it."""
        x, y, width, height = box
        cover = self.cover[y : y + height, x : x + width]
        return _Seen(cover, self.guides and self.guides.part(box))


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


def use_plate(
    path: Path, layers: Sequence[Layer], settings: RenderSettings, key: PlateKey
) -> Plate:
    """Return a plate, from its file or, where that is missing, damaged or another, made anew."""
    whole = (0, 0, *_image_size())
    with suppress(ImageError):
        plate = _kept.get((path, _changed_ns(path))) or Plate(path.stem, read_layers(path))
        if all(getattr(plate.layers.get(layer.name), "box", None) == whole for layer in layers):
            return _keep(path, plate)
    return _keep(path, Plate(path.stem, render_plate(path, layers, settings, key)))


def _keep(path: Path, plate: Plate) -> Plate:
    """Keep a plate alone in memory: views come in the order of their plates."""
    _kept.clear()
    _kept[path, _changed_ns(path)] = plate
    return plate


def _changed_ns(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def render_plate(
    path: Path, layers: Sequence[Layer], settings: RenderSettings, key: PlateKey
) -> dict[str, LayerImage]:
    """Render the unit layers of the empty scene in front of the camera, write and return them.

    Args:
        path: The file.
        layers: Of light, and :data:`COVER`.
        settings: The study's.
        key: Of the plate.
    """
    size = _image_size()
    rendered = {}
    with subject_hidden():
        seen = _seen_behind(key, settings)
        covered = on_grid(box_of(seen.cover[..., 0] > 0, _EDGE_PX) or (0, 0, *size), size)
        for layer, whole, samples in plate_parts(layers, size, settings):
            box = covered if layer != COVER and settings.denoise == "oidn" else whole
            pixels = _render_part(layer, box, samples, key.seed, seen.part(box))
            rendered[layer.name] = _layer_image(layer.name, _grown(pixels, box, size), whole)
    write_layers(path, rendered, size)
    return rendered


class Crops:
    """What the person changes of a plate's layers, see :func:`~.samples.crop_parts`.

    Each layer has random numbers of its own, so that the noise of a sum of layers is less than
    theirs; what a pixel covers is therefore rendered by itself and no layer's by-product. Around
    the person they are those of the plate, so that what the person does not change stays the same.
    """

    def __init__(
        self,
        boxes: Mapping[str, Box],
        settings: RenderSettings,
        seed: int,
        plate: PlateKey | None = None,
    ) -> None:
        """Take what is to be rendered.

        Args:
            boxes: See :func:`~.boxes.layer_boxes`.
            settings: The study's.
            seed: Of Cycles, for the person; a layer's own is drawn from it.
            plate: What lies behind; None where no box is larger than the person's.
        """
        self._boxes, self._settings, self._seed, self._plate = boxes, settings, seed, plate

    def render(self, layers: Sequence[Layer]) -> dict[str, LayerImage]:
        """Render layers of light, and :data:`COVER`; those without a box are left out."""
        canvases: dict[str, NDArray[np.float32]] = {}
        for layer, box, samples in crop_parts(layers, self._boxes, self._settings):
            pixels = _render_part(layer, box, samples, *self._by(box))
            if layer.name not in canvases:
                canvases[layer.name] = pixels
            else:
                x, y, _, _ = self._boxes[layer.name]
                paste(canvases[layer.name], pixels, (box[0] - x, box[1] - y, *box[2:]))
        boxes = self._boxes
        return {name: _layer_image(name, canvas, boxes[name]) for name, canvas in canvases.items()}

    def _by(self, box: Box) -> tuple[int, _Seen]:
        """Return the seed of a part's random numbers, and what is seen in it."""
        if self._plate is None or box == self._boxes.get(ALPHA):
            return self._seed, self._seen_in_front
        return self._plate.seed, _seen_behind(self._plate, self._settings).part(box)

    @cached_property
    def _seen_in_front(self) -> _Seen:
        box = self._boxes[ALPHA]
        ((_, _, samples),) = crop_parts((COVER,), self._boxes, self._settings)
        return _see(box, samples, self._settings, self._seed)


def exact_layers(
    lightings: Sequence[Lighting], settings: RenderSettings, seed: int
) -> dict[str, LayerImage]:
    """Render each lighting whole, at 1 lx, over the full picture (method ``exact``)."""
    box = (0, 0, *_image_size())
    rendered: dict[str, LayerImage] = {}
    guided = settings.denoise == "oidn"
    for item in lightings:
        lighting.light_whole(item)
        name = whole_layer(item.name)
        # One seed: anti-aliasing and alpha are the same in all.
        passes = _passes(box, settings.samples, seed, guides=guided)
        pixels = denoised_picture(passes) if guided else render.stacked(passes, "Combined", "RGB")
        rendered[name] = _layer_image(name, pixels, box)
        if ALPHA not in rendered:
            rendered[ALPHA] = _layer_image(ALPHA, _cover(passes), box)
    return rendered


@lru_cache(maxsize=1)
def _seen_behind(plate: PlateKey, settings: RenderSettings) -> _Seen:
    """See the empty scene in front of the camera, once for all views of a plate.

    The stage must stand as the plate's name says, which is a hash of all that is seen.
    """
    size = _image_size()
    ((_, box, samples),) = plate_parts((COVER,), size, settings)
    with subject_hidden():
        return _see(box, samples, settings, plate.seed)


def _see(box: Box, samples: int, settings: RenderSettings, seed: int) -> _Seen:
    lighting.light_layer(COVER)
    guided = settings.denoise == "oidn"
    own_seed = seeds.cycles_seed(seed, COVER.name, "layer")
    passes = _passes(box, samples, own_seed, guides=guided)
    return _Seen(_cover(passes), guides_of(passes) if guided else None)


def _render_part(
    layer: Layer, box: Box, samples: int, seed: int, seen: _Seen
) -> NDArray[np.float32]:
    """Render a box of a layer; (h, w, 3), of :data:`COVER` (h, w, 1)."""
    if layer == COVER:
        return seen.cover
    lighting.light_layer(layer)
    own_seed = seeds.cycles_seed(seed, layer.name, "layer")
    pixels = render.stacked(_passes(box, samples, own_seed), "Combined", "RGB")
    return pixels if seen.guides is None else denoised(pixels, seen.guides)


def _grown(pixels: NDArray[np.float32], box: Box, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return a box of a picture with what is black about it."""
    if box[2:] == size:
        return pixels
    x, y, width, height = box
    canvas = np.zeros((size[1], size[0], pixels.shape[2]), np.float32)
    canvas[y : y + height, x : x + width] = pixels
    return canvas


def _passes(
    box: Box, samples: int, seed: int, *, guides: bool = False
) -> dict[str, NDArray[np.float32]]:
    shot = render.Shot(samples, seed, guides=guides, box=_or_whole(box))
    return render.render_passes(stage.stage_scene(), shot)


def _cover(passes: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.clip(passes["Combined.A"], 0, 1)[..., None]


def _layer_image(name: str, canvas: NDArray[np.float32], box: Box) -> LayerImage:
    # Rounded to what the file holds, so that images made now and from the file are equal.
    pixels = canvas.astype(np.float16)
    if name != ALPHA:
        _check_pixels(name, pixels, whole=_or_whole(box) is None)
    return LayerImage(pixels, box)


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
