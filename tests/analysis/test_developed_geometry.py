"""A lens bends image, mask, joints and boxes together, in the loop that develops a dataset."""

import json
import math
import shutil

import jsonschema
import numpy as np
import pytest
from light_files import record_sizes
from limen.addon.core.dataset import DatasetError, open_dataset
from limen.addon.core.image_io import LayerImage, read_layers, read_png, write_layers, write_png
from limen.addon.core.photometry import luminance, srgb_decode
from limen.analysis.check import check_dataset
from limen.analysis.develop import run, table
from limen.analysis.develop.compression import Compression, CompressionError, jpeg
from limen.analysis.develop.lens import LensError
from limen.analysis.develop.settings import DevelopChoiceError
from limen.analysis.synthetic import make_synthetic

SCHEMA = run.Path(run.__file__).parents[2] / "docs" / "schema" / "develop.schema.json"

# The images are a window of 9 degrees, where real lenses bend little: this one moves things by up
# to 3 pixels, and not alike in both directions.
STRONG = """
[[lens]]
name = "strong"
k1 = {k1}
p1 = 0.02
p2 = -0.03
"""
DAY = {"bands": ("day",), "variants": ("camera",)}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Views of 160 x 160 pixels under 3 lights. Read only."""
    root = tmp_path_factory.mktemp("small") / "dataset"
    return make_synthetic(root, views=3, window_px=160).root


@pytest.fixture
def root(small, tmp_path):
    shutil.copytree(small, tmp_path / "dataset")
    return tmp_path / "dataset"


@pytest.fixture(params=[-6.0, 5.0], ids=["barrel", "pincushion"])
def lens(request, tmp_path):
    path = tmp_path / "lens.toml"
    path.write_text(STRONG.format(k1=request.param))
    return str(path)


def shine(root, pattern) -> None:
    """Replace the light of every view with a person by a pattern (H, W) of it; nothing else."""
    for view in open_dataset(root).views.values():
        plate = root / f"light/plates/{view['plate_id']}.exr"
        size = view["camera"]["width"], view["camera"]["height"]
        box = (0, 0, *size)
        dark = {
            name: LayerImage(np.full_like(layer.pixels, float(name == "alpha")), box, 1.0)
            for name, layer in read_layers(plate).items()
        }
        write_layers(plate, dark, size)
        if view["target_present"]:
            light = np.repeat(pattern(view)[..., None], 3, axis=2).astype(np.float32)
            lit = {
                name: layer if name == "alpha" else LayerImage(light, box, 1.0)
                for name, layer in dark.items()
            }
            write_layers(root / f"light/crops/{view['view_id']}.exr", lit, size)
    record_sizes(root)


def developed_persons(root):
    """(row, geometry, luminance of the image) of each developed image of a person."""
    dataset = open_dataset(root)
    for row in table.with_variants(dataset).values():
        if row["target_present"] and "camera" in row["media"]:
            image = srgb_decode(read_png(root / row["media"]["camera"]["path"]) / 255)
            yield row, table.geometry_of(dataset, row, "camera"), luminance(image)


def centroid(image: np.ndarray) -> np.ndarray:
    y, x = np.indices(image.shape)
    return np.array([(x * image).sum(), (y * image).sum()]) / image.sum()


def test_the_mask_lies_on_the_developed_person_within_half_a_pixel(root, lens):
    # A person far off the axis, where a lens moves it by pixels, half as bright again around it.
    y, x = np.indices((160, 160), float)
    person = ((x - 108) / 34) ** 2 + ((y - 62) / 48) ** 2 < 1
    for path in (root / "masks").glob("*.png"):
        write_png(path, person.astype(np.uint8) * 255)
    shine(root, lambda view: 0.3 + 0.4 * person)
    run.develop_dataset(root, lens=lens, **DAY)
    for row, place, image in developed_persons(root):
        mask = read_png(table.mask_of(open_dataset(root), row, "camera")) > 0
        levels = np.median(image[mask]), np.median(image[10:-10, 10:-10][~mask[10:-10, 10:-10]])
        light = image > np.mean(levels)
        assert centroid(mask) == pytest.approx(centroid(light), abs=0.1)
        # Where they differ it is at the border, and on average by less than half a pixel.
        wrong = light != mask
        assert not (wrong & ~_edge(mask)).any()
        assert wrong.sum() < 0.25 * _edge(mask).sum()
        assert np.count_nonzero(light != person) > 2 * wrong.sum()  # the undistorted mask does not
        assert place["visible_px"] == np.count_nonzero(mask)


def _edge(inside: np.ndarray) -> np.ndarray:
    """The pixels on both sides of a mask's border."""
    padded = np.pad(inside, 1, mode="edge")
    around = [
        padded[1 + dy : padded.shape[0] - 1 + dy, 1 + dx : padded.shape[1] - 1 + dx]
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
    ]
    return np.logical_or.reduce(around) & ~np.logical_and.reduce(around)


def test_joints_lie_where_their_light_is_within_half_a_pixel(root, lens):
    spread = [[x, y] for x in (25.3, 80.0, 133.6) for y in (22.7, 78.2, 136.4)]
    for part in (root / "views").glob("*.jsonl"):
        rows = [json.loads(line) for line in part.read_text().splitlines()]
        for row in rows:
            if row["joints_px"]:
                row["joints_px"][: len(spread)] = spread
        part.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def lamps(view):
        y, x = np.indices((view["camera"]["height"], view["camera"]["width"]), float)
        return 0.1 + sum(np.clip(3 - np.hypot(x - px, y - py), 0, 1) for px, py in spread)

    shine(root, lamps)
    run.develop_dataset(root, lens=lens, **DAY)
    for _, place, image in developed_persons(root):
        moved = []
        for ideal, point in zip(spread, place["joints_px"], strict=False):
            x, y = np.rint(point).astype(int)
            around = np.s_[max(y - 7, 0) : y + 8, max(x - 7, 0) : x + 8]
            light = np.where(image > 0.4 * image.max(), image, 0)[around]
            found = centroid(light) + np.maximum([x - 7, y - 7], 0)
            assert found == pytest.approx(point, abs=0.5)
            moved.append(math.dist(point, ideal))
        assert max(moved) > 2


def test_rows_follow_the_schema_and_the_dataset_passes_the_check(root, lens):
    run.develop_dataset(root, lens=lens, denoiser="none", limit=3)
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    rows = table.read_develop(root)
    for row in rows.values():
        validator.validate(row)
        assert row["lens"]["name"] == "strong"
    checks = {check.name: check for check in check_dataset(root)}
    assert not any(check.problems for check in checks.values())
    assert checks["masks and joints of bent images"].checked > 0


def test_a_damaged_mask_of_a_bent_image_is_found_and_made_again(root, lens):
    run.develop_dataset(root, lens=lens, **DAY)
    dataset = open_dataset(root)
    row, place, _ = next(developed_persons(root))
    victim = table.mask_of(dataset, row, "camera", "full")
    whole = victim.read_bytes()
    victim.write_bytes((root / place["mask_visible"]["path"]).read_bytes()[::-1])
    problems = [p.where for check in check_dataset(root) for p in check.problems]
    assert victim.relative_to(root).as_posix() in problems
    victim.unlink()
    assert run.develop_dataset(root, lens=lens, **DAY).made == 1
    assert victim.read_bytes() == whole


def test_a_barrel_lens_says_how_much_of_an_image_was_not_rendered(root, tmp_path):
    path = tmp_path / "lens.toml"
    path.write_text(STRONG.format(k1=-6))
    summary = run.develop_dataset(root, lens=str(path), **DAY)
    shares = {row["geometry"]["missing_share"] for row in table.read_develop(root).values()}
    assert shares == {summary.missing_share}
    assert 0.02 < summary.missing_share < 0.2
    image = read_png(root / next(iter(table.read_develop(root).values()))["path"])
    assert image[0, 0].mean() < 15  # black, and read noise


def test_the_mask_of_an_image_without_a_lens_is_the_view_s(root):
    run.develop_dataset(root, **DAY)
    dataset = open_dataset(root)
    for row in table.with_variants(dataset).values():
        if "camera" not in row["media"]:
            with pytest.raises(DatasetError, match="has no image 'camera': limen develop"):
                table.mask_of(dataset, row, "camera")
        elif row["target_present"]:
            expected = root / f"masks/{row['view_id']}.visible.png"
            assert table.mask_of(dataset, row, "camera") == expected
            place = table.geometry_of(dataset, row, "camera")
            assert place["joints_px"] == dataset.views[row["view_id"]]["joints_px"]
        else:
            assert table.mask_of(dataset, row, "camera") is None


def test_a_lens_of_another_run_is_not_mixed(root, lens):
    run.develop_dataset(root, lens=lens, limit=1, **DAY)
    with pytest.raises(run.DevelopError, match=r"lens\.name strong, now None.*--redo"):
        run.develop_dataset(root, limit=1, **DAY)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STRONG.format(k1=-60), "k1 is -60: -10 to 10"),
        (STRONG.format(k1=-60).replace("p1", "k9"), "k9 is unknown"),
        (STRONG.format(k1=1) + STRONG.format(k1=2).replace("strong", "other"), "holds 2 presets"),
        ("k1 = 0.1", r"holds no table \[\[lens\]\]"),
        ("k1 = ", "is not valid TOML"),
    ],
)
def test_a_wrong_lens_file_is_refused_with_what_is_wrong(small, tmp_path, text, said):
    path = tmp_path / "lens.toml"
    path.write_text(text)
    with pytest.raises((LensError, DevelopChoiceError), match=said):
        run.develop_dataset(small, lens=str(path))


def test_a_lens_that_folds_the_image_is_refused_before_any_is_made(root, tmp_path):
    path = tmp_path / "lens.toml"
    path.write_text(STRONG.format(k1=-10).replace("p2 = -0.03", "k2 = -10"))
    study_view = next(iter(open_dataset(root).views.values()))
    wide = json.dumps(study_view["camera"]["K"][0][0])
    for part in (root / "views").glob("*.jsonl"):
        part.write_text(part.read_text().replace(wide, "200.0"))
    with pytest.raises(run.DevelopError, match=r"lens strong: .* turns back"):
        run.develop_dataset(root, lens=str(path))
    assert not (root / "media" / "camera").exists()


# Motion and compression


def test_motion_blurs_along_its_direction_and_is_in_the_row(root):
    shine(root, lambda view: _dot(view["camera"]))
    seen = {}
    for motion in (None, (1000.0, 0.0)):
        run.develop_dataset(
            root, motion_px_s=motion, bands=("night",), variants=("camera",), redo=True
        )
        row, _, image = next(developed_persons(root))
        developed = table.read_develop(root)[row["id"], "camera"]
        assert developed["motion_px_s"] == (list(motion) if motion else None)
        seen[motion] = image > image.max() / 2
    rows, columns = np.nonzero(seen[1000.0, 0.0])
    still = np.nonzero(seen[None])
    assert np.ptp(columns) - np.ptp(still[1]) == pytest.approx(40, abs=2)  # 1000 px/s for 1/25 s
    assert np.ptp(rows) == pytest.approx(np.ptp(still[0]), abs=1)


def _dot(camera):
    y, x = np.indices((camera["height"], camera["width"]), float)
    return 1e4 * np.clip(5 - np.hypot(x - 80, y - 80), 0, 1)


def test_a_compressed_image_is_the_uncompressed_one_after_the_codec(root):
    run.develop_dataset(root, limit=1, **DAY)
    (path,) = {row["path"] for row in table.read_develop(root).values()}
    plain = read_png(root / path)
    run.develop_dataset(root, limit=1, compression=Compression("jpeg", 30), redo=True, **DAY)
    assert np.array_equal(read_png(root / path), jpeg(plain, 30))
    assert table.read_develop(root)[run.Path(path).stem, "camera"]["compression"] == {
        "codec": "jpeg",
        "strength": 30,
    }


def test_a_size_that_the_codec_cannot_take_is_refused_before_any_is_made(root):
    for part in (root / "views").glob("*.jsonl"):
        part.write_text(part.read_text().replace('"width":160', '"width":159'))
    with pytest.raises(CompressionError, match="159x160 pixels is no video frame"):
        run.develop_dataset(root, compression=Compression("h264", 30))


@pytest.mark.parametrize("motion", [(math.nan, 0.0), (math.inf, 0.0), (1e6, 0.0)])
def test_a_motion_that_is_none_is_refused(small, motion):
    with pytest.raises(DevelopChoiceError, match="a second is none"):
        run.develop_dataset(small, motion_px_s=motion)
