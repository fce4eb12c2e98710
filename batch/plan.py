"""Which views a run renders, and in which order."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..addon.core.factors import ViewSpec

__all__ = ["Job", "plan_jobs"]


@dataclass(frozen=True)
class Job:
    """A view to render: its number in the study, from 1, and what it is."""

    number: int
    spec: ViewSpec


def plan_jobs(
    specs: Sequence[ViewSpec],
    done: Collection[str] = (),
    shard: tuple[int, int] = (0, 1),
    limit: int | None = None,
) -> tuple[list[Job], int]:
    """Return the views that a run renders, and how many of its views are done already.

    Views of one background stay together, in a shard and in the order, so that its plate is
    rendered once and read once. Which shard a view belongs to depends on the study alone.

    Args:
        specs: The study's views.
        done: Ids that need no rendering.
        shard: ``(i, n)``: part i of n.
        limit: Only the first so many views of the study.
    """
    backgrounds: dict[tuple, list[Job]] = defaultdict(list)
    for number, spec in enumerate(specs[:limit], start=1):
        factors = spec.factors
        key = tuple(
            factors[name] for name in ("scenery", "distance_m", "azimuth_deg", "elevation_deg")
        )
        backgrounds[key].append(Job(number, spec))
    loads = [0] * shard[1]
    mine: list[Job] = []
    for key in sorted(backgrounds):
        lightest = loads.index(min(loads))
        loads[lightest] += len(backgrounds[key])
        if lightest == shard[0]:
            mine += backgrounds[key]
    left = [job for job in mine if job.spec.view_id not in done]
    return left, len(mine) - len(left)
