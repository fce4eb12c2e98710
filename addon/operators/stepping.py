"""Work that takes a while, done in steps between a window's events, with progress and Esc."""

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import bpy

from ..properties import live
from ..properties.words import translated
from .errors import EXPECTED, reporting
from .study import StudyOperator
from .view import show_cell

__all__ = ["Stepping", "Work", "is_idle", "tell_work", "work"]

_AT_ONCE_S = 0.1

Steps = Generator[tuple[int, int], None, Any]


@dataclass(frozen=True)
class Work:
    """What goes on: what it is called, how many steps are done, and of how many."""

    title: str
    done: int
    of: int


_work: Work | None = None


def work() -> Work | None:
    """Return what goes on, None where nothing does; for panels."""
    return _work


def tell_work(now: Work | None) -> None:
    """Have panels show what goes on, or that nothing does."""
    global _work
    _work = now
    live.redraw_sidebar()


def is_idle(operator: type[bpy.types.Operator]) -> bool:
    """Return whether nothing goes on; where something does, an operator's poll says what."""
    if _work is None:
        return True
    title = translated(_work.title)
    operator.poll_message_set(translated("{} goes on: wait, or press Esc", title))
    return False


class Stepping(StudyOperator):
    """An operator whose ``steps`` yield (done, of) and return what ``finish`` takes."""

    bl_label: str

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a study is open and nothing else goes on."""
        return super().poll(context) and is_idle(cls)

    def steps(self, context: bpy.types.Context) -> Steps:
        """Do the work."""
        raise NotImplementedError

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Keep and report what came of it."""
        raise NotImplementedError

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Do all of it at once, as a script wants."""
        steps = self.steps(context)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self._restore(context)
                self.finish(context, end.value)
                return {"FINISHED"}

    @reporting
    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Begin."""
        self._steps = self.steps(context)
        self._scene = context.scene
        tell_work(Work(self.bl_label, 0, 1))
        self._timer = context.window_manager.event_timer_add(0.02, window=context.window)
        context.window_manager.modal_handler_add(self)
        context.workspace.status_text_set(translated("{}. Esc: stop", translated(self.bl_label)))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Do some steps; Esc stops."""
        if event.type == "ESC" and event.value == "PRESS":
            self._clear(context)
            self._restore(context)
            self.report({"INFO"}, translated("{} stopped", translated(self.bl_label)))
            return {"CANCELLED"}
        if event.type != "TIMER" or context.scene is not self._scene:
            return {"PASS_THROUGH"}
        until = time.monotonic() + _AT_ONCE_S
        try:
            while time.monotonic() < until:
                tell_work(Work(self.bl_label, *next(self._steps)))
        except StopIteration as end:
            self._clear(context)
            self._restore(context)
            self.finish(context, end.value)
            return {"FINISHED"}
        except EXPECTED as error:
            self._clear(context)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except BaseException:  # an error of Limen's own: it is shown, and nothing goes on
            self._clear(context)
            raise
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Stop, when Blender quits or opens another file."""
        self._clear(context)

    def _clear(self, context: bpy.types.Context) -> None:
        self._steps.close()
        context.window_manager.event_timer_remove(self._timer)
        if context.workspace is not None:
            context.workspace.status_text_set(None)
        tell_work(None)

    def _restore(self, context: bpy.types.Context) -> None:
        """Show the cell that stood in the scene before."""
        if not context.scene.limen.rig_placed:
            return
        try:
            show_cell(context)
        except EXPECTED as error:
            self.report({"WARNING"}, str(error))
