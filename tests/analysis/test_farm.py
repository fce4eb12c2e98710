"""Developing on a Ray cluster: the same bytes as here, and a lost node loses nothing but time."""

import hashlib
import shutil
import threading
from pathlib import Path

import pytest
from limen.addon.core.dataset import open_dataset
from limen.analysis.develop import farm, run, table
from limen.analysis.synthetic import make_synthetic

OPTIONS = {"denoiser": "nlm", "bands": ("evening", "night")}


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """Two equal datasets of 15 views, the first one developed here."""
    folder = tmp_path_factory.mktemp("farm")
    first = make_synthetic(folder / "here", window_px=64).root
    shutil.copytree(first, folder / "cluster")
    run.develop_dataset(first, **OPTIONS)
    return first, folder / "cluster"


def images_of(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (root / "media").glob("*/*.png")
    }


@pytest.mark.slow  # starts three Ray nodes: half a minute on a free machine
def test_a_cluster_that_loses_a_node_makes_the_same_images_and_rows(roots, monkeypatch):
    here, root = roots
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        node = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        lost = threading.Event()

        def lose_a_node(done: int, total: int) -> None:
            if done >= 6 and not lost.is_set():
                cluster.remove_node(node, allow_graceful=False)
                lost.set()

        summary = run.develop_dataset(
            root, engine="ray", address=cluster.address, progress=lose_a_node, **OPTIONS
        )
        assert lost.is_set()
        assert summary.failed == ()
        assert summary.made == 2 * sum(
            row["band"] != "day" for row in open_dataset(root).index.values()
        )
        assert not ray.is_initialized()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert table.read_develop(root) == table.read_develop(here)
    assert images_of(root) == images_of(here)
    # One writer: a line for each image, none twice.
    lines = (root / "develop" / "000.jsonl").read_text().splitlines()
    assert len(lines) == summary.made
    assert [path.name for path in (root / "develop").glob("*.jsonl")] == ["000.jsonl"]


@pytest.mark.slow  # starts Ray
def test_without_an_address_a_cluster_is_started_and_ended(roots, tmp_path):
    here, _ = roots
    root = tmp_path / "dataset"
    shutil.copytree(here, root)
    table.drop_rows(root, lambda row: row["variant"] == "nv")
    assert run.develop_dataset(root, engine="ray", workers=2, **OPTIONS).made > 0
    import ray

    assert not ray.is_initialized()
    assert table.read_develop(root) == table.read_develop(here)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_one_clear_error_at_once(roots, address):
    with pytest.raises(run.DevelopError, match=r"cannot use .* at .*127\.0\.0\.1:1: Conn"):
        run.develop_dataset(roots[0], engine="ray", address=address, redo=True, **OPTIONS)
    assert table.read_develop(roots[0])  # nothing was forgotten for it


@pytest.mark.parametrize("address", ["nowhere", "host:port", ""])
def test_what_is_no_address_is_refused(roots, address):
    with pytest.raises(run.DevelopChoiceError, match=r"is no address of a Ray cluster: HOST:PORT"):
        run.develop_dataset(roots[1], engine="ray", address=address, redo=True, **OPTIONS)


def test_an_image_that_a_node_wrote_elsewhere_is_an_error_that_asks_for_a_shared_folder(roots):
    here, _ = roots
    row = next(iter(table.read_develop(here).values()))
    farm._check_seen(here, [row], "far")
    with pytest.raises(run.DevelopError, match=r"node far wrote media/.* all nodes share"):
        farm._check_seen(here.parent, [row], "far")


def test_engines_and_addresses_that_do_not_fit_are_refused(roots):
    with pytest.raises(run.DevelopChoiceError, match="no engine 'slurm'; there are local, ray"):
        run.develop_dataset(roots[0], engine="slurm")
    with pytest.raises(run.DevelopChoiceError, match="engine local has no address"):
        run.develop_dataset(roots[0], address="127.0.0.1:6379")
