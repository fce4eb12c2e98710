"""Undo and redo through all that the sidebar does, in a real Blender."""

import json

import pytest

pytestmark = [pytest.mark.real_blender, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def undone(installed, tmp_path_factory) -> dict:
    out = tmp_path_factory.mktemp("undo") / "report.json"
    printed = installed.run_script("undo.py", out)
    assert "Traceback" not in printed, printed
    return json.loads(out.read_text())


def test_undo_goes_back_through_every_step(undone):
    assert undone["back"] == undone["seen"][-2::-1]


def test_redo_brings_every_step_back(undone):
    assert undone["again"] == undone["seen"][1:]


def test_the_steps_changed_something(undone):
    assert len(set(undone["seen"])) > 6
