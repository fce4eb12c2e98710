"""The page that shows how an image is developed."""

import shutil

import pytest
from limen.addon.core.dataset import DatasetError, open_dataset
from limen.analysis.develop import isp
from limen.analysis.develop.compression import Compression
from limen.analysis.develop.preview import STRIP_LX, build_preview
from limen.analysis.develop.settings import DevelopChoiceError, DevelopError
from limen.analysis.synthetic import make_synthetic


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """8 views of 48 x 48 pixels. Read only."""
    return make_synthetic(tmp_path_factory.mktemp("small") / "dataset", views=6, window_px=48).root


@pytest.fixture(scope="module")
def media_id(small):
    return next(i for i in open_dataset(small).index if i.endswith("-night"))


def test_the_preview_shows_every_stage_and_five_illuminances_without_a_network(
    small, media_id, tmp_path
):
    build_preview(small, media_id, tmp_path / "page.html", denoiser="nlm")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<img") == 3 + len(isp.STAGES) + 2 * len(STRIP_LX)
    assert page.count('src="data:image/png;base64,') == page.count("<img")
    assert "http" not in page.replace("http://www.w3.org", "")
    with pytest.raises(DevelopChoiceError, match="no media item 'nothing'"):
        build_preview(small, "nothing", tmp_path / "page.html")


def test_the_preview_shows_what_lens_motion_and_compression_do(small, media_id, tmp_path):
    out = tmp_path / "page.html"
    options = {"lens": "barrel-wide", "motion_px_s": (100.0, 0.0)}
    build_preview(
        small, media_id, out, denoiser="none", compression=Compression("jpeg", 20), **options
    )
    page = out.read_text()
    for said in ("barrel-wide", "4.0 px while the shutter is open", "JPEG, quality 20"):
        assert said in page
    assert page.count("<img") == 5 + len(isp.STAGES) + 2 * len(STRIP_LX)


def test_an_item_that_is_not_there_is_refused_with_some_that_are(small, media_id, tmp_path):
    with pytest.raises(DevelopChoiceError, match="no media item 'night'; it has v"):
        build_preview(small, "night", tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("table", "old", "new", "said"),
    [
        ("index", '"lighting":"', '"lighting":"no_', "study.toml has no lighting no_"),
        ("views", '"camera"', '"kamera"', "row that breaks the contract"),
    ],
)
def test_a_row_that_cannot_be_shown_is_an_error_in_words(
    small, media_id, tmp_path, table, old, new, said
):
    root = shutil.copytree(small, tmp_path / "dataset")
    for part in (root / table).glob("*.jsonl"):
        part.write_text(part.read_text().replace(old, new))
    with pytest.raises((DatasetError, DevelopError), match=said):
        build_preview(root, media_id, tmp_path / "page.html", denoiser="none")
