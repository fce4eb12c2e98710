"""Work in several processes: results as they come; Ctrl-C leaves nobody behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

__all__ = ["WorkersError", "in_processes"]

Job = TypeVar("Job")
Result = TypeVar("Result")


class WorkersError(Exception):
    """A worker process was killed."""


def in_processes(
    work: Callable[[Job], Result], jobs: Iterable[Job], workers: int
) -> Generator[Result, None, None]:
    """Yield the result of each job as it is done, in any order.

    Few jobs are taken ahead, so that a long list of them costs no memory. Close the generator
    (``contextlib.closing``) so that nobody works on when its reader stops early. One worker works
    in this process. A script that asks for more needs ``if __name__ == "__main__":``, as processes
    are spawned.

    Args:
        work: A function of a module, which can be pickled, as jobs and results can.
        jobs: Its arguments, one each.
        workers: Processes.

    Raises:
        WorkersError: A worker was killed.
    """
    if workers <= 1:
        for job in jobs:
            yield work(job)
        return
    # Never forked: OpenCV's and numpy's threads do not survive it.
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start)
    waiting = iter(jobs)
    running: set[Future[Result]] = set()
    try:
        while True:
            for job in islice(waiting, 2 * workers - len(running)):
                running.add(pool.submit(work, job))
            if not running:
                break
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    except BrokenProcessPool as error:
        raise WorkersError(
            "a worker was killed: the system may have run out of memory. Fewer --workers need "
            "less; the same command goes on where it stopped"
        ) from error
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start() -> None:
    # The terminal's Ctrl-C reaches every process; the first one decides for all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import cv2

    cv2.setNumThreads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End when the first process was killed, rather than wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
