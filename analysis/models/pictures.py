"""Pictures as models want them: decoded, or as what is sent to a server."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import Any

from . import AnswerError

__all__ = ["Picture", "data_uri", "pixel_size", "read_rgb"]


def read_rgb(data: bytes) -> Any:
    """The picture in an image's bytes: PIL, RGB.

    Raises:
        AnswerError: It is damaged.
    """
    from PIL import Image

    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise AnswerError(f"the image is damaged: {error}") from None


def pixel_size(data: bytes) -> tuple[int, int]:
    """(width, height) of a picture, from its header.

    Raises:
        AnswerError: It is none.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            return int(width), int(height)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise AnswerError(f"the image is damaged: {error}") from None


@dataclass(frozen=True)
class Picture:
    """What is sent of a picture."""

    uri: str
    size: tuple[int, int]
    format: str


def data_uri(data: bytes, squash: int, jpeg_quality: int) -> Picture:
    """What is sent of a picture: its own bytes, or a smaller or lossy copy where that is asked for.

    Raises:
        AnswerError: It is damaged.
    """
    size = pixel_size(data)
    kind = "png" if data[:4] == b"\x89PNG" else "jpeg"
    if squash or jpeg_quality:
        image = read_rgb(data)
        if squash:
            image = image.resize((squash, squash))
            size = (squash, squash)
        kind = "jpeg" if jpeg_quality else "png"
        file = io.BytesIO()
        image.save(file, kind.upper(), **({"quality": jpeg_quality} if jpeg_quality else {}))
        data = file.getvalue()
    return Picture(f"data:image/{kind};base64,{base64.b64encode(data).decode()}", size, kind)
