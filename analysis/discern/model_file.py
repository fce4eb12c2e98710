"""A fitted model on disk: ``model.skops``, ``model.json``, ``predictions.jsonl`` and its card.

skops holds the classifier as data: nothing in the file is run, and a file that asks for a type
beyond the listed ones is refused before anything of it is made.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...addon.core.dataset import file_record, write_file
from .assess import METRICS, PairedTest, Scores
from .estimators import ESTIMATORS, IMBALANCE, TRUSTED_TYPES
from .features import FEATURES_VERSION
from .learn import FOLDS, INNER_FOLDS, Fitted
from .packages import require
from .table import SOURCES, Row

__all__ = [
    "ModelChoiceError",
    "ModelFileError",
    "SavedModel",
    "load_model",
    "model_directory",
    "save_model",
]

FORMAT = 1

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CALIBRATION = ("probability", "share", "n")
_PACKAGES = ("scikit-learn", "skops", "numpy", "POT")
_EYES = {"human": "people", "simulated": "the simulated observer, which is no human"}
_TITLES = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro-F1",
    "balanced_accuracy": "Balanced accuracy",
    "auc": "AUC",
    "brier": "Brier",
}


class ModelFileError(Exception):
    """A saved model is damaged, hostile, or made with other features; the message says which."""


class ModelChoiceError(ValueError):
    """There is no such model, or its name is no name."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model read back.

    Attributes:
        directory: Where it lies.
        about: What ``model.json`` says.
        classifier: The chosen model.
    """

    directory: Path
    about: Mapping[str, Any]
    classifier: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the classifier takes."""
        return tuple(self.about["columns"])

    def probability(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of label 1 (N,) of columns (N, F)."""
        return np.asarray(self.classifier.predict_proba(values)[:, 1])


def model_directory(root: Path, name: str) -> Path:
    """Where a dataset's model of a name lies.

    Raises:
        ModelChoiceError: It is no name.
    """
    if not _NAME.fullmatch(name):
        raise ModelChoiceError(f"model name {name!r}: 1 to 64 letters, digits, - and _")
    return Path(root) / "labels" / "models" / name


def save_model(fitted: Fitted, directory: Path) -> Row:
    """Save the chosen model with what is known of it; returns what ``model.json`` says.

    Raises:
        ModelChoiceError: The directory's name is no name of a model.
    """
    directory = Path(directory)
    if not _NAME.fullmatch(directory.name):
        raise ModelChoiceError(f"model name {directory.name!r}: 1 to 64 letters, digits, - and _")
    require("skops")
    from skops import io

    # All of it is made before the first file is: what fails leaves an earlier model as it is.
    data = io.dumps(fitted.models[fitted.chosen])
    about = _about(fitted, directory.name, hashlib.sha256(data).hexdigest())
    text = json.dumps(about, indent=2, sort_keys=True, allow_nan=False) + "\n"
    lines = (json.dumps(row, sort_keys=True, separators=(",", ":")) for row in _predictions(fitted))
    write_file(directory / "model.skops", data)
    write_file(directory / "predictions.jsonl", "".join(f"{line}\n" for line in lines).encode())
    write_file(directory / "README.md", model_card(about).encode())
    write_file(directory / "model.json", text.encode())  # last: a model is there when this is
    return about


def load_model(directory: Path) -> SavedModel:
    """Read a model.

    Raises:
        ModelChoiceError: There is none.
        ModelFileError: It is damaged, holds types that are not trusted, or its features are of
            another version.
        DiscernMissingError: A package is not installed.
    """
    require("sklearn", "skops", "xgboost")
    from skops import io

    directory = Path(directory)
    about = read_about(directory)
    path = directory / "model.skops"
    if not path.is_file() or file_record(path)["sha256"] != about["sha256"]:
        raise ModelFileError(f"{path} is missing or not the file that model.json names: fit anew")
    if about["features"]["version"] != FEATURES_VERSION:
        raise ModelFileError(
            f"{directory} was fitted on features of version {about['features']['version']}, this "
            f"program measures version {FEATURES_VERSION}: fit anew"
        )
    try:
        foreign = sorted(set(io.get_untrusted_types(file=path)) - set(TRUSTED_TYPES))
        if foreign:
            raise ModelFileError(
                f"{path} is refused: it asks for {', '.join(foreign)}, which no model of limen "
                "holds. Nothing of it was loaded"
            )
        classifier = io.load(path, trusted=list(TRUSTED_TYPES))
        outputs = classifier.predict_proba(np.zeros((1, len(about["columns"]))))
        if outputs.shape != (1, 2):
            raise ValueError("it has other labels than 0 and 1")
    except ModelFileError:
        raise
    except Exception as error:  # a file from anywhere fails in any way
        raise ModelFileError(f"{path} is damaged or no model ({error})") from error
    return SavedModel(directory, about, classifier)


def read_about(directory: Path) -> Row:
    """What ``model.json`` says.

    Raises:
        ModelChoiceError: There is no model.
        ModelFileError: It is damaged.
    """
    path = Path(directory) / "model.json"
    if not path.is_file():
        raise ModelChoiceError(f"there is no model in {directory}: limen discern fit makes one")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, this program reads {FORMAT}")
        texts = about["name"], about["sha256"], about["chosen"], about["features"]["settings"]
        if not all(isinstance(text, str) for text in (*texts, *about["columns"])):
            raise TypeError("a name is no text")
        if about["trained_on"] not in SOURCES or about["chosen"] not in ESTIMATORS:
            raise ValueError("trained_on or chosen")
        if not 0 < about["threshold"] < 1 or not 0 <= about["abstain"] < 1:
            raise ValueError("threshold or abstain")
        model_card(about)  # whoever shows a model takes what its card takes, and these
        shown = [row["brier_growth"] + row["sd"] for row in about["importance"].values()]
        for curve in about["calibration"].values():
            shown += [one[key] for one in curve for key in _CALIBRATION]
        if not all(isinstance(number, int | float) for number in shown):
            raise TypeError("importance or calibration")
        about["features"]["version"], about["scores"]["cross-validation"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged ({error}): fit anew") from error
    return dict(about)


# --- what is said of a model ---------------------------------------------------------------------


def _about(fitted: Fitted, name: str, sha256: str) -> Row:
    examples = fitted.examples
    train = ~examples.test
    return {
        "format": FORMAT,
        "name": name,
        "chosen": fitted.chosen,
        "sha256": sha256,
        "trained_on": examples.source,
        "columns": list(examples.names),
        "features": {
            "version": examples.parameters["version"],
            "settings": examples.settings,
            "parameters": dict(examples.parameters),
        },
        "threshold": fitted.threshold,
        "abstain": fitted.abstain,
        "imbalance": IMBALANCE,
        "folds": {"outer": FOLDS, "inner": INNER_FOLDS},
        "seed": fitted.seed,
        "tuned": {key: dict(value) for key, value in fitted.parameters.items()},
        "labels": {
            part: {
                "images": int(rows.sum()),
                "visible": int(examples.labels[rows].sum()),
                "groups": len(np.unique(examples.groups[rows])),
            }
            for part, rows in (("train", train), ("test", examples.test))
        },
        "dropped": dict(examples.dropped),
        "test_groups": sorted({examples.group_names[g] for g in examples.groups[examples.test]}),
        "scores": {
            where: {model: _scores(scores) for model, scores in table.items()}
            for where, table in fitted.scores.items()
        },
        "tests": {where: [_test(test) for test in tests] for where, tests in fitted.tests.items()},
        "calibration": {
            model: [asdict(one) for one in curve] for model, curve in fitted.calibration.items()
        },
        "importance": {
            topic: {"brier_growth": mean, "sd": sd}
            for topic, (mean, sd) in fitted.importance.items()
        },
        "decided": {"share": fitted.decided[0], "accuracy": fitted.decided[1]},
        "versions": _versions(),
    }


def _scores(scores: Scores) -> Row:
    return {
        name: {
            "value": estimate.value,
            "interval": list(estimate.interval) if estimate.interval else None,
            "n": estimate.n,
            "groups": estimate.clusters,
        }
        for name, estimate in scores.items()
    }


def _test(test: PairedTest) -> Row:
    interval = test.difference.interval
    return {
        "first": test.first,
        "second": test.second,
        "difference": test.difference.value,
        "interval": list(interval) if interval else None,
        "only_first": test.only_first,
        "only_second": test.only_second,
        "p_value": test.p_value,
        "p_holm": test.p_holm,
        "p_mcnemar": test.p_mcnemar,
        "verdict": test.verdict,
    }


def _versions() -> dict[str, str]:
    found = {"limen": __version__, "python": platform.python_version()}
    for package in (*_PACKAGES, "xgboost", "xgboost-cpu"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _predictions(fitted: Fitted) -> list[Row]:
    examples = fitted.examples
    rows = []
    for role, mask, found in (
        ("train", ~examples.test, fitted.cross_validated),
        ("test", examples.test, fitted.tested),
    ):
        for at, place in enumerate(np.flatnonzero(mask)):
            rows.append(
                {
                    "id": examples.keys[place][0],
                    "variant": examples.keys[place][1],
                    "role": role,
                    "group": examples.group_names[examples.groups[place]],
                    "label": int(examples.labels[place]),
                    "probability": {model: float(p[at]) for model, p in found.items()},
                }
            )
    return rows


def model_card(about: Mapping[str, Any]) -> str:
    """The card of a model, Markdown: what it is for, what of, how good, and where it ends."""
    labels = about["labels"]
    eyes = _EYES[about["trained_on"]]
    test = about["scores"]["test"][about["chosen"]]
    groups = labels["test"]["groups"]
    lines = [
        f"# {about['name']}: who is visible, learnt from {eyes}",
        "",
        f"A calibrated {about['chosen']} that says how likely {eyes.partition(',')[0]} would call a"
        " person in an image visible. Made by limen " + about["versions"]["limen"] + ".",
        "",
    ]
    if about["trained_on"] == "simulated":
        lines += [
            "**Its labels are simulated.** They stand in for people to try the machinery on; they "
            "say nothing of what people see.",
            "",
        ]
    lines += [
        "## Use",
        "",
        "To label the images of a benchmark that people were not asked about, of the same kind of "
        "scenes, persons and camera as those it learnt from. Not to find persons: it measures "
        "through the exact mask, which only a rendered image has. Not for images of another "
        "sensor, night vision or screen.",
        "",
        f"Features: version {about['features']['version']}, {len(about['columns'])} columns "
        f"({', '.join(about['columns'])}); data with other features is refused.",
        "",
        f"Label 1 from a probability of {about['threshold']:g}; within {about['abstain']:g} of that"
        " it abstains.",
        "",
        "## Learnt from",
        "",
        "| | images | visible | subjects in a pose |",
        "|---|---|---|---|",
    ]
    for part in ("train", "test"):
        mine = labels[part]
        lines.append(f"| {part} | {mine['images']} | {mine['visible']} | {mine['groups']} |")
    lines += [
        "",
        f"Labels not used: {json.dumps(about['dropped'])}. No subject in a pose is in both parts. "
        f"Imbalance: {about['imbalance']}.",
        "",
        f"## How good, on the test ({groups} subjects in a pose)",
        "",
        "| model | " + " | ".join(_TITLES[name] for name in METRICS) + " |",
        "|---|" + "---|" * len(METRICS),
    ]
    for model in ESTIMATORS:
        scores = about["scores"]["test"][model]
        lines.append(f"| {model} | " + " | ".join(_cell(scores[name]) for name in METRICS) + " |")
    decided = about["decided"]
    share = decided["accuracy"]
    lines += [
        "",
        "95 % intervals in brackets, by subjects in a pose drawn again. The "
        f"{about['chosen']} decides {100 * decided['share']:.1f} % of the images"
        + ("." if share is None else f", {100 * share:.1f} % of these rightly."),
        "",
        "## Is one better?",
        "",
        *(f"- {sentence}" for sentence in comparisons(about)),
        "",
        f"Accuracy on the test: {_cell(test['accuracy'])}.",
        "",
    ]
    return "\n".join(lines)


def comparisons(
    about: Mapping[str, Any], where: Sequence[str] = ("test", "cross-validation")
) -> list[str]:
    """Sentences: whether the chosen model beats each of the others, where it was tested."""
    sentences = []
    for part in where:
        for test in about["tests"][part]:
            if about["chosen"] not in (test["first"], test["second"]):
                continue
            sign = 1 if test["first"] == about["chosen"] else -1
            other = test["second"] if sign == 1 else test["first"]
            difference = 100 * sign * test["difference"]
            ends = sorted(100 * sign * end for end in test["interval"] or ())
            interval = f", {ends[0]:+.1f} to {ends[1]:+.1f}" if ends else ""
            p = "" if test["p_holm"] is None else f"; p = {test['p_holm']:.2g}, adjusted"
            sentences.append(
                f"{about['chosen']} and {other}, {part}: **{test['verdict']}** "
                f"({difference:+.1f} points of accuracy{interval}{p})"
            )
    return sentences


def _cell(score: Mapping[str, Any]) -> str:
    if score["value"] is None:
        return "undefined"
    if not score["interval"]:
        return f"{score['value']:.3f}"
    return f"{score['value']:.3f} ({score['interval'][0]:.3f} to {score['interval'][1]:.3f})"
