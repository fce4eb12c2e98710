"""What a batch says on stderr while it runs."""

import io
import sys

import pytest
from limen.batch import progress
from limen.batch.progress import Progress, duration

START = 1000.0


@pytest.fixture
def clock(monkeypatch):
    """A clock that only goes when told."""
    now = [START]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (700, "12 min"), (5340, "89 min"),
     (5400, "1 h 30 min"), (12_000, "3 h 20 min"), (90_000, "25 h 00 min")],
)  # fmt: skip
def test_a_duration_has_the_unit_that_people_would_use(seconds, text):
    assert duration(seconds) == text


def test_a_line_tells_count_speed_and_the_time_left(clock, capsys):
    shown = Progress(views=10, images_per_view=13, started=START)
    clock(60)
    shown.view_done("walking, desert, 10.752 m")
    assert capsys.readouterr().err == (
        "1/10 views, 13.0 images/min, 9 min left (walking, desert, 10.752 m)\n"
    )


def test_in_a_log_a_line_comes_every_ten_seconds_and_at_the_end(clock, capsys):
    shown = Progress(views=30, images_per_view=1, started=START)
    for _ in range(30):
        clock(1)
        shown.view_done("view")
    told = [int(line.partition("/")[0]) for line in capsys.readouterr().err.splitlines()]
    assert told == [1, 12, 23, 30]


def test_on_a_terminal_the_line_renews_itself_and_ends_with_the_last(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    shown = Progress(views=2, images_per_view=1, started=START)
    for _ in range(2):
        clock(1)
        shown.view_done("view")
    first, second = sys.stderr.getvalue().split("\r\x1b[K")[1:]
    assert first.startswith("1/2") and "\n" not in first
    assert second.startswith("2/2") and second.endswith("\n")


def test_a_message_replaces_the_line_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    Progress(views=2, images_per_view=1).message("view v1 failed: no disk")
    assert sys.stderr.getvalue() == "\r\x1b[Kview v1 failed: no disk\n"
