"""A pedestrian detector of 2005: histograms of oriented gradients with a linear classifier.

Dalal and Triggs, "Histograms of oriented gradients for human detection", CVPR 2005, with the
people detector that OpenCV 4 ships. It needs no download and no GPU, sees upright persons of about
96 pixels and more in a window of 64 x 128, and answers whether there is any.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

from ..images import read_image
from . import Answer, AnswerError, Model, ModelError

__all__ = ["make_hog"]

WINDOW_PX = (64, 128)
STRIDE_PX = (8, 8)
PADDING_PX = (16, 16)
PERSON_PX = 96
"""Height of a person in the window: the training images leave 16 px above and below."""


def make_hog(
    *, threshold: float = 0.0, upscale: float = 1.0, scale_step: float = 1.05, group: int = 2
) -> Model:
    """Make the detector.

    Args:
        threshold: A detection counts when its margin to the classifier's plane is above this.
        upscale: The image is enlarged by this before. The detector only searches persons of its
            window's size and larger, so 2 finds persons of half that size. An image smaller than
            the window is enlarged to it in any case.
        scale_step: Ratio between the sizes that are searched.
        group: Overlapping hits needed for a detection, less one.

    Raises:
        ModelError: A value is impossible.
    """
    if not math.isfinite(threshold):
        raise ModelError(f"hog:threshold is {threshold}: a finite number is needed")
    if not 1 <= upscale <= 8:
        raise ModelError(f"hog:upscale is {upscale:g}: 1 to 8 is allowed")
    if not 1.01 <= scale_step <= 2:
        raise ModelError(f"hog:scale_step is {scale_step:g}: 1.01 to 2 is allowed")
    if group < 0:
        raise ModelError(f"hog:group is {group}: 0 or more is allowed")
    settings = {
        "threshold": threshold,
        "upscale": upscale,
        "scale_step": scale_step,
        "group": group,
        "window_px": list(WINDOW_PX),
        "stride_px": list(STRIDE_PX),
        "padding_px": list(PADDING_PX),
    }
    detector = _detector()
    return Model(
        "hog",
        settings,
        partial(_answer, detector, threshold, upscale, scale_step, group),
        packages=("opencv-python-headless", "numpy"),
        tasks=("presence",),
        note=_note(upscale),
    )


def _note(upscale: float) -> str:
    share = PERSON_PX / WINDOW_PX[1]
    return (
        f"Searches the image in windows of {WINDOW_PX[0]} x {WINDOW_PX[1]} px and larger, of which "
        f"a person fills {share:.0%} of the height: it finds persons from about "
        f"{PERSON_PX / upscale:.0f} px up to {share:.0%} of the image's height. Smaller ones it "
        "misses in any light, and larger ones, that fill the image, often: closer is then worse."
    )


def _detector() -> Any:
    import cv2

    if not hasattr(cv2, "HOGDescriptor"):
        raise ModelError(
            f"OpenCV {cv2.__version__} has no HOG people detector, version 4 has: "
            "pip install 'opencv-python-headless<5'"
        )
    detector: Any = cv2.HOGDescriptor()
    detector.setSVMDetector(cv2.HOGDescriptor.getDefaultPeopleDetector())
    return detector


def _answer(
    detector: Any,
    threshold: float,
    upscale: float,
    scale_step: float,
    group: int,
    path: Path,
    question: str,
) -> Answer:
    import cv2

    image: Any = read_image(path)
    if image is None:
        raise AnswerError("the image is missing or damaged")
    height, width = image.shape[:2]
    factor = max(upscale, WINDOW_PX[0] / width, WINDOW_PX[1] / height)
    if factor > 1:
        size = (math.ceil(width * factor), math.ceil(height * factor))
        image = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)
    boxes, weights = detector.detectMultiScale(
        image,
        hitThreshold=threshold,
        winStride=STRIDE_PX,
        padding=PADDING_PX,
        scale=scale_step,
        groupThreshold=group,
    )
    found = len(boxes)
    return Answer(
        "yes" if found else "no",
        score=round(float(max(weights)), 6) if found else None,
        details={"detections": found, "upscale": round(factor, 4)},
    )
