"""Inside Blender: each operator of the flow, then undo and redo through all; JSON to argv[-1].

A crash ends Blender: whoever started this sees its exit status.
"""

import json
import sys
from pathlib import Path

import bpy

limen = bpy.ops.limen
STEPS = [
    ("new study", lambda: limen.new_study()),
    ("small window", lambda: setattr(stage().limen.study.camera, "use_window", True)),
    ("place rig", lambda: limen.place_rig()),
    ("next camera", lambda: limen.step(factor="camera")),
    ("next pose", lambda: limen.step_gallery(factor="pose", step=1)),
    ("next texture", lambda: limen.step_gallery(factor="texture", step=1)),
    ("lighting", lambda: limen.step(factor="lighting")),
    ("add lighting", lambda: limen.add_level(factor="lighting", name="noon_east")),
    ("add elevation", lambda: limen.add_level(factor="elevation", value=10)),
    ("remove elevation", lambda: limen.remove_level(factor="elevation", index=0)),
    ("add subject", lambda: limen.add_level(factor="subject")),
    ("draw shape", lambda: limen.draw_shape()),
    ("test person", lambda: limen.add_test_person()),
    ("place rig again", lambda: limen.place_rig()),
    ("another study", lambda: limen.new_study()),
]


def stage():
    """The scene in which a study is open, None before there is one."""
    return next((scene for scene in bpy.data.scenes if scene.limen.is_open), None)


def text():
    """All that the scene remembers of its study."""
    scene = stage()
    if scene is None:
        return ""
    study = scene.limen.study
    levels = [study.lightings, study.subjects, study.camera.elevations_deg]
    return json.dumps(
        [study.name, [[level.name for level in c] for c in levels], scene.limen.view_id]
    )


bpy.context.preferences.edit.undo_steps = 64
bpy.ops.ed.undo_push(message="start")
seen = [text()]
for name, step in STEPS:
    print("step:", name, flush=True)
    step()
    bpy.ops.ed.undo_push(message=name)
    seen.append(text())
back, again = [], []
for _ in STEPS:
    bpy.ops.ed.undo()
    back.append(text())
for _ in STEPS:
    bpy.ops.ed.redo()
    again.append(text())
report = {"seen": seen, "back": back, "again": again}
Path(sys.argv[-1]).write_text(json.dumps(report))
