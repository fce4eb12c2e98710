"""Detectors of persons: yes where one is found with enough confidence.

They are given full-resolution pixels; what their own processor, or a setting, made of them is kept
with each answer.
"""

from __future__ import annotations

import gc
import importlib
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..conversation import Conversation
from . import Access, Answer, AnswerError, Model, ModelError, Outcome, UnusableModelError, whole
from .huggingface import choose_device, explain, identify, require
from .pictures import read_rgb

__all__ = ["PERSON_NAMES", "file_hash", "make_hf_detector", "make_yolo", "verdict"]

PERSON_NAMES = ("person", "human", "people", "pedestrian")


def verdict(scores: Sequence[float], threshold: float, **details: Any) -> Answer:
    """Yes where a person is found; the best score also where none is.

    Args:
        scores: Of everything that might be a person.
        threshold: From which score on it counts.
        details: More to keep.
    """
    found = sum(score >= threshold for score in scores)
    best = round(float(max(scores)), 6) if len(scores) else None
    if not all(map(math.isfinite, scores)):  # no answer: the runner refuses such a score
        best = math.nan
    return Answer("yes" if found else "no", score=best, details={"detections": found, **details})


# --- transformers --------------------------------------------------------------------------------


def make_hf_detector(
    target: str,
    access: Access,
    *,
    threshold: float = 0.5,
    device: str = "auto",
    batch: int = 1,
    revision: str = "main",
) -> Model:
    """Make a detector of transformers: DETR, RT-DETR, D-FINE, YOLOS and others.

    Args:
        target: ``ORG/NAME`` or a directory.
        access: ``trust_remote_code``.
        threshold: A person counts from this confidence on.
        device: ``auto``, ``cpu``, ``cuda`` and so on.
        batch: Images at once.
        revision: Of the repository.

    Raises:
        ModelError: A setting is impossible, packages are missing, or there is no such model.
    """
    name = f"hf-detect:{target}"
    whole(f"{name} threshold", threshold, 0, 1)
    whole(f"{name} batch", batch, 1, 1024)
    require("torch", "transformers", by="hf-detect:", extra="models")
    weights = identify(target, revision, access)
    settings = {
        "threshold": threshold,
        "device": choose_device(device),
        "batch": batch,
        **weights,
        "trust_remote_code": access.trust_remote_code,
    }
    loaded = _Detector(target, weights["weights"], settings)
    return Model(
        name,
        settings,
        packages=("transformers", "torch", "numpy", "pillow"),
        ask=loaded.ask,
        prepare=read_rgb,
        tasks=("presence",),
        batch=batch,
        close=loaded.close,
    )


@dataclass
class _Detector:
    """A detector and its processor, in memory from the first question on."""

    target: str
    weights: str
    settings: dict[str, Any]
    model: Any = None
    processor: Any = None
    person: frozenset[int] = frozenset()
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, asked: Sequence[Conversation]) -> list[Outcome]:
        import torch

        with self.lock:
            if self.model is None:
                self._load()
        images = [next(iter(conversation.loaded.values())) for conversation in asked]
        try:
            inputs = self.processor(images=images, return_tensors="pt").to(self.settings["device"])
            with torch.inference_mode():
                outputs = self.model(**inputs)
            found = self.processor.post_process_object_detection(
                outputs,
                threshold=0.0,
                target_sizes=[(image.height, image.width) for image in images],
            )
        except (ValueError, TypeError, RuntimeError, IndexError, KeyError) as error:
            says = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            return [AnswerError(f"the detector failed: {says}")] * len(asked)
        received = {"pixel_values": [1, *inputs["pixel_values"].shape[1:]]}
        outcomes: list[Outcome] = []
        for one in found:
            pairs = zip(one["scores"].tolist(), one["labels"].tolist(), strict=True)
            scores = [score for score, label in pairs if label in self.person]
            outcomes.append(verdict(scores, self.settings["threshold"], received=received))
        return outcomes

    def close(self) -> None:
        self.model = self.processor = None
        gc.collect()

    def _load(self) -> None:
        transformers: Any = importlib.import_module("transformers")
        transformers.utils.logging.disable_progress_bar()  # ours is on the screen
        options: dict[str, Any] = {"trust_remote_code": self.settings["trust_remote_code"]}
        kind, _, commit = self.weights.partition(":")
        if kind == "commit":
            options["revision"] = commit
        try:
            self.processor = transformers.AutoImageProcessor.from_pretrained(self.target, **options)
            model = transformers.AutoModelForObjectDetection.from_pretrained(self.target, **options)
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise UnusableModelError(explain(f"hf-detect:{self.target}", error)) from None
        names: dict[int, str] = model.config.id2label
        self.person = frozenset(i for i, name in names.items() if name.casefold() in PERSON_NAMES)
        if not self.person:
            some = ", ".join(list(names.values())[:8])
            raise UnusableModelError(f"{self.target} knows no class named person: it knows {some}")
        self.model = model.to(self.settings["device"]).eval()


# --- ultralytics ---------------------------------------------------------------------------------


def make_yolo(
    target: str,
    access: Access,
    *,
    threshold: float = 0.5,
    iou: float = 0.5,
    size: int = 0,
    device: str = "auto",
) -> Model:
    """Make a YOLO of the ultralytics package (AGPL), which is not installed with Limen.

    Args:
        target: A file of weights, as ``yolo11x.pt``.
        access: Of no importance here.
        threshold: A person counts from this confidence on.
        iou: Boxes that overlap more are one.
        size: Longest side in pixels that the picture is fitted to; 0 keeps its own.
        device: ``auto``, ``cpu``, ``cuda`` and so on.

    Raises:
        ModelError: A setting is impossible, the file is missing, or ultralytics is.
    """
    name = f"yolo:{target}"
    whole(f"{name} threshold", threshold, 0, 1)
    whole(f"{name} iou", iou, 0, 1)
    whole(f"{name} size", size, 0, 8192)
    if find_spec("ultralytics") is None:
        raise ModelError(
            f"{name} needs ultralytics, which is not installed. Its licence is AGPL-3.0, so Limen "
            "does not bring it: pip install ultralytics. Or export the model to ONNX: onnx:FILE"
        )
    if not Path(target).is_file():
        raise ModelError(f"{name}: no such file")
    settings = {
        "threshold": threshold,
        "iou": iou,
        "size": size,
        "device": choose_device(device),
        **file_hash(Path(target)),
    }
    loaded = _Yolo(target, settings)
    return Model(
        name,
        settings,
        packages=("ultralytics", "torch", "numpy"),
        ask=loaded.ask,
        prepare=read_rgb,
        tasks=("presence",),
    )


def file_hash(path: Path) -> dict[str, str]:
    """The setting that says which weights a file holds."""
    from ...addon.core.dataset import file_record

    return {"weights": f"sha256:{file_record(path)['sha256']}"}


@dataclass
class _Yolo:
    target: str
    settings: dict[str, Any]
    model: Any = None

    def ask(self, asked: Sequence[Conversation]) -> list[Outcome]:
        return [self._one(next(iter(conversation.loaded.values()))) for conversation in asked]

    def _one(self, image: Any) -> Outcome:
        if self.model is None:
            import ultralytics

            self.model = ultralytics.YOLO(self.target)
        # The network's stride is 32: a size that it need not round.
        size = self.settings["size"] or -(-max(image.size) // 32) * 32
        try:
            (result,) = self.model.predict(
                image,
                imgsz=size,
                conf=min(0.001, self.settings["threshold"]),
                iou=self.settings["iou"],
                device=self.settings["device"],
                verbose=False,
            )
        except (ValueError, TypeError, RuntimeError) as error:
            return AnswerError(f"the detector failed: {type(error).__name__}: {error}"[:500])
        names = result.names
        pairs = zip(result.boxes.conf.tolist(), result.boxes.cls.tolist(), strict=True)
        scores = [score for score, at in pairs if names[int(at)].casefold() in PERSON_NAMES]
        return verdict(scores, self.settings["threshold"], received={"longest_side": size})
