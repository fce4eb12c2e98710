"""What an image costs: the plain loop, the fast method and the exact one, in one run.

Views are drawn from ``studies/paper-size.toml``, so many of each scenery and distance, and weighted
to the whole study: 1,524 views with a person, 288 backgrounds, 13 lightings. Every method runs in a
process of its own. CPU-seconds are the reliable figure on a loaded machine; the images per minute
are those of two processors that do nothing else. A smaller ``--size`` keeps what is seen, so that
costs that do not depend on pixels weigh more than at full size. The sample is of VIEWS backgrounds
of each scenery and distance, each with PERSONS and without: 9 x (PERSONS + 1) x 13 images each.

    python benchmarks/render.py [--size 480x270] [--views 1] [--persons 1] [--sceneries desert]
    python benchmarks/render.py rss [--frames 1000]

Bounds (1920x1080): 30 images a minute and 18 times the plain loop; at most 15 % of the time neither
rendering nor denoising; a light stack of at most 60 GB; an image of 13 lightings costs at most 0.7
of an image of one.
"""

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "studies" / "paper-size.toml"
PROCESSORS = 2
PLAIN_SAMPLES = 16
LIGHTING_COUNTS = (1, 4, 13)
FEW_VIEWS, MANY_VIEWS = 1, 20  # of a background; the study's own is about 5
STAGES = ("render", "denoise", "composite", "encode", "everything else")
BOUNDS = {"images_per_minute": 30, "times_plain": 18, "other": 0.15, "stack_gb": 60, "growth": 0.7}


class Clock:
    """CPU-seconds by stage; a stage within another is not counted twice.

    Attributes:
        spent_s: Stage -> CPU-seconds of this process.
        paused_s: What the measuring itself took.
    """

    def __init__(self) -> None:
        self.spent_s: dict[str, float] = defaultdict(float)
        self.paused_s = 0.0
        self._open: list[list[float]] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        self._open.append([0.0])
        start = time.process_time()
        try:
            yield
        finally:
            took = time.process_time() - start
            (inner,) = self._open.pop()
            self.spent_s[name] += took - inner
            if self._open:
                self._open[-1][0] += took

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is timed as a stage."""

        def run(*arguments: Any, **named: Any) -> Any:
            with self.stage(name):
                return function(*arguments, **named)

        return run


def _start_blender(threads: int) -> None:
    import bpy
    from limen.addon.scene import stage

    bpy.ops.wm.read_factory_settings(use_empty=True)
    stage.setup_stage()
    for scene in bpy.data.scenes:
        scene.render.threads_mode, scene.render.threads = "FIXED", threads


def _study(options: argparse.Namespace, lightings: int = 13, method: str = "fast") -> Any:
    from limen.addon.core.study import load_study, resolve

    study = resolve(load_study(STUDY))
    # One of each band before a second: the lightings of a small study differ, too.
    order = sorted(range(13), key=lambda i: (i % 4, i))
    kept = sorted(order[:lightings])
    return replace(
        study,
        camera=replace(study.camera, resolution=options.size),
        lightings=tuple(study.lightings[i] for i in kept),
        render=replace(study.render, method=method),
    )


def _strata(study: Any, options: argparse.Namespace) -> dict[tuple[str, float], list[Any]]:
    """Return (scenery, distance) -> views with a person, evenly over what the study draws."""
    from limen.addon.core.factors import poses_by_action, sample_views
    from limen.addon.core.poses import load_poses

    actions = {name: pose.action for name, pose in load_poses().items()}
    found: dict[tuple[str, float], list[Any]] = defaultdict(list)
    for spec in sample_views(study, poses_by_action(study, actions)):
        if spec.target_present and spec.factors["scenery"] in options.sceneries:
            found[spec.factors["scenery"], spec.factors["distance_m"]].append(spec)
    picked = {}
    for number, (key, specs) in enumerate(sorted(found.items())):
        # Other elevations in each stratum: they set how much sky and how long a shadow is seen.
        elevations = sorted({spec.factors["elevation_deg"] for spec in specs})
        rows = [
            [spec for spec in specs if spec.factors["elevation_deg"] == elevation]
            for elevation in elevations
        ]
        picked[key] = []
        for i in range(options.views):
            row = rows[(number + i) % len(rows)]
            first = row[(7 * i) % len(row)]
            same = [spec for spec in row if _azimuth(spec) == _azimuth(first)]
            picked[key] += same[: options.persons]
    return picked


def _azimuth(spec: Any) -> float:
    return float(spec.factors["azimuth_deg"])


# --- a method, in a process of its own -----------------------------------------------------------


def measure_stack(options: argparse.Namespace, method: str, lightings: int) -> dict[str, Any]:
    """Render the sample by Limen's own code; return the costs of each stratum."""
    from limen.addon.scene import render, stack, view

    _start_blender(options.threads)
    study = _study(options, lightings, method)
    clock = Clock()
    real_render, real_plate = render.render_passes, stack.render_plate
    plates: list[dict[str, float]] = []

    def plate(path: Path, *arguments: Any) -> Any:
        before = dict(clock.spent_s)
        with clock.stage("everything else"):
            made = real_plate(path, *arguments)
        spent = {k: v - before.get(k, 0.0) for k, v in clock.spent_s.items()}
        plates.append({**spent, "bytes": path.stat().st_size})
        return made

    patches = [
        mock.patch.object(render, "render_passes", clock.timed("render", real_render)),
        mock.patch.object(stack, "denoised", clock.timed("denoise", stack.denoised)),
        mock.patch.object(stack, "render_plate", plate),
        mock.patch.object(stack, "write_layers", clock.timed("encode", stack.write_layers)),
        *(
            mock.patch.object(view, name, clock.timed("encode", getattr(view, name)))
            for name in ("write_layers", "write_png", "write_depth", "file_record")
        ),
        *(
            mock.patch.object(module, name, clock.timed("composite", getattr(module, name)))
            for module, name in (
                (view.relight, "compose"),
                (view.relight, "stack_from_layers"),
                (view.photometry, "expose"),
                (view.photometry, "meter"),
                (view.photometry, "to_srgb8"),
            )
        ),
    ]
    strata = []
    with tempfile.TemporaryDirectory(prefix="limen-bench-") as folder:
        for patch in patches:
            patch.start()
        for key, specs in _strata(study, options).items():
            for spec in specs:
                _warm(study, spec, real_render)
                row = _one(clock, plates, study, spec, Path(folder))
                strata.append({"scenery": key[0], "distance_m": key[1], **row})
                _tell(f"{method} x{lightings}: {key[0]} {key[1]:g} m")
        mock.patch.stopall()
    return {"rows": strata, "peak_gb": _peak_gb()}


def _warm(study: Any, spec: Any, render_passes: Callable[..., Any]) -> None:
    """Do what a run does once for all views of a scenery: build, load and measure it."""
    from limen.addon.core.lighting import layers_of
    from limen.addon.scene import lighting, render, stage, view

    view.place_camera(study, spec)
    layers = layers_of(study.lightings)
    for layer in layers:
        lighting.light_layer(layer)
        render_passes(stage.stage_scene(), render.Shot(1, box=(0, 0, 8, 8)))
    with mock.patch.object(render, "render_passes", render_passes):
        view._measured(str(spec.factors["scenery"]), layers, None, None)


def _one(
    clock: Clock,
    plates: list[dict[str, float]],
    study: Any,
    spec: Any,
    root: Path,
) -> dict[str, Any]:
    """Render a view's empty twin and itself; return CPU-seconds by stage of view, plate and twin.

    The twin comes first: so it pays for what is done once for all views of a plate.
    """
    from limen.addon.scene.view import render_view, set_up_view

    def spent_on(spec: Any) -> tuple[dict[str, float], dict[str, Any]]:
        before = dict(clock.spent_s)
        with clock.stage("everything else"):
            row, _ = render_view(set_up_view(study, spec), root)
        return {k: v - before.get(k, 0.0) for k, v in clock.spent_s.items()}, row

    factors = {**spec.factors, **dict.fromkeys(("action", "pose", "subject", "texture"))}
    twin = replace(spec, factors=factors, target_present=False, view_id=f"{spec.view_id}-0")
    of_plates = len(plates)
    empty, _ = spent_on(twin)
    plate = plates[of_plates] if len(plates) > of_plates else {}
    for stage, seconds in plate.items():
        if stage in empty:
            empty[stage] -= seconds
    view, row = spent_on(spec)
    light = root / "light" / "crops" / f"{row['view_id']}.exr"
    return {
        "view": view,
        "plate": plate,
        "empty": empty if plate else {},
        "crop_bytes": light.stat().st_size,
    }


def measure_plain(options: argparse.Namespace) -> dict[str, Any]:
    """Render one image per stratum as anyone would who renders images one by one."""
    import bpy
    from limen.addon.core.image_io import write_png
    from limen.addon.core.photometry import to_srgb8
    from limen.addon.scene import lighting, render, stage
    from limen.addon.scene.view import set_up_view

    _start_blender(options.threads)
    study = _study(options)
    scene = stage.stage_scene()
    rows = []
    with tempfile.TemporaryDirectory(prefix="limen-bench-") as folder:
        for number, (key, specs) in enumerate(_strata(study, options).items()):
            _warm(study, specs[0], render.render_passes)
            _usual_settings(scene)
            wall, start = time.perf_counter(), time.process_time()
            set_up_view(study, specs[0])
            lighting.light_whole(study.lightings[(5 * number) % 13])
            passes = render.render_passes(scene, render.Shot(PLAIN_SAMPLES))
            pixels = render.stacked(passes, "Combined", "RGB")
            write_png(Path(folder) / "image.png", to_srgb8(pixels / max(pixels.max(), 1e-6)))
            rows.append(
                {
                    "scenery": key[0],
                    "distance_m": key[1],
                    "cpu_s": time.process_time() - start,
                    "wall_s": time.perf_counter() - wall,
                }
            )
            render.configure(scene)
            _tell(f"plain: {key[0]} {key[1]:g} m")
    del bpy
    return {"rows": rows, "peak_gb": _peak_gb()}


def _usual_settings(scene: Any) -> None:
    """Set what Blender sets by default, all that Limen sets apart."""
    cycles = scene.cycles
    for name in (
        "use_light_tree",
        "light_sampling_threshold",
        "sample_clamp_indirect",
        "blur_glossy",
        "caustics_reflective",
        "caustics_refractive",
        "max_bounces",
        "diffuse_bounces",
        "glossy_bounces",
        "transmission_bounces",
        "use_auto_tile",
        "use_adaptive_sampling",
    ):
        cycles.property_unset(name)
    cycles.use_denoising, cycles.denoiser = True, "OPENIMAGEDENOISE"
    scene.render.use_persistent_data = False
    scene.world.cycles.sampling_method = "AUTOMATIC"


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


# --- the whole study ------------------------------------------------------------------------------


def whole_study(rows: Sequence[dict[str, Any]], lightings: int = 13) -> dict[str, Any]:
    """Weight a sample to the whole study: strata are of one size, plates count once each.

    Returns:
        ``cpu_s`` of an image, ``stages`` of it, and gigabytes of the ``stack``.
    """
    views, plates = 1524, 288
    stages: dict[str, float] = defaultdict(float)
    for part, count in (("view", views), ("plate", plates), ("empty", plates)):
        found = [row[part] for row in rows if row[part]]
        for of_one in found:
            for stage in STAGES:
                stages[stage] += of_one.get(stage, 0.0) * count / len(found)
    images = (views + plates) * lightings
    found = [row["plate"]["bytes"] for row in rows if row["plate"]]
    crops = float(np.mean([row["crop_bytes"] for row in rows]))
    size = crops * views + (float(np.mean(found)) * plates if found else 0.0)
    return {
        "cpu_s": sum(stages.values()) / images,
        "stages": {stage: seconds / images for stage, seconds in stages.items()},
        "stack_gb": size / 1e9,
    }


def cost_with_views(rows: Sequence[dict[str, Any]], views: int, lightings: int = 13) -> float:
    """Return CPU-seconds an image where a background is seen with so many persons."""

    def mean(part: str) -> float:
        found = [sum(row[part].get(s, 0.0) for s in STAGES) for row in rows if row[part]]
        return float(np.mean(found))

    return (mean("plate") + mean("empty") + views * mean("view")) / ((views + 1) * lightings)


def exact_cost(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the same as :func:`whole_study` where nothing is shared, from single images."""
    stages = {
        stage: float(np.mean([row["view"].get(stage, 0.0) for row in rows])) for stage in STAGES
    }
    size = float(np.mean([row["crop_bytes"] for row in rows])) * 13 * (1524 + 288) / 1e9
    return {"cpu_s": sum(stages.values()), "stages": stages, "stack_gb": size}


# --- memory over many frames ---------------------------------------------------------------------


def measure_rss(options: argparse.Namespace) -> None:
    """Print the process's size after 50 views and after all."""
    from limen.addon.core.factors import poses_by_action, sample_views
    from limen.addon.core.poses import load_poses
    from limen.addon.scene.view import render_view, set_up_view

    _start_blender(options.threads)
    study = _study(options, 1)
    study = replace(
        study,
        sceneries=(options.sceneries[0],),
        camera=replace(study.camera, resolution=(192, 108)),
        render=replace(study.render, samples=8, denoise="none"),
    )
    actions = {name: pose.action for name, pose in load_poses().items()}
    study = replace(study, sampling=replace(study.sampling, views=min(options.frames, 1000)))
    specs = sample_views(study, poses_by_action(study, actions))[: options.frames]
    sizes: dict[int, float] = {}
    with tempfile.TemporaryDirectory(prefix="limen-bench-") as folder:
        for number, spec in enumerate(specs, start=1):
            render_view(set_up_view(study, spec), Path(folder))
            if number in (50, len(specs)) or number % 100 == 0:
                gc.collect()
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                sizes[number] = pages * resource.getpagesize() / 1e6
                print(f"{sizes[number]:.0f} MB after {number} views", flush=True)
    growth = sizes[len(specs)] / sizes[50] - 1
    print(f"{growth:+.1%} from 50 to {len(specs)} views (bound: 5 % over 1,000)", flush=True)


# --- the table -----------------------------------------------------------------------------------


def _child(options: argparse.Namespace, part: str, **more: Any) -> subprocess.Popen[str]:
    values = {
        "size": f"{options.size[0]}x{options.size[1]}",
        "views": options.views,
        "persons": options.persons,
        "sceneries": ",".join(options.sceneries),
        "threads": options.threads,
        **more,
    }
    command = [sys.executable, __file__, "part", "--part", part]
    for name, value in values.items():
        command += [f"--{name}", str(value)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _result(child: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = child.communicate()
    if child.returncode:
        sys.exit(f"a measuring process ended with status {child.returncode}")
    return dict(json.loads(out.strip().splitlines()[-1]))


def table(options: argparse.Namespace) -> None:
    """Measure all that is asked for and print it."""
    wall = time.perf_counter()
    fast = _result(_child(options, "fast"))
    one_wall = time.perf_counter() - wall
    few = {"views": 1, "persons": 1}
    plain = _result(_child(options, "plain", **few))
    exact = _result(_child(options, "exact", **few, lightings=1))
    plain_cpu_s = float(np.mean([row["cpu_s"] for row in plain["rows"]]))
    found = {"fast": whole_study(fast["rows"]), "exact": exact_cost(exact["rows"])}
    size = f"{options.size[0]}x{options.size[1]}"
    empty = sum(1 for row in fast["rows"] if row["empty"])
    images = 13 * (len(fast["rows"]) + empty)
    print(f"\nThe paper-size study at {size}, from {images} of its images")
    print(f"{'':12}{'CPU s/image':>12}{'images/min':>12}{'x plain':>9}{'peak GB':>9}", end="")
    print("".join(f"{stage:>17}" for stage in STAGES))
    print(
        f"{'plain loop':12}{plain_cpu_s:12.2f}{60 * PROCESSORS / plain_cpu_s:12.1f}{1:9.1f}"
        f"{plain['peak_gb']:9.2f}"
    )
    for name, peak_gb in (("fast", fast["peak_gb"]), ("exact", exact["peak_gb"])):
        cpu_s = found[name]["cpu_s"]
        print(
            f"{name:12}{cpu_s:12.2f}{60 * PROCESSORS / cpu_s:12.1f}{plain_cpu_s / cpu_s:9.1f}"
            f"{peak_gb:9.2f}",
            end="",
        )
        print("".join(f"{found[name]['stages'][s] / cpu_s:17.1%}" for s in STAGES))
    for scenery in options.sceneries:
        rows = [row for row in fast["rows"] if row["scenery"] == scenery]
        of_plain = [row["cpu_s"] for row in plain["rows"] if row["scenery"] == scenery]
        cpu_s = whole_study(rows)["cpu_s"]
        print(
            f"  {scenery:10}{cpu_s:12.2f}{60 * PROCESSORS / cpu_s:12.1f}"
            f"{float(np.mean(of_plain)) / cpu_s:9.1f}"
        )
    growth = {}
    for number in LIGHTING_COUNTS:
        # Of the same views: the first background of each stratum, the first person before it.
        of_strata = {(row["scenery"], row["distance_m"]): row for row in reversed(fast["rows"])}
        measured = list(of_strata.values())
        if number != 13:
            measured = _result(_child(options, "fast", **few, lightings=number))["rows"]
        growth[number] = whole_study(measured, number)["cpu_s"]
        print(f"{number:3} lightings: {growth[number]:.2f} CPU s/image")
    for number in (FEW_VIEWS, 5, MANY_VIEWS):
        cost = cost_with_views(fast["rows"], number)
        print(f"{number:3} persons before each background: {cost:.2f} CPU s/image")
    scaling = _scaling(options) if options.scaling else None
    if scaling:
        print(f"2 processes of 1 thread: {scaling:.2f} times the images of 1 of 2 threads")
    cpu_s, stages = found["fast"]["cpu_s"], found["fast"]["stages"]
    other = 1 - (stages["render"] + stages["denoise"]) / cpu_s
    figures = {
        "images_per_minute": 60 * PROCESSORS / cpu_s,
        "times_plain": plain_cpu_s / cpu_s,
        "other": other,
        "stack_gb": found["fast"]["stack_gb"],
        "growth": growth[13] / growth[1],
    }
    print(f"light stack {figures['stack_gb']:.1f} GB; sample rendered in {one_wall:.0f} s of wall")
    for name, value in figures.items():
        bound = BOUNDS[name]
        met = value >= bound if name in ("images_per_minute", "times_plain") else value <= bound
        print(f"{name:20}{value:10.2f}   bound {bound:<6} {'met' if met else 'NOT MET'}")


def _scaling(options: argparse.Namespace) -> float:
    """Return the throughput of two processes of one thread over one process of two."""
    desert = {"sceneries": options.sceneries[0], "lightings": 4, "views": 1, "persons": 1}
    start = time.perf_counter()
    _result(_child(options, "fast", **desert | {"threads": PROCESSORS}))
    one = time.perf_counter() - start
    start = time.perf_counter()
    for child in [_child(options, "fast", **desert | {"threads": 1}) for _ in range(PROCESSORS)]:
        _result(child)
    return PROCESSORS * one / (time.perf_counter() - start)


def _size(text: str) -> tuple[int, int]:
    width, height = text.split("x")
    return int(width), int(height)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("table", "rss", "part"), default="table")
    parser.add_argument("--size", type=_size, default=(480, 270), metavar="WxH")
    parser.add_argument(
        "--views", type=int, default=1, help="backgrounds of each scenery and distance"
    )
    parser.add_argument("--persons", type=int, default=1, help="before each background")
    parser.add_argument("--sceneries", type=lambda text: text.split(","), default=None)
    parser.add_argument("--threads", type=int, default=PROCESSORS)
    parser.add_argument("--lightings", type=int, default=13, choices=LIGHTING_COUNTS)
    parser.add_argument("--frames", type=int, default=200, help="of rss")
    parser.add_argument("--no-scaling", dest="scaling", action="store_false")
    parser.add_argument("--part", choices=("fast", "exact", "plain"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.sceneries = options.sceneries or ["desert", "field", "wharf"]
    if options.what == "table":
        table(options)
        return
    if options.what == "rss":
        measure_rss(options)
    else:
        found = (
            measure_plain(options)
            if options.part == "plain"
            else measure_stack(options, options.part, options.lightings)
        )
        print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # the bpy module's own clean-up may hang


if __name__ == "__main__":
    main()
