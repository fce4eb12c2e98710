"""Where the files lie that a study only names: Limen's own bodies, and licensed ones."""

from collections.abc import Sequence
from pathlib import Path

from .study import OwnScenery, Subject

__all__ = ["EMBEDDED_BODIES", "AssetError", "find_body", "find_scenery"]

EMBEDDED_BODIES = ("neutral", "male", "female")
_BODIES = Path(__file__).parent.parent / "data" / "bodies"
_LICENSED_PREFIX = "smplx-"
_LICENSED_PLACES = ("", "smplx", "models/smplx")


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
    if subject.body.startswith(_LICENSED_PREFIX):
        file_name = f"SMPLX_{subject.body.removeprefix(_LICENSED_PREFIX).upper()}.npz"
    else:
        file_name = f"{subject.body}.npz"
    places = [assets_dir / place / file_name for place in _LICENSED_PLACES]
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
