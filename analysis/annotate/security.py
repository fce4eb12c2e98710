"""Who may talk to the server: passwords, addresses, where a request comes from."""

from __future__ import annotations

import hmac
import ipaddress
import threading
import time
from collections import deque
from collections.abc import Mapping
from urllib.parse import urlsplit

from .errors import AnnotateChoiceError

__all__ = ["HEADERS", "PASSWORD_LEAST", "Gate", "is_local", "same_site", "same_text"]

PASSWORD_LEAST = 8

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # without any, forms come from an origin "null"
    "X-Content-Type-Options": "nosniff",
}
"""Sent with every response: no foreign script, no foreign frame, nothing from elsewhere."""

_TRIES = 5
_WINDOW_S = 30.0


def is_local(host: str) -> bool:
    """Whether an address is this machine's own, which no other can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_text(given: str, wanted: str) -> bool:
    """Compare two secrets in a time that says nothing of where they differ."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def same_site(headers: Mapping[str, str]) -> bool:
    """Whether a request was made by a page of this server, or by no page at all.

    A browser says so in ``Sec-Fetch-Site`` and ``Origin``, which a page cannot forge.
    """
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:  # as "http://["
        return False


class Gate:
    """Lets in who knows the password, and slows down who guesses it.

    Args:
        host: The address that the server listens on.
        password: None for none, which only a local address may have.

    Raises:
        AnnotateChoiceError: A wider address without a password, or a password that is too short.
    """

    def __init__(self, host: str, password: str | None) -> None:
        self.host = host
        self.password = password
        if password is None and not is_local(host):
            raise AnnotateChoiceError(
                f"--host {host} lets other machines in: give a password, in the environment "
                "variable LIMEN_ANNOTATE_PASSWORD or with --password"
            )
        if password is not None and len(password) < PASSWORD_LEAST:
            raise AnnotateChoiceError(f"a password has at least {PASSWORD_LEAST} characters")
        self._lock = threading.Lock()
        self._failed: dict[str, deque[float]] = {}

    def knows_host(self, host_header: str) -> bool:
        """Whether a local server is asked by a local name.

        A foreign name that leads to 127.0.0.1 (DNS rebinding) is not one. Without a password this
        is what keeps other sites' scripts out; with one, any name may be the server's.
        """
        try:
            name = urlsplit(f"//{host_header}").hostname or ""
        except ValueError:  # as "["
            return False
        return self.password is not None or is_local(name)

    def waits(self, address: str) -> bool:
        """Whether an address failed too often just now."""
        with self._lock:
            failed = self._failed.get(address, deque())
            while failed and time.monotonic() - failed[0] > _WINDOW_S:
                failed.popleft()
            return len(failed) >= _TRIES

    def opens(self, address: str, password: str) -> bool:
        """Whether a password is the right one; a wrong one is remembered."""
        if self.password is None or same_text(password, self.password):
            return True
        with self._lock:
            if len(self._failed) > 10_000:
                self._failed.clear()
            self._failed.setdefault(address, deque()).append(time.monotonic())
        return False
