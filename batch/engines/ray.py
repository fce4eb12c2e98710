"""Processes on a Ray cluster: one Blender per task, tried again where a node is lost.

All nodes need this checkout, its environment and the dataset under the same paths.
"""

import argparse
import os

from ..pull import tidy
from .command import DONE, FAILED, PARTLY_DONE, WRONG_USE, open_views, say, watch, worker_command

__all__ = ["launch"]

_RETRIES = 5
_THREADS = 2
_TAIL_CHARS = 2000


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
    views = open_views(options)
    if views is None:
        return WRONG_USE
    if not views.pull.missing():
        say(f"nothing to do: all {views.wanted} views are in {options.out}")
        return DONE
    try:
        ray.init(address=options.address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        say(f"no Ray cluster at {options.address or 'this machine'}: {error}")
        return WRONG_USE
    try:
        return _run(ray, options, views)
    finally:
        ray.shutdown()


def _run(ray, options: argparse.Namespace, views) -> int:
    resources = {"num_gpus": 1} if options.device == "gpu" else {"num_cpus": options.threads}
    # Packed with the task, so that a node needs no import of this module.
    work = ray.remote(max_retries=_RETRIES, **resources)(_work_function())
    command = worker_command(options)
    waiting = [work.remote(command) for _ in range(options.shards)]
    refused: list[str] = []
    lost = 0

    def alive() -> bool:
        nonlocal waiting, lost
        ready, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=0)
        for task in ready:
            try:
                status, said = ray.get(task)
            except ray.exceptions.RayError as error:
                lost += 1
                say(f"a process was lost with its node: {type(error).__name__}")
                continue
            if status in (FAILED, WRONG_USE):
                refused.append(said)
            elif status not in (DONE, PARTLY_DONE):
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
    if refused:
        say(f"a process ended early:\n{refused[0]}")
    status = views.finish()
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
