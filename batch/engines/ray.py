"""Processes on a Ray cluster: one Blender per task, tried again where a node is lost.

All nodes need this checkout, its environment and the dataset under the same paths.
"""

import argparse
import os
import socket
import threading

from ...addon.core.ray_address import endpoint
from ..pull import tidy
from .command import (
    DONE,
    FAILED,
    PARTLY_DONE,
    TRIES_OF_PROCESSES,
    WRONG_USE,
    Deaths,
    open_views,
    say,
    spare,
    watch,
    worker_command,
)

__all__ = ["launch"]

_RETRIES = 5
_THREADS = 2
_TAIL_CHARS = 2000
_KNOCK_S = 10.0
_PATIENCE_S = 60.0


def launch(options: argparse.Namespace) -> int:
    """Render on a Ray cluster; returns the exit status."""
    # Before Ray is imported: nothing is reported to anyone.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        say("--engine ray needs the package ray: pip install 'limen[scale]'")
        return WRONG_USE
    options.threads = options.threads or _THREADS
    where = options.address if options.address is not None else os.environ.get("RAY_ADDRESS")
    if where is not None and not _answers(where):
        return WRONG_USE
    views = open_views(options)
    if views is None:
        return WRONG_USE
    if not views.pull.missing():
        say(f"nothing to do: all {views.wanted} views are in {options.out}")
        tidy(options.out)
        return DONE
    spare(options, views)
    # Something else may listen there, as the dashboard, and Ray waits for minutes in its own code.
    patience = threading.Timer(_PATIENCE_S, _give_up, [where])
    patience.daemon = True
    if where is not None:
        patience.start()
    try:
        ray.init(address=where, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        say(f"no Ray cluster at {where or 'this machine'}: {error}")
        return WRONG_USE
    finally:
        patience.cancel()
    try:
        if not _has_room(ray, options, grows=where not in (None, "local")):
            return WRONG_USE
        return _run(ray, options, views)
    finally:
        ray.shutdown()


def _answers(address: str) -> bool:
    """Whether something answers at an address; says so where not, as Ray tries for minutes."""
    try:
        place = endpoint(address)
    except ValueError as error:
        say(f"--address: {error}")
        return False
    try:
        if place is not None:
            socket.create_connection(place, timeout=_KNOCK_S).close()
    except (OSError, UnicodeError) as error:  # a name of more than 63 letters is no name
        reason = getattr(error, "strerror", None) or str(error)
        say(
            f"no Ray cluster at '{address}': {reason}. Its address is what 'ray start --head' "
            "shows, as in --address HOST:6379; without --address one is started here"
        )
        return False
    return True


def _give_up(address: str) -> None:
    """End where what answers is no cluster; nothing was started yet."""
    say(
        f"no Ray cluster at '{address}': what listens there did not answer as one within "
        f"{_PATIENCE_S:.0f} s. Its address is what 'ray start --head' shows, as in HOST:6379"
    )
    os._exit(WRONG_USE)


def _needs(options: argparse.Namespace) -> dict[str, int]:
    """Return what a process takes of a node."""
    return {"GPU": 1} if options.device == "gpu" else {"CPU": options.threads}


def _has_room(ray, options: argparse.Namespace, *, grows: bool) -> bool:
    """Say where no node is large enough, as Ray waits in silence; False where none will ever be."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for kind, need in _needs(options).items():
        most = max((node.get(kind, 0) for node in nodes), default=0)
        if most < need:
            less = "--device cpu needs none" if kind == "GPU" else "--threads N asks for less"
            wait = "waiting for a larger node, Ctrl-C stops; " if grows else ""
            say(f"a process needs {need} {kind}, no node has more than {most:g}: {wait}{less}")
            return grows
    return True


def _run(ray, options: argparse.Namespace, views) -> int:
    resources = {f"num_{kind.lower()}s": need for kind, need in _needs(options).items()}
    # Packed with the task, so that a node needs no import of this module.
    work = ray.remote(max_retries=_RETRIES, **resources)(_work_function())
    command = worker_command(options)
    waiting = [work.remote(command) for _ in range(options.shards)]
    deaths = Deaths(views, TRIES_OF_PROCESSES * options.shards)
    refused: list[tuple[int, str]] = []

    def alive() -> bool:
        nonlocal waiting
        ready, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=0)
        for task in ready:
            try:
                status, said = ray.get(task)
            except ray.exceptions.RayTaskError as error:
                refused.append((FAILED, f"{error.cause}"))  # as where a node has no such Blender
                continue
            except ray.exceptions.RayError as error:
                say(f"a process was lost with its node: {type(error).__name__}")
                continue
            if status == PARTLY_DONE or (status == DONE and not views.pull.missing()):
                continue
            if status in (DONE, FAILED, WRONG_USE) or deaths.are_too_many():
                refused.append((status, said or f"status {status}, and it said nothing"))
            else:
                # Blender crashed: its views are open again. A view that always does is given up.
                waiting.append(work.remote(command))
        if refused:
            for task in waiting:
                ray.cancel(task, force=True)
            waiting = []
        return bool(waiting)

    try:
        watch(views, alive)
    except KeyboardInterrupt:
        say("\nStopping; what was in hand is lost, the same command goes on.")
        for task in waiting:
            ray.cancel(task, force=True)
        views.finish()
        return PARTLY_DONE
    for _, said in refused[:1]:
        say(f"a process ended early:\n{said}")
    status = views.finish(*[status or FAILED for status, _ in refused[:1]])
    if status == DONE:
        tidy(options.out)
    return status


def _work_function():
    """Return the task as a closure: pickled by value, it needs no module on the node."""
    tail = _TAIL_CHARS

    def work(command: list[str]) -> tuple[int, str]:
        import subprocess

        # A cancelled or lost task takes its pipe with it, and Blender stops at the end of it.
        process = subprocess.Popen(
            [*command, "--launched"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = ""
        for line in process.stdout:
            said = (said + line)[-tail:]
        return process.wait(), said

    return work
