"""Developing on a Ray cluster: views are its tasks, this process alone writes the table.

All nodes need the dataset under the same path, as on a file system that they share, and the same
version of this package. A view whose node is lost is made again on another; files are written whole
and are the same wherever they are made, so nothing is lost but time.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import socket
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from ... import __version__
from ...addon.core.ray_address import endpoint
from .settings import DevelopChoiceError, DevelopError, Settings
from .table import is_there
from .view import Job, develop_view

__all__ = ["RETRIES", "RayMissingError", "require_cluster", "worked_by_ray"]

RETRIES = 5
"""How often a view is tried again whose node or process was lost."""

_PATIENCE_S = 1.0  # between looks at the keyboard
_KNOCK_S = 10.0

Row = dict[str, Any]


class RayMissingError(Exception):
    """Ray is not installed; the message says how to get it."""


def worked_by_ray(
    root: Path, settings: Settings, jobs: Sequence[Job], workers: int, address: str | None
) -> Generator[tuple[list[Row], str | None], None, None]:
    """Yield the rows of the jobs as they are done, and what was wrong with a view.

    Args:
        root: The dataset.
        settings: What images are made with.
        jobs: Views.
        workers: Processors of a cluster that is started here; a running one decides by itself.
        address: Of a running cluster (``HOST:PORT``, ``auto``, ``ray://HOST:PORT``); None for the
            one in RAY_ADDRESS, or else one that is started on this machine and ends with the run.

    Raises:
        DevelopError: The cluster cannot be used, or a view's nodes were lost again and again.
    """
    # Set before Ray is imported: nothing is reported to anyone.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray: Any = importlib.import_module("ray")
    if not jobs:
        return
    mine = not ray.is_initialized()
    if mine:
        _connect(ray, workers, address)
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(_develop_on_node)
    running: dict[Any, Job] = {}
    waiting = list(reversed(jobs))
    try:
        shared = ray.put((str(root.resolve()), settings))
        while waiting or running:
            # Nodes come and go: always as much in hand as all are busy with, and as much again.
            room = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting and len(running) < room:
                job = waiting.pop()
                running[task.remote(shared, job)] = job
            done, _ = ray.wait(list(running), num_returns=1, timeout=_PATIENCE_S)
            for reference in done:
                rows, problem, node = _result(ray, reference, running.pop(reference))
                _check_seen(root, rows, node)
                yield rows, problem
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        if mine:
            ray.shutdown()


def require_cluster(address: str | None) -> None:
    """Check that there is a cluster to work on, before anything is changed.

    Raises:
        RayMissingError: Ray is not installed.
        DevelopChoiceError: The address is none.
        DevelopError: No one answers there.
    """
    if importlib.util.find_spec("ray") is None:
        raise RayMissingError("engine ray needs the package ray: pip install 'limen[scale]'")
    where = _where(address)
    try:
        place = endpoint(where)
    except ValueError as error:
        raise DevelopChoiceError(str(error)) from error
    if place is None:
        return
    try:
        # Ray itself would try for minutes.
        socket.create_connection(place, timeout=_KNOCK_S).close()
    except (OSError, UnicodeError) as error:
        raise _no_cluster(where, error) from error


def _where(address: str | None) -> str:
    return os.environ.get("RAY_ADDRESS", "local") if address is None else address


def _connect(ray: Any, workers: int, address: str | None) -> None:
    where = _where(address)
    local = {"num_cpus": workers, "include_dashboard": False} if where == "local" else {}
    try:
        ray.init(address=where, log_to_driver=False, logging_level="ERROR", **local)
    except (OSError, RuntimeError) as error:
        raise _no_cluster(where, error) from error


def _no_cluster(where: str, error: Exception) -> DevelopError:
    said = (getattr(error, "strerror", None) or str(error)).strip().splitlines()
    return DevelopError(
        f"cannot use a Ray cluster at {where}: {said[0] if said else type(error).__name__}. "
        "Its address is what 'ray start --head' shows, as in --address HOST:6379"
    )


def _develop_on_node(
    shared: tuple[str, Settings], job: Job
) -> tuple[list[Row], str | None, str, str]:
    """Make a view's images; also returns this node's version of the package, and its name."""
    import platform

    import cv2

    cv2.setNumThreads(1)
    root, settings = shared
    return *develop_view(Path(root), settings, job), __version__, platform.node()


def _result(ray: Any, reference: Any, job: Job) -> tuple[list[Row], str | None, str]:
    try:
        rows, problem, version, node = ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise  # an error in our code, with the node's traceback
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines()[0]
        raise DevelopError(
            f"view {job.view['view_id']} was lost {RETRIES + 1} times with its node or process, "
            f"the last time because: {said}. The same command goes on where it stopped"
        ) from error
    if version != __version__:
        raise DevelopError(f"node {node} has limen {version}, this machine {__version__}")
    return rows, problem, node


def _check_seen(root: Path, rows: list[Row], node: str) -> None:
    """Check that what a node wrote is here: a dataset of its own would be lost with it."""
    for row in rows:
        if not is_there(root, row):
            raise DevelopError(
                f"node {node} wrote {row['path']} and it is not in {root} here: the dataset has to "
                "lie on a file system that all nodes share, under one path"
            )
