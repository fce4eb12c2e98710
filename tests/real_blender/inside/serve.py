"""Inside a Blender with a window: answer what a test asks, on a socket of 127.0.0.1.

argv after `--`: the file to write the port into, the interface scale. A request is a line of JSON:
{"value": EXPRESSION}, {"run": STATEMENTS}, {"text": WORDS, "points": SIZE, "file": PNG} (the words
drawn as the interface draws them, to be found in a picture of the screen) or {"quit": true}. The
answer is a line of JSON: {"value": ...} or {"error": ...}. Expressions read; what is tested is done
with mouse and keys.
"""

import contextlib
import importlib
import json
import os
import select
import socket
import sys
import traceback
from pathlib import Path

import blf
import bpy
import gpu
from mathutils import Matrix

port_file, scale = sys.argv[sys.argv.index("--") + 1 :]
LISTEN_EVERY_S = 0.05
listener = socket.create_server(("127.0.0.1", 0))
clients = []
names = {"bpy": bpy}


def stage():
    """The scene in the window."""
    return bpy.context.window_manager.windows[0].scene


def limen(name):
    """A module of the installed extension."""
    return importlib.import_module(f"bl_ext.user_default.limen.{name}")


def area_of(kind="VIEW_3D"):
    """The first area of a kind, in any window, and that window."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == kind:
                return window, area
    return None, None


def rectangle(kind="VIEW_3D", region="UI"):
    """A region's place in its window, from the top left corner: x, y, width, height."""
    window, area = area_of(kind)
    if area is None:
        return None
    found = next((r for r in area.regions if r.type == region), None)
    if found is None:
        return None
    return [found.x, window.height - found.y - found.height, found.width, found.height]


def draw_words(words, points, file):
    """Write a picture of words, light on dark, as the interface draws them."""
    size = points * bpy.context.preferences.system.ui_scale
    blf.size(0, size)
    width, _height = blf.dimensions(0, words)
    image = bpy.data.images.new("words", int(width) + 4, int(size * 1.4) + 4)
    offscreen = gpu.types.GPUOffScreen(*image.size)
    with offscreen.bind():
        gpu.state.active_framebuffer_get().clear(color=(0.2, 0.2, 0.2, 1))
        gpu.state.blend_set("ALPHA")
        with gpu.matrix.push_pop():
            to_clip = [[2 / image.size[0], 0, 0, -1], [0, 2 / image.size[1], 0, -1]]
            gpu.matrix.load_matrix(Matrix([*to_clip, [0, 0, 1, 0], [0, 0, 0, 1]]))
            gpu.matrix.load_projection_matrix(Matrix.Identity(4))
            blf.position(0, 2, int(size * 0.35) + 2, 0)
            blf.color(0, 0.9, 0.9, 0.9, 1)
            blf.draw(0, words)
        pixels = gpu.state.active_framebuffer_get().read_color(0, 0, *image.size, 4, 0, "UBYTE")
    offscreen.free()
    pixels.dimensions = image.size[0] * image.size[1] * 4
    image.pixels.foreach_set([value / 255 for value in pixels])
    image.filepath_raw, image.file_format = file, "PNG"
    image.save()
    bpy.data.images.remove(image)


def answer(request):
    """What a request asks for."""
    if "value" in request:
        return eval(request["value"], names)
    if "run" in request:
        return exec(request["run"], names)
    if "text" in request:
        return draw_words(request["text"], request["points"], request["file"])
    os._exit(0)  # quit: no question about unsaved changes


def serve(client):
    """Read a request and answer it; False when the test has gone."""
    line = client.readline()
    if not line:
        return False
    try:
        reply = json.dumps({"value": answer(json.loads(line))})
    except Exception:
        reply = json.dumps({"error": traceback.format_exc()})
    client.write(reply + "\n")
    client.flush()
    return True


def listen():
    """Answer what has come."""
    with contextlib.suppress(OSError):
        readable, _, _ = select.select([listener, *(c for c, _ in clients)], [], [], 0)
        for item in readable:
            if item is listener:
                connection, _ = listener.accept()
                clients.append((connection, connection.makefile("rw", encoding="utf-8")))
        for pair in [pair for pair in clients if pair[0] in readable]:
            if not serve(pair[1]):
                clients.remove(pair)
    return LISTEN_EVERY_S


names |= {"limen": limen, "stage": stage, "area_of": area_of, "rectangle": rectangle}
view = bpy.context.preferences.view
view.show_splash = False
view.ui_scale = float(scale)
view.filebrowser_display_type = "SCREEN"
bpy.context.preferences.use_preferences_save = False
bpy.app.timers.register(listen, first_interval=1.0, persistent=True)
Path(port_file).write_text(str(listener.getsockname()[1]))
