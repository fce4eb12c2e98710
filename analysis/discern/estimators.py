"""The models that learn discernibility, side by side: how each is built, tuned and calibrated.

Images with few of one label would be learnt by always answering the other, so both labels weigh
alike while trees are grown and lines are fitted. Weighing distorts probabilities; calibration on
answers that were left out (Platt's sigmoid) brings them back to how often each label really occurs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ESTIMATORS",
    "IMBALANCE",
    "TRUSTED_TYPES",
    "calibrated",
    "group_folds",
    "tune",
]

ESTIMATORS = ("ensemble", "forest", "xgboost", "tree", "logistic")
"""Soft-voting ensemble of the two that follow it, a single decision tree, a linear baseline."""

IMBALANCE = (
    "both labels weigh alike in fitting (balanced class weights; scale_pos_weight for XGBoost); "
    "probabilities are calibrated afterwards to how often each occurs"
)

TRUSTED_TYPES = (
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
)
"""All that a saved model may hold beyond what skops trusts by itself."""

_GRIDS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "forest": [{"min_samples_leaf": n} for n in (1, 4, 10)],
    "xgboost": [{"max_depth": 2}, {"max_depth": 4}],
    "tree": [{"max_depth": n} for n in (2, 3, 5, 8)],
    "logistic": [{"C": c} for c in (0.1, 1.0, 10.0)],
}

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Splits = list[tuple[Ints, Ints]]


def group_folds(labels: Ints, groups: Ints, folds: int, seed: int) -> Splits:
    """Divide rows into folds that share no group and have about as many of each label.

    Returns:
        (rows to learn from, rows left out) of each fold; those left out are all rows, once.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    return [(a, b) for a, b in splitter.split(np.zeros((len(labels), 1)), labels, groups)]


def tune(
    values: Floats, labels: Ints, groups: Ints, *, folds: int, trees: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Choose the parameters of each model by the least Brier score in grouped folds.

    Returns:
        Name -> parameters; the ensemble is of the forest and XGBoost as tuned.
    """
    splits = group_folds(labels, groups, folds, seed)
    chosen: dict[str, dict[str, Any]] = {}
    for name, grid in _GRIDS.items():
        losses = []
        for parameters in grid:
            left_out = np.empty(len(labels))
            for learn, test in splits:
                model = _build(name, labels[learn], parameters, trees, seed)
                left_out[test] = model.fit(values[learn], labels[learn]).predict_proba(
                    values[test]
                )[:, 1]
            losses.append(float(np.mean((left_out - labels) ** 2)))
        chosen[name] = dict(grid[int(np.argmin(losses))])
    chosen["ensemble"] = {name: chosen[name] for name in ("forest", "xgboost")}
    return chosen


def calibrated(
    name: str,
    parameters: Mapping[str, Any],
    values: Floats,
    labels: Ints,
    groups: Ints,
    *,
    folds: int,
    trees: int,
    seed: int,
) -> Any:
    """Fit a model on all rows, with its probabilities calibrated on grouped folds left out.

    Returns:
        A fitted scikit-learn classifier.
    """
    from sklearn.calibration import CalibratedClassifierCV

    splits = group_folds(labels, groups, folds, seed + 1)
    model = _build(name, labels, parameters, trees, seed)
    fitted = CalibratedClassifierCV(model, method="sigmoid", cv=splits, ensemble=False)
    fitted.fit(values, labels)
    fitted.cv = None  # the folds are of these rows alone
    return fitted


def _build(name: str, labels: Ints, parameters: Mapping[str, Any], trees: int, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    if name == "ensemble":
        members = [
            (member, _build(member, labels, parameters[member], trees, seed))
            for member in ("forest", "xgboost")
        ]
        return VotingClassifier(members, voting="soft")
    if name == "forest":
        return RandomForestClassifier(
            trees, class_weight="balanced", random_state=seed, n_jobs=1, **parameters
        )
    if name == "xgboost":
        from xgboost import XGBClassifier

        positive = int(labels.sum())
        return XGBClassifier(
            n_estimators=trees,
            learning_rate=0.1,
            subsample=0.8,
            scale_pos_weight=(len(labels) - positive) / max(1, positive),
            tree_method="hist",
            random_state=seed,
            n_jobs=1,
            **parameters,
        )
    if name == "tree":
        return DecisionTreeClassifier(
            class_weight="balanced", min_samples_leaf=5, random_state=seed, **parameters
        )
    logistic = LogisticRegression(class_weight="balanced", max_iter=1000, **parameters)
    return Pipeline([("scale", StandardScaler()), ("logistic", logistic)])
