"""How long opening a dataset of 100,000 index rows takes, and deciding what is left to render.

    python benchmarks/open_dataset.py [--views 7700] [--lightings 13]

Writes a dataset of empty images (in a temporary directory, about 131,000 files), then measures
``open_dataset`` with all rows read, and ``done_views``, which includes that.
"""

import argparse
import hashlib
import random
import tempfile
import time
from pathlib import Path

from limen.addon.core import dataset

EMPTY = {"size": 0, "sha256": hashlib.sha256(b"").hexdigest()}


def view_row(view_id: str, rng: random.Random) -> dataset.Row:
    """A view row as large as a real one."""
    joints = [[rng.uniform(-1, 1) for _ in range(3)] for _ in range(55)]
    return {
        "view_id": view_id,
        "family": "visibility",
        "factors": {"action": "walking", "distance_m": 20.0, "subject": "neutral", "texture": "a"},
        "target_present": True,
        "pose": {"name": "walk_1", "action": "walking", "axis_angle_rad": joints},
        "joints_m": joints,
        "joints_px": [joint[:2] for joint in joints],
        "plate_id": "p" + view_id[1:],
        "light": {
            "layers": [
                {"name": f"sun-{k}-30", "scale": 1.0, "box": [1, 2, 3, 4]} for k in range(15)
            ]
        },
        "files": {
            path.format(view_id): EMPTY
            for path in (
                "light/crops/{}.exr",
                "masks/{}.visible.png",
                "masks/{}.full.png",
                "depth/{}.exr",
            )
        },
    }


def index_row(view_id: str, lighting: str) -> dataset.Row:
    """An index row as large as a real one."""
    media_id = f"{view_id}-{lighting}"
    return {
        "id": media_id,
        "view_id": view_id,
        "lighting": lighting,
        "band": "day",
        "target_present": True,
        "action": "walking",
        "scenery": "desert",
        "pose": "walk_1",
        "subject": "neutral",
        "distance_m": 20.0,
        "azimuth_deg": 45.0,
        "elevation_deg": 22.5,
        "illuminance_nominal_lx": 20000.0,
        "illuminance_measured_lx": 19345.123456789,
        "exposure_s": 0.000123456789,
        "media": {
            "kind": "image",
            "clean": {
                "path": f"media/clean/{media_id}.png",
                **EMPTY,
            },
        },
    }


def main() -> None:
    """Write the dataset, measure three times, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--views", type=int, default=7700)
    parser.add_argument("--lightings", type=int, default=13)
    options = parser.parse_args()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        dataset.init_dataset(root, "")
        for name in ("light/crops", "masks", "depth", "media/clean"):
            (root / name).mkdir(parents=True)
        with dataset.PartWriter(root, "000") as writer:
            for number in range(options.views):
                view = view_row(f"v{number:012x}", rng)
                index = [index_row(view["view_id"], f"l{k}") for k in range(options.lightings)]
                for row in (view, *index):
                    for path in dataset.recorded_files(row):
                        (root / path).touch()
                writer.write(view, index)
        opened, decided = [], []
        for _ in range(3):
            start = time.perf_counter()
            rows = dataset.open_dataset(root)
            count = len(rows.index)
            opened.append(time.perf_counter() - start)
            del rows
            start = time.perf_counter()
            done = dataset.done_views(root)
            decided.append(time.perf_counter() - start)
    print(f"{options.views} views, {count} index rows, {len(done)} views done")
    print(f"open_dataset, all rows read: {sorted(opened)[1]:.2f} s")
    print(f"done_views, opening included: {sorted(decided)[1]:.2f} s")


if __name__ == "__main__":
    main()
