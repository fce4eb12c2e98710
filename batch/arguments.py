"""What arguments of the command line may be, for all scripts of a batch."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["SHARDS_MOST", "THREADS_MOST", "directory", "path", "shard", "whole"]

SHARDS_MOST = 2000
"""Processes that can write into one dataset at once."""

THREADS_MOST = 1024
"""What Blender takes."""


def path(text: str) -> Path:
    """Return an absolute path.

    Raises:
        ArgumentTypeError: It is empty, as a shell's variable that is not set, or no text.
    """
    if not text:
        raise argparse.ArgumentTypeError("it is empty: a path is needed")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not UTF-8, which Blender's paths are: rename the file or directory"
        ) from error
    if os.name == "posix" and text.startswith("//"):  # to Blender: beside the open file
        text = "/" + text.lstrip("/")
    return Path(text).absolute()


def directory(text: str) -> Path:
    """Return the absolute path of a directory.

    Raises:
        ArgumentTypeError: There is none.
    """
    found = path(text)
    if not found.is_dir():
        raise argparse.ArgumentTypeError(f"{found}: there is no such directory")
    return found


def whole(most: int | None = None) -> Callable[[str], int]:
    """Return what reads a whole number from 1, up to ``most``."""
    allowed = "a whole number above 0" if most is None else f"a whole number from 1 to {most}"

    def read(text: str) -> int:
        # More digits than that are no count, and Python may refuse to read them.
        if text.isdecimal() and len(text) < 19 and 0 < int(text) <= (most or int(text)):
            return int(text)
        raise argparse.ArgumentTypeError(f"'{text[:40]}': {allowed} is needed")

    return read


def shard(text: str) -> tuple[int, int]:
    """Return ``(i, N)`` of "i/N".

    Raises:
        ArgumentTypeError: It is no part, or there are more than :data:`SHARDS_MOST`.
    """
    part, slash, count = text.partition("/")
    if slash and all(number.isdecimal() and len(number) < 19 for number in (part, count)):
        i, n = int(part), int(count)
        if i < n <= SHARDS_MOST:
            return i, n
    raise argparse.ArgumentTypeError(
        f"'{text[:40]}': i/N with i from 0 to N - 1 is needed, as in 0/3"
        + (f", and N is at most {SHARDS_MOST}" if len(text) > 8 else "")
    )
