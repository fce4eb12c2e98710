"""Models that answer a question about an image.

A model is a value: its name, the settings that determine its answers, and the function that
answers. :func:`make_model` builds one from what a user writes on the command line, as ``hog`` or
``hog:upscale=2``. Each model lives in its own module, imported when it is asked for.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = ["MODELS", "Answer", "AnswerError", "Model", "ModelError", "make_model"]


class ModelError(ValueError):
    """A model or a setting that does not exist; the message says what does."""


class AnswerError(Exception):
    """A model could not answer about one image; the message says why."""


@dataclass(frozen=True)
class Answer:
    """What a model said of an image.

    Attributes:
        text: Word for word.
        score: How sure it is that the answer is yes, on the model's own scale; None if it does not
            say.
        details: Anything else to keep with the answer, JSON values.
    """

    text: str
    score: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A model, ready to answer.

    Attributes:
        name: Its name in ``MODELS``.
        settings: Everything that its answers depend on besides image and question, JSON values.
        answer: (path of the image, question) -> answer. Raises AnswerError where it has none.
        packages: Names of the packages whose versions its answers depend on.
        label: The name with the settings that are not the default, as ``hog_upscale=2``; a file
            name on every system.
        note: What a reader of its scores must know, a sentence or two.
    """

    name: str
    settings: Mapping[str, Any]
    answer: Callable[[Path, str], Answer]
    packages: tuple[str, ...] = ()
    label: str = ""
    note: str = ""


MODELS = {
    "always-no": (".baselines", "make_always_no"),
    "always-yes": (".baselines", "make_always_yes"),
    "hog": (".hog", "make_hog"),
}
"""Model name -> the module here, and its function: settings as keywords -> :class:`Model`."""


def make_model(spec: str) -> Model:
    """Build the model that a user names.

    Args:
        spec: ``NAME`` or ``NAME:SETTING=NUMBER,...``.

    Raises:
        ModelError: The model or a setting does not exist, or a value is impossible.
    """
    name, _, rest = spec.partition(":")
    if name not in MODELS:
        raise ModelError(_unknown("model", name, MODELS))
    module, function = MODELS[name]
    make = getattr(importlib.import_module(module, __name__), function)
    defaults = make.__kwdefaults__ or {}
    settings = _settings(name, rest, defaults)
    changed = [f"{key}={v:g}" for key, v in sorted(settings.items()) if v != defaults[key]]
    model: Model = make(**settings)
    return replace(model, label="_".join([name, *changed]))


def _settings(name: str, text: str, defaults: Mapping[str, float]) -> dict[str, float]:
    """Read ``upscale=2,threshold=0.5`` against the defaults of a model."""
    settings: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if not defaults:
            raise ModelError(f"model {name} has no settings, found '{part}'")
        if key not in defaults:
            raise ModelError(_unknown(f"setting of {name}", key, defaults))
        try:
            settings[key] = type(defaults[key])(value)
        except ValueError:
            raise ModelError(
                f"{name}:{key} is '{value}': a number is needed, as in {name}:{key}={defaults[key]}"
            ) from None
    return settings


def _unknown(kind: str, name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"there is no {kind} '{name}'{hint} Known: {', '.join(known)}"
