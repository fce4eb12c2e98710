"""Datasets and labels of the discernibility tests."""

import shutil
from pathlib import Path

import pytest
from limen.addon.core.dataset import Dataset, open_dataset
from limen.analysis.develop.run import develop_dataset
from limen.analysis.synthetic import make_synthetic


@pytest.fixture(scope="session")
def developed_dataset(once) -> Dataset:
    """The synthetic dataset with `camera` and `nv` in evening and night. Read only: copy it."""

    def make(root: Path) -> None:
        make_synthetic(root, views=12, window_px=96)
        develop_dataset(root, denoiser="none")

    return open_dataset(once("discern-developed", make))


@pytest.fixture
def developed(developed_dataset: Dataset, tmp_path: Path) -> Path:
    """A copy of the developed dataset to write to."""
    return Path(shutil.copytree(developed_dataset.root, tmp_path / "dataset"))
