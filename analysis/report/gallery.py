"""Failures to look at: images that were answered wrong, with what everyone said of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...addon.core import seeds
from ...addon.core.dataset import Dataset
from ..images import read_image
from ..metrics.tables import UNKNOWN
from . import text
from .answers import Answerer, Answers
from .contact_sheet import crop_box

__all__ = ["MOST", "Failure", "Said", "gallery"]

MOST = 72
"""So many pictures are shown, whatever the number of failures: the page stays small."""

_WIDTH_PX = 220  # pictures are enlarged by whole factors up to this, and shrunk down to it
_ANSWER_LETTERS = 160


@dataclass(frozen=True)
class Said:
    """What one answerer said of a picture."""

    label: str
    words: str
    verdict: str


@dataclass(frozen=True)
class Failure:
    """A picture of the gallery.

    Attributes:
        item: Its id.
        variant: Of the image.
        source: A data URI; None where the image is not there.
        width: In pixels, as shown.
        height: In pixels, as shown.
        outline: An SVG path around what is visible of the person, in shown pixels; empty without.
        kind: ``missed`` (was to be seen), ``false alarm`` (nobody was there), or ``beyond sight``
            (somebody was there, and said to be seen, whom no human sees).
        truth: What is right, in words.
        facts: Light, density, viewpoint, pose.
        said: By everyone who was asked, those who failed first.
        wrong: Labels of those who failed.
        band: Of its light.
        density: Its px/m, as written.
    """

    item: str
    variant: str
    source: str | None
    width: int
    height: int
    outline: str
    kind: str
    truth: str
    facts: str
    said: tuple[Said, ...]
    wrong: tuple[str, ...]
    band: str
    density: str


def gallery(
    dataset: Dataset, answers: Answers, people: Sequence[Answerer], most: int = MOST
) -> tuple[tuple[Failure, ...], int]:
    """Choose failures of models and show them.

    They are dealt in turn over kind of failure, light band and pixel density, within these by hash,
    so that every corner is seen and the same dataset gives the same pictures.

    Args:
        dataset: Where the images are.
        answers: What was asked.
        people: Who was asked; constants left out.
        most: How many pictures.

    Returns:
        The pictures, and how many images failed at all.
    """
    items, main = answers.items, answers.items.truths[answers.truth]
    models = [one for one in people if one.kind == "model"]
    wrong = [one.asked & (main != UNKNOWN) & (one.outcomes != main) for one in models]
    failed = np.nonzero(np.any(wrong, axis=0))[0] if models else np.array([], np.int64)
    corners: dict[tuple[Any, ...], list[int]] = {}
    for place in failed:
        row, view = answers.rows[place], answers.views[place]
        kind = _kind(int(main[place]), row["target_present"])
        corner = (kind, row["band"], items.keys[place][1], view["density_nominal_px_per_m"])
        corners.setdefault(corner, []).append(int(place))
    for places in corners.values():
        places.sort(key=lambda place: seeds.uniform(0, "/".join(items.keys[place]), "gallery"))
    chosen: list[int] = []
    order = sorted(corners, key=lambda corner: seeds.uniform(0, repr(corner), "gallery"))
    while len(chosen) < min(most, len(failed)):
        for corner in order:
            if corners[corner] and len(chosen) < most:
                chosen.append(corners[corner].pop(0))
    chosen.sort(key=lambda p: (-(answers.views[p]["density_nominal_px_per_m"] or 0), items.keys[p]))
    return tuple(_failure(dataset, answers, people, place) for place in chosen), len(failed)


def _failure(dataset: Dataset, answers: Answers, people: Sequence[Answerer], place: int) -> Failure:
    items, row, view = answers.items, answers.rows[place], answers.views[place]
    row_id, variant = items.keys[place]
    truth = int(items.truths[answers.truth][place])
    judged = [one for one in people if one.kind != "constant" and one.asked[place]]
    said = [_said(one, place, truth) for one in judged]
    said.sort(key=lambda of: (of.verdict == "right", of.label))
    models = {one.label for one in people if one.kind == "model"}
    source, width, height, outline = _picture(dataset, row, view, variant)
    factors = view["factors"]
    known: list[tuple[Any, Callable[[Any], str]]] = [
        (view["density_nominal_px_per_m"], text.density),
        (row["lighting"].replace("_", " "), str),
        (row["illuminance_nominal_lx"], text.illuminance),
        (factors["azimuth_deg"], lambda angle: f"azimuth {text.degrees(angle)}"),
        (factors["elevation_deg"], lambda angle: f"elevation {text.degrees(angle)}"),
        (factors["pose"], lambda pose: pose.replace("_", " ")),
        (factors["scenery"], str),
    ]
    facts = [write(value) for value, write in known if value is not None]
    if view["unoccluded_fraction"] is not None and view["unoccluded_fraction"] < 0.995:
        facts.append(f"{view['unoccluded_fraction']:.0%} of the person unoccluded")
    return Failure(
        item=row_id,
        variant=variant,
        source=source,
        width=width,
        height=height,
        outline=outline,
        kind=_kind(truth, bool(row["target_present"])),
        truth=_truth_words(answers, place),
        facts=" · ".join(facts),
        said=tuple(said),
        wrong=tuple(of.label for of in said if of.verdict != "right" and of.label in models),
        band=row["band"],
        density=text.density(view["density_nominal_px_per_m"]).removesuffix(" px/m"),
    )


def _kind(truth: int, present: bool) -> str:
    if truth:
        return "missed"
    return "beyond sight" if present else "false alarm"


def _said(one: Answerer, place: int, truth: int) -> Said:
    outcome = int(one.outcomes[place])
    words = one.answers[place]
    if words is None:
        words = {0: "no", 1: "yes"}.get(outcome, "no answer")
    words = " ".join(str(words).split())
    if len(words) > _ANSWER_LETTERS:
        words = f"{words[:_ANSWER_LETTERS]} …"
    return Said(one.label, words, "right" if outcome == truth else _VERDICTS.get(outcome, "wrong"))


_VERDICTS = {2: "unparsed", 3: "refused", 4: "error"}


def _truth_words(answers: Answers, place: int) -> str:
    if not answers.items.truths["presence"][place]:
        return "nobody is there"
    if answers.labels is None:
        return "somebody is there"
    seen = answers.items.truths["discernable"][place]
    who = "a human" if answers.labels.source == "human" else "the simulated observer"
    return f"somebody is there, and {who} {'sees them' if seen == 1 else 'does not see them'}"


def _picture(
    dataset: Dataset, row: Any, view: Any, variant: str
) -> tuple[str | None, int, int, str]:
    """The crop as a data URI, its shown size, and the visible person's outline as an SVG path."""
    import cv2

    left, top, width, height = crop_box(view)
    factor = max(1, _WIDTH_PX // width) if width < _WIDTH_PX else _WIDTH_PX / width
    shown = (round(width * factor), round(height * factor))
    media = row["media"].get(variant) or row["media"].get("clean")
    image = read_image(dataset.root / media["path"]) if media else None
    if image is None or image.shape[0] < top + height or image.shape[1] < left + width:
        return None, *shown, ""
    crop = image[top : top + height, left : left + width]
    if factor < 1:
        crop = np.asarray(cv2.resize(crop, shown, interpolation=cv2.INTER_AREA), np.uint8)
    _, data = cv2.imencode(".png", crop, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    if len(data) > 40_000:
        _, data = cv2.imencode(".jpg", crop, [cv2.IMWRITE_JPEG_QUALITY, 92])
        kind = "jpeg"
    else:
        kind = "png"
    source = f"data:image/{kind};base64," + base64.b64encode(data.tobytes()).decode()
    return source, *shown, _outline(dataset, view, (left, top, width, height), factor)


def _outline(dataset: Dataset, view: Any, box: tuple[int, int, int, int], factor: float) -> str:
    import cv2

    left, top, width, height = box
    path = dataset.root / "masks" / f"{view['view_id']}.visible.png"
    named = next((name for name in view["files"] if name.endswith(".visible.png")), None)
    mask = read_image(dataset.root / named if named else path) if view["target_present"] else None
    if mask is None:
        return ""
    if mask.ndim == 3:
        mask = mask[..., 0]
    part = np.ascontiguousarray(mask[top : top + height, left : left + width] > 127).astype(
        np.uint8
    )
    # Around the pixels, not through their centres: enlarged first.
    part = np.kron(part, np.ones((4, 4), np.uint8))
    contours, _ = cv2.findContours(part, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    lines = []
    for contour in contours:
        points = (contour[:, 0].astype(float) + 0.5) / 4 * factor
        lines.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z")
    return "".join(lines)
