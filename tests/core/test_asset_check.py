"""What the check of an assets folder says: what is there, what is missing, what is wrong."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from limen.addon.core.asset_check import check_assets, images_in, licensed_bodies
from limen.addon.core.assets import find_body
from limen.addon.core.study import Subject
from small_body import PNG, write_body


def said(folder: Path, kind: str, state: str) -> list[str]:
    return [note.text for note in check_assets(folder) if (note.kind, note.state) == (kind, state)]


def test_a_folder_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    assert said(tmp_path / "gone", "folder", "fault") == [
        f"{tmp_path / 'gone'} is not there: choose another folder"
    ]


def test_an_empty_folder_misses_everything_and_nothing_is_wrong(tmp_path: Path) -> None:
    notes = check_assets(tmp_path)
    assert {note.state for note in notes} == {"missing"}
    assert [note.kind for note in notes] == ["body", "texture", "scenery", "motion"]


@pytest.mark.parametrize("place", ["", "smplx", "models/smplx"])
def test_a_body_is_named_as_studies_name_it_with_layout_and_hash(
    tmp_path: Path, place: str
) -> None:
    path = tmp_path / place / "SMPLX_MALE.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_body(path)
    (name,) = licensed_bodies(tmp_path)
    assert find_body(Subject("kim", name), tmp_path) == path
    (text,) = said(tmp_path, "body", "found")
    assert text.startswith(f"smplx-male: {path.relative_to(tmp_path).as_posix()}, ")
    assert "texture layout smplx" in text
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:12] in text


def test_a_broken_body_is_a_fault_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "SMPLX_MALE.npz").write_bytes(b"not a zip")
    (text,) = said(tmp_path, "body", "fault")
    assert "SMPLX_MALE.npz is not an .npz file" in text


def test_a_motion_file_is_no_body(tmp_path: Path) -> None:
    np.savez(tmp_path / "walk.npz", poses=np.zeros((2, 165)))
    assert licensed_bodies(tmp_path) == {}


def test_textures_are_told_with_the_bodies_that_they_fit(tmp_path: Path) -> None:
    write_body(tmp_path / "SMPLX_MALE.npz")
    for layout in ("smplx", "smpl"):
        (tmp_path / "textures" / layout).mkdir(parents=True)
        (tmp_path / "textures" / layout / f"for-{layout}.png").write_bytes(PNG)
    assert said(tmp_path, "texture", "found") == ["1 texture in textures/smplx: for smplx-male"]
    assert said(tmp_path, "texture", "fault") == [
        "1 texture in textures/smpl: no body here has its layout; put uv/smpl.obj or "
        "uv/smplx-addon.obj"
    ]
    assert list(images_in(tmp_path)) == ["for-smpl", "for-smplx"]


def test_an_image_beside_the_layouts_is_told_where_to_go(tmp_path: Path) -> None:
    (tmp_path / "skin.png").write_bytes(PNG)
    (text,) = said(tmp_path, "texture", "fault")
    assert "as skin.png: move to textures/LAYOUT" in text


def test_motions_and_own_sceneries_are_counted(tmp_path: Path) -> None:
    (tmp_path / "yard.blend").write_bytes(b"BLENDER")
    (tmp_path / "amass" / "CMU").mkdir(parents=True)
    (tmp_path / "amass" / "CMU" / "01_01.npz").write_bytes(b"")
    (tmp_path / "amass" / "walk.bvh").write_text("")
    assert said(tmp_path, "scenery", "found")[0].startswith("Scenery yard.blend, sha256 ")
    assert said(tmp_path, "motion", "found")[0].startswith("2 motion files in amass: ")
