"""Moments of one movement, kept as poses of an action."""

from __future__ import annotations

import re
from pathlib import Path

from ...addon.core import poses as library
from ...addon.core.dataset import write_file
from .clip import Clip, MotionError, facing_forward, short_axis_angle
from .files import read_motion
from .frames import FrameRule, best_frame

__all__ = ["take_frame", "take_poses"]

_ACTION = re.compile(r"[a-z][a-z0-9_]*")


def take_frame(
    clip: Clip,
    frame: int,
    name: str,
    *,
    action: str,
    title: str,
    phrases: tuple[str, ...],
    source: str,
    licence: str,
) -> library.Pose:
    """Return a frame as a pose that faces forward."""
    return library.Pose(
        name=name,
        action=action,
        title=title,
        phrases=phrases,
        axis_angle_rad=short_axis_angle(facing_forward(clip.axis_angle_rad[frame])),
        source=source,
        licence=licence,
    )


def take_poses(
    motion: Path, action: str, at_s: tuple[float, ...], licence: str, out: Path
) -> list[library.Pose]:
    """Add moments of a motion to the poses of an action in a directory.

    Args:
        motion: The motion file.
        action: Its id. Title and phrases are those of Limen's library where it has the action.
        at_s: The moments; () takes the best one (:mod:`.frames`).
        licence: SPDX identifier of the motion's licence.
        out: ``ACTION.toml`` there is written, or gains poses.

    Returns:
        The new poses.

    Raises:
        MotionError: The motion cannot be used, or a moment lies outside it.
        PoseError: ``ACTION.toml`` is there and damaged.
    """
    if not _ACTION.fullmatch(action):
        raise MotionError(f"the action is {action!r}; needed is an id like falling_down")
    clip = read_motion(motion)
    if late := [t for t in at_s if not 0 <= t <= clip.duration_s]:
        raise MotionError(f"{motion} lasts {clip.duration_s:.2f} s; {late[0]:g} s is outside it")
    if at_s:
        frames = [clip.frames(t, t).start for t in at_s]
    else:
        frame = best_frame(clip, 0, clip.duration_s, FrameRule(margin=0, on_ground=False))
        frames = [] if frame is None else [frame]
    path = out / f"{action}.toml"
    # A directory of pose files is a library, in which names are unique.
    before = list(library.load_poses(out).values()) if any(out.glob("*.toml")) else []
    own = [pose for pose in before if pose.action == action]
    known = next(iter(own or library.actions(library.load_poses()).get(action, ())), None)
    title = known.title if known else action.replace("_", " ").capitalize()
    phrases = known.phrases if known else (action.replace("_", " "),)
    taken = {pose.name for pose in before}
    found: list[library.Pose] = []
    for frame in frames:
        number = next(n for n in range(1, 100_000) if f"{action}_{n:02d}" not in taken)
        name = f"{action}_{number:02d}"
        taken.add(name)
        found.append(
            take_frame(
                clip,
                frame,
                name,
                action=action,
                title=title,
                phrases=phrases,
                source=f"{clip.kind} {clip.source.name} frame {frame}",
                licence=licence,
            )
        )
    out.mkdir(parents=True, exist_ok=True)
    write_file(path, library.to_toml([*own, *found]).encode())
    return found
