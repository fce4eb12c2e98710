"""Say which system libraries the bpy wheel still needs, and the command that brings them.

Run by `make setup` in the project's environment. Exits 1 and prints what to do when one is missing.
"""

import platform
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

# Shared library -> Debian and Ubuntu package, for every library that bpy links and does not bring.
DEBIAN_PACKAGES = {
    "libGL.so.1": "libgl1",
    "libICE.so.6": "libice6",
    "libSM.so.6": "libsm6",
    "libX11.so.6": "libx11-6",
    "libXext.so.6": "libxext6",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libXrender.so.1": "libxrender1",
    "libgcc_s.so.1": "libgcc-s1",
    "libgomp.so.1": "libgomp1",
    "libstdc++.so.6": "libstdc++6",
    "libxkbcommon.so.0": "libxkbcommon0",
}


def missing_libraries(shared_object: Path) -> list[str]:
    """Names of the libraries that the dynamic linker does not find for a shared object."""
    linked = subprocess.run(["ldd", shared_object], capture_output=True, text=True, check=True)
    return sorted(
        line.split()[0] for line in linked.stdout.splitlines() if line.endswith("=> not found")
    )


def main() -> int:
    """Print the verdict; 0 when bpy can be loaded."""
    spec = find_spec("bpy")
    if spec is None or spec.origin is None:
        print("bpy is not installed here: nothing to check")
        return 0
    if platform.system() != "Linux":
        return 0  # elsewhere the wheel brings all it needs
    missing = missing_libraries(Path(spec.origin))
    if not missing:
        return 0
    known = sorted({DEBIAN_PACKAGES[name] for name in missing if name in DEBIAN_PACKAGES})
    unknown = [name for name in missing if name not in DEBIAN_PACKAGES]
    print(f"\nBlender's renderer (bpy) needs system libraries that are missing: {missing}")
    if known:
        print(
            f"  On Debian and Ubuntu:  apt-get install -y --no-install-recommends {' '.join(known)}"
        )
    if unknown:
        print(f"  Ask your distribution for the packages that hold: {' '.join(unknown)}")
    print("Then run make again.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
