"""Starting a round: its settings, its database, the server."""

from __future__ import annotations

import errno
import gc
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...addon.core.dataset import Dataset, file_record, frozen_study, open_dataset
from .database import open_store
from .errors import AnnotateChoiceError, AnnotateError
from .items import Library, check_unchanged, choose_items
from .security import Gate
from .store import Store, check_round_name
from .tasks import Settings, find_task
from .trials import Round

__all__ = ["DATABASE", "open_dataset_store", "open_round", "serve"]

DATABASE = "labels/annotations.sqlite"
"""Where a dataset's answers are kept, unless another database is named."""


def open_dataset_store(root: Path, database: str | None) -> tuple[Dataset, Store]:
    """Open a dataset and the database of its annotation.

    Args:
        root: The dataset.
        database: A URL, or None for :data:`DATABASE` in the dataset.

    Raises:
        DatasetError: There is no dataset.
        AnnotateError: The database cannot be used.
        AnnotateChoiceError: The URL is none.
    """
    dataset = open_dataset(root)
    study = file_record(frozen_study(root))["sha256"]
    return dataset, open_store(database or dataset.root / DATABASE, study)


def open_round(
    dataset: Dataset,
    store: Store,
    *,
    name: str | None = None,
    task: str | None = None,
    sample: str | None = None,
    variants: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
) -> Round:
    """Return a round, made on the first call; what it was made with does not change.

    Args:
        dataset: What it is about.
        store: Where it is kept.
        name: By default the task, and the sample's name behind it: ``presence-main``.
        task: Default: presence.
        sample: See :func:`.items.choose_items`.
        variants: See there.
        options: Other fields of :class:`.tasks.Settings` that were given; the rest has defaults.

    Raises:
        AnnotateChoiceError: There is no such task, sample or variant, a setting is out of range,
            or the round was made with others.
        AnnotateError: Its images were made anew since.
    """
    options = {key: value for key, value in (options or {}).items() if value is not None}
    chosen = find_task(task or "presence")
    name = name or (f"{chosen.name}-{sample}" if sample else chosen.name)
    check_round_name(name)
    found = store.find_round(name)
    if found is None:
        settings = Settings(
            task=chosen.name,
            question=options.pop("question", chosen.question),
            sample=sample,
            variants=variants,
            **options,
        )
        return store.add_round(name, settings, choose_items(dataset, chosen, sample, variants))
    if task is not None:
        options["task"] = task
    if sample is not None:
        options["sample"] = sample
    if variants:
        options["variants"] = variants
    wanted = replace(found.settings, **options)
    differ = [key for key in options if getattr(found.settings, key) != getattr(wanted, key)]
    if differ:
        key = differ[0]
        raise AnnotateChoiceError(
            f"round '{name}' was made with {key} = {getattr(found.settings, key)!r}, not "
            f"{getattr(wanted, key)!r}: its answers would not compare. Leave the option out to go "
            "on with it, or name another round (--round NAME)"
        )
    check_unchanged(store.items(found.id), Library(dataset))
    return found


def serve(
    dataset: Dataset,
    store: Store,
    round_: Round,
    gate: Gate,
    *,
    port: int = 8710,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a round until it is stopped.

    Args:
        dataset: Its images.
        store: Its answers.
        round_: What is asked.
        gate: The address to listen on, and who is let in.
        port: 0 for any that is free.
        ready: Told the address when the server listens.

    Raises:
        AnnotateError: The address cannot be listened on.
        DatasetError: A row of the dataset breaks the contract.
    """
    import uvicorn

    from .app import create_app

    host = gate.host
    app = create_app(round_, store, Library(dataset), gate)
    gc.collect()
    gc.freeze()  # the dataset's rows stay: looking through them again would hold up an answer
    listener = _listener(host, port)
    with listener:
        if ready is not None:
            shown = f"[{host}]" if ":" in host else host
            ready(f"http://{shown}:{listener.getsockname()[1]}/")
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: asyncio switches Nagle's delay (40 ms and more an answer) off for no other.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere this would share the port with another server
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, TypeError, UnicodeError) as error:  # the last two: no name of a host
        listener.close()
        busy = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        raise AnnotateError(
            f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}; "
            + ("another server runs there, choose another --port" if busy else "choose a --host")
        ) from error
    return listener
