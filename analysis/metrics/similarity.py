"""Scores of an action named in a model's own words.

The published score is the cosine of two sentence embeddings, answer and right name, averaged over
all answers: **E5Score** with ``intfloat/e5-large-v2`` and no prefix. With any other embedder the
same number is called **EmbeddingScore**. Such cosines say little alone: E5's lie between 0.7 and 1
whatever is compared. So beside it stand the *chance-corrected* score (the right name against the
names of the other actions) and the accuracy of the *nearest action*, which first looks for accepted
wordings and abstains where two actions are equally near.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...addon.core.dataset import replacing
from ...addon.core.poses import load_poses

__all__ = [
    "E5",
    "MARGIN",
    "Embed",
    "NamedAction",
    "accepted_phrases",
    "cached",
    "chance_corrected",
    "embedding_scores",
    "lexical_actions",
    "nearest_actions",
    "score_title",
    "z_scores",
]

E5 = "intfloat/e5-large-v2"

MARGIN = 0.05
"""Two actions whose nearest phrases differ by less in cosine are equally near: abstain."""

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Floats = NDArray[np.float64]

_FILE = Path(__file__).with_name("phrases.toml")


@dataclass(frozen=True)
class NamedAction:
    """Which action an answer names.

    Attributes:
        action: None for an abstention.
        rule: ``phrase`` (it holds an accepted wording), ``nearest`` (by embedding), ``several`` (it
            names several), ``margin`` (two are equally near) or ``missing`` (no answer).
    """

    action: str | None
    rule: str


# --- the published score -------------------------------------------------------------------------


def score_title(embedder: str) -> str:
    """``E5Score`` for the published embedder, ``EmbeddingScore`` for every other."""
    return "E5Score" if embedder == E5 else "EmbeddingScore"


def embedding_scores(answers: Sequence[str | None], names: Sequence[str], embed: Embed) -> Floats:
    """The cosine of each answer with the name of its action, as published.

    No prefix, no change of case; a missing answer is the text ``None``, as it was there.

    Args:
        answers: (N,) as the model gave them.
        names: (N,) of the right actions, in words.
        embed: Texts -> unit vectors, see :func:`..embedding.load_embedder`.

    Returns:
        (N,).
    """
    texts = [str(answer) for answer in answers]
    vectors = _vectors([*texts, *names], embed)
    return np.array([vectors[a] @ vectors[n] for a, n in zip(texts, names, strict=True)], float)


def chance_corrected(
    answers: Sequence[str | None], names: Sequence[str], others: Sequence[str], embed: Embed
) -> Floats:
    """How much nearer an answer is to the right name than, on average, to the other actions' names.

    0 for an answer that says nothing of which action it is; in units of cosine.

    Args:
        answers: (N,).
        names: (N,) of the right actions, in words.
        others: The names of all actions.
        embed: See :func:`embedding_scores`.
    """
    texts = [str(answer) for answer in answers]
    vectors = _vectors([*texts, *names, *others], embed)
    table = {t: {o: float(vectors[t] @ vectors[o]) for o in {*others, *names}} for t in set(texts)}
    return np.array(
        [
            table[text][name] - np.mean([table[text][o] for o in others if o != name])
            for text, name in zip(texts, names, strict=True)
        ]
    )


def z_scores(means: ArrayLike) -> Floats:
    """Standardise models' mean scores within each distance.

    Args:
        means: (M, D) mean score of each model at each distance, nan where it has none.

    Returns:
        (M, D): (mean - mean over models) / standard deviation over models (of the sample); nan for
        a distance at which fewer than two models differ.
    """
    means = np.asarray(means, float)
    there = np.isfinite(means)
    n = there.sum(axis=0)
    centre = np.where(there, means, 0).sum(axis=0) / np.maximum(n, 1)
    spread = np.where(there, (means - centre) ** 2, 0).sum(axis=0) / np.maximum(n - 1, 1)
    spread = np.where((n > 1) & (spread > 0), np.sqrt(spread), np.nan)
    return np.asarray((means - centre) / spread)


# --- the nearest action --------------------------------------------------------------------------


@cache
def accepted_phrases() -> Mapping[str, tuple[str, ...]]:
    """Action -> wordings that count as naming it, its own name first.

    From the pose library and ``phrases.toml``.
    """
    more = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    found: dict[str, dict[str, None]] = {}
    for pose in load_poses().values():
        own = found.setdefault(pose.action, {pose.action.replace("_", " "): None})
        own.update(dict.fromkeys(pose.phrases))
    for action, table in more.items():
        found.setdefault(action, {}).update(dict.fromkeys(table["phrases"]))
    return {action: tuple(phrases) for action, phrases in found.items()}


@cache
def _weak_actions() -> frozenset[str]:
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return frozenset(action for action, table in tables.items() if table.get("weak"))


def lexical_actions(answer: str, phrases: Mapping[str, Sequence[str]]) -> set[str]:
    """The actions that an answer names in an accepted wording, in whole words.

    Longer wordings first: their words are used up, so that "walking stealthily" is no "walking".
    Weak actions (``phrases.toml``) count only where no other is named.
    """
    text = f" {_plain(answer)} "
    wordings = sorted(
        ((_plain(phrase), action) for action, all_of in phrases.items() for phrase in all_of),
        key=lambda pair: (-len(pair[0]), pair),
    )
    named = set()
    for phrase, action in wordings:
        if phrase and f" {phrase} " in text:
            named.add(action)
            text = text.replace(f" {phrase} ", " | ")
    return named - _weak_actions() or named


def nearest_actions(
    answers: Sequence[str | None],
    embed: Embed | None = None,
    *,
    phrases: Mapping[str, Sequence[str]] | None = None,
    margin: float = MARGIN,
) -> list[NamedAction]:
    """Say which action each answer names.

    Words first: an answer that holds accepted wordings of one action names it; of several, none.
    Only then the embedding: the action with the nearest phrase, if it is nearer than the next
    action by the margin.

    Args:
        answers: As the model gave them; None for no answer.
        embed: See :func:`embedding_scores`; None leaves answers without an accepted wording open.
        phrases: Action -> wordings, by default :func:`accepted_phrases`.
        margin: In cosine.
    """
    phrases = accepted_phrases() if phrases is None else phrases
    decided: dict[str, NamedAction] = {}
    open_texts = []
    for text in {answer for answer in answers if answer is not None and _plain(answer)}:
        named = lexical_actions(text, phrases)
        if len(named) == 1:
            decided[text] = NamedAction(named.pop(), "phrase")
        elif named:
            decided[text] = NamedAction(None, "several")
        elif embed is None:
            decided[text] = NamedAction(None, "margin")
        else:
            open_texts.append(text)
    if open_texts and embed is not None:
        decided.update(_nearest(sorted(open_texts), embed, phrases, margin))
    missing = NamedAction(None, "missing")
    return [missing if answer is None else decided.get(answer, missing) for answer in answers]


def _nearest(
    texts: Sequence[str], embed: Embed, phrases: Mapping[str, Sequence[str]], margin: float
) -> dict[str, NamedAction]:
    actions = list(phrases)
    wordings = [phrase for action in actions for phrase in phrases[action]]
    owner = np.array([number for number, action in enumerate(actions) for _ in phrases[action]])
    vectors = _vectors([*texts, *wordings], embed)
    cosines = np.stack([vectors[t] for t in texts]) @ np.stack([vectors[w] for w in wordings]).T
    best = np.stack([cosines[:, owner == k].max(axis=1) for k in range(len(actions))], axis=1)
    found = {}
    for text, row in zip(texts, best, strict=True):
        order = np.argsort(-row)
        if len(order) > 1 and row[order[0]] - row[order[1]] < margin:
            found[text] = NamedAction(None, "margin")
        else:
            found[text] = NamedAction(actions[int(order[0])], "nearest")
    return found


def _plain(text: str) -> str:
    """Lower case words with single spaces between, without marks."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("_", " ")
    return " ".join(re.findall(r"[^\W_]+(?:'[^\W_]+)?", text))


# --- embedding once ------------------------------------------------------------------------------


def _vectors(texts: Iterable[str], embed: Embed) -> dict[str, NDArray[np.float32]]:
    """Each different text's vector."""
    different = sorted(set(texts))
    return dict(zip(different, embed(different), strict=True)) if different else {}


def cached(embed: Embed, name: str, directory: Path) -> Embed:
    """Keep an embedder's vectors in a file, so that a text is embedded once.

    Args:
        embed: Is called for texts that the file does not hold.
        name: Of the embedder: another one has another file.
        directory: Where ``embeddings-NAME.npz`` lies; a damaged file is written anew.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", name)
    path = directory / f"embeddings-{safe}.npz"
    held = _read_vectors(path)

    def look_up(texts: Sequence[str]) -> NDArray[np.float32]:
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in held}
        if new:
            held.update(zip(new, np.asarray(embed(list(new.values())), np.float32), strict=True))
            with replacing(path) as partial, partial.open("wb") as file:
                order = sorted(held)
                np.savez(file, keys=np.array(order), vectors=np.stack([held[k] for k in order]))
        return np.stack([held[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)

    return look_up


def _read_vectors(path: Path) -> dict[str, NDArray[np.float32]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(zip(file["keys"].tolist(), file["vectors"], strict=True))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return {}
