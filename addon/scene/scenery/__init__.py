"""The places a study can be set in. Each module builds one into a collection."""

from types import ModuleType

import bpy

from ...core.study import SCENERIES
from . import desert

__all__ = [
    "COLLECTION",
    "SceneryError",
    "build_scenery",
    "lowest_level_m",
    "scenery_version",
]

COLLECTION = "Limen Scenery"

_BUILDERS: dict[str, ModuleType] = {"desert": desert}


class SceneryError(ValueError):
    """A scenery that cannot be built."""


def build_scenery(scene: bpy.types.Scene, name: str) -> bpy.types.Collection:
    """Replace the scenery of a scene; returns its collection.

    The subject's place, the origin, is level ground at height 0 in every scenery.

    Raises:
        SceneryError: There is no such scenery.
    """
    builder = _builder(name)
    old = bpy.data.collections.get(COLLECTION)
    if old is not None:
        for item in list(old.objects):
            bpy.data.objects.remove(item)
        bpy.data.collections.remove(old)
        bpy.data.orphans_purge(do_recursive=True)
    collection = bpy.data.collections.new(COLLECTION)
    scene.collection.children.link(collection)
    builder.build(collection)
    collection["limen_scenery"] = name
    return collection


def scenery_version(name: str) -> str:
    """Return what identifies a scenery's looks: its name and the version of its builder."""
    return f"{name}-{_builder(name).VERSION}"


def lowest_level_m(name: str) -> float:
    """Return the height of the lowest ground that a person's shadow can fall on."""
    return _builder(name).LOWEST_LEVEL_M


def _builder(name: str) -> ModuleType:
    if name not in _BUILDERS:
        known = "is named in the benchmark but not built yet" if name in SCENERIES else "is unknown"
        raise SceneryError(
            f"scenery '{name}' {known}: choose from {', '.join(sorted(_BUILDERS))} in the study's "
            "sceneries"
        )
    return _BUILDERS[name]
