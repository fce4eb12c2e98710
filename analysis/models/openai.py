"""Models behind any OpenAI-compatible server: hosted, vLLM, llama.cpp, transformers serve.

A server may be slow, busy, broken or gone. Every question ends in an answer or in an error that
says why: after retries that back off and obey ``Retry-After``, within a time for each attempt and
one for the whole. How many questions wait at once grows while the server keeps up and halves when
it does not. The key comes from the environment and is cut out of everything that is kept.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import os
import random
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ..conversation import Conversation
from . import (
    Access,
    Answer,
    AnswerError,
    Model,
    ModelError,
    Outcome,
    UnusableModelError,
    one_of,
    whole,
)
from .huggingface import require
from .pictures import data_uri

__all__ = ["make_openai"]

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_HOPELESS = frozenset({401, 402, 403, 404})
_FIRST_AT_ONCE = 4
_LONGEST_WAIT_S = 60.0
_NO_ADDRESS = "(no address)"
_MOST_TOKENS = 10**12  # more is no count; a table of answers would not hold it
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SECRET_LENGTH = 6  # shorter ones are placeholders, and would be found in every word


def make_openai(
    target: str,
    access: Access,
    *,
    max_new_tokens: int = 512,
    temperature: str = "0",
    seed: int = 42,
    detail: str = "high",
    squash: int = 0,
    jpeg_quality: int = 0,
    tokens_key: str = "max_tokens",
    concurrency: int = 16,
    retries: int = 6,
    backoff_s: float = 0.5,
    timeout_s: float = 120.0,
    patience_s: float = 600.0,
) -> Model:
    """Make the model of a server.

    Args:
        target: The model's name there.
        access: ``base_url``, and ``key_env`` for the key; a server that wants none needs none.
        max_new_tokens: The longest answer.
        temperature: A number, or ``none`` to leave it to the server.
        seed: Sent along; servers may ignore it.
        detail: How closely the server is asked to look: ``high``, ``low``, ``auto`` or ``none`` to
            leave it out.
        squash: Side of a square that the picture is squeezed into, 0 for full resolution.
        jpeg_quality: Send a JPEG of this quality; 0 sends the dataset's own PNG.
        tokens_key: ``max_tokens``, or ``max_completion_tokens`` for servers that want that.
        concurrency: At most so many questions at once.
        retries: At most so many attempts after the first.
        backoff_s: The wait after the first attempt, where the server names none; it doubles.
        timeout_s: For an attempt, from its start to the last byte.
        patience_s: For a question, with all its attempts and waits.

    Raises:
        ModelError: A setting is impossible, or there is no address.
    """
    name = f"openai:{target}"
    require("openai", by="openai:", extra="models")
    one_of(f"{name} detail", detail, ("high", "low", "auto", "none"))
    one_of(f"{name} tokens_key", tokens_key, ("max_tokens", "max_completion_tokens"))
    whole(f"{name} max_new_tokens", max_new_tokens, 1, 1_000_000)
    whole(f"{name} concurrency", concurrency, 1, 1024)
    whole(f"{name} retries", retries, 0, 100)
    whole(f"{name} squash", squash, 0, 8192)
    whole(f"{name} jpeg_quality", jpeg_quality, 0, 100)
    waits = (("backoff_s", backoff_s), ("timeout_s", timeout_s), ("patience_s", patience_s))
    for key, seconds in waits:
        whole(f"{name} {key}", seconds, 0.001, 86400)
    degrees = _temperature(name, temperature)
    base_url = access.base_url or os.environ.get("OPENAI_BASE_URL")
    if not base_url:
        raise ModelError(
            f"{name} needs the address of its server: --base-url http://127.0.0.1:8000/v1, or "
            "--base-url https://api.openai.com/v1 for OpenAI's"
        )
    if not re.fullmatch(r"https?://[^/\s]+\S*", base_url) or _public_url(base_url) == _NO_ADDRESS:
        raise ModelError(
            f"--base-url is '{_public_url(base_url)}': http://... or https://... is needed"
        )
    parts = urlsplit(base_url)
    if parts.username or parts.password or parts.query:
        # A log of the network's library would show them.
        raise ModelError(
            f"--base-url {_public_url(base_url)} has a user, a password or a query: keys come from "
            f"the environment, here from {access.key_env} (--key-env)"
        )
    settings = {
        # A server of one's own gets another port each time, and is the same server.
        "server": "this machine" if parts.hostname in _LOOPBACK else _public_url(base_url),
        "max_new_tokens": max_new_tokens,
        "temperature": degrees,
        "seed": seed,
        "detail": detail,
        "squash": squash,
        "jpeg_quality": jpeg_quality,
    }
    runtime = {
        "base_url": _public_url(base_url),
        "concurrency": concurrency,
        "retries": retries,
        "timeout_s": timeout_s,
        "patience_s": patience_s,
    }
    parameters: dict[str, Any] = {"model": target, tokens_key: max_new_tokens, "seed": seed}
    if degrees is not None:
        parameters["temperature"] = degrees
    server = _Server(
        base_url,
        _key(access.key_env),
        access.key_env,
        parameters,
        detail,
        _Limits(concurrency, retries, backoff_s, timeout_s, patience_s),
    )
    return Model(
        name,
        settings,
        packages=("openai",),
        ask=server.ask,
        prepare=lambda data: data_uri(data, squash, jpeg_quality),
        workers=concurrency,
        runtime=runtime,
        close=server.close,
    )


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"the key in {variable} holds characters that no key has")
    return key or "none"


def _temperature(name: str, text: str) -> float | None:
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise ModelError(f"{name} temperature is '{text}': 0 to 2, or none, is allowed")
    return value


def _public_url(url: str) -> str:
    """An address without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return _NO_ADDRESS
    return urlunsplit((parts.scheme, f"{host}{port}", parts.path.rstrip("/"), "", ""))


# --- the server ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Limits:
    concurrency: int
    retries: int
    backoff_s: float
    timeout_s: float
    patience_s: float


@dataclass
class _Gate:
    """How many questions may wait at once: one more after as many answers, half after trouble."""

    most: int
    allowed: float = float(_FIRST_AT_ONCE)
    waiting: int = 0
    closed_until: float = 0.0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.allowed = min(self.allowed, float(self.most))

    async def enter(self) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.waiting < int(self.allowed))
            self.waiting += 1
        while (wait := self.closed_until - time.monotonic()) > 0:
            await asyncio.sleep(wait)

    async def leave(self) -> None:
        async with self.changed:
            self.waiting -= 1
            self.changed.notify_all()

    async def keeps_up(self) -> None:
        async with self.changed:
            self.allowed = min(self.most, self.allowed + 1 / self.allowed)
            self.changed.notify_all()

    def lags(self, wait_s: float | None) -> None:
        self.allowed = max(1.0, self.allowed / 2)
        if wait_s is not None:  # a rate limit holds for all
            self.closed_until = max(self.closed_until, time.monotonic() + wait_s)


class _Retry(Exception):
    """An attempt failed in a way that another may not; how long the server asked to wait."""

    def __init__(self, why: str, wait_s: float | None = None, busy: bool = False) -> None:
        self.wait_s = wait_s
        self.busy = busy
        super().__init__(why)


class _Declined(Exception):
    """The server's filter stopped the question."""


class _Server:
    """A connection to a server, with a thread of its own for it."""

    def __init__(
        self,
        base_url: str,
        key: str,
        key_env: str,
        parameters: Mapping[str, Any],
        detail: str,
        limits: _Limits,
    ) -> None:
        self._base_url = base_url
        self._key = key
        self._key_env = key_env
        self._parameters = parameters
        self._detail = detail
        self._limits = limits
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Any = None
        self._gate: _Gate | None = None
        self._lock = threading.Lock()

    def ask(self, asked: Sequence[Conversation]) -> list[Outcome]:
        with self._lock:
            if self._loop is None:
                self._start()
        loop = self._loop
        if loop is None:
            raise RuntimeError("the server's thread did not start")
        futures = [asyncio.run_coroutine_threadsafe(self._answer(c), loop) for c in asked]
        return [future.result() for future in futures]

    def close(self) -> None:
        """End what still waits; the next question connects anew."""
        with self._lock:
            loop, self._loop = self._loop, None
            if loop is None:
                return

        client = self._client

        async def end() -> None:
            waiting = asyncio.all_tasks(loop) - {asyncio.current_task()}
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            await client.close()
            loop.stop()

        asyncio.run_coroutine_threadsafe(end(), loop)

    def _start(self) -> None:
        import openai

        loop = asyncio.new_event_loop()

        def serve() -> None:
            loop.run_forever()
            loop.close()

        threading.Thread(target=serve, name="limen-openai", daemon=True).start()

        async def connect() -> None:
            self._gate = _Gate(self._limits.concurrency)
            self._client = openai.AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key,
                max_retries=0,
                timeout=self._limits.timeout_s,
            )

        asyncio.run_coroutine_threadsafe(connect(), loop).result()
        self._loop = loop

    # --- a question ---

    async def _answer(self, conversation: Conversation) -> Outcome:
        gate = self._gate
        if gate is None:
            return AnswerError("the connection was closed")
        messages = _messages(conversation, self._detail)
        deadline = time.monotonic() + self._limits.patience_s
        attempt, why = 0, "no attempt"
        while True:
            attempt += 1
            await gate.enter()
            try:
                left = deadline - time.monotonic()
                if left <= 0:
                    return self._given_up(why, attempt - 1)
                async with asyncio.timeout(min(self._limits.timeout_s, left)):
                    answer = await self._attempt(messages, conversation)
                await gate.keeps_up()
                return answer
            except TimeoutError:
                why, wait_s = f"no whole answer within {self._limits.timeout_s:g} s", None
                gate.lags(None)
            except _Retry as retry:
                why, wait_s = str(retry), retry.wait_s
                if retry.busy:
                    gate.lags(wait_s)
            except _Declined as declined:
                return Answer(str(declined), refused=True)
            except AnswerError as error:
                return error
            finally:
                await gate.leave()
            if attempt > self._limits.retries:
                return self._given_up(why, attempt)
            # Doubling, with a spread so that questions that failed together do not return together.
            longest = min(_LONGEST_WAIT_S, self._limits.backoff_s * 2 ** (attempt - 1))
            backoff = longest * (0.5 + random.random() / 2)
            pause = max(wait_s or 0.0, backoff if wait_s is None else 0.0)
            if time.monotonic() + pause > deadline:
                return self._given_up(f"{why}; the next attempt would come too late", attempt)
            await asyncio.sleep(pause)

    def _given_up(self, why: str, attempts: int) -> AnswerError:
        return AnswerError(self._redacted(f"given up after {attempts} attempt(s): {why}"))

    async def _attempt(self, messages: list[Any], conversation: Conversation) -> Answer:
        import openai

        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                messages=messages, **self._parameters
            )
            body = json.loads(raw.http_response.content)
        except openai.APIStatusError as error:
            raise self._status(error) from None
        except openai.OpenAIError as error:
            cause = error.__cause__ or error
            raise _Retry(
                f"no connection, or it broke: {type(cause).__name__} {cause}", busy=True
            ) from None
        except (ValueError, UnicodeDecodeError, RecursionError):
            raise _Retry("the server's answer is no JSON") from None
        return self._read(body, conversation)

    def _status(self, error: Any) -> Exception:
        status = error.status_code
        says = self._redacted(" ".join(str(error).split())[:500])
        code = (error.body or {}).get("code") if isinstance(error.body, dict) else None
        if status in _HOPELESS or code == "insufficient_quota":
            hint = {
                401: f". The key is read from the environment variable {self._key_env}",
                404: ". Is the model's name right, and does the address end in /v1?",
            }.get(status, "")
            return UnusableModelError(f"the server refuses: {says}{hint}")
        if status in _RETRIED or status >= 500:
            return _Retry(
                f"status {status}: {says}", _retry_after(error.response.headers), busy=True
            )
        if "content_filter" in (code, error.type):
            return _Declined(says)
        return AnswerError(f"the server rejects the question: {says}")

    def _read(self, body: Any, conversation: Conversation) -> Answer:
        try:
            choice = body["choices"][0]
            message = choice["message"]
            content, refusal = message.get("content"), message.get("refusal")
            if isinstance(content, list):  # some servers answer in parts
                content = "".join(part.get("text", "") for part in content)
            finish = choice.get("finish_reason")
            usage = body.get("usage") or {}
            if not isinstance(content, str | None):
                raise TypeError("content is no text")
        except (TypeError, KeyError, IndexError, AttributeError):
            raise _Retry("the server's answer is not that of a chat completion") from None
        details: dict[str, Any] = {
            "tokens_in": _count(usage, "prompt_tokens"),
            "tokens_out": _count(usage, "completion_tokens"),
            "received": {
                "sent": [
                    {"size": list(picture.size), "format": picture.format}
                    for picture in conversation.loaded.values()
                ]
            },
        }
        if finish == "length":
            details["cut_off"] = True
        if isinstance(body.get("model"), str):
            details["served_model"] = self._redacted(body["model"][:200])
        refused = bool(refusal) or finish == "content_filter"
        text = str(refusal) if refusal and not content else content or ""
        return Answer(self._redacted(text.strip()), details=details, refused=refused)

    def _redacted(self, text: str) -> str:
        """A text without the key."""
        if len(self._key) >= _SECRET_LENGTH:
            for form in (self._key, base64.b64encode(self._key.encode()).decode()):
                text = text.replace(form, "***")
        return text


def _count(usage: Any, key: str) -> int | None:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: in milliseconds, seconds, or as a date."""
    try:
        if text := headers.get("retry-after-ms"):
            return max(0.0, float(text) / 1000)
        text = headers.get("retry-after")
        if not text:
            return None
        try:
            return max(0.0, float(text))
        except ValueError:
            then = email.utils.parsedate_to_datetime(text)
            return max(0.0, then.timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _messages(conversation: Conversation, detail: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if conversation.system:
        messages.append({"role": "system", "content": conversation.system})
    for i, turn in enumerate(conversation.turns):
        content: list[dict[str, Any]] = []
        for media in turn.media:
            picture: dict[str, Any] = {"url": conversation.loaded[media.sha256].uri}
            if detail != "none":
                picture["detail"] = detail
            content.append({"type": "image_url", "image_url": picture})
        messages.append(
            {"role": "user", "content": [*content, {"type": "text", "text": turn.text}]}
        )
        if i < len(conversation.answers):
            messages.append({"role": "assistant", "content": conversation.answers[i]})
    return messages
