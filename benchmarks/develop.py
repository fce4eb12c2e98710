"""What developing costs: each stage, the denoisers and their quality, workers, memory.

    python benchmarks/develop.py [stages] [denoisers] [workers] [memory]
                                 [--lux 0.3] [--width 1920] [--profiles full lc]

`stages`: CPU seconds of every step of a 1920x1080 image but the denoiser. `denoisers`: PSNR in
linear light after the gain that fits best, and seconds, of the setting that is used and of some of
the package's own profiles (vn and high take hours: --width 960 takes a quarter). `workers`: images
a second with one and two processes. `memory`: a process's size after 100 and after 500 images.
"""

import argparse
import json
import math
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest import mock

import cv2
import numpy as np
from limen.addon.core.dataset import open_dataset
from limen.addon.core.image_io import write_png
from limen.addon.core.lighting import load_lightings
from limen.addon.core.photometry import luminance, meter, to_srgb8
from limen.addon.core.relight import Stack, compose
from limen.addon.core.study import load_study
from limen.analysis.develop import denoise, isp
from limen.analysis.develop import run as develop
from limen.analysis.develop.sensor import demosaic, expose_raw, load_sensor_models, saturation_iso
from limen.analysis.synthetic import make_synthetic

SENSOR = load_sensor_models()["cmos-1-2.8"]
NEUTRAL = isp.load_isp_presets()["neutral-v1"]
SHUTTER_S, FNUMBER = 0.04, 1.4


def night_scene(lux: float, width: int) -> np.ndarray:
    """A synthetic view under the night's light, in cd/m2, 16:9."""
    height = width * 9 // 16
    with tempfile.TemporaryDirectory() as directory:
        dataset = make_synthetic(Path(directory) / "dataset", views=6, window_px=height // 2 * 2)
        study = load_study(dataset.root / "study.toml")
        night = next(light for light in study.lightings if light.band == "night")
        views = [view for view in dataset.views.values() if view["target_present"]][:2]
        images = [
            compose(develop.load_stack(dataset.root, view), replace(night, illuminance_lx=lux))
            for view in views
        ]
    whole = np.ascontiguousarray(np.concatenate(images, axis=1)[:, :width])
    return np.minimum(whole, np.percentile(whole, 99.9))  # no moon: its disc would be all the error


def cpu_s(work: Callable[[], object], times: int = 5) -> float:
    """CPU seconds of this process, all threads: the least of several times."""
    least = math.inf
    for _ in range(times):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


@mock.patch.object(denoise, "_DENOISERS", {"bm3d": lambda stable, taps, strength: stable})
def stages(lux: float, width: int) -> None:
    """Print the CPU seconds of every step but the denoiser."""
    scene = night_scene(lux, width)
    raw = expose_raw(scene, SHUTTER_S, FNUMBER, SENSOR, seed=1, image_id="bench")
    mosaic = isp.linearise(raw)
    iso = saturation_iso(SENSOR)
    whole = replace(NEUTRAL, binning_below_e=0)
    signal = denoise.denoise(mosaic, whole) / np.float32(SENSOR.saturation_e) * np.float32(100)
    night = load_lightings()["night"]
    layers = {part.layer: scene for part in night.components}
    stack = Stack(layers, np.ones(scene.shape[:2], np.float32), np.zeros_like(scene))
    folder = tempfile.TemporaryDirectory()
    shown = to_srgb8(np.clip(demosaic(raw), 0, 1))
    noisy = isp.night_vision(mosaic, whole).image
    steps = {
        "compose 3 layers": lambda: compose(stack, night),
        "meter": lambda: meter(luminance(scene), FNUMBER, iso, shutter_limit_s=SHUTTER_S),
        "sensor": lambda: expose_raw(scene, SHUTTER_S, FNUMBER, SENSOR, seed=1, image_id="b"),
        "camera (demosaic, sRGB)": lambda: to_srgb8(np.clip(demosaic(raw), 0, 1)),
        "linearise, stabilise, undo, colour": lambda: denoise.denoise(isp.linearise(raw), whole),
        "local contrast": lambda: isp.equalise(signal, NEUTRAL),
        "tone map": lambda: isp.tone_map(signal, NEUTRAL.white),
        "night vision, all but the denoiser": lambda: isp.night_vision(isp.linearise(raw), whole),
        "write the camera's image": lambda: write_png(Path(folder.name) / "camera.png", shown),
        "write night vision": lambda: write_png(Path(folder.name) / "nv.png", noisy),
    }
    for name, work in steps.items():
        print(f"{name:36} {cpu_s(work):.3f} CPU s")


def _bm3d_with(profile_name: str) -> Callable[..., np.ndarray]:
    import bm3d

    def run(stable: np.ndarray, taps: np.ndarray, strength: float) -> np.ndarray:
        profile = getattr(bm3d, f"BM3DProfile{profile_name}")()
        profile.num_threads = 1
        kernel = np.zeros(stable.shape)
        kernel[: taps.size, : taps.size] = strength * np.outer(taps, taps)
        spectrum = np.abs(np.fft.fft2(kernel)) ** 2 * kernel.size
        return np.asarray(bm3d.bm3d(stable.astype(float), spectrum, profile), np.float32)

    return run


def _psnr_db(image: np.ndarray, truth: np.ndarray) -> float:
    gain = np.sum(image * truth) / np.sum(image * image)
    return 10 * math.log10(np.percentile(truth, 99.9) ** 2 / np.mean((gain * image - truth) ** 2))


PROFILES = {"full": "", "refilter": "Refilter", "vn": "VN", "lc": "LC", "high": "High"}


def denoisers(lux: float, width: int, profiles: list[str]) -> None:
    """Print PSNR and seconds of each denoiser and of some of BM3D's profiles."""
    scene = night_scene(lux, width)
    raw = expose_raw(scene, SHUTTER_S, FNUMBER, SENSOR, seed=1, image_id="bench")
    mosaic = isp.linearise(raw)
    used = dict(denoise._DENOISERS)
    methods = {
        "none": None,
        "nlm": used["nlm"],
        "bm3d as used": used["bm3d"],
        **{f"bm3d {name}": _bm3d_with(PROFILES[name]) for name in profiles},
    }
    print(f"{lux} lx, {float(mosaic.electrons.mean()):.2f} electrons a pixel, {scene.shape}")
    for name, run in methods.items():
        preset = replace(NEUTRAL, denoiser="bm3d" if run else "none", binning_below_e=0)
        wall, start = time.perf_counter(), time.process_time()
        with mock.patch.object(denoise, "_DENOISERS", {"bm3d": run}):
            clean = denoise.denoise(mosaic, preset)
        took = time.process_time() - start, time.perf_counter() - wall
        psnr = _psnr_db(clean * np.array(mosaic.white_balance, np.float32), scene)
        print(f"{name:14} {psnr:.2f} dB  {took[0]:.1f} CPU s  {took[1]:.1f} s", flush=True)
    # As `limen develop --workers 2` does: an image each.
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        wait = [pool.submit(os.getpid) for _ in range(2)]
        assert all(future.result() for future in wait)
        start = time.perf_counter()
        for future in [pool.submit(denoise.denoise, mosaic, NEUTRAL) for _ in range(2)]:
            future.result()
        print(f"as used, 2 workers: {(time.perf_counter() - start) / 2:.1f} s an image")


def _repeated(root: Path, images: int, window_px: int) -> None:
    """A dataset of so many items: the views of a small one again and again, under new ids."""
    small = make_synthetic(root.with_name("small"), views=6, window_px=window_px)
    root.mkdir()
    shutil.copy(small.root / "study.toml", root)
    shutil.copytree(small.root / "light", root / "light")
    lines: dict[str, list[str]] = {"views": [], "index": []}
    while len(lines["index"]) < images:
        for old, view in small.views.items():
            new = f"v{len(lines['views']):012x}"
            crop = root / "light" / "crops" / f"{old}.exr"
            if crop.exists():
                shutil.copy(crop, crop.with_name(f"{new}.exr"))
            rows = [row for row in small.index.values() if row["view_id"] == old]
            lines["views"].append(json.dumps(view).replace(old, new))
            lines["index"] += [json.dumps(row).replace(old, new) for row in rows]
    for name, of_table in lines.items():
        (root / name).mkdir()
        (root / name / "000.jsonl").write_text("".join(f"{line}\n" for line in of_table))


def workers() -> None:
    """Print images a second with one and with two processes."""
    bands = ("day", "evening", "night")
    speed = {}
    for number in (1, 2):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory) / "dataset"
            _repeated(root, 200, 320)
            cv2.setNumThreads(1)
            start = time.perf_counter()
            done = develop.develop_dataset(root, denoiser="nlm", bands=bands, workers=number)
            speed[number] = done.made / (time.perf_counter() - start)
        print(f"{number} workers: {speed[number]:.1f} images/s")
    print(f"two are {speed[2] / speed[1]:.2f} times one")


def memory() -> None:
    """Print this process's size after 100 and after 500 items."""
    page = resource.getpagesize()
    sizes: dict[int, float] = {}

    def look(done: int, total: int) -> None:
        if sys.platform == "linux":
            resident = int(Path("/proc/self/statm").read_text().split()[1])
            sizes[done] = resident * page / 1e6

    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "dataset"
        _repeated(root, 250, 160)
        total = 2 * len(open_dataset(root).index)
        bands = ("day", "evening", "night")
        develop.develop_dataset(root, denoiser="nlm", bands=bands, progress=look)
    early = next(size for done, size in sizes.items() if done >= 100)
    print(f"{early:.1f} MB after 100 of {total} images, {sizes[total]:.1f} MB after all")


def main() -> None:
    """Measure what was asked for, everything by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("stages", "denoisers", "workers", "memory")
    parser.add_argument("what", nargs="*", metavar="WHAT", help=", ".join(names))
    parser.add_argument("--lux", type=float, default=0.3)
    parser.add_argument("--width", type=int, default=1920)
    parser.add_argument("--profiles", nargs="*", choices=PROFILES, default=["full"])
    options = parser.parse_args()
    measure = {
        "stages": lambda: stages(options.lux, options.width),
        "denoisers": lambda: denoisers(options.lux, options.width, options.profiles),
        "workers": workers,
        "memory": memory,
    }
    for name in options.what or names:
        print(f"-- {name}")
        measure[name]()


if __name__ == "__main__":
    main()
