"""The page that shows how an image is developed."""

import pytest
from limen.addon.core.dataset import open_dataset
from limen.analysis.develop import isp
from limen.analysis.develop.compression import Compression
from limen.analysis.develop.preview import STRIP_LX, build_preview
from limen.analysis.develop.settings import DevelopChoiceError
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
