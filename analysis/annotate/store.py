"""Every answer, kept once: rounds, annotators, trials and answers in SQLite or PostgreSQL.

An answer is in the database, synced, before anyone is told so. A trial is answered by its token:
sent twice, from two tabs or after a crash, it is kept once.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Engine, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from .errors import AnnotateChoiceError
from .items import Item
from .order import trial_order
from .tables import (
    AnnotatorRow,
    ItemRow,
    PauseRow,
    RoundRow,
    SittingRow,
    TrialRow,
)
from .tasks import Reply, Settings
from .trials import (
    Progress,
    Round,
    Sitting,
    State,
    Trial,
    find_trial,
    keep_answer,
    new_trial,
    now,
    progress_of,
    state_of,
    withdraw,
)

__all__ = ["KINDS", "Store", "add_items", "check_round_name", "clean_name", "find_annotator"]

_ROUND = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,59}")

KINDS = ("human", "simulated")
"""Who answers: people, or a program in their place."""

NAME_MOST = 60

T = TypeVar("T")


class Store:
    """The database. Each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._reader = engine.execution_options(limen_reads=True)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a transaction that writes nothing."""
        with Session(self._reader) as session:
            yield session

    def retrying(self, work: Callable[[Session], T]) -> T:
        """Do work in a transaction, again if someone else did the same at the same time."""
        for attempt in range(5):
            try:
                with Session(self.engine, expire_on_commit=False) as session, session.begin():
                    return work(session)
            except IntegrityError:
                if attempt == 4:
                    raise
        raise AssertionError

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    # --- rounds ----------------------------------------------------------------------------------

    def find_round(self, name: str) -> Round | None:
        """Return a round by its name."""
        with self.reading() as session:
            row = session.scalar(select(RoundRow).where(RoundRow.name == name))
            return None if row is None else _round(session, row)

    def rounds(self) -> list[Round]:
        """Return all rounds, the oldest first."""
        with self.reading() as session:
            rows = session.scalars(select(RoundRow).order_by(RoundRow.id)).all()
            return [_round(session, row) for row in rows]

    def add_round(self, name: str, settings: Settings, items: Sequence[Item]) -> Round:
        """Make a round, or return the one of this name that another process just made."""

        def work(session: Session) -> Round:
            row = session.scalar(select(RoundRow).where(RoundRow.name == name))
            if row is None:
                row = RoundRow(
                    name=name, task=settings.task, settings=settings.as_row(), created_at=now()
                )
                session.add(row)
                session.flush()
                add_items(session, row.id, items)
            return _round(session, row)

        return self.retrying(work)

    def items(self, round_id: int) -> list[Item]:
        """Return the images of a round."""
        with self.reading() as session:
            rows = session.scalars(
                select(ItemRow).where(ItemRow.round_id == round_id).order_by(ItemRow.number)
            )
            return [
                Item(r.media_id, r.variant, r.view_id, r.catch, r.role, r.stratum, r.sha256)
                for r in rows
            ]

    # --- annotators ------------------------------------------------------------------------------

    def sign_in(self, round_: Round, name: str, by: str) -> str:
        """Let someone in and return the secret of their sitting; their order is drawn on the first.

        Raises:
            AnnotateChoiceError: The name is none, or taken by the other kind.
        """
        name = clean_name(name)
        secret = secrets.token_urlsafe(32)

        def work(session: Session) -> None:
            annotator = find_annotator(session, name, by)
            self._draw_order(session, round_, annotator)
            session.add(
                SittingRow(
                    round_id=round_.id,
                    annotator_id=annotator.id,
                    secret_sha256=_sha256(secret),
                    csrf=secrets.token_urlsafe(24),
                    conditions=None,
                    opened_at=now(),
                    closed_at=None,
                )
            )

        self.retrying(work)
        return secret

    def _draw_order(self, session: Session, round_: Round, annotator: AnnotatorRow) -> None:
        drawn = session.scalar(
            select(TrialRow.id)
            .where(TrialRow.round_id == round_.id, TrialRow.annotator_id == annotator.id)
            .limit(1)
        )
        if drawn is not None:
            return
        items = session.execute(
            select(ItemRow.id, ItemRow.view_id)
            .where(ItemRow.round_id == round_.id)
            .order_by(ItemRow.number)
        ).all()
        settings = round_.settings
        order = trial_order(
            [item.view_id for item in items], settings.seed, annotator.key, settings.repeats
        )
        session.execute(
            insert(TrialRow),
            [
                new_trial(round_.id, annotator.id, position, items[item].id, showing)
                for position, (item, showing) in enumerate(order)
            ],
        )

    def sitting(self, secret: str, round_id: int) -> Sitting | None:
        """Return who has this secret, or None."""
        with self.reading() as session:
            row = session.execute(
                select(SittingRow, AnnotatorRow)
                .join(AnnotatorRow, AnnotatorRow.id == SittingRow.annotator_id)
                .where(
                    SittingRow.secret_sha256 == _sha256(secret),
                    SittingRow.round_id == round_id,
                    SittingRow.closed_at.is_(None),
                )
            ).first()
            if row is None:
                return None
            sitting, annotator = row
            return Sitting(
                sitting.id,
                annotator.id,
                annotator.name,
                annotator.by,
                sitting.csrf,
                sitting.conditions,
            )

    def set_conditions(self, sitting: Sitting, conditions: Mapping[str, Any]) -> None:
        """Keep how someone looks at the screen."""
        self.retrying(
            lambda session: session.execute(
                update(SittingRow)
                .where(SittingRow.id == sitting.id)
                .values(conditions=dict(conditions))
            )
        )

    def close_sitting(self, sitting: Sitting) -> None:
        """Sign someone out."""
        self.retrying(
            lambda session: session.execute(
                update(SittingRow).where(SittingRow.id == sitting.id).values(closed_at=now())
            )
        )

    # --- trials ----------------------------------------------------------------------------------

    def state(self, round_: Round, sitting: Sitting) -> State:
        """Return where an annotator is; the trial that waits counts as shown."""
        return self.retrying(lambda session: state_of(session, round_, sitting))

    def progress(self, round_: Round, sitting: Sitting) -> Progress:
        """Return how far someone is, and show nothing."""
        with self.reading() as session:
            return progress_of(session, round_, sitting)

    def trial(self, round_: Round, sitting: Sitting, token: str) -> Trial | None:
        """Return an annotator's own trial by its token."""
        with self.reading() as session:
            return find_trial(session, round_, sitting, token)

    def answer(
        self, round_: Round, sitting: Sitting, token: str, reply: Reply
    ) -> tuple[str, State]:
        """Keep an answer, once, and return what became of it and where the annotator is now.

        Returns:
            ``kept``; ``repeated`` where the same answer was there; ``first_kept`` where another
            was (from a second tab), or the trial was undone since: nothing is changed; ``unknown``
            where the token is of no trial of this annotator.
        """

        def work(session: Session) -> tuple[str, State]:
            outcome = keep_answer(session, round_, sitting, token, reply)
            session.flush()
            return outcome, state_of(session, round_, sitting)

        return self.retrying(work)

    def undo(self, round_: Round, sitting: Sitting, token: str) -> tuple[str, State]:
        """Take back an annotator's last answer; its trial comes again, with a new token.

        Returns:
            ``undone``, also where it already was; ``not_last`` where another answer came after it;
            ``unknown`` where the token is of no answer of this annotator. And where they are now.
        """

        def work(session: Session) -> tuple[str, State]:
            outcome = withdraw(session, round_, sitting, token)
            session.flush()
            return outcome, state_of(session, round_, sitting)

        return self.retrying(work)

    def pause(self, sitting: Sitting, began: bool) -> None:
        """Keep that a break began or ended; a second beginning is none."""

        def work(session: Session) -> None:
            is_open = PauseRow.sitting_id == sitting.id, PauseRow.ended_at.is_(None)
            found = session.scalar(select(PauseRow).where(*is_open).limit(1))
            if began and found is None:
                session.add(PauseRow(sitting_id=sitting.id, began_at=now(), ended_at=None))
            elif not began and found is not None:
                found.ended_at = now()

        self.retrying(work)


# --- also used by imports ------------------------------------------------------------------------


def clean_name(name: str) -> str:
    """Return an annotator's name without surrounding space.

    Raises:
        AnnotateChoiceError: It is empty, too long or cannot be printed.
    """
    name = " ".join(name.split())
    if not 0 < len(name) <= NAME_MOST or not name.isprintable():
        raise AnnotateChoiceError(f"a name has 1 to {NAME_MOST} characters that can be printed")
    return name


def check_round_name(name: str) -> str:
    """Return a round's name.

    Raises:
        AnnotateChoiceError: It is none.
    """
    if not _ROUND.fullmatch(name):
        raise AnnotateChoiceError(
            f"round {name[:80]!r}: 1 to 60 letters, digits and _ . + - name a round"
        )
    return name


def find_annotator(session: Session, name: str, by: str) -> AnnotatorRow:
    """Return an annotator, added if new.

    Raises:
        AnnotateChoiceError: The name is one of the other kind.
    """
    if by not in KINDS:
        raise AnnotateChoiceError(f"answers are by {' or '.join(KINDS)}, not by {by!r}")
    row = session.scalar(select(AnnotatorRow).where(AnnotatorRow.key == name.casefold()))
    if row is None:
        row = AnnotatorRow(name=name, key=name.casefold(), by=by, created_at=now())
        session.add(row)
        session.flush()
    elif row.by != by:
        raise AnnotateChoiceError(
            f"'{row.name}' is the name of a {row.by} annotator here; "
            f"people and programs are never mixed: choose another name for the {by} one"
        )
    return row


def add_items(session: Session, round_id: int, items: Sequence[Item], first: int = 0) -> None:
    """Add images to a round."""
    if items:
        session.execute(
            insert(ItemRow),
            [
                {"round_id": round_id, "number": number, **vars(item)}
                for number, item in enumerate(items, first)
            ],
        )


# --- internals -----------------------------------------------------------------------------------


def _round(session: Session, row: RoundRow) -> Round:
    count = select(func.count()).select_from(ItemRow).where(ItemRow.round_id == row.id)
    return Round(row.id, row.name, Settings.from_row(row.settings), session.scalar(count) or 0)


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
