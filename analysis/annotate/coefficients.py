"""Coefficients of agreement: Cohen's and Fleiss' kappa, Krippendorff's alpha, their intervals.

For resampling, each coefficient is a function of a sum over images ("parts"): a resample is then a
weighted sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...addon.core import seeds

__all__ = [
    "alpha",
    "alpha_parts",
    "bootstrap",
    "cohen_kappa",
    "fleiss",
    "fleiss_kappa",
    "fleiss_parts",
    "kappa",
    "nominal_alpha",
    "nominal_kappa",
    "nominal_parts",
    "ordinal_alpha",
    "quadratic",
]

RESAMPLES = 1000
Floats = NDArray[np.float64]


def cohen_kappa(a: Sequence[int], b: Sequence[int], weights: Floats | None = None) -> float | None:
    """Cohen's kappa of two annotators.

    Args:
        a: Codes from 0.
        b: Codes of the other, of the same images.
        weights: (V, V) disagreement between codes; None counts every difference as 1.

    Returns:
        None where there is no image, or chance leaves no disagreement to expect.

    Source: Cohen, Educ. Psychol. Meas. 20 (1960) 37; weighted: Psychol. Bull. 70 (1968) 213.
    """
    if not len(a):
        return None
    size = int(max(np.max(a), np.max(b))) + 1 if weights is None else len(weights)
    pairs = np.zeros((size, size))
    np.add.at(pairs, (np.asarray(a), np.asarray(b)), 1)
    value = float(kappa(pairs[None], unequal(size) if weights is None else weights)[0])
    return None if np.isnan(value) else value


def fleiss_kappa(counts: NDArray[np.int64]) -> float | None:
    """Fleiss' kappa.

    Args:
        counts: (images, categories): how many annotators chose what, equally many for each image.

    Returns:
        None where there are no images, one annotator, or one category throughout.

    Source: Fleiss, Psychol. Bull. 76 (1971) 378.
    """
    if not counts.size or counts[0].sum() < 2:
        return None
    value = float(fleiss(fleiss_parts(counts).sum(axis=0)[None])[0])
    return None if np.isnan(value) else value


def alpha(
    codes: NDArray[np.int64], level: Literal["nominal", "ordinal"], values: int
) -> float | None:
    """Krippendorff's alpha, by the package ``krippendorff``.

    Args:
        codes: (images, annotators), from 0; -1 where there is no answer.
        level: ``nominal`` or ``ordinal``.
        values: How many codes there are.

    Returns:
        None where no image has two answers, or all answers are alike.
    """
    import krippendorff

    paired = codes[(codes >= 0).sum(axis=1) >= 2]
    if not len(paired) or len(np.unique(paired[paired >= 0])) < 2:
        return None
    counts = np.stack([(paired == value).sum(axis=1) for value in range(values)], axis=1)
    value = krippendorff.alpha(
        value_counts=counts, value_domain=np.arange(values), level_of_measurement=level
    )
    return float(value)


# --- as functions of sums -------------------------------------------------------------------------


def unequal(size: int) -> Floats:
    """Disagreement where any difference counts as 1."""
    return np.ones((size, size)) - np.eye(size)


def quadratic(size: int) -> Floats:
    """Disagreement that grows with the square of the difference."""
    codes = np.arange(size, dtype=float)
    squared: Floats = (codes[:, None] - codes) ** 2
    return squared


def kappa(pairs: Floats, weights: Floats) -> Floats:
    """Kappa of (N, V, V) counts of pairs."""
    n = pairs.sum(axis=(1, 2))
    expected = pairs.sum(axis=2)[:, :, None] * pairs.sum(axis=1)[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = (
            (weights * pairs).sum(axis=(1, 2)) * n / (weights * expected).sum(axis=(1, 2))
        )
    return 1.0 - found


def nominal_kappa(parts: Floats) -> Floats:
    """Kappa of (N, 1 + V + V): agreements and both marginals, for many categories."""
    size = (parts.shape[1] - 1) // 2
    one, two = parts[:, 1 : 1 + size], parts[:, 1 + size :]
    n = one.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = (one * two).sum(axis=1) / n**2
        found: Floats = (parts[:, 0] / n - chance) / (1 - chance)
    return found


def fleiss_parts(counts: NDArray[np.int64]) -> Floats:
    """(images, 2 + V): share of agreeing pairs, 1, and counts."""
    n = counts.sum(axis=1)
    agree = (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))
    return np.concatenate([agree[:, None], np.ones((len(counts), 1)), counts], axis=1)


def fleiss(parts: Floats) -> Floats:
    """Kappa of (N, 2 + V) sums."""
    counts = parts[:, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = parts[:, 0] / parts[:, 1]
        chance = ((counts / counts.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
        found: Floats = (observed - chance) / (1 - chance)
    return found


def alpha_parts(counts: NDArray[np.int64]) -> Floats:
    """(images, V, V): the coincidences of each image; nothing of one with a single answer."""
    n = counts.sum(axis=1)[:, None, None]
    pairs = counts[:, :, None] * counts[:, None, :] - np.eye(counts.shape[1]) * counts[:, :, None]
    return np.where(n >= 2, pairs / np.maximum(n - 1, 1), 0.0)


def ordinal_alpha(coincidences: Floats) -> Floats:
    """Alpha of (N, V, V) sums with Krippendorff's ordinal distance, whose scale is the counts."""
    n = coincidences.sum(axis=2)
    size = n.shape[1]
    below = np.cumsum(n, axis=1)
    values = np.arange(size)
    low, high = np.minimum.outer(values, values), np.maximum.outer(values, values)
    between = below[:, high] - below[:, low] + n[:, low] - (n[:, low] + n[:, high]) / 2
    distance = between**2
    expected = n[:, :, None] * n[:, None, :] - np.eye(size) * n[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (distance * coincidences).sum(axis=(1, 2)) / (distance * expected).sum(axis=(1, 2))
    found: Floats = 1.0 - (n.sum(axis=1) - 1) * ratio
    return found


def nominal_parts(counts: NDArray[np.int64]) -> Floats:
    """(images, 1 + V): coincidences of equal answers, and of each category with any."""
    n = counts.sum(axis=1)
    paired = np.where((n >= 2)[:, None], counts, 0)
    agree = (paired * (paired - 1)).sum(axis=1) / np.maximum(n - 1, 1)
    return np.concatenate([agree[:, None], paired], axis=1, dtype=float)


def nominal_alpha(parts: Floats) -> Floats:
    """Alpha of (N, 1 + V) sums, in the form that needs no (V, V)."""
    counts = parts[:, 1:]
    n = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = (counts * (counts - 1)).sum(axis=1)
        found: Floats = ((n - 1) * parts[:, 0] - chance) / (n * (n - 1) - chance)
    return found


def bootstrap(
    statistic: Callable[[Floats], Floats],
    parts: Floats,
    clusters: NDArray[np.int64],
    stage: str,
) -> tuple[float, float] | None:
    """The 95 % interval of a statistic of summed parts (images, ...) when views are drawn again."""
    if not len(parts):
        return None
    _, at = np.unique(clusters, return_inverse=True)
    size = int(at.max()) + 1
    if size < 2:
        return None
    summed = np.zeros((size, *parts.shape[1:]))
    np.add.at(summed, at, parts)
    rng = seeds.generator(0, stage, "annotate-bootstrap")
    flat = summed.reshape(size, -1)
    values = []
    for _ in range(RESAMPLES // 100):
        times = rng.multinomial(size, np.full(size, 1 / size), 100)
        values.append(statistic((times @ flat).reshape(100, *parts.shape[1:])))
    found = np.concatenate(values)
    if np.isnan(found).mean() > 0.05:
        return None  # often undefined: the others alone would look too certain
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)
