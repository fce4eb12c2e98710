"""What JPEG and H.264 leave of an image."""

import sys

import numpy as np
import pytest
from limen.analysis.develop.compression import jpeg, video_key_frame


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    """Smooth colours with a little noise."""
    y, x = np.mgrid[0:64, 0:96]
    smooth = np.stack([x * 2.5, y * 3.5, 255 - x - y], axis=-1)
    noise = np.random.default_rng(0).normal(0, 4, smooth.shape)
    return np.clip(smooth + noise, 0, 255).astype(np.uint8)


def error(image: np.ndarray, other: np.ndarray) -> float:
    return float(np.sqrt(np.mean((image.astype(float) - other) ** 2)))


@pytest.mark.parametrize("compress", [lambda i, q: jpeg(i, 100 - 2 * q), video_key_frame])
def test_stronger_compression_is_further_from_the_image(image, compress):
    errors = [error(image, compress(image, strength)) for strength in (5, 25, 45)]
    assert errors == sorted(errors)
    assert errors[0] < 6


@pytest.mark.parametrize("compress", [lambda i: jpeg(i, 60), lambda i: video_key_frame(i, 30)])
def test_compression_gives_the_same_image_every_time(image, compress):
    once = compress(image)
    assert once.shape == image.shape and once.dtype == np.uint8
    assert (compress(image) == once).all()


@pytest.mark.parametrize("compress", [lambda i: jpeg(i, 90), lambda i: video_key_frame(i, 20)])
def test_compression_keeps_red_red(compress):
    red = np.zeros((32, 32, 3), np.uint8)
    red[..., 0] = 200
    assert compress(red).mean(axis=(0, 1)) == pytest.approx([200, 0, 0], abs=6)


def test_full_chroma_keeps_coloured_detail():
    stripes = np.zeros((32, 32, 3), np.uint8)
    stripes[:, ::2, 0] = 200
    stripes[:, 1::2, 2] = 200
    halved, full = (jpeg(stripes, 95, chroma=chroma) for chroma in ("4:2:0", "4:4:4"))
    assert error(stripes, full) < 10 < error(stripes, halved)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda i: jpeg(i, 0), "1 to 100"),
        (lambda i: jpeg(i[..., 0], 90), "uint8"),
        (lambda i: jpeg(i / 255, 90), "uint8"),
        (lambda i: video_key_frame(i, 52), "0 to 51"),
        (lambda i: video_key_frame(i[:63], 30), "even sides"),
    ],
)
def test_what_cannot_be_compressed_is_refused(image, call, says):
    with pytest.raises(ValueError, match=says):
        call(image)


def test_without_pyav_the_error_says_what_to_install(image, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ImportError, match=r"pip install 'limen\[video\]'"):
        video_key_frame(image, 30)
