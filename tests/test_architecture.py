"""Which part of Limen may import which (docs/decisions/005): read off the syntax trees.

`ui -> operators -> scene -> core`, `batch -> operators, core`, `analysis -> core`, and no others.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(
    [ROOT / "__init__.py"]
    + [f for top in ("addon", "analysis", "batch", "studies") for f in (ROOT / top).rglob("*.py")]
)

# A layer -> the layers it may import; every layer may import itself. `addon` and `limen` stand for
# the two __init__.py that hold register(); `data` is a folder of files with nothing in it to run.
ARROWS = {
    "limen": {"addon", "core"},
    "addon": {"ui", "operators", "preferences", "properties"},
    "ui": {"operators", "scene", "core", "data", "preferences", "properties"},
    "operators": {"scene", "core", "data", "preferences", "properties"},
    "properties": {"core", "data"},
    "preferences": {"core", "data"},
    "scene": {"core", "data"},
    "core": {"data"},
    "data": set(),
    "batch": {"operators", "core", "data", "limen"},
    "analysis": {"core", "data", "limen"},
    "studies": set(),
}
BLENDER_LAYERS = {"scene", "operators", "ui", "properties", "preferences"}
BLENDER_FREE_LAYERS = {"core", "data", "analysis", "limen", "addon", "studies"}
BLENDER_MODULES = {
    "addon_utils", "bl_math", "bl_operators", "bl_ui", "blf", "bmesh", "bpy", "bpy_extras",
    "gpu", "gpu_extras", "imbuf", "mathutils", "nodeitems_utils", "rna_prop_ui", "_cycles",
}  # fmt: skip


class Import(NamedTuple):
    """One imported module by its absolute name, and how it is imported."""

    module: str
    line: int
    when_loaded: bool
    relative: bool


def module_name(source: Path) -> str:
    parts = source.relative_to(ROOT).with_suffix("").parts
    return ".".join(("limen", *(p for p in parts if p != "__init__")))


def layer_of(module: str) -> str:
    parts = module.split(".")
    if parts[1:2] == ["addon"]:
        inner = parts[2] if len(parts) > 2 else "addon"
        return inner if inner in ARROWS else "addon"
    return parts[1] if len(parts) > 1 and parts[1] in ARROWS else "limen"


@cache
def imports_of(source: Path, text: str | None = None) -> tuple[Import, ...]:
    """Every import of a file, also those inside functions; `if TYPE_CHECKING:` blocks excepted."""
    tree = ast.parse(source.read_text() if text is None else text)
    own = module_name(source).split(".")
    package = own if source.name == "__init__.py" else own[:-1]

    def walk(node: ast.AST, when_loaded: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import):
                for name in child.names:
                    yield Import(name.name, child.lineno, when_loaded, False)
            elif isinstance(child, ast.ImportFrom):
                above = package[: len(package) - child.level + 1] if child.level else []
                base = ".".join([*above, *([child.module] if child.module else [])])
                for name in child.names:
                    full = f"{base}.{name.name}"
                    is_module = (ROOT.joinpath(*full.split(".")[1:])).with_suffix(".py").is_file()
                    is_package = ROOT.joinpath(*full.split(".")[1:], "__init__.py").is_file()
                    ours = base.split(".")[0] == "limen" and (is_module or is_package)
                    yield Import(full if ours else base, child.lineno, when_loaded, child.level > 0)
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, when_loaded and not function)

    return tuple(walk(tree, True))


def wrong_arrows(source: Path, text: str | None = None) -> list[str]:
    layer = layer_of(module_name(source))
    return [
        f"{source.relative_to(ROOT)}:{found.line}: {layer} imports {target} ({found.module})"
        for found in imports_of(source, text)
        if found.module.split(".")[0] == "limen"
        for target in [layer_of(found.module)]
        if target != layer and target not in ARROWS[layer]
    ]


@pytest.mark.parametrize("source", SOURCES, ids=lambda f: str(f.relative_to(ROOT)))
def test_a_file_imports_only_along_the_arrows(source):
    assert wrong_arrows(source) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda f: str(f.relative_to(ROOT)))
def test_blender_is_imported_on_loading_only_where_blender_is_at_home(source):
    layer = layer_of(module_name(source))
    found = [i for i in imports_of(source) if i.module.split(".")[0] in BLENDER_MODULES]
    if layer in BLENDER_FREE_LAYERS:
        assert found == []
    elif layer not in BLENDER_LAYERS:
        assert [i for i in found if i.when_loaded] == []


def test_core_needs_numpy_and_the_standard_library_and_openimageio_only_when_an_image_is_touched():
    for source in (s for s in SOURCES if layer_of(module_name(s)) == "core"):
        for found in imports_of(source):
            top = found.module.split(".")[0]
            if top == "OpenImageIO":
                assert (source.name, found.when_loaded) == ("image_io.py", False), found
            else:
                assert top in {"numpy", "limen", *sys.stdlib_module_names}, (source, found)


def test_the_extension_needs_nothing_that_blender_does_not_bring():
    bring = {"numpy", "OpenImageIO", "limen", *BLENDER_MODULES, *sys.stdlib_module_names}
    bring.add("render_grid")  # a script finds its neighbour
    for source in (s for s in SOURCES if s.relative_to(ROOT).parts[0] in ("addon", "batch")):
        foreign = [i for i in imports_of(source) if i.module.split(".")[0] not in bring]
        if source.relative_to(ROOT).as_posix() == "batch/engines/ray.py":
            # Run by Python, never by Blender; who chooses Ray has it.
            foreign = [i for i in foreign if i.when_loaded or i.module.split(".")[0] != "ray"]
        assert foreign == [], source


def test_imports_inside_the_package_are_relative_so_that_they_work_under_any_name():
    for source in (s for s in SOURCES if "batch" not in s.relative_to(ROOT).parts):
        named = [i for i in imports_of(source) if i.module.split(".")[0] == "limen"]
        assert [i for i in named if not i.relative] == [], source


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("addon/core/x.py", "from ..scene import render", "core imports scene"),
        ("addon/core/x.py", "from ...analysis.metrics import auroc", "core imports analysis"),
        ("addon/scene/x.py", "def f():\n    from ..operators import x", "scene imports operators"),
        ("addon/scene/scenery/x.py", "from ...ui import panels", "scene imports ui"),
        ("batch/x.py", "from limen.addon.scene import render", "batch imports scene"),
        ("batch/x.py", "import limen.addon.scene.render", "batch imports scene"),
        ("analysis/report/x.py", "from ...addon.scene import compat", "analysis imports scene"),
        ("addon/properties.py", "from .operators import x", "properties imports operators"),
        ("addon/ui/x.py", "from ...batch import launch", "ui imports batch"),
    ],
)
def test_a_wrong_arrow_is_named_with_its_place(file, line, complaint):
    (message,) = wrong_arrows(ROOT / file, line)
    assert message.startswith(f"{file}:") and complaint in message


def test_every_right_arrow_is_let_through():
    for file, line in [
        ("addon/ui/x.py", "from ..operators import render\nfrom ..properties import Study"),
        ("addon/operators/x.py", "from ..scene.render import render\nfrom ..core import study"),
        ("batch/x.py", "from limen.addon.core import study\nfrom limen.addon import operators"),
        ("analysis/models/x.py", "from ...addon.core.dataset import read_dataset"),
    ]:
        assert wrong_arrows(ROOT / file, line) == []
