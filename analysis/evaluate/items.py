"""What is asked about: the images of a variant, or of the published mix of variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...addon.core.dataset import Dataset
from ...addon.core.factors import poses_by_action, sample_views
from ..conversation import Item, Media
from ..develop.table import VARIANTS, with_variants
from ..tasks import Task
from .table import EvaluateError

if TYPE_CHECKING:
    from ...addon.core.study import Study

__all__ = ["PUBLISHED", "choose_items", "count_questions", "media_of", "published_variants"]

PUBLISHED = "published"
"""The published layout: day as rendered, evening and night as the camera records them, and both
again as night vision."""

Row = Mapping[str, Any]


def published_variants(band: str) -> tuple[str, ...]:
    """The variants that the published layout shows of a band."""
    return ("clean",) if band == "day" else ("camera", "nv")


def choose_items(dataset: Dataset, variant: str, limit: int | None = None) -> list[Item]:
    """Return what there is to ask about, the images of a view together, in the order of ids.

    Args:
        dataset: The dataset.
        variant: ``clean``, ``camera``, ``nv`` or ``published``. ``limen develop`` may have made a
            developed variant for some bands only: those are asked about.
        limit: Only the first so many views, in the order of ``view_id`` (which is random), each
            under all its lightings.

    Raises:
        EvaluateError: There is nothing, or images were not made.
    """
    views = set(list(dataset.views)[:limit])
    rows = with_variants(dataset)
    chosen = [row for row in rows.values() if row["view_id"] in views]
    if not chosen:
        raise EvaluateError(f"{dataset.root} holds no media items yet: render it first")
    if variant == PUBLISHED:
        wanted = [(row, name) for row in chosen for name in published_variants(row["band"])]
    else:
        made = {row["band"] for row in rows.values() if row["media"].get(variant)}
        bands = made if variant in VARIANTS and made else {row["band"] for row in chosen}
        wanted = [(row, variant) for row in chosen if row["band"] in bands]
        if not wanted:
            raise EvaluateError(
                f"the first {limit} views of {dataset.root} have no '{variant}' image: "
                f"that variant was made for {', '.join(sorted(made))}"
            )
    items, missing = [], []
    for row, name in wanted:
        record = row["media"].get(name)
        if record:
            view = dataset.views[row["view_id"]]
            items.append(Item(row, view, name, media_of(dataset, record), dataset.root))
        else:
            missing.append((row, name))
    if missing:
        raise _missing(dataset, chosen, missing, len(wanted), variant)
    return items


def media_of(dataset: Dataset, record: Row) -> Media:
    """The file that a row records."""
    return Media(dataset.root / record["path"], record["sha256"])


def count_questions(
    study: Study, pose_actions: Mapping[str, str], tasks: Sequence[Task], variant: str = PUBLISHED
) -> dict[str, Counter[str]]:
    """Count what a study will ask, without rendering it.

    Args:
        study: The study.
        pose_actions: Pose name -> action of the pose library.
        tasks: What is asked.
        variant: As :func:`choose_items`, all developed variants taken as made for every band.

    Returns:
        Task name -> (``day``, ``evening``, ``night`` for ``clean`` and ``camera``, ``nv`` for night
        vision) -> questions.
    """
    views = sample_views(study, poses_by_action(study, pose_actions))
    bands = Counter(lighting.band for lighting in study.lightings)
    found: dict[str, Counter[str]] = {}
    for task in tasks:
        asked = sum(
            task.asks({"target_present": view.target_present, "action": view.factors["action"]})
            for view in views
        )
        counts: Counter[str] = Counter()
        for band, lightings in bands.items():
            for name in published_variants(band) if variant == PUBLISHED else (variant,):
                counts["nv" if name == "nv" else band] += asked * lightings
        found[task.name] = counts
    return found


def _missing(
    dataset: Dataset,
    rows: Iterable[Row],
    missing: Sequence[tuple[Row, str]],
    wanted: int,
    variant: str,
) -> EvaluateError:
    known = sorted({name for row in rows for name in row["media"]} - {"kind"})
    row, name = missing[0]
    says = (
        f"{len(missing):,} of {wanted:,} items of {dataset.root} have no '{name}' image, "
        f"the first is {row['id']}. Variants that rows name: {', '.join(known)}"
    )
    if name in VARIANTS:
        says += f". limen develop {dataset.root} makes the others"
    if variant == PUBLISHED:
        says += "; --variant clean asks about the rendered images alone"
    return EvaluateError(says)
