"""Score and threshold against the number of parameters, beside the published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..metrics.intervals import Estimate
from ..metrics.published import load_published
from ..metrics.size_law import SizeLaw, fit_size_law
from ..models.known import load_known
from .answers import Answerer
from .results import Results

__all__ = ["SizePoint", "published_groups", "size_law", "size_points"]


@dataclass(frozen=True)
class SizePoint:
    """A model on the chart.

    Attributes:
        name: The run's label, or the published model's name.
        parameters_b: Thousand million parameters.
        model_class: ``small``, ``medium``, ``detector``, ``closed``, or empty.
        accuracy: On these images; None for a model that was only published.
        published: In percent at the nearest published distance, on other images.
    """

    name: str
    parameters_b: float
    model_class: str
    accuracy: Estimate | None
    published: float | None


def size_points(results: Results, people: Sequence[Answerer]) -> tuple[SizePoint, ...]:
    """Every model of known size: those that were run, and those that were published."""
    table = load_published()
    points = [
        SizePoint(
            known.name,
            known.parameters_b,
            known.model_class,
            None,
            table.models[known.name].accuracy[0],
        )
        for known in load_known()
        if known.parameters_b and known.name in table.models
    ]
    for one in people:
        score = results.find(one.label, results.truths[0])
        if one.kind == "model" and one.parameters_b and score:
            known_class = next(
                (str(a["known"]["model_class"]) for a in one.runs if a.get("known")), ""
            )
            estimate = score.estimates["accuracy"]
            points.append(SizePoint(one.label, one.parameters_b, known_class, estimate, None))
    return tuple(points)


def published_groups() -> dict[str, tuple[int, float]]:
    """Class -> how many published models, and their mean accuracy in percent at 5.4 m."""
    table = load_published()
    found = {}
    for name in table.groups:
        members = [
            table.models[known.name].accuracy[0]
            for known in load_known()
            if known.model_class == name and known.name in table.models
        ]
        found[name] = (len(members), sum(members) / len(members))
    return found


def size_law(points: Sequence[SizePoint]) -> SizeLaw | None:
    """The line through the models that were run; None for fewer than four, which make no law."""
    own = [(p.parameters_b, p.accuracy.value) for p in points if p.accuracy and p.accuracy.value]
    return fit_size_law([b for b, _ in own], [v for _, v in own]) if len(own) >= 4 else None
