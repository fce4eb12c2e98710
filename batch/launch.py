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
import sys
from collections.abc import Sequence
from pathlib import Path

from render_grid import load_package  # beside this script, where Python looks first

ENGINES = ("local", "ray", "slurm", "openjd")


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="launch.py",
        description="Render a study with several processes, on this machine or on many. "
        "Run it again to go on.",
        epilog="exit status: 0 done, 1 failed, 2 wrong use, 3 partly done",
    )
    parser.add_argument("--study", type=Path, required=True, metavar="FILE", help="the study file")
    parser.add_argument(
        "--out",
        type=Path,
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
        type=_positive,
        default=max(1, (os.cpu_count() or 1) // 2),
        metavar="N",
        help="processes at once (default: one for two processors)",
    )
    parser.add_argument(
        "--threads",
        type=_positive,
        metavar="N",
        help="processors of a process (default: this machine's, divided; on a cluster 2)",
    )
    parser.add_argument("--limit", type=_positive, metavar="VIEWS", help="only the first views")
    parser.add_argument("--assets", type=Path, metavar="DIR", help="where licensed assets lie")
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
        type=Path,
        metavar="FILE",
        help="slurm, openjd: write the script or template there and start nothing",
    )
    options = parser.parse_args(arguments)
    for name in ("study", "out", "assets", "write"):
        if (path := getattr(options, name)) is not None:
            setattr(options, name, path.absolute())
    if not options.study.is_file():
        parser.error(f"--study {options.study}: there is no such file")
    if options.write and options.engine not in ("slurm", "openjd"):
        parser.error(f"--write goes with --engine slurm or openjd, not with {options.engine}")
    if options.engine == "openjd" and not options.write:
        parser.error("--engine openjd needs --write FILE: openjd run or a farm executes the file")
    if options.slurm and options.engine != "slurm":
        parser.error("--slurm goes with --engine slurm")
    return options


def _positive(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}': a whole number above 0 is needed")


def _main() -> int:
    options = _parse(sys.argv[1:])
    package = load_package()
    engine = importlib.import_module(f"{package.__name__}.batch.engines.{options.engine}")
    return engine.launch(options)


if __name__ == "__main__":
    sys.exit(_main())
