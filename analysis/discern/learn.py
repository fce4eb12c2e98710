"""Learn discernibility from labels and features, honestly: `limen discern fit`.

Rows are labelled images with a person. Test rows are those of the subjects and poses that are held
out by their hash; nothing is chosen, tuned or calibrated on them. On the rest, every model is tuned
and calibrated inside the folds of a cross-validation that never splits a subject in a pose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addon.core import seeds
from ...addon.core.dataset import Dataset, open_dataset
from ..contract import rows_blamed
from .assess import (
    CalibrationBin,
    PairedTest,
    Scores,
    calibration_curve,
    compare_models,
    score_model,
)
from .estimators import ESTIMATORS, calibrated, group_folds, tune
from .measure import feature_names, feature_vector, read_features
from .packages import require
from .sampling import sampled_share
from .table import (
    Key,
    LabelsChoiceError,
    Row,
    group_of,
    label_sources,
    read_labels,
    role_of,
)

__all__ = [
    "FOLDS",
    "SHOWN",
    "Examples",
    "FitChoiceError",
    "FitError",
    "Fitted",
    "fit",
    "fit_examples",
    "labelled_examples",
    "vector",
]

FOLDS = 5
INNER_FOLDS = 3
TREES = 100
SHOWN = "shown_nv"
"""The column that says which image of the pair was shown: 1 for night vision."""

_REPEATS = 10  # of a permutation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class FitError(Exception):
    """There is too little to learn from; the message says what is missing."""


class FitChoiceError(ValueError):
    """A setting of the fit is impossible."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled images to learn from and to test on.

    Attributes:
        keys: (id, variant) of each.
        values: (N, F) features.
        labels: (N,) of 0 and 1.
        groups: (N,) numbers from 0: subject and pose.
        test: (N,) which are held out.
        names: (F,) of the columns.
        source: Whose eyes the labels come from: ``human`` or ``simulated``.
        settings: Hash of the features' parameters.
        parameters: Of the features.
        dropped: Why labelled images are not among these -> how many.
        group_names: Of the groups, by number.
    """

    keys: tuple[Key, ...]
    values: Floats
    labels: Ints
    groups: Ints
    test: NDArray[np.bool_]
    names: tuple[str, ...]
    source: str
    settings: str
    parameters: Mapping[str, Any]
    dropped: Mapping[str, int]
    group_names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Models that were fitted and how well each does.

    Attributes:
        models: Name -> fitted classifier, of :data:`ESTIMATORS`.
        parameters: Name -> what tuning chose.
        cross_validated: Name -> probabilities (train rows,), each by a model that never saw the
            row's group.
        tested: Name -> probabilities (test rows,).
        scores: ``cross-validation`` and ``test`` -> name -> scores.
        tests: The same two -> paired tests.
        calibration: Name -> its curve on the test rows.
        importance: Of the chosen model on the test rows: topic -> by how much the Brier score grows
            when the topic's columns are shuffled, each with its standard deviation over shuffles.
        decided: Of the chosen model on the test rows: share not abstained, accuracy on these.
        chosen: Which model labels the rest.
        threshold: Where label 1 begins.
        abstain: Half the width of the band around it in which no label is given.
        examples: What was learnt from.
        seed: Of folds, forests and bootstrap.
    """

    models: Mapping[str, Any]
    parameters: Mapping[str, Mapping[str, Any]]
    cross_validated: Mapping[str, Floats]
    tested: Mapping[str, Floats]
    scores: Mapping[str, Mapping[str, Scores]]
    tests: Mapping[str, Sequence[PairedTest]]
    calibration: Mapping[str, Sequence[CalibrationBin]]
    importance: Mapping[str, tuple[float, float]]
    decided: tuple[float, float | None]
    chosen: str
    threshold: float
    abstain: float
    examples: Examples
    seed: int

    def test_of(self, first: str, second: str, where: str = "test") -> PairedTest:
        """The paired test of two models, in whatever order."""
        for test in self.tests[where]:
            if {test.first, test.second} == {first, second}:
                return test
        raise KeyError(f"{first} and {second} were not compared")


def fit(
    root: Path,
    *,
    source: str | None = None,
    chosen: str = "ensemble",
    extras: Sequence[str] = (),
    threshold: float = 0.5,
    abstain: float = 0.1,
    test_share: float | None = None,
    trees: int = TREES,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Fitted:
    """Fit every model on a dataset's labels and features.

    Args:
        root: The dataset.
        source: Whose labels: ``human`` or ``simulated``; None for the only ones there are.
        chosen: Which of :data:`ESTIMATORS` labels the rest.
        extras: Features beyond the published eight to learn from; they must have been measured.
        threshold: Where label 1 begins.
        abstain: Half the width of the band around it in which no label is given.
        test_share: Of the groups, the share that is held out; None takes the samples'.
        trees: Of a forest.
        seed: Of folds, forests and bootstrap.
        progress: Told (steps done, steps in all).

    Raises:
        FitChoiceError: A setting is impossible.
        FitError: There is too little to learn from.
        LabelsChoiceError: There are human and simulated labels, and ``source`` does not choose.
        SamplingChoiceError: ``test_share`` is not the samples'.
        DiscernMissingError: A package is not installed.
        FeaturesError: A feature was not measured.
        DatasetError: ``root`` is no dataset, or a table of it is damaged.
    """
    require("sklearn", "skops", "xgboost")
    dataset = open_dataset(root)
    with rows_blamed(dataset):
        examples = labelled_examples(dataset, source, extras, test_share)
    return fit_examples(
        examples,
        chosen=chosen,
        threshold=threshold,
        abstain=abstain,
        trees=trees,
        seed=seed,
        progress=progress,
    )


def labelled_examples(
    dataset: Dataset,
    source: str | None = None,
    extras: Sequence[str] = (),
    test_share: float | None = None,
) -> Examples:
    """Put labels and features together; see :func:`fit`."""
    share = sampled_share(dataset, test_share)
    sources = label_sources(dataset.root)
    if source is None and len(sources) == 1:
        source = sources[0]
    labels = {
        key: row for key, row in read_labels(dataset.root, source).items() if row["by"] != "model"
    }
    if not labels:
        raise FitError(
            f"{dataset.root} has no {f'{source} ' if source else ''}labels to learn from: "
            "limen annotate asks people, limen discern observe the simulated observer"
        )
    if source is None:
        raise LabelsChoiceError("choose whose labels: human or simulated")
    features = read_features(dataset.root)
    if not features:
        raise FitError(f"{dataset.root} has no features yet: limen discern features measures them")
    names = (*feature_names(extras), SHOWN)
    dropped: Counter[str] = Counter()
    kept: list[tuple[Key, list[float], int, str, bool]] = []
    for key, label in labels.items():
        row = dataset.index.get(key[0])
        if row is None:
            raise FitError(f"a label is of {key[0]}, which is not in {dataset.root}")
        measured = features.get(key[0])
        if label["human_discernable"] is None:
            dropped["undecided"] += 1
        elif not row["target_present"]:
            dropped["nobody there"] += 1
        elif measured is None:
            dropped["not measured"] += 1
        else:
            kept.append(
                (
                    key,
                    vector(measured, key[1], names),
                    label["human_discernable"],
                    group_of(row),
                    role_of(row, share) == "test",
                )
            )
    if not kept:
        raise FitError(f"none of {len(labels)} labels can be learnt from ({dict(dropped)})")
    any_row = next(iter(features.values()))
    group_names = tuple(sorted({row[3] for row in kept}))
    return Examples(
        keys=tuple(row[0] for row in kept),
        values=np.array([row[1] for row in kept]),
        labels=np.array([row[2] for row in kept]),
        groups=np.array([group_names.index(row[3]) for row in kept]),
        test=np.array([row[4] for row in kept]),
        names=names,
        source=source,
        settings=any_row["settings"],
        parameters=any_row["parameters"],
        dropped=dict(dropped),
        group_names=group_names,
    )


def vector(measured: Row, variant: str, names: Sequence[str]) -> list[float]:
    """The columns of an image: the features of its pair, and which of the two is shown."""
    values = feature_vector(measured, [name for name in names if name != SHOWN])
    return [*values, float(variant == "nv")]


def fit_examples(
    examples: Examples,
    *,
    chosen: str = "ensemble",
    threshold: float = 0.5,
    abstain: float = 0.1,
    trees: int = TREES,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Fitted:
    """Fit every model on examples; see :func:`fit`."""
    if chosen not in ESTIMATORS:
        raise FitChoiceError(f"there is no model '{chosen}'; there are {', '.join(ESTIMATORS)}")
    if not 0 < threshold < 1:
        raise FitChoiceError(f"threshold is {threshold}: a probability between 0 and 1")
    if not 0 <= abstain < min(threshold, 1 - threshold):
        raise FitChoiceError(f"abstain is {abstain}: 0 up to the threshold's distance from 0 and 1")
    if trees < 1:
        raise FitChoiceError(f"a forest of {trees} trees: 1 or more")
    _check_enough(examples)
    steps = FOLDS + 2
    tell = progress or (lambda done, total: None)
    tell(0, steps)

    train, test = ~examples.test, examples.test
    values = examples.values[train]
    labels, groups = examples.labels[train], examples.groups[train]
    cross_validated = {name: np.empty(len(labels)) for name in ESTIMATORS}
    for number, (learn, left) in enumerate(group_folds(labels, groups, FOLDS, seed), 1):
        models, _ = _fit_all(values[learn], labels[learn], groups[learn], trees, seed)
        for name, model in models.items():
            cross_validated[name][left] = model.predict_proba(values[left])[:, 1]
        tell(number, steps)
    models, parameters = _fit_all(values, labels, groups, trees, seed)
    tested = {
        name: model.predict_proba(examples.values[test])[:, 1] for name, model in models.items()
    }
    tell(FOLDS + 1, steps)

    parts = {
        "cross-validation": (labels, groups, cross_validated),
        "test": (examples.labels[test], examples.groups[test], tested),
    }
    scores: dict[str, dict[str, Scores]] = {}
    tests = {}
    for where, (truth, of_group, found) in parts.items():
        packed = np.unique(of_group, return_inverse=True)[1]
        scores[where] = {
            name: score_model(
                truth,
                probability,
                packed,
                threshold=threshold,
                rng=seeds.generator(seed, where, "discern-scores"),
            )
            for name, probability in found.items()
        }
        tests[where] = compare_models(
            truth,
            found,
            packed,
            threshold=threshold,
            rng=seeds.generator(seed, where, "discern-compare"),
        )
    truth = examples.labels[test]
    sure = np.abs(tested[chosen] - threshold) >= abstain
    right = (tested[chosen] >= threshold) == truth
    result = Fitted(
        models,
        parameters,
        cross_validated,
        tested,
        scores,
        tests,
        {name: calibration_curve(truth, probability) for name, probability in tested.items()},
        _importance(models[chosen], examples.values[test], truth, examples.names, seed),
        (float(sure.mean()), float(right[sure].mean()) if sure.any() else None),
        chosen,
        threshold,
        abstain,
        examples,
        seed,
    )
    tell(steps, steps)
    return result


def _check_enough(examples: Examples) -> None:
    if not examples.test.any():
        raise FitError(
            "no labelled image is held out for the test: label some of those whose role is test "
            "(limen discern sample)"
        )
    train = ~examples.test
    for label in (0, 1):
        mine = train & (examples.labels == label)
        groups = len(np.unique(examples.groups[mine]))
        if mine.sum() < 2 * FOLDS or groups < FOLDS:
            raise FitError(
                f"{int(mine.sum())} training labels are {label}, of {groups} subjects in a pose: "
                f"{2 * FOLDS} labels and {FOLDS} such groups of each are needed. Label more images"
            )


def _fit_all(
    values: Floats, labels: Ints, groups: Ints, trees: int, seed: int
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    parameters = tune(values, labels, groups, folds=INNER_FOLDS, trees=trees, seed=seed)
    models = {
        name: calibrated(
            name,
            parameters[name],
            values,
            labels,
            groups,
            folds=INNER_FOLDS,
            trees=trees,
            seed=seed,
        )
        for name in ESTIMATORS
    }
    return models, parameters


def topics(names: Sequence[str]) -> dict[str, list[int]]:
    """Columns by what they measure: raw and night vision of one feature belong together."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        topic = name.removeprefix("raw_").removeprefix("nv_")
        found.setdefault(topic, []).append(place)
    return found


def _importance(
    model: Any, values: Floats, labels: Ints, names: Sequence[str], seed: int
) -> dict[str, tuple[float, float]]:
    """Permutation importance by topic: both columns of one are shuffled alike.

    Shuffled one by one, columns that say the same (the visible area, twice) would each look
    dispensable.
    """

    def brier(columns: Floats) -> float:
        return float(np.mean((model.predict_proba(columns)[:, 1] - labels) ** 2))

    before = brier(values)
    rng = seeds.generator(seed, "importance", "discern-importance")
    found = {}
    for topic, columns in topics(names).items():
        growth = []
        for _ in range(_REPEATS):
            shuffled = values.copy()
            shuffled[:, columns] = values[rng.permutation(len(values))][:, columns]
            growth.append(brier(shuffled) - before)
        found[topic] = float(np.mean(growth)), float(np.std(growth))
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))
