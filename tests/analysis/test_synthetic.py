import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from limen.addon.core import image_io, photometry
from limen.addon.core.body import PARENTS
from limen.addon.core.dataset import (
    DatasetError,
    compare,
    file_record,
    open_dataset,
    recorded_files,
)
from limen.addon.core.factors import view_id
from limen.addon.core.optics import project
from limen.addon.core.relight import compose, pixel_directions, stack_from_layers
from limen.addon.core.study import load_study
from limen.analysis.synthetic import make_synthetic

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def with_person(synthetic_dataset):
    return [view for view in synthetic_dataset.views.values() if view["target_present"]]


def mask(dataset, view, kind):
    return image_io.read_png(dataset.root / f"masks/{view['view_id']}.{kind}.png") > 0


def light(dataset, view):
    """The plate and the crops of a view."""
    plate = image_io.read_layers(dataset.root / f"light/plates/{view['plate_id']}.exr")
    crop = f"light/crops/{view['view_id']}.exr"
    return plate, image_io.read_layers(dataset.root / crop) if crop in view["files"] else {}


# --- the contract --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["view", "index"])
def test_every_row_follows_its_schema(synthetic_dataset, name):
    schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    rows = synthetic_dataset.views if name == "view" else synthetic_dataset.index
    for row_id, row in rows.items():
        assert not list(validator.iter_errors(row)), row_id


@pytest.mark.parametrize("name", ["view", "index"])
def test_the_schema_refuses_a_key_that_is_missing_or_unknown(synthetic_dataset, name):
    schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())
    rows = synthetic_dataset.views if name == "view" else synthetic_dataset.index
    row = next(iter(rows.values()))
    validator = jsonschema.Draft202012Validator(schema)
    for key in row:
        without = {k: value for k, value in row.items() if k != key}
        assert not validator.is_valid(without), key
    assert not validator.is_valid({**row, "extra": 1})


@pytest.mark.parametrize("name", ["view", "index"])
def test_the_contract_documents_every_key_of_the_schema(name):
    schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())
    text = (ROOT / "docs/dataset.md").read_text(encoding="utf-8")
    section = text.partition(f"## {name.capitalize()} row")[2].partition("\n## ")[0]
    table = "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", table)) == set(schema["properties"])


def test_files_are_as_recorded_and_there_are_no_others(synthetic_dataset):
    recorded = {}
    for rows in (synthetic_dataset.views, synthetic_dataset.index):
        for row in rows.values():
            recorded |= recorded_files(row)
    for path, record in recorded.items():
        assert file_record(synthetic_dataset.root / path).items() <= record.items(), path
    there = {
        path.relative_to(synthetic_dataset.root).as_posix()
        for name in ("light", "media", "masks", "depth")
        for path in (synthetic_dataset.root / name).rglob("*")
        if path.is_file()
    }
    assert there == set(recorded)


def test_the_frozen_study_loads_and_names_the_lightings_of_the_rows(synthetic_dataset):
    study = load_study(synthetic_dataset.root / "study.toml")
    lightings = {lighting.name: lighting for lighting in study.lightings}
    assert len(synthetic_dataset.index) == len(synthetic_dataset.views) * len(lightings)
    for row in synthetic_dataset.index.values():
        assert row["id"] == f"{row['view_id']}-{row['lighting']}"
        assert row["band"] == lightings[row["lighting"]].band
        assert row["illuminance_nominal_lx"] == lightings[row["lighting"]].illuminance_lx


def test_ids_are_those_of_the_factors(synthetic_dataset):
    for view in synthetic_dataset.views.values():
        assert view_id(view["family"], view["factors"]) == view["view_id"]


def test_it_has_what_an_analysis_needs_to_tell_apart(synthetic_dataset, with_person):
    assert {row["band"] for row in synthetic_dataset.index.values()} == {"day", "evening", "night"}
    assert len({view["factors"]["distance_m"] for view in with_person}) == 3
    assert len(synthetic_dataset.views) == 15 and len(with_person) == 12
    hidden = [view for view in with_person if view["unoccluded_fraction"] < 0.9]
    assert 2 <= len(hidden) <= 6


# --- one scene in all pictures -------------------------------------------------------------------


def test_masks_agree_with_the_numbers_of_the_row(synthetic_dataset, with_person):
    for view in with_person:
        visible, full = (mask(synthetic_dataset, view, kind) for kind in ("visible", "full"))
        assert not (visible & ~full).any()
        assert (view["visible_px"], view["full_px"]) == (visible.sum(), full.sum())
        assert view["visible_area_share"] == visible.sum() / visible.size
        x, y, width, height = view["box_full"]
        inside = full[y : y + height, x : x + width]
        assert inside.sum() == full.sum()
        assert inside.any(axis=0)[[0, -1]].all() and inside.any(axis=1)[[0, -1]].all()


def test_joints_lie_on_the_person(synthetic_dataset, with_person):
    for view in with_person:
        full = np.pad(mask(synthetic_dataset, view, "full"), 1)
        joints = np.array(view["joints_px"])[:22]  # without fingers, which are thinner than pixels
        near = [full[y : y + 3, x : x + 3].any() for x, y in np.rint(joints).astype(int)]
        assert np.mean(near) >= 0.95, view["view_id"]


def test_joints_in_the_image_are_those_in_the_world_seen_by_the_camera(with_person):
    for view in with_person:
        camera = view["camera"]
        seen = project(view["joints_m"], camera["K"], camera["R"], camera["t"])
        np.testing.assert_allclose(view["joints_px"], seen, atol=1e-9)
        eye = -np.array(camera["R"]).T @ camera["t"]
        np.testing.assert_allclose(camera["position_m"], eye, atol=1e-9)


def test_poses_bend_the_skeleton_and_never_stretch_it(with_person):
    joints = np.array([view["joints_m"] for view in with_person])
    lengths = np.linalg.norm(joints[:, 1:] - joints[:, PARENTS[1:]], axis=-1)
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[0], lengths.shape), atol=1e-9)


def test_depth_is_planar_and_the_ground_lies_at_height_0(synthetic_dataset):
    for view in synthetic_dataset.views.values():
        camera = view["camera"]
        depth = image_io.read_depth(synthetic_dataset.root / f"depth/{view['view_id']}.exr")
        row = np.array([10.0, camera["height"] - 1.0])  # ground in every view
        z = depth[int(row[1]), int(row[0])]
        ray = np.linalg.inv(camera["K"]) @ [*row, 1.0]
        point = np.array(camera["R"]).T @ (z * ray - camera["t"])
        if view["factors"]["scenery"] == "field":  # boulders stand there in the desert
            assert abs(point[2]) < 1e-3 * z


def test_depth_is_0_where_alpha_is(synthetic_dataset):
    for view in synthetic_dataset.views.values():
        plate, crops = light(synthetic_dataset, view)
        depth = image_io.read_depth(synthetic_dataset.root / f"depth/{view['view_id']}.exr")
        camera = view["camera"]
        directions = pixel_directions(camera["K"], camera["R"], camera["width"], camera["height"])
        alpha = stack_from_layers(plate, crops, directions).alpha
        np.testing.assert_array_equal(depth > 0, alpha > 0.999)


def test_nearer_than_the_background_are_only_the_persons_pixels(synthetic_dataset, with_person):
    for view in with_person:
        depth = image_io.read_depth(synthetic_dataset.root / f"depth/{view['view_id']}.exr")
        person = depth[mask(synthetic_dataset, view, "visible")]
        distance = view["factors"]["distance_m"]
        assert abs(np.median(person) - distance) < 0.5, view["view_id"]


# --- light ---------------------------------------------------------------------------------------


def test_images_are_composed_of_their_light_stack(synthetic_dataset):
    study = load_study(synthetic_dataset.root / "study.toml")
    setup = study.camera
    for view in synthetic_dataset.views.values():
        camera = view["camera"]
        plate, crops = light(synthetic_dataset, view)
        directions = pixel_directions(camera["K"], camera["R"], camera["width"], camera["height"])
        stack = stack_from_layers(plate, crops, directions)
        for lighting in study.lightings:
            row = synthetic_dataset.index[f"{view['view_id']}-{lighting.name}"]
            signal = photometry.expose(
                compose(stack, lighting), row["exposure_s"], setup.fnumber, setup.iso
            )
            clean = image_io.read_png(synthetic_dataset.root / row["media"]["clean"]["path"])
            np.testing.assert_array_equal(photometry.to_srgb8(signal), clean)


def test_layers_in_the_row_are_those_of_the_light_file(synthetic_dataset):
    for view in synthetic_dataset.views.values():
        _, crops = light(synthetic_dataset, view)
        assert view["light"]["layers"] == [
            {"name": name, "scale": layer.scale, "box": list(layer.box)}
            for name, layer in crops.items()
        ]


def test_at_the_border_of_its_crop_a_view_looks_like_its_plate(synthetic_dataset, with_person):
    for view in with_person:
        plate, crops = light(synthetic_dataset, view)
        x, y, width, height = crops["sun-180-60"].box
        crop = crops["sun-180-60"].pixels
        behind = plate["sun-180-60"].pixels[y : y + height, x : x + width]
        difference = np.abs(crop - behind).max(axis=(0, 2))
        if x > 0:
            assert difference[0] < 0.02
        if x + width < view["camera"]["width"]:
            assert difference[-1] < 0.02


def test_the_open_place_is_lit_as_the_lighting_says(synthetic_dataset):
    for row in synthetic_dataset.index.values():
        # Colours of the presets have luminance 1 to six decimals.
        assert row["illuminance_measured_lx"] == pytest.approx(
            row["illuminance_nominal_lx"], rel=1e-5
        )


def test_night_is_dark_at_the_longest_exposure(synthetic_dataset):
    night = [row for row in synthetic_dataset.index.values() if row["lighting"] == "night"]
    assert {row["exposure_s"] for row in night} == {0.04}
    day = [row for row in synthetic_dataset.index.values() if row["band"] == "day"]
    assert max(row["exposure_s"] for row in day) < 1e-3


# --- making it -----------------------------------------------------------------------------------


def test_it_is_the_same_to_the_byte_every_time_and_another_with_another_seed(tmp_path):
    small = {"views": 3, "window_px": 64}
    make_synthetic(tmp_path / "a", seed=1, **small)
    make_synthetic(tmp_path / "b", seed=1, **small)
    make_synthetic(tmp_path / "c", seed=2, **small)
    assert compare(tmp_path / "a", tmp_path / "b") == []
    assert set(open_dataset(tmp_path / "c").views) != set(open_dataset(tmp_path / "a").views)


def test_made_again_it_stays_as_it_is(tmp_path):
    for _ in range(2):
        dataset = make_synthetic(tmp_path, views=3, window_px=32)
    lines = (tmp_path / "views/synthetic.jsonl").read_bytes().splitlines()
    assert len(lines) == len(dataset.views)


def test_a_person_that_does_not_fit_the_image_is_truncated(tmp_path):
    views = make_synthetic(tmp_path / "a", views=3, window_px=64).views.values()
    near = [v for v in views if v["target_present"] and v["density_nominal_px_per_m"] > 60]
    assert near and all(view["truncated"] for view in near)


def test_it_is_not_written_over_other_files(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(DatasetError, match="not empty"):
        make_synthetic(tmp_path)
