"""The trials of one annotator: which comes next, what became of an answer.

Each function works inside a transaction of the caller's.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from .tables import AnswerRow, ItemRow, TrialRow
from .tasks import Reply, Settings

__all__ = [
    "Progress",
    "Round",
    "Sitting",
    "State",
    "Trial",
    "find_trial",
    "keep_answer",
    "new_token",
    "new_trial",
    "now",
    "progress_of",
    "state_of",
    "withdraw",
]


@dataclass(frozen=True)
class Round:
    """A round of annotation.

    Attributes:
        id: Its key.
        name: As on the command line.
        settings: What it fixes.
        items: How many images it is about.
    """

    id: int
    name: str
    settings: Settings
    items: int


@dataclass(frozen=True)
class Sitting:
    """Someone who is signed in.

    Attributes:
        id: Its key.
        annotator_id: Who.
        annotator: Their name.
        by: ``human`` or ``simulated``.
        csrf: What a request that changes something has to carry.
        conditions: How they look at the screen, None until they said so.
    """

    id: int
    annotator_id: int
    annotator: str
    by: str
    csrf: str
    conditions: Mapping[str, Any] | None


@dataclass(frozen=True)
class Trial:
    """An image that waits for an answer; ``token`` names it to the browser, nothing else does."""

    id: int
    token: str
    position: int
    shown_count: int
    media_id: str
    variant: str
    sha256: str | None


@dataclass(frozen=True)
class Progress:
    """How far an annotator is.

    Attributes:
        done: Trials answered.
        total: Trials in all, repeats included.
        undo: The token of the last answer, None where there is none to take back.
    """

    done: int
    total: int
    undo: str | None


@dataclass(frozen=True)
class State:
    """Where an annotator is.

    Attributes:
        trial: What waits for an answer, None at the end.
        next: What comes then.
        progress: How far they are.
    """

    trial: Trial | None
    next: Trial | None
    progress: Progress


def now() -> str:
    """Return the time as the database keeps it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_trial(
    round_id: int, annotator_id: int, position: int, item_id: int, showing: int
) -> dict[str, Any]:
    """Return the values of a trial that was not shown yet."""
    return {
        "round_id": round_id,
        "annotator_id": annotator_id,
        "position": position,
        "item_id": item_id,
        "showing": showing,
        "token": new_token(),
        "shown_at": None,
        "shown_count": 0,
        "answered": False,
    }


def new_token() -> str:
    """Return a name that nobody can guess."""
    return secrets.token_urlsafe(18)


def find_trial(session: Session, round_: Round, sitting: Sitting, token: str) -> Trial | None:
    """Return an annotator's own trial by its token."""
    row = session.execute(
        select(TrialRow, ItemRow)
        .join(ItemRow, ItemRow.id == TrialRow.item_id)
        .where(TrialRow.token == token, *_own(round_, sitting))
    ).first()
    return None if row is None else _trial(*row)


def state_of(session: Session, round_: Round, sitting: Sitting) -> State:
    """Return where an annotator is; the trial that waits counts as shown."""
    rows = session.execute(
        select(TrialRow, ItemRow)
        .join(ItemRow, ItemRow.id == TrialRow.item_id)
        .where(*_own(round_, sitting), TrialRow.answered.is_(False))
        .order_by(TrialRow.position)
        .limit(2)
    ).all()
    if rows:
        shown = rows[0].TrialRow
        shown.shown_count += 1
        shown.shown_at = shown.shown_at or now()
    trials = [*(_trial(trial, item) for trial, item in rows), None, None]
    return State(trials[0], trials[1], progress_of(session, round_, sitting))


def progress_of(session: Session, round_: Round, sitting: Sitting) -> Progress:
    """Return how far an annotator is."""
    rows = session.execute(
        select(TrialRow.answered, func.count())
        .where(*_own(round_, sitting))
        .group_by(TrialRow.answered)
    )
    counts = {answered: count for answered, count in rows}
    return Progress(
        done=counts.get(True, 0),
        total=sum(counts.values()),
        undo=_last_token(session, round_, sitting),
    )


def keep_answer(session: Session, round_: Round, sitting: Sitting, token: str, reply: Reply) -> str:
    """Keep an answer, once.

    Returns:
        ``kept``; ``repeated`` where the same answer was there; ``first_kept`` where another was
        (from a second tab), or the trial was undone since: nothing is changed; ``unknown`` where
        the token is of no trial of this annotator.
    """
    trial = session.scalar(
        select(TrialRow).where(TrialRow.token == token, *_own(round_, sitting)).with_for_update()
    )
    there = session.scalar(
        select(AnswerRow)
        .join(TrialRow, TrialRow.id == AnswerRow.trial_id)
        .where(AnswerRow.token == token, *_own(round_, sitting))
    )
    if there is not None:
        given = (reply.value, reply.text, reply.confidence)
        same = (there.value, there.text, there.confidence) == given
        return "repeated" if same and there.withdrawn_at is None else "first_kept"
    if trial is None:
        return "unknown"
    session.add(
        AnswerRow(
            trial_id=trial.id,
            sitting_id=sitting.id,
            token=token,
            value=reply.value,
            text=reply.text,
            confidence=reply.confidence,
            response_ms=reply.response_ms,
            displayed_ms=reply.displayed_ms,
            shown_count=max(0, trial.shown_count - 1) + max(1, reply.showings),
            replays=reply.replays,
            interrupted=reply.interrupted,
            view=None if reply.view is None else dict(reply.view),
            conditions=None,
            answered_at=now(),
            withdrawn_at=None,
        )
    )
    trial.answered = True
    return "kept"


def withdraw(session: Session, round_: Round, sitting: Sitting, token: str) -> str:
    """Take back an annotator's last answer; its trial comes again, with a new token.

    Returns:
        ``undone``, also where it already was; ``not_last`` where another answer came after it;
        ``unknown`` where the token is of no answer of this annotator.
    """
    row = session.execute(
        select(AnswerRow, TrialRow)
        .join(TrialRow, TrialRow.id == AnswerRow.trial_id)
        .where(AnswerRow.token == token, *_own(round_, sitting))
        .with_for_update()
    ).first()
    if row is None:
        return "unknown"
    answer, trial = row
    if answer.withdrawn_at is not None:
        return "undone"
    if _last_token(session, round_, sitting) != token:
        return "not_last"
    answer.withdrawn_at = now()
    trial.answered = False
    trial.token = new_token()
    return "undone"


def _own(round_: Round, sitting: Sitting) -> tuple[ColumnElement[bool], ...]:
    return TrialRow.round_id == round_.id, TrialRow.annotator_id == sitting.annotator_id


def _trial(trial: TrialRow, item: ItemRow) -> Trial:
    return Trial(
        id=trial.id,
        token=trial.token,
        position=trial.position,
        shown_count=trial.shown_count,
        media_id=item.media_id,
        variant=item.variant,
        sha256=item.sha256,
    )


def _last_token(session: Session, round_: Round, sitting: Sitting) -> str | None:
    """The token of the last answer: trials are answered in their order, so it is the furthest."""
    return session.scalar(
        select(AnswerRow.token)
        .join(TrialRow, TrialRow.id == AnswerRow.trial_id)
        .where(
            *_own(round_, sitting), TrialRow.answered.is_(True), AnswerRow.withdrawn_at.is_(None)
        )
        .order_by(TrialRow.position.desc())
        .limit(1)
    )
