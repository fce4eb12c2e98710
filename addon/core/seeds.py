"""Every random choice, from (study seed, id, stage) by hash bits.

A choice depends on nothing else: not on the order of views, the worker, or what was drawn before.
The bits are SHA-256 of the three, and what follows is integer arithmetic and correctly rounded
division (``normal`` adds the standard library's inverse normal distribution), so that values stay
the same over versions of numpy, which promises no stable streams for its distributions.
"""

import hashlib
import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "bits",
    "choice_index",
    "cycles_seed",
    "generator",
    "normal",
    "permutation",
    "uniform",
]

_STANDARD_NORMAL = NormalDist()


def bits(seed: int, id: str, stage: str) -> int:
    """Return 64 random bits: the first 8 bytes, big endian, of SHA-256 of ``seed/id/stage``.

    Args:
        seed: The study's.
        id: What the choice is for, as a view id.
        stage: What is chosen, as ``"cycles"``; two choices for one id need two stages.
    """
    return int.from_bytes(_digest(seed, id, stage)[:8], "big")


def uniform(seed: int, id: str, stage: str) -> float:
    """Return a number in [0, 1), a multiple of 2^-53."""
    return _unit(bits(seed, id, stage))


def choice_index(seed: int, id: str, stage: str, n: int) -> int:
    """Return an index in 0..n-1; its bias is below n / 2^64.

    Raises:
        ValueError: There is nothing to choose from.
    """
    if n < 1:
        raise ValueError(f"cannot choose one of {n} ({stage} of {id}): at least 1 is needed")
    return bits(seed, id, stage) * n >> 64


def permutation(seed: int, id: str, stage: str, n: int) -> tuple[int, ...]:
    """Return 0..n-1 in random order: sorted by hash bits."""
    keys = _stream(seed, id, stage, n)
    return tuple(sorted(range(n), key=keys.__getitem__))


def normal(seed: int, id: str, stage: str, n: int, limit: float = math.inf) -> NDArray[np.float64]:
    """Return n independent standard normal numbers (n,).

    Args:
        seed: The study's.
        id: What they are for.
        stage: What they are.
        n: How many.
        limit: Draws from the normal distribution cut off at +-limit.
    """
    low = _STANDARD_NORMAL.cdf(-limit)
    width = 1 - 2 * low
    # The middle of each of 2^52 cells: 0 and 1, where the inverse is infinite, do not occur.
    units = (((key >> 12) + 0.5) * 2.0**-52 for key in _stream(seed, id, stage, n))
    places = (low + width * unit for unit in units)
    return np.array([_STANDARD_NORMAL.inv_cdf(place) for place in places], float)


def cycles_seed(seed: int, id: str, stage: str) -> int:
    """Return a seed for Blender's Cycles: 31 bits, as its property is a signed integer."""
    return bits(seed, id, stage) >> 33


def generator(seed: int, id: str, stage: str) -> np.random.Generator:
    """Return a numpy generator for bulk noise (pixels, bootstrap).

    The stream of bits is Philox's, which numpy keeps stable; its distributions may change between
    numpy versions, so nothing that a study's ids or scenes depend on is drawn from it.
    """
    key = int.from_bytes(_digest(seed, id, stage)[:16], "big")
    return np.random.Generator(np.random.Philox(key=key))


def _digest(seed: int, id: str, stage: str) -> bytes:
    return hashlib.sha256(f"{seed}/{id}/{stage}".encode()).digest()


def _stream(seed: int, id: str, stage: str, n: int) -> list[int]:
    """Return n numbers of 64 bits, four from each hash."""
    start = _digest(seed, id, stage)
    blocks = b"".join(
        hashlib.sha256(start + block.to_bytes(8, "big")).digest() for block in range((n + 3) // 4)
    )
    return [int.from_bytes(blocks[8 * i : 8 * i + 8], "big") for i in range(n)]


def _unit(key: int) -> float:
    return (key >> 11) * 2.0**-53
