"""Views rendered one after another in one Blender: what is done once, and what is refused."""

from types import SimpleNamespace

import bpy
import pytest
from limen.addon.core.dataset import done_views, init_dataset, open_dataset
from limen.addon.core.study import dump_study
from limen.addon.operators import render as operators
from limen.addon.operators import writing
from limen.addon.operators.estimate import estimate_cost
from limen.addon.operators.study import check_parts, open_study
from limen.addon.scene import compat, render, view

pytestmark = pytest.mark.render


@pytest.fixture(scope="module")
def one_background(small_study, tmp_path_factory):
    """The small study with its camera at one place: two views with a person, one without."""
    text = (
        small_study.read_text().replace("[0, 135, 270]", "[135]").replace("views = 3", "views = 2")
    )
    path = tmp_path_factory.mktemp("study") / "one_background.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def batch(blender, one_background, tmp_path_factory):
    """A batch of all its views; its dataset, and how often it did what costs time."""
    root = tmp_path_factory.mktemp("batch") / "dataset"
    study, specs = open_study(str(one_background))
    init_dataset(root, dump_study(study))
    bpy.ops.limen.open_study(filepath=str(one_background))
    calls = {"dump_study": 0, "meter": 0}

    def counted(name, function):
        def count(*arguments, **options):
            calls[name] += 1
            return function(*arguments, **options)

        return count

    with pytest.MonkeyPatch.context() as patch, writing(root, "test"):
        patch.setattr(operators, "dump_study", counted("dump_study", operators.dump_study))
        patch.setattr(view.photometry, "meter", counted("meter", view.photometry.meter))
        for number in range(1, len(specs) + 1):
            bpy.ops.limen.render_view(number=number, output=str(root))
    return SimpleNamespace(root=root, study=study, calls=calls)


def test_the_study_is_held_against_the_dataset_once(batch):
    assert len(done_views(batch.root)) == 3
    assert batch.calls["dump_study"] == 1


def test_a_background_is_metered_once_under_each_lighting(batch):
    rows = open_dataset(batch.root).index.values()
    assert len(rows) == 3
    assert len({row["exposure_s"] for row in rows}) == 1
    assert batch.calls["meter"] == len(batch.study.lightings) == 1


def test_a_study_that_was_opened_meanwhile_is_not_rendered_into_the_dataset(
    batch, small_study, one_background
):
    try:
        with writing(batch.root, "other"):
            bpy.ops.limen.open_study(filepath=str(small_study))
            with pytest.raises(RuntimeError, match="holds a dataset of another study"):
                bpy.ops.limen.render_view(number=1, output=str(batch.root))
    finally:
        bpy.ops.limen.open_study(filepath=str(one_background))


def test_a_denoiser_that_this_blender_lacks_is_missed_before_the_run(
    blender, one_background, tmp_path, monkeypatch
):
    path = tmp_path / "oidn.toml"
    path.write_text(one_background.read_text().replace('"none"', '"oidn"'))
    study, specs = open_study(str(path))
    check_parts(study, None)  # the bpy wheel has it
    monkeypatch.setattr(compat, "has_denoiser", lambda: False)
    with pytest.raises(
        render.RenderError, match=r'denoise is "oidn" and this Blender \d'
    ) as before:
        check_parts(study, None)
    with pytest.raises(render.RenderError) as priced:
        estimate_cost(study, specs, None)
    bpy.ops.limen.open_study(filepath=str(path))
    with pytest.raises(RuntimeError) as tried:
        bpy.ops.limen.render_view(number=1, output=str(tmp_path / "out"))
    assert str(priced.value) == str(before.value)
    assert str(before.value) in str(tried.value)
    assert not (tmp_path / "out").exists()
