"""A Blender in a window under a virtual screen, driven as its user drives it: by mouse and keys.

Blender tells nobody where its buttons are. A button is found by the words on it: Blender draws the
words once more for itself, and that picture is looked for in a picture of the screen.
"""

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import pytest
from PIL import ImageGrab
from requirements import require

__all__ = ["Place", "Window", "open_window", "virtual_screen"]

INSIDE = Path(__file__).parent / "inside"
SCREEN = (1600, 900)
ALIKE = 0.95  # correlation with the screen: the words have 0.98, others of their letters 0.91
START_S = 180
GAP_PX, PLAIN = 8, 60  # a text ends where so many pixels after it differ by no more
WAIT_S = 300  # llvmpipe draws a scene in seconds, on a busy machine in minutes
ANSWER_S = 400  # an operator that builds a scene holds Blender up
SCROLL_STEPS = 60


class Place(NamedTuple):
    """Where words are on the screen, in pixels from its top left corner."""

    x: int
    y: int
    width: int
    height: int

    @property
    def centre(self) -> tuple[int, int]:
        return self.x + self.width // 2, self.y + self.height // 2


@contextmanager
def virtual_screen(size: tuple[int, int] = SCREEN) -> Iterator[str]:
    """A virtual screen that chooses its own number; gives DISPLAY."""
    require("Xvfb")
    read, write = os.pipe()
    mode = f"{size[0]}x{size[1]}x24"
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-nolisten", "tcp", "-screen", "0", mode],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as number:
            yield f":{number.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


class Window:
    """Blender's window: its mouse, its keys, its picture, and questions to it."""

    def __init__(self, display: str, port: int, folder: Path, process: subprocess.Popen) -> None:
        self.display = display
        self.folder = folder
        self.process = process
        self.kept = os.environ.get("LIMEN_SCREENSHOTS")
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(ANSWER_S)
        self._stream = self._socket.makefile("rw", encoding="utf-8")
        self._words: dict[tuple[str, int], np.ndarray] = {}
        self._sizes: list[int] = []

    # --- asking

    def _ask(self, **request: Any) -> Any:
        self._stream.write(json.dumps(request) + "\n")
        self._stream.flush()
        line = self._stream.readline()
        assert line, "Blender has gone"
        reply = json.loads(line)
        assert "error" not in reply, reply["error"]
        return reply["value"]

    def value(self, expression: str) -> Any:
        """Return the value of an expression inside Blender; ``stage()`` is the scene."""
        return self._ask(value=expression)

    def run(self, statements: str) -> None:
        """Run statements inside Blender: to prepare a test, never what is tested."""
        self._ask(run=statements)

    def wait(self, expression: str, timeout_s: float = WAIT_S) -> Any:
        """Wait until an expression inside Blender is true; returns its value."""
        until = time.monotonic() + timeout_s
        while not (value := self.value(expression)):
            if time.monotonic() > until:
                self.keep("waited in vain")
                pytest.fail(f"after {timeout_s:g} s still not: {expression}")
            time.sleep(0.2)
        return value

    def set_scale(self, scale: float) -> None:
        """Set the scale of the interface."""
        self.run(f"bpy.context.preferences.view.ui_scale = {scale}")
        self._words.clear()
        self.picture()

    # --- mouse and keys

    def _xdotool(self, *arguments: object) -> None:
        subprocess.run(
            ["xdotool", *map(str, arguments)],
            env={**os.environ, "DISPLAY": self.display},
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def point(self, x: int, y: int) -> None:
        """Move the mouse there, in two steps: Blender lights a button up when it moves over it."""
        self._xdotool("mousemove", x - 2, y - 1)
        self.value("0")
        self._xdotool("mousemove", x, y)
        self.value("0")
        time.sleep(0.15)

    def press(self, x: int, y: int, button: int = 1) -> None:
        """Click there."""
        self.point(x, y)
        self._xdotool("mousedown", button)
        time.sleep(0.08)
        self._xdotool("mouseup", button)
        self.value("0")

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Drag with the left button from one place to another."""
        self.point(*start)
        self._xdotool("mousedown", 1)
        for i in range(1, 9):
            x, y = (round(a + (b - a) * i / 8) for a, b in zip(start, end, strict=True))
            self._xdotool("mousemove", x, y)
            self.value("0")
        self._xdotool("mouseup", 1)
        self.value("0")

    def key(self, *keys: str) -> None:
        """Press keys, as ``ctrl+z``."""
        for key in keys:
            self._xdotool("key", "--delay", "60", key)
            self.value("0")

    def type(self, words: str) -> None:
        """Type words."""
        self._xdotool("type", "--delay", "40", words)
        self.value("0")

    # --- seeing

    def picture(self) -> np.ndarray:
        """Return the screen (h, w, 3) BGR, once it no longer changes."""
        before = None
        for _ in range(8):
            self.value("0")
            now = np.asarray(ImageGrab.grab(xdisplay=self.display).convert("RGB"))[:, :, ::-1]
            if before is not None and np.array_equal(before, now):
                break
            before = now
            time.sleep(0.15)
        return now

    def keep(self, name: str) -> Path:
        """Keep a picture of the screen, in LIMEN_SCREENSHOTS where that is set."""
        folder = Path(self.kept) if self.kept else self.folder
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name.replace(' ', '-')}.png"
        cv2.imwrite(str(file), self.picture())
        return file

    def _drawn(self, words: str, points: int) -> np.ndarray:
        if (words, points) not in self._words:
            file = self.folder / "words.png"
            self._ask(text=words, points=points, file=str(file))
            drawn = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
            ys, xs = np.nonzero(drawn > drawn.min() + 20)
            self._words[words, points] = drawn[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
        return self._words[words, points]

    def _places(self, words: str, within: tuple[int, int, int, int] | None) -> list[Place]:
        """Return where words are on the screen, from above."""
        screen = self.picture()
        x0, y0, width, height = within or (0, 0, screen.shape[1], screen.shape[0])
        x0, y0 = max(x0, 0), max(y0, 0)
        return [
            Place(x0 + x, y0 + y, w, h)
            for x, y, w, h in self.places_in(screen[y0 : y0 + height, x0 : x0 + width], words)
        ]

    def places_in(self, picture: np.ndarray, words: str) -> list[Place]:
        """Return where words are in a picture (h, w, 3) BGR of a part of the screen, from above."""
        if not self._sizes:
            style = "bpy.context.preferences.ui_styles[0]"
            sizes = self.value(f"[{style}.widget.points, {style}.panel_title.points]")
            self._sizes = sorted({int(size) for size in sizes})
        screen = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
        found: list[tuple[float, Place]] = []
        for points in self._sizes:
            words_drawn = self._drawn(words, points)
            h, w = words_drawn.shape
            if screen.shape[0] < h or screen.shape[1] < w:
                continue
            score = cv2.matchTemplate(screen, words_drawn, cv2.TM_CCOEFF_NORMED)
            score[~np.isfinite(score)] = 0
            while score.max() >= ALIKE:
                y, x = np.unravel_index(score.argmax(), score.shape)
                after = screen[y : y + h, x + w + 1 : x + w + 1 + GAP_PX]
                if not after.size or np.ptp(after) < PLAIN:  # else a longer text begins so
                    found.append((float(score.max()), Place(int(x), int(y), w, h)))
                score[max(0, y - h) : y + h, max(0, x - w) : x + w] = 0
        found.sort(reverse=True)
        kept: list[Place] = []
        for _, place in found:
            if all(abs(place.y - p.y) > p.height or abs(place.x - p.x) > p.width for p in kept):
                kept.append(place)
        return sorted(kept, key=lambda place: (place.y, place.x))

    def sees(self, words: str, region: str = "UI", kind: str = "VIEW_3D") -> Place | None:
        """Return where words are in a region now, None where they are not."""
        places = self._places(words, self._region(kind, region))
        return places[0] if places else None

    def _region(self, kind: str, region: str) -> tuple[int, int, int, int] | None:
        if region == "ANY":
            return None
        found = self.value(f"rectangle({kind!r}, {region!r})")
        assert found, f"there is no region {region} of {kind}"
        return tuple(found)

    def find(self, words: str) -> Place:
        """Return where words are in the sidebar; scrolls there if they are out of sight."""
        if place := self.sees(words):
            return place
        x, y, width, height = self._region("VIEW_3D", "UI")
        self.point(x + width // 2, y + height // 2)
        self._xdotool("click", "--repeat", SCROLL_STEPS, "--delay", 5, 4)
        before = None
        for _ in range(SCROLL_STEPS):
            if place := self.sees(words):
                return place
            self._xdotool("click", "--repeat", 6, "--delay", 10, 5)
            now = self.picture()[y : y + height, x : x + width]
            if before is not None and np.array_equal(before, now):
                break
            before = now
        pytest.fail(f"the sidebar does not show '{words}': {self.keep('not found')}")

    # --- the sidebar

    def region_picture(self, kind: str = "VIEW_3D", region: str = "UI") -> np.ndarray:
        """Return a picture of a region (h, w, 3) BGR, once it no longer changes."""
        x, y, width, height = self._region(kind, region)
        return self.picture()[y : y + height, x : x + width]

    def open_tab(self, name: str = "Limen") -> None:
        """Open the sidebar at a tab."""
        self.run("area_of()[1].spaces.active.show_region_ui = True")
        self.picture()
        self.run(f"next(r for r in area_of()[1].regions if r.type == 'UI')"
                 f".active_panel_category = {name!r}")  # fmt: skip
        self.run("area_of()[1].tag_redraw()")
        self.picture()

    def open_panel(self, title: str, shows: str) -> None:
        """Click a panel's header unless what it shows is in sight already."""
        if not self.sees(shows):
            self._toggle(title)
            self.find(shows)

    def close_panel(self, title: str, hides: str) -> None:
        """Click a panel's header and wait until what it showed is gone."""
        self._toggle(title)
        self.until(lambda: self.sees(hides) is None)

    def _toggle(self, title: str) -> None:
        place = self.find(title)
        x, _, width, _ = self._region("VIEW_3D", "UI")
        bottom = place.y + place.height

        def below() -> np.ndarray:
            return self.picture()[bottom + 8 :, x : x + width]

        self.point(*place.centre)
        before = below()
        self.press(*place.centre)
        self.until(lambda: not np.array_equal(before, below()))

    def until(self, holds: Callable[[], object], timeout_s: float = WAIT_S) -> None:
        """Wait until something holds that is seen on the screen."""
        until = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < until, self.keep("waited in vain")

    def click(self, words: str) -> None:
        """Click what has these words on it in the sidebar."""
        self.press(*self.find(words).centre)

    def click_icon(self, words: str, *, from_right: int = 0, up: float = 0) -> None:
        """Click an icon in the row of these words, counted from the right end of the row.

        Args:
            words: On the row; or below it, where ``up`` says by how many rows' heights.
            from_right: 0 for the last icon of the row.
            up: Rows of the sidebar, 20 pixels each at interface scale 1.
        """
        place = self.find(words)
        x, _, width, _ = self._region("VIEW_3D", "UI")
        unit = 20 * self.value("bpy.context.preferences.system.ui_scale")
        row_y = place.centre[1] - round(up * unit)
        self.press(round(x + width - (2.4 + from_right) * unit), row_y)

    def search(self, name: str) -> None:
        """Run an operator by F3, typing its name, with the mouse over the 3D view."""
        x, y, width, height = self._region("VIEW_3D", "WINDOW")
        self.point(x + width // 4, y + height // 2)
        self.key("F3")
        self.picture()
        self.type(name)
        self.picture()
        self.key("Return")
        self.picture()

    def undo(self) -> None:
        """Ctrl-Z over the 3D view."""
        self._over_view("ctrl+z")

    def redo(self) -> None:
        """Ctrl-Shift-Z over the 3D view."""
        self._over_view("ctrl+shift+z")

    def _over_view(self, key: str) -> None:
        x, y, width, height = self._region("VIEW_3D", "WINDOW")
        self.point(x + width // 4, y + height // 2)
        self.key(key)
        self.picture()

    def save_in(self, folder: Path) -> None:
        """In the file browser that is open: type a folder, leave the name, press Return."""
        self.wait("area_of('FILE_BROWSER')[1] is not None")
        self.picture()
        x, y, width, height = self._region("FILE_BROWSER", "UI")
        self.press(x + width // 2, y + height // 2)
        self.key("ctrl+a")
        self.type(str(folder))
        self.key("Return")
        params = "area_of('FILE_BROWSER')[1].spaces.active.params"
        self.wait(f"{params}.directory.decode().rstrip('/') == {str(folder)!r}")
        self.keep("file browser")
        x, y, width, height = self._region("FILE_BROWSER", "WINDOW")
        closed = "area_of('FILE_BROWSER')[1] is None"
        for _ in range(10):  # the first Return may only leave the field
            self.point(x + width // 2, y + height // 2)
            self.key("Return")
            self.picture()
            if self.value(closed):
                return
        self.wait(closed)


@contextmanager
def open_window(
    start: Callable[..., subprocess.Popen],
    display: str,
    folder: Path,
    *,
    scale: float = 1.0,
    size: tuple[int, int] = SCREEN,
    arguments: tuple[str | Path, ...] = (),
) -> Iterator[Window]:
    """Start Blender in a window that fills the screen, and end it; fails on any traceback."""
    require("xdotool")
    port = folder / "port"
    geometry = ["--window-geometry", "0", "0", *map(str, size)]
    script = ["-P", INSIDE / "serve.py", "--", port, str(scale)]
    log = folder / "log.txt"
    with log.open("w") as printed:
        process = start(*geometry, *arguments, *script, DISPLAY=display, stdout=printed)
        try:
            until = time.monotonic() + START_S
            while not (port.exists() and port.read_text()):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            window = Window(display, int(port.read_text()), folder, process)
            yield window
            assert process.poll() is None, f"Blender ended by itself:\n{log.read_text()}"
        finally:
            process.kill()
            process.wait()
    assert "Traceback" not in log.read_text(), log.read_text()
