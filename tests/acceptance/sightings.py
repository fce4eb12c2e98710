"""What the person detector makes of rendered datasets, and the table of it.

`python tests/acceptance/sightings.py DATASET ...` prints it; benchmarks/people_found.md keeps the
tables of a dated run.
"""

import datetime
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from centernet import Detector, load_detector
from limen.addon.core.dataset import open_dataset
from limen.analysis.images import read_image

__all__ = ["OVERLAP", "THRESHOLD", "WEIGHTS", "Sighting", "look", "table"]

WEIGHTS = Path(__file__).parents[2] / ".cache" / "centernet" / "package" / "models"
"""Where `make acceptance` puts the detector's weights."""

THRESHOLD = 0.35
"""A person counts from this score on. It was chosen on photographs, before any picture of ours."""

OVERLAP = 0.5
"""Least intersection over union of the box found and the person's own: COCO's loosest."""


@dataclass(frozen=True)
class Sighting:
    """What the detector made of an image: its best score, at the person if there is one."""

    image: str
    scenery: str
    lighting: str
    action: str | None
    elevation_deg: float
    unoccluded_fraction: float | None
    score: float

    @property
    def found(self) -> bool:
        return self.score >= THRESHOLD


def look(detector: Detector, root: Path) -> list[Sighting]:
    """Show every clean image of a dataset to the detector."""
    dataset = open_dataset(root)
    sightings = []
    for row in dataset.index.values():
        view = dataset.views[row["view_id"]]
        image = read_image(dataset.root / row["media"]["clean"]["path"])
        if image is None:
            raise FileNotFoundError(f"{dataset.root}: the clean image of {row['id']} is not there")
        people = detector.find_people(image[..., ::-1], 0.01)
        if row["target_present"]:
            box = view["box_full"]
            people = [person for person in people if overlap(person.box, box) >= OVERLAP]
        sightings.append(
            Sighting(
                row["id"],
                row["scenery"],
                row["lighting"],
                row["action"],
                row["elevation_deg"],
                view["unoccluded_fraction"],
                max((person.score for person in people), default=0.0),
            )
        )
    return sightings


def overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """Intersection over union of two boxes [x, y, width, height]."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(0.0, width) * max(0.0, height)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def table(sightings: Iterable[Sighting]) -> str:
    """Markdown: recall by action and elevation, false finds by scenery and elevation."""
    people = [s for s in sightings if s.action is not None]
    nobody = [s for s in sightings if s.action is None]
    parts = [_crossed("action", people, lambda s: s.action), _crossed("scenery", people, _place)]
    if nobody:
        parts.append("Person-free images in which a person is found:\n")
        parts.append(_crossed("scenery", nobody, _place))
        best = sorted(nobody, key=lambda s: -s.score)[:3]
        parts.append(f"Highest scores without a person: {_listed(best)}.\n")
    if missed := [s for s in people if not s.found]:
        parts.append(f"Missed ({len(missed)} of {len(people)}): {_listed(missed)}.\n")
    return "\n".join(parts)


def _place(sighting: Sighting) -> str:
    return sighting.scenery


def _crossed(name: str, sightings: Sequence[Sighting], group: Callable[[Sighting], object]) -> str:
    """A row for each group, a column for each elevation: found / images."""
    elevations = sorted({s.elevation_deg for s in sightings})
    groups = list(dict.fromkeys(group(s) for s in sorted(sightings, key=lambda s: str(group(s)))))
    lines = [f"| {name} | " + " | ".join(f"{e:g}°" for e in elevations) + " | all |"]
    lines.append("|---|" + "---:|" * (len(elevations) + 1))
    for value in [*groups, None]:
        rows = [s for s in sightings if value is None or group(s) == value]
        cells = [_share([s for s in rows if s.elevation_deg == e]) for e in elevations]
        lines.append(f"| {value or '**all**'} | " + " | ".join([*cells, _share(rows)]) + " |")
    return "\n".join(lines) + "\n"


def _share(sightings: Sequence[Sighting]) -> str:
    found = sum(s.found for s in sightings)
    return f"{found}/{len(sightings)}" if sightings else ""


def _listed(sightings: Sequence[Sighting]) -> str:
    return ", ".join(
        f"{s.action or 'nobody'} ({s.scenery}, {s.elevation_deg:g}°, {s.score:.2f})"
        for s in sightings
    )


def main(arguments: Sequence[str]) -> None:
    """Print the table of these datasets, with its date."""
    detector = load_detector(WEIGHTS)
    found = [sighting for root in arguments for sighting in look(detector, Path(root))]
    print(f"# People found by a detector\n\n{datetime.date.today()}, threshold {THRESHOLD}.\n")
    print(table(found))


if __name__ == "__main__":
    main(sys.argv[1:])
