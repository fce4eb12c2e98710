"""Developing a dataset: the variants, their table, and stopping and going on at any moment."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from light_files import record_sizes
from limen.addon.core.dataset import BusyError, DatasetError, compare, exclusive, open_dataset
from limen.addon.core.image_io import read_png
from limen.addon.core.photometry import srgb_decode
from limen.analysis import cli
from limen.analysis.check import check_dataset
from limen.analysis.develop import run, table
from limen.analysis.evaluate import EvaluateError, evaluate, read_runs
from limen.analysis.models import make_model
from limen.analysis.synthetic import make_synthetic
from typer.testing import CliRunner

SCHEMA = Path(run.__file__).parents[2] / "docs" / "schema" / "develop.schema.json"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """8 views of 48 x 48 pixels under 3 lights, 2 of them dark: 32 images. Read only."""
    return make_synthetic(tmp_path_factory.mktemp("small") / "dataset", views=6, window_px=48).root


@pytest.fixture
def root(small, tmp_path):
    shutil.copytree(small, tmp_path / "dataset")
    return tmp_path / "dataset"


@pytest.fixture(scope="module")
def developed(small, tmp_path_factory):
    """The small dataset, developed. Read only."""
    root = tmp_path_factory.mktemp("developed") / "dataset"
    shutil.copytree(small, root)
    develop(root)
    return root


def develop(root, **options):
    return run.develop_dataset(root, **{"denoiser": "nlm", **options})


def repeated(small: Path, root: Path, images: int) -> None:
    """Write a dataset of so many items: the small one's views again and again, under new ids."""
    root.mkdir()
    shutil.copy(small / "study.toml", root)
    shutil.copytree(small / "light" / "plates", root / "light" / "plates")
    (root / "light" / "crops").mkdir()
    dataset = open_dataset(small)
    lines: dict[str, list[str]] = {"views": [], "index": []}
    number = 0
    while len(lines["index"]) < images:
        for old, view in dataset.views.items():
            new = f"v{number:012x}"
            number += 1
            crop = small / "light" / "crops" / f"{old}.exr"
            if crop.exists():
                shutil.copy(crop, root / "light" / "crops" / f"{new}.exr")
            rows = [row for row in dataset.index.values() if row["view_id"] == old]
            lines["views"].append(json.dumps(view).replace(old, new))
            lines["index"] += [json.dumps(row).replace(old, new) for row in rows]
    for name, of_table in lines.items():
        (root / name).mkdir()
        (root / name / "000.jsonl").write_text("".join(f"{line}\n" for line in of_table))


def images_of(root: Path) -> dict[str, str]:
    """Path -> hash of every developed image."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for variant in table.VARIANTS
        for path in sorted((root / "media" / variant).glob("*"))
    }


def table_text(root: Path) -> str:
    return (root / "develop" / "000.jsonl").read_text()


# --- what is made --------------------------------------------------------------------------------


def test_evening_and_night_are_developed_in_both_variants_and_day_is_not(developed):
    rows = table.read_develop(developed)
    index = open_dataset(developed).index
    dark = {row_id for row_id, row in index.items() if row["band"] != "day"}
    assert set(rows) == {(row_id, variant) for row_id in dark for variant in ("camera", "nv")}
    for (row_id, variant), row in rows.items():
        assert row["path"] == f"media/{variant}/{row_id}.png"
        assert read_png(developed / row["path"]).shape == (48, 48, 3)


def test_rows_follow_the_schema_and_say_every_parameter(developed):
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for (_, variant), row in table.read_develop(developed).items():
        validator.validate(row)
        assert row["sensor"]["name"] == "cmos-1-2.8"
        assert (row["isp"] is None) == (variant == "camera")
        assert (row["gain_db"] > 0) == (variant == "nv")


def test_what_was_developed_passes_the_check_and_damage_to_it_is_found(developed, tmp_path):
    root = tmp_path / "dataset"
    shutil.copytree(developed, root)
    checks = {check.name: check for check in check_dataset(root)}
    assert not any(check.problems for check in checks.values())
    assert checks["develop table"].checked == 32
    victim = sorted((root / "media" / "nv").glob("*.png"))[0]
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    (problem,) = (p for check in check_dataset(root) for p in check.problems)
    assert problem.where == f"media/nv/{victim.name}"
    assert "has changed" in problem.what


def test_by_day_the_camera_shows_what_the_noise_free_image_shows(root):
    develop(root, bands=("day",), variants=("camera",))
    errors = []
    for row in open_dataset(root).index.values():
        if row["band"] == "day":
            clean = srgb_decode(read_png(root / row["media"]["clean"]["path"]) / 255)
            camera = srgb_decode(read_png(root / f"media/camera/{row['id']}.png") / 255)
            errors.append(camera.mean(axis=(0, 1)) / clean.mean(axis=(0, 1)) - 1)
    assert np.abs(errors).max() < 0.04


def test_night_vision_is_bright_where_the_camera_is_dark(developed):
    for row in table.read_develop(developed).values():
        mean = read_png(developed / row["path"]).mean()
        if row["id"].endswith("-night"):
            assert mean > 80 if row["variant"] == "nv" else mean < 30


def test_a_developed_dataset_is_equal_to_itself_as_it_was_rendered(small, developed):
    assert compare(small, developed) == []


# --- the same images, whatever happens -----------------------------------------------------------


def test_a_repeated_run_makes_nothing(developed):
    before = table_text(developed)
    times = {path: (developed / path).stat().st_mtime_ns for path in images_of(developed)}
    summary = develop(developed)
    assert (summary.made, summary.there) == (0, 32)
    assert table_text(developed) == before
    assert times == {path: (developed / path).stat().st_mtime_ns for path in times}


def test_an_image_alone_is_the_one_of_the_full_run(root, developed):
    develop(root, limit=1, bands=("night",), variants=("nv",))
    (only,) = images_of(root).items()
    assert only in images_of(developed).items()


def test_an_image_that_was_lost_or_cut_is_made_again(root, developed):
    develop(root, variants=("camera",))
    whole = images_of(root)
    lost, cut = (root / path for path in list(whole)[:2])
    lost.unlink()
    cut.write_bytes(cut.read_bytes()[:100])
    assert develop(root, variants=("camera",)).made == 2
    assert images_of(root) == whole


@pytest.mark.slow
@pytest.mark.slow  # 1,000 images, and a process that is killed
def test_500_images_killed_and_resumed_by_two_workers_equal_an_uninterrupted_run(small, tmp_path):
    repeated(small, tmp_path / "a", 500)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    options = {"bands": ("day", "evening", "night"), "variants": ("camera",)}
    develop(tmp_path / "a", **options)

    code = (
        "from pathlib import Path; from limen.analysis.develop.run import develop_dataset\n"
        "if __name__ == '__main__': develop_dataset(Path('b'), denoiser='nlm', workers=2, "
        f"bands={options['bands']}, variants={options['variants']})"
    )
    script = tmp_path / "develop_b.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, script], cwd=tmp_path)
    part = tmp_path / "b" / "develop" / "000.jsonl"
    wait_for(lambda: part.is_file() and part.read_bytes().count(b"\n") >= 100, process)
    process.kill()
    process.wait()
    there = len(table.read_develop(tmp_path / "b"))
    assert 100 <= there < 500

    def quiet():
        """Whether the killed run's workers, which end with it, have stopped writing."""
        before = images_of(tmp_path / "b")
        time.sleep(0.3)
        return images_of(tmp_path / "b") == before

    wait_for(quiet)
    with part.open("a") as file:
        file.write('{"id": "v0000')  # half a row of the killed writer
    summary = develop(tmp_path / "b", **options)
    assert summary.there == there
    assert table.read_develop(tmp_path / "b") == table.read_develop(tmp_path / "a")
    partial = {path for path in images_of(tmp_path / "b") if ".partial-" in path}
    made = {path: digest for path, digest in images_of(tmp_path / "b").items()}
    assert {p: made[p] for p in made.keys() - partial} == images_of(tmp_path / "a")


def wait_for(condition, process=None):
    deadline = time.monotonic() + 60
    while not condition():
        assert process is None or process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_ctrl_c_stops_with_130_and_leaves_what_goes_on(small, tmp_path):
    repeated(small, tmp_path / "a", 600)
    command = [sys.executable, "-m", "limen.analysis.cli", "develop", "a", "--denoiser", "nlm"]
    process = subprocess.Popen(
        [*command, "--workers", "2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        # A shell that starts the tests in the background lets them ignore Ctrl-C.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    part = tmp_path / "a" / "develop" / "000.jsonl"
    wait_for(lambda: part.is_file() and part.read_bytes().count(b"\n") >= 20, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The same command goes on where it stopped" in said
    assert "Traceback" not in said
    there = len(table.read_develop(tmp_path / "a"))
    summary = develop(tmp_path / "a")
    assert summary.there == there > 0
    assert summary.made > 0


# --- other settings ------------------------------------------------------------------------------


def test_images_of_other_settings_are_not_mixed_until_they_are_to_be_redone(root):
    develop(root)
    with pytest.raises(run.DevelopError, match=r"isp\.denoiser nlm, now none.*--redo"):
        develop(root, denoiser="none")
    with pytest.raises(run.DevelopError, match=r"sensor\.name cmos-1-2\.8, now cmos-1.*--redo"):
        develop(root, sensor="cmos-1", variants=("camera",))
    camera = {path: d for path, d in images_of(root).items() if "camera" in path}
    assert develop(root, denoiser="none", variants=("nv",), redo=True).made == 16
    rows = table.read_develop(root)
    assert {row["denoiser"] for row in rows.values()} == {None, "none"}
    assert camera.items() <= images_of(root).items()
    assert len(table_text(root).splitlines()) == len(rows)


def test_a_redo_that_was_killed_goes_on_without_asking_for_it_again(root):
    develop(root)
    table.drop_rows(root, lambda row: row["variant"] == "nv")  # what a redo begins with
    assert develop(root, denoiser="none", variants=("nv",)).made == 16


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"isp": "warm"}, "no ISP preset 'warm'; there are neutral-v1"),
        ({"denoiser": "magic"}, "no denoiser 'magic'; there are bm3d, nlm, none"),
        ({"sensor": "eye"}, "no sensor 'eye'; there are cmos-1-2.8"),
        ({"variants": ("raw",)}, "no variant 'raw'; there are camera, nv"),
        ({"bands": ("dawn",)}, "no band 'dawn'; there are day, evening, night"),
        ({"workers": 0}, "0 workers"),
    ],
)
def test_a_name_that_there_is_not_is_an_error_with_those_there_are(small, options, said):
    with pytest.raises(run.DevelopChoiceError, match=re.escape(said)):
        develop(small, **options)


def test_a_camera_that_no_sensor_model_fits_asks_for_one(root):
    study = root / "study.toml"
    study.write_text(study.read_text().replace("[1920, 1080]", "[1280, 720]"))
    with pytest.raises(run.DevelopChoiceError, match=r"pixels of 4\.17 um.*--sensor"):
        develop(root)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--motion", "fast"], "'fast' is no motion"),
        (["--motion", "nan,0"], "is none"),
        (["--jpeg", "50", "--video", "30"], "compressed once"),
        (["--jpeg", "0"], "'--jpeg'"),
        (["--workers", "1000"], "'--workers'"),
        (["--out", "page.html"], "--preview"),
        (["--lens", "glass"], "no lens 'glass'; there are barrel-mild"),
        (["--lens", "glass.toml"], "File of presets glass.toml cannot be read"),
        (["--address", "host:1"], "engine local has no address"),
    ],
)
def test_a_wrong_option_is_a_wrong_use_that_says_what_is_allowed(small, options, said):
    result = CliRunner().invoke(cli.app, ["develop", str(small), *options])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())


# --- what is wrong -------------------------------------------------------------------------------


def test_a_damaged_light_file_is_named_and_the_other_views_are_developed(root):
    victim = sorted((root / "light" / "crops").glob("*.exr"))[0]
    victim.write_bytes(b"not an image")
    summary = develop(root)
    (said,) = summary.failed
    assert victim.stem in said
    assert summary.made == 28
    result = CliRunner().invoke(cli.app, ["develop", str(root), "--denoiser", "nlm"])
    assert result.exit_code == 1
    assert victim.stem in result.stdout


def other_light(path: Path, value: float) -> None:
    """Write a light file anew, with red of another value, which no writer of ours writes."""
    import OpenImageIO

    source = OpenImageIO.ImageInput.open(str(path))
    parts = []
    while source.seek_subimage(len(parts), 0):
        spec = source.spec()
        parts.append((spec, source.read_image(len(parts), 0, 0, spec.nchannels, "half")))
    source.close()
    output = OpenImageIO.ImageOutput.create(str(path))
    output.open(str(path), tuple(spec for spec, _ in parts))
    for number, (spec, pixels) in enumerate(parts):
        if spec.nchannels == 3:
            pixels[..., 0] = value
        if number:
            output.open(str(path), spec, "AppendSubimage")
        assert output.write_image(pixels)
    output.close()


@pytest.mark.parametrize("value", [np.nan, np.inf, -60000.0])
@pytest.mark.parametrize("kind", ["crops", "plates"])
def test_light_that_no_light_is_fails_its_views_in_words(root, kind, value):
    views = open_dataset(root).views.values()
    view = next(view for view in views if view["target_present"] == (kind == "crops"))
    name = view["view_id"] if kind == "crops" else view["plate_id"]
    other_light(root / "light" / kind / f"{name}.exr", value)
    record_sizes(root)
    summary = develop(root, bands=("day", "evening", "night"))
    assert summary.made and summary.failed
    assert all("is damaged" in said for said in summary.failed)


def test_a_light_file_that_was_exchanged_is_noticed_by_its_size(root):
    first, second, *_ = sorted((root / "light" / "crops").glob("*.exr"))
    shutil.copy(first, second)
    with second.open("ab") as file:
        file.write(b"\0")
    (said,) = develop(root).failed
    assert second.stem in said and f"{second.stat().st_size} bytes" in said


@pytest.mark.parametrize(
    ("table_name", "old", "new"),
    [
        ("views", '"camera"', '"kamera"'),
        ("views", '"plate_id"', '"plateid"'),
        ("views", '"K":[[', '"K":[[[1],'),
        ("index", '"band":"', '"bandit":"'),
        ("index", '"lighting":"', '"lightning":"'),
    ],
)
def test_a_row_that_breaks_the_contract_is_named(root, table_name, old, new):
    for part in (root / table_name).glob("*.jsonl"):
        text = part.read_text()
        assert old in text
        part.write_text(text.replace(old, new))
    with pytest.raises(DatasetError, match=r"row that breaks the contract: v\w{12}.*limen check"):
        develop(root)


@pytest.mark.parametrize("redo", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        "{x",
        "[1]",
        '{"id":[1],"variant":"nv","settings":"x"}',
        '{"id":5,"variant":"nv","settings":"x"}',
        '{"id":"v","settings":"x"}',
        '{"id":"v","variant":"nv","settings":"x","geometry":[1]}',
    ],
)
def test_a_line_of_the_table_that_is_none_is_said_with_what_to_do(root, line, redo):
    part = root / "develop" / "000.jsonl"
    part.parent.mkdir()
    part.write_text(f"{line}\n")
    with pytest.raises(DatasetError, match=r"000\.jsonl:1 .*delete the line"):
        develop(root, redo=redo)
    assert part.read_text() == f"{line}\n"


def test_a_variant_that_is_named_twice_is_made_once(root):
    seen = []
    develop(root, variants=("nv", "nv"), limit=2, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1][0] == seen[-1][1]


def test_a_path_that_the_terminals_encoding_lacks_is_shown_escaped(small, tmp_path):
    root = tmp_path / "\u591c"
    shutil.copytree(small, root)
    done = subprocess.run(
        [sys.executable, "-m", "limen.analysis.cli", "develop", root, "--denoiser", "none"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert r"\u591c" in done.stdout


# --- who reads it --------------------------------------------------------------------------------


def test_evaluation_finds_the_variant_and_asks_about_its_bands(developed, tmp_path):
    root = tmp_path / "dataset"
    shutil.copytree(developed, root)
    dataset = open_dataset(root)
    summary = evaluate(dataset, make_model("always-yes"), variant="nv")
    assert summary.asked == 16
    (answers,) = read_runs(dataset)
    assert {row["band"] for row in answers.rows} == {"evening", "night"}
    hashes = {row["id"]: row["media_sha256"] for row in answers.rows}
    made = table.read_develop(root)
    assert hashes == {row_id: made[row_id, "nv"]["sha256"] for row_id in hashes}


def test_evaluation_of_what_is_not_developed_says_how_to(small, root):
    with pytest.raises(EvaluateError, match=r"24 of 24 items .* limen develop .*makes the others"):
        evaluate(open_dataset(small), make_model("always-yes"), variant="nv")
    develop(root, limit=2)
    with pytest.raises(EvaluateError, match=r"12 of 16 items .* limen develop .*makes the others"):
        evaluate(open_dataset(root), make_model("always-yes"), variant="nv")


@pytest.mark.parametrize("path", ["../outside.png", "/etc/hosts"])
def test_a_row_whose_path_leaves_the_dataset_is_refused(tmp_path, path):
    row = {"id": "v0-night", "variant": "nv", "path": path, "size": 1, "sha256": "0"}
    table.write_rows(tmp_path, [row | {"settings": "s"}])
    with pytest.raises(DatasetError, match=r"000\.jsonl:1 is no row of the develop table"):
        table.read_develop(tmp_path)


def test_two_do_not_develop_one_dataset_at_once(root):
    with exclusive(root / "develop/lock"), pytest.raises(BusyError, match="by another process"):
        develop(root, limit=1)
    assert not list((root / "media").glob("nv/*"))
