"""What many tests share."""

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from limen.addon.core.dataset import Dataset, open_dataset
from limen.analysis.synthetic import make_synthetic

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


@pytest.fixture(scope="session")
def synthetic_dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The synthetic dataset: 15 views, 3 of them without a person, x 3 lightings. Read only."""
    return make_synthetic(tmp_path_factory.mktemp("synthetic") / "dataset")


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
def ci_dataset(render_grid: Rendering, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """``studies/ci.toml``, rendered by the bpy wheel. Read only: copy what you change."""
    out = tmp_path_factory.mktemp("ci") / "dataset"
    render_grid(ROOT / "studies" / "ci.toml", out)
    return open_dataset(out)


@pytest.fixture(scope="session")
def small_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of six views that take a second each."""
    path = tmp_path_factory.mktemp("small") / "small.toml"
    path.write_text(SMALL_STUDY)
    return path


@pytest.fixture(scope="session")
def small_dataset(
    render_grid: Rendering, small_study: Path, tmp_path_factory: pytest.TempPathFactory
) -> Dataset:
    """The small study, rendered in one run. Read only: copy what you change."""
    out = tmp_path_factory.mktemp("small") / "dataset"
    render_grid(small_study, out)
    return open_dataset(out)
