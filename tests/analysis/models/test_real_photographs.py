"""Photographs that somebody took: Debian's opencv-doc has some."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from limen.addon.core.dataset import open_dataset, read_table
from limen.analysis.check import check_dataset
from limen.analysis.evaluate import evaluate
from limen.analysis.models import make_model
from limen.analysis.photographs import Defaults, import_photographs
from onnx_file import write_detector

SAMPLES = Path(os.environ.get("LIMEN_PHOTOGRAPHS", "/usr/share/doc/opencv-doc/examples/data"))
PEOPLE = ("basketball1.png", "basketball2.png")
NOBODY = ("fruits.jpg", "building.jpg", "home.jpg")


@pytest.fixture
def photographs(tmp_path):
    missing = [name for name in (*PEOPLE, *NOBODY) if not (SAMPLES / name).is_file()]
    if missing:
        pytest.skip(f"{SAMPLES / missing[0]} is not there (apt-get install opencv-doc)")
    for folder, names in (("person", PEOPLE), ("empty", NOBODY)):
        (tmp_path / "photos" / folder).mkdir(parents=True)
        for name in names:
            shutil.copy(SAMPLES / name, tmp_path / "photos" / folder)
    import_photographs(
        "folder", tmp_path / "photos", tmp_path / "out", defaults=Defaults(band="day")
    )
    return open_dataset(tmp_path / "out")


@pytest.mark.slow
def test_real_photographs_are_imported_and_asked_about(photographs, tmp_path):
    found = [p for check in check_dataset(photographs.root) for p in check.problems]
    assert found == []
    rows = read_table(evaluate(photographs, make_model("hog")).directory / "predictions.jsonl")
    right = [r["prediction"] == int(photographs.index[r["id"]]["target_present"]) for r in rows]
    assert right == [True] * 5  # the players stand upright and large: what it was trained on
    weight = np.zeros((1, 6, 9), np.float32)
    weight[0, 4] = 2
    path = write_detector(
        tmp_path / "net.onnx", {"output0": (weight, np.zeros_like(weight))}, names={0: "person"}
    )
    summary = evaluate(photographs, make_model(f"onnx:{path},label=net"))
    assert summary.outcomes == {"ok": 5}
