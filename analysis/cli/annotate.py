"""The command that asks people what they see, and reads what they answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import DatasetArg
from .terminal import plural, say, show

__all__ = ["COMMANDS"]

PASSWORD = "LIMEN_ANNOTATE_PASSWORD"


def annotate(
    dataset: DatasetArg,
    task: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="presence (default), action, clip or rating."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What `limen discern sample` drew. Default: all images."),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIANT",
            help="Without a sample: clean, camera or nv. Repeatable. Default: clean by day, "
            "camera and nv in the dark, as published.",
        ),
    ] = None,
    round_name: Annotated[
        str | None,
        typer.Option("--round", metavar="NAME", help="Default: the task and the sample."),
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Asked instead of the task's question.")
    ] = None,
    display_ms: Annotated[
        int | None,
        typer.Option(metavar="MS", help="Show each image so long. Default: as long as one looks."),
    ] = None,
    repeats: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Of the images, shown twice. Default: 0.05."),
    ] = None,
    confidence: Annotated[
        bool | None,
        typer.Option("--confidence/--no-confidence", help="Also ask how sure one is, 1 to 5."),
    ] = None,
    break_every: Annotated[
        int | None,
        typer.Option(metavar="N", help="Answers between breaks, 0 for none. Default: 100."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the random orders. Default: 0.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; a wider one demands a password.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8710,
    password: Annotated[
        str | None,
        typer.Option(
            envvar=PASSWORD,
            show_envvar=False,
            metavar="TEXT",
            help=f"What annotators sign in with; better in {PASSWORD}, where no list of processes "
            "shows it.",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="postgresql://USER@HOST/NAME. Default: labels/annotations.sqlite in the dataset.",
        ),
    ] = None,
    agreement: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only write the agreement page (HTML), and its numbers."),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Only write labels/BY.jsonl from the answers so far."),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Only write all answers: .jsonl, .csv or .json (Label Studio)."
        ),
    ] = None,
    import_: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Only read answers from such a file."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="WHO", help="With --import: human or simulated, if it does not say."),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Change a rule of exclusion. Repeatable."),
    ] = None,
) -> None:
    """Ask people what they see, in a web browser; keep, compare and export what they answer.

    Starts a server on this machine and prints its address. Every answer is kept the moment it is
    given; the same command goes on where it stopped.

    Example: [bold]limen annotate demo[/bold], [bold]limen annotate demo --sample main
    --display-ms 500[/bold], [bold]limen annotate demo --agreement agreement.html --labels[/bold]
    """
    _require_packages()
    from ..annotate.agreement import parse_rules
    from ..annotate.security import Gate
    from ..annotate.serve import open_dataset_store, open_round, serve

    rules = parse_rules(rule or [])
    gate = Gate(host, password)
    opened, store = open_dataset_store(dataset, database)
    try:
        if import_ is not None:
            from ..annotate.exchange import import_answers

            count = import_answers(opened, store, import_, by=by, round_name=round_name)
            show(f"{plural(count.added, 'answer')} read, {count.there:,} were there")
        if export is not None:
            from ..annotate.exchange import export_answers

            show(f"{plural(export_answers(opened, store, export, round_name), 'answer')}: {export}")
        if labels:
            from ..annotate.labels import write_labels

            for written in write_labels(opened, store, round_name, rules):
                show(
                    f"{plural(written.labels, 'label')} by {written.by} annotators, "
                    f"{written.abstained:,} of them undecided: {written.path}"
                )
        if agreement is not None:
            from ..annotate.agreement_page import write_agreement

            numbers = write_agreement(opened, store, agreement, round_name, rules)
            show(f"agreement: {agreement}\nnumbers: {numbers}")
        if import_ or export or labels or agreement:
            return
        round_ = open_round(
            opened,
            store,
            name=round_name,
            task=task,
            sample=sample,
            variants=tuple(variant or ()),
            options={
                "question": question,
                "display_ms": display_ms,
                "repeats": repeats,
                "confidence": confidence,
                "break_every": break_every,
                "seed": seed,
            },
        )
        say(f"round '{round_.name}': {plural(round_.items, 'image')}. Ctrl-C stops; all is kept.")
        if not any(item.catch for item in store.items(round_.id)):
            say("no image without a person is among them: false alarms cannot be measured")
        serve(opened, store, round_, gate, port=port, ready=show)
    finally:
        store.close()


def _require_packages() -> None:
    from importlib.util import find_spec

    from ..annotate.errors import AnnotateError

    wanted = ("fastapi", "krippendorff", "python_multipart", "sqlalchemy", "uvicorn")
    missing = [name for name in wanted if find_spec(name) is None]
    if missing:
        raise AnnotateError(
            f"annotation needs packages that are not installed ({', '.join(missing)}): "
            "pip install 'limen[annotate]'"
        )


COMMANDS = (annotate,)
