"""What a paid run will cost, said before it begins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..models import AnswerError, Model, known_model
from .asking import Job

__all__ = ["Cost", "Prices", "estimate_cost"]

_CHARACTERS_A_TOKEN = 4
_TOKENS_OUT = 5
# OpenAI's published rule for pictures: fitted into 2048, then the shorter side to 768, then squares
# of 512; 85 tokens and 170 a square unless a model says otherwise.
_FIT, _SHORT, _TILE = 2048, 768, 512
_DEFAULT_TOKENS = {"base": 85, "tile": 170}


@dataclass(frozen=True)
class Prices:
    """US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float


@dataclass(frozen=True)
class Cost:
    """An estimate.

    Attributes:
        questions: How many will be put.
        tokens_in: To the model.
        tokens_out: From it.
        dollars: At the prices given.
        basis: What it is estimated from, in words.
    """

    questions: int
    tokens_in: int
    tokens_out: int
    dollars: float
    basis: str


def estimate_cost(
    model: Model, jobs: Sequence[Job], prices: Prices, measured: Sequence[tuple[int, int]] = ()
) -> Cost:
    """Estimate what some questions cost.

    Args:
        model: Who is asked.
        jobs: What is asked.
        prices: For tokens.
        measured: (tokens in, tokens out) of answers that this model gave already to such questions:
            the best guide where there are any.
    """
    if measured:
        each_in = sum(n for n, _ in measured) / len(measured)
        each_out = sum(n for _, n in measured) / len(measured)
        basis = f"the mean of {len(measured):,} answers that are there"
    else:
        each_in, each_out = _guess(model, jobs[0]) if jobs else (0.0, 0.0)
        basis = "a rule of thumb for text and pictures; a run with --limit 1 measures it"
    tokens_in, tokens_out = round(each_in * len(jobs)), round(each_out * len(jobs))
    dollars = (tokens_in * prices.tokens_in + tokens_out * prices.tokens_out) / 1e6
    return Cost(len(jobs), tokens_in, tokens_out, dollars, basis)


def _guess(model: Model, job: Job) -> tuple[float, float]:
    from ..models.pictures import pixel_size

    known = known_model(model)
    rule = (known.image_tokens if known else None) or _DEFAULT_TOKENS
    turn = next(job.task.dialogue(job.item))
    tokens = len(turn.text) / _CHARACTERS_A_TOKEN
    for media in turn.media:
        try:
            width, height = pixel_size(media.path.read_bytes())
        except (OSError, AnswerError):
            continue
        scale = min(1.0, _FIT / max(width, height))
        scale *= min(1.0, _SHORT / (scale * min(width, height)))
        tiles = math.ceil(scale * width / _TILE) * math.ceil(scale * height / _TILE)
        tokens += rule["base"] + rule["tile"] * tiles
    return tokens, _TOKENS_OUT
