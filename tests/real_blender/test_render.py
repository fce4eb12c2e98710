"""Headless rendering in a real Blender, held against the bpy wheel's render of the same study."""

import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from limen.addon.core.dataset import Dataset, compare, open_dataset
from limen.addon.core.image_io import read_depth, read_png

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "batch" / "render_grid.py"
STUDY = ROOT / "studies" / "ci.toml"
HEADLESS = ("-b", "--factory-startup", "-P", SCRIPT, "--")
DONE, WRONG_USE, PARTLY_DONE = 0, 2, 3

pytestmark = [pytest.mark.real_blender, pytest.mark.timeout(1200)]


@pytest.fixture
def reference(ci_dataset: Dataset) -> Dataset:
    """What the bpy wheel makes of the study."""
    return ci_dataset


@pytest.fixture(scope="session")
def rendered(blender, tmp_path_factory) -> Dataset:
    """What the real Blender makes of it, stopped by Ctrl-C after a view and started again."""
    out = tmp_path_factory.mktemp("rendered") / "ci"
    arguments = (*HEADLESS, "--study", STUDY, "--out", out)
    process = blender.start(*arguments)
    try:
        until = time.monotonic() + 300
        while not list(out.glob("media/clean/*.png")) and process.poll() is None:
            assert time.monotonic() < until, "no picture after 300 s"
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == PARTLY_DONE, printed
    stopped_at = len(open_dataset(out).views)
    printed = blender.run(*arguments, timeout_s=900)
    assert f"{stopped_at} views are done already" in printed
    return open_dataset(out)


def test_the_same_views_and_images_come_out(rendered, reference):
    assert rendered.views.keys() == reference.views.keys()
    assert rendered.index.keys() == reference.index.keys()


@pytest.mark.parametrize("kind", ["visible", "full"])
def test_masks_are_the_same_but_for_single_pixels(rendered, reference, kind):
    with_person = [v for v, row in reference.views.items() if row["target_present"]]
    assert with_person
    for view_id in with_person:
        name = f"masks/{view_id}.{kind}.png"
        mine, theirs = (read_png(d.root / name) > 0 for d in (rendered, reference))
        assert (mine & theirs).sum() >= 0.995 * (mine | theirs).sum(), view_id


def test_depth_is_the_same(rendered, reference):
    for view_id in reference.views:
        name = f"depth/{view_id}.exr"
        mine, theirs = (read_depth(d.root / name) for d in (rendered, reference))
        assert np.isclose(mine, theirs, rtol=1e-3).mean() > 0.99, view_id


def test_geometry_and_light_are_measured_alike(rendered, reference):
    for view_id, theirs in reference.views.items():
        mine = rendered.views[view_id]
        assert mine["camera"] == theirs["camera"]
        density = pytest.approx(theirs["density_measured_px_per_m"], rel=1e-3)
        assert mine["density_measured_px_per_m"] == density
        light = pytest.approx(theirs["light"]["irradiance_lx"], rel=1e-3)
        assert mine["light"]["irradiance_lx"] == light
        if theirs["target_present"]:
            joints = np.array(theirs["joints_px"])
            np.testing.assert_allclose(mine["joints_px"], joints, atol=0.01)


def test_images_are_equally_bright_and_differ_by_noise_alone(rendered, reference):
    for media_id, row in reference.index.items():
        name = row["media"]["clean"]["path"]
        mine, theirs = (read_png(d.root / name).astype(float) for d in (rendered, reference))
        assert mine.mean() == pytest.approx(theirs.mean(), rel=0.01, abs=0.1), media_id
        assert np.abs(mine - theirs).mean() < 8, media_id  # of 255; 4 samples a pixel


def test_the_check_finds_nothing_wrong(rendered):
    limen = Path(sys.executable).with_name("limen")
    done = subprocess.run(
        [limen, "check", "--complete", rendered.root], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_dataset_of_the_same_blender_is_equal_byte_for_byte(rendered, blender, tmp_path):
    out = tmp_path / "again"
    blender.run(*HEADLESS, "--study", STUDY, "--out", out, "--limit", "1")
    again = open_dataset(out)
    (view_id,) = again.views
    assert again.views[view_id] == rendered.views[view_id]  # with the hashes of its files
    for media_id, row in again.index.items():
        assert row == rendered.index[media_id]


def test_denoising_is_an_error_where_blender_was_built_without_it(blender, tmp_path):
    asked = "import _cycles; print('denoiser', _cycles.with_openimagedenoise)"
    if "denoiser True" in blender.run("-b", "--factory-startup", "--python-expr", asked):
        pytest.skip("this Blender can denoise: the bpy tests render with it")
    study = tmp_path / "oidn.toml"
    study.write_text(STUDY.read_text().replace('denoise = "none"', 'denoise = "oidn"'))
    printed = blender.run(*HEADLESS, "--study", study, "--out", tmp_path / "out", status=WRONG_USE)
    assert printed.count('render.denoise is "oidn"') == 1
    assert "Traceback" not in printed
    assert not (tmp_path / "out").exists()


def test_going_on_with_another_blender_is_refused_and_names_both(blender, reference, tmp_path):
    out = tmp_path / "mixed"
    shutil.copytree(reference.root, out)
    printed = blender.run(*HEADLESS, "--study", STUDY, "--out", out, status=WRONG_USE)
    theirs = next(iter(reference.views.values()))["render"]["blender"]
    assert f"begun with Blender {theirs}" in printed
    assert compare(out, reference.root) == []


def test_the_installed_extension_renders_by_its_own_script(installed, tmp_path):
    (script,) = installed.home.rglob("limen/batch/render_grid.py")
    study = script.parents[1] / "studies" / "ci.toml"
    out = tmp_path / "out"
    installed.run("-b", "-P", script, "--", "--study", study, "--out", out, "--limit", "1")
    assert len(open_dataset(out).views) == 1


def test_a_checkout_beside_an_extension_of_another_version_is_an_error_that_names_both(
    blender, archive, tmp_path
):
    other = tmp_path / "limen-9.9.9.zip"
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name in ("addon/core/version.py", "blender_manifest.toml"):
                data = data.replace(b'"0.1.0"', b'"9.9.9"')
            target.writestr(name, data)
    own = type(blender)(blender.executable, tmp_path / "home")
    own.run("--command", "extension", "install-file", "-r", "user_default", "--enable", other)
    printed = own.run(
        "-b", "-P", SCRIPT, "--", "--study", STUDY, "--out", tmp_path / "out", status=WRONG_USE
    )
    assert "9.9.9" in printed and "0.1.0" in printed
