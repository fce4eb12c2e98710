"""Run by a test inside a Blender with a window: open all of Limen's panels, and time their draw.

Defines ``draw_times``: name of a panel -> CPU seconds of each of its draws.
"""

import functools
import time

import bpy

draw_times = {}


def timed(cls):
    """Have a panel's draws timed, by the processor's time: others may be at work here."""
    draw, times = cls.draw, draw_times.setdefault(cls.__name__, [])

    @functools.wraps(draw)
    def run(self, context):
        started = time.thread_time()
        try:
            return draw(self, context)
        finally:
            times.append(time.thread_time() - started)

    return run


def open_all():
    """Register Limen's panels again, timed and open at first."""
    panels = [
        cls
        for cls in bpy.types.Panel.__subclasses__()
        if getattr(cls, "bl_category", "") == "Limen" and cls.is_registered
    ]
    order = {cls.__name__: i for i, cls in enumerate(limen("addon.ui.panels")._CLASSES)}  # noqa: F821
    panels.sort(key=lambda cls: order[cls.__name__])
    for cls in reversed(panels):
        bpy.utils.unregister_class(cls)
    for cls in panels:
        cls.draw = timed(cls)
        cls.bl_options = set()
        bpy.utils.register_class(cls)
