"""The models of the published evaluation: their size, their class and how each is run here."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["CLASSES", "KnownModel", "find_known", "load_known", "table_of_known"]

CLASSES = ("detector", "small", "medium", "closed")


@dataclass(frozen=True)
class KnownModel:
    """An entry of ``known.toml``.

    Attributes:
        name: As published.
        run: What ``--model`` takes.
        model_class: One of ``CLASSES``.
        parameters_b: Thousand million parameters that its makers name, None where they do not.
        remote_code: Whether its code is not in transformers.
        how: What a user must know.
        published: Settings of the published evaluation that differ from everybody's.
        image_tokens: What a picture costs a hosted model: ``base`` and, for each 512 px tile,
            ``tile``.
    """

    name: str
    run: str
    model_class: str
    parameters_b: float | None = None
    remote_code: bool = False
    how: str = ""
    published: Mapping[str, Any] = field(default_factory=dict)
    image_tokens: Mapping[str, int] | None = None


@cache
def load_known() -> tuple[KnownModel, ...]:
    """Return the published models, in the order of their table."""
    text = Path(__file__).with_name("known.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)["model"]
    return tuple(
        KnownModel(model_class=table["class"], **{k: v for k, v in table.items() if k != "class"})
        for table in tables
    )


def find_known(name: str) -> KnownModel | None:
    """Return the known model that a model's name stands for, ``KIND:TARGET`` or its last part.

    A local copy counts: ``hf:/models/gemma-3-4b-it`` is ``hf:google/gemma-3-4b-it``.
    """
    kind, _, target = name.partition(":")
    last = Path(target.rstrip("/")).name
    for known in load_known():
        known_kind, _, known_target = known.run.partition(":")
        if last and last == Path(known_target).name and kind in (known_kind, "openai"):
            return known
    return None


def table_of_known() -> str:
    """Return the table of docs/models.md."""
    lines = [
        "| model | parameters | class | `--model` | what to know | published settings |",
        "|---|---|---|---|---|---|",
    ]
    for known in load_known():
        size = f"{known.parameters_b:g} B" if known.parameters_b else "not told"
        differ = [f"`{k}={v}`" for k, v in known.published.items() if k != "not_repeated"]
        if known.published.get("not_repeated"):
            differ.append(f"{known.published['not_repeated']} (not repeated)")
        cells = (
            known.name,
            size,
            known.model_class,
            f"`{known.run}`",
            known.how,
            ", ".join(differ),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
