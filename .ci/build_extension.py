"""Build dist/limen-VERSION.zip with Blender's own extension builder, the one in the bpy wheel.

usage: build_extension.py OUT_DIR
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BODIES = ("SMPLX_FEMALE", "SMPLX_MALE", "SMPLX_NEUTRAL")


def builder() -> Path:
    """The command-line program behind `blender --command extension`; it runs without Blender."""
    spec = find_spec("bpy")
    if spec is None or spec.origin is None:
        sys.exit("bpy is not installed in this environment: run `make setup`")
    (program,) = Path(spec.origin).parent.glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py")
    return program


def main(out_dir: Path) -> None:
    """Build the archive, then validate it; exits with a message when either fails."""
    absent = [n for n in BODIES if not (ROOT / "addon/data/bodies" / f"{n}.npz").is_file()]
    if absent:
        sys.exit(
            f"the extension ships bodies, and {', '.join(absent)} are missing: run `make bodies`"
        )
    out_dir.mkdir(parents=True, exist_ok=True)
    for old in out_dir.glob("limen-*.zip"):
        old.unlink()
    program = [sys.executable, str(builder())]
    subprocess.run([*program, "build", "--source-dir", ROOT, "--output-dir", out_dir], check=True)
    (archive,) = out_dir.glob("limen-*.zip")
    subprocess.run([*program, "validate", archive], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
