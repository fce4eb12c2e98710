"""The published protocol's own numbers: how it aggregates, and what it printed.

It groups images into three conditions (day; night, which is evening and night; night vision),
drops answers that it cannot read or that failed, and prints the unweighted mean over conditions at
each distance. Kept for comparison; our scores count a missing answer as wrong.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .scores import METRICS, Counts, confusion, labels_present_macro_f1

__all__ = [
    "CONDITIONS",
    "PublishedModel",
    "PublishedTable",
    "always_yes_overall",
    "condition_of",
    "group_mean",
    "load_published",
    "overall",
    "published_scores",
]

CONDITIONS = ("day", "night", "nv")

_FILE = Path(__file__).with_name("published.toml")


@dataclass(frozen=True)
class PublishedModel:
    """A row of the published table, in percent.

    Attributes:
        name: As in ``models/known.toml``.
        accuracy: Overall, by distance.
        macro_f1: Overall, by distance.
        conditions: Accuracy by distance of those of ``CONDITIONS`` that were published.
    """

    name: str
    accuracy: tuple[float, ...]
    macro_f1: tuple[float, ...]
    conditions: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class PublishedTable:
    """What was published.

    Attributes:
        source: Where.
        distances_m: Of the columns.
        densities_px_per_m: The same places.
        models: By name.
        groups: ``small`` and ``medium`` -> mean accuracy by distance, as printed.
        night_base_rate: Share of evening and night images whose person a human sees, by distance:
            implied, not published.
    """

    source: str
    distances_m: tuple[float, ...]
    densities_px_per_m: tuple[float, ...]
    models: Mapping[str, PublishedModel]
    groups: Mapping[str, tuple[float, ...]]
    night_base_rate: tuple[float, ...]


@cache
def load_published() -> PublishedTable:
    """Read ``published.toml``."""
    data: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    models = {
        row["name"]: PublishedModel(
            row["name"],
            tuple(row["accuracy"]),
            tuple(row["macro_f1"]),
            {name: tuple(row[name]) for name in CONDITIONS if name in row},
        )
        for row in data["model"]
    }
    return PublishedTable(
        data["source"],
        tuple(data["distances_m"]),
        tuple(data["densities_px_per_m"]),
        models,
        {name: tuple(group["accuracy"]) for name, group in data["group"].items()},
        tuple(data["implied"]["night_base_rate"]),
    )


def condition_of(band: str, variant: str) -> str:
    """The published condition of an image: ``nv``, else ``day``, else ``night``."""
    if variant == "nv":
        return "nv"
    return "day" if band == "day" else "night"


def overall(by_condition: Sequence[float]) -> float:
    """The published overall score: the plain mean over conditions, whatever their sizes."""
    return float(np.mean(by_condition)) if len(by_condition) else math.nan


def published_scores(
    truths: ArrayLike, outcomes: ArrayLike, conditions: ArrayLike, distances: ArrayLike
) -> dict[float, dict[str, dict[str, float]]]:
    """Score answers as the published code does.

    Args:
        truths: (N,) ``human_discernable``, 0 or 1.
        outcomes: (N,) places in ``scores.OUTCOMES``; missing answers are dropped.
        conditions: (N,) of ``CONDITIONS``.
        distances: (N,) in metres.

    Returns:
        distance -> condition or ``overall`` -> ``accuracy`` and ``macro_f1`` (over the labels that
        occur), shares. A condition without an answer is left out; ``overall`` is the mean of those
        that are there.
    """
    truth, outcome = np.asarray(truths), np.asarray(outcomes)
    condition, distance = np.asarray(conditions), np.asarray(distances, float)
    found: dict[float, dict[str, dict[str, float]]] = {}
    for metres in np.unique(distance):
        cells: dict[str, dict[str, float]] = {}
        for name in CONDITIONS:
            rows = (distance == metres) & (condition == name) & (outcome < 2)
            if rows.any():
                counts: Counts = confusion(truth[rows], outcome[rows])[0]
                cells[name] = {
                    "accuracy": float(METRICS["accuracy"](counts)),
                    "macro_f1": labels_present_macro_f1(counts),
                }
        if cells:
            cells["overall"] = {
                metric: overall([cell[metric] for cell in cells.values()])
                for metric in ("accuracy", "macro_f1")
            }
            found[float(metres)] = cells
    return found


def always_yes_overall(truths: ArrayLike, conditions: ArrayLike) -> float:
    """What answering always yes scores by the published rule, at one distance."""
    truth, condition = np.asarray(truths), np.asarray(conditions)
    return overall(
        [float(truth[condition == name].mean()) for name in CONDITIONS if (condition == name).any()]
    )


def group_mean(names: Sequence[str], place: int = 0) -> float:
    """The mean published accuracy in percent of some models at one of the distances."""
    table = load_published()
    return float(np.mean([table.models[name].accuracy[place] for name in names]))
