"""The fast method (unit layers, plate and crops) shows what the exact one (all at once) shows."""

import numpy as np
import pytest
from limen.addon.core import relight
from limen.addon.core.factors import poses_by_action, sample_views
from limen.addon.core.image_io import read_depth, read_layers, read_png
from limen.addon.core.lighting import ALPHA
from limen.addon.core.photometry import luminance
from limen.addon.core.poses import load_poses
from limen.addon.core.study import parse_study, resolve
from limen.addon.scene.view import render_view, set_up_view

pytestmark = pytest.mark.render

# Long shadows, all kinds of layers; a window just about the person, so that crops end inside.
STUDY = """\
name = "methods"
seed = 3
lightings = ["morning_east", "evening_west"]
sceneries = ["desert"]
actions = ["walking"]

[camera]
sensor = "syndorbench"
window = [128, 96]
distances_m = [23.04]
azimuths_deg = [0]
elevations_deg = [22.5]

[[subject]]
name = "sam"

[sampling]
views = 1
person_free = 0

[render]
method = "{method}"
samples = {samples}
denoise = "none"
"""
SIZE = (128, 96)
STRIP_PX, PIECE_PX = 4, 8
SAMPLES = {"fast": 16, "exact": 32}
POSES = {name: pose.action for name, pose in load_poses().items()}


@pytest.fixture(scope="module")
def images(blender, tmp_path_factory):
    """(lighting, method) -> luminance (h, w); boxes of the fast method's crops; method -> files."""
    found, boxes, files = {}, {}, {}
    for method, samples in SAMPLES.items():
        root = tmp_path_factory.mktemp(method)
        study = resolve(parse_study(STUDY.format(method=method, samples=samples)))
        (spec,) = sample_views(study, poses_by_action(study, POSES))
        view = set_up_view(study, spec)
        row, _ = render_view(view, root)
        files[method] = {
            "depth": read_depth(root / f"depth/{row['view_id']}.exr"),
            **{
                name: read_png(root / f"masks/{row['view_id']}.{name}.png")
                for name in ("visible", "full")
            },
        }
        plate = None
        if method == "fast":
            plate = read_layers(root / f"light/plates/{row['plate_id']}.exr")
            boxes = {layer["name"]: layer["box"] for layer in row["light"]["layers"]}
        directions = relight.pixel_directions(view.camera.K, view.camera_pose.R, *SIZE)
        crops = read_layers(root / f"light/crops/{row['view_id']}.exr")
        if plate is not None:
            files["unchanged"] = {
                name: unchanged(crop, plate[name]) for name, crop in crops.items() if name != ALPHA
            }
        stack = relight.stack_from_layers(plate, crops, directions)
        for lighting in study.lightings:
            image = relight.compose(stack, lighting)
            found[lighting.name, method] = luminance(image) / lighting.illuminance_lx
    return found, boxes, files


LIGHTINGS = pytest.mark.parametrize("lighting", ["morning_east", "evening_west"])


@LIGHTINGS
def test_both_are_equally_bright(images, lighting):
    found, _, _ = images
    fast, exact = found[lighting, "fast"], found[lighting, "exact"]
    assert fast.mean() == pytest.approx(exact.mean(), rel=0.01)


@LIGHTINGS
def test_they_differ_by_noise_alone(images, lighting):
    found, _, _ = images
    fast, exact = (
        found[lighting, method].reshape(12, 8, 16, 8).mean(axis=(1, 3)) for method in SAMPLES
    )
    difference = fast / exact - 1
    assert np.abs(difference).max() < 0.09
    assert difference.std() < 0.015


def test_where_the_person_changes_nothing_a_crop_is_its_plate(images):
    _, _, files = images
    for name, same in files["unchanged"].items():
        assert same.mean() > 0.3, name
        height, width = same.shape
        inner = same[height // 3 : -height // 3, width // 3 : -width // 3]
        assert inner.mean() < same.mean(), name


@LIGHTINGS
def test_no_seam_shows_where_a_crop_ends(images, lighting):
    found, boxes, _ = images
    difference = found[lighting, "fast"] / found[lighting, "exact"] - 1
    seams = [(name, *seam) for name, box in boxes.items() for seam in edges(difference, box)]
    assert len(seams) >= 4
    for name, edge, outside, inside in seams:
        step = inside.mean(axis=1) - outside.mean(axis=1)
        pieces = [piece.mean() for piece in np.array_split(step, len(step) // PIECE_PX)]
        assert abs(step.mean()) < 0.02, (name, edge)
        assert np.abs(pieces).max() < 0.1, (name, edge)


def test_masks_of_the_persons_box_are_those_of_the_whole_picture(images):
    _, _, files = images
    for name in ("visible", "full"):
        assert np.array_equal(files["fast"][name], files["exact"][name])
        assert (files["fast"][name] > 0).any()


def test_depth_is_the_same_from_plate_and_box_as_from_the_whole_picture(images):
    _, _, files = images
    fast, exact = files["fast"]["depth"], files["exact"]["depth"]
    assert np.array_equal(fast > 0, exact > 0)
    assert np.allclose(fast, exact, rtol=1e-3)


def unchanged(crop, plate):
    """Where a crop's pixels (h, w) are those of its plate."""
    x, y, width, height = crop.box
    return (crop.pixels == plate.pixels[y : y + height, x : x + width]).all(axis=-1)


def edges(image, box):
    """The strips outside and inside each edge of a box that lies within the image."""
    x, y, width, height = box
    flipped = (SIZE[0] - x - width, SIZE[1] - y - height)
    for edge, across, start, turned in (
        ("left", slice(y, y + height), x, image),
        ("right", slice(y, y + height), flipped[0], image[:, ::-1]),
        ("top", slice(x, x + width), y, image.T),
        ("bottom", slice(x, x + width), flipped[1], image[::-1].T),
    ):
        if start >= STRIP_PX:
            strips = turned[across]
            yield edge, strips[:, start - STRIP_PX : start], strips[:, start : start + STRIP_PX]
