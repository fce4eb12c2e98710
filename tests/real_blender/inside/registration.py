"""Inside Blender: what the enabled extension adds and what is left of it, as JSON into argv[-1]."""

import json
import sys
import types
from pathlib import Path

import addon_utils
import bpy
import bpy.utils.previews

MODULE = "bl_ext.user_default.limen"
TIMES = 20


def limen_panels():
    """Names of the registered panels of Limen's sidebar tab."""
    return sorted(
        cls.__name__
        for cls in bpy.types.Panel.__subclasses__()
        if getattr(cls, "bl_category", "") == "Limen" and hasattr(bpy.types, cls.__name__)
    )


def draw_functions():
    """Draw functions that add-ons appended to menus, headers and panels."""
    return sorted(
        f"{name}: {function.__module__}.{function.__name__}"
        for name in dir(bpy.types)
        for function in getattr(
            getattr(getattr(bpy.types, name), "draw", None), "_draw_funcs", None
        )
        or ()
    )


def handlers():
    """Functions that wait for an event."""
    return sorted(
        f"{name}: {function.__module__}.{function.__name__}"
        for name in dir(bpy.app.handlers)
        for function in (
            getattr(bpy.app.handlers, name)
            if isinstance(getattr(bpy.app.handlers, name), list)
            else ()
        )
    )


def traces():
    """Every place where an extension leaves something in a Blender without a window."""
    owners = ("Scene", "WindowManager", "Object", "Camera", "World", "Collection", "Screen")
    return {
        "types": sorted(dir(bpy.types)),
        "operators": sorted(dir(bpy.ops.limen)),
        "properties": {n: sorted(getattr(bpy.types, n).bl_rna.properties.keys()) for n in owners},
        "draw functions": draw_functions(),
        "handlers": handlers(),
        "timers": timers(),
        "modules' leftovers": leftovers(),
    }


def extension_modules():
    """The extension's modules that are loaded, by name."""
    return {name: module for name, module in sys.modules.items() if name.startswith(MODULE)}


def timers():
    """Functions of the extension that a timer would still call."""
    return sorted(
        f"{name}.{function.__name__}"
        for name, module in extension_modules().items()
        for function in vars(module).values()
        if isinstance(function, types.FunctionType)
        and function.__module__ == name
        and bpy.app.timers.is_registered(function)
    )


def leftovers():
    """Preview collections and draw callbacks that a module of the extension still holds."""
    kinds = (bpy.utils.previews.ImagePreviewCollection,)
    return sorted(
        f"{name}.{key}"
        for name, module in extension_modules().items()
        for key, value in vars(module).items()
        if isinstance(value, kinds) or type(value).__name__ == "PyCapsule"
    )


report = {
    "enabled at start": MODULE in bpy.context.preferences.addons,
    "panels": limen_panels(),
    "operators": sorted(dir(bpy.ops.limen)),
    "has preferences": getattr(bpy.context.preferences.addons.get(MODULE), "preferences", None)
    is not None,
}
addon_utils.disable(MODULE)
report["without"] = traces()
for _ in range(TIMES):
    addon_utils.enable(MODULE)
    report["with"] = traces()
    addon_utils.disable(MODULE)
report["after"] = traces()
Path(sys.argv[-1]).write_text(json.dumps(report))
