"""Reading the answers of a round: one row per answer that stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from .errors import AnnotateChoiceError
from .store import Store
from .tables import AnnotatorRow, AnswerRow, ItemRow, SittingRow, TrialRow
from .trials import Round

__all__ = ["AnswerRecord", "read_answers", "rounds_named"]


@dataclass(frozen=True)
class AnswerRecord:
    """One answer, and what it is about. The fields are the columns of an export.

    Attributes:
        round: The round's name.
        task: The round's task.
        annotator: Who answered.
        by: ``human`` or ``simulated``.
        id: The media item.
        variant: Which of its images was shown.
        view_id: Its view.
        catch: Nobody is there.
        role: ``train``, ``test`` or None.
        stratum: From the sample, or None.
        position: In this annotator's order, from 0.
        showing: 0, or 1 where the image came a second time.
        value: The answer.
        text: What was typed.
        confidence: 1 to 5.
        response_ms: From the image on the screen to the answer.
        displayed_ms: How long the image was on the screen.
        shown_count: How often it was shown before the answer: more than once after a reload, a
            break or an undo.
        replays: How often a clip started again.
        interrupted: A break or another tab came between.
        undone: How often an earlier answer was taken back.
        view: How it was shown (``tasks.Reply.view``).
        conditions: How the annotator looked at the screen.
        answered_at: UTC.
    """

    round: str
    task: str
    annotator: str
    by: str
    id: str
    variant: str
    view_id: str
    catch: bool
    role: str | None
    stratum: str | None
    position: int
    showing: int
    value: str
    text: str | None
    confidence: int | None
    response_ms: float | None
    displayed_ms: float | None
    shown_count: int
    replays: int
    interrupted: bool
    undone: int
    view: dict[str, Any] | None
    conditions: dict[str, Any] | None
    answered_at: str


def read_answers(store: Store, round_: Round) -> Iterator[AnswerRecord]:
    """Read the answers of a round that stand, by annotator and in their order."""
    undone = (
        select(AnswerRow.trial_id, func.count().label("n"))
        .where(AnswerRow.withdrawn_at.is_not(None))
        .group_by(AnswerRow.trial_id)
        .subquery()
    )
    wanted = (
        select(AnswerRow, TrialRow, ItemRow, AnnotatorRow, SittingRow.conditions, undone.c.n)
        .join(TrialRow, TrialRow.id == AnswerRow.trial_id)
        .join(ItemRow, ItemRow.id == TrialRow.item_id)
        .join(AnnotatorRow, AnnotatorRow.id == TrialRow.annotator_id)
        .outerjoin(SittingRow, SittingRow.id == AnswerRow.sitting_id)
        .outerjoin(undone, undone.c.trial_id == TrialRow.id)
        .where(TrialRow.round_id == round_.id, AnswerRow.withdrawn_at.is_(None))
        .order_by(AnnotatorRow.id, TrialRow.position)
    )
    with store.reading() as session:
        for answer, trial, item, annotator, conditions, taken_back in session.execute(wanted):
            yield AnswerRecord(
                round=round_.name,
                task=round_.settings.task,
                annotator=annotator.name,
                by=annotator.by,
                id=item.media_id,
                variant=item.variant,
                view_id=item.view_id,
                catch=item.catch,
                role=item.role,
                stratum=item.stratum,
                position=trial.position,
                showing=trial.showing,
                value=answer.value,
                text=answer.text,
                confidence=answer.confidence,
                response_ms=answer.response_ms,
                displayed_ms=answer.displayed_ms,
                shown_count=answer.shown_count,
                replays=answer.replays,
                interrupted=answer.interrupted,
                undone=taken_back or 0,
                view=answer.view,
                conditions=conditions or answer.conditions,
                answered_at=answer.answered_at,
            )


def rounds_named(store: Store, name: str | None) -> list[Round]:
    """Return the round of a name, or all.

    Raises:
        AnnotateChoiceError: There is no such round, or none at all.
    """
    rounds = store.rounds()
    chosen = [round_ for round_ in rounds if name in (None, round_.name)]
    if not chosen:
        there = ", ".join(round_.name for round_ in rounds)
        raise AnnotateChoiceError(
            f"there is no round '{name}'; there are {there}"
            if rounds
            else "nobody was asked yet: limen annotate DATASET starts a round"
        )
    return chosen
