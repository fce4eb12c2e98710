"""What can be shown: which images a round is about, and the bytes of each.

The bytes are those that the dataset's rows record: an image that changed since is not shown.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...addon.core.dataset import Dataset, read_table
from ..develop.table import with_variants
from ..discern.table import shown_variants
from .errors import AnnotateChoiceError, AnnotateError
from .tasks import AnnotationTask

__all__ = ["Item", "Library", "Picture", "check_unchanged", "choose_items", "window_in"]

FRAMES_MOST = 2000
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_PNG = b"\x89PNG\r\n\x1a\n"
_VIDEO = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm")

Row = dict[str, Any]
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Item:
    """One image that a round is about.

    Attributes:
        media_id: The media item.
        variant: Which of its images.
        view_id: Its view.
        catch: Nobody is there: "visible" would be a mistake.
        role: ``train`` or ``test``, where a sample says so.
        stratum: Where a sample says so.
        sha256: Of the file that is shown.
    """

    media_id: str
    variant: str
    view_id: str
    catch: bool
    role: str | None = None
    stratum: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Picture:
    """How an item is shown.

    Attributes:
        kind: ``image``, ``clip`` or ``sequence``.
        width: In pixels.
        height: In pixels.
        frames: How many files or frames of a clip.
        fps: Frames a second; 0 for an image.
        box: The visible target's ``x, y, width, height``, or None.
    """

    kind: str
    width: int
    height: int
    frames: int
    fps: float
    box: Box | None


def choose_items(
    dataset: Dataset, task: AnnotationTask, sample: str | None, variants: Sequence[str]
) -> list[Item]:
    """Return the images of a round, in the order of (id, variant).

    Args:
        dataset: Where they are.
        task: It decides which kinds of media it can be asked about.
        sample: A name in ``labels/samples/``, or None for all items.
        variants: Of all items: only these; empty for those that are published (clean by day,
            camera and night vision in the dark), or clean where nothing was developed.

    Raises:
        AnnotateChoiceError: There is no such sample or variant, or nothing is left to show.
        AnnotateError: The sample names what is not in the dataset.
    """
    rows = with_variants(dataset)
    if sample is not None:
        items = _sampled(dataset.root, rows, sample)
    else:
        items = [
            _item(row, variant)
            for row in rows.values()
            for variant in (variants or shown_variants(row) or ("clean",))
            if row["media"].get(variant)
        ]
    if not items:
        there = sorted(
            {v for row in rows.values() for v, m in row["media"].items() if m} - {"kind"}
        )
        raise AnnotateChoiceError(
            f"{dataset.root} has no image to show as {', '.join(variants) or 'published'}; "
            f"it has {', '.join(there) or 'none at all'}"
        )
    kinds = {rows[item.media_id]["media"]["kind"] for item in items}
    if sample is None:
        items = [item for item in items if rows[item.media_id]["media"]["kind"] in task.kinds]
    if not items or (sample is not None and kinds - set(task.kinds)):
        where = f"sample {sample}" if sample else dataset.root
        raise AnnotateChoiceError(
            f"task {task.name} is about {' and '.join(task.kinds)}; "
            f"{where} has {', '.join(sorted(kinds))}"
        )
    return sorted(items, key=lambda item: (item.media_id, item.variant))


def _item(row: Row, variant: str, drawn: Mapping[str, Any] | None = None) -> Item:
    drawn = drawn or {}
    return Item(
        media_id=row["id"],
        variant=variant,
        view_id=row["view_id"],
        catch=bool(drawn.get("catch", not row["target_present"])),
        role=drawn.get("role"),
        stratum=drawn.get("stratum"),
        sha256=row["media"][variant]["sha256"],
    )


def _sampled(root: Path, rows: Mapping[str, Row], sample: str) -> list[Item]:
    directory = root / "labels" / "samples"
    path = directory / f"{sample}.jsonl"
    if not _NAME.fullmatch(sample) or not path.is_file():
        there = sorted(file.stem for file in directory.glob("*.jsonl"))
        have = f"are {', '.join(there)}" if there else "is none: limen discern sample draws one"
        raise AnnotateChoiceError(f"there is no sample '{sample}' in {directory}; there {have}")
    found: dict[tuple[str, str], Item] = {}
    for number, drawn in enumerate(read_table(path), 1):
        key = str(drawn.get("id")), str(drawn.get("variant"))
        row = rows.get(key[0])
        if row is None or not row["media"].get(key[1]):
            raise AnnotateError(
                f"{path}:{number}: {key[0]} has no image '{key[1]}' in {root}; "
                "the sample is of another dataset, or limen develop has not made it"
            )
        if drawn.get("catch") is True and row["target_present"]:
            raise AnnotateError(
                f"{path}:{number}: {key[0]} is a catch trial, but a target is there"
            )
        found[key] = _item(row, key[1], drawn)
    return list(found.values())


def window_in(picture: Picture, width: int, height: int, draw: tuple[float, float]) -> Box | None:
    """The part of an image that a screen can hold: ``x, y, width, height``; None if all of it.

    It lies at random among the places where it holds the whole target (as much of it as it can,
    where the target is larger), and anywhere where there is none.

    Args:
        picture: What is shown.
        width: Of the screen, in its pixels.
        height: Of the screen.
        draw: Two numbers in [0, 1).
    """
    if width >= picture.width and height >= picture.height:
        return None
    box = picture.box or (None, None, None, None)
    x, shown_width = _span(picture.width, width, box[0], box[2], draw[0])
    y, shown_height = _span(picture.height, height, box[1], box[3], draw[1])
    return x, y, shown_width, shown_height


def _span(
    whole: int, shown: int, start: int | None, length: int | None, draw: float
) -> tuple[int, int]:
    shown = max(1, min(shown, whole))
    low, high = 0, whole - shown
    if start is not None and length is not None:
        ends = sorted((start + length - shown, start))
        low, high = max(low, min(ends[0], high)), min(high, max(ends[1], low))
    return low + int(draw * (high - low + 1)), shown


class Library:
    """The images of a dataset, by media item and variant."""

    def __init__(self, dataset: Dataset) -> None:
        self.root = dataset.root.resolve()
        self._views = dataset.views
        self._rows = with_variants(dataset)

    def row(self, media_id: str) -> Row:
        """Return an item's index row, its developed images included.

        Raises:
            AnnotateError: It is not in the dataset.
        """
        if media_id not in self._rows:
            raise AnnotateError(f"{media_id} is not in {self.root} any more")
        return self._rows[media_id]

    def picture(self, media_id: str, variant: str) -> Picture:
        """Return how an image is shown.

        Raises:
            AnnotateError: It is not in the dataset, or a clip cannot be read.
        """
        row = self.row(media_id)
        record = self._record(media_id, variant)
        view = self._views[row["view_id"]]
        camera, box = view["camera"], view["box_visible"] if row["target_present"] else None
        frames, fps = 1, 0.0
        if row["media"]["kind"] != "image":
            fps = float(record.get("fps") or 25.0)
            if not 0.1 <= fps <= 1000:
                raise AnnotateError(f"{media_id} {variant}: {fps} frames a second cannot be shown")
            frames = len(self._frames(media_id, record))
        return Picture(
            kind=row["media"]["kind"],
            width=camera["width"],
            height=camera["height"],
            frames=frames,
            fps=fps,
            box=tuple(box) if box else None,
        )

    def png(self, media_id: str, variant: str, frame: int, sha256: str | None) -> bytes:
        """Return a frame as the PNG file that the row records.

        Args:
            media_id: The media item.
            variant: Which of its images.
            frame: 0 for an image.
            sha256: Of the file when the round was drawn.

        Raises:
            AnnotateError: There is no such frame, or the file is not the recorded one.
        """
        record = self._record(media_id, variant)
        if sha256 not in (None, record["sha256"]):
            raise AnnotateError(
                f"{media_id} {variant} was made anew since the round was drawn: "
                "start another round (--round NAME)"
            )
        if self.row(media_id)["media"]["kind"] == "image":
            frames: Sequence[Mapping[str, Any] | bytes] = (record,)
        else:
            frames = self._frames(media_id, record)
        if not 0 <= frame < len(frames):
            raise AnnotateError(f"{media_id} {variant} has {len(frames)} frames, no number {frame}")
        found = frames[frame]
        data = found if isinstance(found, bytes) else self._read(found)
        if not data.startswith(_PNG):
            raise AnnotateError(f"{media_id} {variant}: frame {frame} is not a PNG file")
        return data

    def _record(self, media_id: str, variant: str) -> Mapping[str, Any]:
        record = self.row(media_id)["media"].get(variant)
        if not isinstance(record, Mapping):
            raise AnnotateError(f"{media_id} has no image '{variant}' any more")
        return record

    def _frames(
        self, media_id: str, record: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any] | bytes]:
        listed = record.get("frames")
        if isinstance(listed, list) and 0 < len(listed) <= FRAMES_MOST:
            return listed
        if str(record["path"]).endswith(_VIDEO):
            self._inside(record["path"])
            return _decode(self.root / record["path"], record["sha256"])
        raise AnnotateError(
            f"{media_id}: a moving item lists 1 to {FRAMES_MOST} frames or is a video file "
            f"({', '.join(_VIDEO)}), and {record['path']} is neither"
        )

    def _inside(self, path: str) -> Path:
        """Follow links: a dataset from elsewhere must not show other files of this machine."""
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root):
            raise AnnotateError(f"{path} leads out of {self.root}")
        return file

    def _read(self, record: Mapping[str, Any]) -> bytes:
        try:
            data = self._inside(str(record["path"])).read_bytes()
            same = len(data) == record["size"]
            same = same and hashlib.sha256(data).hexdigest() == record["sha256"]
        except (OSError, KeyError, ValueError) as error:
            raise AnnotateError(f"{record.get('path')} cannot be read: {error}") from error
        if not same:
            raise AnnotateError(
                f"{record['path']} is not the file that its row records; limen check names all"
            )
        return data


@lru_cache(maxsize=4)
def _decode(path: Path, sha256: str) -> tuple[bytes, ...]:
    """The frames of a video file as PNG."""
    try:
        import av
        import cv2
    except ImportError as error:
        raise AnnotateError(f"{path} needs a decoder: pip install 'limen[video]'") from error
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise AnnotateError(f"{path} is not the file that its row records")
        frames: list[bytes] = []
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                whole, data = cv2.imencode(".png", frame.to_ndarray(format="bgr24"))
                if not whole or len(frames) >= FRAMES_MOST:
                    raise AnnotateError(f"{path} has more than {FRAMES_MOST} frames")
                frames.append(data.tobytes())
    except (av.error.FFmpegError, OSError) as error:
        raise AnnotateError(f"{path} cannot be decoded: {error}") from error
    if not frames:
        raise AnnotateError(f"{path} holds no frame")
    return tuple(frames)


def check_unchanged(items: Sequence[Item], library: Library) -> None:
    """Refuse to go on with a round whose images were made anew.

    Raises:
        AnnotateError: One was, or is gone.
    """
    for item in items:
        record = library.row(item.media_id)["media"].get(item.variant)
        if record is None or item.sha256 not in (None, record["sha256"]):
            raise AnnotateError(
                f"{item.media_id} {item.variant} was made anew or removed since the round was "
                "drawn, and answers are about the old image: start another round (--round NAME)"
            )
