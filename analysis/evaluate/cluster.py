"""Asking on many GPUs or machines, with Ray.

Each worker makes the model for itself and answers some views at a time; this process alone writes.
The dataset must lie at the same path on every machine. A worker that dies is started again, and
what it had in hand is asked again.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from typing import Any

from ..models import Model, ModelError, UnusableModelError
from ..models.huggingface import require
from .asking import Job, Result, ask

__all__ = ["ask_on_cluster"]

_SHARE = 32
_RESTARTS = 3


def ask_on_cluster(
    model: Model, jobs: Sequence[Job], workers: int | None = None
) -> Generator[Result, None, None]:
    """Put every question to copies of a model on a Ray cluster; yield how each ended.

    Uses the cluster of ``RAY_ADDRESS``, or this machine.

    Args:
        model: It must come from :func:`..models.make_model`.
        jobs: Those about one image stay together.
        workers: How many copies; None for one for each GPU, one where there is none.

    Raises:
        ModelError: Ray is not installed, or the model cannot be made again elsewhere.
        UnusableModelError: The model cannot answer at all, or workers died again and again.
    """
    require("ray", by="--engine ray", extra="scale")
    if model.remake is None:
        raise ModelError(f"{model.label} cannot be made again on another machine")
    ray: Any = importlib.import_module("ray")
    began = not ray.is_initialized()
    if began:
        ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    n = workers or max(1, gpus)
    needs = {"num_gpus": 1} if gpus >= n else {"num_cpus": 1}
    if not gpus:
        n = min(n, int(ray.cluster_resources().get("CPU", 1)))
    remote: Any = ray.remote(max_restarts=_RESTARTS, max_task_retries=_RESTARTS, **needs)(_Worker)
    copies: list[Any] = [remote.remote(model.remake) for _ in range(n)]
    shares = _shares(jobs, max(1, min(_SHARE, len(jobs) // (4 * n) or 1)))
    try:
        running = {
            copy.ask.remote(share): copy for copy, share in zip(copies, shares, strict=False)
        }
        while running:
            (ready,), _ = ray.wait(list(running), num_returns=1)
            copy = running.pop(ready)
            results = ray.get(ready)
            share = next(shares, None)
            if share is not None:
                running[copy.ask.remote(share)] = copy
            yield from results
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, UnusableModelError) else error
        raise UnusableModelError(str(cause)) from None
    except ray.exceptions.RayActorError as error:
        raise UnusableModelError(f"workers died {_RESTARTS} times: {error}") from None
    finally:
        for copy in copies:
            ray.kill(copy)
        if began:
            ray.shutdown()


class _Worker:
    """A copy of the model on another machine."""

    def __init__(self, remake: Any) -> None:
        self._model: Model = remake()

    def ask(self, jobs: list[Job]) -> list[Result]:
        return list(ask(self._model, jobs))


def _shares(jobs: Sequence[Job], size: int) -> Iterator[list[Job]]:
    """Jobs in pieces of about a size; those about one image are never parted."""
    iterator = iter(jobs)
    held: list[Job] = []
    while piece := held + list(islice(iterator, size)):
        held = []
        for job in iterator:
            if job.item.key != piece[-1].item.key:
                held = [job]
                break
            piece.append(job)
        yield piece
