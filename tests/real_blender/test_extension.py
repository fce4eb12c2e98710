"""The extension in a real Blender: built, validated, installed, registered and removed by it."""

import json
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.real_blender


@pytest.fixture(scope="module")
def registration(installed, tmp_path_factory) -> dict:
    out = tmp_path_factory.mktemp("registration") / "report.json"
    printed = installed.run_script("registration.py", out)
    assert "Traceback" not in printed, printed
    return json.loads(out.read_text())


def names_in(archive):
    with zipfile.ZipFile(archive) as opened:
        return sorted(name for name in opened.namelist() if not name.endswith("/"))


def test_blender_builds_the_same_archive_as_make_extension(blender, archive, tmp_path):
    blender.run("--command", "extension", "build", "--source-dir", ROOT, "--output-dir", tmp_path)
    (built,) = tmp_path.glob("*.zip")
    assert built.name == archive.name
    assert names_in(built) == names_in(archive)


def test_blender_finds_the_archive_valid(blender, archive):
    assert "Success" in blender.run("--command", "extension", "validate", archive)


def test_the_extension_is_listed_once_installed(installed):
    assert "limen" in installed.run("--command", "extension", "list")


def test_the_next_blender_starts_with_the_extension_enabled(registration):
    assert registration["enabled at start"]
    assert registration["has preferences"]


def test_the_sidebar_tab_and_its_operators_are_registered(registration):
    assert registration["panels"]
    assert registration["operators"]


def test_all_it_registers_is_named_after_it(registration):
    added = set(registration["with"]["types"]) - set(registration["without"]["types"])
    assert added
    assert [name for name in added if not name.upper().startswith("LIMEN")] == []
    for owner, names in registration["with"]["properties"].items():
        new = set(names) - set(registration["without"]["properties"][owner])
        assert [name for name in new if not name.startswith("limen")] == []


def test_enabling_and_disabling_twenty_times_leaves_nothing_behind(registration):
    assert registration["after"] == registration["without"]


def test_a_factory_start_knows_nothing_of_it(installed, tmp_path):
    printed = installed.run(
        "-b", "--factory-startup", "--python-expr",
        "import bpy; print('operators', dir(bpy.ops.limen))",
    )  # fmt: skip
    assert "operators []" in printed


def test_removing_it_deletes_its_files(blender, archive, tmp_path):
    own = type(blender)(blender.executable, tmp_path)
    own.run("--command", "extension", "install-file", "-r", "user_default", "--enable", archive)
    assert list(tmp_path.rglob("limen/blender_manifest.toml"))
    own.run("--command", "extension", "remove", "limen")
    assert not list(tmp_path.rglob("limen/blender_manifest.toml"))
