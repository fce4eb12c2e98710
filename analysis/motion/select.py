"""Two-stage selection of poses from named movements, with the reasons kept.

1. *Shortlist*: a sentence embedder compares each segment's text with each wanted action's
   description; the nearest texts go on.
2. *Scoring*: a language model says how surely each text shows the action (:mod:`.judge`).
3. *Frames*: of the segments above the threshold, in order of score and similarity, one frame each
   (:mod:`.frames`), no two from one motion and none closer to a chosen pose than a stated angle.

Everything that was decided lies in ``selection.jsonl`` beside the pose files.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addon.core import poses as library
from ...addon.core.body import rotation_matrices
from ...addon.core.dataset import write_file
from .babel import MotionIndex, Segment
from .clip import MotionError
from .files import read_motion
from .frames import FrameRule, best_frame
from .judge import Judge, score
from .take import take_frame

__all__ = [
    "Selection",
    "WantedAction",
    "pose_distance_deg",
    "read_actions",
    "select_poses",
    "shortlist",
]

Embedder = Callable[[Sequence[str]], NDArray[np.floating[Any]]]
Progress = Callable[[str, int, int], None]

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_AMASS_LICENCE = "LicenseRef-AMASS"


@dataclass(frozen=True)
class WantedAction:
    """An action that poses are looked for.

    Attributes:
        name: Id, as in ``falling``.
        title: As shown.
        description: What a moment of it looks like: what the shortlist and the judge go by.
        phrases: Wordings that count as naming it.
        poses: How many are wanted.
        frame: How a segment's frame is chosen.
    """

    name: str
    title: str
    description: str
    phrases: tuple[str, ...]
    poses: int = 6
    frame: FrameRule = field(default_factory=FrameRule)


@dataclass(frozen=True)
class Selection:
    """What :func:`select_poses` found.

    Attributes:
        poses: Action name -> its poses.
        rows: A row per shortlisted segment and action: why it was taken or not.
        missing: Motions that BABEL names and that are not here.
    """

    poses: dict[str, tuple[library.Pose, ...]]
    rows: tuple[dict[str, Any], ...]
    missing: tuple[str, ...]


def read_actions(path: Path) -> list[WantedAction]:
    """Read the wanted actions, ``[[action]]`` tables of a TOML file.

    Raises:
        MotionError: A table is not as it must be.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MotionError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MotionError(f"{path} is no TOML file: {error}") from error
    tables = data.get("action")
    if not isinstance(tables, list) or not tables or set(data) != {"action"}:
        raise MotionError(f"{path} must hold [[action]] tables and nothing else")
    actions = [_action(table, f"{path}: action {n}") for n, table in enumerate(tables, 1)]
    names = [action.name for action in actions]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise MotionError(f"{path} names the action {twice[0]} twice")
    return actions


def _action(table: Any, where: str) -> WantedAction:
    allowed = {
        "name", "title", "description", "phrases", "poses", "rule", "on_ground",
    }  # fmt: skip
    if not isinstance(table, dict):
        raise MotionError(f"{where} is no table")
    if unknown := sorted(set(table) - allowed):
        raise MotionError(
            f"{where} has the key {unknown[0]}; allowed are {', '.join(sorted(allowed))}"
        )
    name, description = table.get("name"), table.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise MotionError(f"{where}: name is {name!r}; needed is an id like falling_down")
    if not isinstance(description, str) or not description.strip():
        raise MotionError(f"{where}: description is {description!r}; say what it looks like")
    title = table.get("title", name.replace("_", " ").capitalize())
    phrases = table.get("phrases", [name.replace("_", " ")])
    if not isinstance(title, str) or not title:
        raise MotionError(f"{where}: title is {title!r}; needed is a text")
    if not isinstance(phrases, list) or not all(
        isinstance(p, str) and p and p == p.lower() for p in phrases
    ):
        raise MotionError(f"{where}: phrases is {phrases!r}; needed are lower-case texts")
    poses, rule = table.get("poses", 6), table.get("rule", "peak")
    if type(poses) is not int or not 1 <= poses <= 1000:
        raise MotionError(f"{where}: poses is {poses!r}; 1 to 1000 is allowed")
    if rule not in ("peak", "middle"):
        raise MotionError(f"{where}: rule is {rule!r}; allowed are peak, middle")
    on_ground = table.get("on_ground", True)
    if not isinstance(on_ground, bool):
        raise MotionError(f"{where}: on_ground is {on_ground!r}; allowed are true, false")
    frame = FrameRule(rule, on_ground=on_ground)
    return WantedAction(name, title, description.strip(), tuple(phrases), poses, frame)


def shortlist(
    texts: Sequence[str], actions: Sequence[WantedAction], embed: Embedder, most: int
) -> dict[str, list[tuple[str, float]]]:
    """Return for each action the texts nearest to its description, with their cosine.

    Args:
        texts: Different texts.
        actions: What is wanted.
        embed: Texts -> unit vectors (N, D).
        most: How many texts an action gets.
    """
    vectors = embed(texts)
    wanted = embed([action.description for action in actions])
    near = np.asarray(wanted @ vectors.T)
    found = {}
    for action, row in zip(actions, near, strict=True):
        # By text where two are equally near, so that the order of files does not matter.
        order = sorted(range(len(texts)), key=lambda i: (-round(float(row[i]), 6), texts[i]))
        found[action.name] = [(texts[i], float(row[i])) for i in order[:most]]
    return found


def select_poses(
    segments: Sequence[Segment],
    motions: MotionIndex,
    actions: Sequence[WantedAction],
    embed: Embedder,
    judge: Judge,
    judge_name: str,
    prompt: str,
    out: Path,
    *,
    shortlisted: int = 100,
    threshold: int = 7,
    apart_deg: float = 8.0,
    progress: Progress | None = None,
) -> Selection:
    """Choose poses and write a pose file per action into a directory.

    Stopped at any time, the same call goes on: scores are kept as they come.

    Args:
        segments: Named stretches of motions.
        motions: Where the motions lie.
        actions: What is wanted.
        embed: See :func:`shortlist`.
        judge: Prompt -> reply, see :mod:`.judge`.
        judge_name: Its model and settings.
        prompt: Its prompt, with the three fields.
        out: ``ACTION.toml``, ``selection.jsonl`` and ``scores.jsonl`` go here.
        shortlisted: How many texts of an action the judge is asked about.
        threshold: Least score of a text that is taken.
        apart_deg: Least distance of two poses of an action, see :func:`pose_distance_deg`.
        progress: Told (step, done, in all).

    Raises:
        MotionError: Nothing that BABEL names is here, or a motion is damaged.
        JudgeError: The judge does not answer.
    """
    tell = progress or (lambda step, done, total: None)
    here = [segment for segment in segments if motions.find(segment.motion)]
    missing = tuple(sorted({s.motion for s in segments} - {s.motion for s in here}))
    if not here:
        raise MotionError(
            f"none of the {len(missing)} motions that BABEL names is among the {len(motions)} "
            f"here; the first is {missing[0] if missing else 'none'}"
        )
    texts = sorted({segment.text for segment in here})
    tell("embedding texts", 0, len(texts))
    near = shortlist(texts, actions, embed, shortlisted)
    tell("embedding texts", len(texts), len(texts))

    scores = _scores(near, actions, judge, judge_name, prompt, out / "scores.jsonl", tell)
    by_text: dict[str, list[Segment]] = {}
    for segment in here:
        by_text.setdefault(segment.text, []).append(segment)
    poses: dict[str, tuple[library.Pose, ...]] = {}
    rows: list[dict[str, Any]] = []
    for done, action in enumerate(actions):
        tell("choosing frames", done, len(actions))
        candidates = [
            (segment, cosine, scores[action.name, text])
            for text, cosine in near[action.name]
            for segment in by_text[text]
        ]
        candidates.sort(key=lambda c: (-(-1 if c[2] is None else c[2]), -round(c[1], 6), c[0].id))
        poses[action.name], reasons = _choose(
            action, candidates, motions, threshold, apart_deg, judge_name
        )
        rows += reasons
    tell("choosing frames", len(actions), len(actions))
    _write(out, poses, rows)
    return Selection(poses, tuple(rows), missing)


def pose_distance_deg(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Mean angle in degrees between the joints 0 to 21 of two poses (55, 3) that face forward."""
    relative = np.einsum("jba,jbc->jac", rotation_matrices(a[:22]), rotation_matrices(b[:22]))
    angles = np.arccos(np.clip((np.trace(relative, axis1=1, axis2=2) - 1) / 2, -1, 1))
    return float(np.degrees(angles.mean()))


# --- steps ---------------------------------------------------------------------------------------


def _scores(
    near: dict[str, list[tuple[str, float]]],
    actions: Sequence[WantedAction],
    judge: Judge,
    judge_name: str,
    prompt: str,
    cache: Path,
    tell: Progress,
) -> dict[tuple[str, str], int | None]:
    questions = [
        {"action": action.title, "description": action.description, "text": text}
        for action in actions
        for text, _ in near[action.name]
    ]
    keys = [(action.name, text) for action in actions for text, _ in near[action.name]]
    found: dict[tuple[str, str], int | None] = {}
    tell("scoring texts", 0, len(questions))
    for key, row in zip(keys, score(questions, prompt, judge, judge_name, cache), strict=True):
        found[key] = row["score"]
        tell("scoring texts", len(found), len(questions))
    return found


def _choose(
    action: WantedAction,
    candidates: Sequence[tuple[Segment, float, int | None]],
    motions: MotionIndex,
    threshold: int,
    apart_deg: float,
    judge_name: str,
) -> tuple[tuple[library.Pose, ...], list[dict[str, Any]]]:
    chosen: list[library.Pose] = []
    used: set[str] = set()
    rows = []
    for segment, cosine, points in candidates:
        row: dict[str, Any] = {
            "action": action.name,
            "segment": segment.id,
            "motion": segment.motion,
            "text": segment.text,
            "cosine": round(cosine, 6),
            "score": points,
        }
        rows.append(row)
        if points is None:
            row["why"] = "no score"
        elif points < threshold:
            row["why"] = "below the threshold"
        elif len(chosen) == action.poses:
            row["why"] = "enough poses"
        elif segment.motion in used:
            row["why"] = "another pose is of this motion"
        else:
            why, pose = _take(action, segment, motions, chosen, apart_deg, row, judge_name)
            row["why"] = why
            if pose is not None:
                chosen.append(pose)
                used.add(segment.motion)
    return tuple(chosen), rows


def _take(
    action: WantedAction,
    segment: Segment,
    motions: MotionIndex,
    chosen: Sequence[library.Pose],
    apart_deg: float,
    row: dict[str, Any],
    judge_name: str,
) -> tuple[str, library.Pose | None]:
    path = motions.find(segment.motion)
    if path is None:  # only motions that are here are candidates
        return "the motion is not here", None
    try:
        clip = read_motion(path)
    except MotionError as error:
        return f"unusable: {error}", None
    frame = best_frame(clip, segment.start_s, segment.end_s, action.frame)
    if frame is None:
        return "no frame on the ground", None
    row["frame"], row["at_s"] = frame, round(frame / clip.frames_per_s, 3)
    name = f"{action.name}_{len(chosen) + 1:02d}"
    pose = take_frame(
        clip,
        frame,
        name,
        action=action.name,
        title=action.title,
        phrases=action.phrases,
        source=(
            f"AMASS {segment.motion} frame {frame}; BABEL {segment.id} '{segment.text}', score "
            f"{row['score']} of 10 by {judge_name}, cosine {row['cosine']:.3f}"
        ),
        licence=_AMASS_LICENCE,
    )
    distances = [pose_distance_deg(pose.axis_angle_rad, p.axis_angle_rad) for p in chosen]
    row["nearest_pose_deg"] = round(min(distances), 2) if distances else None
    if min(distances, default=math.inf) < apart_deg:
        return "too near to a chosen pose", None
    row["pose"] = name
    return "taken", pose


def _write(
    out: Path, poses: dict[str, tuple[library.Pose, ...]], rows: Sequence[dict[str, Any]]
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for action, found in poses.items():
        if found:
            write_file(out / f"{action}.toml", library.to_toml(found).encode())
        else:
            (out / f"{action}.toml").unlink(missing_ok=True)
    lines = "".join(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n" for row in rows)
    write_file(out / "selection.jsonl", lines.encode())
