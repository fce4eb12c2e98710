"""Answers as columns: which image, under which factors, in which cluster, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scores import OUTCOMES, Counts, confusion

__all__ = [
    "NOT_ASKED",
    "UNKNOWN",
    "Factor",
    "Items",
    "cell_counts",
    "cells_of",
    "make_factor",
]

NOT_ASKED = -1
"""In a column of outcomes: the item was not asked about."""

UNKNOWN = -1
"""In a column of truths: nobody has said."""

Column = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Factor:
    """What is varied: its levels in their order, and the level's place for each item.

    Attributes:
        name: As in a row.
        levels: In order.
        codes: (N,) place in ``levels``, -1 where an item has no level (the action of nobody).
    """

    name: str
    levels: tuple[Any, ...]
    codes: Column


@dataclass(frozen=True, eq=False)
class Items:
    """All images of a dataset, each in the variants that were asked about.

    Attributes:
        keys: (id, variant), N of them.
        factors: By name.
        clusters: (N,) numbers below C: the person in its pose, or the background.
        strata: (C,) 0 for persons, 1 for backgrounds.
        truths: ``presence`` and, where there are labels, ``discernable``: (N,) 0, 1 or ``UNKNOWN``.
    """

    keys: tuple[tuple[str, str], ...]
    factors: Mapping[str, Factor]
    clusters: Column
    strata: Column
    truths: Mapping[str, Column]


def make_factor(name: str, values: Sequence[Any], order: Sequence[Any] | None = None) -> Factor:
    """Make a factor of the values of all items; None is no level.

    Args:
        name: Of the factor.
        values: One per item.
        order: Levels in their order; otherwise they are sorted. Those that do not occur are left
            out.
    """
    present = {value for value in values if value is not None}
    levels = (
        tuple(v for v in order if v in present) if order is not None else tuple(sorted(present))
    )
    place = {level: number for number, level in enumerate(levels)}
    codes = np.array([place.get(value, -1) for value in values], np.int64)
    return Factor(name, levels, codes)


def cells_of(items: Items, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], NDArray[np.bool_]]]:
    """Yield the cells of some factors (none: everything): their levels, and which items are there.

    Empty cells are left out.
    """
    factors = [items.factors[name] for name in by]
    for places in product(*(range(len(factor.levels)) for factor in factors)):
        rows = np.ones(len(items.keys), bool)
        for factor, place in zip(factors, places, strict=True):
            rows &= factor.codes == place
        if rows.any():
            levels = {f.name: f.levels[p] for f, p in zip(factors, places, strict=True)}
            yield levels, rows


def cell_counts(items: Items, by: Sequence[str], truth: Column, outcome: Column) -> Counts:
    """Count answers by cell, cluster, truth and outcome.

    Items that were not asked about, whose truth is unknown, or that are in no cell are left out.

    Args:
        items: The images.
        by: Names of factors; the cells are all combinations of levels, the last changing fastest.
        truth: (N,).
        outcome: (N,).

    Returns:
        (cells, C, 2, 5).
    """
    cell = np.zeros(len(items.keys), np.int64)
    used = (outcome != NOT_ASKED) & (truth != UNKNOWN)
    cells = 1
    for name in by:
        factor = items.factors[name]
        cell = cell * len(factor.levels) + factor.codes
        cells *= len(factor.levels)
        used &= factor.codes >= 0
    size = len(items.strata)
    place = (cell * size + items.clusters)[used]
    counts = confusion(truth[used], outcome[used], place, cells * size)
    return counts.reshape(cells, size, 2, len(OUTCOMES))
