"""The ``limen`` command: each module here holds the commands of one topic.

Heavy packages are imported by the command that needs them, so that help comes at once. An error
class of this package carries a message for the user and becomes one line; anything else is a bug
and shows its traceback.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ... import __version__
from . import annotate, dataset, develop, discern, evaluation, photographs, poses, report, study
from .terminal import FAILED, INTERRUPTED, WRONG_USE, fail, say

__all__ = ["app", "main"]

_PACKAGE = str(__package__).partition(".")[0]


class _Group(TyperGroup):
    """Turns this package's errors, the system's and Ctrl-C into one message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("stopped. The same command goes on where it stopped.")
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            if error.filename is None and error.errno is None:
                raise
            name = f"{error.filename}: " if error.filename else ""
            fail(f"{name}{error.strerror}", FAILED)
        except Exception as error:
            if not type(error).__module__.startswith(f"{_PACKAGE}."):
                raise
            # Ours are a ValueError where a value that the user gave is wrong.
            fail(str(error), WRONG_USE if isinstance(error, ValueError) else FAILED)


app = typer.Typer(
    name="limen",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find the limit of imaging at which a vision-language model stops seeing.\n\n"
    "[bold]limen run demo --out demo[/bold] renders the demo study, checks it, evaluates the "
    "built-in models and writes a report. Without Blender: [bold]limen sample sample && limen "
    "evaluate sample --model hog --variant clean && limen report sample[/bold].",
)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is escaped, rather than an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"limen {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


for _topic in (study, dataset, develop, annotate, evaluation, report):
    for _command in _topic.COMMANDS:
        app.command()(_command)

app.add_typer(discern.GROUP)
for _name, _command in photographs.NAMED.items():
    app.command(_name)(_command)

app.add_typer(poses.GROUP)
