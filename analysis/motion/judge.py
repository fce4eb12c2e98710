"""A language model says how well a text names an action; each score is kept.

The prompt is a file with ``{action}``, ``{description}`` and ``{text}`` in it. A reply counts where
it is a whole number from 0 to 10, alone or as ``{"score": 7}``; anything else is asked once more
and then kept as no score.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...addon.core.dataset import append_table, read_table
from .clip import MotionError

__all__ = [
    "DEFAULT_PROMPT",
    "Judge",
    "JudgeError",
    "make_judge",
    "parse_score",
    "read_prompt",
    "score",
]

DEFAULT_PROMPT = Path(__file__).parent / "score_prompt.txt"
_FIELDS = ("action", "description", "text")
_SCORE = re.compile(r"\s*(10|\d)\s*\.?\s*")
_ASKED_MOST = 2

Judge = Callable[[str], str]
Row = dict[str, Any]


class JudgeError(Exception):
    """The language model cannot be asked; the message says why."""


def read_prompt(path: Path) -> str:
    """Read a prompt and check that it has its three fields.

    Raises:
        MotionError: It is missing or lacks a field.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MotionError(f"the prompt {path} cannot be read: {error.strerror}") from error
    missing = [name for name in _FIELDS if f"{{{name}}}" not in text]
    if missing:
        raise MotionError(
            f"the prompt {path} lacks {', '.join(f'{{{name}}}' for name in missing)}: they are "
            "replaced by the action's name, its description and the segment's text"
        )
    return text


def parse_score(reply: str) -> int | None:
    """Read a score of 0 to 10; None for anything else."""
    if match := _SCORE.fullmatch(reply):
        return int(match[1])
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0 or reply[:start].strip(" \n`json") or reply[end + 1 :].strip(" \n`"):
        return None
    try:
        found = json.loads(reply[start : end + 1])
    except (ValueError, RecursionError):
        return None
    value = found.get("score") if isinstance(found, dict) else None
    return value if type(value) is int and 0 <= value <= 10 else None


def score(
    questions: Iterable[Mapping[str, str]],
    prompt: str,
    judge: Judge,
    judge_name: str,
    cache: Path,
) -> Iterator[Row]:
    """Score each question, asking only what the cache does not have.

    Args:
        questions: Each with ``action``, ``description`` and ``text``.
        prompt: See the module.
        judge: Prompt -> reply.
        judge_name: Model and settings: another one's scores are not taken.
        cache: A JSON Lines file, appended to as replies come.

    Yields:
        Rows ``{key, action, text, score, reply}``; ``score`` is None where no reply was one.

    Raises:
        JudgeError: From the judge. What was scored before is kept.
    """
    known = {row["key"]: row for row in read_table(cache)} if cache.is_file() else {}
    for question in questions:
        filled = prompt
        for name in _FIELDS:
            filled = filled.replace(f"{{{name}}}", question[name])
        key = hashlib.sha256(f"{judge_name}\n{filled}".encode()).hexdigest()[:24]
        if key not in known:
            replies: list[str] = []
            found = None
            while found is None and len(replies) < _ASKED_MOST:
                replies.append(judge(filled))
                found = parse_score(replies[-1])
            row = {
                "key": key,
                "judge": judge_name,
                "action": question["action"],
                "text": question["text"],
                "score": found,
                "reply": replies[-1][:500],
            }
            append_table(cache, [row])
            known[key] = row
        yield known[key]


def make_judge(spec: str, base_url: str | None) -> Judge:
    """Build the judge that a user names: ``openai:NAME`` or ``hf:ORG/NAME``.

    Raises:
        MotionError: There is no such kind of model.
        JudgeError: It cannot be loaded.
    """
    kind, _, name = spec.partition(":")
    if kind == "openai" and name:
        return _openai_judge(name, base_url)
    if kind == "hf" and name:
        return _transformers_judge(name)
    raise MotionError(
        f"there is no language model '{spec}': openai:NAME asks an OpenAI-compatible server "
        "(--base-url), hf:ORG/NAME or hf:DIRECTORY a transformers model on this machine"
    )


def _openai_judge(name: str, base_url: str | None) -> Judge:
    import os

    try:
        import openai
    except ImportError:
        raise JudgeError("openai is not installed: pip install 'limen[models]'") from None
    if base_url is None and not os.environ.get("OPENAI_API_KEY"):
        raise JudgeError("OPENAI_API_KEY is not set; a server of your own is named by --base-url")
    # A server of one's own asks for no key, but the client insists on one.
    client = openai.OpenAI(
        base_url=base_url,
        api_key=os.environ.get("OPENAI_API_KEY", "none"),
        timeout=120,
        max_retries=5,
    )

    def ask(prompt: str) -> str:
        try:
            reply = client.chat.completions.create(
                model=name,
                messages=[{"role": "user", "content": prompt}],
                temperature=0,
                max_tokens=16,
            )
        except openai.OpenAIError as error:
            raise JudgeError(
                f"{_named(name, base_url)} does not answer ({type(error).__name__}). What it has "
                "answered is kept: the same command goes on"
            ) from error
        return (reply.choices[0].message.content or "") if reply.choices else ""

    return ask


def _named(name: str, base_url: str | None) -> str:
    """Name a model and where it is asked, without what may be secret in an address."""
    host = re.sub(r"^(\w+://)?([^@/]*@)?([^/?#]*).*$", r"\3", base_url) if base_url else "OpenAI"
    return f"{name} at {host}"


def _transformers_judge(name: str) -> Judge:
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise JudgeError("transformers is not installed: pip install 'limen[models]'") from None
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name)
        model: Any = AutoModelForCausalLM.from_pretrained(name)
        model.eval()
    except (OSError, ValueError) as error:
        raise JudgeError(f"the language model {name} cannot be loaded: {error}") from error

    def ask(prompt: str) -> str:
        if tokenizer.chat_template:
            ids = tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}],
                add_generation_prompt=True,
                return_tensors="pt",
                return_dict=True,
            )
        else:
            ids = tokenizer(prompt, return_tensors="pt")
        with torch.inference_mode():
            out = model.generate(**ids, max_new_tokens=16, do_sample=False)
        return str(tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True))

    return ask
