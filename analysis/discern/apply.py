"""Label what nobody was asked about: `limen discern apply`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...addon.core.dataset import open_dataset
from ..contract import rows_blamed
from ..develop.table import geometry_of
from .learn import vector
from .measure import FeaturesError, read_features
from .model_file import SavedModel
from .table import Key, Row, replace_labels, shown_media

__all__ = ["ApplySummary", "apply_model"]

_BATCH = 4096
_NO_MASK = "the person has no mask"


@dataclass(frozen=True)
class ApplySummary:
    """What was labelled.

    Attributes:
        labelled: Images that got a label of 0 or 1 by the model.
        visible: Of these, the ones with 1.
        abstained: Images within the band around the threshold, and persons without a mask.
        by_definition: Images without a visible target: 0, whoever looks.
    """

    labelled: int
    visible: int
    abstained: int
    by_definition: int


def apply_model(
    root: Path, model: SavedModel, progress: Callable[[int, int], None] | None = None
) -> ApplySummary:
    """Write a model's labels of every image, ``by`` "model", in the place of an earlier model's.

    A label by people or the observer that the model learnt from goes before the model's when
    labels are read.

    Args:
        root: A dataset, the one that the model is of or another.
        model: See :func:`.model_file.load_model`.
        progress: Told (images labelled, images in all).

    Raises:
        FeaturesError: Features were not measured, or with other parameters than the model's.
        LabelsError: Images were not developed.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
    """
    dataset = open_dataset(root)
    with rows_blamed(dataset):
        shown = shown_media(dataset)
        features = read_features(dataset.root)
        wanted = model.about["features"]
        rows: dict[Key, Row] = {}
        todo: list[tuple[Key, list[float]]] = []
        for key, item in shown.items():
            visible_px = geometry_of(dataset, item, key[1])["visible_px"]
            if item["target_present"] and visible_px is None:
                rows[key] = _row(key, model, None, None, _NO_MASK)
                continue
            if not item["target_present"] or not visible_px:
                rows[key] = _row(key, model, 0.0, 0, "no target is visible")
                continue
            measured = features.get(key[0])
            if measured is None:
                raise FeaturesError(
                    f"{key[0]} was not measured: limen discern features {dataset.root}"
                )
            if (
                measured["settings"] != wanted["settings"]
                or measured["parameters"]["version"] != wanted["version"]
            ):
                raise FeaturesError(
                    f"{dataset.root} has features with other parameters (version "
                    f"{measured['parameters']['version']}, {measured['settings']}) than "
                    f"{model.directory} was fitted on (version {wanted['version']}, "
                    f"{wanted['settings']}): measure or fit anew"
                )
            todo.append((key, vector(measured, key[1], model.names)))
        if progress is not None:
            progress(len(rows), len(shown))
        for at in range(0, len(todo), _BATCH):
            part = todo[at : at + _BATCH]
            found = model.probability(np.array([values for _, values in part]))
            for (key, _), probability in zip(part, found, strict=True):
                rows[key] = _decided(key, model, float(probability))
            if progress is not None:
                progress(len(rows), len(shown))
    replace_labels(dataset.root, "model", [rows[key] for key in sorted(rows)])
    counts = Counter((row["human_discernable"], row["reason"]) for row in rows.values())
    return ApplySummary(
        counts[0, None] + counts[1, None],
        counts[1, None],
        counts[None, "too close to the threshold"] + counts[None, _NO_MASK],
        counts[0, "no target is visible"],
    )


def _decided(key: Key, model: SavedModel, probability: float) -> Row:
    threshold, abstain = model.about["threshold"], model.about["abstain"]
    if abs(probability - threshold) < abstain:
        return _row(key, model, probability, None, "too close to the threshold")
    return _row(key, model, probability, int(probability >= threshold), None)


def _row(
    key: Key, model: SavedModel, probability: float | None, label: int | None, reason: str | None
) -> Row:
    return {
        "id": key[0],
        "variant": key[1],
        "human_discernable": label,
        "probability": probability,
        "by": "model",
        "trained_on": model.about["trained_on"],
        "model": model.about["name"],
        "model_sha256": model.about["sha256"],
        "reason": reason,
    }
