"""Whether there are real Blenders to test with: the one place where their absence is said."""

import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_blender


def test_real_blenders_are_named_and_start():
    named = [p for p in os.environ.get("LIMEN_BLENDERS", "").split(os.pathsep) if p]
    if not named:
        if os.environ.get("LIMEN_REQUIRE_ALL") == "1":
            pytest.fail("LIMEN_REQUIRE_ALL=1, but LIMEN_BLENDERS names no Blender to test with")
        pytest.skip(
            "the tests in a real Blender were NOT run: LIMEN_BLENDERS=/path/to/blender names none"
        )
    for executable in map(Path, named):
        done = subprocess.run([executable, "--version"], capture_output=True, text=True, check=True)
        found = re.match(r"Blender (\d+)\.(\d+)", done.stdout)
        assert found, f"{executable} --version: {done.stdout}"
        assert (4, 3) <= tuple(map(int, found.groups())) < (6, 0), executable
