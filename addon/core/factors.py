"""Factors, levels and views: the full cross of a study, and evenly drawn samples of it.

A view is one scene, subject and camera. Lightings are crossed with every view afterwards, so that
comparisons over light are paired.
"""

import csv
import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import seeds
from .dataset import replacing
from .lighting import Lighting
from .poses import written_name

if TYPE_CHECKING:
    from .study import Study

__all__ = [
    "FACTORS",
    "VIEWS_MOST",
    "Effect",
    "SampleError",
    "ViewSpec",
    "camera_label",
    "check_views",
    "count_views",
    "export_grid",
    "factor_effects",
    "grid",
    "largest_sample",
    "media_ids",
    "poses_by_action",
    "sample_views",
    "view_id",
    "view_of",
]

Level = str | float | None

FACTORS = (
    "action",
    "pose",
    "scenery",
    "distance_m",
    "azimuth_deg",
    "elevation_deg",
    "subject",
    "texture",
)
"""The factors of a view; pose is nested in action, texture in subject."""

VIEWS_MOST = 10_000_000
"""A full cross of more views is taken for a mistake."""


class SampleError(ValueError):
    """A sampling that the factors of a study cannot give.

    Attributes:
        key: ``views`` or ``person_free``, of the study's ``[sampling]``.
        reason: What it is, and what is possible.
    """

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"sampling.{key} {reason}")


@dataclass(frozen=True)
class ViewSpec:
    """A view that a study asks for.

    Attributes:
        view_id: See :func:`view_id`.
        family: The study's.
        factors: Factor -> level, in the order of ``FACTORS``; action, pose, subject and texture
            are None in a person-free view.
        camera_label: See :func:`camera_label`.
        target_present: Whether a person is there.
    """

    view_id: str
    family: str
    factors: Mapping[str, Any]
    camera_label: str
    target_present: bool


def view_id(family: str, factors: Mapping[str, Level]) -> str:
    """Return ``v`` and the first 12 hex digits of a SHA-256.

    What is hashed is the UTF-8 text of the lines ``name=value``, sorted by name and joined by
    newlines: every factor, and ``family``. A number is Python's shortest form of the float rounded
    to 6 decimals (``45.0``, never ``-0.0``), a level that is absent is ``null``.
    """
    pairs = {**factors, "family": family}
    text = "\n".join(f"{name}={_level_text(pairs[name])}" for name in sorted(pairs))
    return "v" + hashlib.sha256(text.encode()).hexdigest()[:12]


def _level_text(level: Level) -> str:
    if level is None:
        return "null"
    return level if isinstance(level, str) else repr(round(float(level), 6) + 0.0)


def view_of(study: "Study", factors: Mapping[str, Level]) -> ViewSpec:
    """Return the view of a study that has given levels, whether or not its sample drew it.

    Args:
        study: The study.
        factors: Factor -> level, in the order of ``FACTORS``; distance, azimuth and elevation are
            levels of the study.
    """
    azimuth, elevation = factors["azimuth_deg"], factors["elevation_deg"]
    return ViewSpec(
        view_id(study.family, factors),
        study.family,
        factors,
        camera_label(study, azimuth, elevation),  # type: ignore[arg-type]
        factors["action"] is not None,
    )


def camera_label(study: "Study", azimuth_deg: float, elevation_deg: float) -> str:
    """Return ``cam`` and azimuth index x number of elevations + elevation index, as ``cam013``.

    The indices are those of the study's own lists, so that on the published rig of 8 azimuths and
    4 elevations the label is 4 x azimuth index + elevation index.
    """
    camera = study.camera
    azimuth = camera.azimuth_index[azimuth_deg]
    elevation = camera.elevation_index[elevation_deg]
    return f"cam{azimuth * len(camera.elevations_deg) + elevation:03d}"


def media_ids(view: str | ViewSpec, lightings: Iterable[Lighting]) -> tuple[str, ...]:
    """Return the ids ``VIEW_ID-LIGHTING`` of a view's media items, in the order of lightings."""
    name = view if isinstance(view, str) else view.view_id
    return tuple(f"{name}-{lighting.name}" for lighting in lightings)


def poses_by_action(study: "Study", pose_actions: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return each action of a study -> its poses that the study shows, sorted by name.

    Args:
        study: The study.
        pose_actions: Pose name -> action, of the pose library; mirror images need not be in it.
    """
    shown = {
        pose: pose_actions.get(written_name(pose, pose_actions))
        for pose in study.poses or pose_actions
    }
    return {
        action: tuple(sorted(pose for pose, its in shown.items() if its == action))
        for action in study.actions
    }


def count_views(study: "Study", poses: Mapping[str, Sequence[str]]) -> int:
    """Return how many views with a person the full cross has."""
    camera = study.camera
    places = len(study.sceneries) * len(camera.distances_m)
    cameras = len(camera.azimuths_deg) * len(camera.elevations_deg)
    looks = sum(len(subject.textures) for subject in study.subjects)
    return places * cameras * looks * sum(len(p) for p in _poses_of(study, poses).values())


@dataclass(frozen=True)
class Effect:
    """What a factor does to the number of views or images.

    Attributes:
        levels: How many levels it has.
        times: By how much it multiplies the full cross. Nested factors count within the one above
            them: a pose within its action, a texture within its subject, on average.
    """

    levels: int
    times: float


def factor_effects(study: "Study", poses: Mapping[str, Sequence[str]]) -> dict[str, Effect]:
    """Return what each factor of a study does to the full cross.

    The product of ``times`` over the factors of ``FACTORS`` is :func:`count_views`; ``lighting``
    multiplies the images of each view, and ``unoccluded`` nothing: it is drawn.

    Args:
        study: The study.
        poses: Action -> its poses, see :func:`poses_by_action`.
    """
    camera = study.camera
    shown = sum(len(its) for its in _poses_of(study, poses).values())
    looks = sum(len(subject.textures) for subject in study.subjects)
    textures = {name for subject in study.subjects for name in subject.textures}
    crossed = {
        "action": study.actions,
        "scenery": study.sceneries,
        "distance_m": camera.distances_m,
        "azimuth_deg": camera.azimuths_deg,
        "elevation_deg": camera.elevations_deg,
        "subject": study.subjects,
        "lighting": study.lightings,
    }
    effects = {name: Effect(len(levels), len(levels)) for name, levels in crossed.items()}
    effects["pose"] = Effect(shown, shown / len(study.actions))
    effects["texture"] = Effect(len(textures), looks / len(study.subjects))
    effects["unoccluded"] = Effect(len(study.unoccluded_fractions), 1)
    return {name: effects[name] for name in ("lighting", *FACTORS, "unoccluded")}


def largest_sample(study: "Study", poses: Mapping[str, Sequence[str]]) -> int:
    """Return how many views :func:`sample_views` can draw evenly, short of all of them.

    With as many poses for each action and textures for each subject, that is every number below
    the full cross; else half of what the action with the fewest poses and the subject with the
    fewest textures allow.
    """
    shown = _poses_of(study, poses)
    fewest_poses = min(len(p) for p in shown.values())
    fewest_textures = min(len(subject.textures) for subject in study.subjects)
    camera = study.camera
    even = (
        len(study.actions)
        * len(study.sceneries)
        * len(camera.distances_m)
        * len(camera.azimuths_deg)
        * len(camera.elevations_deg)
        * fewest_poses
        * len(study.subjects)
        * fewest_textures
    )
    return even if even == count_views(study, poses) else even // 2


def check_views(study: "Study", poses: Mapping[str, Sequence[str]]) -> None:
    """Check that a study's factors hold as many views as it asks for.

    Raises:
        SampleError: They do not, or "all" is more than ``VIEWS_MOST``.
    """
    wanted = study.sampling.views
    every, most = count_views(study, poses), largest_sample(study, poses)
    if wanted == "all" and every > VIEWS_MOST:
        raise SampleError(
            "views",
            f'is "all", which is {every} views: at most {VIEWS_MOST} are allowed; '
            "ask for a number, or take levels away",
        )
    if wanted != "all" and wanted > most and wanted != every:
        raise SampleError(
            "views",
            f"is {wanted}: of the {every} views that these factors hold, at most {most} can be "
            'drawn evenly; ask for fewer, or for views = "all"',
        )


def grid(study: "Study", poses: Mapping[str, Sequence[str]]) -> Iterator[ViewSpec]:
    """Yield every view with a person, backgrounds together.

    Args:
        study: The study.
        poses: Action -> its poses, see :func:`poses_by_action`.
    """
    camera = study.camera
    shown = _poses_of(study, poses)
    for scenery, distance, azimuth, elevation in itertools.product(
        study.sceneries, camera.distances_m, camera.azimuths_deg, camera.elevations_deg
    ):
        for action in study.actions:
            for pose in shown[action]:
                for subject in study.subjects:
                    for texture in subject.textures:
                        yield _view(
                            study,
                            (
                                action,
                                pose,
                                scenery,
                                distance,
                                azimuth,
                                elevation,
                                subject.name,
                                texture,
                            ),
                        )


def sample_views(study: "Study", poses: Mapping[str, Sequence[str]]) -> tuple[ViewSpec, ...]:
    """Return the views of a study: those with a person, and its person-free ones.

    With ``sampling.views`` a number, the views with a person are a random draw that is even: each
    level of action, scenery, distance, azimuth, elevation and subject, each pose within its action,
    each texture within its subject and each cell of action x scenery x distance occurs as often as
    its siblings, give or take one. No view occurs twice. The draw depends on the study's seed and
    factors only.

    A person-free view is a background: camera, distance and scenery. ``sampling.person_free`` is
    ``"all"`` for one of each background in use, or a share of all views; those are drawn evenly
    over distance x scenery.

    Args:
        study: The study.
        poses: Action -> its poses, see :func:`poses_by_action`.

    Returns:
        Views that share a background stand together, its person-free view first, so that a run cut
        into pieces renders few backgrounds twice.

    Raises:
        SampleError: There are not as many views or backgrounds as are asked for.
    """
    views = _with_person(study, poses)
    free = _person_free(study, views)
    order = {key: i for i, key in enumerate(_backgrounds(study))}
    return tuple(sorted([*free, *views], key=lambda view: order[_background(view)]))


def export_grid(study: "Study", poses: Mapping[str, Sequence[str]], path: Path) -> None:
    """Write the views of a study as a table, for a look at them before rendering.

    Args:
        study: The study.
        poses: Action -> its poses.
        path: Written as CSV or, where it ends so, ``.jsonl``: a row a view, its factors as columns.

    Raises:
        ValueError: The path ends in neither.
    """
    path = Path(path)
    rows: list[dict[str, Any]] = [
        {
            "view_id": view.view_id,
            "family": view.family,
            "camera": view.camera_label,
            "target_present": view.target_present,
            **view.factors,
        }
        for view in sample_views(study, poses)
    ]
    if path.suffix not in (".csv", ".jsonl"):
        raise ValueError(f"{path.name}: a table of views is written as .csv or .jsonl")
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


# --- drawing -------------------------------------------------------------------------------------

Levels = tuple[Level, ...]
Background = tuple[Level, ...]

ACTION, POSE, SCENERY, DISTANCE, AZIMUTH, ELEVATION, SUBJECT, TEXTURE = range(len(FACTORS))

# What can be exchanged between two views, and within which group, without unbalancing the draw. The
# last one spreads backgrounds less evenly, so it waits until the others have failed.
_EXCHANGES = (
    ((AZIMUTH, ELEVATION), (SCENERY, DISTANCE)),
    ((POSE,), (ACTION,)),
    ((SUBJECT, TEXTURE), ()),
    ((AZIMUTH, ELEVATION), ()),
)
_PATIENCE = 100


def _view(study: "Study", levels: Levels) -> ViewSpec:
    return view_of(study, dict(zip(FACTORS, levels, strict=True)))


def _poses_of(study: "Study", poses: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return each action's poses that the study shows, in an order of their own."""
    shown = {
        action: tuple(sorted(p for p in poses[action] if not study.poses or p in study.poses))
        for action in study.actions
    }
    for action, its in shown.items():
        if not its:
            raise ValueError(f"the study shows no pose of the action {action}")
    return shown


def _with_person(study: "Study", poses: Mapping[str, Sequence[str]]) -> list[ViewSpec]:
    check_views(study, poses)
    wanted = study.sampling.views
    every, most = count_views(study, poses), largest_sample(study, poses)
    if wanted == "all" or wanted == every:
        return list(grid(study, poses))
    if wanted > every // 2 and most == every:
        # Leaving out an even draw leaves an even draw, and a sparse one is quickly free of repeats.
        left_out = set(_draw(study, poses, every - wanted))
        return [v for v in grid(study, poses) if tuple(v.factors.values()) not in left_out]
    return [_view(study, levels) for levels in _draw(study, poses, wanted)]


def _draw(study: "Study", poses: Mapping[str, Sequence[str]], n: int) -> list[Levels]:
    """Return n different combinations of levels, drawn evenly.

    Cells of scenery x distance x action are laid out first, in order. Along that list cameras,
    poses and subjects are dealt like cards, all levels in random order, then all again: so also
    within a scenery, a distance or an action they are nearly even.
    """
    shown = _poses_of(study, poses)
    camera = study.camera
    cells = _spread(study, "cell", [study.sceneries, camera.distances_m, study.actions], n)
    cells.sort(
        key=lambda cell: (
            study.sceneries.index(cell[0]),
            camera.distances_m.index(cell[1]),
            study.actions.index(cell[2]),
        )
    )
    cameras = _spread(study, "camera", [camera.azimuths_deg, camera.elevations_deg], n)
    textures = {subject.name: subject.textures for subject in study.subjects}
    subjects = _spread(study, "subject", [tuple(textures)], n)
    pose_decks = {a: _deck(study, f"pose/{a}", its) for a, its in shown.items()}
    texture_decks = {s: _deck(study, f"texture/{s}", its) for s, its in textures.items()}
    drawn = [
        [
            action,
            next(pose_decks[action]),
            scenery,
            distance,
            azimuth,
            elevation,
            subject,
            next(texture_decks[subject]),
        ]
        for (scenery, distance, action), (azimuth, elevation), (subject,) in zip(
            cells, cameras, subjects, strict=True
        )
    ]
    _part_repeats(study, drawn)
    return [tuple(levels) for levels in drawn]


def _spread(
    study: "Study", stage: str, factors: Sequence[Sequence[Any]], n: int
) -> list[tuple[Any, ...]]:
    """Return n combinations of factors, every one as often as the others, give or take one.

    Every round through all combinations has a random order of its own, in which also every
    beginning holds each level of each factor as often as its siblings, give or take one.
    """
    sizes = [len(levels) for levels in factors]
    size = math.prod(sizes)
    found: list[tuple[Any, ...]] = []
    for lap in range(math.ceil(n / size)):
        order = [
            seeds.permutation(study.seed, f"{stage}/{lap}", f"level/{i}", k)
            for i, k in enumerate(sizes)
        ]
        for place in range(min(size, n - len(found))):
            indices = _diagonal(place, sizes)
            found.append(
                tuple(levels[o[i]] for levels, o, i in zip(factors, order, indices, strict=True))
            )
    return found


def _diagonal(place: int, sizes: Sequence[int]) -> list[int]:
    """Return the indices at a place of a walk through a cross, along its diagonals.

    Each index counts up at every step and slips by one whenever the walk would repeat itself: after
    as many steps as the least common multiple of its size and the period of the indices before.
    Each stretch of as many places as an index has values, from a multiple on, holds all of them.
    """
    indices: list[int] = []
    period = 1
    for size in sizes:
        repeat = math.lcm(period, size)
        period *= size
        indices.append((place + place % period // repeat) % size)
    return indices


def _deck(study: "Study", stage: str, levels: Sequence[str]) -> Iterator[str]:
    """Yield all levels in random order, then all in another, without end."""
    for lap in itertools.count():
        for i in seeds.permutation(study.seed, stage, str(lap), len(levels)):
            yield levels[i]


def _part_repeats(study: "Study", drawn: list[list[Any]]) -> None:
    """Exchange levels between views until no two are the same; marginals stay as they are."""
    seen = Counter(map(tuple, drawn))
    for i, levels in enumerate(drawn):
        for attempt in itertools.count():
            if seen[tuple(levels)] == 1:
                break
            if attempt > 100 * _PATIENCE + 10 * len(drawn):
                raise SampleError(
                    "views",
                    f"is {len(drawn)}: no draw without repeats was found; "
                    'ask for fewer, or for "all"',
                )
            name = f"exchange/{i}/{attempt}"
            kinds = len(_EXCHANGES) - (attempt < _PATIENCE)
            what, within = _EXCHANGES[seeds.choice_index(study.seed, name, "what", kinds)]
            partner = drawn[seeds.choice_index(study.seed, name, "partner", len(drawn))]
            if any(partner[k] != levels[k] for k in within):
                continue
            ours, theirs = list(levels), list(partner)
            for k in what:
                ours[k], theirs[k] = partner[k], levels[k]
            if ours == theirs or seen[tuple(ours)] or seen[tuple(theirs)]:
                continue
            seen.subtract([tuple(levels), tuple(partner)])
            seen.update([tuple(ours), tuple(theirs)])
            levels[:], partner[:] = ours, theirs


def _backgrounds(study: "Study") -> Iterator[Background]:
    camera = study.camera
    return itertools.product(
        study.sceneries, camera.distances_m, camera.azimuths_deg, camera.elevations_deg
    )


def _background(view: ViewSpec) -> Background:
    f = view.factors
    return f["scenery"], f["distance_m"], f["azimuth_deg"], f["elevation_deg"]


def _person_free(study: "Study", views: Sequence[ViewSpec]) -> list[ViewSpec]:
    used = {_background(view) for view in views}
    backgrounds = [b for b in _backgrounds(study) if b in used]
    share = study.sampling.person_free
    if share != "all":
        n = round(len(views) * share / (1 - share))
        if n > len(backgrounds):
            raise SampleError(
                "person_free",
                f"is {share:g}: beside {len(views)} views with a person that is {n} views, but "
                f"they use only {len(backgrounds)} backgrounds; ask for at most "
                f'{len(backgrounds) / (len(backgrounds) + len(views)):.3f}, or for "all"',
            )
        backgrounds = _dealt(study, backgrounds)[:n]
    return [
        _view(study, (None, None, scenery, distance, azimuth, elevation, None, None))
        for scenery, distance, azimuth, elevation in backgrounds
    ]


def _dealt(study: "Study", backgrounds: Sequence[Background]) -> list[Background]:
    """Return backgrounds in random order, taken in turn from each scenery x distance."""

    def key(background: Background) -> int:
        name = "/".join(map(_level_text, background))
        return seeds.bits(study.seed, name, "person-free")

    piles: dict[Background, list[Background]] = {}
    for background in sorted(backgrounds, key=key):
        piles.setdefault(background[:2], []).append(background)
    rounds = itertools.zip_longest(*piles.values())
    return [b for turn in rounds for b in turn if b is not None]
