"""The command that a person pastes into a terminal."""

import shlex
from pathlib import Path

from limen.addon.core.command_line import grid_command, launch_command, shell_line
from limen.batch.run import _parse

STUDY, OUT, ASSETS = Path("/my studies/a.toml"), Path("/data/it's here"), Path("/")
ROOT = Path(__file__).parents[2]


def test_a_posix_shell_reads_back_what_was_said():
    command = grid_command("/opt/my blender", "python", STUDY, OUT, None, "cpu")
    assert shlex.split(shell_line(command, windows=False)) == command


def test_windows_gets_double_quotes():
    line = shell_line(["C:\\Program Files\\blender.exe", "-b", "D:\\out"], windows=True)
    assert line == '"C:\\Program Files\\blender.exe" -b D:\\out'


def test_the_batch_runner_understands_its_arguments():
    command = grid_command("blender", "python", STUDY, OUT, ASSETS, "gpu")
    assert command[:2] == ["blender", "-b"]
    script = command[command.index("-P") + 1]
    assert Path(script) == ROOT / "batch" / "render_grid.py"
    options = _parse(command[command.index("--") + 1 :])
    assert (options.study, options.out, options.assets) == (STUDY, OUT, ASSETS)
    assert options.device == "gpu"


def test_without_a_blender_the_wheel_of_this_python_renders():
    assert grid_command("", "py", STUDY, OUT, None, "cpu")[:2] == [
        "py",
        str(ROOT / "batch" / "render_grid.py"),
    ]


def test_several_processes_are_launched_with_the_same_blender():
    command = launch_command("/b", "py", STUDY, OUT, None, "cpu")
    assert command[:2] == ["py", str(ROOT / "batch" / "launch.py")]
    assert command[command.index("--blender") + 1] == "/b"
