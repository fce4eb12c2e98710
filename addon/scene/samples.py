"""How many samples each part of a picture takes: most go to the person (decision 018)."""

from collections.abc import Mapping, Sequence

from ..core.image_io import Box
from ..core.lighting import ALPHA, Layer
from ..core.study import RenderSettings

__all__ = ["COVER", "Part", "crop_parts", "plate_parts"]

Part = tuple[Layer, Box, int]
"""What one render shows: a layer, in a box, by so many samples a pixel."""

COVER = Layer(ALPHA, ALPHA)
"""The layer that is no light: how much of a pixel the scene covers."""

# Shares of a study's samples where noise is removed. What a pixel shows whatever the light guides
# all layers. Around a person skies take what they take behind it, of the same random numbers: where
# the person changes nothing the same comes out. Suns and lamps throw edges of shadows there.
_BEHIND = {ALPHA: 1 / 4}
_LEAST = 1 / 32
_AROUND_HARD = 3 / 32
_PERSON = {"sun": 3 / 4, "uniform": 3 / 4, "horizon": 3 / 4}
# In a box of so many pixels these shares hold. The fewer there are, the less is there to denoise by
# and the less a sample of each costs: shares grow as the side of a box shrinks, between bounds.
_PERSON_PX, _PERSON_BOUNDS = 12_000, (0.5, 1.5)
_AROUND_PX, _AROUND_BOUNDS = 150_000, (1.0, 2.5)


def plate_parts(
    layers: Sequence[Layer], size: tuple[int, int], settings: RenderSettings
) -> list[Part]:
    """Return what is rendered of a background.

    Args:
        layers: Of light, and :data:`COVER`.
        size: (width, height) of the picture in pixels.
        settings: The study's.
    """
    whole = (0, 0, *size)
    return [(layer, whole, _share(settings, _BEHIND.get(layer.kind, _LEAST))) for layer in layers]


def crop_parts(
    layers: Sequence[Layer], boxes: Mapping[str, Box], settings: RenderSettings
) -> list[Part]:
    """Return what is rendered of a view with a person, in its order: the later lies on top.

    The person itself takes more samples than the ground about it: it is what the eye and a model
    look at, and denoised ground is as good with fewer.

    Args:
        layers: Of light, and :data:`COVER`.
        boxes: See :func:`~.boxes.layer_boxes`; layers without one are left out.
        settings: The study's.
    """
    parts: list[Part] = []
    person = boxes.get(ALPHA)
    for layer in layers:
        if (box := boxes.get(layer.name)) is None:
            continue
        if settings.denoise == "none" or box != person:
            share = _LEAST
            if not layer.is_sky:
                share = _AROUND_HARD * _for_size(box, _AROUND_PX, _AROUND_BOUNDS)
            parts.append((layer, box, _share(settings, share)))
        if settings.denoise != "none" and person is not None:
            share = _for_size(person, _PERSON_PX, _PERSON_BOUNDS)
            share *= _PERSON.get(layer.kind, 1)
            parts.append((layer, person, _share(settings, share)))
    return parts


def _for_size(box: Box, usual_px: int, bounds: tuple[float, float]) -> float:
    least, most = bounds
    return float(min(max((usual_px / (box[2] * box[3])) ** 0.5, least), most))


def _share(settings: RenderSettings, share: float) -> int:
    """Return a share of a study's samples: without a denoiser, all of them."""
    if settings.denoise == "none":
        return settings.samples
    return max(1, round(settings.samples * share))
