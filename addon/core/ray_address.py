"""Addresses of Ray clusters, which people type."""

import re

__all__ = ["endpoint"]


def endpoint(address: str) -> tuple[str, int] | None:
    """Return (host, port) of a cluster's address; None for ``auto`` and ``local``, which have none.

    Raises:
        ValueError: It is no address; the message says what is.
    """
    if address in ("auto", "local"):
        return None
    found = re.fullmatch(r"(?:ray://)?([^/:\s][^/\s]*):([0-9]{1,5})", address)
    if not found or not 0 < int(found[2]) < 1 << 16:
        raise ValueError(
            f"'{address}' is no address of a Ray cluster: HOST:PORT, ray://HOST:PORT, auto (the "
            "one that runs on this machine) or local (one that is started for this run) is"
        )
    return found[1].strip("[]"), int(found[2])
