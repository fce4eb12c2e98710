"""Label Studio's JSON, both ways: tasks with annotations, and what its export says.

A task is one image in one variant; ``data`` names it (``limen_id``, ``limen_variant``), so that
what Label Studio exports finds its way back. The labeling interface that reads these tasks::

    <View>
      <Image name="image" value="$image"/>
      <Choices name="presence" toName="image" choice="single-radio">
        <Choice value="visible"/><Choice value="not_visible"/><Choice value="unsure"/>
      </Choices>
    </View>

with ``<TextArea name="action" toName="image"/>`` (or ``clip``) and a ``<Choices
name="action_choice">`` of ``not_visible`` and ``unsure`` beside it, and ``<Rating name="rating"
toName="image" maxRating="5"/>``, for the other tasks. Format: labelstud.io/guide/task_format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from .answers import AnswerRecord
from .tasks import TASKS, UNSURE

__all__ = ["from_export", "to_tasks"]

LOCAL_FILES = "/data/local-files/?d="
"""What Label Studio's local storage puts before a path below its document root."""

Row = dict[str, Any]


def to_tasks(answers: Sequence[AnswerRecord], rows: Mapping[str, Row]) -> str:
    """Return Label Studio's JSON: a task per image, an annotation per answer.

    Args:
        answers: Of any rounds; rounds of different tasks give different Label Studio tasks.
        rows: Index rows with their developed images (``with_variants``).
    """
    tasks: dict[tuple[str, str, str], Row] = {}
    for number, answer in enumerate(answers, 1):
        key = answer.round, answer.id, answer.variant
        if key not in tasks:
            path = rows[answer.id]["media"][answer.variant]["path"]
            tasks[key] = {
                "id": len(tasks) + 1,
                "data": {
                    "image": LOCAL_FILES + path,
                    "limen_id": answer.id,
                    "limen_variant": answer.variant,
                    "limen_round": answer.round,
                },
                "annotations": [],
            }
        tasks[key]["annotations"].append(_annotation(number, answer))
    return json.dumps(list(tasks.values()), indent=1, ensure_ascii=False)


def _annotation(number: int, answer: AnswerRecord) -> Row:
    task = TASKS[answer.task]
    value: Row
    if answer.value == task.text:
        kind, name, value = "textarea", task.name, {"text": [answer.text]}
    elif task.level == "ordinal" and answer.value != UNSURE:
        kind, name, value = "rating", task.name, {"rating": int(answer.value)}
    else:
        name = task.name if task.name == "presence" else f"{task.name}_choice"
        kind, value = "choices", {"choices": [answer.value]}
    return {
        "id": number,
        "completed_by": {"email": answer.annotator},
        "was_cancelled": False,
        "lead_time": None if answer.response_ms is None else answer.response_ms / 1000,
        "created_at": answer.answered_at,
        "result": [
            {
                "id": f"limen{number}",
                "from_name": name,
                "to_name": "image",
                "type": kind,
                "value": value,
            }
        ],
        "meta": {
            "by": answer.by,
            "showing": answer.showing,
            "position": answer.position,
            "confidence": answer.confidence,
        },
    }


def from_export(text: str) -> list[Row]:
    """Read answers from what Label Studio exports ("JSON", not "JSON-MIN").

    Skipped annotations are left out. An annotator is named by their e-mail, or ``ls-NUMBER``.

    Raises:
        ValueError: It is not such an export; the message says where.
    """
    tasks = json.loads(text)
    if not isinstance(tasks, list):
        raise ValueError("Label Studio's export is a list of tasks")
    rows = []
    for number, task in enumerate(tasks, 1):
        try:
            annotations = task["annotations"]
            media_id, variant = _item(task["data"])
            for annotation in annotations:
                if not annotation.get("was_cancelled"):
                    row = _answer(annotation)
                    row |= {"id": media_id, "variant": variant}
                    row["round"] = task["data"].get("limen_round")
                    rows.append(row)
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            raise ValueError(
                f"task {number} is not as Label Studio exports it (JSON with annotations): "
                f"{type(error).__name__} {error}"
            ) from error
    return rows


def _item(data: Mapping[str, Any]) -> tuple[str, str]:
    """Read which image a task is about: by name, or off its path ``media/VARIANT/ID.png``."""
    if "limen_id" in data:
        return str(data["limen_id"]), str(data["limen_variant"])
    path = PurePosixPath(str(data["image"]).rpartition("=")[2])
    return path.stem, path.parent.name


def _answer(annotation: Mapping[str, Any]) -> Row:
    who = annotation["completed_by"]
    name = (who.get("email") or f"ls-{who['id']}") if isinstance(who, Mapping) else f"ls-{who}"
    meta = annotation.get("meta") or {}
    seconds = annotation.get("lead_time")
    row: Row = {
        "annotator": name,
        "by": meta.get("by"),
        "showing": meta.get("showing"),
        "position": meta.get("position"),
        "confidence": meta.get("confidence"),
        "response_ms": None if seconds is None else 1000 * float(seconds),
        "answered_at": annotation.get("created_at"),
    }
    regions = list(_known(annotation["result"]))
    if len(regions) != 1:
        raise ValueError(
            f"an annotation holds {len(regions)} answers to presence, action, clip or rating; "
            "it has to hold one"
        )
    return row | regions[0]


def _known(result: Iterable[Mapping[str, Any]]) -> Iterable[Row]:
    """The answers among an annotation's regions; others, as boxes, are passed over."""
    for region in result:
        task, value = str(region["from_name"]).removesuffix("_choice"), region["value"]
        if task not in TASKS:
            continue
        if region["type"] == "choices":
            yield {"task": task, "value": value["choices"][0]}
        elif region["type"] == "textarea":
            yield {"task": task, "value": TASKS[task].text, "text": " ".join(value["text"])}
        elif region["type"] == "rating":
            yield {"task": task, "value": str(value["rating"])}
