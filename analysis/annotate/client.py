"""Answering without a browser: what a simulated observer uses, over the same HTTP interface.

The client signs in as simulated, and its answers say so in every table and on every page.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urlsplit

from ...addon.core import seeds
from .errors import AnnotateChoiceError, AnnotateError
from .tasks import NOT_VISIBLE

__all__ = ["Client", "observe"]

Answer = Callable[[str, str, int], Mapping[str, Any]]
"""(media id, variant, number of the trial) -> ``value``, and ``text`` or ``confidence``."""


class Client:
    """Someone signed in to a running annotation server.

    Args:
        url: The server's address, as ``limen annotate`` prints it.
        name: The annotator's.
        password: What the server asks for, or None.
        simulated: False only to act as a person's browser, in tests.
        timeout_s: How long to wait for an answer of the server.
        patience_s: How long to try again while it cannot be reached, as after a crash.

    Raises:
        AnnotateChoiceError: The name or the password was refused.
        AnnotateError: The server cannot be reached or is no annotation server.
    """

    def __init__(
        self,
        url: str,
        name: str,
        password: str | None = None,
        *,
        simulated: bool = True,
        timeout_s: float = 60.0,
        patience_s: float = 2.0,
    ) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or 80
        except ValueError:  # as "http://[" and a port that is no number
            host = None
        if not host or parts.scheme != "http":
            raise AnnotateChoiceError(f"{url!r} is no address such as http://127.0.0.1:8710/")
        self.url = url
        self._connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
        self._patience_s = patience_s
        self._cookie = ""
        self._csrf = ""
        self._sign_in(name, password, simulated)

    def _sign_in(self, name: str, password: str | None, simulated: bool) -> None:
        form = {"name": name, "password": password or ""}
        if simulated:
            form["simulated"] = "true"
        status, page = self._send("POST", "/login", form)
        if status != 303 or not self._cookie:
            said = page.partition('role="alert">')[2].partition("<")[0] or f"status {status}"
            raise AnnotateChoiceError(f"{self.url} does not let '{name}' in: {said}")
        _, page = self._send("GET", "/start")
        self._csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
        status, _ = self._send("POST", "/start", {"csrf": self._csrf, "browser": "limen client"})
        if status != 303:
            raise AnnotateError(f"{self.url}start: status {status}")

    def state(self) -> dict[str, Any]:
        """Return where one is: ``trial`` (None at the end), ``done``, ``total``, ``undo``."""
        return self._json("GET", "/api/state")

    def image(self, trial: Mapping[str, Any], frame: int = 0) -> bytes:
        """Return the PNG file of a trial."""
        status, data = self._raw("GET", f"/image/{trial['token']}/{frame}")
        if status != 200:
            raise AnnotateError(f"{self.url}: image of a trial: status {status}")
        return data

    def answer(self, trial: Mapping[str, Any], reply: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a trial and return the next state; sent again it changes nothing."""
        return self._json("POST", "/api/answer", {"token": trial["token"], **reply})

    def undo(self, token: str) -> dict[str, Any]:
        """Take back the last answer, by the token that the state names."""
        return self._json("POST", "/api/undo", {"token": token})

    def answer_all(
        self,
        answer: Answer,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Answer all trials that are left, or so many, and return how many these were."""
        answered = 0
        state = self.state()
        while state["trial"] is not None and (limit is None or answered < limit):
            item = state["trial"].get("item")
            if item is None:
                raise AnnotateError("the server names images to simulated annotators only")
            reply = answer(item["id"], item["variant"], state["done"])
            state = self.answer(state["trial"], reply)
            answered += 1
            if progress is not None:
                progress(state["done"], state["total"])
        return answered

    def close(self) -> None:
        """End the connection; the sitting stays open."""
        self._connection.close()

    def _json(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        status, data = self._raw(method, path, body)
        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            said = {}
        if status != 200 or not isinstance(said, dict):
            why = said.get("error") or said.get("detail") if isinstance(said, dict) else None
            raise AnnotateError(f"{self.url}{path.lstrip('/')}: {why or f'status {status}'}")
        return said

    def _send(
        self, method: str, path: str, form: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        data = None if form is None else urlencode(form).encode()
        kind = "application/x-www-form-urlencoded"
        status, body = self._raw(method, path, data, kind)
        return status, body.decode(errors="replace")

    def _raw(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        kind: str = "application/json",
    ) -> tuple[int, bytes]:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Cookie": self._cookie, "X-Limen-CSRF": self._csrf, "Content-Type": kind}
        give_up = time.monotonic() + self._patience_s
        while True:  # sent twice, a request does what it does once
            try:
                self._connection.request(method, path, data, headers)
                response = self._connection.getresponse()
                received = response.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()  # opens again with the next request
                if time.monotonic() > give_up:
                    raise AnnotateError(f"{self.url} does not answer: {error}") from error
                time.sleep(0.05)
        for morsel in SimpleCookie(response.headers.get("Set-Cookie", "")).values():
            self._cookie = f"{morsel.key}={morsel.value}"
        return response.status, received


def observe(
    url: str,
    name: str,
    probability: Callable[[str, str], float],
    *,
    seed: int = 0,
    password: str | None = None,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Let a simulated observer answer whether a person is visible, and return how often it did.

    Each trial is a new draw, keyed by (seed, name, item, number of the trial): a repeat may get
    another answer, as with people.

    Args:
        url: The server's address.
        name: The observer's, which says what it is.
        probability: (media id, variant) -> how likely it sees someone.
        seed: Of the draws.
        password: What the server asks for, or None.
        limit: At most so many trials.
        progress: Told (trials answered, trials in all).

    Raises:
        AnnotateChoiceError: The name or the password was refused.
        AnnotateError: The server cannot be reached.
    """
    client = Client(url, name, password)

    def answer(media_id: str, variant: str, number: int) -> dict[str, Any]:
        draw = seeds.uniform(seed, f"{name}/{media_id}/{variant}/{number}", "annotate-observer")
        return {"value": "visible" if draw < probability(media_id, variant) else NOT_VISIBLE}

    try:
        return client.answer_all(answer, limit, progress)
    finally:
        client.close()
