"""BVH motion files, retargeted to SMPL-X joints by their bones' directions at rest.

A BVH skeleton rests in a pose of its own (T, A or arms down) along axes of its own. Each joint's
rotation is taken in space; what turns the SMPL-X bone at rest onto the BVH bone at rest is put
before it. So arms point where the file has them, whatever the rest pose; the twist of a bone is
carried over as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...addon.core.body import JOINT_NAMES, PARENTS
from .clip import Clip, MotionError

__all__ = ["read_bvh"]

_Floats = NDArray[np.float64]

_CHARS_MOST = 200_000_000
_DEPTH_MOST = 200
_JOINTS_MOST = 1000

# SMPL-X joint -> what other skeletons call it, prefix, case and separators aside. The first that a
# file has counts: CMU (two conversions), Mixamo, 3ds Max Biped and MakeHuman wordings.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "pelvis": ("hips", "hip", "pelvis", "root"),
    "left_hip": ("leftupleg", "lefthip", "leftthigh", "lthigh", "lhip", "lfemur"),
    "right_hip": ("rightupleg", "righthip", "rightthigh", "rthigh", "rhip", "rfemur"),
    "left_knee": ("leftleg", "leftknee", "leftshin", "lshin", "lcalf", "ltibia"),
    "right_knee": ("rightleg", "rightknee", "rightshin", "rshin", "rcalf", "rtibia"),
    "left_ankle": ("leftfoot", "leftankle", "lfoot"),
    "right_ankle": ("rightfoot", "rightankle", "rfoot"),
    "left_foot": ("lefttoebase", "lefttoe", "lefttoes", "ltoes", "ltoe0", "ltoe"),
    "right_foot": ("righttoebase", "righttoe", "righttoes", "rtoes", "rtoe0", "rtoe"),
    "spine1": ("lowerback", "spine", "abdomen", "ab"),
    "spine2": ("spine1", "spine01", "chest"),
    "spine3": ("spine2", "spine02", "chest2", "thorax", "upperchest"),
    "neck": ("neck1", "neck", "neck01"),
    "head": ("head",),
    # A "shoulder" is the upper arm where nothing else is, and the collar bone where something is.
    "left_shoulder": (
        "leftarm",
        "leftuparm",
        "leftupperarm",
        "lupperarm",
        "lhumerus",
        "lshldr",
        "leftshoulder",
    ),
    "right_shoulder": (
        "rightarm",
        "rightuparm",
        "rightupperarm",
        "rupperarm",
        "rhumerus",
        "rshldr",
        "rightshoulder",
    ),
    "left_collar": ("leftcollar", "leftshoulder", "lclavicle", "lcollar"),
    "right_collar": ("rightcollar", "rightshoulder", "rclavicle", "rcollar"),
    "left_elbow": ("leftforearm", "leftelbow", "leftlowarm", "leftlowerarm", "lforearm", "lradius"),
    "right_elbow": (
        "rightforearm",
        "rightelbow",
        "rightlowarm",
        "rightlowerarm",
        "rforearm",
        "rradius",
    ),
    "left_wrist": ("lefthand", "leftwrist", "lhand"),
    "right_wrist": ("righthand", "rightwrist", "rhand"),
}
_NEEDED = (
    "pelvis", "left_hip", "right_hip", "left_knee", "right_knee",
    "left_shoulder", "right_shoulder", "left_elbow", "right_elbow",
)  # fmt: skip
# Bone of a joint: towards which joint it points, and where to in the SMPL-X rest pose (a T).
_DOWN, _UP = (0.0, -1.0, 0.0), (0.0, 1.0, 0.0)
_BONES: Mapping[str, tuple[str, tuple[float, float, float]]] = {
    "left_hip": ("left_knee", _DOWN),
    "right_hip": ("right_knee", _DOWN),
    "left_knee": ("left_ankle", _DOWN),
    "right_knee": ("right_ankle", _DOWN),
    "spine1": ("spine2", _UP),
    "spine2": ("spine3", _UP),
    "spine3": ("neck", _UP),
    "left_shoulder": ("left_elbow", (1.0, 0.0, 0.0)),
    "right_shoulder": ("right_elbow", (-1.0, 0.0, 0.0)),
    "left_elbow": ("left_wrist", (1.0, 0.0, 0.0)),
    "right_elbow": ("right_wrist", (-1.0, 0.0, 0.0)),
}
# A hand goes on as its forearm does, a foot as its shin: their own bones point elsewhere.
_LIKE = {
    "left_wrist": "left_elbow",
    "right_wrist": "right_elbow",
}
_CHANNEL = re.compile(r"([XYZ])(position|rotation)", re.IGNORECASE)


@dataclass
class _Joint:
    name: str
    parent: int
    offset: _Floats
    channels: list[str] = field(default_factory=list)
    first_column: int = 0


class _File(NamedTuple):
    joints: list[_Joint]
    frame_time_s: float
    frames: _Floats


def read_bvh(path: Path, metres_per_unit: float | None = None) -> Clip:
    """Read a BVH file of a human.

    Args:
        path: The file.
        metres_per_unit: Its unit of length. By default the one that makes the legs 0.85 m long.

    Raises:
        MotionError: The file is damaged, or its skeleton is not recognised as a human's.
    """
    file = _parse(path)
    found = _find_joints(file.joints, path)
    rest = _rest_positions(file.joints)
    axes = _axes(rest, found, path)  # theirs to ours
    turned = _global_rotations(file, path)

    local_up = {name: axes.apply(rest[at]) for name, at in found.items()}
    inside: dict[str, Rotation] = {}
    for name, at in found.items():
        inside[name] = axes * turned[at] * axes.inv() * _to_their_rest(name, local_up)
    axis_angle = np.zeros((len(file.frames), len(JOINT_NAMES), 3))
    for name, rotation in inside.items():
        above = _above(name, inside)
        relative = rotation if above is None else inside[above].inv() * rotation
        axis_angle[:, JOINT_NAMES.index(name)] = relative.as_rotvec()

    if metres_per_unit is None:
        metres_per_unit = 0.85 / _leg_length(rest, found, path)
    root = file.joints[found["pelvis"]]
    place = np.tile(rest[found["pelvis"]], (len(file.frames), 1))
    for number, channel in enumerate(root.channels):
        if channel.endswith("position"):
            place[:, "xyz".index(channel[0])] = file.frames[:, root.first_column + number]
    return Clip(
        name=path.stem,
        source=path,
        kind="bvh",
        frames_per_s=1 / file.frame_time_s,
        axis_angle_rad=axis_angle,
        pelvis_m=axes.apply(place) * metres_per_unit,
    )


# --- the skeleton --------------------------------------------------------------------------------


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(r"^.*[:]|^bip0?1|^mixamorig", "", name.lower()))


def _find_joints(joints: list[_Joint], path: Path) -> dict[str, int]:
    """SMPL-X joint -> index in the file."""
    known: dict[str, int] = {}
    for index, joint in enumerate(joints):
        known.setdefault(_plain(joint.name), index)
    found: dict[str, int] = {}
    for name, wordings in _NAMES.items():
        wording = next((w for w in wordings if w in known and known[w] not in found.values()), None)
        if wording is not None:
            found[name] = known[wording]
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        names = ", ".join(joint.name for joint in joints[:30])
        raise MotionError(
            f"{path} has no joint that is recognised as {', '.join(missing)}; its joints: {names}"
        )
    return found


def _rest_positions(joints: list[_Joint]) -> _Floats:
    rest = np.zeros((len(joints), 3))
    for index, joint in enumerate(joints):
        rest[index] = joint.offset + (rest[joint.parent] if joint.parent >= 0 else 0)
    return rest


def _axes(rest: _Floats, found: Mapping[str, int], path: Path) -> Rotation:
    """What turns the file's axes to ours: Y up, X to the body's left."""
    left = rest[found["left_hip"]] - rest[found["right_hip"]]
    up = rest[found["left_hip"]] - rest[found["left_knee"]]
    up = up + rest[found["right_hip"]] - rest[found["right_knee"]]
    matrix = np.zeros((3, 3))
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix[0] = left / np.linalg.norm(left)
        up = up - matrix[0] * (matrix[0] @ up)
        matrix[1] = up / np.linalg.norm(up)
        matrix[2] = np.cross(matrix[0], matrix[1])
    if not np.isfinite(matrix).all():
        raise MotionError(f"{path}: its hips and knees lie on one point, which gives no direction")
    # Axes of files are right-angled; the rest is how the skeleton stands in them.
    snapped = np.zeros((3, 3))
    for row in (1, 0):
        order = np.argsort(-np.abs(matrix[row]))
        column = next(c for c in order if not snapped[:, c].any())
        snapped[row, column] = np.sign(matrix[row, column])
    snapped[2] = np.cross(snapped[0], snapped[1])
    return Rotation.from_matrix(snapped)


def _to_their_rest(name: str, rest: Mapping[str, _Floats]) -> Rotation:
    """The least rotation from the SMPL-X bone at rest onto the file's."""
    end, ours = _BONES.get(_LIKE.get(name, name), (None, _UP))
    start = _LIKE.get(name, name)
    if end is None or end not in rest or start not in rest:
        return Rotation.identity()
    theirs = rest[end] - rest[start]
    length = float(np.linalg.norm(theirs))
    if length < 1e-9:
        return Rotation.identity()
    cross = np.cross(ours, theirs / length)
    sine, cosine = float(np.linalg.norm(cross)), float(np.dot(ours, theirs / length))
    if sine < 1e-9:
        axis = np.array([0.0, 0.0, 1.0])
        return Rotation.from_rotvec(axis * (0.0 if cosine > 0 else math.pi))
    return Rotation.from_rotvec(cross / sine * math.atan2(sine, cosine))


def _above(name: str, known: Mapping[str, Rotation]) -> str | None:
    """The nearest joint above that the file has."""
    parent = int(PARENTS[JOINT_NAMES.index(name)])
    while parent >= 0 and JOINT_NAMES[parent] not in known:
        parent = int(PARENTS[parent])
    return JOINT_NAMES[parent] if parent >= 0 else None


def _leg_length(rest: _Floats, found: Mapping[str, int], path: Path) -> float:
    parts = ["left_hip", "left_knee"] + (["left_ankle"] if "left_ankle" in found else [])
    places = [rest[found[name]] for name in parts]
    length = sum(float(np.linalg.norm(b - a)) for a, b in pairwise(places))
    if "left_ankle" not in found:
        length *= 2
    if not length > 0:
        raise MotionError(f"{path}: its left leg has no length")
    return length


def _global_rotations(file: _File, path: Path) -> list[Rotation]:
    turned: list[Rotation] = []
    for joint in file.joints:
        order = "".join(c[0] for c in joint.channels if c.endswith("rotation"))
        if not order:
            own = Rotation.identity(len(file.frames))
        elif len(set(order)) != 3 or len(order) != 3:
            raise MotionError(
                f"{path}: joint {joint.name} has the rotations {order.upper() or 'none'}; "
                "one each about X, Y and Z is needed"
            )
        else:
            at = [
                joint.first_column + number
                for number, channel in enumerate(joint.channels)
                if channel.endswith("rotation")
            ]
            # Channels are applied in their order, each about the axes that the last one left.
            own = Rotation.from_euler(order.upper(), file.frames[:, at], degrees=True)
        turned.append(own if joint.parent < 0 else turned[joint.parent] * own)
    return turned


# --- the text ------------------------------------------------------------------------------------


def _parse(path: Path) -> _File:
    try:
        if path.stat().st_size > _CHARS_MOST:
            raise MotionError(f"{path} is larger than {_CHARS_MOST / 1e6:.0f} MB")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise MotionError(f"{path} cannot be read: {error.strerror}") from error
    head, _, tail = text.partition("MOTION")
    if not head.lstrip().upper().startswith("HIERARCHY") or not tail:
        raise MotionError(f"{path} is no BVH file: it has no HIERARCHY and MOTION")
    try:
        joints = list(_read_joints(iter(head.split()[1:])))
        return _read_motion(joints, tail, path)
    except StopIteration:
        raise MotionError(f"{path}: its HIERARCHY ends in the middle") from None
    except (ValueError, IndexError) as error:
        if isinstance(error, MotionError):
            raise
        raise MotionError(f"{path} is no BVH file that can be read: {error}") from error


def _read_joints(words: Iterator[str]) -> list[_Joint]:
    joints: list[_Joint] = []
    open_joints: list[int] = []  # -1 is an end site
    column = 0
    for word in words:
        kind = word.upper()
        if kind in ("ROOT", "JOINT"):
            parent = open_joints[-1] if open_joints else -1
            joints.append(_Joint(next(words), parent, np.zeros(3)))
            _expect(next(words), "{")
            open_joints.append(len(joints) - 1)
        elif kind == "END":
            next(words)
            _expect(next(words), "{")
            open_joints.append(-1)
        elif kind == "OFFSET":
            offset = np.array([float(next(words)) for _ in range(3)])
            if open_joints[-1] >= 0:
                joints[open_joints[-1]].offset = offset
        elif kind == "CHANNELS":
            joint = joints[open_joints[-1]]
            channels = [next(words) for _ in range(int(next(words)))]
            unknown = [channel for channel in channels if not _CHANNEL.fullmatch(channel)]
            if unknown:
                raise ValueError(f"joint {joint.name} has the channel {unknown[0]}")
            joint.channels = [channel.lower() for channel in channels]
            joint.first_column, column = column, column + len(channels)
        elif kind == "}":
            open_joints.pop()
        else:
            raise ValueError(f"'{word[:40]}' is no part of a HIERARCHY")
        if len(joints) > _JOINTS_MOST or len(open_joints) > _DEPTH_MOST:
            raise ValueError(f"more than {_JOINTS_MOST} joints or {_DEPTH_MOST} levels")
    if open_joints:
        raise StopIteration
    return joints


def _expect(found: str, wanted: str) -> None:
    if found != wanted:
        raise ValueError(f"'{found[:40]}' stands where '{wanted}' is needed")


def _read_motion(joints: list[_Joint], text: str, path: Path) -> _File:
    match = re.match(r"\s*Frames:\s*(\d+)\s*Frame\s+Time:\s*([-+.\deE]+)", text, re.IGNORECASE)
    if not match:
        raise ValueError("MOTION does not begin with 'Frames:' and 'Frame Time:'")
    count, frame_time_s = int(match[1]), float(match[2])
    if not 1e-3 <= frame_time_s <= 1 or count < 1:
        raise ValueError(f"{count} frames of {frame_time_s:g} s; one or more of 0.001 s to 1 s")
    columns = sum(len(joint.channels) for joint in joints)
    numbers = np.array(text[match.end() :].split(), float)
    if columns == 0 or len(numbers) < columns or len(numbers) % columns:
        raise ValueError(f"{len(numbers)} numbers are no whole frames of {columns} channels")
    frames = numbers.reshape(-1, columns)
    if len(frames) < count:
        raise ValueError(f"it announces {count} frames and holds {len(frames)}")
    if not np.isfinite(frames).all():
        raise ValueError("a frame holds a value that is no finite number")
    return _File(joints, frame_time_s, frames[:count])
