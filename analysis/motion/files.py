"""Motion files by their kind: read one, find many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .amass import is_motion, read_amass
from .bvh import read_bvh
from .clip import Clip, MotionError
from .deepmimic import read_deepmimic

__all__ = ["find_motions", "read_motion"]


def read_motion(path: Path) -> Clip:
    """Read a motion: AMASS (``.npz``), BVH (``.bvh``) or DeepMimic (``.txt``).

    Raises:
        MotionError: It cannot be used.
    """
    readers = {".npz": read_amass, ".bvh": read_bvh, ".txt": read_deepmimic}
    if path.suffix.lower() not in readers:
        raise MotionError(f"{path} is no motion file: allowed are {', '.join(readers)}")
    if not path.is_file():
        raise MotionError(f"{path} does not exist")
    return readers[path.suffix.lower()](path)


def find_motions(root: Path) -> Iterator[Path]:
    """Yield the motions under a directory, by name; what only lies beside them is left out."""
    for path in sorted(root.rglob("*")):
        deepmimic = path.suffix == ".txt" and path.name.startswith("humanoid3d_")
        if deepmimic or path.suffix.lower() == ".bvh" or is_motion(path):
            yield path
