"""What a person's skin is painted with: Limen's procedural textures, or images on a UV layout.

An image only fits the layout that it was painted for. SMPL-X alone has two, and SMPLitex images
are in SMPL's; put on the wrong one, an eye lands on a cheek. So every image says its layout, by the
folder that it lies in, every body says which layouts it has, and what does not match is refused:

    ASSETS/textures/LAYOUT/NAME.png      an image (or .jpg)
    ASSETS/uv/LAYOUT.obj or .npz         a layout on the SMPL-X mesh; .npz holds vt and ft
    ASSETS/smplx_uv.obj                  the same, as published (also in uv, smplx, models/smplx)

LAYOUT is `smpl`, `smplx` (the original one, as in the vt and ft of genuine model files),
`smplx-addon` (that of the SMPL-X Blender add-on) or `limen` (MakeHuman's, which Limen's own bodies
have). A layout file comes before what the model file holds.
"""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .appearance import is_procedural, looks
from .assets import AssetError
from .body import Body
from .study import Subject

__all__ = [
    "IMAGE_ENDINGS",
    "LAYOUTS",
    "Texture",
    "UvMap",
    "find_texture",
    "layouts_that_show",
    "read_uv",
    "uv_maps",
]

_Floats = NDArray[np.floating[Any]]
_Ints = NDArray[np.integer[Any]]

LAYOUTS = ("smpl", "smplx", "smplx-addon", "limen")
"""UV layouts by name."""

# Layout of an image -> layouts that show it right. The add-on's was made to take SMPL's images.
_SHOWN_BY = {
    "smpl": ("smpl", "smplx-addon"),
    "smplx": ("smplx",),
    "smplx-addon": ("smplx-addon",),
    "limen": ("limen",),
}
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg")
_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
_PUBLISHED_UV = "smplx_uv.obj"
_UV_PLACES = ("", "uv", "smplx", "models/smplx")


@dataclass(frozen=True, eq=False)
class UvMap:
    """Texture coordinates of a body.

    Attributes:
        layout: One of `LAYOUTS`.
        uv: (T, 2) in 0..1, v upwards.
        faces: Indices (F, 3) into `uv`, corner by corner of the body's faces.
        source: The file that it was read from.
    """

    layout: str
    uv: _Floats
    faces: _Ints
    source: Path


@dataclass(frozen=True, eq=False)
class Texture:
    """A texture that is there.

    Attributes:
        name: As the study has it.
        image: The image file; None for a procedural one.
        sha256: Of the image file, "" for a procedural one: its name alone says what it is.
        uv: The coordinates that show the image right, None for a procedural one.
    """

    name: str
    image: Path | None = None
    sha256: str = ""
    uv: UvMap | None = None


def layouts_that_show(layout: str) -> tuple[str, ...]:
    """Return the layouts of a body that show an image of a layout right."""
    return _SHOWN_BY[layout]


def find_texture(
    subject: Subject, name: str, body: Body, body_file: Path, assets_dir: Path | None
) -> Texture:
    """Find a subject's texture, and the coordinates on its body that show it right.

    Args:
        subject: Whose; for messages, and the hashes that the study names.
        name: One of the subject's textures.
        body: The subject's body.
        body_file: Where that was read from.
        assets_dir: Where images and layouts lie.

    Raises:
        AssetError: No such texture, another file than the study names, a broken file, or an image
            for a layout that the body does not have.
    """
    if is_procedural(name):
        return Texture(name)
    images = _find_images(subject, name, assets_dir)
    maps = uv_maps(body, body_file, assets_dir)
    for layout, path in images.items():
        for wanted in _SHOWN_BY[layout]:
            if wanted in maps:
                return _checked(subject, Texture(name, path, "", maps[wanted]))
    layout, path = next(iter(images.items()))
    wanted = " or ".join(_SHOWN_BY[layout])
    raise AssetError(
        f"texture '{name}' of subject {subject.name} ({path}) is painted for the layout {layout}, "
        f"and the body '{subject.body}' has {' and '.join(maps) or 'none'}: it would be drawn in "
        f"the wrong places. {_remedy(body, wanted)}"
    )


def _remedy(body: Body, wanted: str) -> str:
    if body.shells:
        return (
            "Give the subject a genuine SMPL-X body, or one of Limen's own textures, as "
            "limen-texture-00000"
        )
    return (
        f"Put a layout file for {wanted} into the assets directory, as uv/{wanted.split()[0]}.obj"
    )


def _find_images(subject: Subject, name: str, assets_dir: Path | None) -> dict[str, Path]:
    """Layout -> file, for each layout that there is an image of this name for."""
    who = f"texture '{name}' of subject {subject.name}"
    if assets_dir is None:
        raise AssetError(
            f"{who} is not one of Limen's own (limen-texture-00000 and any other number; "
            f"{', '.join(looks())}): say where its image lies with --assets DIR"
        )
    folder = assets_dir / "textures"
    found: dict[str, Path] = {}
    for layout in LAYOUTS:
        for ending in IMAGE_ENDINGS:
            path = folder / layout / f"{name}{ending}"
            if path.is_file():
                found.setdefault(layout, path)
    if found:
        return found
    for ending in IMAGE_ENDINGS:
        for place in (assets_dir, folder):
            if (place / f"{name}{ending}").is_file():
                raise AssetError(
                    f"{who} is in {place}, where nothing says which layout it is painted for: move "
                    f"it to {folder}/LAYOUT, LAYOUT one of {', '.join(LAYOUTS)} (SMPLitex: smpl)"
                )
    raise AssetError(
        f"{who} was not found: looked for {folder}/LAYOUT/{name}.png and .jpg, LAYOUT one of "
        f"{', '.join(LAYOUTS)}; Limen's own are limen-texture-00000 and any other number"
    )


def _checked(subject: Subject, texture: Texture) -> Texture:
    """The texture with its hash, if its file is an image and the one that the study names."""
    assert texture.image is not None
    data = texture.image.read_bytes()
    if not data.startswith(_MAGIC):
        raise AssetError(f"{texture.image} is neither a PNG nor a JPEG image: get it anew")
    found = hashlib.sha256(data).hexdigest()
    named = dict(zip(subject.textures, subject.texture_sha256, strict=False)).get(texture.name, "")
    if named not in ("", found):
        raise AssetError(
            f"the texture '{texture.name}' of subject {subject.name} is another file "
            f"({texture.image}): its sha256 is {found} and the study's texture_sha256 {named}"
        )
    return Texture(texture.name, texture.image, found, texture.uv)


# ------------------------------------------------------------------------- layouts


def uv_maps(body: Body, body_file: Path, assets_dir: Path | None) -> dict[str, UvMap]:
    """The layouts that a body has, by name; a user's layout file comes before the body's own.

    Raises:
        AssetError: A layout file is broken, is for another mesh, or its layout cannot be told.
    """
    maps: dict[str, UvMap] = {}
    own = None
    if body.uv is not None and body.uv_faces is not None:
        name = "limen" if body.shells else "smplx"
        own = UvMap(name, body.uv, body.uv_faces, body_file)
    if assets_dir is not None and not body.shells:
        for layout in LAYOUTS[:3]:
            for ending in (".obj", ".npz"):
                path = assets_dir / "uv" / f"{layout}{ending}"
                if path.is_file() and layout not in maps:
                    maps[layout] = UvMap(layout, *read_uv(path, body), path)
        for place in _UV_PLACES:
            path = assets_dir / place / _PUBLISHED_UV
            if path.is_file():
                layout = _layout_of(path, read_uv(path, body), own)
                maps.setdefault(layout, UvMap(layout, *read_uv(path, body), path))
                break
    if own is not None:
        maps.setdefault(own.layout, own)
    return maps


def _layout_of(path: Path, uv: tuple[_Floats, _Ints], own: UvMap | None) -> str:
    """Which of SMPL-X's two layouts a published file holds: told by the model file's own."""
    if own is None:
        raise AssetError(
            f"{path}: the body's file has no coordinates of its own (vt, ft) to tell by which of "
            "SMPL-X's two layouts this is: name it uv/smplx.obj or uv/smplx-addon.obj"
        )
    here, there = uv[0][uv[1]], own.uv[own.faces]
    return "smplx" if np.abs(here - there).max() < 1e-3 else "smplx-addon"


def read_uv(path: Path, body: Body) -> tuple[_Floats, _Ints]:
    """Read a layout file: coordinates (T, 2), and indices (F, 3) by the corners of a body's faces.

    The file's faces may come in another order, and begin at another corner.

    Raises:
        AssetError: The file cannot be read, or is for another mesh.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as data:
                uv, faces = np.asarray(data["vt"], float), np.asarray(data["ft"], np.int64)
            corners = body.faces
        else:
            uv, faces, corners = _read_obj(path)
    except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise AssetError(f"{path} is no layout file ({error}): it holds faces with vt") from error
    if faces.shape != body.faces.shape or faces.ndim != 2 or uv.ndim != 2 or uv.shape[1] != 2:
        raise AssetError(
            f"{path} is for another mesh: it has {len(faces)} triangles, and {body.name} "
            f"{len(body.faces)}"
        )
    if faces.min() < 0 or faces.max() >= len(uv) or not np.isfinite(uv).all():
        raise AssetError(f"{path} is damaged: its faces point outside its {len(uv)} coordinates")
    matched = _matched(corners, faces, body.faces)
    if matched is None:
        raise AssetError(
            f"{path} is for another mesh: its triangles join other vertices than {body.name}'s"
        )
    return uv, matched


def _read_obj(path: Path) -> tuple[_Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Coordinates, and texture and vertex indices of the triangles of a Wavefront file."""
    uv, faces, corners = [], [], []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "vt":
            uv.append([float(x) for x in rest.split()[:2]])
        elif kind == "f":
            pairs = [corner.split("/") for corner in rest.split()]
            if len(pairs) != 3 or any(len(pair) < 2 or not pair[1] for pair in pairs):
                raise ValueError(f"a face is '{line.strip()}', and not three corners as in 1/1")
            corners.append([int(pair[0]) - 1 for pair in pairs])
            faces.append([int(pair[1]) - 1 for pair in pairs])
    return np.array(uv, float), np.array(faces, np.int64), np.array(corners, np.int64)


def _matched(corners: _Ints, uv_faces: _Ints, wanted: _Ints) -> _Ints | None:
    """Rows of ``uv_faces`` in the order of ``wanted``'s faces and corners; None if they differ."""

    def order(faces: _Ints) -> tuple[_Ints, _Ints]:
        by_vertex = np.argsort(faces, axis=1, kind="stable")
        return by_vertex, np.lexsort(np.take_along_axis(faces, by_vertex, axis=1).T[::-1])

    here, here_rows = order(corners)
    there, there_rows = order(wanted)
    sorted_here = np.take_along_axis(corners, here, axis=1)[here_rows]
    sorted_there = np.take_along_axis(wanted, there, axis=1)[there_rows]
    if not np.array_equal(sorted_here, sorted_there):
        return None
    values = np.empty_like(uv_faces)
    values[there_rows] = np.take_along_axis(uv_faces, here, axis=1)[here_rows]
    matched = np.empty_like(values)
    np.put_along_axis(matched, there, values, axis=1)
    return matched
