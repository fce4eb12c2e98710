"""Let the simulated observer answer: labels ``by`` "simulated", for a sample or a whole dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...addon.core.dataset import Dataset, exclusive, open_dataset
from ..contract import rows_blamed
from ..develop.table import mask_of
from ..images import read_image
from ..workers import in_processes
from .observer import Observer, ObserverError, Viewing, answer, probability_seen, visibility_level
from .sampling import read_sample
from .table import Key, Row, append_labels, read_labels, replace_labels, shown_media

__all__ = ["ObserveSummary", "observe", "observe_server", "probabilities"]

_CHUNK = 32


@dataclass(frozen=True)
class ObserveSummary:
    """What a call of :func:`observe` did.

    Attributes:
        made: Images that the observer answered about now.
        there: Images that it had answered about.
        seen: Of all these, the ones that it called visible.
        false_alarms: Of the images with nobody in them, the ones that it called visible.
        catch: Images with nobody in them.
    """

    made: int
    there: int
    seen: int
    false_alarms: int
    catch: int


def observe(
    root: Path,
    sample: str | None = "main",
    *,
    viewing: Viewing | None = None,
    observer: Observer | None = None,
    repeats: int = 1,
    seed: int = 0,
    workers: int = 1,
    redo: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ObserveSummary:
    """Have the simulated observer label images, and write that to the labels table.

    Goes on where it was stopped.

    Args:
        root: The dataset.
        sample: Which images; None for every one.
        viewing: How they are looked at.
        observer: How it decides.
        repeats: How often each is shown; the label is what most answers say, None where they tie.
        seed: Another one is another observer of the same kind.
        workers: Processes.
        redo: Forget what it answered before.
        progress: Told (images done, images in all) at the start and as they come.

    Raises:
        ObserverError: There are labels of an observer with other settings, or a value is
            impossible.
        SamplingChoiceError: There is no such sample.
        LabelsError: Images were not developed.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
    """
    viewing, observer = viewing or Viewing(), observer or Observer()
    if repeats < 1:
        raise ObserverError(f"{repeats} repeats: an image is shown once or more often")
    dataset = open_dataset(root)
    about = {
        "viewing": asdict(viewing),
        "observer": asdict(observer),
        "seed": seed,
        "answers": repeats,
    }
    with exclusive(dataset.root / "labels" / "simulated.lock"), rows_blamed(dataset):
        shown = shown_media(dataset)
        keys = set(shown)
        if sample is not None:
            keys = {(row["id"], row["variant"]) for row in read_sample(dataset.root, sample)}
            if gone := keys - shown.keys():
                raise ObserverError(f"sample '{sample}' shows {min(gone)}, which is not there")
        if redo:
            replace_labels(dataset.root, "simulated", [])
        done = _done(dataset.root, about)
        todo = {key: shown[key] for key in sorted(keys - done.keys())}
        answered = len(keys & done.keys())
        if progress is not None:
            progress(answered, len(keys))
        made = 0
        for chunk in _levels(dataset, todo, viewing, observer, workers):
            rows = [
                _label(key, todo[key], probability_seen(level, observer), about)
                for key, level in chunk.items()
            ]
            append_labels(dataset.root, rows)
            done |= {(row["id"], row["variant"]): row for row in rows}
            made += len(rows)
            if progress is not None:
                progress(answered + made, len(keys))
    rows = [done[key] for key in keys]
    return ObserveSummary(
        made,
        answered,
        sum(row["human_discernable"] == 1 for row in rows),
        sum(row["catch"] and row["answer"] == 1 for row in rows),
        sum(row["catch"] for row in rows),
    )


def observe_server(
    root: Path,
    url: str,
    *,
    name: str = "simulated observer",
    password: str | None = None,
    viewing: Viewing | None = None,
    observer: Observer | None = None,
    seed: int = 0,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Answer the trials of a running ``limen annotate``, signed in as simulated.

    Args:
        root: The dataset that is annotated.
        url: The server's address.
        name: The annotator's, which says what it is.
        password: What the server asks for.
        viewing: How images are looked at.
        observer: How it decides.
        seed: Of its answers.
        limit: At most so many trials.
        progress: Told (trials answered, trials in all).

    Returns:
        How many trials were answered.

    Raises:
        AnnotateChoiceError: The name or the password was refused.
        AnnotateError: The server cannot be reached.
        ObserverError: An image or its mask is missing.
    """
    from ..annotate.client import observe as answer_all

    dataset = open_dataset(root)
    shown = shown_media(dataset)
    known: dict[Key, float] = {}

    def probability(media_id: str, variant: str) -> float:
        key = media_id, variant
        if key not in known:
            if key not in shown:
                raise ObserverError(f"the server shows {media_id} ({variant}), which is not there")
            known.update(_probabilities(dataset, {key: shown[key]}, viewing, observer))
        return known[key]

    return answer_all(
        url, name, probability, seed=seed, password=password, limit=limit, progress=progress
    )


def probabilities(
    dataset: Dataset,
    keys: Iterable[Key],
    viewing: Viewing | None = None,
    observer: Observer | None = None,
) -> dict[Key, float]:
    """The observer's probability of "visible" for images: (id, variant) -> 0..1.

    Raises:
        ObserverError: An image or its mask is missing.
    """
    shown = shown_media(dataset)
    return _probabilities(dataset, {key: shown[key] for key in keys}, viewing, observer)


def _probabilities(
    dataset: Dataset, todo: Mapping[Key, Row], viewing: Viewing | None, observer: Observer | None
) -> dict[Key, float]:
    viewing, observer = viewing or Viewing(), observer or Observer()
    found: dict[Key, float] = {}
    for chunk in _levels(dataset, todo, viewing, observer, 1):
        found |= {key: probability_seen(level, observer) for key, level in chunk.items()}
    return found


def _done(root: Path, about: Mapping[str, Any]) -> dict[Key, Row]:
    found = {
        key: row for key, row in read_labels(root, "simulated").items() if row["by"] == "simulated"
    }
    for row in found.values():
        for name, value in about.items():
            if row.get(name) != value:
                raise ObserverError(
                    f"{root}/labels/simulated.jsonl is of an observer with other settings: {name} "
                    f"{json.dumps(row.get(name))}, now {json.dumps(value)}. --redo asks it anew"
                )
    return found


def _label(key: Key, row: Row, probability: float, about: Mapping[str, Any]) -> Row:
    yes = sum(answer(probability, key, n, about["seed"]) for n in range(about["answers"]))
    said = None if 2 * yes == about["answers"] else int(2 * yes > about["answers"])
    present = bool(row["target_present"])
    return {
        "id": key[0],
        "variant": key[1],
        # Where nobody is, nobody can be seen, whatever was answered.
        "human_discernable": said if present else 0,
        "probability": yes / about["answers"] if present else 0.0,
        "by": "simulated",
        "answer": said,
        "catch": not present,
        **about,
    }


@dataclass(frozen=True)
class _Look:
    key: Key
    image: Path
    mask: Path | None


@dataclass(frozen=True)
class _Job:
    looks: tuple[_Look, ...]
    viewing: Viewing
    clutter_weight: float


def _levels(
    dataset: Dataset, todo: Mapping[Key, Row], viewing: Viewing, observer: Observer, workers: int
) -> Iterable[dict[Key, float]]:
    looks = []
    for key, row in todo.items():
        mask = mask_of(dataset, row, key[1]) if row["target_present"] else None
        if mask is None and row["target_present"]:
            # Without a mask nothing is known of the person, which is not to be invisible.
            raise ObserverError(
                f"{key[0]} shows a person and has no mask, through which the observer looks: "
                "let people answer (limen annotate), or give masks"
            )
        looks.append(_Look(key, dataset.root / row["media"][key[1]]["path"], mask))
    jobs = [
        _Job(tuple(looks[at : at + _CHUNK]), viewing, observer.clutter_weight)
        for at in range(0, len(looks), _CHUNK)
    ]
    with closing(in_processes(_look_at, jobs, min(workers, len(jobs)))) as results:
        yield from results


def _look_at(job: _Job) -> dict[Key, float]:
    levels = {}
    for look in job.looks:
        if look.mask is None:
            levels[look.key] = 0.0
            continue
        image, mask = read_image(look.image), read_image(look.mask, grey=True)
        if image is None or mask is None:
            raise ObserverError(
                f"{look.image if image is None else look.mask} is missing or no PNG"
            )
        rgb = np.ascontiguousarray(image[..., ::-1])
        levels[look.key] = visibility_level(rgb, mask > 127, job.viewing, job.clutter_weight)
    return levels
