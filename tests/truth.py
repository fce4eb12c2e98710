"""The truth of a view, and how far the fast method is from it.

The truth is rendered whole: each lighting as it is, all its lights at once, by many samples and
without a denoiser. It is rendered where it is compared: about the person, in tiles of its shadow,
and in tiles of the background. Half of the samples are rendered apart from the other half: what
they differ by is the truth's own noise, and is not held against the fast method. Rendered truths
are kept under ``.cache/truth`` by the hash of all that they depend on.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from limen.addon.core import photometry, relight, seeds
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.image_io import read_layers, read_png, write_png
from limen.addon.core.poses import load_poses
from limen.addon.core.study import Study
from limen.addon.scene import compat, lighting, render, stage
from limen.addon.scene.scenery import scenery_version
from limen.addon.scene.view import render_view, set_up_view
from limen.analysis.discern.features import image_features

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "truth"
REGIONS = ("person", "shadow", "rest")
_SHADOW = 0.05  # what a person changes by this share is its shadow, or its occlusion of the sky
_TILES, _TILE_PX = 4, 96
_PAD_PX = 4  # so that the truth reaches beyond the crops' seams
_MEAN_SIGNAL = 0.22  # an image is exposed to this mean before it is compared
_AMPLIFIED = 20

Box = tuple[int, int, int, int]


@dataclass
class Compared:
    """One image against its truth.

    Attributes:
        view: What it shows, in words.
        lighting: Its label.
        psnr_db: Region -> PSNR after exposure, gamma 2.2, the truth's own noise taken off.
        bias: Region -> mean luminance against the truth's, minus 1.
        features: Feature -> change.
    """

    view: str
    lighting: str
    psnr_db: dict[str, float] = field(default_factory=dict)
    bias: dict[str, float] = field(default_factory=dict)
    features: dict[str, float] = field(default_factory=dict)


def view_like(study: Study, **factors: Any) -> Any:
    """Return the first view of a study that has some factors."""
    actions = {name: pose.action for name, pose in load_poses().items()}
    for spec in sample_views(study, poses_by_action(study, actions)):
        if spec.target_present and factors.items() <= dict(spec.factors).items():
            return spec
    raise LookupError(f"the study {study.name} draws no view with {factors}")


def compare_view(
    study: Study, spec: Any, root: Path, samples: int, pictures: Path | None = None
) -> list[Compared]:
    """Render a view by the fast method into ``root``, and its truth; compare under every lighting.

    Args:
        study: Of method fast.
        spec: A view with a person.
        root: An empty directory.
        samples: Of the truth.
        pictures: Where to write, for each lighting, the images side by side: fast, truth, and their
            difference amplified 20 times about grey.
    """
    view = set_up_view(study, spec)
    row, index = render_view(view, root)
    size = view.camera.image_px
    directions = relight.pixel_directions(view.camera.K, view.camera_pose.R, *size)
    plate = read_layers(root / "light" / "plates" / f"{row['plate_id']}.exr")
    crops = read_layers(root / "light" / "crops" / f"{row['view_id']}.exr")
    fast = relight.stack_from_layers(plate, crops, directions)
    empty = relight.stack_from_layers(plate, {}, directions)
    visible = read_png(root / "masks" / f"{row['view_id']}.visible.png") > 0
    about_person = _box_of(visible, size)
    tiles = _tiles(study, spec.view_id, size)
    found = []
    for item, media in zip(study.lightings, index, strict=True):
        image = relight.compose(fast, item)
        # Smoothed: else pixels would be taken for shadow for their noise.
        shown, without = (
            _smoothed(photometry.luminance(relight.compose(stack, item))) for stack in (fast, empty)
        )
        change = np.abs(shown / np.maximum(without, 1e-9) - 1)
        shadow = (change > _SHADOW) & ~_grown(visible, 2)
        on_shadow = _tiles_on(shadow, study, spec.view_id, size)
        # The truth's two halves; where there is none they show the image itself.
        halves, known = (image.copy(), image.copy()), np.zeros(visible.shape, bool)
        for box in [about_person, *on_shadow, *tiles]:
            x, y, width, height = box
            part = (slice(y, y + height), slice(x, x + width))
            for number, half in enumerate(halves):
                half[part] = _truth(view, item, box, samples // 2, number, directions[part])
            known[part] = True
        truth = (halves[0] + halves[1]) / 2
        masks = {
            "person": visible & known,
            "shadow": shadow & known,
            "rest": known & ~visible & ~shadow,
        }
        of_image = Compared(_words(spec), item.name)
        gain = _MEAN_SIGNAL / float(photometry.luminance(truth)[known].mean())
        for name, mask in masks.items():
            if mask.sum() >= 16:
                of_image.psnr_db[name] = _psnr_db(
                    image[mask] * gain, *(half[mask] * gain for half in halves)
                )
                level = float(photometry.luminance(image[mask]).mean())
                of_image.bias[name] = level / float(photometry.luminance(truth[mask]).mean()) - 1
        setup = study.camera
        pictures_of = [
            photometry.to_srgb8(photometry.expose(x, media["exposure_s"], setup.fnumber, setup.iso))
            for x in (image, truth)
        ]
        ours, theirs = (image_features(x, visible) for x in pictures_of)
        of_image.features = {name: ours[name] - theirs[name] for name in ours}
        found.append(of_image)
        if pictures is not None:
            _write_pictures(
                pictures / f"{spec.view_id}-{item.name}.png",
                image * gain,
                truth * gain,
                [about_person, *on_shadow],
            )
    return found


def _truth(
    view: Any, item: Any, box: Box, samples: int, half: int, directions: np.ndarray
) -> np.ndarray:
    """Return half the truth of one lighting in a box, from the cache or rendered."""
    spec, study = view.spec, view.study
    content = {
        "blender": compat.blender_version(),
        "camera": asdict(view.camera),
        "factors": dict(spec.factors),
        "look_at_height_m": study.camera.look_at_height_m,
        "subject": asdict(view.subject),
        "vertices": hashlib.sha256(view.person.vertices_m.tobytes()).hexdigest(),
        "occluder": None if view.occluder is None else asdict(view.occluder),
        "scenery": scenery_version(str(spec.factors["scenery"])),
        "lighting": asdict(item),
        "box": box,
        "samples": samples,
        "half": half,
    }
    text = json.dumps(content, sort_keys=True)
    path = CACHE / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.npy"
    if not path.exists():
        lighting.light_whole(item)
        seed = seeds.cycles_seed(study.seed, spec.view_id, f"truth {half}")
        shot = render.Shot(samples, seed, box=box)
        passes = render.render_passes(stage.stage_scene(), shot)
        rgba = np.concatenate(
            [render.stacked(passes, "Combined", "RGB"), passes["Combined.A"][..., None]], axis=-1
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npy")
        np.save(part, rgba.astype(np.float32))
        part.replace(path)
    rgba = np.load(path)
    layers = {relight.whole_layer(item.name): rgba[..., :3]}
    stack = relight.Stack(layers, np.clip(rgba[..., 3], 0, 1), directions)
    return relight.compose(stack, item)


def _words(spec: Any) -> str:
    factors = spec.factors
    return (
        f"{factors['scenery']} {factors['distance_m']:g} m, azimuth {factors['azimuth_deg']:g}, "
        f"elevation {factors['elevation_deg']:g}, {factors['pose']}"
    )


def _psnr_db(image: np.ndarray, half: np.ndarray, other: np.ndarray) -> float:
    shown, right = (np.clip(x, 0, 1) ** (1 / 2.2) for x in (image, (half + other) / 2))
    one, two = (np.clip(x, 0, 1) ** (1 / 2.2) for x in (half, other))
    noise = float(((one - two) ** 2).mean()) / 4  # of the mean of both
    return -10 * math.log10(max(float(((shown - right) ** 2).mean()) - noise, 1e-7))


def _tiles(study: Study, view_id: str, size: tuple[int, int]) -> list[Box]:
    width, height = (min(_TILE_PX, length // 4) for length in size)
    return [
        (
            seeds.choice_index(study.seed, view_id, f"tile {i} x", size[0] - width),
            seeds.choice_index(study.seed, view_id, f"tile {i} y", size[1] - height),
            width,
            height,
        )
        for i in range(_TILES)
    ]


def _tiles_on(mask: np.ndarray, study: Study, view_id: str, size: tuple[int, int]) -> list[Box]:
    """Return tiles about some pixels of a mask, [] where it has none."""
    ys, xs = np.nonzero(mask)
    side = [min(_TILE_PX, length // 4) for length in size]
    found = []
    for i in range(_TILES if len(xs) else 0):
        k = seeds.choice_index(study.seed, view_id, f"shadow {i}", len(xs))
        corner = [
            int(np.clip(at - length // 2, 0, whole - length))
            for at, length, whole in zip((xs[k], ys[k]), side, size, strict=True)
        ]
        found.append((*corner, *side))
    return found


def _smoothed(image: np.ndarray, radius: int = 3) -> np.ndarray:
    side = 2 * radius + 1
    for axis in (0, 1):
        wide = np.pad(image, [(radius, radius) if i == axis else (0, 0) for i in (0, 1)], "edge")
        image = np.lib.stride_tricks.sliding_window_view(wide, side, axis).mean(axis=-1)
    return image


def _box_of(mask: np.ndarray, size: tuple[int, int]) -> Box:
    ys, xs = np.nonzero(mask)
    x0, y0 = max(int(xs.min()) - _PAD_PX, 0), max(int(ys.min()) - _PAD_PX, 0)
    x1 = min(int(xs.max()) + _PAD_PX + 1, size[0])
    y1 = min(int(ys.max()) + _PAD_PX + 1, size[1])
    return (x0, y0, x1 - x0, y1 - y0)


def _grown(mask: np.ndarray, pixels: int) -> np.ndarray:
    grown = mask.copy()
    for _ in range(pixels):
        wide = np.pad(grown, 1)
        grown = (
            wide[1:-1, 1:-1] | wide[:-2, 1:-1] | wide[2:, 1:-1] | wide[1:-1, :-2] | wide[1:-1, 2:]
        )
    return grown


def _write_pictures(path: Path, image: np.ndarray, truth: np.ndarray, boxes: Sequence[Box]) -> None:
    """Write fast, truth and amplified difference about some boxes."""
    x0, y0 = (min(box[i] for box in boxes) for i in (0, 1))
    x1, y1 = (max(box[i] + box[i + 2] for box in boxes) for i in (0, 1))
    part = (slice(y0, y1), slice(x0, x1))
    shown, right = (np.clip(x[part], 0, 1) ** (1 / 2.2) for x in (image, truth))
    difference = np.clip(0.5 + _AMPLIFIED * (shown - right), 0, 1)
    side_by_side = np.concatenate([shown, right, difference], axis=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, (side_by_side * 255 + 0.5).astype(np.uint8))


def table(found: Sequence[Compared]) -> str:
    """Return a Markdown table: per view and per lighting, mean and worst of each region."""
    lines = ["| | person dB | worst | bias % | shadow dB | worst | bias % | rest dB | worst |"]
    lines.append("|-|-|-|-|-|-|-|-|-|")
    groups = {"all": list(found)}
    for item in found:
        groups.setdefault(item.view, []).append(item)
    for item in found:
        groups.setdefault(item.lighting, []).append(item)
    for name, items in groups.items():
        cells = [name]
        for region in REGIONS:
            values = [item.psnr_db[region] for item in items if region in item.psnr_db]
            if not values:
                cells += ["", "", ""] if region != "rest" else ["", ""]
                continue
            cells += [f"{np.mean(values):.1f}", f"{min(values):.1f}"]
            if region != "rest":
                bias = [item.bias[region] for item in items if region in item.bias]
                cells.append(f"{100 * np.mean(bias):+.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    features: dict[str, list[float]] = {}
    for item in found:
        for name, change in item.features.items():
            features.setdefault(name, []).append(abs(change))
    lines += ["", "| feature | mean change | greatest |", "|-|-|-|"]
    lines += [f"| {n} | {np.mean(v):.4f} | {max(v):.4f} |" for n, v in features.items()]
    return "\n".join(lines)


def with_fraction(study: Study, fraction: float) -> Study:
    """Return a study whose persons stand behind something."""
    return replace(study, unoccluded_fractions=(fraction,))
