"""Where the bodies lie that a study names."""

import hashlib
from pathlib import Path

import pytest
from limen.addon.core import assets
from limen.addon.core.assets import (
    EMBEDDED_BODIES,
    AssetError,
    find_body,
    find_scenery,
    own_scenery_files,
)
from limen.addon.core.study import OwnScenery, Subject


@pytest.mark.parametrize("name", EMBEDDED_BODIES)
def test_limens_own_bodies_need_no_assets_directory(name):
    path = find_body(Subject("sam", name), None)
    assert path.name == f"SMPLX_{name.upper()}.npz"
    assert path.is_file()


def test_a_body_that_was_not_built_yet_says_how_to_build_it(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "_BODIES", tmp_path)
    with pytest.raises(AssetError, match=r"'male' of subject sam has not been built .*make bodies"):
        find_body(Subject("sam", "male"), None)


@pytest.mark.parametrize("place", ["", "smplx", "models/smplx"])
def test_a_licensed_body_is_found_where_its_publisher_puts_it(tmp_path, place):
    path = tmp_path / place / "SMPLX_FEMALE.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert find_body(Subject("kim", "smplx-female"), tmp_path) == path


def test_any_other_body_is_the_file_of_its_name(tmp_path):
    (tmp_path / "mannequin.npz").touch()
    assert find_body(Subject("kim", "mannequin"), tmp_path) == tmp_path / "mannequin.npz"


def test_a_body_that_is_not_there_is_named_with_every_place_looked_at(tmp_path):
    with pytest.raises(AssetError) as raised:
        find_body(Subject("kim", "smplx-male"), tmp_path)
    message = str(raised.value)
    assert "'smplx-male' of subject kim was not found" in message
    for place in ("", "smplx", "models/smplx"):
        assert str(tmp_path / place / "SMPLX_MALE.npz") in message


def test_without_an_assets_directory_the_error_asks_for_one():
    with pytest.raises(AssetError, match=r"kim has the body 'smplx-male'.*--assets DIR"):
        find_body(Subject("kim", "smplx-male"), None)


def test_a_directory_of_the_right_name_is_no_body(tmp_path):
    Path(tmp_path / "mannequin.npz").mkdir()
    with pytest.raises(AssetError, match="was not found"):
        find_body(Subject("kim", "mannequin"), tmp_path)


def test_a_scenery_of_ones_own_is_taken_from_the_first_folder_that_has_it(tmp_path):
    near, far = tmp_path / "near", tmp_path / "far"
    for folder in (near, far):
        folder.mkdir()
    (far / "yard.blend").touch()
    assert find_scenery(OwnScenery("yard"), [near, far]) == far / "yard.blend"
    (near / "yard.blend").touch()
    assert find_scenery(OwnScenery("yard"), [near, far]) == near / "yard.blend"


def test_a_missing_scenery_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(AssetError, match=r"'yard' was not found: looked for .*yard\.blend"):
        find_scenery(OwnScenery("yard"), [tmp_path])


def test_an_own_scenery_is_frozen_with_its_files_hash_and_another_file_is_refused(tmp_path):
    (tmp_path / "yard.blend").write_bytes(b"BLENDER")
    sha256 = hashlib.sha256(b"BLENDER").hexdigest()
    ((frozen, path),) = own_scenery_files([OwnScenery("yard")], [tmp_path])
    assert (frozen.blend_sha256, path) == (sha256, tmp_path / "yard.blend")
    with pytest.raises(AssetError, match=f"its sha256 is {sha256}"):
        own_scenery_files([OwnScenery("yard", blend_sha256="0" * 64)], [tmp_path])
