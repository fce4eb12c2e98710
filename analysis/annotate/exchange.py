"""Answers as files: JSON Lines, CSV, and Label Studio's JSON, both ways.

Reading the same file twice adds nothing. An answer that contradicts one that is there is an error,
and nothing of the file is kept.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...addon.core.dataset import Dataset, write_file
from ..develop.table import with_variants
from . import label_studio
from .answers import AnswerRecord, read_answers, rounds_named
from .errors import AnnotateChoiceError, ReplyError
from .items import Item
from .store import KINDS, Store, add_items, check_round_name, clean_name, find_annotator
from .tables import AnswerRow, ItemRow, RoundRow, TrialRow
from .tasks import TASKS, Reply, Settings, check_reply, find_task
from .trials import new_trial, now

__all__ = ["FORMATS", "Imported", "export_answers", "import_answers"]

FORMATS = (".csv", ".json", ".jsonl")
_COLUMNS = [field.name for field in fields(AnswerRecord)]
_TEXT_MOST = 200  # of a name, a time, a stratum
_NESTED = ("conditions", "view")
# A spreadsheet takes what begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

Row = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """What reading a file did: answers added, and answers that were there already."""

    added: int
    there: int


def export_answers(
    dataset: Dataset, store: Store, path: Path, round_name: str | None = None
) -> int:
    """Write all answers that stand to a file, whole or not at all, and return how many.

    Args:
        dataset: What they are about.
        store: Where they are.
        path: Its ending says the format: ``.jsonl``, ``.csv``, or ``.json`` for Label Studio.
        round_name: Only of this round; None for all.

    Raises:
        AnnotateChoiceError: Another ending, or no such round.
    """
    write = {".jsonl": _as_jsonl, ".csv": _as_csv, ".json": None}
    if path.suffix not in write:
        raise AnnotateChoiceError(f"{path}: answers are written as {', '.join(FORMATS)}")
    rounds = rounds_named(store, round_name)
    answers = [answer for round_ in rounds for answer in read_answers(store, round_)]
    writer = write[path.suffix]
    if writer is None:
        text = label_studio.to_tasks(answers, with_variants(dataset))
    else:
        text = writer(answers)
    write_file(path, text.encode())
    return len(answers)


def import_answers(
    dataset: Dataset,
    store: Store,
    path: Path,
    *,
    by: str | None = None,
    round_name: str | None = None,
) -> Imported:
    """Read answers from a file that :func:`export_answers` or Label Studio wrote, all or nothing.

    Args:
        dataset: What they are about.
        store: Where they go.
        path: ``.jsonl``, ``.csv`` or ``.json`` (Label Studio).
        by: Who answered, where the rows do not say: ``human`` or ``simulated``.
        round_name: The round they go to, made if missing; default: the one that the rows name,
            or ``imported-TASK``.

    Raises:
        AnnotateChoiceError: A row is no answer, is about an image that the dataset has not, does
            not say who answered, or contradicts an answer that is there. The message names it.
    """
    if path.suffix not in FORMATS:
        raise AnnotateChoiceError(f"{path}: answers are read from {', '.join(FORMATS)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise AnnotateChoiceError(f"{path} is not UTF-8 text: {error}") from error
    read: Callable[[str], list[Row]] = {
        ".jsonl": _from_jsonl,
        ".csv": _from_csv,
        ".json": label_studio.from_export,
    }[path.suffix]
    try:
        rows = read(text)
    except (ValueError, csv.Error, RecursionError) as error:
        raise AnnotateChoiceError(f"{path}: {error}") from error
    known = with_variants(dataset)
    checked = []
    for number, row in enumerate(rows, 1):
        try:
            checked.append(_checked(row, known, by, round_name))
        except (AnnotateChoiceError, ReplyError, KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise AnnotateChoiceError(f"{path}, answer {number}: {what}") from error

    def work(session: Session) -> Imported:
        writer = _Writer(session)
        writer.prepare(checked)
        for number, (meta, item, reply) in enumerate(checked, 1):
            try:
                writer.add(meta, item, reply)
            except AnnotateChoiceError as error:
                raise AnnotateChoiceError(f"{path}, answer {number}: {error}") from error
        writer.flush()
        return Imported(writer.added, writer.there)

    return store.retrying(work)


# --- rows to a file ------------------------------------------------------------------------------


def _as_jsonl(answers: Iterable[AnswerRecord]) -> str:
    return "".join(
        json.dumps(asdict(a), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        for a in answers
    )


def _as_csv(answers: Iterable[AnswerRecord]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for answer in answers:
        row = asdict(answer)
        writer.writerow([_cell(name, row[name]) for name in _COLUMNS])
    return out.getvalue()


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if name in _NESTED:
        return json.dumps(value, sort_keys=True)
    text = str(value)
    if isinstance(value, str) and text.startswith((*_FORMULA, "'")):
        return f"'{text}"
    return text


# --- a file to rows ------------------------------------------------------------------------------


def _from_jsonl(text: str) -> list[Row]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is not a JSON object")
            rows.append(row)
    return rows


def _from_csv(text: str) -> list[Row]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    missing = {"annotator", "id", "variant", "value"} - set(reader.fieldnames or ())
    if missing:
        raise ValueError(f"the columns {', '.join(sorted(missing))} are missing")
    rows = []
    for row in reader:
        if None in row:
            raise ValueError(f"line {reader.line_num} has more cells than there are columns")
        rows.append({name: _value(name, cell) for name, cell in row.items() if name})
    return rows


def _value(name: str, cell: str | None) -> Any:
    if cell is None or cell == "":
        return None
    if name in _NESTED:
        return json.loads(cell)
    if name in ("catch", "interrupted"):
        if cell not in ("true", "false"):
            raise ValueError(f"{name} is true or false, not {cell!r}")
        return cell == "true"
    if name in ("confidence", "position", "replays", "showing", "shown_count", "undone"):
        return int(cell)
    if name in ("displayed_ms", "response_ms"):
        return float(cell)
    return cell.removeprefix("'")


@dataclass(frozen=True)
class _Meta:
    """What an answer says of itself beside the reply."""

    round: str
    task: str
    annotator: str
    by: str
    position: int | None
    showing: int
    answered_at: str
    conditions: dict[str, Any] | None


def _checked(
    row: Row, known: Mapping[str, Row], by: str | None, round_name: str | None
) -> tuple[_Meta, Item, Reply]:
    json.dumps(row, ensure_ascii=False, allow_nan=False).encode()  # no NaN, no half characters
    for name in ("answered_at", "role", "stratum", "annotator"):
        text = row.get(name)
        if text is not None and not (isinstance(text, str) and len(text) <= _TEXT_MOST):
            raise AnnotateChoiceError(f"{name} is a text of at most {_TEXT_MOST} characters")
    task = find_task(str(row.get("task") or "presence"))
    who = row.get("by") or by
    if who not in KINDS:
        raise AnnotateChoiceError(
            f"by is {who!r}: say who answered with --by human or --by simulated"
        )
    if by is not None and who != by:
        raise AnnotateChoiceError(f"the answer says that it is by a {who} annotator, not {by}")
    media_id, variant = str(row["id"]), str(row["variant"])
    index = known.get(media_id)
    record = index["media"].get(variant) if index else None
    if index is None or not isinstance(record, Mapping):
        raise AnnotateChoiceError(f"the dataset has no image {media_id} '{variant}'")
    settings = Settings(task.name, task.question, None, ())
    body = {name: value for name, value in row.items() if value is not None}
    body["showings"] = body.get("shown_count", 1)
    reply = check_reply(settings, body)
    showing = row.get("showing") or 0
    position = row.get("position")
    whole = position is None or (type(position) is int and 0 <= position < 1 << 31)
    if showing not in (0, 1) or not whole:
        raise AnnotateChoiceError("showing is 0 or 1, and position a whole number from 0")
    conditions = row.get("conditions")
    meta = _Meta(
        round=check_round_name(round_name or str(row.get("round") or f"imported-{task.name}")),
        task=task.name,
        annotator=clean_name(row["annotator"] or ""),
        by=who,
        position=position,
        showing=showing,
        answered_at=str(row.get("answered_at") or now()),
        conditions=dict(conditions) if isinstance(conditions, Mapping) else None,
    )
    catch = not index["target_present"]
    role, stratum = row.get("role"), row.get("stratum")
    item = Item(media_id, variant, index["view_id"], catch, role, stratum, record["sha256"])
    return meta, item, reply


class _Writer:
    """Puts answers into rounds, items and trials that are there or are made; a thousand at once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.added = self.there = 0
        self._rounds: dict[str, RoundRow] = {}
        self._items: dict[int, dict[tuple[str, str], int]] = {}
        self._annotators: dict[tuple[str, str], int] = {}
        self._orders: dict[tuple[int, int], _Order] = {}
        self._new: list[tuple[TrialRow, _Meta, Reply]] = []

    def prepare(self, answers: Iterable[tuple[_Meta, Item, Reply]]) -> None:
        """Make the rounds and items that are missing."""
        missing: dict[int, dict[tuple[str, str], Item]] = {}
        for meta, item, _ in answers:
            round_ = self._round(meta)
            if (item.media_id, item.variant) not in self._items[round_.id]:
                missing.setdefault(round_.id, {})[item.media_id, item.variant] = item
        for round_id, items in missing.items():
            add_items(self.session, round_id, list(items.values()), len(self._items[round_id]))
            self._items[round_id] = self._read_items(round_id)

    def add(self, meta: _Meta, item: Item, reply: Reply) -> None:
        round_ = self._round(meta)
        item_id = self._items[round_.id][item.media_id, item.variant]
        order = self._order(round_.id, self._annotator(meta))
        given = reply.value, reply.text, reply.confidence
        there = order.answers.get((item_id, meta.showing))
        if there is not None:
            if there != given:
                raise AnnotateChoiceError(
                    f"{meta.annotator} answered {item.media_id} '{item.variant}' with {there[0]!r} "
                    f"in round {meta.round}, the file says {reply.value!r}"
                )
            self.there += 1
            return
        order.answers[item_id, meta.showing] = given
        trial = order.trials.get((item_id, meta.showing))
        if trial is None:
            position = order.place(meta.position)
            values = new_trial(round_.id, order.annotator_id, position, item_id, meta.showing)
            trial = TrialRow(**values)
        trial.answered = True
        self._new.append((trial, meta, reply))
        self.added += 1
        if len(self._new) >= 1000:
            self.flush()

    def flush(self) -> None:
        self.session.add_all(trial for trial, _, _ in self._new)
        self.session.flush()
        self.session.add_all(
            AnswerRow(
                trial_id=trial.id,
                sitting_id=None,
                token=trial.token,
                value=reply.value,
                text=reply.text,
                confidence=reply.confidence,
                response_ms=reply.response_ms,
                displayed_ms=reply.displayed_ms,
                shown_count=reply.showings,
                replays=reply.replays,
                interrupted=reply.interrupted,
                view=None if reply.view is None else dict(reply.view),
                conditions=meta.conditions,
                answered_at=meta.answered_at,
                withdrawn_at=None,
            )
            for trial, meta, reply in self._new
        )
        self.session.flush()
        self._new = []

    def _round(self, meta: _Meta) -> RoundRow:
        if meta.round not in self._rounds:
            row = self.session.scalar(select(RoundRow).where(RoundRow.name == meta.round))
            if row is None:
                task = TASKS[meta.task]
                settings = Settings(task.name, task.question, None, (), repeats=0.0)
                row = RoundRow(
                    name=meta.round, task=task.name, settings=settings.as_row(), created_at=now()
                )
                self.session.add(row)
                self.session.flush()
            self._rounds[meta.round] = row
            self._items[row.id] = self._read_items(row.id)
        row = self._rounds[meta.round]
        if row.task != meta.task:
            raise AnnotateChoiceError(
                f"round {meta.round} is of task {row.task}, an answer of {meta.annotator} is of "
                f"{meta.task}"
            )
        return row

    def _read_items(self, round_id: int) -> dict[tuple[str, str], int]:
        wanted = select(ItemRow.media_id, ItemRow.variant, ItemRow.id)
        rows = self.session.execute(wanted.where(ItemRow.round_id == round_id))
        return {(media_id, variant): item_id for media_id, variant, item_id in rows}

    def _annotator(self, meta: _Meta) -> int:
        key = meta.annotator.casefold(), meta.by
        if key not in self._annotators:
            self._annotators[key] = find_annotator(self.session, meta.annotator, meta.by).id
        return self._annotators[key]

    def _order(self, round_id: int, annotator_id: int) -> _Order:
        key = round_id, annotator_id
        if key not in self._orders:
            own = TrialRow.round_id == round_id, TrialRow.annotator_id == annotator_id
            trials = {
                (row.item_id, row.showing): row
                for row in self.session.scalars(select(TrialRow).where(*own))
            }
            standing = self.session.execute(
                select(TrialRow.item_id, TrialRow.showing, AnswerRow)
                .join(AnswerRow, AnswerRow.trial_id == TrialRow.id)
                .where(*own, AnswerRow.withdrawn_at.is_(None))
            )
            answers = {
                (item_id, showing): (answer.value, answer.text, answer.confidence)
                for item_id, showing, answer in standing
            }
            self._orders[key] = _Order(annotator_id, trials, answers)
        return self._orders[key]


class _Order:
    """One annotator's trials in one round, by item and showing, and what they answered."""

    def __init__(
        self,
        annotator_id: int,
        trials: dict[tuple[int, int], TrialRow],
        answers: dict[tuple[int, int], tuple[str, str | None, int | None]],
    ) -> None:
        self.annotator_id = annotator_id
        self.trials = trials
        self.answers = answers
        self._taken = {row.position for row in trials.values()}
        self._end = max(self._taken, default=-1) + 1

    def place(self, wanted: int | None) -> int:
        """Return a place that is free: the wanted one, or the end."""
        place = wanted if wanted is not None and wanted not in self._taken else self._end
        self._taken.add(place)
        self._end = max(self._end, place + 1)
        return place
