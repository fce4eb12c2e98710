"""Test processes beside each other (pytest -n 2): what stays together, what is made once."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from limen.addon.core.dataset import DatasetError, exclusive

__all__ = ["BLENDERS", "group_of", "make_once", "shared_folder"]

BLENDERS = [Path(p) for p in os.environ.get("LIMEN_BLENDERS", "").split(os.pathsep) if p]


def group_of(nodeid: str, blenders: Sequence[str] = tuple(p.name for p in BLENDERS)) -> str:
    """Return what a test shares its worker with: its file, or the real Blender that it asks."""
    file, _, test = nodeid.partition("::")
    for name in blenders:
        if re.search(rf"\[{re.escape(name)}[-\]]", test):
            return name
    return file


def shared_folder(base_temp: Path) -> Path:
    """Return the folder that all workers have in common, of a worker's ``getbasetemp()``."""
    return base_temp.parent if "PYTEST_XDIST_WORKER" in os.environ else base_temp


def make_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Make a folder by ``make(folder)``, or wait until another worker has made it."""
    done = folder.with_name(f"{folder.name}.done")
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(exclusive(folder.with_name(f"{folder.name}.lock")))
                break
            except DatasetError:
                time.sleep(0.1)
        if not done.exists():
            make(folder)
            done.touch()
    return folder
