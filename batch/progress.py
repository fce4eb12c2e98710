"""Progress of a batch on stderr: one line that renews itself, or a line now and then in a log."""

import sys
import time
from dataclasses import dataclass, field

from ..addon.core.following import duration

__all__ = ["Progress", "duration"]

_LOG_INTERVAL_S = 10.0


@dataclass
class Progress:
    """Counts views and tells the time left from the speed so far."""

    views: int
    images_per_view: int
    started: float = field(default_factory=time.monotonic)
    done: int = 0
    _last_line: float = 0.0

    def view_done(self, label: str) -> None:
        """Count one view and show where the run stands."""
        self.done += 1
        now = time.monotonic()
        elapsed = now - self.started
        left = elapsed / self.done * (self.views - self.done)
        speed = self.done * self.images_per_view / elapsed * 60
        pace = f"{speed:.1f} images/min, {duration(left)} left"
        text = f"{self.done}/{self.views} views, {pace} ({label})"
        last = self.done == self.views
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}" + ("\n" if last else ""))
        elif last or now - self._last_line > _LOG_INTERVAL_S:
            self._last_line = now
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def message(self, text: str) -> None:
        """Write a line of its own."""
        sys.stderr.write(("\r\x1b[K" if sys.stderr.isatty() else "") + text + "\n")
        sys.stderr.flush()
