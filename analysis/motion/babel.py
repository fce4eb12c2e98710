"""BABEL's annotations (Punnakkal et al. 2021): what is done in a motion, and when.

A file maps a sequence's id to its motion, its length, and texts over the whole sequence and over
stretches of it. The files ``extra_*.json`` hold several annotators' texts under plural keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .amass import is_motion
from .clip import MotionError

__all__ = ["MotionIndex", "Segment", "read_babel"]

_ANNOTATIONS = ("seq_ann", "frame_ann", "seq_anns", "frame_anns")


@dataclass(frozen=True)
class Segment:
    """A stretch of a motion that somebody has named.

    Attributes:
        id: ``SEQUENCE:SEGMENT``, unique in BABEL.
        motion: The motion's path as BABEL writes it, as in ``CMU/CMU/141/141_05_poses.npz``.
        text: What is done, in the annotator's words.
        categories: BABEL's action categories, () where it gives none.
        start_s: Begin, in seconds.
        end_s: End; the motion's where the text is about all of it.
    """

    id: str
    motion: str
    text: str
    categories: tuple[str, ...]
    start_s: float
    end_s: float


def read_babel(directory: Path) -> list[Segment]:
    """Read every ``*.json`` of BABEL in a directory, ordered by sequence and time.

    Raises:
        MotionError: There is none, or one is not in BABEL's format.
    """
    files = sorted(directory.glob("*.json"))
    if not files:
        raise MotionError(
            f"{directory} holds no .json file: BABEL's train.json, val.json and extra files lie "
            "in one directory"
        )
    found: dict[str, Segment] = {}
    for path in files:
        for segment in _read_file(path):
            found.setdefault(segment.id, segment)
    return sorted(found.values(), key=lambda s: (s.motion, s.start_s, s.end_s, s.id))


def _read_file(path: Path) -> Iterator[Segment]:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise MotionError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise MotionError(f"{path} is no BABEL file: it holds a {type(data).__name__}")
    for sid, sequence in data.items():
        try:
            yield from _segments(str(sid), sequence)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise MotionError(
                f"{path}: sequence {sid} is not as BABEL writes it ({type(error).__name__}: "
                f"{error})"
            ) from error


def _segments(sid: str, sequence: Any) -> Iterator[Segment]:
    motion, duration_s = str(sequence["feat_p"]), float(sequence["dur"])
    number = 0
    for key in _ANNOTATIONS:
        annotations = sequence.get(key)
        if annotations is None:
            continue
        for annotation in annotations if isinstance(annotations, list) else [annotations]:
            for label in (annotation or {}).get("labels") or ():
                number += 1
                text = label.get("proc_label") or label.get("raw_label")
                if not text or str(text).lower() in ("transition", "transition to next"):
                    continue
                start, end = label.get("start_t"), label.get("end_t")
                start_s = 0.0 if start is None else float(start)
                end_s = duration_s if end is None else float(end)
                if end_s < start_s:
                    continue
                yield Segment(
                    id=f"{sid}:{label.get('seg_id') or number}",
                    motion=motion,
                    text=str(text).strip().lower(),
                    categories=tuple(map(str, label.get("act_cat") or ())),
                    start_s=start_s,
                    end_s=end_s,
                )


class MotionIndex:
    """Where the motions that BABEL names lie on this machine.

    BABEL names the SMPL-H release (``CMU/CMU/141/141_05_poses.npz``); the SMPL-X release calls the
    same motion ``CMU/141/141_05_stageii.npz`` and some of its folders otherwise. So motions are
    found by the last two parts of their path, without the ending; the SMPL-X one goes first.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise MotionError(f"{root} is no directory: AMASS's motions lie under it")
        self._paths: dict[tuple[str, str], Path] = {}
        for path in sorted(root.rglob("*.npz"), key=lambda p: (p.name.endswith("_poses.npz"), p)):
            if is_motion(path):
                self._paths.setdefault(_key(path.as_posix()), path)

    def __len__(self) -> int:
        return len(self._paths)

    def find(self, motion: str) -> Path | None:
        """Return the file of a motion as BABEL names it; None where it is not here."""
        return self._paths.get(_key(motion))


def _key(path: str) -> tuple[str, str]:
    parts = path.replace("\\", "/").split("/")
    stem = parts[-1].removesuffix(".npz").removesuffix("_poses").removesuffix("_stageii")
    folder = parts[-2] if len(parts) > 1 else ""
    return folder.lower().replace(" ", "_"), stem.lower().replace(" ", "_")
