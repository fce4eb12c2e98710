"""What is checked of a study before a long render.

That each person is in the picture, that nothing hides it unasked, that it stands on the ground and
not in it or through itself, that pictures its materials need are there. Black and magenta light
layers are found in the render itself (``stack``).
"""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from ..core.assets import find_body
from ..core.body import pose_body, to_world
from ..core.factors import ViewSpec
from ..core.optics import project
from ..core.poses import find_pose
from ..core.study import Study
from . import render, stage
from .occluder import OccluderError, remove_occluder
from .scenery import COLLECTION, SceneryError
from .subject import PASS_INDEX, PlacedSubject, body_model
from .view import place_camera, place_person, set_up_view, subject_of, wanted_fraction

__all__ = ["Finding", "check_person", "check_study", "checking", "stand_faults"]

_HIDDEN_MOST = 0.05  # of the points tried: grass about the soles is no occluder
_POINTS = 160
_FEET_MOST_M = 0.02
_UNDER_MOST = 0.01
_UNDER_M = 0.005  # below the ground by this is under it
_CROSSED_MOST = 0.08  # of the faces, beyond what the rest pose has
_SHOWN_IDS = 5
_OWN_GROUND = "Limen Ground"
_ABOVE_M = 1.5  # below most roofs and branches, above a person's feet and any step

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Finding:
    """Something that a check found.

    Attributes:
        check: ``frame``, ``hidden``, ``occluder``, ``camera``, ``feet``, ``under``, ``crossed`` or
            ``texture``.
        error: Whether it must be mended; else it is only told.
        text: What was found and what to do.
        view_ids: The views that it was found in; () where it is of none in particular.
    """

    check: str
    error: bool
    text: str
    view_ids: tuple[str, ...] = ()


@dataclass
class _Notes:
    """Views by what is wrong with them."""

    views: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, check: str, what: str, view_id: str) -> None:
        self.views[check, what].append(view_id)


def check_study(
    study: Study, specs: Sequence[ViewSpec], assets_dir: Path | None, tell: Tell | None = None
) -> list[Finding]:
    """Check the views of a study without rendering them.

    Args:
        study: Resolved.
        specs: The views to check.
        assets_dir: Where licensed bodies lie.
        tell: Called with how many persons and views are checked, and of how many.

    Raises:
        AssetError: A body is missing.
    """
    steps = checking(study, specs, assets_dir)
    while True:
        try:
            done, of = next(steps)
        except StopIteration as end:
            findings: list[Finding] = end.value
            return findings
        if tell is not None:
            tell(done, of)


def checking(
    study: Study, specs: Sequence[ViewSpec], assets_dir: Path | None
) -> Generator[tuple[int, int], None, list[Finding]]:
    """Check as :func:`check_study` does, in steps of about a second, so that a window stays alive.

    Yields how many views are checked, and of how many; returns the findings.
    """
    notes = _Notes()
    persons = _by_scenery_and_person(specs)
    steps, step = sum(len(views) for views in persons.values()), 0
    for (scenery, name, _), views in persons.items():
        stage.set_scenery(scenery)
        person = None
        if name:
            person = place_person(study, views[0], assets_dir)
            _check_stand(study, person, views[0], assets_dir, notes)
        for spec in views:
            _check_view(study, spec, person, assets_dir, notes)
            step += 1
            yield step, steps
    return [*_findings(notes), *_missing_pictures()]


def _by_scenery_and_person(specs: Sequence[ViewSpec]) -> dict[tuple, list[ViewSpec]]:
    groups: dict[tuple, list[ViewSpec]] = defaultdict(list)
    for spec in specs:
        factors = spec.factors
        groups[factors["scenery"], factors["subject"] or "", factors["pose"] or ""].append(spec)
    return dict(sorted(groups.items()))


def _check_view(
    study: Study,
    spec: ViewSpec,
    person: PlacedSubject | None,
    assets_dir: Path | None,
    notes: _Notes,
) -> None:
    try:
        camera, pose = place_camera(study, spec)
    except SceneryError as error:
        notes.add("camera", str(error), spec.view_id)
        return
    if wanted_fraction(study, spec) < 1:
        try:
            set_up_view(study, spec, assets_dir)
        except OccluderError as error:
            notes.add("occluder", str(error), spec.view_id)
        finally:
            remove_occluder()
    if person is None:
        return
    pixels = project(person.vertices_m, camera.K, pose.R, pose.t)
    size = np.array(camera.image_px)
    seen = (pixels > -0.5).all(axis=-1) & (pixels < size - 0.5).all(axis=-1)
    if not seen.any():
        notes.add("frame", "the person is outside the picture", spec.view_id)
    elif not seen.all():
        notes.add("frame", "the picture cuts the person off", spec.view_id)
    if seen.any() and wanted_fraction(study, spec) == 1:
        share = _hidden_share(pixels, size)
        if share > _HIDDEN_MOST:
            notes.add("hidden", "something in the scenery hides the person", spec.view_id)


def _hidden_share(pixels: NDArray[np.float64], size: NDArray[np.int_]) -> float:
    """Return which share of the person's pixels the scenery hides: two masks, of its box alone.

    Cycles is far quicker at it than rays cast through Blender's scene with its instances.
    """
    low = np.clip(np.floor(np.nanmin(pixels, axis=0)).astype(int) - 1, 0, size - 1)
    high = np.clip(np.ceil(np.nanmax(pixels, axis=0)).astype(int) + 2, low + 1, size)
    shot = render.Shot(1, exact_pixels=True, box=(*map(int, low), *map(int, high - low)))
    visible, full = (
        int((render.render_passes(scene, shot)["IndexOB.X"] == PASS_INDEX).sum())
        for scene in (stage.stage_scene(), stage.bare_scene())
    )
    return 1 - visible / full if full else 0.0


def _check_stand(
    study: Study,
    person: PlacedSubject,
    spec: ViewSpec,
    assets_dir: Path | None,
    notes: _Notes,
) -> None:
    """Check feet, sinking in and self-intersection of a person in a scenery."""
    factors = spec.factors
    who = f"{factors['subject']} in pose {factors['pose']}"
    for check, what in stand_faults(person.vertices_m):
        notes.add(check, f"{who} {what}", spec.view_id)
    if what := _crossing(study, spec, assets_dir):
        notes.add("crossed", f"{who} {what}", "")


def check_person(
    study: Study, spec: ViewSpec, person: PlacedSubject, assets_dir: Path | None
) -> tuple[str, ...]:
    """Return what is wrong with a person that stands on the stage, as in "is 4 cm in the ground".

    Args:
        study: Resolved.
        spec: The view that the person belongs to.
        person: As it was placed.
        assets_dir: Where licensed bodies lie.

    Raises:
        AssetError: The body is missing.
    """
    crossing = _crossing(study, spec, assets_dir)
    found = [what for _, what in stand_faults(person.vertices_m)]
    return (*found, *([crossing] if crossing else []))


def stand_faults(body_m: NDArray[np.float64]) -> tuple[tuple[str, str], ...]:
    """Return (check, what) of a body (V, 3) that does not fit the ground of the scenery shown."""
    if not _ground_objects():
        return (("feet", "stands on hidden ground: show the scenery to have it checked"),)
    gap_m, under = _contact(body_m)
    found = []
    if abs(gap_m) > _FEET_MOST_M:
        side = "above" if gap_m > 0 else "in"
        found.append(("feet", f"is {abs(gap_m) * 100:.0f} cm {side} the ground"))
    if under > _UNDER_MOST:
        found.append(("under", f"has {under:.0%} of its surface under the ground"))
    return tuple(found)


def _crossing(study: Study, spec: ViewSpec, assets_dir: Path | None) -> str:
    """Return how a view's person passes through itself, "" where it does not."""
    subject = subject_of(study, spec)
    path, betas = find_body(subject, assets_dir), tuple(subject.betas or ())
    crossed = _crossed_share(path, betas, str(spec.factors["pose"]))
    rest = _crossed_share(path, betas, "")
    if crossed - rest <= _CROSSED_MOST:
        return ""
    return f"passes through itself with {crossed:.0%} of its faces"


def _contact(body_m: NDArray[np.float64]) -> tuple[float, float]:
    """Return the gap below the lowest point, in metres, and the share of points under ground."""
    low = body_m[body_m[:, 2] < body_m[:, 2].min() + 0.3]
    low = low[np.argsort(low[:, 2])]
    lowest, rest = low[:40], low[40 :: max(1, len(low) // _POINTS)]
    objects = _ground_objects()
    stage.stage_scene().view_layers[0].update()
    ground = np.array([_ground_m(x, y, objects) for x, y, _ in np.concatenate([lowest, rest])])
    height = np.concatenate([lowest, rest])[:, 2] - ground
    under_share = float((height[len(lowest) :] < -_UNDER_M).mean()) if len(rest) else 0.0
    return float(height[: len(lowest)].min()), under_share * len(low) / len(body_m)


def _ground_objects() -> list[bpy.types.Object]:
    """Return what a person stands on and the viewport shows: Limen's ground, or any mesh."""
    layer = stage.stage_scene().view_layers[0]
    items = [
        item
        for item in bpy.data.collections[COLLECTION].all_objects
        if item.type == "MESH" and item.visible_get(view_layer=layer)
    ]
    own = [item for item in items if item.name.startswith(_OWN_GROUND)]
    return own or items


def _ground_m(x: float, y: float, ground: Sequence[bpy.types.Object]) -> float:
    """Return the ground's height at a place, below grass and pebbles where it is Limen's own."""
    heights = [float("-inf")]
    graph = stage.stage_scene().view_layers[0].depsgraph
    for item in ground:
        inverse = item.matrix_world.inverted_safe()
        start = inverse @ Vector((x, y, _ABOVE_M))
        down = inverse.to_3x3() @ Vector((0.0, 0.0, -1.0))
        hit, place, *_ = item.ray_cast(start, down, depsgraph=graph)
        if hit:
            heights.append(float((item.matrix_world @ place).z))
    return max(heights)


@lru_cache(maxsize=256)  # the same in every scenery
def _crossed_share(body_file: Path, betas: tuple[float, ...], pose_name: str) -> float:
    """Return the share of a bare body's faces that pass through others they do not touch.

    Without a pose's name the body is at rest.
    """
    body = body_model(body_file)
    pose = find_pose(pose_name).axis_angle_rad if pose_name else np.zeros((55, 3))
    vertices = to_world(pose_body(body, betas, pose).vertices_m)
    faces = np.asarray(body.faces)
    tree = BVHTree.FromPolygons(vertices.tolist(), faces.tolist())
    pairs = np.array(tree.overlap(tree)).reshape(-1, 2)
    a, b = faces[pairs[:, 0]], faces[pairs[:, 1]]
    apart = ~(a[:, :, None] == b[:, None, :]).any(axis=(1, 2))
    return len(np.unique(pairs[apart])) / len(faces)


def _findings(notes: _Notes) -> Iterator[Finding]:
    advice = {
        "frame": "they are listed in the rows as truncated; a wider window or another distance "
        "shows all of it",
        "hidden": "move it in the scenery, or leave the azimuth or elevation out",
        "camera": "",
        "occluder": "",
        "feet": "the pose or the scenery's anchor is at the wrong height",
        "under": "the ground there is not level, or the pose reaches below its feet",
        "crossed": "look at the pose before it is used",
    }
    for (check, what), ids in sorted(notes.views.items()):
        views = [i for i in ids if i]
        where = ""
        if views:
            shown = ", ".join(views[:_SHOWN_IDS])
            more = f" and {len(views) - _SHOWN_IDS} more" if len(views) > _SHOWN_IDS else ""
            where = f" (view{'s' if len(views) > 1 else ''} {shown}{more})"
        text = f"{what}{where}" + (f": {advice[check]}" if advice[check] else "")
        yield Finding(check, check not in ("frame", "crossed"), text, tuple(views))


def _missing_pictures() -> Iterator[Finding]:
    for image in bpy.data.images:
        if image.source != "FILE" or image.packed_file or not image.filepath:
            continue
        path = Path(bpy.path.abspath(image.filepath))
        if not path.is_file():
            text = f"the picture {path} of material image '{image.name}' is not there"
            yield Finding("texture", True, text)
