"""Writing a study: resolved for a dataset, brief for a person, or into the file that is there."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from .. import factors, seeds, toml_text
from .. import toml_check as rules
from ..dataset import write_file
from ..lighting import Lighting
from ..optics import load_sensors
from ..toml_text import format_value
from .reading import library_poses, lighting_presets, parse_study, read_study_text
from .values import (
    DISTANCE_KEYS,
    RANDOM_BETAS,
    RANDOM_BETAS_LIMIT,
    CameraSetup,
    Study,
    StudyError,
    lighting_values,
)

__all__ = ["brief_text", "dump_study", "resolve", "save_study"]


def resolve(study: Study, *, pose_actions: Mapping[str, str] | None = None) -> Study:
    """Return the study with nothing left to look up or to draw.

    Random betas are drawn (rounded to 6 decimals, cut off at 2 standard deviations), poses listed,
    bands and densities replaced by their distances. Resolving again changes nothing.

    Args:
        study: The study.
        pose_actions: See :func:`parse_study`.
    """
    shown = factors.poses_by_action(
        study, (library_poses() if pose_actions is None else pose_actions)
    )
    return replace(
        study,
        camera=replace(study.camera, bands=(), densities_px_per_m=()),
        subjects=tuple(
            replace(s, betas=_random_betas(study.seed, s.name)) if s.betas == "random" else s
            for s in study.subjects
        ),
        poses=study.poses or tuple(pose for its in shown.values() for pose in its),
    )


def _random_betas(seed: int, name: str) -> tuple[float, ...]:
    drawn = seeds.normal(seed, name, "betas", RANDOM_BETAS, limit=RANDOM_BETAS_LIMIT)
    return tuple(round(float(beta), 6) + 0.0 for beta in drawn)


def dump_study(study: Study, *, pose_actions: Mapping[str, str] | None = None) -> str:
    """Return a study as TOML, resolved and with every preset written out.

    This is the text that a dataset freezes: equal studies give equal texts, and parsing it gives
    ``resolve(study)``.

    Args:
        study: The study.
        pose_actions: See :func:`parse_study`.
    """
    study = resolve(study, pose_actions=pose_actions)
    return _compose(
        study,
        _top_values(study),
        _camera_values(study.camera),
        [lighting_values(lighting) for lighting in study.lightings],
    )


def brief_text(study: Study) -> str:
    """Return a study as TOML that names presets: what a person would write.

    A study with faults gives a text with the same faults, for :func:`parse_study` to tell.
    """
    names = _preset_names(study.lightings)
    return _compose(
        study,
        {**_top_values(study), "lightings": names},
        _brief_camera_values(study.camera),
        [_brief_lighting_values(lighting) for lighting in study.lightings[len(names) :]],
    )


def save_study(study: Study, path: Path, *, pose_actions: Mapping[str, str] | None = None) -> None:
    """Save a study: whole or not at all, and over an existing file only what was edited.

    Comments, order and layout of an existing file stay, keys it lacks are added to their tables,
    and a study that it already holds leaves it as it is to the byte.

    Args:
        study: The study.
        path: The TOML file; it may be there already.
        pose_actions: See :func:`parse_study`.

    Raises:
        StudyError: The study has faults, or the file that is there cannot be read or has faults.
    """
    path = Path(path)
    if path.exists():
        before = read_study_text(path)
        old = parse_study(before, path.as_posix(), pose_actions=pose_actions)
        if old == study:
            return
        text = _edited(before, old, study)
    else:
        text = brief_text(study)
    saved = parse_study(text, path.as_posix(), pose_actions=pose_actions)
    if saved != study:
        raise StudyError([f"Study is not saved: {_difference(study, saved)}"])
    write_file(path, text.encode())


def _top_values(study: Study) -> dict[str, Any]:
    return {
        key: getattr(study, key)
        for key in ("name", "family", "seed", *_TOP_LISTS)
        if key != "unoccluded_fractions" or study.unoccluded_fractions != (1.0,)
    }


_TOP_LISTS = ("sceneries", "actions", "poses", "unoccluded_fractions")


def _distance_key(setup: CameraSetup) -> str:
    """Return which of the three ways the distances are given in."""
    if setup.bands:
        return "bands"
    return "densities_px_per_m" if setup.densities_px_per_m else "distances_m"


def _camera_values(setup: CameraSetup) -> dict[str, Any]:
    absent = {*DISTANCE_KEYS} - {_distance_key(setup)} | ({"window"} if not setup.window else set())
    return {key: getattr(setup, key) for key in _CAMERA_ORDER if key not in absent}


def _brief_camera_values(setup: CameraSetup) -> dict[str, Any]:
    values = _camera_values(setup)
    if setup.sensor in load_sensors():
        del values["sensor_width_mm"], values["sensor_height_mm"]
    return values


_CAMERA_ORDER = (
    "sensor",
    "sensor_width_mm",
    "sensor_height_mm",
    "lens_mm",
    "fnumber",
    "resolution",
    "window",
    "scale",
    *DISTANCE_KEYS,
    "azimuths_deg",
    "elevations_deg",
    "look_at_height_m",
    "shutter_limit_s",
    "iso",
)


def _brief_lighting_values(lighting: Lighting) -> dict[str, Any]:
    """Return a lighting's table, on the base of the preset it was rescaled from, if of one."""
    for preset in lighting_presets().values():
        if replace(preset, name=lighting.name, illuminance_lx=lighting.illuminance_lx) == lighting:
            return {
                "name": lighting.name,
                "base": preset.name,
                "illuminance_lx": lighting.illuminance_lx,
            }
    return lighting_values(lighting)


def _preset_names(lightings: Sequence[Lighting]) -> tuple[str, ...]:
    """Return the names of the presets that a list of lightings begins with."""
    presets = lighting_presets()
    names = []
    for lighting in lightings:
        if presets.get(lighting.name) != lighting:
            break
        names.append(lighting.name)
    return tuple(names)


def _compose(
    study: Study,
    top: Mapping[str, Any],
    camera: Mapping[str, Any],
    lightings: Sequence[Mapping[str, Any]],
) -> str:
    text = "".join(f"{key} = {format_value(value)}\n" for key, value in top.items())
    text = toml_text.append_table(text, ("camera",), camera, array=False)
    for subject in study.subjects:
        text = toml_text.append_table(text, ("subject",), vars(subject), array=True)
    for scenery in study.own_sceneries:
        text = toml_text.append_table(text, ("scenery",), vars(scenery), array=True)
    for lighting in lightings:
        text = toml_text.append_table(text, ("lighting",), lighting, array=True)
    for key in ("sampling", "render", "outputs"):
        text = toml_text.append_table(text, (key,), vars(getattr(study, key)), array=False)
    return text


def _edited(text: str, old: Study, new: Study) -> str:
    """Return the text of ``old`` with as few edits as make it say ``new``."""
    for key in ("name", "family", "seed", *_TOP_LISTS):
        if getattr(old, key) != getattr(new, key):
            text = toml_text.set_key(text, (key,), getattr(new, key))
    text = _edited_camera(text, old.camera, new.camera)
    text = _edited_tables(text, "subject", old.subjects, new.subjects, vars)
    text = _edited_tables(text, "scenery", old.own_sceneries, new.own_sceneries, vars)
    text = _edited_lightings(text, old.lightings, new.lightings)
    for table in ("sampling", "render", "outputs"):
        before, after = vars(getattr(old, table)), vars(getattr(new, table))
        for key, value in after.items():
            if before[key] != value:
                text = toml_text.set_key(text, (table, key), value)
    return text


def _edited_camera(text: str, old: CameraSetup, new: CameraSetup) -> str:
    there = tomllib.loads(text)["camera"]
    sensors = load_sensors()
    brief = _brief_camera_values(new)
    changed = {key for key in _CAMERA_ORDER if getattr(old, key) != getattr(new, key)}
    if "sensor" in changed:
        # What the old preset gave silently, the new one may give otherwise.
        changed |= {"resolution", "lens_mm", "fnumber"}
    if changed & {"sensor", "sensor_width_mm", "sensor_height_mm", "resolution"}:
        changed |= {"sensor_width_mm", "sensor_height_mm"}
        if new.sensor not in sensors:
            changed |= {"sensor"}
    if _distance_key(old) == _distance_key(new) != "distances_m":
        changed -= {"distances_m"}
    for key in _CAMERA_ORDER:
        if key not in changed or (key == "sensor" and there.get(key, "own") == new.sensor):
            continue
        if key in brief:
            if key not in there or there[key] != _as_toml(brief[key]):
                text = toml_text.set_key(text, ("camera", key), brief[key])
        elif key in there:
            text = toml_text.delete_key(text, ("camera", key))
    return text


def _as_toml(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _edited_lightings(text: str, old: Sequence[Lighting], new: Sequence[Lighting]) -> str:
    if old == new:
        return text
    old_count = len(tomllib.loads(text).get("lightings", []))
    presets = lighting_presets()
    count = len(new) - (len(old) - old_count)
    tables_stay = count >= 0 and new[count:] == old[old_count:]
    if not tables_stay or any(presets.get(x.name) != x for x in new[:count]):
        names_stay = new[:old_count] == old[:old_count]
        count = old_count if names_stay else len(_preset_names(new))
    if new[:count] != old[:old_count]:
        text = toml_text.set_key(text, ("lightings",), [x.name for x in new[:count]])
    return _edited_tables(text, "lighting", old[old_count:], new[count:], _brief_lighting_values)


def _edited_tables(
    text: str,
    key: str,
    old: Sequence[Any],
    new: Sequence[Any],
    values_of: Callable[[Any], Mapping[str, Any]],
) -> str:
    """Edit an array of tables that have names: in place, by removing some, by appending some."""
    layout = toml_text.scan(text)
    had, wanted = [x.name for x in old], [x.name for x in new]
    in_place = len(old) == len(new) and all(
        a == b or (a not in wanted and b not in had) for a, b in zip(had, wanted, strict=True)
    )
    if not in_place and (key,) in layout.values:  # an array of inline tables
        if not new:
            return toml_text.delete_key(text, (key,))
        return toml_text.set_key(text, (key,), [values_of(item) for item in new])
    if not in_place:
        kept = [item for item in old if item.name in wanted]
        if [item.name for item in kept] != wanted[: len(kept)]:
            kept = []
        for i in reversed(range(len(old))):
            if old[i] not in kept:
                text = toml_text.delete_table(text, (key, i))
        old = kept
    for i, (before, after) in enumerate(zip(old, new, strict=False)):
        if before != after:
            text = _edited_table(text, (key, i), before, after, values_of)
    for item in new[len(old) :]:
        text = toml_text.append_table(text, (key,), values_of(item), array=True)
    return text


def _edited_table(
    text: str,
    path: rules.Path,
    old: Any,
    new: Any,
    values_of: Callable[[Any], Mapping[str, Any]],
) -> str:
    changed = {key for key, value in vars(new).items() if value != vars(old)[key]}
    values = values_of(new)
    base = (*path, "base")
    if "components" in changed and base in toml_text.scan(text).values:
        text = toml_text.delete_key(text, base)
        values, changed = lighting_values(new), set(vars(new))
    if "components" in changed:
        values = lighting_values(new)
    for key in vars(new):
        if key in changed:
            value = values[key] if key in values else getattr(new, key)
            text = toml_text.set_key(text, (*path, key), value)
    return text


def _difference(study: object, saved: object, where: str = "") -> str:
    """Return where what the file would say first differs from a study, in words."""
    if is_dataclass(study) and is_dataclass(saved) and type(study) is type(saved):
        for f in fields(study):
            a, b = getattr(study, f.name), getattr(saved, f.name)
            if a != b:
                return _difference(a, b, f"{where}.{f.name}" if where else f.name)
    return f"{where} is {study}, but the file would give {saved}"
