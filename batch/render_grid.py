"""Render a study into a calibrated dataset, without a window.

    blender -b --factory-startup -P batch/render_grid.py -- --study FILE --out DIR
    python batch/render_grid.py --study FILE --out DIR          (with the bpy wheel)

A run that was stopped, by Ctrl-C or by a kill, goes on where it was when it is started again.
Exit status: 0 done, 1 failed, 2 wrong use, 3 partly done (a list says what is missing).
"""

import importlib.util
import os
import signal
import sys
from pathlib import Path
from types import FrameType, ModuleType

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGE = "limen"


def load_package() -> ModuleType:
    """Return Limen: the extension that Blender has loaded, or this checkout under its name.

    Raises:
        SystemExit: Blender has loaded the extension in another version.
    """
    own = _import_checkout()
    for name, module in list(sys.modules.items()):
        if name.startswith("bl_ext.") and name.endswith(f".{_PACKAGE}"):
            if module.__version__ == own.__version__:
                return module
            sys.exit(
                f"Blender has the Limen extension {module.__version__} ({module.__file__}), this "
                f"script belongs to {own.__version__} ({_ROOT}): start Blender with "
                "--factory-startup, or install the same version"
            )
    return own


def _import_checkout() -> ModuleType:
    if _PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            _PACKAGE, _ROOT / "__init__.py", submodule_search_locations=[str(_ROOT)]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[_PACKAGE] = module
        spec.loader.exec_module(module)
    return sys.modules[_PACKAGE]


def _stop_at_once(_number: int, _frame: FrameType | None) -> None:
    """End before the run begins: while Blender starts, it swallows or breaks at an exception."""
    os.write(2, b"\nStopped; run the same command to go on.\n")
    os._exit(3)


def _main() -> int:
    # Until the run listens to them itself.
    signal.signal(signal.SIGINT, _stop_at_once)
    signal.signal(signal.SIGTERM, _stop_at_once)
    arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    package = load_package()
    run = importlib.import_module(f"{package.__name__}.batch.run")
    return run.main(arguments)


if __name__ == "__main__":
    try:
        status = _main()
    except SystemExit as stop:
        if isinstance(stop.code, str):
            sys.stderr.write(f"{stop.code}\n")
        status = stop.code if isinstance(stop.code, int) else 2 if stop.code else 0
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is on disk. Blender's own clean-up may hang or end with another status.
    os._exit(status)
