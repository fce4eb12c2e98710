"""Only what is a PNG of a sensible size is decoded."""

import os
import struct
import zlib

import cv2
import numpy as np
import pytest
from limen.analysis.images import read_image


def png_header(width, height):
    """A PNG that promises a size and holds nothing."""

    def chunk(kind, data):
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    empty = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + empty + chunk(b"IEND", b"")


def test_what_was_written_is_read_in_colour_and_in_grey(tmp_path):
    image = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    cv2.imwrite(str(tmp_path / "x.png"), image)
    np.testing.assert_array_equal(read_image(tmp_path / "x.png"), image)
    assert read_image(tmp_path / "x.png", grey=True).shape == (4, 6)


@pytest.mark.parametrize("side", [20_000, 100_000, 2_000_000_000])
def test_a_header_that_promises_gigabytes_is_not_believed(tmp_path, side):
    (tmp_path / "bomb.png").write_bytes(png_header(side, side))
    assert read_image(tmp_path / "bomb.png") is None


def test_another_format_by_that_name_is_no_png(tmp_path):
    _, jpeg = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8))
    (tmp_path / "x.png").write_bytes(jpeg.tobytes())
    assert read_image(tmp_path / "x.png") is None


def test_a_pipe_a_directory_and_nothing_are_no_images(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for name in ("pipe.png", "", "none.png"):
        assert read_image(tmp_path / name) is None
