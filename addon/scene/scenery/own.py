"""A place of the user's own: a collection of a ``.blend`` file, its anchor put at the origin.

Nothing in the file is run: text blocks are not taken over, drivers and animation are removed, and
Blender's automatic execution is off while the file is read. Its lamps and world are left out: the
light of a study is the study's.
"""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix

from ...core.study import OwnScenery

__all__ = ["OwnFile", "OwnSceneryError", "append_own", "lowest_of", "names_in"]

_SHADOW_REACH_M = 45.0
_LOWEST_M = -20.0
_KINDS = {"MESH", "CURVE", "SURFACE", "FONT", "META", "CURVES", "POINTCLOUD", "EMPTY", "VOLUME"}


class OwnSceneryError(ValueError):
    """A ``.blend`` file that is no scenery; the message says what it lacks."""


@dataclass(frozen=True)
class OwnFile:
    """A scenery of a study and where its file lies on this machine."""

    scenery: OwnScenery
    path: Path


def names_in(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the collections and of the objects in a .blend file.

    Raises:
        OwnSceneryError: It cannot be read.
    """
    try:
        with _no_scripts(), bpy.data.libraries.load(str(path), link=False) as (there, _taken):
            return tuple(there.collections), tuple(there.objects)
    except OSError as error:
        raise OwnSceneryError(
            f"{path} cannot be read as a .blend file: {str(error).strip()}"
        ) from error


def append_own(scene: bpy.types.Scene, collection: bpy.types.Collection, own: OwnFile) -> None:
    """Append the file's collection into one of a scene, its anchor at the origin, looking north.

    Raises:
        OwnSceneryError: The file cannot be read, lacks the collection or the anchor, holds nothing
            to show, shines by itself, or misses a picture.
    """
    wanted, path = own.scenery, own.path
    with _no_scripts():
        try:
            with bpy.data.libraries.load(str(path), link=False) as (there, taken):
                _require(wanted.collection, there.collections, "collection", own)
                _require(wanted.anchor, there.objects, "anchor", own)
                taken.collections = [wanted.collection]
                taken.objects = [wanted.anchor]
        except OSError as error:
            raise OwnSceneryError(
                f"scenery '{wanted.name}': {path} cannot be read as a .blend file: "
                f"{str(error).strip()}"
            ) from error
    content, anchor = taken.collections[0], taken.objects[0]
    try:
        items = list(content.all_objects)
        for item in [*items, anchor]:
            if item.animation_data:
                item.animation_data_clear()
        shown = [item for item in items if item.type in _KINDS and item != anchor]
        if not any(item.type != "EMPTY" or item.instance_collection for item in shown):
            raise OwnSceneryError(
                f"scenery '{wanted.name}': the collection '{wanted.collection}' of {path.name} "
                "holds no objects to show"
            )
        _clear_drivers(shown)
        _check_materials(shown, own)
        # Blender places what a scene holds, not what lies in its data.
        collection.children.link(content)
        if anchor.name not in content.all_objects:
            content.objects.link(anchor)
        scene.view_layers[0].update()
        to_origin = _to_origin(anchor)
        worlds = {item: item.matrix_world.copy() for item in shown}
        for item in shown:
            collection.objects.link(item)
        for item in shown:
            if item.parent not in worlds:
                item.parent = None
                item.matrix_world = to_origin @ worlds[item]
    finally:
        for item in {*content.all_objects, anchor}:
            if item.name not in collection.objects:
                bpy.data.objects.remove(item)
        for part in [content, *content.children_recursive]:
            bpy.data.collections.remove(part)
        scene.view_layers[0].update()


def _require(name: str, found: list[str], what: str, own: OwnFile) -> None:
    if name in found:
        return
    there = ", ".join(sorted(found)[:12]) or "none"
    noun = "collection" if what == "collection" else "object"
    raise OwnSceneryError(
        f"scenery '{own.scenery.name}': {own.path.name} has no {noun} '{name}' (it has {there}): "
        f"name the scenery's {what} so, or say its name in the study's [[scenery]] {what}"
    )


def _to_origin(anchor: bpy.types.Object) -> Matrix:
    """Return what takes the anchor to the origin and its Y axis to north; scale stays."""
    matrix = anchor.matrix_world
    forward = matrix.to_3x3().col[1]
    turn = math.atan2(-forward.x, forward.y)
    return Matrix.Rotation(-turn, 4, "Z") @ Matrix.Translation(-matrix.translation)


@contextlib.contextmanager
def _no_scripts() -> Iterator[None]:
    settings = bpy.context.preferences.filepaths
    before = settings.use_scripts_auto_execute
    settings.use_scripts_auto_execute = False
    try:
        yield
    finally:
        settings.use_scripts_auto_execute = before


def _clear_drivers(items: list[bpy.types.Object]) -> None:
    blocks: list[bpy.types.ID] = [item.data for item in items if item.data is not None]
    for item in items:
        blocks += [slot.material for slot in item.material_slots if slot.material]
        blocks += [modifier.node_group for modifier in item.modifiers if _has_group(modifier)]
    for block in blocks:
        for part in (block, getattr(block, "node_tree", None), getattr(block, "shape_keys", None)):
            if part is not None and part.animation_data:
                part.animation_data_clear()


def _has_group(modifier: bpy.types.Modifier) -> bool:
    return getattr(modifier, "node_group", None) is not None


def _check_materials(items: list[bpy.types.Object], own: OwnFile) -> None:
    """Refuse what would light the scene in every light layer, and pictures that are not there."""
    materials = {slot.material for item in items for slot in item.material_slots if slot.material}
    where = f"scenery '{own.scenery.name}': material"
    for material in sorted(materials, key=lambda m: m.name):
        if material.node_tree is None:
            continue
        for node in material.node_tree.nodes:
            if _shines(node):
                raise OwnSceneryError(
                    f"{where} '{material.name}' of {own.path.name} shines by itself, which would "
                    "add to every light: take its emission away; lamps are a lighting's lamps_lm"
                )
            image = getattr(node, "image", None)
            if image is not None and image.source == "FILE" and not image.packed_file:
                file = Path(bpy.path.abspath(image.filepath, start=own.path.parent))
                if not file.is_file():
                    raise OwnSceneryError(
                        f"{where} '{material.name}' of {own.path.name} needs the picture {file}, "
                        "which is not there: pack it into the file (File, External Data)"
                    )
                image.filepath = str(file)


def _shines(node: bpy.types.Node) -> bool:
    if node.type == "EMISSION":
        strength, colour = node.inputs["Strength"], node.inputs["Color"]
    elif node.type == "BSDF_PRINCIPLED":
        strength, colour = node.inputs["Emission Strength"], node.inputs["Emission Color"]
    else:
        return False
    if not any(output.is_linked for output in node.outputs):
        return False
    dark = not colour.is_linked and max(colour.default_value[:3]) == 0
    return not dark and (strength.is_linked or strength.default_value > 0)


def lowest_of(collection: bpy.types.Collection) -> float:
    """Return the lowest height of a collection's meshes within reach of a shadow."""
    lowest = 0.0
    graph = bpy.context.evaluated_depsgraph_get()
    for item in collection.all_objects:
        if item.type != "MESH":
            continue
        mesh = item.evaluated_get(graph).data
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        matrix = np.array(item.matrix_world)
        world = points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
        near = np.hypot(world[:, 0], world[:, 1]) < _SHADOW_REACH_M
        if near.any():
            lowest = min(lowest, float(world[near, 2].min()))
    return max(lowest, _LOWEST_M)
