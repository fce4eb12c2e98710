"""What the sceneries cost: set-up time and memory, and a Full HD render against a bare plane.

Each scenery is built and rendered in a process of its own; times are CPU-seconds, which a loaded
machine changes little. Bounds: set-up under 5 s and 1.5 GB; a render at 8 samples at most 1.6
times (desert) and 2.5 times (field, wharf) that of a bare plane.

    python benchmarks/scenery.py [--size 1920x1080] [--samples 8]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

SCENERIES = ("desert", "field", "wharf")
BOUNDS = {"desert": 1.6, "field": 2.5, "wharf": 2.5}
SETUP_MOST_S, MEMORY_MOST_GB = 5.0, 1.5
CAMERAS = ((10.752, 0, 0), (10.752, 90, 22.5), (23.04, 180, 45))  # distance, azimuth, elevation
LAYERS = ("sun-180-60", "dome-uniform")


def measure(scenery: str, size: tuple[int, int], samples: int) -> dict[str, float]:
    """Build one scenery, or a bare plane, and render it; in this process."""
    import bpy
    import limen
    from limen.addon.core.lighting import parse_layer
    from limen.addon.core.optics import Camera, look_at_pose
    from limen.addon.scene import lighting, render, stage
    from limen.addon.scene.materials import rough_material
    from limen.addon.scene.mesh import add_object, make_mesh

    bpy.ops.wm.read_factory_settings(use_empty=True)
    limen.register()
    stage.setup_stage()
    scene = stage.stage_scene()
    started, wall = time.process_time(), time.perf_counter()
    if scenery == "plane":
        corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * 2500
        mesh = make_mesh("Plane", corners, np.array([[0, 1, 2, 3]]), smooth=False)
        mesh.materials.append(rough_material("Plane", (0.3, 0.3, 0.3)))
        add_object("Plane", mesh, scene.collection)
    else:
        stage.set_scenery(scenery)
    scene.view_layers[0].update()
    setup_s, setup_wall_s = time.process_time() - started, time.perf_counter() - wall
    width, height = size
    camera = Camera(3.0 * width / height, 3.0, 2.8, 1.4, width, height)
    seconds = 0.0
    for distance_m, azimuth_deg, elevation_deg in CAMERAS:
        stage.set_camera(camera, look_at_pose(azimuth_deg, elevation_deg, distance_m, 0.9))
        for name in LAYERS:
            lighting.light_layer(parse_layer(name))
            render.render_passes(scene, render.Shot(1, box=(0, 0, 8, 8)))  # loads what changed
            started = time.process_time()
            render.render_passes(scene, render.Shot(samples))
            seconds += time.process_time() - started
    memory_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "setup_s": setup_s,
        "setup_wall_s": setup_wall_s,
        "render_s": seconds / (len(CAMERAS) * len(LAYERS)),
        "memory_gb": memory_gb,
    }


def main() -> int:
    """Print the table; returns 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="1920x1080", metavar="WxH")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = tuple(int(side) for side in options.size.split("x"))
    if options.one:
        print(json.dumps(measure(options.one, size, options.samples)), flush=True)
        os._exit(0)  # the bpy wheel's own clean-up may hang
    found = {}
    for name in ("plane", *SCENERIES):
        command = [sys.executable, __file__, "--one", name, "--size", options.size]
        done = subprocess.run(
            [*command, "--samples", str(options.samples)],
            capture_output=True,
            text=True,
            check=True,
        )
        found[name] = json.loads(done.stdout.splitlines()[-1])
    plane_s = found["plane"]["render_s"]
    broken = 0
    print(f"{options.size}, {options.samples} samples, mean of {len(CAMERAS)} cameras, CPU-seconds")
    print("scenery   set-up s   memory GB   render s   x bare plane   (most)")
    for name, row in found.items():
        ratio, most = row["render_s"] / plane_s, BOUNDS.get(name, float("nan"))
        print(
            f"{name:8} {row['setup_s']:9.2f} {row['memory_gb']:11.2f} {row['render_s']:10.1f} "
            f"{ratio:14.2f} {most:8.1f}"
        )
        broken += ratio > most or row["setup_s"] > SETUP_MOST_S or row["memory_gb"] > MEMORY_MOST_GB
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
