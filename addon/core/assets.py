"""Where the files lie that a study only names: Limen's own bodies, and licensed ones."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from .study import OwnScenery, Subject

__all__ = [
    "EMBEDDED_BODIES",
    "LICENSED_PLACES",
    "LICENSED_PREFIX",
    "AssetError",
    "file_sha256",
    "find_body",
    "find_scenery",
    "own_scenery_files",
]

EMBEDDED_BODIES = ("neutral", "male", "female")
_BODIES = Path(__file__).parent.parent / "data" / "bodies"
LICENSED_PREFIX = "smplx-"
LICENSED_PLACES = ("", "smplx", "models/smplx")


class AssetError(Exception):
    """A file that the study needs is not there; the message says where it was looked for."""


def find_body(subject: Subject, assets_dir: Path | None) -> Path:
    """Return the body file of a subject.

    ``neutral``, ``male`` and ``female`` are Limen's own. ``smplx-neutral`` (or male, female) is the
    genuine SMPL-X model: ``SMPLX_NEUTRAL.npz`` in the assets directory, in its ``smplx`` or in its
    ``models/smplx``. Any other name is ``NAME.npz`` there.

    Raises:
        AssetError: No such file.
    """
    if subject.body in EMBEDDED_BODIES:
        path = _BODIES / f"SMPLX_{subject.body.upper()}.npz"
        if not path.is_file():
            raise AssetError(
                f"the body '{subject.body}' of subject {subject.name} has not been built "
                f"({path} is missing): run 'make bodies'"
            )
        return path
    if assets_dir is None:
        raise AssetError(
            f"subject {subject.name} has the body '{subject.body}', which is not Limen's own "
            f"({', '.join(EMBEDDED_BODIES)}): say where its file lies with --assets DIR"
        )
    if subject.body.startswith(LICENSED_PREFIX):
        file_name = f"SMPLX_{subject.body.removeprefix(LICENSED_PREFIX).upper()}.npz"
    else:
        file_name = f"{subject.body}.npz"
    places = [assets_dir / place / file_name for place in LICENSED_PLACES]
    for path in places:
        if path.is_file():
            return path
    raise AssetError(
        f"the body '{subject.body}' of subject {subject.name} was not found: looked for "
        f"{', '.join(str(path) for path in places)}"
    )


def find_scenery(scenery: OwnScenery, folders: Sequence[Path]) -> Path:
    """Return the file ``NAME.blend`` of a study's own scenery: the first in some folders.

    Raises:
        AssetError: No such file.
    """
    places = [folder / f"{scenery.name}.blend" for folder in folders]
    for path in places:
        if path.is_file():
            return path
    raise AssetError(
        f"the scenery '{scenery.name}' was not found: looked for "
        f"{', '.join(str(path) for path in places)}; put the file beside the study, or say where "
        "it lies with --assets DIR"
    )


def own_scenery_files(
    sceneries: Sequence[OwnScenery], folders: Sequence[Path]
) -> list[tuple[OwnScenery, Path]]:
    """Return a study's own sceneries with the hash of their files, and where these lie.

    Args:
        sceneries: As the study declares them.
        folders: Where the files may lie, in order.

    Raises:
        AssetError: A file is not there, or is not the one that the study names.
    """
    found = []
    for scenery in sceneries:
        path = find_scenery(scenery, folders)
        sha256 = file_sha256(path)
        if scenery.blend_sha256 not in ("", sha256):
            raise AssetError(
                f"the scenery '{scenery.name}' is another file ({path}): its sha256 is {sha256} "
                f"and the study's blend_sha256 {scenery.blend_sha256}"
            )
        found.append((replace(scenery, blend_sha256=sha256), path))
    return found


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; an unchanged file is read once."""
    status = path.stat()
    return _sha256(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=32)
def _sha256(path: Path, _changed_ns: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
