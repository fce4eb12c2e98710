"""How many persons the simulated observer sees in the evening and at night, as was published?

    python benchmarks/base_rates.py [DATASET] [--night LX ...] [--evening LX ...] [--variant camera]

The lights of `addon/data/lightings.toml` are calibrated with this table (docs/develop.md, "Base
rates"). DATASET is `studies/base-rates.toml`, rendered (about a quarter of an hour on two busy
cores) if it is not there. Illuminances other than the study's are composed from its light stack.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from limen.addon.core.dataset import open_dataset
from limen.addon.core.image_io import read_png
from limen.addon.core.lighting import load_lightings
from limen.addon.core.photometry import to_srgb8
from limen.addon.core.relight import compose
from limen.addon.core.study import load_study
from limen.analysis.develop import isp
from limen.analysis.develop.sensor import demosaic
from limen.analysis.develop.settings import choose_settings
from limen.analysis.develop.view import load_stack, metered_raw
from limen.analysis.discern.observer import probability_seen, visibility_level

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "studies" / "base-rates.toml"
PUBLISHED = {"evening": (0.98, 0.98, 0.98), "night": (0.60, 0.40, 0.0)}
"""Share of persons seen at 5.4, 10.8 and 23.0 m, derived from the published tables of answers."""


def seen(root: Path, lux: dict[str, float], variant: str) -> dict[tuple[str, float], list[float]]:
    """Return (band, distance) -> for each image, how likely the observer sees the person."""
    dataset = open_dataset(root)
    study = load_study(dataset.root / "study.toml")
    settings = choose_settings(study, denoiser="nlm")
    presets = load_lightings()
    found: dict[tuple[str, float], list[float]] = {}
    for view in dataset.views.values():
        if not view["target_present"]:
            continue
        stack = load_stack(dataset.root, view)
        mask = read_png(dataset.root / f"masks/{view['view_id']}.visible.png") > 0
        for lighting in study.lightings:
            # As bright as it is calibrated now, not when the study was frozen.
            value = lux.get(lighting.band, presets[lighting.name].illuminance_lx)
            light = replace(lighting, illuminance_lx=value)
            media_id = f"{view['view_id']}-{lighting.name}"
            raw = metered_raw(compose(stack, light), settings, media_id, view["camera"])
            if variant == "nv":
                image = isp.night_vision(isp.linearise(raw), settings.isp).image
            else:
                image = to_srgb8(np.clip(demosaic(raw), 0, 1))
            chance = probability_seen(visibility_level(image, mask))
            found.setdefault((light.band, view["factors"]["distance_m"]), []).append(chance)
    return found


def table(root: Path, night: Sequence[float], evening: Sequence[float], variant: str) -> None:
    """Print a line for each band and illuminance."""
    lights = load_lightings()
    default = {"night": lights["night"], "evening": lights["evening_west"]}
    distances = sorted(
        {view["factors"]["distance_m"] for view in open_dataset(root).views.values()}
    )
    head = "  ".join(f"{distance:5.1f} m" for distance in distances)
    print(f"share of persons that are seen, variant {variant}\n{'':27}{head}   images")
    runs = max(len(night), len(evening), 1)
    for number in range(runs):
        lux = {
            band: values[number]
            for band, values in (("night", night), ("evening", evening))
            if number < len(values)
        }
        found = seen(root, lux, variant)
        for band in ("evening", "night"):
            if (number and band not in lux) or (band, distances[0]) not in found:
                continue
            cells = [found[band, distance] for distance in distances]
            rates = "  ".join(f"{np.mean(cell):6.1%} " for cell in cells)
            most = "  ".join(f"{np.mean(np.array(cell) > 0.5):6.1%} " for cell in cells)
            value = lux.get(band, default[band].illuminance_lx)
            print(f"{band:8} {value:10.3g} lx     {rates} {sum(map(len, cells)):6}")
            print(f"{'':9}by most of them   {most}")
    for band, rates in PUBLISHED.items():
        print(f"{band:8} as published      " + "  ".join(f"{rate:6.0%} " for rate in rates))


def main() -> None:
    """Render the study if need be, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", nargs="?", type=Path, default=ROOT / ".cache" / "base-rates")
    parser.add_argument("--night", type=float, nargs="+", default=[], metavar="LX")
    parser.add_argument("--evening", type=float, nargs="+", default=[], metavar="LX")
    parser.add_argument("--variant", choices=("camera", "nv"), default="camera")
    options = parser.parse_args()
    if not (options.dataset / "study.toml").exists():
        render = [sys.executable, ROOT / "batch" / "render_grid.py", "--study", STUDY]
        subprocess.run([*render, "--out", options.dataset], check=True)
    table(options.dataset, options.night, options.evening, options.variant)


if __name__ == "__main__":
    main()
