"""What Blender sees of Limen: properties, preferences, operators and panels, and their order."""

import atexit
from importlib.util import find_spec

__all__ = ["OPENIMAGEIO_MISSING", "register", "unregister"]

OPENIMAGEIO_MISSING = (
    "Limen: this Blender has no Python module OpenImageIO, so studies can be edited but not "
    "rendered. Blender 4.4 and later bring it; on Debian: apt-get install python3-openimageio"
)


def register() -> None:
    """Register every part with Blender, or none: what came before a failing part is taken back.

    A Blender without OpenImageIO is told so on its console; the sidebar works all the same.
    """
    from . import operators, preferences, properties, ui

    registered = []
    try:
        for part in (properties, preferences, operators, ui):
            part.register()
            registered.append(part)
    except Exception:
        for part in reversed(registered):
            part.unregister()
        raise
    if operators.is_module():  # the wheel crashes or hangs where it ends with classes registered
        atexit.register(unregister)
    if find_spec("OpenImageIO") is None:
        print(OPENIMAGEIO_MISSING)


def unregister() -> None:
    """Remove what :func:`register` added, in reverse order."""
    from . import operators, preferences, properties, ui

    atexit.unregister(unregister)
    for part in (ui, operators, preferences, properties):
        part.unregister()
