"""Which views a run renders, and in which order."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ..addon.core.factors import ViewSpec

__all__ = ["Job", "Planned", "background", "plan_jobs"]


@dataclass(frozen=True)
class Job:
    """A view to render: its number in the study, from 1, and what it is."""

    number: int
    spec: ViewSpec


def background(spec: ViewSpec) -> tuple:
    """Return what a view shows when nobody is there: views that share it share a plate."""
    names = ("scenery", "distance_m", "azimuth_deg", "elevation_deg")
    return tuple(spec.factors[name] for name in names)


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
        backgrounds[background(spec)].append(Job(number, spec))
    loads = [0] * shard[1]
    mine: list[Job] = []
    for key in sorted(backgrounds):
        lightest = loads.index(min(loads))
        loads[lightest] += len(backgrounds[key])
        if lightest == shard[0]:
            mine += backgrounds[key]
    left = [job for job in mine if job.spec.view_id not in done]
    return left, len(mine) - len(left)


class Planned:
    """The views of a run that were dealt out beforehand."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        self._finished: set[int] = set()

    def __iter__(self) -> Iterator[Job]:
        """Yield the views; a generator, so that it can be closed."""
        yield from self._jobs

    def finished(self, job: Job) -> None:
        """Note that a view is done."""
        self._finished.add(job.number)

    def missing(self) -> list[Job]:
        """Return the views that are not done."""
        return [job for job in self._jobs if job.number not in self._finished]

    def is_given_up(self, job: Job) -> bool:
        """Whether nobody tries a view again in this run: a run that is repeated tries all."""
        return False
