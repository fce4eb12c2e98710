import os
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from limen.addon.core import image_io
from limen.addon.core.image_io import (
    ImageError,
    LayerImage,
    read_depth,
    read_layers,
    read_png,
    write_depth,
    write_layers,
    write_png,
)

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (40, 60, 3), np.uint8)
DEPTH = RNG.random((40, 60)).astype(np.float32) * 100


def layers():
    return {
        "sun-180-60": LayerImage(RNG.random((8, 10, 3)).astype(np.float16), (5, 6, 10, 8), 4.0),
        "alpha": LayerImage(np.ones((40, 60, 1), np.float32), (0, 0, 60, 40)),
    }


@pytest.mark.parametrize("image", [PICTURE, PICTURE[..., 0]], ids=["colour", "grey"])
def test_a_png_comes_back_as_it_was(tmp_path, image):
    write_png(tmp_path / "a.png", image)
    back = read_png(tmp_path / "a.png")
    assert back.dtype == np.uint8
    np.testing.assert_array_equal(back, image)


def test_depth_comes_back_as_it_was(tmp_path):
    write_depth(tmp_path / "a.exr", DEPTH)
    back = read_depth(tmp_path / "a.exr")
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, DEPTH)


def test_layers_come_back_by_name_with_box_scale_and_their_own_values(tmp_path):
    written = layers()
    write_layers(tmp_path / "a.exr", written, (60, 40))
    back = read_layers(tmp_path / "a.exr")
    assert list(back) == ["alpha", "sun-180-60"]
    for name, layer in written.items():
        assert (back[name].box, back[name].scale) == (layer.box, layer.scale)
        assert back[name].pixels.dtype == np.float32
        np.testing.assert_array_equal(back[name].pixels, layer.pixels)


@given(
    pixels=hnp.arrays(np.float32, (2, 3, 3), elements=st.floats(0, 1000, width=32)),
    scale=st.floats(0.01, 60),
)
def test_layers_keep_half_float_precision_at_any_scale(tmp_path_factory, pixels, scale):
    path = tmp_path_factory.mktemp("layers") / "a.exr"
    write_layers(path, {"dome-uniform": LayerImage(pixels, (0, 0, 3, 2), scale)}, (3, 2))
    back = read_layers(path)["dome-uniform"].pixels
    # Half float: 11 bits of mantissa, and steps of 2^-24 below 2^-14.
    np.testing.assert_allclose(back, pixels, rtol=2**-10, atol=2**-24 / scale)


def test_a_file_with_one_layer_is_read_like_any_other(tmp_path):
    write_layers(tmp_path / "a.exr", {"alpha": layers()["alpha"]}, (60, 40))
    assert list(read_layers(tmp_path / "a.exr")) == ["alpha"]


def test_other_programs_see_parts_channels_and_windows(tmp_path):
    import OpenImageIO as oiio

    write_layers(tmp_path / "a.exr", layers(), (60, 40))
    source = oiio.ImageInput.open(str(tmp_path / "a.exr"))
    seen = []
    while source.seek_subimage(len(seen), 0):
        spec = source.spec()
        seen.append(
            (
                spec.getattribute("oiio:subimagename"),
                tuple(spec.channelnames),
                (spec.x, spec.y, spec.width, spec.height),
                (spec.full_x, spec.full_y, spec.full_width, spec.full_height),
                str(spec.format),
                spec.getattribute("compression"),
                spec.getattribute("limen:scale"),
            )
        )
    source.close()
    assert seen == [
        ("alpha", ("A",), (0, 0, 60, 40), (0, 0, 60, 40), "half", "zip", 1.0),
        ("sun-180-60", ("R", "G", "B"), (5, 6, 10, 8), (0, 0, 60, 40), "half", "zip", 4.0),
    ]


def test_equal_images_are_equal_bytes_whenever_they_are_written(tmp_path):
    content = layers()

    def write(directory):
        write_png(directory / "a.png", PICTURE)
        write_depth(directory / "depth.exr", DEPTH)
        write_layers(directory / "layers.exr", content, (60, 40))
        write_layers(directory / "turned.exr", dict(reversed(content.items())), (60, 40))

    write(tmp_path / "now")
    time.sleep(1.1)  # file formats keep times in seconds
    write(tmp_path / "later")
    for file in (tmp_path / "now").iterdir():
        assert file.read_bytes() == (tmp_path / "later" / file.name).read_bytes(), file.name
    assert (tmp_path / "now/layers.exr").read_bytes() == (tmp_path / "now/turned.exr").read_bytes()


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (lambda path: write_png(path, PICTURE), read_png),
        (lambda path: write_depth(path, DEPTH), read_depth),
        (lambda path: write_layers(path, layers(), (60, 40)), read_layers),
    ],
    ids=["png", "depth", "layers"],
)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.7, 0.98])
def test_a_truncated_file_is_an_error_that_names_it(tmp_path, write, read, share):
    path = tmp_path / ("a.png" if read is read_png else "a.exr")
    write(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ImageError, match=path.name):
        read(path)


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ImageError, match=r"absent\.png is missing"):
        read_png(tmp_path / "absent.png")


def test_an_image_that_is_no_light_file_is_refused(tmp_path):
    write_depth(tmp_path / "depth.exr", DEPTH)
    with pytest.raises(ImageError, match="not a light file"):
        read_layers(tmp_path / "depth.exr")


def test_a_png_of_16_bits_is_refused_instead_of_rounded(tmp_path):
    import OpenImageIO as oiio

    output = oiio.ImageOutput.create(str(tmp_path / "a.png"))
    output.open(str(tmp_path / "a.png"), oiio.ImageSpec(4, 4, 1, "uint16"))
    output.write_image(np.full((4, 4, 1), 1000, np.uint16))
    output.close()
    with pytest.raises(ImageError, match="uint16"):
        read_png(tmp_path / "a.png")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_layers_with_values_that_are_not_finite_are_refused(tmp_path, value):
    bad = LayerImage(np.full((2, 2, 3), value, np.float32), (0, 0, 2, 2))
    with pytest.raises(ImageError, match=r"layer glow-90 .* not finite"):
        write_layers(tmp_path / "a.exr", {"glow-90": bad}, (2, 2))


def test_values_beyond_half_float_are_refused_and_the_largest_is_taken(tmp_path):
    def layer(value):
        return {"sun-0-15": LayerImage(np.full((1, 1, 3), value, np.float32), (0, 0, 1, 1), 2.0)}

    write_layers(tmp_path / "a.exr", layer(65504 / 2), (1, 1))
    with pytest.raises(ImageError, match="65504"):
        write_layers(tmp_path / "b.exr", layer(70000 / 2), (1, 1))


@pytest.mark.parametrize("box", [(-1, 0, 2, 2), (7, 0, 2, 2), (0, 7, 2, 2)])
def test_a_box_outside_the_image_is_refused(tmp_path, box):
    layer = LayerImage(np.zeros((2, 2, 3), np.float32), box)
    with pytest.raises(ImageError, match="leaves the image"):
        write_layers(tmp_path / "a.exr", {"dome-uniform": layer}, (8, 8))


def test_a_layer_of_another_size_than_its_box_is_refused(tmp_path):
    layer = LayerImage(np.zeros((2, 3, 3), np.float32), (0, 0, 2, 3))
    with pytest.raises(ImageError, match="its box is"):
        write_layers(tmp_path / "a.exr", {"dome-uniform": layer}, (8, 8))


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan])
def test_a_scale_that_is_not_positive_is_refused(tmp_path, scale):
    layer = LayerImage(np.zeros((1, 1, 1), np.float32), (0, 0, 1, 1), scale)
    with pytest.raises(ImageError, match="scale"):
        write_layers(tmp_path / "a.exr", {"alpha": layer}, (1, 1))


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.float32), np.zeros((4, 4, 4), np.uint8), np.zeros(4, np.uint8)]
)
def test_a_png_takes_only_8_bit_grey_or_colour(tmp_path, image):
    with pytest.raises(ImageError, match="uint8 of shape"):
        write_png(tmp_path / "a.png", image)


def test_depth_that_is_not_finite_is_refused(tmp_path):
    with pytest.raises(ImageError, match="1 not finite"):
        write_depth(tmp_path / "a.exr", np.array([[1, np.inf]], np.float32))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write_png(tmp_path / "a.png", PICTURE)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_png(tmp_path / "a.png", PICTURE // 2)
    monkeypatch.undo()
    np.testing.assert_array_equal(read_png(tmp_path / "a.png"), PICTURE)
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_without_openimageio_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    image_io._oiio.cache_clear()
    monkeypatch.setitem(sys.modules, "OpenImageIO", None)
    with pytest.raises(ImageError, match=r"python3-openimageio.*openimageio"):
        write_png(tmp_path / "a.png", PICTURE)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root mounts a disk")
def test_a_full_disk_is_told_as_one(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=True)
    try:
        noise = np.random.default_rng(1).random((200, 200, 3), np.float32)
        layer = LayerImage(noise, (0, 0, 200, 200))
        with pytest.raises((ImageError, OSError), match="No space left on device"):
            write_layers(disk / "light.exr", {"dome-uniform": layer}, (200, 200))
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)


@given(hnp.arrays(bool, (12, 17)), st.integers(0, 4))
def test_the_box_of_a_mask_is_the_least_that_holds_it_and_a_margin(mask, margin_px):
    box = image_io.box_of(mask, margin_px)
    if box is None:
        assert not mask.any()
        return
    x, y, width, height = box
    padded = np.pad(mask, margin_px)
    grown = np.zeros_like(mask)
    for down in range(2 * margin_px + 1):
        for right in range(2 * margin_px + 1):
            grown |= padded[down : down + 12, right : right + 17]
    part = grown[y : y + height, x : x + width]
    assert part.sum() == grown.sum()
    assert all(part.take(i, axis).any() for axis in (0, 1) for i in (0, -1))
