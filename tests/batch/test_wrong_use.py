"""Wrong use ends with status 2 and says in a line what to do, before anything is rendered."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from limen.addon.core.dataset import PartWriter

pytestmark = pytest.mark.render


@pytest.fixture
def refused(render_grid, small_study, tmp_path):
    """Run with wrong arguments; returns what it says, a line or more, and never a traceback."""

    def run(*more, study=small_study, out=tmp_path / "out", status=2) -> list[str]:
        done = render_grid(study, out, *more, status=status)
        assert "Traceback" not in done.stderr
        assert not list(out.glob("media/**/*.png"))
        return done.stderr.splitlines()

    return run


@pytest.fixture
def changed(small_study, tmp_path):
    """Write the small study with a text replaced; returns its path."""

    def write(*replacements: tuple[str, str]) -> Path:
        text = small_study.read_text()
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "changed.toml"
        path.write_text(text)
        return path

    return write


def test_a_missing_study(refused, tmp_path):
    (line,) = refused(study=tmp_path / "none.toml")
    assert line == f"Study {tmp_path}/none.toml cannot be read: No such file or directory"


def test_a_faulty_study_with_every_fault_and_its_line(refused, changed):
    study = changed(
        ("seed = 5", "seed = -5"),
        ('["desert"]', '["dessert"]'),
        ("[56, 96]", "[56, 97]"),
        ('"none"', '"nlm"'),
        ("views = 3", "veiws = 3"),
    )
    lines = refused(study=study)
    text = study.read_text().splitlines()
    for key, value in {
        "seed": "seed = -5",
        "sceneries": 'sceneries = ["dessert"]',
        "camera.window": "window = [56, 97]",
        "render.denoise": 'denoise = "nlm"',
        "sampling.veiws": "veiws = 3",
    }.items():
        (fault,) = (line for line in lines if line.startswith(f"Study {key}"))
        assert f"changed.toml:{text.index(value) + 1}" in fault
    assert len(lines) == 5


@pytest.mark.parametrize("shard", ["3/3", "1", "a/b", "-1/2", "0/0", "1/2000000000"])
def test_a_shard_that_is_none(refused, shard):
    assert refused(f"--shard={shard}")[-1].startswith(
        f"render_grid.py: error: argument --shard: '{shard}': i/N with i from 0 to N - 1 is "
        "needed, as in 0/3"
    )


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--sample", "4"], "unrecognized arguments: --sample 4"),
        (["--limit", "0"], "argument --limit: '0': a whole number above 0 is needed"),
        (["--limit", "9" * 5000], "argument --limit: '9999"),
        (["--threads", "99999999999"], "--threads: '99999999999': a whole number from 1 to 1024"),
        (["--json"], "--json goes with --preflight"),
        (["--assets", ""], "argument --assets: it is empty: a path is needed"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
        (["--assets", "/nowhere"], "argument --assets: /nowhere: there is no such directory"),
    ],
)
def test_an_argument_that_cannot_be(refused, more, says):
    assert says in refused(*more)[-1]


def test_no_arguments_at_all(grid_command):
    done = subprocess.run(grid_command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        "the following arguments are required: --study, --out"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' paths are text")
def test_a_path_that_blender_cannot_take(refused, tmp_path):
    (line,) = refused(out=Path(os.fsdecode(bytes(tmp_path) + b"/\xff")))[-1:]
    assert "is not UTF-8, which Blender's paths are" in line
    assert refused("--out", "")[-1].endswith("argument --out: it is empty: a path is needed")


def test_a_path_that_blender_would_take_for_one_beside_its_file(
    render_grid, small_study, small_dataset, tmp_path
):
    done = render_grid(f"/{small_study}", f"/{tmp_path}/dataset", "--limit", "1")
    assert "prefix" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith(f": {tmp_path}/dataset")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("after_s", [0, 0.2, 0.5])
def test_ctrl_c_while_blender_starts_ends_at_once_with_the_same_advice(
    grid_command, small_study, tmp_path, after_s
):
    command = [*grid_command, "--study", small_study, "--out", tmp_path / "out"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + 60
    while "/bpy/" not in Path(f"/proc/{process.pid}/maps").read_text():  # it is being imported
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.005)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 3, said
    assert "Traceback" not in said
    assert "run the same command to go on" in said


def test_a_dataset_of_another_study(refused, changed, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "study.toml").write_text('name = "other"\n')
    (line,) = refused(out=out)
    assert f"{out} holds a dataset of another study; choose another output directory" in line


def test_a_directory_with_other_files(refused, tmp_path):
    (tmp_path / "thesis.odt").touch()
    (line,) = refused(out=tmp_path)
    assert "is not empty and holds no study.toml (found" in line


def test_an_output_that_cannot_be_made(refused, tmp_path):
    (tmp_path / "file").touch()
    (line,) = refused(out=tmp_path / "file" / "dataset")
    assert str(tmp_path / "file" / "dataset") in line


def test_a_body_that_is_not_there(refused, changed):
    study = changed(('name = "sam"', 'name = "sam"\nbody = "smplx-male"'))
    (line,) = refused(study=study)
    assert "sam has the body 'smplx-male'" in line and "--assets DIR" in line


def test_a_body_that_is_another_file_than_the_studys(refused, changed):
    study = changed(('name = "sam"', f'name = "sam"\nbody_sha256 = "{"0" * 64}"'))
    (line,) = refused(study=study)
    assert "the body 'neutral' of subject sam is another file" in line


def test_a_gpu_where_there_is_none(refused):
    (line,) = refused("--device", "gpu")[-1:]
    assert "no GPU that Cycles can use was found" in line


def test_a_dataset_that_another_blender_has_begun(refused, small_dataset, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(small_dataset.root, out, ignore=shutil.ignore_patterns("media"))
    (part,) = out.glob("views/*.jsonl")
    part.write_text(re.sub(r'"blender":"[^"]*"', '"blender":"4.2.0"', part.read_text()))
    (line,) = refused(out=out)
    assert "was begun with Blender 4.2.0 and this is" in line


def test_a_dataset_whose_poses_have_changed(refused, small_dataset, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(small_dataset.root, out, ignore=shutil.ignore_patterns("media"))
    (part,) = out.glob("views/*.jsonl")
    rows = [json.loads(line) for line in part.read_text().splitlines()]
    changed = next(row for row in rows if row["pose"])
    changed["pose"]["axis_angle_rad"][16][2] += 0.001
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (line,) = refused(out=out)
    name = changed["pose"]["name"]
    assert f"view {changed['view_id']} shows another {name} than" in line and "LIMEN_POSES" in line


def test_a_part_that_another_run_writes(refused, small_dataset, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(small_dataset.root, out, ignore=shutil.ignore_patterns("media"))
    with PartWriter(out, "shard-0-of-1"):
        lines = refused(out=out)
    assert "part 'shard-0-of-1'" in lines[-1] and "has a writer already" in lines[-1]


def test_preflight_tells_the_cost_of_what_is_left(render_grid, small_study, small_dataset):
    done = render_grid(small_study, small_dataset.root, "--preflight")
    assert done.stdout == (
        "0 views, 0 images, 0 backgrounds: about 0 s and 0 GB on this machine; "
        "6 views are done already\n"
    )


def test_preflight_as_json_has_the_keys_that_limen_run_reads(render_grid, small_study, tmp_path):
    out = tmp_path / "out"
    done = render_grid(small_study, out, "--preflight", "--json", "--limit", "4")
    cost = json.loads(done.stdout)
    assert (cost["views"], cost["images"], cost["plates"], cost["done"]) == (4, 4, 2, 0)
    assert cost["seconds"] > 0 and cost["bytes"] > 0
    assert not out.exists()
