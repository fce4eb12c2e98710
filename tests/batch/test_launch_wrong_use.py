"""A wrong launch ends with status 2 and says what to do, before anything is started or made."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from requirements import require

ROOT = Path(__file__).parents[2]
DONE, FAILED, WRONG_USE = 0, 1, 2


@pytest.fixture
def launch(small_study, tmp_path):
    """Run the launcher to its end; returns its status and what it says, never a traceback."""

    def run(*more, study=small_study, out=tmp_path / "out") -> tuple[int, str]:
        command = [sys.executable, ROOT / "batch" / "launch.py", "--study", study, "--out", out]
        done = subprocess.run(
            [*map(str, command), *map(str, more)], capture_output=True, text=True, timeout=110
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stderr

    return run


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--shards", "0"], "--shards: '0': a whole number from 1 to 2000 is needed"),
        (["--shards", "10000"], "--shards: '10000': a whole number from 1 to 2000 is needed"),
        (["--threads", "9" * 11], "a whole number from 1 to 1024 is needed"),
        (["--assets", "/nowhere"], "/nowhere: there is no such directory"),
        (["--assets", ""], "--assets: it is empty: a path is needed"),
        (["--address", "host:6379"], "--address goes with --engine ray, not with local"),
        (["--blender", "/no/blender"], "--blender '/no/blender': there is no program of that name"),
        (["--blender", "/tmp"], "--blender '/tmp': there is no program of that name"),
        (["--blender", ""], "--blender '': there is no program of that name"),
        (["--engine", "openjd", "--write", "job.txt"], "a template is a .yaml or .json file"),
        (["--engine", "slurm", "--slurm", "partition=a b"], "KEY=VALUE is needed, without spaces"),
        (["--engine", "ray", "--address", "nowhere"], "'nowhere' is no address of a Ray cluster"),
        (["--engine", "ray", "--address", "127.0.0.1:1"], "no Ray cluster at '127.0.0.1:1'"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_made(launch, tmp_path, more, says):
    begun = time.monotonic()
    status, said = launch(*more)
    assert (status, says in " ".join(said.split())) == (WRONG_USE, True), said
    assert time.monotonic() - begun < 60  # Ray itself knocks for minutes
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["slurm", "openjd"])
def test_a_file_that_cannot_be_written_is_named(launch, tmp_path, engine):
    (tmp_path / "file").touch()
    status, said = launch("--engine", engine, "--write", tmp_path / "file" / "job.json")
    assert status == WRONG_USE
    assert str(tmp_path / "file") in said


def test_the_study_is_not_overwritten_by_the_script(launch, small_study):
    text = small_study.read_text()
    status, said = launch("--engine", "slurm", "--write", small_study)
    assert (status, small_study.read_text()) == (WRONG_USE, text)
    assert "that is the study" in said


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("exit 0", "Is {blender} a Blender? It rendered nothing."),
        ("exit 1", "ended with status 1"),
        ("echo no such option; exit 2", "no such option"),
        ("kill -SEGV $$", "ended with signal SIGSEGV"),
    ],
)
def test_a_blender_that_dies_at_once_ends_the_launch(launch, tmp_path, code, says):
    blender = tmp_path / "blender"
    blender.write_text(f"#!/bin/sh\n{code}\n")
    blender.chmod(0o755)
    status, said = launch("--blender", blender, "--shards", "2")
    assert status == (WRONG_USE if "exit 2" in code else FAILED)
    assert says.format(blender=blender) in said
    assert "run the same command to go on once that is put right" in said


def test_there_are_no_more_processes_than_views(launch, tmp_path):
    script = tmp_path / "job.sbatch"
    assert launch("--engine", "slurm", "--shards", "100", "--write", script)[0] == DONE
    assert "#SBATCH --array=0-5\n" in script.read_text()
    template = tmp_path / "job.json"
    more = ("--engine", "openjd", "--shards", "100", "--write", template)
    assert launch(*more, "--limit", "2")[0] == DONE
    (step,) = json.loads(template.read_text())["steps"]
    assert step["parameterSpace"]["taskParameterDefinitions"][0]["range"] == "0-1"


def test_symbols_of_slurm_in_a_path_stay_what_they_are(launch, tmp_path):
    script = tmp_path / "job.sbatch"
    out = tmp_path / "100%A 'it'"
    assert launch("--engine", "slurm", "--write", script, out=out)[0] == DONE
    lines = script.read_text().splitlines()
    assert f"#SBATCH --output=\"{tmp_path}/100%%A 'it'/work/logs/%A_%a.log\"" in lines
    assert subprocess.run(["bash", "-n", script]).returncode == 0


@pytest.mark.parametrize("name", ["a\nb", 'a"b', "a\\b"])
def test_a_path_that_slurm_cannot_take_is_refused(launch, tmp_path, name):
    status, said = launch("--engine", "slurm", out=tmp_path / name)
    assert status == WRONG_USE
    assert "choose another name" in said


def test_a_path_that_openjd_would_compute_is_refused(launch, tmp_path):
    more = ("--engine", "openjd", "--write", tmp_path / "job.json")
    status, said = launch(*more, out=tmp_path / "{{Param.Out}}")
    assert status == WRONG_USE
    assert "choose another name" in said


def test_a_study_of_any_name_becomes_a_template_that_openjd_takes(launch, small_study, tmp_path):
    study = tmp_path / "ü 'x'\n.toml"
    study.write_text(small_study.read_text())
    template = tmp_path / "job.json"
    assert launch("--engine", "openjd", "--write", template, study=study)[0] == DONE
    openjd = require(str(Path(sys.executable).with_name("openjd")))
    checked = subprocess.run([openjd, "check", template], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
