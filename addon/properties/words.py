"""Texts in the language of the interface that are put together from a sentence and values.

Blender translates a whole text where it draws it. What carries a number or a name of the user's is
translated here first, as a sentence with ``{}`` in it, and then filled in. Faults of a study, of a
dataset or of files are told in English everywhere: they name keys of a file, and a batch prints
them too.
"""

from bpy.app.translations import pgettext_iface

__all__ = ["marked", "translated"]


def translated(sentence: str, *values: object) -> str:
    """Return a sentence in the interface's language, its ``{}`` filled in with values."""
    text: str = pgettext_iface(sentence)
    return text.format(*values) if values else text


def marked(text: str) -> str:
    """Return a text as it is: one that :func:`translated` is given later, by a variable."""
    return text
