"""What the sceneries cost: set-up time and memory, and a Full HD render against a bare plane.

Each scenery is measured in a process of its own, where renders of the scenery and of a bare plane
take turns: same camera, light layer, samples and seed. Counted are the CPU-seconds of a render of
a scene that is built already, as nearly all renders of a batch find it, least of several; building
it the first time is told apart. No denoiser runs: it would add the same to both.

Bounds: set-up under 5 s and 1.5 GB; a render at 8 samples at most 1.6 times (desert) and 2.5 times
(field, wharf) that of the plane. Rays through a scenery wait for memory, those to a plane do not:
the ratios hold for a machine that does nothing else.

Measured with bpy 4.5 at 960x540, once, all cameras, and least and highest of one; "before" are
desert-v4, field-v3 and wharf-v2. Small pictures raise the ratios; Full HD was not measured.

                                    now                  load   before
    desert  set-up 0.6 s, 0.44 GB   1.77 (1.65 to 1.91)  2.2    2.00
    field   set-up 0.7 s, 0.43 GB   1.97 (1.61 to 2.32)  2.1    2.90
    wharf   set-up 0.3 s, 0.42 GB                               2.04 (1.78 to 2.27)

The bound of the desert is not reached. What limits it, in renders of the plane, from single runs
with parts hidden: ground of one colour 1.4, its two pictures and relief 0.3, stones, range,
boulders and scrub 0.05 to 0.15 each; a plane of two triangles is nearly free, and a flat grid of
8 x 8 faces takes 1.16 of it, one of 32 x 32 1.34. What did not help: one mesh in place of instances
(several times slower, 3 GB), larger squares of grass (slower), spatial splits in the hierarchy,
closest look-ups in pictures. What helped most: grass and crowns that stop no light (decision 023).

    python benchmarks/scenery.py [--size 1920x1080] [--samples 8] [--repeats 3]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

BOUNDS = {"desert": 1.6, "field": 2.5, "wharf": 2.5}
SETUP_MOST_S, MEMORY_MOST_GB = 5.0, 1.5
# Distance, azimuth, elevation.
CAMERAS = (
    (5.376, 60, 0),
    (5.376, 0, 67.5),
    (10.752, 0, 0),
    (10.752, 90, 22.5),
    (23.04, 300, 0),
    (23.04, 180, 45),
)
LAYERS = ("sun-180-60", "dome-uniform")


def measure(scenery: str, size: tuple[int, int], samples: int, repeats: int) -> dict[str, object]:
    """Build one scenery and a bare plane and render both in turns; in this process."""
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
    scene, bare = stage.stage_scene(), stage.bare_scene()
    started = time.process_time()
    stage.set_scenery(scenery)
    scene.view_layers[0].update()
    setup_s = time.process_time() - started
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * 2500
    mesh = make_mesh("Plane", corners, np.array([[0, 1, 2, 3]]), smooth=False)
    mesh.materials.append(rough_material("Plane", (0.3, 0.3, 0.3)))
    add_object("Plane", mesh, bare.collection)

    def seconds(which: bpy.types.Scene, shot: render.Shot) -> float:
        started = time.process_time()
        render.render_passes(which, shot)
        return time.process_time() - started

    width, height = size
    camera = Camera(3.0 * width / height, 3.0, 2.8, 1.4, width, height)
    corner = render.Shot(1, box=(0, 0, 8, 8))  # loads what changed
    build_s = seconds(scene, corner)
    least: dict[str, tuple[float, float]] = {}
    for distance_m, azimuth_deg, elevation_deg in CAMERAS:
        stage.set_camera(camera, look_at_pose(azimuth_deg, elevation_deg, distance_m, 0.9))
        both = np.zeros(2)
        for name in LAYERS:
            lighting.light_layer(parse_layer(name))
            for which in (bare, scene):
                render.render_passes(which, corner)
            taken = [
                [seconds(which, render.Shot(samples, seed)) for which in (bare, scene)]
                for seed in range(repeats)
            ]
            both += np.min(taken, axis=0)
        least[f"{distance_m:g} m, {azimuth_deg}, {elevation_deg:g}"] = tuple(both / len(LAYERS))
    return {
        "setup_s": setup_s,
        "build_s": build_s,
        "memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "renders_s": least,
    }


def main() -> int:
    """Print the tables; returns 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="1920x1080", metavar="WxH")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scenery", nargs="+", default=list(BOUNDS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = tuple(int(side) for side in options.size.split("x"))
    if options.one:
        found = measure(options.one, size, options.samples, options.repeats)
        print(json.dumps(found), flush=True)
        os._exit(0)  # the bpy wheel's own clean-up may hang
    broken = 0
    print(f"{options.size}, {options.samples} samples, CPU-seconds, least of {options.repeats}")
    for name in options.scenery:
        command = [sys.executable, __file__, "--one", name, "--size", options.size]
        command += ["--samples", str(options.samples), "--repeats", str(options.repeats)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        row = json.loads(done.stdout.splitlines()[-1])
        plane_s, scenery_s = np.sum(list(row["renders_s"].values()), axis=0)
        ratio, most = scenery_s / plane_s, BOUNDS[name.partition("-")[0]]
        print(
            f"{name}: set-up {row['setup_s']:.2f} s, first build {row['build_s']:.2f} s, "
            f"{row['memory_gb']:.2f} GB with the renders; {ratio:.2f} x a bare plane "
            f"(at most {most}); load {os.getloadavg()[0]:.1f}"
        )
        for camera, (plane, rendered) in row["renders_s"].items():
            print(f"  {camera:18} {plane:6.2f} {rendered:6.2f} {rendered / plane:6.2f}", flush=True)
        broken += ratio > most or row["setup_s"] > SETUP_MOST_S or row["memory_gb"] > MEMORY_MOST_GB
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
