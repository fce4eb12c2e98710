"""What each step of the sensor model costs on a 1920x1080 image, in CPU seconds.

    python benchmarks/sensor.py

Medians of five runs after one that is not counted. Poisson numbers cost most at a mean near ten, so
exposure is measured at several.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from limen.analysis.develop import lens
from limen.analysis.develop.compression import jpeg
from limen.analysis.develop.sensor import (
    demosaic,
    expose_raw,
    load_sensor_models,
    noise_model,
    photons_per_pixel,
    to_electrons,
)

WIDTH, HEIGHT = 1920, 1080
K = np.array([[1008.0, 0, 959.5], [0, 1008.0, 539.5], [0, 0, 1]])
BARREL = lens.Distortion(k1=-0.1, k2=0.01)


def cpu_s(step: Callable[[], object]) -> float:
    """Return the median CPU time of a step."""
    times = []
    for _ in range(6):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return statistics.median(times[1:])


def main() -> None:
    """Measure and print."""
    model = load_sensor_models()["cmos-1-2.8"]
    shape = (HEIGHT, WIDTH, 3)
    for electrons in (0.5, 2, 10, 100, 1000, 5000):
        per_luminance = photons_per_pixel(1.0, 0.04, 1.4, model.pixel_pitch_um)
        green = max(model.quantum_efficiency)
        scene = np.full(shape, electrons / (float(per_luminance) * green), np.float32)

        def expose(image: np.ndarray = scene):
            return expose_raw(image, 0.04, 1.4, model, seed=1, image_id="a")

        print(f"expose_raw, {electrons:6g} electrons in green  {cpu_s(expose):.3f}")
    raw = expose()
    sampled = lens.resampling(K, BARREL, (WIDTH, HEIGHT), margin_px=160)
    light = np.random.default_rng(0).random((HEIGHT + 320, WIDTH + 320, 3), np.float32)
    mask = (light[..., 0] > 0.5).astype(np.uint8)
    picture = (light[:HEIGHT, :WIDTH] * 255).astype(np.uint8)
    steps = {
        "demosaic, edge-aware": lambda: demosaic(raw),
        "demosaic, bilinear": lambda: demosaic(raw, "bilinear"),
        "to_electrons": lambda: to_electrons(raw),
        "noise_model": lambda: noise_model(raw),
        "falloff": lambda: lens.falloff(WIDTH, HEIGHT, 1008.0),
        "resampling (once a camera)": lambda: lens.resampling(
            K, BARREL, (WIDTH, HEIGHT), margin_px=160
        ),
        "distort_image": lambda: lens.distort_image(light, sampled),
        "distort_mask": lambda: lens.distort_mask(mask, sampled),
        "motion_blur, 20 px": lambda: lens.motion_blur(light, 0.04, (500.0, 0.0)),
        "jpeg, quality 80": lambda: jpeg(picture, 80),
    }
    for name, step in steps.items():
        print(f"{name:38}  {cpu_s(step):.3f}")


if __name__ == "__main__":
    main()
