"""Render a study with several processes, on this machine or on many.

    python batch/launch.py --study FILE --out DIR --shards 4
    python batch/launch.py --study FILE --out DIR --engine ray --address auto --shards 16
    python batch/launch.py --study FILE --out DIR --engine slurm --shards 32 --slurm partition=cpu
    python batch/launch.py --study FILE --out DIR --engine openjd --shards 8 --write job.yaml

Every process takes views that nobody else is at work on, so a slow or dead one costs its own views
only. A launch that was stopped or killed goes on when it is started again.
Exit status: 0 done, 1 failed, 2 wrong use, 3 partly done (a list says what is missing).
"""

import argparse
import importlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from render_grid import load_package  # beside this script, where Python looks first

ENGINES = ("local", "ray", "slurm", "openjd")
WRONG_USE, PARTLY_DONE = 2, 3


def _parse(arguments: Sequence[str], package: ModuleType) -> argparse.Namespace:
    argument = importlib.import_module(f"{package.__name__}.batch.arguments")
    parser = argparse.ArgumentParser(
        prog="launch.py",
        description="Render a study with several processes, on this machine or on many. "
        "Run it again to go on.",
        epilog="exit status: 0 done, 1 failed, 2 wrong use, 3 partly done",
    )
    parser.add_argument(
        "--study", type=argument.path, required=True, metavar="FILE", help="the study file"
    )
    parser.add_argument(
        "--out",
        type=argument.path,
        required=True,
        metavar="DIR",
        help="the dataset; on a cluster, under the same path on all its machines",
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="local: processes of this machine; ray: an existing Ray cluster, or a new one here; "
        "slurm: an array job; openjd: an Open Job Description template for render farms",
    )
    parser.add_argument(
        "--shards",
        type=argument.whole(argument.SHARDS_MOST),
        default=max(1, (os.cpu_count() or 1) // 2),
        metavar="N",
        help="processes at once, at most one for each view (default: one for two processors)",
    )
    parser.add_argument(
        "--threads",
        type=argument.whole(argument.THREADS_MOST),
        metavar="N",
        help="processors of a process (default: this machine's, divided; on a cluster 2)",
    )
    parser.add_argument(
        "--limit", type=argument.whole(), metavar="VIEWS", help="only the first views"
    )
    parser.add_argument(
        "--assets", type=argument.directory, metavar="DIR", help="where licensed assets lie"
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "gpu"),
        default="cpu",
        help="a process that cannot use it fails and says why",
    )
    parser.add_argument(
        "--blender", metavar="PATH", help="render with this Blender, not with the bpy wheel"
    )
    parser.add_argument("--address", metavar="ADDRESS", help="ray: of the cluster, or auto")
    parser.add_argument(
        "--slurm",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="slurm: an option of sbatch, as partition=cpu or time=08:00:00. Repeatable",
    )
    parser.add_argument(
        "--write",
        type=argument.path,
        metavar="FILE",
        help="slurm, openjd: write the script or template there and start nothing",
    )
    options = parser.parse_args(arguments)
    if not options.study.is_file():
        parser.error(f"--study {options.study}: there is no such file")
    if options.write and options.engine not in ("slurm", "openjd"):
        parser.error(f"--write goes with --engine slurm or openjd, not with {options.engine}")
    if options.write and options.write.exists() and options.write.samefile(options.study):
        parser.error(f"--write {options.write}: that is the study, which would be lost")
    if options.engine == "openjd" and not options.write:
        parser.error("--engine openjd needs --write FILE: openjd run or a farm executes the file")
    if options.slurm and options.engine != "slurm":
        parser.error("--slurm goes with --engine slurm")
    if options.address is not None and options.engine != "ray":
        parser.error(f"--address goes with --engine ray, not with {options.engine}")
    if options.blender is not None:
        options.blender = _blender(parser, options)
    return options


def _blender(parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
    """Return the Blender to start; a cluster's machines may have one that this machine lacks."""
    found = shutil.which(options.blender)
    if found is not None:
        return str(Path(found).absolute())
    if options.engine == "local" or not options.blender:
        parser.error(
            f"--blender '{options.blender}': there is no program of that name; the file that "
            "starts Blender is needed, as /opt/blender/blender"
        )
    name = Path(options.blender)
    return str(name) if len(name.parts) == 1 else str(name.absolute())


def _main() -> int:
    package = load_package()
    options = _parse(sys.argv[1:], package)
    engine = importlib.import_module(f"{package.__name__}.batch.engines.{options.engine}")
    try:
        return engine.launch(options)
    except OSError as error:
        sys.stderr.write(f"{error.filename or options.out}: {error.strerror}\n")
        return WRONG_USE


if __name__ == "__main__":
    try:
        status = _main()
    except KeyboardInterrupt:  # before processes were started: then the engine minds it
        sys.stderr.write("\nStopped; run the same command to go on.\n")
        status = PARTLY_DONE
    sys.exit(status)
