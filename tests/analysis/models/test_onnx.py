"""Detectors in ONNX files: every layout that is read, on networks that find persons in light."""

import numpy as np
import pytest
from limen.addon.core.dataset import read_table
from limen.analysis.evaluate import evaluate
from limen.analysis.models import ModelError, make_model
from onnx_file import write_detector

COCO = {0: "person", 1: "car"}


def yolo(score):
    """(1, 4 + 2, 9): one of nine candidates is a person, as sure as the picture is bright."""
    weight = np.zeros((1, 6, 9), np.float32)
    weight[0, 4, 1] = score
    return {"output0": (weight, np.zeros((1, 6, 9), np.float32))}


def yolo5(score):
    weight, bias = np.zeros((1, 9, 7), np.float32), np.zeros((1, 9, 7), np.float32)
    weight[0, 1, 4] = score
    bias[0, :, 5] = 1
    return {"output0": (weight, bias)}


def end2end(score):
    weight, bias = np.zeros((1, 3, 6), np.float32), np.zeros((1, 3, 6), np.float32)
    weight[0, 0, 4] = score
    bias[0, 1:] = [0, 0, 9, 9, 0.99, 1]  # surely a car
    return {"output0": (weight, bias)}


def detr(score):
    # A logit of 0 is a half; brightness 0.5 / score turns it.
    weight, bias = np.zeros((1, 4, 2), np.float32), np.full((1, 4, 2), -9, np.float32)
    weight[0, 2, 0], bias[0, 2, 0] = 40 * score, -20
    boxes = np.zeros((1, 4, 4), np.float32)
    return {"logits": (weight, bias), "pred_boxes": (boxes, boxes)}


def ssd(score):
    return {
        "boxes": (np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)),
        "labels": (None, np.array([1, 0])),
        "scores": (np.array([0, score], np.float32), np.array([0.99, 0], np.float32)),
    }


LAYOUTS = {"yolo": yolo, "yolo5": yolo5, "end2end": end2end, "detr": detr, "ssd": ssd}


def answers(dataset, spec):
    summary = evaluate(dataset, make_model(spec))
    return read_table(summary.directory / "predictions.jsonl")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_is_told_and_read(dataset, tmp_path, layout):
    path = write_detector(tmp_path / "net.onnx", LAYOUTS[layout](2.0), names=COCO)
    rows = answers(dataset, f"onnx:{path},threshold=0.3,label=net")
    said = {}
    for row in rows:
        band = dataset.index[row["id"]]["band"]
        said.setdefault(band, set()).add(row["prediction"])
        assert row["received"] == {"pixel_values": [1, 3, 64, 64]}
        assert row["prediction"] == int(row["score"] >= 0.3) == int(row["detections"] > 0)
    assert said["night"] == {0}
    assert said["day"] == {1}


def test_a_network_of_any_size_gets_every_pixel(dataset, tmp_path):
    path = write_detector(tmp_path / "net.onnx", yolo(2.0), size=None, names=COCO)
    assert answers(dataset, f"onnx:{path},label=net")[0]["received"]["pixel_values"] == [
        1,
        3,
        160,
        160,
    ]
    small = answers(dataset, f"onnx:{path},size=64,label=small")
    assert small[0]["received"]["pixel_values"] == [1, 3, 64, 64]


def test_another_class_is_no_person(dataset, tmp_path):
    path = write_detector(tmp_path / "net.onnx", yolo(2.0), names={0: "car", 1: "person"})
    assert {row["prediction"] for row in answers(dataset, f"onnx:{path},label=net")} == {0}


@pytest.mark.parametrize(
    ("outputs", "names", "settings", "message"),
    [
        (yolo(1), None, "", "does not say which of its classes is a person.*person=0"),
        (yolo(1), {0: "cat"}, "", "does not say which of its classes is a person"),
        (
            {"x": (np.zeros((1, 2)), np.zeros((1, 2)))},
            COCO,
            "",
            r"outputs x \[1, 2\], which fit no",
        ),
        (yolo(1), COCO, ",layout=yolov8", "layout is 'yolov8'"),
        (yolo(1), COCO, ",normalise=half", "normalise is 'half'"),
        (yolo(1), COCO, ",device=cuda", "device=cuda: this onnxruntime has"),
    ],
)
def test_a_network_that_cannot_be_read_is_refused(tmp_path, outputs, names, settings, message):
    path = write_detector(tmp_path / "net.onnx", outputs, names=names)
    with pytest.raises(ModelError, match=message):
        make_model(f"onnx:{path}{settings}")


def test_a_file_that_is_no_network_is_refused(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be run"):
        make_model(f"onnx:{tmp_path / 'bad.onnx'}")
    with pytest.raises(ModelError, match="no such file"):
        make_model(f"onnx:{tmp_path / 'none.onnx'}")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_network_that_says_nan_has_no_answer(dataset, tmp_path, layout):
    path = write_detector(tmp_path / "net.onnx", LAYOUTS[layout](np.nan))
    summary = evaluate(dataset, make_model(f"onnx:{path},person=0,layout={layout}"), limit=1)
    assert summary.outcomes == {"error": 3}
    rows = read_table(summary.directory / "predictions.jsonl")
    assert {row["error"] for row in rows} == {"its score is nan, which is no number"}


def test_outputs_that_are_not_of_the_layout_are_an_error_not_a_no(dataset, tmp_path):
    path = write_detector(tmp_path / "net.onnx", yolo(1), names=COCO)
    model = make_model(f"onnx:{path},person=7,label=net")
    (row,) = [
        row for row in read_table(evaluate(dataset, model, limit=1).directory / "predictions.jsonl")
    ][:1]
    assert (row["outcome"], row["prediction"]) == ("error", None)
    assert "are not of the layout yolo" in row["error"]
