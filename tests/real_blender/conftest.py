"""The real Blenders of LIMEN_BLENDERS, each with a user directory of its own for the session."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from workers import BLENDERS

ROOT = Path(__file__).parents[2]
INSIDE = Path(__file__).parent / "inside"

# Without a Blender only test_available.py is collected: it says so once, or fails.
_WITH_BLENDER = sorted(p.name for p in Path(__file__).parent.glob("test_*.py"))
_WITH_BLENDER.remove("test_available.py")
collect_ignore = [] if BLENDERS else _WITH_BLENDER


@dataclass(frozen=True)
class RealBlender:
    """An executable and the directory that stands for its user's home."""

    executable: Path
    home: Path

    def environment(self) -> dict[str, str]:
        own = {"HOME": str(self.home), "BLENDER_USER_RESOURCES": str(self.home / "blender")}
        return {k: v for k, v in os.environ.items() if not k.startswith("BLENDER_")} | own

    def start(
        self, *arguments: str | Path, stdout: int | IO[str] = subprocess.PIPE, **environment: str
    ) -> subprocess.Popen:
        """Start it and return the process; its two outputs come as one."""
        return subprocess.Popen(
            [self.executable, *arguments],
            cwd=ROOT,
            env=self.environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str | Path, status: int | None = 0, timeout_s: float = 300) -> str:
        """Run it to its end and return what it printed; fails on another exit status."""
        process = self.start(*arguments)
        try:
            printed, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"{arguments} ran over {timeout_s} s:\n{process.communicate()[0]}")
        if status is not None:
            assert process.returncode == status, f"{arguments}\n{printed}"
        return printed

    def run_script(self, name: str, *arguments: str | Path, options: tuple[str, ...] = ()) -> str:
        """Run a script of inside/ in the background and fail if it raises."""
        return self.run(
            "-b", *options, "--python-exit-code", "3", "-P", INSIDE / name, "--", *arguments
        )


@pytest.fixture(scope="session", params=BLENDERS, ids=lambda p: p.name)
def blender(request, tmp_path_factory) -> RealBlender:
    return RealBlender(request.param, tmp_path_factory.mktemp(request.param.name))


@pytest.fixture(scope="session")
def archive(tmp_path_factory) -> Path:
    """The extension as `make extension` builds it."""
    out = tmp_path_factory.mktemp("archive")
    subprocess.run([sys.executable, ROOT / ".ci/build_extension.py", out], check=True)
    (built,) = out.glob("*.zip")
    return built


@pytest.fixture(scope="session")
def installed(blender, archive) -> RealBlender:
    """The Blender with the extension installed and enabled, by its own command line."""
    blender.run("--command", "extension", "install-file", "-r", "user_default", "--enable", archive)
    return blender
