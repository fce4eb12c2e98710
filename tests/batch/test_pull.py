"""Views for whichever process is free, and what is left of a run."""

from types import SimpleNamespace

import pytest
from limen.addon.core.dataset import PartWriter, init_dataset
from limen.batch.plan import Job
from limen.batch.pull import Pull, tidy


def job(number: int) -> Job:
    factors = {"scenery": "desert", "distance_m": number, "azimuth_deg": 0, "elevation_deg": 0}
    return Job(number, SimpleNamespace(view_id=f"v{number:012x}", factors=factors))


@pytest.fixture
def root(tmp_path):
    init_dataset(tmp_path, 'name = "x"\n')
    return tmp_path


def test_a_view_whose_row_is_lost_is_not_rendered_for_ever(root):
    pull = Pull(root, [job(1), job(2)], set)  # as if somebody deleted the dataset
    taken = []
    for each in pull:
        taken.append(each.number)
        pull.finished(each)
    assert sorted(taken) == [1, 2]
    assert len(pull.missing()) == 2


def test_what_other_processes_need_is_left_to_them(root):
    lock = root / "work" / "locks" / "x"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with PartWriter(root, "worker-0001"):
        tidy(root)
        assert lock.exists()
    tidy(root)
    assert not (root / "work").exists()
