"""Inside a Blender with a window: open Limen's tab and a study, say where it is, wait, quit.

argv after `--`: the study, the file to write (JSON), the file whose appearance ends Blender.
"""

import json
import sys
import time
from pathlib import Path

import bpy

study, ready, leave = sys.argv[sys.argv.index("--") + 1 :]
GIVE_UP_S = 240
started = time.monotonic()
steps = 0


def sidebar():
    """The window, its 3D viewport and the viewport's sidebar region."""
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    return window, area, next(r for r in area.regions if r.type == "UI")


def step():
    """One thing per redraw: a region has no tabs, and a tab no panels, before it was drawn."""
    global steps
    steps += 1
    window, area, region = sidebar()
    if steps == 1:
        area.spaces.active.show_region_ui = True
    elif steps == 2:
        region.active_panel_category = "Limen"
        bpy.ops.limen.open_study(filepath=study)
        bpy.ops.limen.step_view(step=1)
    elif steps == 4:
        report = {
            "tab": region.active_panel_category,
            "view": bpy.context.scene.limen.view_id,
            "window": [window.width, window.height],
            "sidebar": [region.x, region.y, region.width, region.height],
        }
        Path(ready).write_text(json.dumps(report))
    elif Path(leave).exists() or time.monotonic() - started > GIVE_UP_S:
        bpy.ops.wm.quit_blender()
        return None
    area.tag_redraw()
    return 1.0


bpy.context.preferences.view.show_splash = False
bpy.app.timers.register(step, first_interval=1.0)
