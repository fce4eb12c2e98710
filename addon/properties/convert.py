"""A study to a scene's properties and back: what goes in comes out, to the last digit."""

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from ..core.lighting import Component, Lighting, parse_layer
from ..core.optics import density_at, load_sensors
from ..core.standards import class_of, load_scales
from ..core.study import (
    RANDOM_BETAS,
    CameraSetup,
    Outputs,
    OwnScenery,
    RenderSettings,
    Sampling,
    Study,
    StudyError,
    Subject,
    with_distances,
)
from . import live
from .exact import get_exact, put_exact
from .groups import (
    LimenCamera,
    LimenLevel,
    LimenLighting,
    LimenStudy,
    LimenSubject,
    fill_bands,
)

__all__ = [
    "add_level",
    "add_lighting",
    "add_scenery",
    "add_subject",
    "add_texture",
    "camera_of",
    "direct_light",
    "is_edited",
    "level_value",
    "lighting_before",
    "lighting_of",
    "lists_no_pose",
    "put_betas",
    "reset_lighting",
    "restate_distances",
    "show_study",
    "study_of",
]

_CAMERA_NUMBERS = (
    "sensor_width_mm",
    "sensor_height_mm",
    "resolution",
    "lens_mm",
    "fnumber",
    "look_at_height_m",
    "shutter_limit_s",
    "iso",
)
_OWN = "own"


# --- study -> properties -------------------------------------------------------------------------


def show_study(shown: LimenStudy, study: Study) -> None:
    """Fill the properties with a study; what was there goes."""
    with live.filling():
        put_exact(shown, {"name": study.name, "family": study.family, "seed": study.seed})
        _show_camera(shown.camera, study.camera)
        for collection in (shown.lightings, shown.sceneries, shown.subjects):
            collection.clear()
        for lighting in study.lightings:
            add_lighting(shown, lighting)
        own = {scenery.name: scenery for scenery in study.own_sceneries}
        places = {scenery.name: place for place, scenery in enumerate(study.own_sceneries)}
        for name in study.sceneries:
            add_scenery(shown, own.get(name, name)).own_place = places.get(name, 0)
        for subject in study.subjects:
            add_subject(shown, subject)
        _show_levels(shown.actions, study.actions)
        _show_levels(shown.poses, study.poses)
        shown.all_poses = not study.poses
        _show_levels(shown.unoccluded_fractions, study.unoccluded_fractions)
        sampling = study.sampling
        shown.all_views = sampling.views == "all"
        if not shown.all_views:
            put_exact(shown, {"views": sampling.views})
        shown.all_backgrounds = sampling.person_free == "all"
        if not shown.all_backgrounds:
            put_exact(shown, {"person_free": sampling.person_free})
        put_exact(shown, vars(study.render))
        put_exact(shown, vars(study.outputs))
    live.touch(shown.id_data)


def _show_camera(shown: LimenCamera, setup: CameraSetup) -> None:
    is_preset = setup.sensor in load_sensors()
    shown.sensor = setup.sensor if is_preset else _OWN
    shown.sensor_label = _OWN if is_preset else setup.sensor
    shown.scale = setup.scale
    put_exact(shown, {name: getattr(setup, name) for name in _CAMERA_NUMBERS})
    shown.use_window = setup.window is not None
    if setup.window:
        put_exact(shown, {"window": setup.window})
    _show_levels(shown.azimuths_deg, setup.azimuths_deg)
    _show_levels(shown.elevations_deg, setup.elevations_deg)
    ways = [key for key in ("bands", "densities_px_per_m") if getattr(setup, key)]
    shown.distance_by = shown.distance_was = (ways or ["distances_m"])[0]
    _show_distances(shown, setup)


def _show_distances(shown: LimenCamera, setup: CameraSetup) -> None:
    """Fill the list that gave the distances, and the two others with what they amount to."""
    optics = replace(setup, window=None).optics()
    scale = load_scales()[setup.scale]
    densities = [density_at(optics, distance) for distance in setup.distances_m]
    if setup.bands:
        fill_bands(shown, set())
        for place, name in enumerate(setup.bands):  # in the study's order
            shown.bands.move(shown.bands.find(name), place)
            shown.bands[place].used = True
    else:
        fill_bands(shown, {class_of(density, scale) or "" for density in densities})
    derived = bool(setup.bands or setup.densities_px_per_m)
    _show_levels(
        shown.densities_px_per_m, setup.densities_px_per_m or [_rounded(x) for x in densities]
    )
    _show_levels(
        shown.distances_m,
        [_rounded(x) for x in setup.distances_m] if derived else setup.distances_m,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")  # centimetres at 20 m: nobody places a camera more exactly


def _show_levels(collection: Any, levels: Iterable[str | float]) -> None:
    collection.clear()
    for level in levels:
        add_level(collection, level)


def add_level(collection: Any, level: str | float) -> LimenLevel:
    """Append a level to a collection of them; returns it."""
    item = collection.add()
    if isinstance(level, str):
        item.name = level
    else:
        put_exact(item, {"value": level})
    return item


def add_lighting(shown: LimenStudy, lighting: Lighting) -> LimenLighting:
    """Append a lighting; returns it."""
    item = shown.lightings.add()
    item.name = lighting.name
    item.made_of = json.dumps(asdict(lighting))
    reset_lighting(item)
    return item


def reset_lighting(item: LimenLighting) -> None:
    """Take the edits of a lighting back, its name excepted."""
    lighting = lighting_before(item)
    put_exact(
        item,
        {
            "illuminance_lx": lighting.illuminance_lx,
            "sun_percent": _sun_percent(lighting),
        },
    )


def add_scenery(shown: LimenStudy, scenery: str | OwnScenery) -> Any:
    """Append a scenery; returns it."""
    item = shown.sceneries.add()
    if isinstance(scenery, str):
        item.name = scenery
        return item
    item.own, item.own_place = True, len(shown.sceneries)
    for key, value in vars(scenery).items():
        setattr(item, key, value)
    return item


def add_subject(shown: LimenStudy, subject: Subject) -> LimenSubject:
    """Append a subject; returns it."""
    item = shown.subjects.add()
    item.name, item.body, item.body_sha256 = subject.name, subject.body, subject.body_sha256
    put_exact(item, {"yaw_deg": subject.yaw_deg})
    item.random_betas = subject.betas == "random"
    if not item.random_betas:
        put_betas(item, tuple(subject.betas))
    item.hashes_given = bool(subject.texture_sha256)
    hashes = subject.texture_sha256 or [""] * len(subject.textures)
    for name, sha256 in zip(subject.textures, hashes, strict=True):
        add_texture(item, name, sha256)
    return item


def add_texture(subject: LimenSubject, name: str, sha256: str = "") -> Any:
    """Append a texture to a subject; returns it."""
    texture = subject.textures.add()
    texture.name, texture.sha256 = name, sha256
    return texture


def put_betas(item: LimenSubject, betas: tuple[float, ...]) -> None:
    """Show the first coefficients; all of them, as many as there are, stay in ``exact``."""
    padded = [*betas[:RANDOM_BETAS], *[0.0] * (RANDOM_BETAS - len(betas))]
    put_exact(item, {"betas": padded}, given={"betas": betas})


# --- properties -> study -------------------------------------------------------------------------


def study_of(shown: LimenStudy) -> Study:
    """Return the study that the properties say, faults and all: ``parse_study`` checks its text."""
    own = [item for item in shown.sceneries if item.used and item.own]
    own.sort(key=lambda item: item.own_place)
    return Study(
        name=shown.name,
        family=shown.family,
        seed=get_exact(shown, "seed"),
        camera=camera_of(shown.camera),
        lightings=tuple(lighting_of(item) for item in shown.lightings if item.used),
        sceneries=_levels(shown.sceneries),
        subjects=tuple(_subject(item) for item in shown.subjects if item.used),
        actions=_levels(shown.actions),
        poses=() if shown.all_poses else _levels(shown.poses),
        sampling=Sampling(
            "all" if shown.all_views else get_exact(shown, "views"),
            "all" if shown.all_backgrounds else get_exact(shown, "person_free"),
        ),
        render=RenderSettings(shown.method, get_exact(shown, "samples"), shown.denoise),
        outputs=Outputs(shown.masks, shown.depth, shown.clean),
        own_sceneries=tuple(
            OwnScenery(item.name, item.collection, item.anchor, item.blend_sha256) for item in own
        ),
        unoccluded_fractions=_values(shown.unoccluded_fractions),
    )


def lists_no_pose(shown: LimenStudy) -> bool:
    """Return whether poses are listed, and none of them is switched on."""
    return not shown.all_poses and not any(pose.used for pose in shown.poses)


def camera_of(shown: LimenCamera) -> CameraSetup:
    """Return the camera and its viewpoints.

    Raises:
        ValueError: Its numbers fit no camera, so that no distance belongs to a density.
    """
    return _camera(shown, shown.distance_by)


def _camera(shown: LimenCamera, way: str) -> CameraSetup:
    """Return the camera, its distances as one of the three lists gives them."""
    given = _levels(shown.bands) if way == "bands" else _values(getattr(shown, way))
    setup = CameraSetup(
        sensor=shown.sensor_label if shown.sensor == _OWN else shown.sensor,
        azimuths_deg=_values(shown.azimuths_deg),
        elevations_deg=_values(shown.elevations_deg),
        window=get_exact(shown, "window") if shown.use_window else None,
        scale=shown.scale,
        **{"distances_m": (), way: given},
        **{name: get_exact(shown, name) for name in _CAMERA_NUMBERS},
    )
    return with_distances(setup)


def restate_distances(shown: LimenCamera) -> None:
    """Say the distances in the way that is chosen now, as they were given in the one before.

    A band stands for its middle: distances that become bands move there.
    """
    try:
        setup = _camera(shown, shown.distance_was)
    except ValueError:  # no camera, no distances: the list stays as it is
        setup = None
    if setup and shown.distance_was != shown.distance_by:
        with live.filling():
            _show_distances(shown, setup)
    shown.distance_was = shown.distance_by


def lighting_of(shown: LimenLighting) -> Lighting:
    """Return the lighting with the edits to its illuminance and its share of sun."""
    lighting = lighting_before(shown)
    lighting = replace(lighting, illuminance_lx=get_exact(shown, "illuminance_lx"))
    percent = get_exact(shown, "sun_percent")
    if percent != _sun_percent(lighting):
        lighting = _with_sun_share(lighting, percent / 100)
    return lighting


def lighting_before(shown: LimenLighting) -> Lighting:
    """Return the lighting as it was added, under the name that it has now.

    Raises:
        StudyError: It was not added by :func:`add_lighting`, or what that wrote is damaged.
    """
    try:
        made_of: dict[str, Any] = json.loads(shown.made_of)
        parts = tuple(
            Component(part["layer"], part["share"], tuple(part["colour"]))
            for part in made_of["components"]
        )
        table = {
            "name": shown.name,
            "components": parts,
            "lamps_colour": tuple(made_of["lamps_colour"]),
        }
        return Lighting(**made_of | table)
    except (ValueError, KeyError, TypeError) as error:
        said = f"Study lighting '{shown.name}' lacks its light: remove it and add it again"
        raise StudyError([said], [("lighting",)]) from error


def is_edited(shown: LimenLighting) -> bool:
    """Return whether a lighting differs from what was added; a damaged one does not."""
    try:
        return lighting_of(shown) != lighting_before(shown)
    except StudyError:
        return False


def _sun_percent(lighting: Lighting) -> float:
    return 100 * _sun_share(lighting)


def _sun_share(lighting: Lighting) -> float:
    return sum(part.share for part in direct_light(lighting))


def direct_light(lighting: Lighting) -> tuple[Component, ...]:
    """Return what of a lighting comes from one side: sun or moon, else the glow of twilight."""
    kinds = {part: parse_layer(part.layer).kind for part in lighting.components}
    for kind in ("sun", "glow"):
        if kind in kinds.values():
            return tuple(part for part in lighting.components if kinds[part] == kind)
    return ()


def _with_sun_share(lighting: Lighting, share: float) -> Lighting:
    """Return a lighting whose direct light gives a share, in its proportions; sky the rest."""
    direct, before = direct_light(lighting), _sun_share(lighting)
    if not 0 < before < 1:  # nothing to take from, or nothing to give to
        return lighting
    parts = []
    for part in lighting.components:
        factor = share / before if part in direct else (1 - share) / (1 - before)
        parts.append(replace(part, share=round(part.share * factor, 9)))
    # The shares of a lighting sum to 1 exactly enough to be read back.
    return replace(lighting, components=tuple(part for part in parts if part.share > 0))


def _subject(shown: LimenSubject) -> Subject:
    textures = [texture for texture in shown.textures if texture.used]
    hashes = tuple(texture.sha256 for texture in textures)
    return Subject(
        shown.name,
        shown.body,
        shown.body_sha256,
        "random" if shown.random_betas else get_exact(shown, "betas"),
        get_exact(shown, "yaw_deg"),
        tuple(texture.name for texture in textures),
        hashes if shown.hashes_given else (),
    )


def level_value(level: LimenLevel) -> float:
    """Return a level's number as it was given."""
    value: float = get_exact(level, "value")
    return value


def _values(collection: Iterable[LimenLevel]) -> tuple[float, ...]:
    return tuple(level_value(level) for level in collection if level.used)


def _levels(collection: Any) -> tuple[str, ...]:
    return tuple(item.name for item in collection if item.used)
