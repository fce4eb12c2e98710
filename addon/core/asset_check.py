"""What lies in a folder of licensed assets: what of it Limen can use, what not, and why.

docs/subjects.md and docs/scenery.md say what is expected where.
"""

import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .assets import LICENSED_PLACES, LICENSED_PREFIX, AssetError, file_sha256
from .body import Body, BodyError, load_body
from .textures import IMAGE_ENDINGS, LAYOUTS, layouts_that_show, uv_maps

__all__ = ["AssetNote", "check_assets", "images_in", "licensed_bodies"]

_SMPLX_FILE = "SMPLX_"
_BODY_ARRAY = "v_template.npy"
_MOTION_ENDINGS = (".npz", ".bvh")
_NO_MOTION_FOLDERS = ("models", "smplx", "textures", "uv")
_SHORT_HASH = 12


@dataclass(frozen=True)
class AssetNote:
    """A sentence about an assets folder.

    Attributes:
        kind: ``folder``, ``body``, ``texture``, ``uv``, ``scenery`` or ``motion``.
        state: ``found``, ``missing`` (nothing is wrong, it is just not there) or ``fault``.
        text: What was found, or what to do.
    """

    kind: str
    state: str
    text: str


def licensed_bodies(folder: Path) -> dict[str, Path]:
    """Return logical name -> file of the bodies in an assets folder; none of them is read.

    ``SMPLX_MALE.npz`` is ``smplx-male``; any other file keeps its own name. Where two places have
    the same body the one that :func:`~.assets.find_body` takes is listed.
    """
    found: dict[str, Path] = {}
    for place in LICENSED_PLACES:
        for path in sorted((folder / place).glob("*.npz")):
            if path.name.startswith(_SMPLX_FILE):
                name = LICENSED_PREFIX + path.stem.removeprefix(_SMPLX_FILE).lower()
            elif _is_body(path):
                name = path.stem
            else:
                continue
            found.setdefault(name, path)
    return found


def _is_body(path: Path) -> bool:
    """Return whether a file's table of contents is that of a body."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _BODY_ARRAY in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def images_in(folder: Path) -> dict[str, dict[str, Path]]:
    """Return texture name -> layout -> image file, of an assets folder."""
    found: dict[str, dict[str, Path]] = {}
    for layout in LAYOUTS:
        for path in sorted((folder / "textures" / layout).glob("*")):
            if path.suffix.lower() in IMAGE_ENDINGS:
                found.setdefault(path.stem, {}).setdefault(layout, path)
    return dict(sorted(found.items()))


def check_assets(folder: Path) -> tuple[AssetNote, ...]:
    """Read all that lies in an assets folder where Limen looks for it, and say what it found."""
    if not folder.is_dir():
        return (AssetNote("folder", "fault", f"{folder} is not there: choose another folder"),)
    notes: list[AssetNote] = []
    bodies: dict[str, tuple[Body, Path]] = {}
    for name, path in licensed_bodies(folder).items():
        try:
            bodies[name] = load_body(path), path
        except BodyError as error:
            notes.append(AssetNote("body", "fault", str(error)))
    layouts: dict[str, tuple[str, ...]] = {}
    for name, (body, path) in bodies.items():
        layouts[name] = _layouts(body, path, folder, notes)
        has = " and ".join(layouts[name]) or "none"
        notes.append(
            AssetNote(
                "body",
                "found",
                f"{name}: {path.relative_to(folder).as_posix()}, {len(body.vertices_m)} vertices, "
                f"{body.shapedirs.shape[2]} shape coefficients, texture layout {has}, "
                f"sha256 {body.sha256[:_SHORT_HASH]}",
            )
        )
    if not bodies:
        notes.append(
            AssetNote(
                "body",
                "missing",
                "No SMPL-X body: put SMPLX_NEUTRAL.npz, SMPLX_MALE.npz or SMPLX_FEMALE.npz from "
                "smpl-x.is.tue.mpg.de here, into smplx or into models/smplx",
            )
        )
    notes += _texture_notes(folder, layouts)
    notes += _scenery_notes(folder)
    notes += _motion_notes(folder)
    return tuple(notes)


def _layouts(body: Body, path: Path, folder: Path, notes: list[AssetNote]) -> tuple[str, ...]:
    """Return the texture layouts that a body has; a broken layout file is noted once."""
    try:
        return tuple(uv_maps(body, path, folder))
    except AssetError as error:
        note = AssetNote("uv", "fault", str(error))
        if note not in notes:
            notes.append(note)
        return ()


def _texture_notes(folder: Path, layouts: dict[str, tuple[str, ...]]) -> list[AssetNote]:
    notes = []
    images = images_in(folder)
    counts = Counter(layout for by_layout in images.values() for layout in by_layout)
    for layout, count in counts.items():
        shown_by = layouts_that_show(layout)
        wearers = [name for name, has in layouts.items() if set(shown_by) & set(has)]
        if layout == "limen":
            wearers = ["Limen's own bodies", *wearers]
        what = f"{count} texture{'s' if count > 1 else ''} in textures/{layout}"
        if wearers:
            notes.append(AssetNote("texture", "found", f"{what}: for {', '.join(wearers)}"))
        else:
            needed = " or ".join(f"uv/{name}.obj" for name in shown_by)
            notes.append(
                AssetNote("texture", "fault", f"{what}: no body here has its layout; put {needed}")
            )
    stray = [
        path
        for place in (folder, folder / "textures")
        for path in sorted(place.glob("*"))
        if path.suffix.lower() in IMAGE_ENDINGS
    ]
    if stray:
        notes.append(
            AssetNote(
                "texture",
                "fault",
                f"{len(stray)} image{'s' if len(stray) > 1 else ''} beside the layouts, as "
                f"{stray[0].relative_to(folder).as_posix()}: move to textures/LAYOUT, LAYOUT one "
                f"of {', '.join(LAYOUTS)} (SMPLitex: smpl)",
            )
        )
    if not images and not stray:
        notes.append(
            AssetNote(
                "texture",
                "missing",
                "No textures: images lie in textures/smpl (SMPLitex), smplx, smplx-addon or limen",
            )
        )
    return notes


def _scenery_notes(folder: Path) -> list[AssetNote]:
    files = sorted(folder.glob("*.blend"))
    if not files:
        return [
            AssetNote(
                "scenery",
                "missing",
                "No scenery of your own: a NAME.blend lies here, or beside the study",
            )
        ]
    return [
        AssetNote(
            "scenery", "found", f"Scenery {path.name}, sha256 {file_sha256(path)[:_SHORT_HASH]}"
        )
        for path in files
    ]


def _motion_notes(folder: Path) -> list[AssetNote]:
    counts = {
        part.name: sum(path.suffix.lower() in _MOTION_ENDINGS for path in part.rglob("*"))
        for part in sorted(folder.iterdir())
        if part.is_dir() and part.name not in _NO_MOTION_FOLDERS
    }
    found = [
        AssetNote(
            "motion",
            "found",
            f"{count} motion file{'s' if count > 1 else ''} in {name}: 'limen poses select' makes "
            "poses of them",
        )
        for name, count in counts.items()
        if count
    ]
    if found:
        return found
    text = "No motions: AMASS or BVH files lie in a folder of their own, as amass"
    return [AssetNote("motion", "missing", text)]
