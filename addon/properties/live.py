"""What the open study amounts to, worked out again shortly after each edit.

Panels draw many times a second and must not sample a study: they read :func:`state`. Edits call
:func:`touch`; a timer then does the work once for many of them. Without a window nobody looks, and
nothing is done.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bpy
from bpy.app.handlers import persistent

from ..core.factors import ViewSpec, poses_by_action, sample_views
from ..core.study import Study, StudyError, brief_text, parse_study
from ..core.study.reading import library_poses

__all__ = [
    "Problem",
    "State",
    "current_state",
    "filling",
    "is_filling",
    "light_edited",
    "on_change",
    "on_edit",
    "on_light",
    "problems",
    "redraw",
    "register",
    "state",
    "touch",
    "unregister",
    "window_scene",
]

_AFTER_S = 0.2
_SOURCE = "study"  # what faults of an unsaved study call their file


@dataclass(frozen=True)
class Problem:
    """What is wrong with a study: a sentence, and the key that it is of, as ("camera", "iso")."""

    text: str
    path: tuple[str | int, ...]


@dataclass(frozen=True)
class State:
    """What a study amounts to.

    Attributes:
        text: The study as TOML, as it would be saved to a new file.
        study: The study, None while it has faults.
        views: Its views, () while it has faults.
        problems: Its faults.
    """

    text: str = ""
    study: Study | None = None
    views: tuple[ViewSpec, ...] = ()
    problems: tuple[Problem, ...] = ()


_NO_POSE = Problem("Study poses is []: switch one on, or show all poses of the actions", ("poses",))
_state = State()
_fillings = 0
_listeners: list[Callable[[State], None]] = []
_followers: list[Callable[[bpy.types.Scene], None]] = []
_light_followers: list[Callable[[bpy.types.Scene], None]] = []


def state() -> State:
    """Return what was worked out last; cheap enough to be called while drawing."""
    return _state


def problems(scene: bpy.types.Scene) -> tuple[Problem, ...]:
    """Return the faults of a scene's study, for ``poll``: without a window nobody follows edits."""
    return (current_state(scene) if bpy.app.background else _state).problems


def on_change(listener: Callable[[State], None]) -> None:
    """Have a function called with each new state; the parts of the sidebar register theirs."""
    if listener not in _listeners:
        _listeners.append(listener)


def on_edit(follower: Callable[[bpy.types.Scene], None]) -> None:
    """Have a function called with the scene shortly after edits, undo and redo.

    The state is worked out by then; without a window there are no calls. What only the scene knows,
    as which subject is chosen, changes no state.
    """
    if follower not in _followers:
        _followers.append(follower)


def on_light(follower: Callable[[bpy.types.Scene], None]) -> None:
    """Have a function called with the scene at each edit of its light, as a slider moves."""
    if follower not in _light_followers:
        _light_followers.append(follower)


def light_edited(scene: bpy.types.Scene) -> None:
    """Tell that a lighting was edited, or another one chosen."""
    if not is_filling():
        for follower in _light_followers:
            follower(scene)


@contextlib.contextmanager
def filling() -> Iterator[None]:
    """Keep property callbacks from completing what is being filled in whole."""
    global _fillings
    _fillings += 1
    try:
        yield
    finally:
        _fillings -= 1


def is_filling() -> bool:
    """Return whether properties are being filled in, rather than edited."""
    return _fillings > 0


def touch(_changed: object = None) -> None:
    """Have the state worked out soon."""
    if bpy.app.background or is_filling():
        return
    if not bpy.app.timers.is_registered(_update):
        bpy.app.timers.register(_update, first_interval=_AFTER_S)


def current_state(scene: bpy.types.Scene) -> State:
    """Work a scene's study out now, for operators: an edit a moment ago counts."""
    global _state
    from .convert import lists_no_pose, study_of  # which needs the groups, which need this module

    settings = scene.limen
    if not settings.is_open:
        new = State()
    else:
        try:
            text = brief_text(study_of(settings.study))
        except StudyError as error:  # a lighting that cannot be
            new = State(problems=tuple(map(Problem, error.problems, error.paths)))
        except ValueError as error:  # a camera that cannot be
            new = State(problems=(Problem(str(error), ("camera",)),))
        else:
            new = _worked_out(text, lists_no_pose(settings.study))
    changed, _state = new != _state, new
    if changed:
        for listener in _listeners:
            listener(new)
    return new


def _worked_out(text: str, lists_no_pose: bool) -> State:
    """Return what a text amounts to; in a text no pose means all, which nobody has asked for."""
    problems = (_NO_POSE,) if lists_no_pose else ()
    if _state.text == text and problems == tuple(x for x in _state.problems if x is _NO_POSE):
        return _state
    try:
        study = parse_study(text, _SOURCE)
    except StudyError as error:
        paths = [*error.paths, *[()] * len(error.problems)]
        told = zip(error.problems, paths, strict=False)
        problems = (*(Problem(said, path) for said, path in told), *problems)
    if problems:
        return State(text, None, (), problems)
    return State(text, study, sample_views(study, poses_by_action(study, library_poses())))


def window_scene() -> bpy.types.Scene | None:
    """Return the scene in the first window, for timers; None without a window."""
    window = next(iter(bpy.context.window_manager.windows), None)
    return None if window is None else window.scene


def redraw(*editors: str) -> None:
    """Have editors of some types drawn again, by default those with the sidebar or a preview."""
    for area in _areas(*(editors or ("VIEW_3D", "IMAGE_EDITOR"))):
        area.tag_redraw()


def redraw_sidebar() -> None:
    """Have the sidebar alone drawn again: a scene with grass takes long in a viewport."""
    for area in _areas("VIEW_3D"):
        for region in area.regions:
            if region.type == "UI":
                region.tag_redraw()


def _areas(*editors: str) -> Iterator[bpy.types.Area]:
    for window in bpy.context.window_manager.windows:
        yield from (area for area in window.screen.areas if area.type in editors)


def _update() -> None:
    """Work out the study of the scene in the window, and have the sidebars drawn again."""
    scene = window_scene()
    if scene is None:
        return
    current_state(scene)
    for follower in _followers:
        follower(scene)
    redraw()


@persistent
def _after_jump(*_arguments: object) -> None:
    """Undo, redo and another file change properties without a callback."""
    touch()


_HANDLERS = ("load_post", "undo_post", "redo_post")


def register() -> None:
    """Follow undo, redo and the opening of files."""
    for name in _HANDLERS:
        getattr(bpy.app.handlers, name).append(_after_jump)


def unregister() -> None:
    """Follow nothing any more."""
    global _state
    for name in _HANDLERS:
        getattr(bpy.app.handlers, name).remove(_after_jump)
    if bpy.app.timers.is_registered(_update):
        bpy.app.timers.unregister(_update)
    _listeners.clear()
    _followers.clear()
    _light_followers.clear()
    _state = State()
