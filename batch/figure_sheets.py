"""Contact sheets of people: every pose of the library from four sides, and people at random.

    python -m limen.batch.figure_sheets --size 160 --out sheets

A row is a pose, a column a side; each action is a sheet. `people.png` shows twelve looks.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import register
from ..addon.core import seeds
from ..addon.core.image_io import write_png
from ..addon.core.poses import actions, load_poses
from ..addon.core.study import RANDOM_BETAS, RANDOM_BETAS_LIMIT, Subject

__all__ = ["main"]

_SIDES_DEG = (0.0, 90.0, 180.0, 270.0)
_BODIES = ("male", "female", "neutral")
_PEOPLE = 12
_PEOPLE_IN_A_ROW = 6


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the sheets that the arguments ask for; returns the exit status."""
    library = actions(load_poses())
    parser = argparse.ArgumentParser(
        prog="figure_sheets",
        description="Render contact sheets of poses and people.",
        epilog="Example: python -m limen.batch.figure_sheets --action walking --out sheets",
    )
    parser.add_argument("--action", nargs="*", choices=[*library], default=[*library])
    parser.add_argument("--people", type=int, default=0, metavar="N", help="first texture's number")
    parser.add_argument("--size", type=int, default=240, metavar="PX", help="of a picture's side")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args(arguments)
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        register()
    from ..addon.operators.figure import figure_picture

    options.out.mkdir(parents=True, exist_ok=True)

    def save(name: str, rows: list[list[np.ndarray]]) -> None:
        path = options.out / f"{name}.png"
        write_png(path, np.concatenate([np.concatenate(row, axis=1) for row in rows]))
        print(path, flush=True)

    people = [_person(options.people + n) for n in range(_PEOPLE)]
    standing = load_poses()["standing_relaxed"]
    pictures = [figure_picture(who, standing, 25.0, options.size) for who in people]
    starts = range(0, _PEOPLE, _PEOPLE_IN_A_ROW)
    save("people", [pictures[k : k + _PEOPLE_IN_A_ROW] for k in starts])
    for action in options.action:
        rows = [
            [figure_picture(people[i % 3], pose, yaw, options.size) for yaw in _SIDES_DEG]
            for i, pose in enumerate(library[action])
        ]
        save(f"pose-{action}", rows)
    return 0


def _person(number: int) -> Subject:
    name = f"limen-texture-{number:05d}"
    betas = seeds.normal(0, name, "betas", RANDOM_BETAS, limit=RANDOM_BETAS_LIMIT)
    return Subject(name, _BODIES[number % 3], betas=tuple(betas.tolist()), textures=(name,))


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the bpy wheel may hang when it cleans up
