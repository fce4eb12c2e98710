"""A copy of the synthetic dataset to write runs into, and a server that misbehaves."""

import shutil
import threading

import pytest
from limen.addon.core.dataset import open_dataset
from misbehaving import Server


@pytest.fixture
def dataset(synthetic_dataset, tmp_path):
    root = tmp_path / "dataset"
    shutil.copytree(synthetic_dataset.root, root, ignore=shutil.ignore_patterns("light", "depth"))
    return open_dataset(root)


@pytest.fixture
def serve():
    """Start a server with a behaviour; it is stopped after the test."""
    servers = []

    def start(behave):
        server = Server(behave)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
