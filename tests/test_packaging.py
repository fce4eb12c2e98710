"""What the extension's archive and the wheel hold, and that the wheel works by itself."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from limen import __version__ as version

ROOT = Path(__file__).parent.parent
BODIES = {f"addon/data/bodies/SMPLX_{name}.npz" for name in ("FEMALE", "MALE", "NEUTRAL")}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def source_files() -> set[str]:
    """Every file that belongs to the repository, committed or not yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """The repository as a fresh clone with its bodies built: building leaves nothing in ours."""
    clone = tmp_path_factory.mktemp("clone") / "limen"
    for name in source_files() | BODIES:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, clone / name)
    return clone


@pytest.fixture(scope="module")
def extension(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("extension")
    subprocess.run([sys.executable, ROOT / ".ci/build_extension.py", out], check=True)
    (archive,) = out.glob("*.zip")
    return archive


@pytest.fixture(scope="module")
def wheel(clone, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, "."]
    subprocess.run(command, cwd=clone, check=True)
    (built,) = out.glob("*.whl")
    return built


def names_in(archive: Path) -> set[str]:
    with zipfile.ZipFile(archive) as opened:
        return {name for name in opened.namelist() if not name.endswith("/")}


def test_one_version_is_named_everywhere():
    assert tomllib.loads((ROOT / "blender_manifest.toml").read_text())["version"] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_package_is_listed_for_setuptools():
    found = {
        ".".join(("limen", *source.relative_to(ROOT).parent.parts))
        for top in ("addon", "analysis", "batch", "studies")
        for source in (ROOT / top).rglob("__init__.py")
    }
    assert set(project()["tool"]["setuptools"]["packages"]) == found | {"limen"}


@pytest.mark.parametrize(
    ("constraints", "extras"),
    [
        ("py311-bpy45.txt", {"bpy", "bm3d", "smplx", "test"}),
        ("py311.txt", {"test"}),
        ("py313.txt", {"test"}),
    ],
)
def test_every_direct_dependency_is_pinned_in_the_constraints(constraints, extras):
    def canonical(requirement: str) -> str:
        return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", requirement)[0]).lower()

    declared = project()["project"]
    required = list(declared["dependencies"])
    wanted = set(extras)
    while wanted:
        for requirement in declared["optional-dependencies"][wanted.pop()]:
            if own := re.fullmatch(r"limen\[(.+)\]", requirement):
                wanted |= set(own[1].split(","))
            else:
                required.append(requirement)
    pins = (ROOT / "constraints" / constraints).read_text().splitlines()
    pinned = {canonical(line) for line in pins if "==" in line}
    assert {canonical(r) for r in required} - pinned == set()


def test_the_extension_holds_what_blender_runs_and_nothing_else(extension):
    names = names_in(extension)
    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "__init__.py", "blender_manifest.toml", "LICENSE", "README.md", "CHANGELOG.md",
        "addon", "batch", "studies",
    }  # fmt: skip
    assert names - BODIES <= source_files()


def test_the_extension_holds_the_bodies_and_every_preset(extension):
    names = names_in(extension)
    assert names >= BODIES
    data = {name for name in source_files() if name.startswith(("addon/data/", "studies/"))}
    assert data <= names


def test_the_extension_stays_small(extension):
    assert extension.stat().st_size < 8e6


@pytest.mark.install
def test_the_wheel_holds_every_module_and_data_file_of_its_packages(wheel):
    held = {n.removeprefix("limen/") for n in names_in(wheel) if n.startswith("limen/")}
    packages = ("addon/", "analysis/", "batch/", "studies/", "docs/schema/")
    assert held == {n for n in source_files() if n.startswith(packages)} | BODIES | {"__init__.py"}


@pytest.mark.install
def test_the_wheel_evaluates_a_dataset_in_an_empty_environment_without_bpy(wheel, tmp_path):
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    bin_dir = environment / ("Scripts" if os.name == "nt" else "bin")
    python, limen = bin_dir / "python", bin_dir / "limen"
    constraints = ROOT / "constraints" / f"py{sys.version_info[0]}{sys.version_info[1]}.txt"
    subprocess.run([python, "-m", "pip", "install", "-q", "-c", constraints, wheel], check=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    assert run(python, "-c", "import importlib.util as u; print(u.find_spec('bpy'))") == "None\n"
    run(limen, "sample", "sample")
    run(limen, "check", "sample")
    run(limen, "evaluate", "sample", "--model", "hog")
    run(limen, "report", "sample")
    assert list((tmp_path / "sample").rglob("*.html"))
