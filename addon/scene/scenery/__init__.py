"""The places a study can be set in: Limen's own, a module each, and files of the user's."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.assets import own_scenery_files
from ...core.study import SCENERIES, Study
from ..lighting import Lamp
from ..render import forget_pictures
from . import desert, field, wharf
from .own import OwnFile, OwnSceneryError, append_own, lowest_of
from .own import names_in as names_in_file

__all__ = [
    "COLLECTION",
    "SceneryError",
    "build_scenery",
    "declare_own",
    "lamps_of",
    "lowest_level_m",
    "mirrors",
    "names_in",
    "scenery_version",
]

COLLECTION = "Limen Scenery"
_LOWEST = "limen_lowest_m"

_BUILDERS: dict[str, ModuleType] = {"desert": desert, "field": field, "wharf": wharf}
_own_files: dict[str, OwnFile] = {}


class SceneryError(ValueError):
    """A scenery that cannot be built."""


def declare_own(study: Study, folders: Sequence[Path]) -> Study:
    """Find the files of a study's own sceneries; returns the study with their hashes.

    Args:
        study: The study.
        folders: Where the files may lie, in order.

    Raises:
        AssetError: A file is not there, or is not the one that the study names.
    """
    found = own_scenery_files(study.own_sceneries, folders)
    for scenery, path in found:
        _own_files[scenery.name] = OwnFile(scenery, path)
    return replace(study, own_sceneries=tuple(scenery for scenery, _ in found))


def names_in(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the collections and of the objects in a .blend file.

    Raises:
        SceneryError: It cannot be read.
    """
    try:
        return names_in_file(path)
    except OwnSceneryError as error:
        raise SceneryError(str(error)) from error


def build_scenery(scene: bpy.types.Scene, name: str) -> bpy.types.Collection:
    """Replace the scenery of a scene; returns its collection.

    The subject's place, the origin, is level ground at height 0 in every scenery.

    Raises:
        SceneryError: There is no such scenery, or its file holds none.
    """
    if name not in _own_files:
        builder, variant = _builder(name)
    old = bpy.data.collections.get(COLLECTION)
    if old is not None:
        for item in list(old.all_objects):
            bpy.data.objects.remove(item)
        bpy.data.collections.remove(old)
        bpy.data.orphans_purge(do_recursive=True)
        forget_pictures()
    collection = bpy.data.collections.new(COLLECTION)
    scene.collection.children.link(collection)
    if name in _own_files:
        try:
            append_own(scene, collection, _own_files[name])
        except OwnSceneryError as error:
            raise SceneryError(str(error)) from error
        collection[_LOWEST] = lowest_of(collection)
    else:
        builder.build(collection, variant)
        _hide_originals(scene, collection)
    collection["limen_scenery"] = name
    return collection


def _hide_originals(scene: bpy.types.Scene, collection: bpy.types.Collection) -> None:
    """Hide what is copied: a render leaves it out by itself, a viewport shows it at the origin."""
    for item in collection.all_objects:
        if item.parent is not None and item.parent.instance_type == "FACES":
            for view_layer in scene.view_layers:
                item.hide_set(True, view_layer=view_layer)


def scenery_version(name: str) -> str:
    """Return what identifies a scenery's looks: its name and its builder's version or its hash.

    Raises:
        SceneryError: There is no such scenery.
    """
    if name in _own_files:
        return f"{name}-{_own_files[name].scenery.blend_sha256}"
    builder, _ = _builder(name)
    return f"{name}-v{builder.VERSION}"


def lowest_level_m(name: str) -> float:
    """Return the height of the lowest ground that a person's shadow can fall on.

    That of a file of the user's is known once it is built.
    """
    if name in _own_files:
        return float(bpy.data.collections[COLLECTION][_LOWEST])
    builder, _ = _builder(name)
    return builder.LOWEST_LEVEL_M


def lamps_of(name: str) -> tuple[Lamp, ...]:
    """Return the lamps of a scenery; most have none."""
    if name in _own_files:
        return ()
    builder, _ = _builder(name)
    return getattr(builder, "LAMPS", ())


def mirrors(name: str, body_m: NDArray[np.float64], camera_m: NDArray[np.float64]) -> bool:
    """Return whether a camera may see a body (V, 3) mirrored in the scenery's water.

    Water here lies below a quay: from near the quay its edge hides the body, however steep the
    waves. A camera sees it mirrored only from farther out than where the edge stops hiding it.
    """
    if name in _own_files:
        return False
    builder, _ = _builder(name)
    if not hasattr(builder, "WATER_LEVEL_M"):
        return False
    top_m = float(body_m[:, 2].max())
    to_edge_m = builder.WATER_EDGE_Y_M - float(body_m[:, 1].max())
    least_m = -builder.WATER_LEVEL_M * to_edge_m / max(top_m, 0.01)
    return bool(camera_m[1] - builder.WATER_EDGE_Y_M > 0.9 * least_m)


def _builder(name: str) -> tuple[ModuleType, int]:
    """Return the module that builds a scenery, and which of its variants it is."""
    place, _, variant = name.partition("-")
    if name not in SCENERIES:
        raise SceneryError(
            f"scenery '{name}' is unknown: choose from {', '.join(SCENERIES)} in the study's "
            "sceneries"
        )
    return _BUILDERS[place], int(variant or 1)
