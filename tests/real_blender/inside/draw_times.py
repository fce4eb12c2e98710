"""Run by a test inside a Blender with a window, after panels.py: time the draw of Limen's panels.

Defines ``draw_times``: name of a panel -> CPU seconds of each of its draws.
"""

import functools
import time

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


def time_all():
    """Show all of Limen's panels, timed and open at first."""
    for cls in limen_panels.values():  # noqa: F821
        cls.draw = timed(cls)
    show_panels()  # noqa: F821
