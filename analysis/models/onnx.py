"""Detectors in an ONNX file.

Read are the outputs that exporters write, told apart by name and shape (N: batch 1, Q: candidates,
C: classes):

=============  ==================================================  ==============================
layout         outputs                                             written by
=============  ==================================================  ==============================
``yolo``       (1, 4 + C, Q), C scores each                        YOLOv8, YOLO11 and later
``yolo5``      (1, Q, 5 + C), objectness, then C scores            YOLOv5, YOLOv7, YOLOX
``end2end``    (1, Q, 6): box, score, class                        YOLOv10, models with NMS inside
``detr``       ``logits`` (1, Q, C or C + 1), ``pred_boxes``       DETR, RT-DETR, D-FINE (optimum)
``ssd``        ``boxes``, ``labels`` (Q,), ``scores`` (Q,)         torchvision
=============  ==================================================  ==============================

That a person is there needs no boxes to be merged: the best score decides.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..conversation import Conversation
from . import Access, AnswerError, Model, ModelError, Outcome, one_of, whole
from .detectors import PERSON_NAMES, file_hash, verdict
from .huggingface import require
from .pictures import read_rgb

__all__ = ["LAYOUTS", "make_onnx"]

LAYOUTS = ("auto", "yolo", "yolo5", "end2end", "detr", "ssd")
NORMALISATIONS = ("unit", "imagenet", "none")

_MEAN = np.array((0.485, 0.456, 0.406), np.float32)
_DEVIATION = np.array((0.229, 0.224, 0.225), np.float32)
_GREY = 114  # what YOLO's own letterbox is filled with
_STRIDE = 32
_WITH_NOTHING = (82, 92)  # numbers of classes of DETR, "nothing" among them

Floats = NDArray[np.floating[Any]]


def make_onnx(
    target: str,
    access: Access,
    *,
    threshold: float = 0.5,
    person: int = -1,
    size: int = 0,
    layout: str = "auto",
    normalise: str = "unit",
    device: str = "auto",
) -> Model:
    """Make a detector of an ONNX file.

    Args:
        target: The file.
        access: Of no importance here.
        threshold: A person counts from this confidence on.
        person: Number of the class person; -1 reads it from the file's own names, where it has any.
        size: Longest side in pixels of what a file without a fixed size is given; 0 keeps the
            picture's own.
        layout: ``auto``, ``yolo``, ``yolo5``, ``end2end``, ``detr`` or ``ssd``.
        normalise: What a pixel becomes: ``unit`` 0 to 1, ``imagenet`` mean 0 and deviation 1 over
            ImageNet, ``none`` 0 to 255.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        ModelError: A setting is impossible, the file cannot be run, or its outputs cannot be told.
    """
    name = f"onnx:{target}"
    whole(f"{name} threshold", threshold, 0, 1)
    whole(f"{name} size", size, 0, 8192)
    whole(f"{name} person", person, -1, 10_000)
    one_of(f"{name} layout", layout, LAYOUTS)
    one_of(f"{name} normalise", normalise, NORMALISATIONS)
    one_of(f"{name} device", device, ("auto", "cpu", "cuda"))
    require("onnxruntime", by="onnx:", extra="models")
    path = Path(target)
    if not path.is_file():
        raise ModelError(f"{name}: no such file")
    session = _session(path, device)
    outputs = {output.name: output.shape for output in session.get_outputs()}
    found = _layout(name, layout, outputs)
    if person < 0:
        person = _person_of(name, session.get_modelmeta().custom_metadata_map)
    settings = {
        "threshold": threshold,
        "person": person,
        "size": size,
        "layout": found,
        "normalise": normalise,
        "provider": session.get_providers()[0],
        **file_hash(path),
    }
    network = _Network(session, settings, tuple(outputs))
    return Model(
        name,
        settings,
        packages=("onnxruntime", "numpy", "pillow"),
        ask=network.ask,
        prepare=read_rgb,
        tasks=("presence",),
    )


def _session(path: Path, device: str) -> Any:
    import onnxruntime

    there = onnxruntime.get_available_providers()
    providers = ["CPUExecutionProvider"]
    if device != "cpu" and "CUDAExecutionProvider" in there:
        providers.insert(0, "CUDAExecutionProvider")
    elif device == "cuda":
        raise ModelError(f"onnx:{path} device=cuda: this onnxruntime has {', '.join(there)}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # onnxruntime's errors have no class of their own to name
        says = " ".join(str(error).split())[:300]
        raise ModelError(f"onnx:{path} cannot be run: {says}") from None


def _layout(name: str, wanted: str, outputs: Mapping[str, Sequence[Any]]) -> str:
    if wanted != "auto":
        return wanted
    if {"labels", "scores"} <= outputs.keys():
        return "ssd"
    if {"logits", "pred_boxes"} <= outputs.keys():
        return "detr"
    if len(outputs) == 1:
        shape = next(iter(outputs.values()))
        if len(shape) == 3:
            rows, columns = shape[1:]
            if columns == 6:
                return "end2end"
            if isinstance(rows, int) and not (isinstance(columns, int) and columns < rows):
                return "yolo"
            if isinstance(columns, int):
                return "yolo5"
    shapes = ", ".join(f"{key} {list(shape)}" for key, shape in outputs.items())
    raise ModelError(
        f"{name} has the outputs {shapes}, which fit no known layout. If it is one of "
        f"{', '.join(LAYOUTS[1:])} (docs/models.md), say so: layout=NAME"
    )


def _person_of(name: str, metadata: Mapping[str, str]) -> int:
    try:
        names = ast.literal_eval(metadata["names"])
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        return next(int(i) for i, said in pairs if str(said).casefold() in PERSON_NAMES)
    except (KeyError, ValueError, SyntaxError, TypeError, StopIteration):
        raise ModelError(
            f"{name} does not say which of its classes is a person: give its number, as in "
            f"{name},person=0 (0 in COCO's 80 classes, 1 in its 91)"
        ) from None


@dataclass
class _Network:
    session: Any
    settings: dict[str, Any]
    outputs: tuple[str, ...]

    def ask(self, asked: Sequence[Conversation]) -> list[Outcome]:
        return [self._one(next(iter(conversation.loaded.values()))) for conversation in asked]

    def _one(self, image: Any) -> Outcome:
        pixels = self._pixels(image)
        entry = self.session.get_inputs()[0]
        kind = np.float16 if "float16" in entry.type else np.float32
        try:
            values = self.session.run(None, {entry.name: pixels.astype(kind)})
        except Exception as error:  # as in _session
            return AnswerError(f"the detector failed: {' '.join(str(error).split())[:400]}")
        found = dict(zip(self.outputs, values, strict=True))
        try:
            scores = _scores(self.settings["layout"], found, self.settings["person"])
        except (IndexError, KeyError, ValueError) as error:
            shapes = ", ".join(f"{key} {list(value.shape)}" for key, value in found.items())
            layout = self.settings["layout"]
            return AnswerError(f"its outputs {shapes} are not of the layout {layout}: {error}")
        received = {"pixel_values": list(pixels.shape)}
        return verdict(scores.tolist(), self.settings["threshold"], received=received)

    def _pixels(self, image: Any) -> Floats:
        """(1, 3, H, W), the picture fitted in with its own proportions."""
        height, width = self._size(image)
        scale = min(width / image.width, height / image.height)
        inner = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        if inner != image.size:
            image = image.resize(inner, 2)  # bilinear
        canvas = np.full((height, width, 3), _GREY, np.float32)
        top, left = (height - inner[1]) // 2, (width - inner[0]) // 2
        canvas[top : top + inner[1], left : left + inner[0]] = np.asarray(image, np.float32)
        if self.settings["normalise"] != "none":
            canvas /= 255
        if self.settings["normalise"] == "imagenet":
            canvas = (canvas - _MEAN) / _DEVIATION
        return np.ascontiguousarray(canvas.transpose(2, 0, 1)[None])

    def _size(self, image: Any) -> tuple[int, int]:
        """Height and width that the network takes."""
        height, width = self.session.get_inputs()[0].shape[2:4]
        if isinstance(height, int) and isinstance(width, int):
            return height, width
        scale = self.settings["size"] / max(image.size) if self.settings["size"] else 1
        sides = (image.height * scale, image.width * scale)
        rounded = [max(_STRIDE, -(-round(side) // _STRIDE) * _STRIDE) for side in sides]
        return rounded[0], rounded[1]


def _scores(layout: str, found: Mapping[str, Any], person: int) -> Floats:
    """How sure the network is of a person, for each candidate.

    Raises:
        IndexError, KeyError, ValueError: The outputs are not of this layout.
    """
    if layout == "ssd":
        labels = np.asarray(found["labels"]).reshape(-1)
        return np.asarray(np.asarray(found["scores"]).reshape(-1)[labels == person])
    if layout == "detr":
        logits = np.asarray(found["logits"], np.float64)[0]
        # With a class "nothing" at the end DETR is a softmax; its successors are sigmoids without.
        if logits.shape[-1] in _WITH_NOTHING:
            shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
            return np.asarray((shifted / shifted.sum(axis=-1, keepdims=True))[:, person])
        return np.asarray(1 / (1 + np.exp(-logits[:, person])))
    (value,) = found.values()
    candidates = np.asarray(value, np.float64)[0]
    if layout == "yolo":
        return np.asarray(candidates[4 + person])
    if layout == "yolo5":
        return np.asarray(candidates[:, 4] * candidates[:, 5 + person])
    return np.asarray(candidates[candidates[:, 5].round() == person, 4])
