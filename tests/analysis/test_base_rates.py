"""The lights are as dark as the published ones seem to be: how many persons can be seen in them.

``benchmarks/base_rates.py`` prints the whole table; this holds its rule on what tests render.
"""

import numpy as np
import pytest
from limen.addon.core.image_io import read_png
from limen.analysis.develop import run, table
from limen.analysis.discern.observer import probability_seen, visibility_level

pytestmark = pytest.mark.render


@pytest.fixture(scope="module")
def seen(ci_dataset, tmp_path_factory):
    """(band, distance) -> for each camera image, how likely the observer sees the person."""
    found: dict[tuple[str, float], list[float]] = {}
    _link(ci_dataset.root, root := tmp_path_factory.mktemp("rates") / "dataset")
    dataset = run.open_dataset(root)
    run.develop_dataset(root, variants=("camera",))
    for row in table.with_variants(dataset).values():
        if row["target_present"] and row["band"] != "day":
            image = read_png(root / row["media"]["camera"]["path"])
            mask = read_png(table.mask_of(dataset, row, "camera")) > 0
            chance = probability_seen(visibility_level(image, mask))
            found.setdefault((row["band"], row["distance_m"]), []).append(chance)
    return found


def _link(source, target):
    """A dataset of its own with the other's files, for a table of its own."""
    target.mkdir()
    for entry in source.iterdir():
        if entry.name == "media":
            (target / "media").mkdir()
            (target / "media" / "clean").symlink_to(entry / "clean")
        else:
            (target / entry.name).symlink_to(entry)


def test_in_the_evening_most_persons_are_seen(seen):
    chances = [
        chance for (band, _), of_band in seen.items() if band == "evening" for chance in of_band
    ]
    assert len(chances) == 4
    assert np.mean(chances) > 0.75


def test_at_night_persons_are_seen_less_with_distance_and_at_23_m_hardly(seen):
    near, far = (np.array(seen["night", distance]) for distance in (10.752, 23.04))
    assert near.mean() > far.mean()
    assert (far < 0.5).all()
