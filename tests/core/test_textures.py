"""Which image fits which body, and what is said where none does."""

from pathlib import Path

import numpy as np
import pytest
from limen.addon.core.assets import AssetError
from limen.addon.core.body import Body, load_body
from limen.addon.core.study import Subject
from limen.addon.core.surface import Surface
from limen.addon.core.textures import find_texture, read_uv, uv_maps
from small_body import PNG, UV, UV_F, F, V, write_body


def obj(uv: np.ndarray = UV, faces: np.ndarray = F, uv_faces: np.ndarray = UV_F) -> str:
    lines = [f"vt {u} {v}" for u, v in uv]
    for face, coordinates in zip(faces, uv_faces, strict=True):
        pairs = zip(face + 1, coordinates + 1, strict=True)
        lines.append("f " + " ".join(f"{a}/{b}" for a, b in pairs))
    return "\n".join(lines)


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    write_body(tmp_path / "SMPLX_MALE.npz")
    for layout in ("smpl", "smplx", "smplx-addon", "limen"):
        folder = tmp_path / "textures" / layout
        folder.mkdir(parents=True)
        (folder / f"for-{layout}.png").write_bytes(PNG)
    (tmp_path / "uv").mkdir()
    return tmp_path


def texture(assets: Path | None, name: str, sha256: str = "", body: Body | None = None):
    path = (assets or Path()) / "SMPLX_MALE.npz"
    subject = Subject("kim", "smplx-male", textures=(name,), texture_sha256=(sha256,))
    return find_texture(subject, name, body or load_body(path), path, assets)


def test_limens_own_textures_need_no_file(assets: Path) -> None:
    found = texture(assets, "limen-texture-00007")
    assert (found.image, found.sha256, found.uv) == (None, "", None)


def test_the_model_files_own_coordinates_are_the_original_layout(assets: Path) -> None:
    found = texture(assets, "for-smplx")
    assert found.uv is not None and found.uv.layout == "smplx"
    np.testing.assert_array_equal(found.uv.uv[found.uv.faces], UV[UV_F])


def test_an_image_of_another_layout_is_refused_and_says_what_would_help(assets: Path) -> None:
    with pytest.raises(AssetError) as raised:
        texture(assets, "for-smpl")
    message = str(raised.value)
    assert "painted for the layout smpl, and the body 'smplx-male' has smplx" in message
    assert "Put a layout file for smpl or smplx-addon into the assets directory" in message


@pytest.mark.parametrize("layout", ["smpl", "smplx-addon"])
def test_a_layout_file_lets_smpl_images_be_shown(assets: Path, layout: str) -> None:
    (assets / "uv" / f"{layout}.obj").write_text(obj(UV * 0.5))
    found = texture(assets, "for-smpl")
    assert found.uv is not None and found.uv.layout == layout
    np.testing.assert_allclose(found.uv.uv[found.uv.faces], 0.5 * UV[UV_F])


def test_a_users_layout_file_comes_before_the_model_files_own(assets: Path) -> None:
    (assets / "uv" / "smplx.obj").write_text(obj(UV * 0.9))
    found = texture(assets, "for-smplx")
    assert found.uv is not None and found.uv.source == assets / "uv" / "smplx.obj"


@pytest.mark.parametrize("place", ["", "uv", "smplx", "models/smplx"])
@pytest.mark.parametrize(("scale", "layout"), [(1.0, "smplx"), (0.8, "smplx-addon")])
def test_the_published_layout_file_is_told_by_the_model_files_coordinates(
    assets: Path, place: str, scale: float, layout: str
) -> None:
    path = assets / place / "smplx_uv.obj"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(obj(UV * scale))
    file = assets / "SMPLX_MALE.npz"
    maps = uv_maps(load_body(file), file, assets)
    assert maps[layout].source == path


def test_without_coordinates_in_the_model_file_the_published_one_cannot_be_told(
    assets: Path,
) -> None:
    write_body(assets / "SMPLX_MALE.npz", vt=None, ft=None)
    (assets / "smplx_uv.obj").write_text(obj())
    with pytest.raises(AssetError, match=r"name it uv/smplx\.obj or uv/smplx-addon\.obj"):
        texture(assets, "for-smplx")


def test_faces_may_come_in_another_order_and_begin_elsewhere(assets: Path) -> None:
    path = assets / "uv" / "smplx.obj"
    path.write_text(obj(UV, F[::-1][:, [1, 2, 0]], UV_F[::-1][:, [1, 2, 0]]))
    uv, faces = read_uv(path, load_body(assets / "SMPLX_MALE.npz"))
    np.testing.assert_array_equal(uv[faces], UV[UV_F])


def test_coordinates_may_come_as_npz_indexed_through_ft(assets: Path) -> None:
    np.savez(assets / "uv" / "smpl.npz", vt=UV * 0.3, ft=UV_F)
    found = texture(assets, "for-smpl")
    assert found.uv is not None
    np.testing.assert_allclose(found.uv.uv[found.uv.faces], 0.3 * UV[UV_F])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (obj(faces=F[:1], uv_faces=UV_F[:1]), "another mesh: it has 1 triangles"),
        (obj(faces=np.array([[0, 1, 3], [1, 2, 3]])), "joins? other vertices"),
        (obj(uv_faces=UV_F + 3), "outside its 5 coordinates"),
        ("f 1 2 3", "no layout file .*'f 1 2 3'.*"),
        ("vt a b", "no layout file"),
        ("", "another mesh: it has 0 triangles"),
    ],
)
def test_a_layout_file_that_does_not_fit_is_refused(assets: Path, text: str, says: str) -> None:
    (assets / "uv" / "smpl.obj").write_text(text)
    with pytest.raises(AssetError, match=says):
        texture(assets, "for-smpl")


def test_limens_own_bodies_take_images_of_their_own_layout_alone(assets: Path) -> None:
    from dataclasses import replace

    plain = load_body(assets / "SMPLX_MALE.npz")
    shell = Surface(V, F, plain.weights, plain.shapedirs, np.arange(4))
    own = replace(plain, shells={"tights": shell})
    found = texture(assets, "for-limen", body=own)
    assert found.uv is not None and found.uv.layout == "limen"
    with pytest.raises(AssetError, match="Give the subject a genuine SMPL-X body"):
        texture(assets, "for-smpl", body=own)


# ------------------------------------------------------------------------- images


def test_the_hash_that_a_study_names_is_checked(assets: Path) -> None:
    found = texture(assets, "for-smplx")
    assert texture(assets, "for-smplx", found.sha256).sha256 == found.sha256
    with pytest.raises(AssetError, match=f"sha256 is {found.sha256} and the study's"):
        texture(assets, "for-smplx", "0" * 64)


def test_a_file_that_is_no_image_is_refused(assets: Path) -> None:
    (assets / "textures" / "smplx" / "for-smplx.png").write_bytes(b"<html>")
    with pytest.raises(AssetError, match="neither a PNG nor a JPEG"):
        texture(assets, "for-smplx")


def test_an_image_without_a_layout_is_not_guessed_at(assets: Path) -> None:
    (assets / "textures" / "kim.png").write_bytes(PNG)
    with pytest.raises(AssetError, match=r"nothing says which layout .* \(SMPLitex: smpl\)"):
        texture(assets, "kim")


def test_a_texture_that_is_not_there_says_where_it_was_looked_for(assets: Path) -> None:
    with pytest.raises(AssetError, match=r"was not found: .*textures/LAYOUT/kilt\.png"):
        texture(assets, "kilt")
    with pytest.raises(AssetError, match=r"not one of Limen's own .*--assets DIR"):
        texture(None, "kilt", body=load_body(assets / "SMPLX_MALE.npz"))
