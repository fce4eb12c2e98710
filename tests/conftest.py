"""What many tests share."""

import pytest
from limen.addon.core.dataset import Dataset
from limen.analysis.synthetic import make_synthetic


@pytest.fixture(scope="session")
def synthetic_dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The synthetic dataset: 15 views, 3 of them without a person, x 3 lightings. Read only."""
    return make_synthetic(tmp_path_factory.mktemp("synthetic") / "dataset")
