"""A round to answer, in a fresh SQLite file or in a real PostgreSQL server."""

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from limen.analysis.annotate.database import open_store
from limen.analysis.annotate.items import Library
from limen.analysis.annotate.serve import open_round
from requirements import require

SHA = "0" * 64


def _postgres_directory() -> Path:
    """Where the server's programs are: Debian keeps them out of the PATH."""
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (directory / "initdb").is_file():
            return directory
    return Path(require("initdb")).resolve().parent


@pytest.fixture(scope="session")
def postgres_url():
    """A PostgreSQL server of the tests' own; the URL lacks the name of a database."""
    programs = _postgres_directory()
    # The server refuses to run as root, so that root's tests start it as somebody else.
    user = {}
    if os.geteuid() == 0:
        somebody = next(name for name in ("postgres", "nobody") if _is_user(name))
        entry = pwd.getpwnam(somebody)
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    home = Path(tempfile.mkdtemp(prefix="limen-postgres-"))
    if user:
        os.chown(home, user["user"], user["group"])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = {"cwd": home, "stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, **user}
    data = home / "data"
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", "limen", "--auth=trust", "--no-sync", "-E", "UTF8"],
        check=True,
        **quiet,
    )
    options = ["-h", "127.0.0.1", "-p", str(port), "-k", "", "-c", "fsync=off"]
    server = subprocess.Popen([programs / "postgres", "-D", data, *options], **quiet)
    try:
        for _ in range(300):
            if server.poll() is not None:
                pytest.fail(f"PostgreSQL ended with {server.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"postgresql://limen@127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
        server.wait(30)
        shutil.rmtree(home, ignore_errors=True)


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@pytest.fixture
def new_postgres(postgres_url):
    """A new database in the server: its URL."""
    import psycopg

    name = f"limen_{os.urandom(6).hex()}"
    for _ in range(100):
        try:
            with psycopg.connect(f"{postgres_url}/postgres", autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            break
        except psycopg.OperationalError:  # it listens before it is ready
            time.sleep(0.1)
    return f"{postgres_url}/{name}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request, tmp_path):
    """Where to keep answers: a file, or the URL of a database."""
    if request.param == "sqlite":
        return tmp_path / "annotations.sqlite"
    return request.getfixturevalue("new_postgres")


@pytest.fixture
def store(database):
    opened = open_store(database, SHA)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def started(synthetic_dataset, tmp_path_factory):
    """A SQLite file with a round about presence: 45 images and 4 of them again. Copy it."""
    path = tmp_path_factory.mktemp("started") / "annotations.sqlite"
    opened = open_store(path, SHA)
    open_round(synthetic_dataset, opened, options={"repeats": 0.1})
    opened.close()
    return path


@pytest.fixture
def sqlite_store(tmp_path):
    opened = open_store(tmp_path / "annotations.sqlite", SHA)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def library(synthetic_dataset):
    return Library(synthetic_dataset)


@pytest.fixture
def presence_store(started, tmp_path):
    """A store with a round about presence that nobody answered yet."""
    opened = open_store(Path(shutil.copy(started, tmp_path / "presence.sqlite")), SHA)
    yield opened
    opened.close()


@pytest.fixture
def presence(presence_store):
    """The round in it."""
    return presence_store.find_round("presence")


# --- a real server -------------------------------------------------------------------------------


def port_of(url: str) -> int:
    return urlsplit(url).port


class Server:
    """`limen annotate` in a process of its own, which tests may kill and start again."""

    def __init__(self, root: Path, *options: object) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "limen.analysis.cli", "annotate", root, "--port", port]
        self._command = [str(part) for part in (*command, *options)]
        self.url = f"http://127.0.0.1:{port}/"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        said = self.process.stdout.readline().strip()
        if not said.endswith(f":{port_of(self.url)}/"):
            self.process.kill()
            pytest.fail(f"the server said {said!r}: {self.process.stderr.read()}")

    def kill(self) -> None:
        """Kill it as a crash or a power cut would."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def serve():
    """Start servers that end with the test."""
    servers = []

    def serve(root, *options):
        servers.append(Server(root, *options))
        return servers[-1]

    yield serve
    for server in servers:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture(scope="session")
def large_dataset(synthetic_dataset, tmp_path_factory):
    """A dataset of 20,001 media items, whose files are those of the synthetic one."""
    root = tmp_path_factory.mktemp("large") / "dataset"
    root.mkdir()
    (root / "study.toml").write_bytes((synthetic_dataset.root / "study.toml").read_bytes())
    for name in ("media", "masks"):
        shutil.copytree(synthetic_dataset.root / name, root / name)
    by_view = {}
    for row in synthetic_dataset.index.values():
        by_view.setdefault(row["view_id"], []).append(row)
    views, index = [], []
    originals = sorted(by_view)
    for number in range(6667):
        view_id, old = f"v{number:012x}", originals[number % len(originals)]
        views.append(json.dumps({**synthetic_dataset.views[old], "view_id": view_id}))
        index += [
            json.dumps({**row, "view_id": view_id, "id": f"{view_id}-{row['lighting']}"})
            for row in by_view[old]
        ]
    for name, lines in (("views", views), ("index", index)):
        (root / name).mkdir()
        (root / name / "000.jsonl").write_text("\n".join(lines) + "\n")
    return root
