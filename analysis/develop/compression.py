"""What compression leaves of an 8-bit image: a JPEG, or the key frame of a video."""

from __future__ import annotations

import importlib.util
import io
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CODECS",
    "CodecMissingError",
    "Compression",
    "CompressionError",
    "jpeg",
    "require_codec",
    "video_key_frame",
]

Image = NDArray[np.uint8]

CODECS = {"jpeg": (1, 100), "h264": (0, 51)}
"""Codec -> its range of strengths: JPEG's quality, H.264's constant rate factor."""


class CompressionError(ValueError):
    """There is no such compression, or it cannot hold such an image."""


class CodecMissingError(ImportError):
    """The codec's package is not installed; the message says how to get it."""


@dataclass(frozen=True)
class Compression:
    """What an 8-bit image went through before anyone sees it.

    Attributes:
        codec: ``jpeg``, or ``h264`` for the key frame of a video.
        strength: JPEG quality, 1 to 100 (best), or x264's constant rate factor, 0 (best) to 51.

    Raises:
        CompressionError: There is no such codec, or it has no such strength.
    """

    codec: str
    strength: int

    def __post_init__(self) -> None:
        if self.codec not in CODECS:
            raise CompressionError(
                f"there is no codec {self.codec!r}; there are {', '.join(CODECS)}"
            )
        low, high = CODECS[self.codec]
        if not low <= self.strength <= high:
            raise CompressionError(
                f"{self.codec} of strength {self.strength}: {low} to {high} is allowed"
            )

    def apply(self, rgb: Image) -> Image:
        """Return an image (H, W, 3) after the round trip."""
        return (jpeg if self.codec == "jpeg" else video_key_frame)(rgb, self.strength)


def require_codec(compression: Compression | None, size_px: tuple[int, int]) -> None:
    """Check that images of a size can be compressed, before any is made.

    Raises:
        CodecMissingError: The codec's package is not installed.
        CompressionError: The codec takes no image of this size.
    """
    if compression is None or compression.codec != "h264":
        return
    if importlib.util.find_spec("av") is None:
        raise CodecMissingError(_NO_PYAV)
    if size_px[0] % 2 or size_px[1] % 2:
        raise CompressionError(_odd(*size_px))


_NO_PYAV = "video compression needs the package PyAV: pip install 'limen[video]'"


def _odd(width: int, height: int) -> str:
    return f"an image of {width}x{height} pixels is no video frame: even sides only"


def jpeg(rgb: Image, quality: int, *, chroma: Literal["4:2:0", "4:4:4"] = "4:2:0") -> Image:
    """Return an image (H, W, 3) after a round trip through JPEG.

    Args:
        rgb: 8-bit sRGB.
        quality: 1 to 100 on libjpeg's scale.
        chroma: Whether colour is kept at half resolution, as cameras do.

    Raises:
        CompressionError: The quality is out of its range, or the image is no such image.
    """
    if not 1 <= quality <= 100:
        raise CompressionError(f"JPEG quality is {quality}: 1 to 100 is allowed")
    _check(rgb)
    sampling = {
        "4:2:0": cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420,
        "4:4:4": cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
    }[chroma]
    settings = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling]
    _, encoded = cv2.imencode(".jpg", rgb[..., ::-1], settings)
    return np.ascontiguousarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR)[..., ::-1], np.uint8)


def video_key_frame(rgb: Image, crf: int) -> Image:
    """Return an image (H, W, 3) after a round trip as the key frame of an H.264 video.

    4:2:0 chroma; one thread, so that the result does not depend on the machine's cores.

    Args:
        rgb: 8-bit sRGB with even sides.
        crf: x264's constant rate factor, 0 (best) to 51.

    Raises:
        CompressionError: The rate factor is out of its range, or the image is no such image.
        CodecMissingError: PyAV is not installed.
    """
    if not 0 <= crf <= 51:
        raise CompressionError(f"constant rate factor is {crf}: 0 to 51 is allowed")
    _check(rgb)
    height, width = rgb.shape[:2]
    if height % 2 or width % 2:
        raise CompressionError(_odd(width, height))
    try:
        import av  # optional: 35 MB for one effect
    except ImportError as error:
        raise CodecMissingError(_NO_PYAV) from error
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": str(crf), "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(rgb, format="rgb24")))
        container.mux(stream.encode())
    file.seek(0)
    with av.open(file, "r") as video:
        frame = next(video.decode(video=0))
        return np.ascontiguousarray(frame.to_ndarray(format="rgb24"), np.uint8)


def _check(rgb: Image) -> None:
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3:
        raise CompressionError(
            f"cannot compress {rgb.dtype} of shape {rgb.shape}: an image is uint8 (H, W, 3)"
        )
