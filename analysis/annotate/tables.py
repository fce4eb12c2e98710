"""The database of annotation: its tables, for SQLite and PostgreSQL.

Times are UTC as ISO 8601 text with milliseconds: both databases keep and sort them alike.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

__all__ = [
    "SCHEMA_VERSION",
    "AnnotatorRow",
    "AnswerRow",
    "Base",
    "ItemRow",
    "MetaRow",
    "PauseRow",
    "RoundRow",
    "SittingRow",
    "TrialRow",
]

SCHEMA_VERSION = "1"


class Base(DeclarativeBase):
    """The tables' registry."""

    type_annotation_map = {dict[str, Any]: JSON}


class MetaRow(Base):
    """Facts about the database: its ``schema`` and the ``dataset`` that it belongs to."""

    __tablename__ = "limen_meta"
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


class RoundRow(Base):
    """A round of annotation: a task, its settings and the items it is about, all frozen."""

    __tablename__ = "limen_round"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    task: Mapped[str]
    settings: Mapped[dict[str, Any]]
    created_at: Mapped[str]


class ItemRow(Base):
    """One image of a round: a media item in a variant, with the hash of what is to be shown."""

    __tablename__ = "limen_item"
    __table_args__ = (UniqueConstraint("round_id", "media_id", "variant"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("limen_round.id"))
    number: Mapped[int]
    media_id: Mapped[str]
    variant: Mapped[str]
    view_id: Mapped[str]
    catch: Mapped[bool]
    role: Mapped[str | None]
    stratum: Mapped[str | None]
    sha256: Mapped[str | None]


class AnnotatorRow(Base):
    """Someone who answers; ``by`` says whether it is a person (human) or a program (simulated)."""

    __tablename__ = "limen_annotator"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    key: Mapped[str] = mapped_column(unique=True)  # the name in small letters
    by: Mapped[str]
    created_at: Mapped[str]


class SittingRow(Base):
    """A time that an annotator is signed in, and the conditions under which they look."""

    __tablename__ = "limen_sitting"
    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("limen_round.id"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("limen_annotator.id"))
    secret_sha256: Mapped[str] = mapped_column(unique=True)  # of the cookie
    csrf: Mapped[str]
    conditions: Mapped[dict[str, Any] | None]
    opened_at: Mapped[str]
    closed_at: Mapped[str | None]


class PauseRow(Base):
    """A break."""

    __tablename__ = "limen_pause"
    id: Mapped[int] = mapped_column(primary_key=True)
    sitting_id: Mapped[int] = mapped_column(ForeignKey("limen_sitting.id"), index=True)
    began_at: Mapped[str]
    ended_at: Mapped[str | None]


class TrialRow(Base):
    """One image in one annotator's order.

    ``showing`` is 0, or 1 where the image comes a second time. The token names the trial until it
    is undone: whatever answers it, however often, answers it once.
    """

    __tablename__ = "limen_trial"
    __table_args__ = (
        UniqueConstraint("round_id", "annotator_id", "position"),
        UniqueConstraint("round_id", "annotator_id", "item_id", "showing"),
        Index("limen_trial_next", "round_id", "annotator_id", "answered", "position"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("limen_round.id"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("limen_annotator.id"))
    position: Mapped[int]
    item_id: Mapped[int] = mapped_column(ForeignKey("limen_item.id"))
    showing: Mapped[int]
    token: Mapped[str] = mapped_column(unique=True)
    shown_at: Mapped[str | None]
    shown_count: Mapped[int]
    answered: Mapped[bool]


_STANDS = text("withdrawn_at IS NULL")


class AnswerRow(Base):
    """An answer. Undoing withdraws it and keeps the row; a trial has one answer that stands."""

    __tablename__ = "limen_answer"
    __table_args__ = (
        Index(
            "limen_answer_stands",
            "trial_id",
            unique=True,
            sqlite_where=_STANDS,
            postgresql_where=_STANDS,
        ),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("limen_trial.id"), index=True)
    sitting_id: Mapped[int | None] = mapped_column(ForeignKey("limen_sitting.id"))
    token: Mapped[str] = mapped_column(unique=True)
    value: Mapped[str]
    text: Mapped[str | None]
    confidence: Mapped[int | None]
    response_ms: Mapped[float | None]
    displayed_ms: Mapped[float | None]
    shown_count: Mapped[int]
    replays: Mapped[int]
    interrupted: Mapped[bool]
    view: Mapped[dict[str, Any] | None]
    conditions: Mapped[dict[str, Any] | None]  # of an imported answer, which has no sitting
    answered_at: Mapped[str]
    withdrawn_at: Mapped[str | None]
