"""What can go wrong when people are asked."""

from __future__ import annotations

__all__ = ["AnnotateChoiceError", "AnnotateError", "ReplyError"]


class AnnotateError(Exception):
    """Annotation cannot start or go on; the message says why and what to do."""


class AnnotateChoiceError(ValueError):
    """An option or a row that the user gave is wrong; the message says what is allowed."""


class ReplyError(ValueError):
    """An answer that the task does not allow; the message says what it does."""
