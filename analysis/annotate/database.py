"""Opening the database: SQLite in the dataset, or PostgreSQL by its URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import Session

from .errors import AnnotateChoiceError, AnnotateError
from .store import Store
from .tables import SCHEMA_VERSION, Base, MetaRow

__all__ = ["open_store"]

_LOCK_WAIT_S = 30


def open_store(where: Path | str, dataset_sha256: str) -> Store:
    """Open or make the database of a dataset's annotation.

    Args:
        where: A SQLite file, or the URL of a database (``postgresql://user@host/name``).
        dataset_sha256: Of the dataset's frozen study: a database belongs to one dataset.

    Raises:
        AnnotateChoiceError: The URL is none, or of a kind that is not supported.
        AnnotateError: The database cannot be reached, or is of another dataset or version.
    """
    url = _url(where)
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    try:
        engine = _engine(url)
        # Two servers may start at once, and both find the tables missing.
        for attempt in (1, 2):
            try:
                Base.metadata.create_all(engine)
                break
            except SQLAlchemyError:
                if attempt == 2:
                    raise
        store = Store(engine)
        store.retrying(lambda session: _check_meta(session, url, dataset_sha256))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise AnnotateChoiceError(
            f"{_shown(url)} is not supported ({error}); --database takes "
            "postgresql://USER@HOST/NAME or sqlite:///FILE"
        ) from error
    except SQLAlchemyError as error:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise AnnotateError(f"the database {_shown(url)} cannot be used: {cause}") from error
    return store


def _url(where: Path | str) -> URL:
    if isinstance(where, Path):
        return URL.create("sqlite", database=str(where))
    try:
        url = make_url(where)
    except ArgumentError as error:
        raise AnnotateChoiceError(
            f"--database {where!r} is no URL, such as postgresql://USER@HOST/NAME"
        ) from error
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("postgresql", "sqlite"):
        raise AnnotateChoiceError(
            f"--database {_shown(url)}: postgresql and sqlite are supported, "
            f"not {url.get_backend_name()}"
        )
    if url.get_backend_name() == "sqlite" and not url.database:
        raise AnnotateChoiceError(
            "--database sqlite:// keeps nothing: name a file, as in sqlite:///FILE"
        )
    return url


def _shown(url: URL) -> str:
    return url.render_as_string(hide_password=True)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20)
    engine = create_engine(url, connect_args={"timeout": _LOCK_WAIT_S, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are ours, not the driver's
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")  # an answer survives a power cut
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Any) -> None:
        # A writer takes the lock at once: one that reads first and writes later can be refused.
        reads = connection.get_execution_options().get("limen_reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def _check_meta(session: Session, url: URL, dataset_sha256: str) -> None:
    wanted = {"schema": SCHEMA_VERSION, "dataset": dataset_sha256}
    for key, value in wanted.items():
        found = session.get(MetaRow, key)
        if found is None:
            session.add(MetaRow(key=key, value=value))
        elif found.value != value:
            what = (
                "belongs to another dataset; give each dataset a database of its own"
                if key == "dataset"
                else f"has version {found.value} of the tables, this Limen needs {value}"
            )
            raise AnnotateError(f"the database {_shown(url)} {what}")
    session.flush()
