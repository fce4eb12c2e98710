"""From a study to a report: prices, exit statuses, signals, and once with the real renderer."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from limen.addon.core.study import dump_study, load_study
from limen.analysis import run as runs
from limen.analysis.cli import app
from typer.testing import CliRunner

# A renderer to try the steps around it: prices, "renders" a dataset that is there, exits as told.
RENDERER = """
import json, os, shutil, sys
status, rendered, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if "--preflight" in sys.argv:
    print("Blender says hello")
    done = 2 if status else 4 if os.path.exists(out) else 0
    cost = {"views": 4 - done, "images": 12, "plates": 3, "seconds": 600.4, "bytes": 5.3e6}
    print(json.dumps({**cost, "done": done}))
    sys.exit(0)
if status in (0, 3):
    shutil.copytree(rendered, out)
sys.exit(status)
"""


@pytest.fixture
def renderer(tiny_dataset, tmp_path, monkeypatch):
    """Put the renderer above in the place of Blender; returns how to choose its exit status."""
    script = tmp_path / "renderer.py"
    script.write_text(RENDERER)

    def exiting(status):
        def command(study, out, *more):
            return list(map(str, [sys.executable, script, status, tiny_dataset.root, out]))

        monkeypatch.setattr(runs, "render_command", command)

    return exiting


def limen(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


# --- what is rendered, and how -------------------------------------------------------------------


def test_a_study_is_a_file_or_the_name_of_one_that_limen_brings(tmp_path):
    (tmp_path / "mine.toml").write_text("")
    assert runs.find_study(str(tmp_path / "mine.toml")) == tmp_path / "mine.toml"
    assert runs.find_study("ci").name == "ci.toml"


def test_a_misspelt_study_is_named_with_the_nearest_one():
    with pytest.raises(
        runs.StudyNotFoundError, match=r"no study file 'dem0'\. Did you mean 'demo'"
    ):
        runs.find_study("dem0")


def test_a_named_blender_runs_the_script_in_the_background_and_untouched_by_preferences():
    command = runs.render_command(
        Path("s.toml"), Path("out"), limit=3, assets=Path("a"), blender=Path("/opt/blender")
    )
    script = command[command.index("-P") + 1]
    assert command[:4] == ["/opt/blender", "-b", "--factory-startup", "-Y"]
    assert Path(script).parts[-2:] == ("batch", "render_grid.py")
    assert command[command.index("--") + 1 :] == [
        *("--study", "s.toml", "--out", "out", "--limit", "3", "--assets", "a")
    ]


def test_without_bpy_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(runs.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(runs.RunError, match=r"pip install 'limen\[bpy\]'.*--blender PATH"):
        runs.render_command(Path("s.toml"), Path("out"))


def test_a_price_is_read_off_the_last_json_line(renderer):
    renderer(0)
    cost = runs.estimate(runs.render_command(Path("s"), Path("o")))
    assert cost == runs.Estimate(done=0, views=4, images=12, plates=3, seconds=600.4, bytes=5.3e6)


def test_a_renderer_that_has_no_price_is_quoted():
    command = [sys.executable, "-c", "import sys; sys.exit('there is no display')"]
    with pytest.raises(runs.RunError, match="there is no display"):
        runs.estimate(command)


def test_a_dataset_that_does_not_fit_the_disk_is_refused(tmp_path):
    cost = runs.Estimate(done=0, views=1, images=1, plates=1, seconds=1, bytes=1e18)
    with pytest.raises(runs.RunError, match=r"needs about 1e\+09 GB"):
        runs.check_space(tmp_path / "new" / "dataset", cost)


def test_a_blender_that_does_not_exist_is_an_error():
    with pytest.raises(runs.RunError, match="no-blender cannot be started"):
        runs.render(["./no-blender", "-b"])


# --- signals -------------------------------------------------------------------------------------

LISTENER = """
import signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
open(sys.argv[1], "w").close()
while not seen:
    time.sleep(0.01)
time.sleep(0.2)
open(sys.argv[1], "w").write(str(len(seen)))
sys.exit(3)
"""


def test_ctrl_c_reaches_the_renderer_once_and_is_waited_for(tmp_path):
    ready = tmp_path / "ready"

    def interrupt():
        while not ready.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        runs.render([sys.executable, "-c", LISTENER, str(ready)])
    assert ready.read_text() == "1"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_renderer_that_the_system_killed_is_an_error_that_says_so():
    suicide = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(runs.RunError, match=r"ended by SIGKILL.*run out of memory"):
        runs.render([sys.executable, "-c", suicide])


# --- the whole command ---------------------------------------------------------------------------


def test_run_prices_renders_checks_evaluates_and_reports(renderer, tmp_path):
    renderer(0)
    out = tmp_path / "dataset"
    result = limen("run", "ci", "--out", out, "--yes")
    assert result.exit_code == 0, result.output
    assert "4 views, 12 images, 3 backgrounds: about 10 min and 5.3 MB" in result.stderr
    assert {path.name for path in (out / "runs").iterdir()} == {
        f"{model}__presence__clean" for model in ("hog", "always-yes", "always-no")
    }
    assert "done already" not in result.stderr
    assert f"report: {out / 'report.html'}" in result.stdout
    assert str(out / "report_tables") in result.stdout
    assert (out / "report.html").is_file()
    assert re.search(r"(?m)^always-yes +12 +75\.0 +50\.0 +100\.0 +0\.0 +0$", result.stdout)


def test_what_is_done_already_is_said_apart_from_what_is_left(renderer, tmp_path):
    renderer(1)
    result = limen("run", "ci", "--out", tmp_path / "dataset", "--yes")
    assert "2 views are done already." in result.stderr
    assert "2 views, 12 images" in result.stderr


def test_with_nothing_left_there_is_no_price_and_nothing_is_rendered(
    renderer, tiny_dataset, tmp_path, monkeypatch
):
    renderer(0)
    out = tmp_path / "dataset"
    shutil.copytree(tiny_dataset.root, out)
    monkeypatch.setattr(runs, "check_output", lambda out, study: None)  # it is the synthetic one
    monkeypatch.setattr(runs, "render", lambda command: pytest.fail("rendered"))
    result = limen("run", "ci", "--out", out)
    assert result.exit_code == 0, result.output
    assert "4 views are done already." in result.stderr
    assert "backgrounds" not in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("study.toml", 'name = "other"\n', "holds a dataset of another study"),
        ("letter.txt", "", r"holds no study\.toml \(found letter\.txt\)"),
    ],
)
def test_an_output_that_cannot_be_used_is_refused_before_it_is_priced(
    tmp_path, monkeypatch, name, content, message
):
    monkeypatch.setattr(runs, "estimate", lambda command: pytest.fail("priced"))
    (tmp_path / name).write_text(content)
    result = limen("run", "ci", "--out", tmp_path, "--yes")
    assert result.exit_code == 2
    assert re.search(message, result.stderr)
    assert (tmp_path / name).read_text() == content


def test_an_output_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(runs.OutputError, match="out is a file"):
        runs.check_output(tmp_path / "out", load_study(runs.find_study("ci")))


def test_a_dataset_of_the_same_study_and_an_empty_directory_can_be_gone_on_with(tmp_path):
    study = load_study(runs.find_study("ci"))
    runs.check_output(tmp_path, study)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "study.toml").write_text(dump_study(study))
    runs.check_output(tmp_path, study)


def test_a_partly_rendered_study_is_reported_and_exits_with_3(renderer, tmp_path):
    renderer(3)
    result = limen("run", "ci", "--out", tmp_path / "dataset", "--yes")
    assert result.exit_code == 3
    assert "Some views of ci.toml are missing" in result.stderr
    assert (tmp_path / "dataset/report.html").is_file()


@pytest.mark.parametrize("status", [1, 2])
def test_a_failed_render_ends_the_run_with_its_status(renderer, tmp_path, status):
    renderer(status)
    result = limen("run", "ci", "--out", tmp_path / "dataset", "--yes")
    assert result.exit_code == status
    assert not (tmp_path / "dataset").exists()


def test_without_a_terminal_nothing_is_rendered_unless_yes_is_said(renderer, tmp_path):
    renderer(0)
    result = limen("run", "ci", "--out", tmp_path / "dataset")
    assert result.exit_code == 2
    assert "--yes renders without asking" in result.stderr
    assert not (tmp_path / "dataset").exists()


@pytest.mark.render
def test_run_with_the_real_renderer_ends_in_a_report(small_study, tmp_path):
    command = [sys.executable, "-m", "limen.analysis.cli", "run", small_study, "--out", "dataset"]
    done = subprocess.run(
        [*command, "--limit", "2", "--yes"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 views, 2 images" in done.stderr
    assert (tmp_path / "dataset/report.html").is_file()
