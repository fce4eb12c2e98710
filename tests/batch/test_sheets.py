"""Contact sheets: one picture for each scenery and lighting, its tiles in their places."""

import subprocess
import sys
from pathlib import Path

import pytest
from limen.addon.core.image_io import read_png

pytestmark = [pytest.mark.render, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


def test_a_sheet_has_a_row_for_each_distance_and_a_column_for_each_azimuth(tmp_path):
    command = [sys.executable, "-m", "limen.batch.sheets", "--scenery", "wharf"]
    command += ["--lighting", "noon_south", "--azimuths", "0,90,180", "--distances", "5.376,23.04"]
    command += ["--size", "64x36", "--samples", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    sheet = read_png(tmp_path / "wharf-noon_south.png")
    assert sheet.shape == (2 * 36 + 4, 3 * 64 + 2 * 4, 3)
    sky, ground = sheet[:6, :60].mean(axis=(0, 1)), sheet[30:36, :60].mean(axis=(0, 1))
    assert sky[2] > sky[0] + 20  # blue
    assert abs(ground[2] - ground[0]) < 20  # concrete
