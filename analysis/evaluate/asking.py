"""Putting questions to a model: images read ahead, several at once, several turns."""

from __future__ import annotations

import hashlib
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ..conversation import Conversation, Item, Media, Turn
from ..models import Answer, AnswerError, Model
from ..tasks import Reading, Task

__all__ = ["Job", "Result", "ask", "replay"]

_READERS = 2
_POLL_S = 0.2


@dataclass(frozen=True)
class Job:
    """A question to be put.

    Attributes:
        number: Which of the runs it belongs to.
        task: What is asked.
        item: About what.
        request: Hash of all that its answer depends on.
    """

    number: int
    task: Task
    item: Item
    request: str


@dataclass(frozen=True)
class Result:
    """How a question ended.

    Attributes:
        job: The question.
        reading: What was read of the answers.
        texts: The answers, a text for each turn that got one.
        answer: The last answer, None where there is none.
        error: Why there is none.
        seconds: From the first turn to the last answer.
    """

    job: Job
    reading: Reading
    texts: tuple[str, ...]
    answer: Answer | None
    error: str | None
    seconds: float


def ask(model: Model, jobs: Iterable[Job]) -> Generator[Result, None, None]:
    """Put every question, and yield how each ended, in any order.

    Images are read and verified ahead, in other threads, while the model works.

    Raises:
        UnusableModelError: The model cannot answer at all.
    """
    ahead = 2 * model.batch + 2 * model.workers
    with ThreadPoolExecutor(_READERS, "limen-read") as readers:
        opened = _open_ahead(model, jobs, readers, ahead)
        try:
            if model.workers > 1:
                yield from _ask_at_once(model, opened)
            else:
                while batch := list(islice(opened, model.batch)):
                    yield from _converse(model, batch)
        finally:
            readers.shutdown(wait=False, cancel_futures=True)


def replay(task: Task, item: Item, texts: Sequence[str]) -> Reading:
    """Read recorded answers again, as by another parser.

    Raises:
        ValueError: The task asks more than there are answers.
    """
    dialogue = task.dialogue(item)
    next(dialogue)
    try:
        for text in texts:
            dialogue.send(text)
    except StopIteration as end:
        reading: Reading = end.value
        return reading
    raise ValueError(f"{task.name} asks for more answers than were recorded")


# --- reading ahead -------------------------------------------------------------------------------


@dataclass
class _Open:
    """A dialogue whose next turn is known."""

    job: Job
    dialogue: Generator[Turn, str, Reading]
    conversation: Conversation
    seconds: float = 0.0
    texts: list[str] = field(default_factory=list)
    answer: Answer | None = None
    problem: str | None = None


def _open_ahead(
    model: Model, jobs: Iterable[Job], readers: ThreadPoolExecutor, ahead: int
) -> Iterator[_Open]:
    """Begin dialogues in order, with the media of their first turn read."""
    waiting: deque[tuple[_Open, list[tuple[Media, Future[Any]]]]] = deque()
    last: tuple[str, Future[Any]] | None = None
    iterator = iter(jobs)
    while True:
        for job in islice(iterator, ahead - len(waiting)):
            dialogue = job.task.dialogue(job.item)
            turn = next(dialogue)
            reads = []
            for media in turn.media:
                # Questions about one image follow each other: it is read once.
                if last is None or last[0] != media.sha256:
                    last = media.sha256, readers.submit(_load, model, media)
                reads.append((media, last[1]))
            system = job.task.prompt.system
            waiting.append((_Open(job, dialogue, Conversation(job.item, system, (turn,))), reads))
        if not waiting:
            return
        opened, reads = waiting.popleft()
        try:
            loaded = {media.sha256: read.result() for media, read in reads}
            opened.conversation = replace(opened.conversation, loaded=loaded)
        except AnswerError as error:
            opened.problem = str(error)
        yield opened


def _load(model: Model, media: Media) -> Any:
    try:
        data = media.path.read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() != media.sha256:
        raise AnswerError("the image is missing, or not the one that the dataset records")
    return data if model.prepare is None else model.prepare(data)


# --- turns ---------------------------------------------------------------------------------------


def _converse(model: Model, batch: Sequence[_Open]) -> list[Result]:
    """Lead some dialogues to their end, turn by turn together."""
    results = [_failed(one, one.problem) for one in batch if one.problem is not None]
    going = [one for one in batch if one.problem is None]
    while going:
        begun = time.perf_counter()
        outcomes = _outcomes(model, [one.conversation for one in going])
        seconds = time.perf_counter() - begun
        still = []
        for one, outcome in zip(going, outcomes, strict=True):
            one.seconds += seconds
            if isinstance(outcome, Answer) and not math.isfinite(outcome.score or 0):
                outcome = AnswerError(f"its score is {outcome.score}, which is no number")
            if isinstance(outcome, AnswerError):
                results.append(_failed(one, str(outcome)))
            elif (result := _advance(model, one, outcome)) is not None:
                results.append(result)
            else:
                still.append(one)
        going = still
    return results


def _advance(model: Model, one: _Open, answer: Answer) -> Result | None:
    """Send an answer into its dialogue; the result where that was the last turn."""
    one.texts.append(answer.text)
    one.answer = answer
    if answer.refused:
        return Result(one.job, Reading("refused"), tuple(one.texts), answer, None, one.seconds)
    try:
        turn = one.dialogue.send(answer.text)
    except StopIteration as end:
        return Result(one.job, end.value, tuple(one.texts), answer, None, one.seconds)
    loaded = dict(one.conversation.loaded)
    try:
        for media in turn.media:
            if media.sha256 not in loaded:
                loaded[media.sha256] = _load(model, media)
    except AnswerError as error:
        return _failed(one, str(error))
    one.conversation = replace(
        one.conversation,
        turns=(*one.conversation.turns, turn),
        answers=tuple(one.texts),
        loaded=loaded,
    )
    return None


def _failed(one: _Open, problem: str) -> Result:
    return Result(one.job, Reading("error"), tuple(one.texts), one.answer, problem, one.seconds)


def _outcomes(model: Model, asked: list[Conversation]) -> Sequence[Answer | AnswerError]:
    if model.ask is not None:
        return model.ask(asked)
    if model.answer is None:
        raise TypeError(f"{model.name} has neither answer nor ask")
    outcomes: list[Answer | AnswerError] = []
    for conversation in asked:
        try:
            media = conversation.turns[-1].media or conversation.turns[0].media
            if len(conversation.turns) > 1 or len(media) != 1:
                raise AnswerError("it answers one question about one image, and this is more")
            outcomes.append(model.answer(media[0].path, conversation.question))
        except AnswerError as error:
            outcomes.append(error)
    return outcomes


# --- many at once --------------------------------------------------------------------------------


def _ask_at_once(model: Model, opened: Iterator[_Open]) -> Iterator[Result]:
    """Put questions from several threads; how many wait for answers is the model's to decide.

    The threads are daemons: when the caller stops, nobody waits for a server that hangs.
    """
    todo: queue.Queue[_Open | None] = queue.Queue(model.workers)
    done: queue.Queue[list[Result] | BaseException] = queue.Queue()

    def work() -> None:
        while (one := todo.get()) is not None:
            try:
                done.put(_converse(model, [one]))
            except BaseException as error:
                done.put(error)

    threads = [
        threading.Thread(target=work, name=f"limen-ask-{i}", daemon=True)
        for i in range(model.workers)
    ]
    for thread in threads:
        thread.start()
    asked = finished = 0
    more = True
    while more or finished < asked:
        while more and asked - finished < model.workers:
            one = next(opened, None)
            if one is None:
                more = False
            else:
                todo.put(one)
                asked += 1
        try:
            results = done.get(timeout=_POLL_S) if asked > finished else []
        except queue.Empty:  # so that Ctrl-C is heard
            continue
        if isinstance(results, BaseException):
            raise results
        finished += bool(results)
        yield from results
    for _ in threads:
        todo.put(None)
