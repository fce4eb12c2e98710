"""Which images people are asked about: stratified, with a held-out test and catch trials."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, StatisticsError

from ...addon.core import seeds
from ...addon.core.dataset import Dataset, DatasetError, open_dataset, read_table, write_file
from ..contract import rows_blamed
from ..develop.table import geometry_of
from .measure import read_features
from .table import (
    SOURCES,
    TEST_SHARE,
    Key,
    Row,
    group_of,
    held_out_from,
    label_sources,
    raw_variant,
    read_labels,
    role_of,
    shown_media,
)

__all__ = [
    "DIFFICULTIES",
    "SampleSummary",
    "SamplingChoiceError",
    "SamplingError",
    "allocate",
    "cochran_size",
    "draw_sample",
    "read_sample",
    "sampled_share",
]

DIFFICULTIES = ("hard", "middle", "easy")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class SamplingError(Exception):
    """There is nothing to draw a sample from, or a sample is damaged; the message says why."""


class SamplingChoiceError(ValueError):
    """A size, share or name is impossible; the message says what is allowed."""


@dataclass(frozen=True)
class SampleSummary:
    """What was drawn.

    Attributes:
        path: The sample's file.
        test: Images with a person that are held out.
        train: Images with a person to learn from.
        catch: Images without one.
        strata: Strata that images were drawn from.
        test_groups: Subjects in a pose that are held out.
        population: Images with a person that there are.
        difficulty: What the predicted difficulty was taken from.
    """

    path: Path
    test: int
    train: int
    catch: int
    strata: int
    test_groups: int
    population: int
    difficulty: str


def cochran_size(
    margin: float, confidence: float = 0.95, population: int | None = None, share: float = 0.5
) -> int:
    """How many must be asked about to know a share within a margin.

    ``n0 = z^2 p (1 - p) / e^2``; of a finite population ``n0 / (1 + (n0 - 1) / N)`` (Cochran,
    Sampling Techniques, 3rd ed. 1977, 4.3 and 4.4).

    Args:
        margin: Half the width of the interval, 0.05 for 5 points.
        confidence: Of the interval, 0.95 for 95 %.
        population: How many there are; None for no end of them.
        share: The share expected; 0.5 is the most demanding.

    Raises:
        SamplingChoiceError: A value is impossible.
    """
    for name, value in (("margin", margin), ("confidence", confidence), ("share", share)):
        if not 0 < value < 1:
            raise SamplingChoiceError(
                f"{name} is {value}: it lies between 0 and 1, as 0.05 for 5 %"
            )
    try:
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        size = z**2 * share * (1 - share) / margin**2
    except (ArithmeticError, StatisticsError):
        raise SamplingChoiceError(
            f"a margin of {margin} at a confidence of {confidence} is finer than can be computed"
        ) from None
    if population is not None:
        if population < 1:
            return 0
        size /= 1 + (size - 1) / population
    return math.ceil(size - 1e-9) if population is None else min(population, math.ceil(size - 1e-9))


def allocate(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Divide a sample over strata in proportion to their sizes, none left out where it can be.

    Largest remainders; each stratum gets at least one if there are enough for that, and never more
    than it has.
    """
    total = min(total, sum(sizes.values()))
    if not sizes or total <= 0:
        return dict.fromkeys(sizes, 0)
    whole = sum(sizes.values())
    exact = {name: total * size / whole for name, size in sizes.items()}
    least = 1 if total >= len(sizes) else 0
    drawn = {name: min(sizes[name], max(least, math.floor(exact[name]))) for name in sizes}

    def shortage(name: str) -> tuple[float, int]:
        return exact[name] - drawn[name], seeds.bits(0, name, "discern-allocate")

    while sum(drawn.values()) < total:
        open_strata = [name for name in sizes if drawn[name] < sizes[name]]
        drawn[max(open_strata, key=shortage)] += 1
    while sum(drawn.values()) > total:
        drawn[min((name for name in sizes if drawn[name] > least), key=shortage)] -= 1
    return drawn


def draw_sample(
    root: Path,
    name: str = "main",
    *,
    margin: float = 0.05,
    confidence: float = 0.95,
    train_factor: float = 4.0,
    test_share: float = TEST_SHARE,
    catch_share: float = 0.1,
    seed: int = 0,
    redo: bool = False,
) -> SampleSummary:
    """Draw a sample and write it to ``labels/samples/NAME.jsonl``.

    Its rows are ``{id, variant, stratum, catch, role, weight}``: an image that is shown, where it
    was drawn from, whether nobody is in it, whether it trains or tests, and how many images of its
    stratum and role it stands for.

    The test's size is Cochran's for the images of the test groups; the training set is
    ``train_factor`` times that (published: 1,600 to 400), or all there are. Strata are lighting,
    distance, scenery, variant and a third of predicted difficulty within these.

    Args:
        root: The dataset; evening and night images are developed.
        name: Of the sample.
        margin: Half the width of the interval of a share in the test.
        confidence: Of that interval.
        train_factor: Images that train, for each that tests.
        test_share: Of the groups of subject and pose, the share that is held out.
        catch_share: Of all images shown, those with nobody in them.
        seed: Draws others from the same strata; who is held out stays.
        redo: Replace a sample of this name.

    Raises:
        SamplingChoiceError: A value is impossible, or there is a sample of this name.
        SamplingError: There are no images to draw from, or no group is held out.
        LabelsError: Images were not developed.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
    """
    if not _NAME.fullmatch(name):
        raise SamplingChoiceError(f"sample name {name!r}: 1 to 64 letters, digits, - and _")
    if not 0 < test_share < 1:
        raise SamplingChoiceError(f"test_share is {test_share}: it lies between 0 and 1")
    if not 0 <= catch_share < 1:
        raise SamplingChoiceError(f"catch_share is {catch_share}: 0 up to 1")
    if not (math.isfinite(train_factor) and train_factor > 0):
        raise SamplingChoiceError(f"train_factor is {train_factor}: more than 0")
    cochran_size(margin, confidence)
    dataset = open_dataset(root)
    path = dataset.root / "labels" / "samples" / f"{name}.jsonl"
    if path.exists() and not redo:
        raise SamplingChoiceError(
            f"there is a sample '{name}' already ({path}), and people may be at work on it: choose "
            "another --name, or --redo draws it anew"
        )
    with rows_blamed(dataset):
        shown = shown_media(dataset)
        persons = {key: row for key, row in shown.items() if _visible(dataset, row, key[1])}
        nobody = {key: row for key, row in shown.items() if not row["target_present"]}
        if not persons:
            raise SamplingError(
                f"{dataset.root} has no image with a person whose mask shows some of them: render "
                "some, or give photographs masks"
            )
        strata, difficulty = _strata(dataset, persons)
        by_role = {
            role: {key: row for key, row in persons.items() if role_of(row, test_share) == role}
            for role in ("test", "train")
        }
        groups = {group_of(row) for row in by_role["test"].values()}
        if not (by_role["test"] and by_role["train"]):
            raise SamplingError(
                f"of {len({group_of(row) for row in persons.values()})} groups of subject and pose "
                f"{len(groups)} are held out by their hash: a test needs some and training needs "
                "some. Render more subjects and poses, or choose another --test-share"
            )
        sizes = {"test": cochran_size(margin, confidence, len(by_role["test"]))}
        sizes["train"] = min(len(by_role["train"]), round(train_factor * sizes["test"]))
        rows: list[Row] = []
        for role, candidates in by_role.items():
            rows += _draw(candidates, strata, sizes[role], role, seed, catch=False)
            free = {key: row for key, row in nobody.items() if role_of(row, test_share) == role}
            wanted = round(sizes[role] * catch_share / (1 - catch_share))
            rows += _draw(free, _plain_strata(free), wanted, role, seed, catch=True)
    rows.sort(key=lambda row: (row["role"], row["id"], row["variant"]))
    lines = (json.dumps(row, sort_keys=True, separators=(",", ":")) for row in rows)
    write_file(path, "".join(f"{line}\n" for line in lines).encode())
    return SampleSummary(
        path=path,
        test=sum(row["role"] == "test" and not row["catch"] for row in rows),
        train=sum(row["role"] == "train" and not row["catch"] for row in rows),
        catch=sum(row["catch"] for row in rows),
        strata=len({row["stratum"] for row in rows if not row["catch"]}),
        test_groups=len(groups),
        population=len(persons),
        difficulty=difficulty,
    )


def read_sample(root: Path, name: str = "main") -> list[Row]:
    """Read a sample: rows ``{id, variant, stratum, catch, role, weight}``.

    Raises:
        SamplingChoiceError: There is no sample of this name.
        SamplingError: A row is damaged.
    """
    directory = Path(root) / "labels" / "samples"
    path = directory / f"{name}.jsonl"
    if not (_NAME.fullmatch(name) and path.is_file()):
        there = sorted(found.stem for found in directory.glob("*.jsonl"))
        raise SamplingChoiceError(
            f"there is no sample '{name}' in {root}; "
            + (
                f"there are {', '.join(there)}"
                if there
                else f"limen discern sample {root} draws one"
            )
        )
    try:
        rows = read_table(path)
    except DatasetError as error:
        raise SamplingError(str(error)) from error
    for number, row in enumerate(rows, 1):
        if not (
            all(isinstance(row.get(key), str) for key in ("id", "variant", "stratum"))
            and isinstance(row.get("catch"), bool)
            and row.get("role") in ("train", "test")
        ):
            raise SamplingError(f"{path}:{number} is no row of a sample (docs/discern.md)")
    return rows


def sampled_share(dataset: Dataset, wanted: float | None = None) -> float:
    """The share of groups that the dataset's samples hold out.

    Args:
        dataset: Its samples.
        wanted: The share that must fit them; None takes :data:`TEST_SHARE` if that does, else the
            one that does.

    Raises:
        SamplingChoiceError: ``wanted`` is another, or samples were drawn with different ones: what
            the one tests on the other trains on.
    """
    low, high = 0.0, 1.0
    for path in sorted((dataset.root / "labels" / "samples").glob("*.jsonl")):
        for row in read_sample(dataset.root, path.stem):
            if row["id"] not in dataset.index:
                continue
            edge = held_out_from(dataset.index[row["id"]])
            if row["role"] == "test":
                low = max(low, edge)
            else:
                high = min(high, edge)
    if low >= high:
        raise SamplingChoiceError(
            f"{dataset.root}/labels/samples holds samples of different test shares: what one tests "
            "on another trains on. Draw them with one --test-share"
        )
    share = TEST_SHARE if wanted is None else wanted
    if low < share <= high:
        return share
    if wanted is not None:
        raise SamplingChoiceError(
            f"test_share is {wanted:g}, and the samples were drawn with one between {low:.3f} "
            f"and {high:.3f}: leave it out to take theirs"
        )
    return (low + high) / 2


# --- internals -----------------------------------------------------------------------------------


def _visible(dataset: Dataset, row: Row, variant: str) -> bool:
    return bool(row["target_present"] and geometry_of(dataset, row, variant)["visible_px"])


def _draw(
    candidates: Mapping[Key, Row],
    strata: Mapping[Key, str],
    wanted: int,
    role: str,
    seed: int,
    *,
    catch: bool,
) -> list[Row]:
    members: dict[str, list[Key]] = {}
    for key in candidates:
        members.setdefault(strata[key], []).append(key)
    rows = []
    for stratum, n in allocate({name: len(keys) for name, keys in members.items()}, wanted).items():
        keys = members[stratum]
        order = seeds.permutation(seed, f"{role}/{stratum}", "discern-sample", len(keys))
        rows += [
            {
                "id": keys[place][0],
                "variant": keys[place][1],
                "stratum": stratum,
                "catch": catch,
                "role": role,
                "weight": len(keys) / n,
            }
            for place in order[:n]
        ]
    return rows


def _cell(row: Row, variant: str) -> str:
    values = {
        "lighting": row["lighting"],
        "distance_m": f"{row['distance_m']:g}",
        "scenery": row["scenery"],
        "variant": variant,
    }
    return " ".join(f"{name}={value}" for name, value in values.items())


def _plain_strata(shown: Mapping[Key, Row]) -> dict[Key, str]:
    return {key: _cell(row, key[1]) for key, row in shown.items()}


def _strata(dataset: Dataset, persons: Mapping[Key, Row]) -> tuple[dict[Key, str], str]:
    """The stratum of each image, and what its difficulty was predicted from."""
    easiness, source = _easiness(dataset, persons)
    cells: dict[str, list[Key]] = {}
    for key, cell in _plain_strata(persons).items():
        cells.setdefault(cell, []).append(key)
    strata = {}
    for cell, keys in cells.items():
        ranked = sorted(keys, key=lambda key: (easiness[key], key))
        for place, key in enumerate(ranked):
            strata[key] = f"{cell} difficulty={_third(place, len(ranked))}"
    return strata, source


def _third(place: int, n: int) -> str:
    return DIFFICULTIES[min(2, 3 * place // n)] if n >= 3 else DIFFICULTIES[1]


def _easiness(dataset: Dataset, persons: Mapping[Key, Row]) -> tuple[dict[Key, float], str]:
    """How easily each person is expected to be seen: by the best that is there to tell it from."""
    models = _model_probabilities(dataset.root)
    if persons.keys() <= models.keys():
        return {key: models[key] for key in persons}, "a model's probabilities"
    sizes = {
        key: math.sqrt(geometry_of(dataset, row, key[1])["visible_px"])
        for key, row in persons.items()
    }
    measured = read_features(dataset.root)
    found: dict[Key, float] = {}
    for key, row in persons.items():
        features = (measured.get(key[0]) or {}).get("features")
        values = features and features["raw" if key[1] == raw_variant(row) else "nv"]
        if not values:
            return sizes, "the visible area"
        found[key] = values["ks_lightness"] * sizes[key]
    # Rose, J. Opt. Soc. Am. 38 (1948) 196: what is seen goes by contrast times root of area.
    return found, "contrast of lightness and visible area"


def _model_probabilities(root: Path) -> dict[Key, float]:
    for source in SOURCES:
        if source in label_sources(root):
            labels = read_labels(root, source, by="model")
            found = {
                key: row["probability"]
                for key, row in labels.items()
                if row["probability"] is not None
            }
            if found:
                return found
    return {}
