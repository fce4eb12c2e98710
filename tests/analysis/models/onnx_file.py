"""A writer of small ONNX files, for detectors whose output is ``mean of the input x W + B``.

ONNX is protocol buffers; the numbers are those of its fields (onnx.proto).
"""

import struct

import numpy as np

__all__ = ["write_detector"]

FLOAT, INT64 = 1, 7


def write_detector(path, outputs, *, size=(64, 64), names=None):
    """Write a network whose outputs are ``mean x W + B``.

    Args:
        path: The file.
        outputs: Name -> (W, B), arrays of the output's shape; an output of whole numbers has no W.
        size: Height and width of its input, None for any.
        names: The classes that its metadata names.
    """
    nodes = [_node("ReduceMean", ["images"], ["mean"], axes=[1, 2, 3], keepdims=0)]
    tensors = []
    for name, (weight, bias) in outputs.items():
        bias = np.asarray(bias)
        tensors.append(_tensor(f"{name}.b", bias))
        if weight is None:
            nodes.append(_node("Identity", [f"{name}.b"], [name]))
        else:
            tensors.append(_tensor(f"{name}.w", np.asarray(weight, np.float32)))
            nodes.append(_node("Mul", ["mean", f"{name}.w"], [f"{name}.m"]))
            nodes.append(_node("Add", [f"{name}.m", f"{name}.b"], [name]))
    shape = [1, 3, *(size or ("height", "width"))]
    graph = b"".join(_bytes(1, node) for node in nodes) + _bytes(2, b"g")
    graph += b"".join(_bytes(5, tensor) for tensor in tensors)
    graph += _bytes(11, _value("images", FLOAT, shape))
    for name, (weight, bias) in outputs.items():
        kind = INT64 if weight is None else FLOAT
        graph += _bytes(12, _value(name, kind, np.asarray(bias).shape))
    model = _int(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _int(2, 13))
    if names is not None:
        model += _bytes(14, _bytes(1, b"names") + _bytes(2, repr(names).encode()))
    path.write_bytes(model)
    return path


def _varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _int(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, value):
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _node(kind, inputs, outputs, **attributes):
    node = b"".join(_bytes(1, name.encode()) for name in inputs)
    node += b"".join(_bytes(2, name.encode()) for name in outputs)
    node += _bytes(4, kind.encode())
    for name, value in attributes.items():
        attribute = _bytes(1, name.encode())
        if isinstance(value, list):
            attribute += b"".join(_int(8, v) for v in value) + _int(20, 7)
        else:
            attribute += _int(3, value) + _int(20, 2)
        node += _bytes(5, attribute)
    return node


def _tensor(name, array):
    whole = array.dtype.kind == "i"
    values = array.astype(np.int64 if whole else np.float32)
    tensor = b"".join(_int(1, n) for n in values.shape) + _int(2, INT64 if whole else FLOAT)
    packed = struct.pack(f"<{values.size}{'q' if whole else 'f'}", *values.ravel().tolist())
    return tensor + _bytes(8, name.encode()) + _bytes(9, packed)


def _value(name, kind, shape):
    dims = b""
    for n in shape:
        dims += _bytes(1, _bytes(2, n.encode()) if isinstance(n, str) else _int(1, n))
    tensor = _int(1, kind) + _bytes(2, dims)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))
