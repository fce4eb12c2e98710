"""Answerers that say the same whatever they are shown, and what that would score.

Where nearly all images show a person, "yes" without looking is nearly always right. So every run is
held against the constant answer on the same images.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import Estimate, clustered_estimates, paired_difference
from .scores import METRICS, Counts, confusion, constant_accuracy

__all__ = ["HARDLY_LOOKS", "NEAR_CONSTANT", "ConstantCheck", "check_constant"]

NEAR_CONSTANT = 0.95
"""An answerer is nearly constant that gives one answer to this share of the questions or more."""

HARDLY_LOOKS = 0.55
"""Balanced accuracy of an answerer that is hardly better than a constant, whose is 0.5."""


@dataclass(frozen=True)
class ConstantCheck:
    """A run against the constant answer.

    Attributes:
        answer: The constant answer that is right more often, ``yes`` or ``no``.
        constant_accuracy: What it scores.
        accuracy: What the run scores.
        gain: The difference, question by question, with its interval.
        usual_answer: What the run says most often.
        usual_share: To what share of the questions.
        balanced_accuracy: Of the run; a constant answer's is 0.5.
        macro_f1: Of the run.
        constant_macro_f1: Of the constant answer.
        n: Questions.
    """

    answer: str
    constant_accuracy: float
    accuracy: float
    gain: Estimate
    usual_answer: str
    usual_share: float
    balanced_accuracy: Estimate
    macro_f1: float
    constant_macro_f1: float
    n: int

    @property
    def is_nearly_constant(self) -> bool:
        """Whether it gives one answer to nearly all questions."""
        return self.usual_share >= NEAR_CONSTANT

    @property
    def hardly_looks(self) -> bool:
        """Whether it is nearly constant, or its balanced accuracy may be as low as 0.55.

        An accuracy below that of a constant answer alone does not say so: where nearly all images
        show a person, a good model that misses a few is below, too.
        """
        balanced = self.balanced_accuracy
        low = balanced.interval[0] if balanced.interval else balanced.value
        return self.is_nearly_constant or (low is not None and low < HARDLY_LOOKS)

    @property
    def is_no_better(self) -> bool:
        """Whether the interval of the accuracy's gain over the constant answer does not clear 0."""
        low = self.gain.interval[0] if self.gain.interval else self.gain.value
        return low is None or low <= 0

    def warnings(self) -> tuple[str, ...]:
        """What a reader of the accuracy must know, a sentence each; none for who looks."""
        found = []
        if self.is_nearly_constant:
            found.append(
                f"says {self.usual_answer} to {self.usual_share:.1%} of {self.n:,} images: "
                "nearly a constant answer"
            )
        if self.is_no_better and self.hardly_looks:
            below = self.gain.interval is not None and self.gain.interval[1] < 0
            how = "below" if below else "not clearly above"
            found.append(
                f"its accuracy of {self.accuracy:.1%} is {how} the {self.constant_accuracy:.1%} "
                f"of answering always {self.answer} without looking "
                f"(macro-F1 {self.macro_f1:.1%} against {self.constant_macro_f1:.1%})"
            )
        return tuple(found)


def check_constant(
    truths: ArrayLike,
    outcomes: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike,
    times: NDArray[np.float64],
) -> ConstantCheck | None:
    """Hold a run against the better constant answer on the same questions.

    Args:
        truths: (N,) 0 or 1.
        outcomes: (N,) places in ``scores.OUTCOMES``.
        clusters: (N,) numbers below C.
        strata: (C,).
        times: (R, C), see :func:`..intervals.draw_clusters`.

    Returns:
        None where there is no question.
    """
    truth, outcome = np.asarray(truths), np.asarray(outcomes)
    if not len(truth):
        return None
    counts: Counts = confusion(truth, outcome)[0]
    best = int(counts.sum(axis=1).argmax())
    said = counts.sum(axis=0)[:2]
    usual = int(said.argmax())
    always = confusion(truth, np.full(len(truth), best))[0]
    difference = (outcome == truth).astype(float) - (truth == best)
    by_cluster = confusion(truth, outcome, clusters, len(np.asarray(strata)))[None]
    balanced = {"balanced_accuracy": METRICS["balanced_accuracy"]}
    (estimates,) = clustered_estimates(balanced, by_cluster, strata, times)
    return ConstantCheck(
        answer=("no", "yes")[best],
        constant_accuracy=float(constant_accuracy(counts)),
        accuracy=float(METRICS["accuracy"](counts)),
        gain=paired_difference(difference, clusters, strata, times),
        usual_answer=("no", "yes")[usual],
        usual_share=float(said[usual] / len(truth)),
        balanced_accuracy=estimates["balanced_accuracy"],
        macro_f1=float(METRICS["macro_f1"](counts)),
        constant_macro_f1=float(METRICS["macro_f1"](always)),
        n=len(truth),
    )
