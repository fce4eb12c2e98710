"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .terminal import visible

__all__ = ["DatasetArg", "LimitOption", "StudyArg", "dataset_root"]


def dataset_root(path: Path) -> Path:
    """Return the directory of a dataset, or refuse what is none."""
    from ...addon.core.dataset import DatasetError, frozen_study

    try:
        frozen_study(path)
    except DatasetError as error:
        raise typer.BadParameter(visible(str(error))) from None
    return path


DatasetArg = Annotated[
    Path, typer.Argument(metavar="DATASET", help="A dataset's directory.", callback=dataset_root)
]
StudyArg = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study file, or the name of one Limen brings.")
]
LimitOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Only the first N views, under all their lightings."),
]
