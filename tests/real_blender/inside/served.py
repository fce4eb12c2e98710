"""Inside a Blender with a window: run the Python files that a test puts into a folder, in order.

argv after `--`: the folder. `N.py` is run once `N.py` is there whole, with `bpy`, `limen` (the
package), `area` and `region` (the sidebar's) and `context` (of its window); what it leaves in
`answer` becomes `N.json`, and an error its `error`. A file `leave` ends Blender.
"""

import importlib
import json
import sys
import time
import traceback
from pathlib import Path

import bpy

folder = Path(sys.argv[sys.argv.index("--") + 1])
GIVE_UP_S = 900
started = time.monotonic()
number = 0


def package():
    """Limen: the extension, or the checkout that a test has put on the path."""
    name = next((name for name in sys.modules if name.endswith(".limen")), "limen")
    return importlib.import_module(name)


def serve():
    """Run the next file, if it is there."""
    global number
    if (folder / "leave").exists() or time.monotonic() - started > GIVE_UP_S:
        bpy.ops.wm.quit_blender()
        return None
    script = folder / f"{number}.py"
    if not script.exists():
        return 0.1
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "UI")
    names = {"bpy": bpy, "area": area, "region": region, "answer": None, "limen": package()}
    try:
        main = next(r for r in area.regions if r.type == "WINDOW")
        with bpy.context.temp_override(window=window, area=area, region=main):
            names["context"] = bpy.context
            exec(script.read_text(), names)
        done = {"answer": names["answer"]}
    except BaseException:
        done = {"error": traceback.format_exc()}
    result = folder / f"{number}.json"
    result.with_suffix(".part").write_text(json.dumps(done))
    result.with_suffix(".part").rename(result)
    number += 1
    for item in window.screen.areas:
        item.tag_redraw()
    return 0.1


bpy.context.preferences.view.show_splash = False
bpy.context.preferences.use_preferences_save = False
bpy.app.timers.register(serve, first_interval=1.0, persistent=True)
