"""The rules of Blender's extension platform that can be read off the code.

docs/extension-review.md says of every rule how it is met.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MANIFEST = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
NETWORK = {"socket", "ssl", "urllib", "http", "ftplib", "smtplib", "xmlrpc", "requests", "aiohttp"}
NOT_SAFE = {"pickle", "marshal", "shelve", "pip", "ensurepip"}


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Every node of the add-on's code, with the file that it is in."""
    files = [ROOT / "__init__.py", *sorted((ROOT / "addon").rglob("*.py"))]
    assert len(files) > 50
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield path.relative_to(ROOT), node


def imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").partition(".")[0]}
    return set()


def test_no_module_that_reaches_a_network_or_runs_what_it_reads_is_imported():
    found = [(path, imported(node) & (NETWORK | NOT_SAFE)) for path, node in nodes()]
    assert [item for item in found if item[1]] == []


def test_nothing_is_evaluated_or_executed():
    found = [
        (path, node.lineno)
        for path, node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("eval", "exec", "compile", "__import__")
    ]
    assert found == []


def test_the_search_path_of_modules_stays_as_it_is():
    found = [
        (path, node.lineno)
        for path, node in nodes()
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in (("sys", "path"), ("sys", "modules"))
    ]
    assert found == []


def test_the_add_on_calls_itself_by_its_package_and_by_no_hard_name():
    found = [
        (path, node.lineno)
        for path, node in nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and "bl_ext.user_default" in node.value
    ]
    assert found == []


def test_the_permissions_are_those_that_the_code_uses():
    uses_clipboard = any(
        isinstance(node, ast.Attribute) and node.attr == "clipboard" for _, node in nodes()
    )
    assert uses_clipboard
    assert set(MANIFEST["permissions"]) == {"files", "clipboard"}


def test_taglines_are_short_and_without_a_full_stop():
    for text in (MANIFEST["tagline"], *MANIFEST["permissions"].values()):
        assert len(text) <= 64 and not text.endswith("."), text


def test_nothing_is_bundled_that_blender_has():
    assert "wheels" not in MANIFEST
