"""The dataset contract (docs/dataset.md): the only reader and writer of a dataset's rows.

Render workers call :func:`init_dataset`, then append with a :class:`PartWriter`; everything else
starts at :func:`open_dataset`. Rows are plain JSON objects, as docs/schema/ describes them.
"""

from __future__ import annotations

import codecs
import gc
import hashlib
import json
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, Self

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "BusyError",
    "Dataset",
    "DatasetError",
    "DoneViews",
    "PartWriter",
    "append_table",
    "check_place",
    "compare",
    "done_views",
    "exclusive",
    "file_record",
    "frozen_study",
    "held_parts",
    "init_dataset",
    "join",
    "log_event",
    "open_dataset",
    "read_table",
    "recorded_files",
    "replacing",
    "write_file",
]

Row = dict[str, Any]

_FILE_DIRECTORIES = ("depth", "light", "masks", "media/clean")
_ID = re.compile(r"v[0-9a-f]{12}(-[A-Za-z0-9_.+-]+)?")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
# Every segment starts with a letter, digit or underscore: no "..", no root, no drive, no backslash.
_RELATIVE_PATH = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# What resume needs of a canonical line (see _line): no quote inside a JSON string looks like these.
_VIEW_ID_IN_LINE = re.compile(rb'"view_id":"(v[0-9a-f]{12})"')
_ID_IN_LINE = re.compile(rb'"id":"(v[0-9a-f]{12})(-[A-Za-z0-9_.+-]+)"')
_RECORD = rb'"sha256":"[0-9a-f]{64}","size":([0-9]{1,18})\}'
_FILE_IN_VIEW = re.compile(rb'"([^"]*)/([^"/]*)":\{' + _RECORD)
_FILE_IN_INDEX = re.compile(rb'"path":"([^"]*)/([^"/]*)",' + _RECORD)
_LONG_NUMBER = re.compile(r"[0-9]{19}")
_PARTIAL = re.compile(r"\.partial-[0-9a-f]{8}")
# Windows locks bytes against reading too, so the locked byte lies behind all data.
_LOCK_OFFSET = 1 << 40


class DatasetError(Exception):
    """A dataset, a row or a table is not what docs/dataset.md says; the message names the place."""


class BusyError(DatasetError):
    """Another process writes what this one wants to write."""


# --- files ---------------------------------------------------------------------------------------


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file whole or not at all.

    Yields a temporary path beside ``path`` with the same suffix. When the block ends, what was
    written there is fsynced and renamed to ``path``; when it raises, it is deleted. Makes missing
    directories.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.stem}.partial-{secrets.token_hex(4)}{path.suffix}")
    try:
        with _naming(path, partial):
            yield partial
            with partial.open("r+b") as file:
                os.fsync(file.fileno())
            partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def _naming(path: Path, partial: Path | None = None) -> Iterator[None]:
    """Name the file in an error of the system: one from writing or syncing names none."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(partial)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` whole or not at all, see :func:`replacing`."""
    with replacing(path) as partial:
        partial.write_bytes(data)


def file_record(path: Path) -> Row:
    """The ``{"size", "sha256"}`` that a row records of a file."""
    with Path(path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return {"size": file.tell(), "sha256": digest.hexdigest()}


def recorded_files(row: Mapping[str, Any]) -> dict[str, Row]:
    """The files that a view row or an index row names: relative path -> ``{"size", "sha256"}``.

    Raises:
        DatasetError: A path leaves the dataset, or the row does not record files as the contract
            says.
    """
    found: dict[str, Row] = {}
    try:
        if "files" in row:
            found.update(row["files"])
        else:
            for name, variant in row["media"].items():
                if variant is not None and name != "kind":
                    found[variant["path"]] = variant
        for path, record in found.items():
            _check_path(path)
            record["size"] + 0, record["sha256"] + ""
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DatasetError(
            "its files are not recorded as path, size and sha256 (docs/dataset.md)"
        ) from error
    return found


def _check_path(path: str) -> None:
    if not _RELATIVE_PATH.fullmatch(path):
        raise DatasetError(
            f"path {path!r} is not a plain path inside the dataset, such as masks/NAME.png"
        )


# --- lines ---------------------------------------------------------------------------------------


def _line(row: Mapping[str, Any]) -> bytes:
    """The canonical JSON line of a row: equal rows are equal bytes."""
    try:
        text = json.dumps(
            row, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"row {row.get('id', row.get('view_id'))!r} cannot be written as JSON: {error}; "
            "a row holds str, int, finite float, bool, None, list and dict"
        ) from error
    if _LONG_NUMBER.search(text):  # perhaps within a text: no reader may refuse what is written
        try:
            _DECODER.decode(text)
        except ValueError as error:
            raise DatasetError(
                f"row {row.get('id', row.get('view_id'))!r} cannot be written: {error}"
            ) from error
    return text.encode() + b"\n"


def _lines(path: Path) -> tuple[list[bytes], bytes]:
    """The whole lines of a file and the rest without a line end, which a killed writer left.

    Raises:
        DatasetError: It is there and no file: rows are never passed over in silence.
    """
    if not path.is_file():
        if path.exists() or path.is_symlink():
            raise DatasetError(f"{path} is a directory, a pipe or a link to nothing, not a table")
        return [], b""
    # Windows' editors begin a file with a byte order mark.
    *whole, rest = path.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n")
    return whole, rest


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _whole(text: str) -> int:
    if len(text) > 18:  # a count or a size, and any float can take it
        raise ValueError(f"a whole number of {len(text)} digits is no count and no size")
    return int(text)


_DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=_constant)


def _decode(line: bytes) -> Any:
    """What a line of JSON says.

    Raises:
        ValueError: It is no JSON as the contract has it: UTF-8, without NaN and infinity.
    """
    try:
        value = _DECODER.decode(line.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if b"\\u" in line:  # half of a surrogate pair is no text that UTF-8 can hold
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _lock(descriptor: int, *, wait: bool) -> None:
    """Lock an open file until it is closed, by us or by the system after a kill.

    Raises:
        OSError: Someone else holds it (and ``wait`` is false).
    """
    if sys.platform == "win32":
        os.lseek(descriptor, _LOCK_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _open_append(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)


def _cut_broken_line(descriptor: int) -> None:
    """Truncate to the last line end: what follows it is the half row of a killed writer."""
    end = os.fstat(descriptor).st_size
    keep = 0
    for start in range(max(0, end - 1) // 65536 * 65536, -1, -65536):
        os.lseek(descriptor, start, os.SEEK_SET)
        line_end = os.read(descriptor, 65536).rfind(b"\n")
        if line_end >= 0:
            keep = start + line_end + 1
            break
    if keep < end:
        os.ftruncate(descriptor, keep)


def _cut_unfinished_view(root: Path, part: str, index: int) -> None:
    """Truncate a part's index rows behind those of its last view: their view was never written.

    Kept, they would contradict the rows of the same view rendered again by another machine.
    """
    views, _ = _lines(root / "views" / f"{part}.jsonl")
    rows, _ = _lines(root / "index" / f"{part}.jsonl")
    end = os.fstat(index).st_size
    try:
        last = _decode(views[-1])["view_id"] if views else None
        for line in reversed(rows):
            if _decode(line)["view_id"] == last:
                break
            end -= len(line) + 1
    except (ValueError, TypeError, KeyError):
        return  # a damaged line: readers pass over it and report it
    os.ftruncate(index, end)


def _append(descriptor: int, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows in one write and fsync; when that fails (disk full), leave nothing of them."""
    data = memoryview(b"".join(map(_line, rows)))
    end = os.fstat(descriptor).st_size
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    except BaseException:
        os.ftruncate(descriptor, end)
        raise


# --- writing -------------------------------------------------------------------------------------


def init_dataset(root: Path, study_text: str) -> None:
    """Make ``root`` a dataset of this frozen study, or check that it is one.

    Any number of workers may call it at once.

    Args:
        root: The dataset's directory; made if missing.
        study_text: The fully resolved study file.

    Raises:
        DatasetError: ``root`` holds a dataset of another study, or other files.
    """
    root, study = Path(root), Path(root) / "study.toml"
    check_place(root)
    root.mkdir(parents=True, exist_ok=True)
    descriptor = _open_append(root / "log.jsonl")
    try:
        _lock(descriptor, wait=True)
        if not study.exists():
            write_file(study, study_text.encode())
    finally:
        os.close(descriptor)
    check_place(root, study_text)


def check_place(root: Path, study_text: str | None = None) -> None:
    """Check that a directory is a dataset of a study, or could become one.

    Args:
        root: It need not be there.
        study_text: The fully resolved study file; None for any study.

    Raises:
        DatasetError: ``root`` holds a dataset of another study, or other files.
    """
    root, study = Path(root), Path(root) / "study.toml"
    if not root.exists():
        return
    if not root.is_dir():
        raise DatasetError(f"{root} is a file; a dataset is a directory: choose another name")
    foreign = sorted(
        entry.name
        for entry in root.iterdir()
        if entry.name not in ("study.toml", "log.jsonl") and not _PARTIAL.search(entry.name)
    )
    # Looked for after listing: a worker that began meanwhile wrote its study before anything else.
    if not study.exists():
        if foreign:
            raise DatasetError(
                f"{root} is not empty and holds no study.toml (found {foreign[0]}): "
                "choose an empty or a new directory"
            )
        return
    if study_text is None:
        return
    frozen = study.read_bytes().decode(errors="replace")
    if frozen != study_text:
        raise DatasetError(
            f"{root} holds a dataset of another study; choose another output directory. "
            f"The first difference: {_first_difference(frozen, study_text)}"
        )


def _first_difference(frozen: str, wanted: str) -> str:
    lines = zip_longest(frozen.split("\n"), wanted.split("\n"))
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            there = "ends" if old is None else f"has {old!r}"
            here = "ends" if new is None else f"has {new!r}"
            return f"in line {number} study.toml there {there}, this study {here}"
    raise ValueError("the texts are equal")


class PartWriter:
    """Appends a worker's rows to its own part of a dataset: ``views/`` and ``index/PART.jsonl``.

    A context manager; it holds a lock on the part, which ends with the process however that ends.

    Args:
        root: A dataset (see :func:`init_dataset`).
        part: The worker's name: letters, digits, ``-`` and ``_``.

    Raises:
        DatasetError: ``root`` is no dataset, the name cannot be a file's, or another writer has
            the part.
    """

    def __init__(self, root: Path, part: str) -> None:
        frozen_study(root)
        self._root = Path(root)
        if not _PART.fullmatch(part):
            raise DatasetError(
                f"part name {part!r}: 1 to 64 letters, digits, - and _ are allowed, "
                "beginning with a letter or digit"
            )
        self._views = _open_append(Path(root) / "views" / f"{part}.jsonl")
        try:
            _lock(self._views, wait=False)
        except OSError as error:
            os.close(self._views)
            raise BusyError(
                f"part {part!r} of {root} has a writer already (or the file system has no locks: "
                f"{error}); give each worker its own part"
            ) from error
        self._index = _open_append(Path(root) / "index" / f"{part}.jsonl")
        _cut_broken_line(self._views)
        _cut_broken_line(self._index)
        _cut_unfinished_view(Path(root), part, self._index)

    def write(self, view: Mapping[str, Any], index: Iterable[Mapping[str, Any]]) -> None:
        """Append a view whose files are all written: its index rows, then the view row.

        Raises:
            DatasetError: A row belongs to another view, names a path outside the dataset or holds
                a value that JSON has not (nan, a numpy scalar); or the part was deleted meanwhile.
        """
        index = list(index)
        for row in index:
            if row["view_id"] != view["view_id"]:
                raise DatasetError(
                    f"index row {row['id']} belongs to view {row['view_id']}, not {view['view_id']}"
                )
        for row in (view, *index):
            recorded_files(row)
        _line(view)  # before the index rows are written: they would be there without their view
        if not os.fstat(self._views).st_nlink or not os.fstat(self._index).st_nlink:
            raise DatasetError(f"{self._root} was removed while it was written: start again")
        with _naming(self._root):
            _append(self._index, index)
            _append(self._views, [view])

    def close(self) -> None:
        """Release the part."""
        os.close(self._index)
        os.close(self._views)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def held_parts(root: Path) -> tuple[str, ...]:
    """Return the names of the parts of a dataset that have a writer now, on this machine or not.

    A part is locked for a moment to find out.
    """
    held = []
    for path in sorted((Path(root) / "views").glob("*.jsonl")):
        descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
        try:
            _lock(descriptor, wait=False)
        except OSError:
            held.append(path.stem)
        finally:
            os.close(descriptor)
    return tuple(held)


def log_event(root: Path, **fields: Any) -> None:
    """Append a line to the dataset's ``log.jsonl``: the fields and the UTC ``time``."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    append_table(Path(root) / "log.jsonl", [{"time": time, **fields}])


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dataset:
    """An opened dataset; its rows are read on first use and kept.

    Attributes:
        root: The dataset's directory.
    """

    root: Path

    @cached_property
    def _rows(self) -> tuple[dict[str, Row], dict[str, Row], list[str]]:
        with _paused_gc():
            return _read_rows(self.root)

    @property
    def views(self) -> dict[str, Row]:
        """The view rows by ``view_id``, in its order.

        Raises:
            DatasetError: Two different rows have one id, or a row names a path outside the dataset.
        """
        return self._rows[0]

    @property
    def index(self) -> dict[str, Row]:
        """The index rows by ``id``, in its order; raises as :attr:`views` does.

        Without those of a view in hand, whose part has no view row yet.
        """
        return self._rows[1]

    @property
    def broken_lines(self) -> list[str]:
        """Lines that are no rows and were passed over, as ``views/PART.jsonl:12``.

        The last line of a part is what a killed worker left; any other is damage.
        """
        return self._rows[2]


def frozen_study(root: Path) -> Path:
    """The path of the dataset's frozen study.

    Raises:
        DatasetError: ``root`` is not a dataset.
    """
    root = Path(root)
    study = root / "study.toml"
    if not root.is_dir():
        raise DatasetError(f"{root} is not a directory; a dataset is a directory with a study.toml")
    if not study.is_file():
        raise DatasetError(f"{root} is not a dataset: it holds no study.toml")
    return study


def open_dataset(root: Path) -> Dataset:
    """Open a dataset for reading.

    Raises:
        DatasetError: ``root`` is not a dataset.
    """
    return Dataset(frozen_study(root).parent)


@contextmanager
def _paused_gc() -> Iterator[None]:
    """Rows are millions of objects without cycles, and looking for cycles doubles the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read_rows(root: Path) -> tuple[dict[str, Row], dict[str, Row], list[str]]:
    """Merge the parts: view rows, index rows and the places of broken lines."""
    views: dict[str, tuple[Row, str]] = {}
    index: dict[str, tuple[Row, str]] = {}
    broken: list[str] = []
    for path in sorted((root / "views").glob("*.jsonl")):
        of_part = set()
        for view_id, row, place in _part_rows(root, path, "view_id", broken):
            of_part.add(view_id)
            _merge(views, view_id, row, place)
        for media_id, row, place in _part_rows(root, root / "index" / path.name, "id", broken):
            if row["view_id"] in of_part:
                _merge(index, media_id, row, place)
    return (
        {view_id: views[view_id][0] for view_id in sorted(views)},
        {media_id: index[media_id][0] for media_id in sorted(index)},
        broken,
    )


def _part_rows(
    root: Path, path: Path, key: str, broken: list[str]
) -> Iterator[tuple[str, Row, str]]:
    """The rows of a file with their ids and places; appends the places of other lines to broken."""
    name = path.relative_to(root).as_posix()
    whole, rest = _lines(path)
    for number, line in enumerate(whole, 1):
        try:
            row = _decode(line)
            row_id = row[key]
            for what, found in ((key, row_id), ("view_id", row["view_id"])):
                if not _ID.fullmatch(found):
                    raise DatasetError(f"{what} {found!r} is not v, 12 hex digits (and -LIGHTING)")
            recorded_files(row)
        except (ValueError, TypeError, KeyError):
            broken.append(f"{name}:{number}")
        except DatasetError as error:
            raise DatasetError(f"{root / name}:{number}: {error}") from error
        else:
            yield row_id, row, f"{name}:{number}"
    if rest:
        broken.append(f"{name}:{len(whole) + 1}")


def _merge(rows: dict[str, tuple[Row, str]], row_id: str, row: Row, place: str) -> None:
    other, other_place = rows.setdefault(row_id, (row, place))
    if other is not row and other != row:
        keys = sorted(k for k in other.keys() | row.keys() if other.get(k) != row.get(k))
        raise DatasetError(
            f"{row_id} has two different rows, {other_place} and {place} (they differ in "
            f"{', '.join(keys)}): it was rendered twice and not alike, as by another Blender or "
            "CPU; delete the line whose files are not there, or render into a new directory"
        )


def done_views(root: Path, lightings: Iterable[str] = ()) -> set[str]:
    """The views that need no rendering: their rows are there and their files have the right size.

    Cuts ids, paths and sizes out of the lines instead of decoding them, so that 100,000 media items
    take a second or two; damage elsewhere in a row, or two different rows of one view, are left to
    :func:`open_dataset`.

    Args:
        root: A dataset.
        lightings: The study's; a view without an index row for each of them is not done.

    Raises:
        DatasetError: ``root`` is not a dataset, or a row names a path outside it.
    """
    return DoneViews(root, lightings)()


class DoneViews:
    """:func:`done_views`, asked again and again: each time only what was appended is read.

    A view that was found done stays done: that its files vanish is noticed by a new one.

    Args:
        root: A dataset.
        lightings: The study's.

    Raises:
        DatasetError: ``root`` is not a dataset.
    """

    def __init__(self, root: Path, lightings: Iterable[str] = ()) -> None:
        self._root = frozen_study(root).parent
        self._wanted = {f"-{lighting}".encode() for lighting in lightings}
        self._parts: dict[str, _PartRead] = {}

    def __call__(self) -> set[str]:
        """Return their ids.

        Raises:
            DatasetError: A row names a path outside the dataset.
        """
        listed: dict[bytes, dict[bytes, int]] = {}

        def has(file: _File, one_by_one: bool) -> bool:
            directory, name, size = file
            if one_by_one:
                return _file_size(self._root, directory, name) == int(size)
            if directory not in listed:
                listed[directory] = _file_sizes(self._root, directory.decode(errors="replace"))
            return listed[directory].get(name) == int(size)

        done: set[bytes] = set()
        for path in (self._root / "views").glob("*.jsonl"):
            # A listing is the faster way to many files, and a long one where few are asked for.
            again = path.name in self._parts
            part = self._parts.setdefault(path.name, _PartRead())
            part.read(path, self._root / "index" / path.name)
            for view_id, files in part.unseen.items():
                part.unseen[view_id] = [file for file in files if not has(file, again)]
            done |= {
                view_id
                for view_id, files in part.unseen.items()
                if not files and (lit := part.lit.get(view_id)) and self._wanted <= lit
            }
        return {view_id.decode() for view_id in done}


_File = tuple[bytes, bytes, bytes]  # directory, name, size


class _PartRead:
    """How far a part was read, and what its rows said.

    Attributes:
        unseen: View -> those of its files that were not found in their size so far.
        lit: View -> lightings of its index rows, as ``-noon_south``.
    """

    def __init__(self) -> None:
        self.unseen: dict[bytes, list[_File]] = {}
        self.lit: dict[bytes, set[bytes]] = {}
        self._ends = [0, 0]

    def read(self, views: Path, index: Path) -> None:
        """Take in what was appended; everything where a file was cut short, as after a kill."""
        # Index rows are written before their view's: read in the other order, they are there.
        if any(
            path.is_file() and path.stat().st_size < end
            for path, end in zip((views, index), self._ends, strict=True)
        ):
            self.unseen, self.lit, self._ends = {}, {}, [0, 0]
        lines: list[list[bytes]] = []
        for number, path in enumerate((views, index)):
            if not path.is_file():
                lines.append(_lines(path)[0])
                continue
            with path.open("rb") as file:
                file.seek(self._ends[number])
                *whole, rest = file.read().split(b"\n")
                self._ends[number] = file.tell() - len(rest)
            lines.append(whole)
        for line in lines[0]:
            if not _is_whole(line):
                continue
            if found := _VIEW_ID_IN_LINE.search(line, max(0, line.rfind(b'"view_id":'))):
                start = max(0, line.find(b'"files":'))
                end = line.find(b"}}", start) + 2
                self.unseen[found[1]] = _FILE_IN_VIEW.findall(line, start, end)
        unknown = 0  # bytes
        for line in lines[1]:
            unknown += len(line) + 1
            found = _ID_IN_LINE.search(line) if _is_whole(line) else None
            if found and found[1] in self.unseen:
                self.lit.setdefault(found[1], set()).add(found[2])
                self.unseen[found[1]] += _FILE_IN_INDEX.findall(line)
                unknown = 0
        # Rows at the end whose view is not there are read again: it comes, or they are cut off.
        self._ends[1] -= unknown


def _is_whole(line: bytes) -> bool:
    """Whether a line can be a row, so that a view is not done by what no reader takes for one."""
    return line.removeprefix(codecs.BOM_UTF8)[:1] == b"{" and line.rstrip()[-1:] == b"}"


def _file_size(root: Path, directory: bytes, name: bytes) -> int | None:
    _check_path(directory.decode(errors="replace"))
    try:
        return (root / os.fsdecode(directory) / os.fsdecode(name)).stat().st_size
    except OSError:
        return None


def _file_sizes(root: Path, directory: str) -> dict[bytes, int]:
    """The sizes of a directory's files: one listing is faster than asking for each by its path."""
    _check_path(directory)
    if not (root / directory).is_dir():
        return {}
    with os.scandir(os.fsencode(root / directory)) as entries:
        return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}


def compare(a: Path, b: Path) -> list[str]:
    """What two datasets differ in, one line each; empty when they are equal.

    Equal datasets have equal rows, in whatever parts and order, and equal files: study, card and
    all under depth/, light/, masks/ and media/clean/. ``log.jsonl``, the analysis' directories
    and temporary files of killed writers do not count.

    Raises:
        DatasetError: One is not a dataset.
    """
    first, second = open_dataset(a), open_dataset(b)
    found: list[str] = []
    tables = (("view", first.views, second.views), ("index row", first.index, second.index))
    for kind, rows, others in tables:
        for row_id in sorted(rows.keys() | others.keys()):
            row, other = rows.get(row_id), others.get(row_id)
            if row is None or other is None:
                found.append(f"{kind} {row_id} is only in {a if other is None else b}")
            elif row != other:
                keys = sorted(k for k in row.keys() | other.keys() if row.get(k) != other.get(k))
                found.append(f"{kind} {row_id} differs in {', '.join(keys)}")
    files, other_files = _dataset_files(first.root), _dataset_files(second.root)
    for path in sorted(files | other_files):
        if path not in files or path not in other_files:
            found.append(f"file {path} is only in {a if path in files else b}")
        elif file_record(first.root / path) != file_record(second.root / path):
            found.append(f"file {path} differs")
    return found


def _dataset_files(root: Path) -> set[str]:
    paths = [root / "README.md", root / "study.toml"]
    for directory in _FILE_DIRECTORIES:
        paths += (root / directory).rglob("*")
    return {
        path.relative_to(root).as_posix()
        for path in paths
        if path.is_file() and not _PARTIAL.search(path.name)
    }


# --- tables of analysis --------------------------------------------------------------------------


def append_table(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a JSON Lines table in one piece, after cutting off a killed writer's half row.

    Waits while another process appends.

    Raises:
        DatasetError: A row holds a value that JSON has not (nan, a numpy scalar).
    """
    rows = list(rows)
    descriptor = _open_append(Path(path))
    try:
        with _naming(Path(path)):
            _lock(descriptor, wait=True)
            _cut_broken_line(descriptor)
            _append(descriptor, rows)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock file for the length of a block; it ends with the process however that ends.

    Raises:
        DatasetError: Another process holds it.
    """
    descriptor = _open_append(Path(path))
    try:
        try:
            _lock(descriptor, wait=False)
        except OSError as error:
            raise BusyError(
                f"{Path(path).parent} is being written by another process (or the file system has "
                f"no locks: {error}); wait until it is done"
            ) from error
        yield
    finally:
        os.close(descriptor)


def read_table(path: Path) -> list[Row]:
    """Read a JSON Lines table, in its order, without a killed writer's half row at the end.

    Raises:
        DatasetError: The file is missing, or a line is not a JSON object.
    """
    path = Path(path)
    if not path.exists() and not path.is_symlink():
        raise DatasetError(f"{path} is missing: no such table has been written yet")
    rows: list[Row] = []
    for number, line in enumerate(_lines(path)[0], 1):
        try:
            row = _decode(line)
        except ValueError as error:
            raise DatasetError(f"{path}:{number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise DatasetError(f"{path}:{number} is not a JSON object")
        rows.append(row)
    return rows


def join(dataset: Dataset, table: Iterable[Mapping[str, Any]], key: str = "id") -> list[Row]:
    """Put each table row together with the dataset's row of the same key.

    Args:
        dataset: Where the keys come from.
        table: Rows of an analysis table; several may have one key.
        key: ``id`` joins index rows, ``view_id`` view rows.

    Returns:
        In the table's order, the dataset's columns followed by the table's.

    Raises:
        DatasetError: A row's key is missing or not in the dataset, or a column that both have
            differs.
    """
    if key not in ("id", "view_id"):
        raise DatasetError(f"tables are keyed by id or view_id, not by {key!r}")
    known = dataset.index if key == "id" else dataset.views
    joined = []
    for number, row in enumerate(table, 1):
        if row.get(key) not in known:
            raise DatasetError(
                f"table row {number}: {key} {row.get(key)!r} is not in {dataset.root}; "
                "the table belongs to another dataset"
            )
        base = known[row[key]]
        clash = sorted(name for name in base.keys() & row.keys() if base[name] != row[name])
        if clash:
            raise DatasetError(
                f"table row {number} ({row[key]}): {clash[0]} is {row[clash[0]]!r}, "
                f"in the dataset {base[clash[0]]!r}"
            )
        joined.append({**base, **row})
    return joined
