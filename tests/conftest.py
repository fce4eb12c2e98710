"""What many tests share."""

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The matrices of the tests are small: more threads only wait for each other, and for other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from limen.addon.core.dataset import Dataset, open_dataset
from limen.analysis.develop.run import develop_dataset
from limen.analysis.synthetic import make_synthetic
from workers import group_of, make_once, shared_folder

ROOT = Path(__file__).parents[1]

# Two layers of sky alone: a view takes a second. 3 backgrounds, a view with and one without a
# person before each.
SMALL_STUDY = """\
name = "small"
seed = 5
lightings = []
sceneries = ["desert"]
actions = ["walking", "kicking"]

[camera]
sensor = "syndorbench"
window = [56, 96]
bands = ["detect"]
azimuths_deg = [0, 135, 270]
elevations_deg = [22.5]

[[subject]]
name = "sam"
textures = ["plain", "other"]

[[lighting]]
name = "overcast"
band = "day"
illuminance_lx = 9000
components = [
    { layer = "dome-uniform", share = 0.7 },
    { layer = "dome-horizon", share = 0.3 },
]

[sampling]
views = 3
person_free = "all"

[render]
samples = 1
denoise = "none"
"""

Rendering = Callable[..., subprocess.CompletedProcess[str]]
Once = Callable[[str, Callable[[Path], object]], Path]

# --- several workers (pytest -n 2) ---------------------------------------------------------------

# Long tests come first, so that the workers end together.
_LONGEST_FIRST = ("real_blender", "install", "render", "slow")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a file's tests in one worker, and with a real Blender all that it is asked to do."""
    if config.getoption("dist") != "load":
        return None  # something else was asked for
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False  # the order is ours
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    kinds = [item.get_closest_marker(kind) is not None for kind in _LONGEST_FIRST]
    return kinds.index(True) if any(kinds) else len(kinds)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Make a folder once for all workers: ``once(name, make)`` calls ``make(path)`` or finds it."""
    base = shared_folder(tmp_path_factory.getbasetemp())
    return lambda name, make: make_once(base / f"once-{name}", make)


# --- the end -------------------------------------------------------------------------------------


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_STATUS] = int(exitstatus)


def pytest_configure(config: pytest.Config) -> None:
    # Registered before any test imports bpy, and so called after all that others register.
    atexit.register(_leave, config)


_STATUS = pytest.StashKey[int]()


def _leave(config: pytest.Config) -> None:
    """End the process without the bpy wheel's clean-up of static objects, which may hang."""
    if "bpy" in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash.get(_STATUS, 1))


# --- datasets ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def synthetic_dataset(once: Once) -> Dataset:
    """The synthetic dataset: 15 views, 3 of them without a person, x 3 lightings. Read only."""
    return open_dataset(once("synthetic", make_synthetic))


@pytest.fixture(scope="session")
def tiny_dataset(once: Once) -> Dataset:
    """The synthetic dataset with 4 views, one of them without a person. Read only."""
    return open_dataset(once("tiny", lambda root: make_synthetic(root, views=3)))


@pytest.fixture(scope="session")
def grid_command() -> list[str]:
    """The command that renders a study with the bpy wheel, without its arguments."""
    return [sys.executable, str(ROOT / "batch" / "render_grid.py")]


@pytest.fixture(scope="session")
def render_grid(grid_command: list[str]) -> Rendering:
    """Run ``batch/render_grid.py`` to its end, and fail on another exit status."""

    def run(study: Path, out: Path, *more: str, status: int = 0) -> subprocess.CompletedProcess:
        command = [*grid_command, "--study", study, "--out", out, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def ci_dataset(render_grid: Rendering, once: Once) -> Dataset:
    """``studies/ci.toml``, rendered by the bpy wheel. Read only: copy what you change."""
    study = ROOT / "studies" / "ci.toml"
    return open_dataset(once("ci", lambda out: render_grid(study, out)))


@pytest.fixture(scope="session")
def small_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of six views that take a second each."""
    path = tmp_path_factory.mktemp("small") / "small.toml"
    path.write_text(SMALL_STUDY)
    return path


@pytest.fixture(scope="session")
def small_dataset(render_grid: Rendering, small_study: Path, once: Once) -> Dataset:
    """The small study, rendered in one run. Read only: copy what you change."""
    return open_dataset(once("small", lambda out: render_grid(small_study, out)))


@pytest.fixture(scope="session")
def medium_dataset(render_grid: Rendering, once: Once) -> Dataset:
    """``tests/medium.toml``: 624 small developed images, 78 without a person. Read only: copy it.

    Of 3 bands, 13 lightings, 3 distances and some 40 subjects in a pose; ``camera`` and ``nv`` in
    evening and night. Takes 75 CPU seconds: tests that use it are marked render.
    """

    def make(out: Path) -> None:
        render_grid(ROOT / "tests" / "medium.toml", out)
        develop_dataset(out, denoiser="none")

    return open_dataset(once("medium", make))
