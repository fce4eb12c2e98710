"""Prompts: versioned data, the published ones word for word."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Prompt", "TaskError", "find_prompt", "load_prompts"]

_FILE = Path(__file__).with_name("prompts.toml")


class TaskError(ValueError):
    """A task, setting or prompt that does not exist; the message says which do."""


@dataclass(frozen=True)
class Prompt:
    """What a task asks.

    Attributes:
        task: The task's name.
        name: Its own.
        version: Grows when its wording changes.
        text: With ``{fields}`` where the task fills something in.
        source: Where the wording comes from.
        system: A system prompt, None for none.
    """

    task: str
    name: str
    version: int
    text: str
    source: str
    system: str | None = None

    def about(self) -> dict[str, Any]:
        """What a run records of it."""
        return {
            "name": self.name,
            "version": self.version,
            "text": self.text,
            "system": self.system,
        }


def load_prompts(path: Path | None = None) -> tuple[Prompt, ...]:
    """Read a file of prompts, by default the embedded one.

    Raises:
        TaskError: It cannot be read, or a prompt is not as ``prompts.toml`` has it.
    """
    return _load(path or _FILE)


@cache
def _load(path: Path) -> tuple[Prompt, ...]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["prompt"]
        prompts = tuple(Prompt(**{**table, "text": table["text"].strip("\n")}) for table in tables)
        for p in prompts:
            texts = (p.task, p.name, p.text, p.source, p.system or "")
            if not (all(isinstance(x, str) for x in texts) and type(p.version) is int):
                raise TypeError("version is a whole number and all else is text")
            if not p.text.strip():
                raise TypeError(f"the text of {p.name} is empty")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TaskError(
            f"{path} is no file of prompts ({error}): it holds [[prompt]] with task, name, "
            "version, source, text and, if wanted, system"
        ) from None
    return prompts


def find_prompt(task: str, name: str, path: Path | None = None) -> Prompt:
    """Return a task's prompt, in its newest version.

    Raises:
        TaskError: There is none.
    """
    known = {
        p.name: p for p in sorted(load_prompts(path), key=lambda p: p.version) if p.task == task
    }
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        there = f"Known: {', '.join(known)}" if known else f"{path or _FILE} has none for it"
        raise TaskError(f"the task {task} has no prompt '{name}'{hint} {there}")
    return known[name]
