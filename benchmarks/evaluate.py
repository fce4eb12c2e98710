"""What the runner adds to a model's own time, and whether its memory stays flat.

    python benchmarks/evaluate.py [--rows 20000]

A model that sleeps 50 ms a question stands for one that computes: the wall time beyond the sleeps
is what reading, hashing and decoding images (ahead, in other threads), writing answers and telling
progress cost. Then a model that answers at once is asked many questions, and the process' memory is
looked at along the way.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from limen.addon.core.dataset import Dataset, open_dataset
from limen.analysis.conversation import Conversation
from limen.analysis.evaluate import evaluate_all
from limen.analysis.models import Answer, Model
from limen.analysis.models.pictures import read_rgb
from limen.analysis.synthetic import make_synthetic
from limen.analysis.tasks import TASKS

SLEEP_S = 0.050
MOST_OVERHEAD = 0.03
MOST_GROWTH_MB = 20.0


def main() -> int:
    """Run both; 1 where one is out of its bounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000, help="questions of the memory test")
    parser.add_argument("--questions", type=int, default=400, help="questions of the time test")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "dataset"
        make_synthetic(root, views=36, window_px=512)
        multiply(root, max(arguments.rows, arguments.questions))
        dataset = open_dataset(root)
        sound = measure_time(dataset, arguments.questions)
        shutil.rmtree(root / "runs")
        sound &= measure_memory(dataset, arguments.rows)
    return 0 if sound else 1


def multiply(root: Path, rows: int) -> None:
    """Give every view many names, so that few images make many rows."""
    (views,) = (root / "views").glob("*.jsonl")
    (index,) = (root / "index").glob("*.jsonl")
    lines = {file: file.read_text().splitlines(keepends=True) for file in (views, index)}
    copies = -(-rows // len(lines[index]))
    for file, texts in lines.items():
        with file.open("a") as out:
            for copy in range(1, copies):
                for text in texts:
                    at = text.index('"view_id":"v') + len('"view_id":"v')
                    name = text[at : at + 12]
                    other = f"{(int(name, 16) + copy) % 16**12:012x}"
                    text = text.replace(f'"view_id":"v{name}"', f'"view_id":"v{other}"')
                    out.write(text.replace(f'"id":"v{name}', f'"id":"v{other}'))


def measure_time(dataset: Dataset, questions: int) -> bool:
    """The wall time beyond what a model sleeps."""
    slept = [0.0]

    def ask(asked: Sequence[Conversation]) -> list[Answer]:
        begun = time.perf_counter()
        time.sleep(SLEEP_S)
        slept[0] += time.perf_counter() - begun
        return [Answer("1")] * len(asked)

    limit = questions // 3
    model = Model("sleeps", {}, ask=ask, prepare=read_rgb, label="sleeps")
    marks: list[float] = []

    def progress(done: int, total: int) -> None:
        marks.append(time.perf_counter())

    cpu = time.process_time()
    (summary,) = evaluate_all(
        dataset, model, [TASKS["presence"]], "clean", limit=limit, progress=progress
    )
    wall = marks[-1] - marks[0]
    overhead = wall / slept[0] - 1
    cpu_ms = 1000 * (time.process_time() - cpu) / summary.asked
    print(
        f"time: {summary.asked} questions at batch 1, 512 x 512 px: {wall:.2f} s beside "
        f"{slept[0]:.2f} s of sleeping: {overhead:+.2%} (at most {MOST_OVERHEAD:.0%}), "
        f"{cpu_ms:.1f} ms CPU a question"
    )
    return overhead <= MOST_OVERHEAD


def measure_memory(dataset: Dataset, rows: int) -> bool:
    """The process' memory over many questions."""
    model = Model("quick", {}, ask=lambda asked: [Answer("1")] * len(asked), label="quick")
    resident: list[tuple[int, float]] = []

    def progress(done: int, total: int) -> None:
        if done % max(1, rows // 10) == 0:
            resident.append((done, _resident_mb()))

    begun = time.perf_counter()
    (summary,) = evaluate_all(dataset, model, [TASKS["presence"]], "clean", progress=progress)
    seconds = time.perf_counter() - begun
    warm = [mb for done, mb in resident if done >= rows // 10]
    growth = warm[-1] - warm[0]
    told = ", ".join(f"{done:,}: {mb:.0f}" for done, mb in resident)
    print(f"memory: {summary.asked:,} rows in {seconds:.1f} s; resident MB at rows {told}")
    print(f"memory: {growth:+.1f} MB from the first tenth on (at most {MOST_GROWTH_MB:g})")
    return growth <= MOST_GROWTH_MB


def _resident_mb() -> float:
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(t for t in status.read_text().splitlines() if t.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    sys.exit(main())
