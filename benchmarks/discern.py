"""What measuring features costs: CPU of a full-size pair, and memory over many images.

    python benchmarks/discern.py [pair] [memory] [--images 10000]

`pair`: CPU seconds of the eight published features of one 1920x1080 pair, raw and night vision,
with a person at 5.4 m (319 pixels tall): measuring alone, and with reading its three files.
`memory`: `limen discern features` over so many small images, its parent's and its workers' sizes as
it goes, images a second, and that a second run finds nothing to do.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from limen.addon.core.dataset import read_table
from limen.analysis.develop.run import develop_dataset
from limen.analysis.discern.features import FEATURES, FeatureSettings, image_features
from limen.analysis.images import read_image
from limen.analysis.synthetic import make_synthetic

HEIGHT_PX, WIDTH_PX = 1080, 1920
PERSON_PX = 319  # 1.7 m at 187.5 px/m, which the published camera has at 5.4 m


def scene(seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """A textured 1080p image with a figure in the middle, and its mask."""
    rng = np.random.default_rng(seed)
    mask = np.zeros((HEIGHT_PX, WIDTH_PX), np.uint8)
    top, left = (HEIGHT_PX - PERSON_PX) // 2, WIDTH_PX // 2
    cv2.ellipse(mask, (left, top + 24), (18, 24), 0, 0, 360, 255, -1)
    cv2.ellipse(mask, (left, top + 110), (42, 80), 0, 0, 360, 255, -1)
    for side in (-1, 1):
        foot = left + side * 30, top + PERSON_PX - 1
        cv2.line(mask, (left + side * 14, top + 170), foot, 255, 26)
        hand = left + side * 70, top + 170
        cv2.line(mask, (left + side * 30, top + 60), hand, 255, 16)
    ground = cv2.resize(rng.uniform(60, 140, (108, 192, 3)), (WIDTH_PX, HEIGHT_PX))
    image = np.where(mask[..., None] > 0, (90, 70, 110), ground)
    image = image + rng.normal(0, noise, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8), mask


def pair() -> None:
    """Print the CPU seconds of a pair."""
    images, mask = [scene(0, 4)[0], scene(1, 25)[0]], scene(0, 0)[1]
    settings = FeatureSettings()
    image_features(images[0], mask > 127, settings)  # imports
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / name for name in ("raw.png", "nv.png", "mask.png")]
        for path, picture in zip(paths, (*images, mask), strict=True):
            cv2.imwrite(str(path), picture)
        spent = {"measuring": [], "with reading": []}
        for _ in range(7):
            start = time.process_time()
            for image in images:
                found = image_features(image, mask > 127, settings)
            spent["measuring"].append(time.process_time() - start)
            start = time.process_time()
            read = [np.ascontiguousarray(read_image(path)[..., ::-1]) for path in paths[:2]]
            visible = read_image(paths[2], grey=True) > 127
            for image in read:
                image_features(image, visible, settings)
            spent["with reading"].append(time.process_time() - start)
    print(
        f"person of {PERSON_PX} px, {int((mask > 0).sum()):,} pixels; {len(FEATURES)} x 2 features"
    )
    print("night vision:", {name: round(value, 4) for name, value in found.items()})
    for name, seconds in spent.items():
        print(f"{name:14} {min(seconds):.3f} CPU s a pair (least of {len(seconds)}; limit 0.25)")


def memory(images: int) -> None:
    """Print the sizes of the processes of one long run."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "dataset"
        make_synthetic(root, views=24, window_px=64)
        develop_dataset(root, denoiser="none")
        shown = _multiply(root, images)
        command = [sys.executable, "-m", "limen.analysis.cli", "discern", "features", str(root)]
        start = time.monotonic()
        run = subprocess.Popen([*command, "--workers", "2"], stderr=subprocess.DEVNULL)
        table = root / "labels" / "features" / "000.jsonl"
        sizes = []
        due = 0.1
        while run.poll() is None:
            done = table.read_bytes().count(b"\n") if table.exists() else 0
            if done >= due * images:
                sizes.append((done, _resident_mb(run.pid)))
                due += 0.1
            time.sleep(0.5)
        seconds = time.monotonic() - start
        rows = read_table(table)
        assert run.returncode == 0 and len({row["id"] for row in rows}) == len(rows) == shown
        print(f"{len(rows):,} items in {seconds:.0f} s: {len(rows) / seconds:.0f} a second")
        for done, (parent, workers) in sizes:
            print(f"  after {done:6,}: parent {parent:.0f} MB, workers {workers} MB")
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        print("again:", again.stdout.strip().splitlines()[-1][:80])


def _multiply(root: Path, images: int) -> int:
    """Give the dataset's rows many names, until there are so many items; returns how many.

    Files are shared: what is measured is the same over and over, which costs the same.
    """
    (views, index, develop) = (
        root / name
        for name in ("views/synthetic.jsonl", "index/synthetic.jsonl", "develop/000.jsonl")
    )
    tables = {path: read_table(path) for path in (views, index, develop)}
    copies = -(-images // len(tables[index]))
    for path, rows in tables.items():
        with path.open("w") as file:
            for copy in range(copies):
                for row in rows:
                    text = json.dumps(row, sort_keys=True, separators=(",", ":"))
                    for view in tables[views]:
                        old = view["view_id"]
                        new = f"v{copy:05x}{old[6:]}"
                        for key in ("view_id", "id"):
                            text = text.replace(f'"{key}":"{old}', f'"{key}":"{new}')
                        # The mask is found by the view's name.
                        for kind in ("visible", "full"):
                            text = text.replace(f'"masks/{old}.{kind}', f'"masks/{new}.{kind}')
                    file.write(text + "\n")
    for view in tables[views]:
        for kind in ("visible", "full"):
            source = root / f"masks/{view['view_id']}.{kind}.png"
            for copy in range(copies):
                target = source.with_name(f"v{copy:05x}{source.name[6:]}")
                if source.exists() and not target.exists():
                    shutil.copy(source, target)
    return copies * len(tables[index])


def _resident_mb(pid: int) -> tuple[float, list[int]]:
    def one(process: str) -> float:
        text = Path(f"/proc/{process}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    sizes = sorted((round(one(child)) for child in children), reverse=True)
    return one(str(pid)), sizes[:2]


def main() -> None:
    """Run what is named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", default=["pair", "memory"])
    parser.add_argument("--images", type=int, default=10_000)
    arguments = parser.parse_args()
    for name in arguments.what:
        print(f"-- {name}")
        pair() if name == "pair" else memory(arguments.images)


if __name__ == "__main__":
    main()
