"""The pose library: what the subject does, as data.

One TOML file per action under `data/poses`; docs/poses.md explains its schema and signs. Angles
are degrees in the files and radians in here.
"""

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import toml_check as rules
from . import toml_text
from .body import JOINT_NAMES

__all__ = [
    "KINDS",
    "MIRRORED",
    "MORE_POSES",
    "POSES_DIR",
    "Pose",
    "PoseError",
    "actions",
    "find_pose",
    "is_pose",
    "is_row_of",
    "load_poses",
    "mirror",
    "mirrored_name",
    "to_toml",
    "written_name",
]

POSES_DIR = Path(__file__).resolve().parents[1] / "data" / "poses"
"""Where the poses that come with Limen lie."""

MORE_POSES = "LIMEN_POSES"
"""Environment variable that names a directory with more poses, as `limen poses select` writes."""

MIRRORED = "_mirrored"
"""What a pose's name ends in where the pose is seen in a mirror."""

KINDS = ("anomaly", "normal")
"""What an action may be."""

_KEYS = ("action", "title", "kind", "phrases", "source", "licence", "pose")
_HANDS_FILE = "hands.toml"
_SWAPPED = np.array(
    [
        JOINT_NAMES.index(
            name.replace("left", "right") if "left" in name else name.replace("right", "left")
        )
        for name in JOINT_NAMES
    ]
)


class PoseError(Exception):
    """Poses that cannot be used; the message names every fault's key, file and line."""


@dataclass(frozen=True, eq=False)
class Pose:
    """One pose of one action.

    Attributes:
        name: Unique in the library, as in "walking_contact_left".
        action: Id of the action, as in "walking".
        title: The action as published, as in "Walking".
        phrases: Lower-case wordings that count as naming the action.
        axis_angle_rad: Rotation of each joint against its parent (55, 3), for `pose_body`. Row 0
            turns the whole body about its pelvis.
        source: Who made the pose, from what.
        licence: SPDX identifier.
        kind: "anomaly", or "normal": what people do anywhere; "" where the file does not say.
    """

    name: str
    action: str
    title: str
    phrases: tuple[str, ...]
    axis_angle_rad: NDArray[np.float64]
    source: str
    licence: str
    kind: str = ""


def load_poses(directory: Path | None = None) -> dict[str, Pose]:
    """Read every action file of a directory.

    Args:
        directory: Holds one `<action>.toml` per action. By default the library: Limen's own poses,
            and those of the directory that the environment variable LIMEN_POSES names.

    Returns:
        The poses by name, ordered by file and by their order in it.

    Raises:
        PoseError: There is no pose file, a file is not valid, or two poses share a name. The
            message lists every fault of the file.
    """
    if directory is not None:
        return _read_library(directory)
    return dict(_library(os.environ.get(MORE_POSES, "")))


@lru_cache(maxsize=2)
def _library(more: str) -> dict[str, Pose]:
    library = _read_library(POSES_DIR)
    if more:
        own = _read_library(Path(more))
        if both := sorted(library.keys() & own.keys()):
            raise PoseError(
                f"{more} ({MORE_POSES}) has a pose {both[0]}, as Limen itself has: give it a name "
                "of its own"
            )
        library |= own
    return library


def _read_library(directory: Path) -> dict[str, Pose]:
    files = sorted(path for path in directory.glob("*.toml") if path.name != _HANDS_FILE)
    if not files:
        raise PoseError(f"{directory} holds no pose files: put one ACTION.toml per action there")
    hands = _load_hands(POSES_DIR / _HANDS_FILE)
    library: dict[str, Pose] = {}
    for path in files:
        for pose in _load_action(path, hands):
            if pose.name in library:
                raise PoseError(
                    f"{path}: pose {pose.name} is also in {library[pose.name].action}.toml; "
                    "give it a name of its own"
                )
            library[pose.name] = pose
    return library


def actions(poses: Mapping[str, Pose]) -> dict[str, tuple[Pose, ...]]:
    """The poses of each action, in the library's order."""
    grouped: dict[str, tuple[Pose, ...]] = {}
    for pose in poses.values():
        grouped[pose.action] = (*grouped.get(pose.action, ()), pose)
    return grouped


def is_row_of(pose: Pose, row: Mapping[str, Any]) -> bool:
    """Whether a view row's ``pose`` is this one, to the six decimals that rows have."""
    return bool(np.array_equal(row["axis_angle_rad"], pose.axis_angle_rad.round(6)))


def find_pose(name: str, library: Mapping[str, Pose] | None = None) -> Pose:
    """The pose that a study or a view's row names.

    "walking_contact_left_mirrored" is the library's walking_contact_left in a mirror.

    Args:
        name: As written in the library, or with MIRRORED.
        library: Of :func:`load_poses`, which is the default.

    Raises:
        KeyError: The library has no such pose.
    """
    poses = load_poses() if library is None else library
    written = written_name(name, poses)
    return poses[name] if written == name else mirror(poses[written])


def is_pose(name: str) -> bool:
    """Whether :func:`find_pose` finds a pose of this name."""
    return written_name(name, load_poses()) in load_poses()


def written_name(name: str, library: Container[str]) -> str:
    """The name under which a library holds a pose that may be named as its mirror image."""
    written = name.removesuffix(MIRRORED)
    return written if name not in library and written in library else name


def mirrored_name(name: str) -> str:
    """The name of a pose's mirror image: it gains MIRRORED, or loses it."""
    return name.removesuffix(MIRRORED) if name.endswith(MIRRORED) else name + MIRRORED


def mirror(pose: Pose) -> Pose:
    """The pose as seen in a mirror: left and right change places, and so does its name's end."""
    return replace(
        pose,
        name=mirrored_name(pose.name),
        axis_angle_rad=pose.axis_angle_rad[_SWAPPED] * np.array([1.0, -1.0, -1.0]),
    )


def to_toml(poses: Sequence[Pose]) -> str:
    """The text of an action file that holds these poses, all of one action.

    Angles are written to 0.01 degree.

    Raises:
        PoseError: No pose, or poses of several actions.
    """
    if len({pose.action for pose in poses}) != 1:
        found = ", ".join(sorted({pose.action for pose in poses})) or "none"
        raise PoseError(f"A pose file holds poses of one action; these are of: {found}")
    first = poses[0]
    lines = [
        f"action = {toml_text.format_value(first.action)}",
        f"title = {toml_text.format_value(first.title)}",
        *([f"kind = {toml_text.format_value(first.kind)}"] if first.kind else []),
        f"phrases = [{', '.join(map(toml_text.format_value, first.phrases))}]",
        f"source = {toml_text.format_value(first.source)}",
        f"licence = {toml_text.format_value(first.licence)}",
    ]
    for pose in poses:
        lines += [
            "",
            "[[pose]]",
            f"name = {toml_text.format_value(pose.name)}",
            "[pose.rotations_deg]",
        ]
        for joint, vector in zip(JOINT_NAMES, np.degrees(pose.axis_angle_rad), strict=True):
            rounded = [round(float(x), 2) + 0.0 for x in vector]
            if any(rounded):
                lines.append(f"{joint} = {rounded}")
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------- reading

_Hands = Mapping[str, Mapping[str, NDArray[np.float64]]]

_FINGERS = tuple(name.removeprefix("left_") for name in JOINT_NAMES[25:40])


def _read_rotation(value: Any, path: rules.Path, faults: rules.Faults) -> Any:
    numbers = value if isinstance(value, list) else []
    # A whole number may be longer than a float can take.
    if len(numbers) != 3 or not all(type(x) in (int, float) and abs(x) < 1e9 for x in numbers):
        faults.add(path, f"is {rules.show(value)}: {_ROTATION.says}")
        return rules.WRONG
    rotation = np.array(numbers, dtype=float)
    angle = np.linalg.norm(rotation)
    if not angle <= 180:
        faults.add(path, f"turns by {angle:.1f} degrees: a rotation turns by 180 at most")
        return rules.WRONG
    return rotation


_ROTATION = rules.Rule(
    "a rotation is an axis times its angle in degrees, as in [0.0, -90.0, 0.0]", _read_rotation
)
_TEXT = rules.text('it is a text, as in "CC0-1.0"', r".+")
_PHRASE = rules.plain(
    "a phrase is a lower-case text", lambda v: isinstance(v, str) and v != "" and v == v.lower()
)
_NAME = rules.text("a pose's name is of a-z, 0-9 and _, as in walking_1", r"[a-z][a-z0-9_]*")


def _open(path: Path) -> tuple[dict[str, Any], rules.Faults]:
    try:
        text = rules.read_text(path, "Pose file")
        data = rules.parse(text, path.as_posix(), "Pose file")
    except rules.UnreadableError as error:
        raise PoseError(str(error)) from error
    faults = rules.Faults(
        text, path.as_posix(), "Pose file", lambda problems, _: PoseError("\n".join(problems))
    )
    return data, faults


def _load_action(path: Path, hands: _Hands) -> list[Pose]:
    data, faults = _open(path)
    top = rules.Table(data, (), _KEYS, faults)
    action = top.take("action", rules.one_of("the action, like the file,", [path.stem]))
    title = top.take("title", _TEXT)
    kind = top.take("kind", rules.one_of("a kind", KINDS), "")
    phrases = top.take("phrases", rules.list_of('phrases = ["walking"]', _PHRASE))
    source = top.take("source", _TEXT)
    licence = top.take("licence", _TEXT)
    tables = top.take(
        "pose",
        rules.plain("a file has one [[pose]] or more", lambda v: isinstance(v, list) and v != []),
    )
    poses = []
    for number, table in enumerate(() if tables is rules.WRONG else tables):
        name, axis_angle_rad = _read_pose(table, ("pose", number), hands, faults)
        axis_angle_rad.flags.writeable = False
        poses.append(Pose(name, action, title, phrases, axis_angle_rad, source, licence, kind))
    faults.raise_if_any()
    return poses


def _read_pose(
    data: Any, path: rules.Path, hands: _Hands, faults: rules.Faults
) -> tuple[str, NDArray[np.float64]]:
    """Name and axis-angle (55, 3) of a [[pose]]."""
    angles_deg = np.zeros((len(JOINT_NAMES), 3))
    table = rules.Table(data, path, ("name", "hands", "rotations_deg"), faults)
    name: str = table.take("name", _NAME)
    chosen = rules.Table(table.data.get("hands", {}), (*path, "hands"), ("left", "right"), faults)
    for side, sign in (("left", [1, 1, 1]), ("right", [1, -1, -1])):
        hand = chosen.take(side, rules.one_of("a hand", hands), None)
        for finger, rotation in hands.get(hand, {}).items():
            angles_deg[JOINT_NAMES.index(f"{side}_{finger}")] = rotation * sign
    rotations = rules.Table(
        table.data.get("rotations_deg", {}), (*path, "rotations_deg"), JOINT_NAMES, faults
    )
    for joint in JOINT_NAMES:
        rotation = rotations.take(joint, _ROTATION, None)
        if rotation is not None and rotation is not rules.WRONG:
            angles_deg[JOINT_NAMES.index(joint)] = rotation
    return name, np.radians(angles_deg)


def _load_hands(path: Path) -> _Hands:
    """Finger rotations in degrees of each preset, for a left hand."""
    data, faults = _open(path)
    hands = {}
    for preset, content in data.items():
        table = rules.Table(content, (preset,), _FINGERS, faults)
        hands[preset] = {finger: table.take(finger, _ROTATION, np.zeros(3)) for finger in _FINGERS}
    faults.raise_if_any()
    return hands
