"""The sidebar's preview as camera, without a window: the installed command makes the page."""

import os
import sys
from pathlib import Path

import bpy
import pytest
from limen.addon.core.dataset import open_dataset
from limen.addon.scene import stage
from limen.analysis.synthetic import make_synthetic

pytestmark = pytest.mark.render  # it needs the bpy wheel


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A dataset without Blender's rendering. Only the page is added to it."""
    folder = tmp_path_factory.mktemp("preview") / "dataset"
    return make_synthetic(folder, views=3, window_px=48).root


@pytest.fixture
def shown(blender, root, monkeypatch):
    """A person's view of the dataset, as the sidebar shows it at night; the command on the PATH."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    view_id = next(v for v, view in open_dataset(root).views.items() if view["target_present"])
    bpy.context.window.scene = stage.stage_scene()
    settings = bpy.context.scene.limen
    settings.is_open, settings.view_id, settings.cell.lighting = True, view_id, "night"
    yield settings
    settings.is_open, settings.view_id = False, ""


def test_the_page_of_the_shown_view_is_made(shown, root):
    assert bpy.ops.limen.preview_as_camera(dataset=str(root)) == {"FINISHED"}
    page = root / "develop" / f"{shown.view_id}-night.html"
    assert "nlm" in page.read_text()


def test_a_view_that_is_not_rendered_is_said_so(shown, root):
    shown.view_id = "v000000000000"
    with pytest.raises(RuntimeError, match=r"view v0{12} is not in .* under night: render it"):
        bpy.ops.limen.preview_as_camera(dataset=str(root))


def test_what_the_command_says_is_the_report(shown, root, monkeypatch, tmp_path):
    view = open_dataset(root).views[shown.view_id]
    crop = root / f"light/crops/{view['view_id']}.exr"
    crop.rename(tmp_path / "crop.exr")
    try:
        with pytest.raises(RuntimeError, match=rf"Error: .*{crop.name}"):
            bpy.ops.limen.preview_as_camera(dataset=str(root))
    finally:
        (tmp_path / "crop.exr").rename(crop)


def test_without_a_study_a_view_or_the_command_the_button_says_what_is_missing(
    shown, root, monkeypatch
):
    def reason() -> str:
        assert not bpy.ops.limen.preview_as_camera.poll()
        with pytest.raises(RuntimeError) as refused:
            bpy.ops.limen.preview_as_camera(dataset=str(root))
        return str(refused.value)

    monkeypatch.setenv("PATH", str(root))
    assert "'limen' was not found: install Limen with pip" in reason()
    shown.view_id = ""
    assert "Place the rig first" in reason()
    shown.is_open = False
    assert "Open a study or make a new one first" in reason()
