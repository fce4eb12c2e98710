"""Models that answer questions about images.

A model is a value: its name, the settings that determine its answers, and the function that
answers. :func:`make_model` builds one from what a user writes on the command line, as ``hog``,
``hog:upscale=2`` or ``hf:ORG/NAME,dtype=bfloat16``. Each kind lives in its own module, imported
when it is asked for; weights are loaded with the first question.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .known import KnownModel, find_known

if TYPE_CHECKING:
    from ..conversation import Conversation, Item

__all__ = [
    "KINDS",
    "MODELS",
    "Access",
    "Answer",
    "AnswerError",
    "Model",
    "ModelError",
    "UnusableModelError",
    "known_model",
    "make_model",
]


class ModelError(ValueError):
    """A model or a setting that does not exist; the message says what does."""


class AnswerError(Exception):
    """A model could not answer about one image; the message says why."""


class UnusableModelError(Exception):
    """A model cannot answer at all (no key, no such model, no memory): asking on is pointless."""


@dataclass(frozen=True)
class Answer:
    """What a model said.

    Attributes:
        text: Word for word.
        score: How sure it is that the answer is yes, on the model's own scale; None if it does not
            say.
        details: Anything else to keep with the answer, JSON values.
        refused: The model, or who serves it, declined, whatever the text says.
    """

    text: str
    score: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    refused: bool = False


Outcome = Answer | AnswerError

_LABEL_MOST = 100


@dataclass(frozen=True)
class Model:
    """A model, ready to answer.

    A model that looks at one image and one question gives ``answer``. One that holds conversations,
    or wants several at once, gives ``ask``.

    Attributes:
        name: Its name in ``MODELS``, or ``KIND:NAME``.
        settings: Everything that its answers depend on besides image and question, JSON values.
        answer: (path of the image, question) -> answer. Raises AnswerError where it has none.
        packages: Names of the packages whose versions its answers depend on.
        label: The name with the settings that are not the default, as ``hog_upscale=2``; a file
            name on every system.
        note: What a reader of its scores must know, a sentence or two.
        ask: Conversations -> an answer, or an AnswerError, for each. Raises UnusableModelError.
        prepare: Bytes of an image -> what ``ask`` finds in ``Conversation.loaded``; called ahead,
            in another thread.
        tasks: Names of the tasks that it can answer, None for every task.
        only: Whether it can be asked about an item, None for every item.
        depends: What else its answer about an item depends on, a JSON value; None for nothing.
        batch: How many conversations it takes at once.
        workers: How many threads may ask it at once.
        runtime: Settings that do not change answers; each session records them.
        close: Gives memory and connections back.
        remake: Makes it again, in another process.
    """

    name: str
    settings: Mapping[str, Any]
    answer: Callable[[Path, str], Answer] | None = None
    packages: tuple[str, ...] = ()
    label: str = ""
    note: str = ""
    ask: Callable[[Sequence[Conversation]], Sequence[Outcome]] | None = None
    prepare: Callable[[bytes], Any] | None = None
    tasks: tuple[str, ...] | None = None
    only: Callable[[Item], bool] | None = None
    depends: Callable[[Item], Any] | None = None
    batch: int = 1
    workers: int = 1
    runtime: Mapping[str, Any] = field(default_factory=dict)
    close: Callable[[], None] | None = None
    remake: Callable[[], Model] | None = None


@dataclass(frozen=True)
class Access:
    """How models are reached: what is no part of their name.

    Attributes:
        base_url: Of an OpenAI-compatible server.
        key_env: The environment variable that holds its key.
        trust_remote_code: Whether code that comes with weights may run.
        published_compat: Repeat the published settings where they differ from everybody's.
    """

    base_url: str | None = None
    key_env: str = "OPENAI_API_KEY"
    trust_remote_code: bool = False
    published_compat: bool = False


MODELS = {
    "always-no": (".baselines", "make_always_no"),
    "always-yes": (".baselines", "make_always_yes"),
    "hog": (".hog", "make_hog"),
    "human": (".judges", "make_human"),
    "observer": (".judges", "make_observer"),
    "oracle-area": (".oracles", "make_area"),
    "oracle-luminance": (".oracles", "make_luminance"),
}
"""Model name -> the module here, and its function: settings as keywords -> :class:`Model`."""

KINDS = {
    "hf": (".huggingface", "make_hf", "ORG/NAME or a directory"),
    "hf-detect": (".detectors", "make_hf_detector", "ORG/NAME or a directory"),
    "onnx": (".onnx", "make_onnx", "FILE"),
    "openai": (".openai", "make_openai", "NAME"),
    "yolo": (".detectors", "make_yolo", "FILE"),
}
"""Kind -> module, function: (target, access, settings as keywords) -> Model, and what follows."""


def make_model(spec: str, access: Access | None = None) -> Model:
    """Build the model that a user names.

    Args:
        spec: ``NAME``, ``NAME:SETTING=VALUE,...`` or ``KIND:TARGET,SETTING=VALUE,...``. The setting
            ``label`` names the run.
        access: How servers are reached and what is allowed.

    Raises:
        ModelError: The model or a setting does not exist, or a value is impossible.
    """
    access = access or Access()
    name, _, rest = spec.partition(":")
    if name in KINDS:
        module, function, what = KINDS[name]
        target, _, rest = rest.partition(",")
        if not target:
            raise ModelError(f"'{spec}' names no model: {name}:{what} is needed")
        full = f"{name}:{target}"
        make: Any = getattr(importlib.import_module(module, __name__), function)
        make_it: Any = partial(make, target, access)
        first = f"{name}-{Path(target.rstrip('/')).name}"
    elif name in MODELS:
        module, function = MODELS[name]
        make = getattr(importlib.import_module(module, __name__), function)
        make_it, full, first = make, name, name
    else:
        known = [*MODELS, *(f"{kind}:{what}" for kind, (*_, what) in KINDS.items())]
        raise ModelError(_unknown("model", spec, known))
    defaults = dict(make.__kwdefaults__ or {})
    given, label = _settings(name, rest, defaults)
    if access.published_compat:
        given = {**_published(full, defaults), **given}
    model: Model = make_it(**{**defaults, **given})
    named = {key: v for key, v in given.items() if v != defaults[key] and key not in model.runtime}
    changed = [f"{key}={_text(v)}" for key, v in sorted(named.items())]
    note = model.note
    if access.published_compat:
        note = " ".join(filter(None, (note, _published_note(full, given))))
    label = label or _label("_".join([first, *changed]))
    return replace(model, label=label, note=note, remake=partial(make_model, spec, access))


def known_model(model: Model) -> KnownModel | None:
    """What ``known.toml`` says of a model, None where it does not know it."""
    return find_known(model.name)


def whole(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Refuse a setting outside its range.

    Raises:
        ModelError: It is.
    """
    if not low <= value <= high:
        most = f" to {high:g}" if math.isfinite(high) else " or more"
        raise ModelError(f"{name} is {value:g}: {low:g}{most} is allowed")


def one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Refuse a setting that is none of some.

    Raises:
        ModelError: It is not.
    """
    if value not in known:
        raise ModelError(f"{name} is '{value}': one of {', '.join(known)} is allowed")


def _label(text: str) -> str:
    """A name of a directory on every system, and not too long for one."""
    label = re.sub(r"[^A-Za-z0-9._=+-]+", "-", text)
    if len(label) <= _LABEL_MOST:
        return label
    return f"{label[:_LABEL_MOST]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _published_note(full: str, given: Mapping[str, Any]) -> str:
    known = find_known(full)
    if known is None:
        return ""
    told = [f"{k}={v}" for k, v in known.published.items() if given.get(k) == v]
    note = f"With the published settings where they differ: {', '.join(told) or 'none'}."
    if "not_repeated" in known.published:
        what = known.published["not_repeated"]
        note += f" The published evaluation gave it {what}; here it got none."
    return note


def _published(full: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    known = find_known(full)
    return {k: v for k, v in known.published.items() if k in defaults} if known else {}


def _settings(
    name: str, text: str, defaults: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """Read ``upscale=2,threshold=0.5`` against the defaults of a model, and a label."""
    settings: dict[str, Any] = {}
    label = None
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if key == "label":
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,99}", value) or "__" in value:
                raise ModelError(
                    f"label is '{value}': letters, digits and . _ = + - are allowed, no __"
                )
            label = value
            continue
        if not defaults:
            raise ModelError(f"model {name} has no settings, found '{part}'")
        if key not in defaults:
            raise ModelError(_unknown(f"setting of {name}", key, list(defaults)))
        settings[key] = _value(f"{name}:{key}", value, defaults[key])
    return settings, label


def _value(name: str, value: str, default: Any) -> Any:
    if isinstance(default, str):
        return value
    try:
        return type(default)(value)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise ModelError(f"{name} is '{value}': {kind} is needed, as in {name}={default}") from None


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _unknown(kind: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"there is no {kind} '{name}'{hint} Known: {', '.join(known)}"
