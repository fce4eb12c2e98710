"""In which order an annotator sees the images: random, with some of them twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from ...addon.core import seeds

__all__ = ["GAP", "trial_order"]

GAP = 20
"""At least so many other images lie between two of one view, where there are enough others."""

_LOOK_AHEAD = 64
_LOOK_BACK = 2000


def trial_order(
    views: Sequence[str], seed: int, annotator: str, repeats: float
) -> list[tuple[int, int]]:
    """Return the order of an annotator: (item, 0), or (item, 1) where it comes again.

    The same seed and name give the same order. A repeat comes ``GAP`` or more trials after the
    first showing, and so does another image of the same view, unless too few others are left.

    Args:
        views: The view of each item.
        seed: The round's.
        annotator: Their name.
        repeats: Share of the items that come twice.
    """
    n = len(views)
    first = seeds.permutation(seed, annotator, "annotate-order", n)
    wanted = round(repeats * n)
    # Repeated are those that come early enough for others to lie between.
    early = [place for place in range(n) if place + GAP < n] or list(range(n))
    chosen = seeds.permutation(seed, annotator, "annotate-repeats", len(early))[:wanted]
    slots = [(float(place), item, 0) for place, item in enumerate(first)]
    for place in (early[index] for index in chosen):
        low = min(place + GAP, n - 1)
        share = seeds.uniform(seed, f"{annotator}/{first[place]}", "annotate-repeat-slot")
        slots.append((low + 0.5 + int(share * (n - low)), first[place], 1))
    return _spread([(item, showing) for _, item, showing in sorted(slots)], views)


def _spread(order: list[tuple[int, int]], views: Sequence[str]) -> list[tuple[int, int]]:
    """Hold back a trial whose view was shown a moment ago."""
    recent: deque[str] = deque(maxlen=GAP)
    ahead: deque[tuple[int, int]] = deque()
    rest = iter(order)
    spread: list[tuple[int, int]] = []
    while True:
        for trial in rest:
            ahead.append(trial)
            if len(ahead) >= _LOOK_AHEAD:
                break
        at = next((i for i, (item, _) in enumerate(ahead) if views[item] not in recent), None)
        if at is None and len(ahead) < _LOOK_AHEAD:
            return _fit_in(spread, ahead, views)
        at = at or 0
        trial = ahead[at]
        del ahead[at]
        recent.append(views[trial[0]])
        spread.append(trial)


def _fit_in(
    spread: list[tuple[int, int]], left: Iterable[tuple[int, int]], views: Sequence[str]
) -> list[tuple[int, int]]:
    """Put what was held back to the end in between, as late as its view allows."""
    for item, showing in left:
        end = len(spread)
        place = end
        for at in range(end, max(-1, end - _LOOK_BACK), -1):
            if showing and at < end and spread[at] == (item, 0):
                break  # a repeat comes after the first showing
            around = spread[max(0, at - GAP) : at + GAP]
            if all(views[other] != views[item] for other, _ in around):
                place = at
                break
        spread.insert(place, (item, showing))
    return spread
