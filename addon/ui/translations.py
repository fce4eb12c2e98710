"""Limen's texts in other languages: Blender shows them where its interface is in that language.

``data/zh_hans.toml`` maps each English text to Simplified Chinese. Texts that carry numbers or
names of the user's are put together in English.
"""

import tomllib
from pathlib import Path

import bpy

__all__ = ["register", "unregister"]

_FILES = {"zh_HANS": Path(__file__).parent.parent / "data" / "zh_hans.toml"}
_CONTEXTS = ("*", "Operator")  # Blender looks the names of operators up by themselves


def register() -> None:
    """Add the translations."""
    texts = {}
    for language, path in _FILES.items():
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        texts[language] = {
            (context, english): other for english, other in said.items() for context in _CONTEXTS
        }
    bpy.app.translations.register(__package__, texts)


def unregister() -> None:
    """Remove them."""
    bpy.app.translations.unregister(__package__)
