"""How long an annotator waits: 20,000 images of 1920x1080, SQLite and PostgreSQL, a real browser.

    python benchmarks/annotate.py [server] [browser] [--answers 300] [--database URL]

`server`: an answer and the next image over HTTP, one annotator and two at once: median, 95th
percentile and worst of the sum, and CPU of the server. `browser`: from the key to the next image
painted, in Chromium without a GPU. The bar is 150 ms. `--database` measures another database than
SQLite, such as postgresql://USER@HOST/NAME (an empty one).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import cv2
import numpy as np
from limen.addon.core.dataset import file_record
from limen.analysis.annotate.client import Client
from limen.analysis.synthetic import make_synthetic

VIEWS = 6_667  # under three lightings each
WIDTH, HEIGHT = 1920, 1080
BAR_MS = 150


def make_dataset(root: Path) -> None:
    """A dataset of 20,001 media items that share eight noisy images."""
    small = make_synthetic(root.with_name("small"))
    root.mkdir()
    shutil.copy(small.root / "study.toml", root)
    (root / "media" / "clean").mkdir(parents=True)
    rng = np.random.default_rng(0)
    records = []
    for number in range(8):  # a ramp with noise: about the size of a real night image as PNG
        ramp = np.linspace(20, 90, WIDTH)[None, :, None] + rng.normal(0, 3, (HEIGHT, WIDTH, 3))
        path = root / "media" / "clean" / f"image{number}.png"
        cv2.imwrite(str(path), np.clip(ramp, 0, 255).astype(np.uint8))
        records.append({"path": f"media/clean/{path.name}", **file_record(path)})
    by_view: dict[str, list[dict]] = {}
    for row in small.index.values():
        by_view.setdefault(row["view_id"], []).append(row)
    originals = sorted(by_view)
    views, index = [], []
    for number in range(VIEWS):
        view_id, old = f"v{number:012x}", originals[number % len(originals)]
        camera = {**small.views[old]["camera"], "width": WIDTH, "height": HEIGHT}
        views.append({**small.views[old], "view_id": view_id, "camera": camera})
        for row in by_view[old]:
            media = {"kind": "image", "clean": records[len(index) % len(records)]}
            new = {"view_id": view_id, "id": f"{view_id}-{row['lighting']}", "media": media}
            index.append({**row, **new})
    for name, rows in (("views", views), ("index", index)):
        (root / name).mkdir()
        lines = "\n".join(json.dumps(row) for row in rows)
        (root / name / "000.jsonl").write_text(f"{lines}\n")


class Server:
    """`limen annotate` in a process of its own."""

    def __init__(self, root: Path, database: str | None) -> None:
        command = [sys.executable, "-m", "limen.analysis.cli", "annotate", str(root), "--port", "0"]
        if database:
            command += ["--database", database]
        start = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.start_s = time.perf_counter() - start

    def cpu_s(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


def told(what: str, waits_ms: list[float]) -> str:
    """A line about waiting times."""
    median, high = np.quantile(waits_ms, [0.5, 0.95])
    late = sum(wait > BAR_MS for wait in waits_ms)
    return (
        f"{what}: median {median:.0f} ms, 95 % {high:.0f} ms, worst {max(waits_ms):.0f} ms, "
        f"{late} of {len(waits_ms)} over {BAR_MS} ms"
    )


def answer_and_look(url: str, name: str, count: int, waits_ms: list[float]) -> None:
    """Answer trials, each until the next image is here."""
    client = Client(url, name, simulated=False)
    state = client.state()
    client.image(state["trial"])
    for _ in range(count):
        start = time.perf_counter()
        state = client.answer(state["trial"], {"value": "visible"})
        client.image(state["trial"])
        waits_ms.append(1000 * (time.perf_counter() - start))
    client.close()


def bench_server(server: Server, answers: int) -> None:
    """Over HTTP, without a browser."""
    start = time.perf_counter()
    Client(server.url, "first", simulated=False).close()
    print(f"signing in, which draws its 21,001 trials: {time.perf_counter() - start:.2f} s")
    waits: list[float] = []
    cpu = server.cpu_s()
    answer_and_look(server.url, "alone", answers, waits)
    spent = (server.cpu_s() - cpu) / answers
    print(told("answer and next image, one annotator", waits), f"({1000 * spent:.0f} ms CPU each)")
    waits = []
    both = [
        threading.Thread(target=answer_and_look, args=(server.url, name, answers // 2, waits))
        for name in ("anna", "berta")
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    print(told("answer and next image, two at once", waits))


def bench_browser(server: Server, answers: int) -> None:
    """From the key to the paint."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--no-first-run"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(server.url)
        page.fill("#name", "browser")
        page.click("button.main")
        page.fill("#distance_cm", "60")
        page.check("input[value=dim]")
        page.check("input[name=calibrated][value=no]")
        page.click("#conditions button.main")
        page.wait_for_selector("#go:visible")
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-painted]")
        waits = []
        for _ in range(min(answers, 90)):  # without a break
            page.wait_for_timeout(500)  # someone looks; the next image is fetched meanwhile
            waits.append(page.evaluate(_KEY_TO_PAINT))
        print(told("key to next image painted, in Chromium", waits))
        browser.close()


_KEY_TO_PAINT = """() => new Promise((done) => {
  const start = performance.now();
  new MutationObserver((_, watch) => { watch.disconnect(); done(performance.now() - start); })
    .observe(document.body, { attributes: true, attributeFilter: ["data-painted"] });
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "v", code: "KeyV", bubbles: true }));
})"""


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["server", "browser"])
    parser.add_argument("--answers", type=int, default=300)
    parser.add_argument("--database", help="default: SQLite in the dataset")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "large"
        make_dataset(root)
        size = sum(file.stat().st_size for file in (root / "media").rglob("*.png")) / 8
        print(f"20,001 images of {WIDTH}x{HEIGHT}, {size / 1e6:.1f} MB each as PNG")
        server = Server(root, given.database)
        try:
            print(f"server ready after {server.start_s:.1f} s ({server.cpu_s():.1f} s CPU)")
            if "server" in given.what:
                bench_server(server, given.answers)
            if "browser" in given.what:
                bench_browser(server, given.answers)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
