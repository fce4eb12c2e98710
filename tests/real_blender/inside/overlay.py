"""Inside a Blender with a window: the overlay drawn, dragged about, timed and taken away again.

argv after `--`: the file to write (JSON), the file whose appearance ends Blender.
"""

import json
import math
import random
import sys
import time
from pathlib import Path

import bpy
from mathutils import Quaternion

module = sys.modules["bl_ext.user_default.limen"]
overlay = module.addon.ui.overlay
readout = module.addon.ui.readout
standards = module.addon.core.standards
optics = module.addon.core.optics
zones = module.addon.core.zones
camera_rig = module.addon.scene.camera_rig

ready, leave = sys.argv[sys.argv.index("--") + 1 :]
GIVE_UP_S = 400
POINTS = 50
started = time.monotonic()
rng = random.Random(1)
report = {"points": [], "times": {}}
handles = []
moved = ""  # what moves now, while the draws are timed


def viewport():
    """The 3D viewport and its region, as an override of the context."""
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    return {"window": window, "area": area, "region": region}


def timed(draw, name):
    """A draw of the overlay that notes the CPU time of its thread while something is moved."""

    def run():
        before = time.thread_time()
        draw()
        if moved:
            times = report["times"].setdefault(moved, {}).setdefault(name, [])
            times.append(time.thread_time() - before)

    return run


def drawn_class(x, y):
    """The level of the triangle that the overlay draws over a ground point, None for none."""
    reading = readout.read_camera(bpy.context.scene)
    colours = [(float(level), 0.0, 0.0) for level in range(len(reading.scale.classes))]
    places, paint = overlay.in_scene.zone_triangles(reading.zones, colours, 1.0)
    for i in range(0, len(places), 3):
        a, b, c = places[i : i + 3, :2].tolist()
        turns = [
            (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])
            for p, q in ((a, b), (b, c), (c, a))
        ]
        if all(turn >= 0 for turn in turns):
            return reading.scale.classes[int(paint[i][0])].name
    return None


def check_points(pose_name):
    """Compare what is drawn over random ground points with core.optics for them."""
    scene = bpy.context.scene
    reading = readout.read_camera(scene)
    camera, pose = reading.camera, camera_rig.camera_pose(scene.camera)
    far_m = 1.2 * optics.distance_for(camera, reading.scale.classes[0].px_per_m)
    for _ in range(POINTS):
        depth_m = rng.uniform(0.05, 1) * far_m
        side = rng.uniform(-1.2, 1.2) * depth_m
        x = float(pose.position_m[0] + depth_m * pose.R[2][0] + side * pose.R[0][0])
        y = float(pose.position_m[1] + depth_m * pose.R[2][1] + side * pose.R[0][1])
        expected = zones.class_seen_at(camera, pose, reading.scale, (x, y, 0.0))
        along_m = float(pose.R[2] @ [x, y, 0.0] + pose.t[2])
        if expected is not None:
            density = optics.density_at(camera, along_m)
            assert expected == standards.class_of(density, reading.scale)
        report["points"].append([pose_name, x, y, expected, drawn_class(x, y)])


def new_study():
    viewport()["area"].spaces.active.show_region_ui = True
    bpy.ops.limen.new_study()
    camera = bpy.context.scene.limen.study.camera
    for i, band in enumerate(camera.bands):
        band.used = i == 0
    report["cameras"] = len(camera.azimuths_deg) * len(camera.elevations_deg)


def place_rig():
    bpy.ops.limen.place_rig()
    bpy.ops.limen.add_test_person()
    bpy.context.scene.limen.cell.elevation = 1
    viewport()["area"].spaces.active.region_3d.view_perspective = "CAMERA"


def on_rig():
    check_points("on the rig")
    report["moved at first"] = camera_rig.is_moved(bpy.context.scene.camera)
    for handle in overlay._handles:  # the same ones are drawn below, timed
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    overlay._handles.clear()
    for name, draw in (("scene", overlay.draw_in_scene), ("screen", overlay.draw_on_screen)):
        when = "POST_VIEW" if name == "scene" else "POST_PIXEL"
        handle = bpy.types.SpaceView3D.draw_handler_add(timed(draw, name), (), "WINDOW", when)
        handles.append(handle)


def drag():
    """Off the axis, tilted and rolled; the readout follows what is dragged."""
    item = bpy.context.scene.camera
    item.location.x += 2.5
    item.location.z += 1.5
    item.rotation_euler.rotate_axis("Y", math.radians(20))
    item.rotation_euler.rotate_axis("X", math.radians(-12))
    item.rotation_euler.rotate_axis("Z", math.radians(15))


def dragged():
    check_points("dragged")
    scene = bpy.context.scene
    report["moved when dragged"] = camera_rig.is_moved(scene.camera)
    reading = readout.read_camera(scene)
    report["lines"] = readout.subject_lines(bpy.context, reading)
    person = bpy.data.objects["Limen Test Person"]
    person.location.y += 4
    for item in scene.objects:  # the processor draws them here, and would be timed with the overlay
        item.hide_viewport = item.type == "MESH" and item != person
    viewport()["area"].spaces.active.region_3d.view_perspective = "PERSP"


def nudge():
    global moved
    moved = "camera"
    bpy.context.scene.camera.location.y += 0.05


def orbit():
    global moved
    moved = "view"
    view = viewport()["area"].spaces.active.region_3d
    view.view_rotation = view.view_rotation @ Quaternion((0, 0, 1), 0.05)


def test_person():
    global moved
    moved = ""
    scene = bpy.context.scene
    reading = readout.read_camera(scene)
    seen = readout.test_person_seen(scene, reading)
    x, y, _ = bpy.data.objects["Limen Test Person"].matrix_world.translation
    report["test person"] = [seen and seen.class_name, drawn_class(x, y)]


def lens():
    scene = bpy.context.scene
    report["lens before"] = scene.camera.data.lens
    bpy.ops.limen.fit_lens(class_name="identify", distance_m=10.0)


def after_lens():
    """The camera object has followed the study's new lens without an operator."""
    scene = bpy.context.scene
    report["lens after"] = scene.camera.data.lens
    report["fitted mm"] = scene.limen.study.camera.lens_mm
    bpy.ops.limen.keep_camera()
    report["moved when kept"] = camera_rig.is_moved(scene.camera)


def finish():
    for handle in handles:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    report["chip"] = overlay.chip.is_made()
    for _ in range(3):
        module.unregister()
        module.register()
    module.unregister()
    report["left"] = [len(overlay._handles), overlay.kept.count()]
    module.register()
    Path(ready).write_text(json.dumps(report))


STEPS = [new_study, place_rig, lambda: None, on_rig, drag, lambda: None, dragged]
STEPS += [nudge] * 30 + [orbit] * 30 + [test_person, lens, lambda: None, after_lens, finish]


def step():
    """One thing per redraw."""
    if Path(leave).exists() or time.monotonic() - started > GIVE_UP_S:
        bpy.ops.wm.quit_blender()
        return None
    if STEPS:
        with bpy.context.temp_override(**viewport()):
            STEPS.pop(0)()
        viewport()["area"].tag_redraw()
    return 0.05 if moved else 0.35  # as quick as a mouse moves things


bpy.context.preferences.view.show_splash = False
bpy.app.timers.register(step, first_interval=1.0)
