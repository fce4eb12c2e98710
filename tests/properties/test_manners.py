"""What every operator and property of the sidebar owes its user."""

import ast
import subprocess
import sys
from pathlib import Path

import bpy
import limen
import pytest
from messages import registered

pytestmark = pytest.mark.render

ADDON = Path(__file__).parents[2] / "addon"
SMALL_WORDS = {"a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "the", "to"}
# They open a page, a folder or a file outside Blender, or wait for a run of hours.
NOT_CALLED: set[str] = {"limen.open_output"}


@pytest.fixture(scope="module", autouse=True)
def blender():
    """An empty Blender with Limen in it."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "limen"):
        limen.register()


def test_a_script_that_registers_the_add_on_ends_as_it_should(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import bpy, limen\nlimen.register()\nbpy.ops.limen.new_study()\n")
    subprocess.run([sys.executable, script], check=True, timeout=120)


def operators() -> list[type]:
    return registered(bpy.types.Operator)


def call(cls: type, *arguments: object, **properties: object) -> set[str]:
    return getattr(bpy.ops.limen, cls.bl_idname.partition(".")[2])(*arguments, **properties)


def test_operators_are_there():
    assert len(operators()) > 20


def test_every_operator_has_a_name_in_title_case_and_a_description():
    for cls in operators():
        words = cls.bl_label.split()
        wrong = [w for w in words if w not in SMALL_WORDS and not w[0].isupper() and w[0].isalpha()]
        assert words and not wrong, f"{cls.__name__}: {cls.bl_label}"
        assert cls.bl_description, cls.__name__
        assert not cls.bl_description.endswith("."), cls.__name__  # Blender adds one


def test_every_property_has_a_name():
    for cls in [*operators(), *registered(bpy.types.PropertyGroup)]:
        for prop in cls.bl_rna.properties:
            if prop.identifier in ("rna_type", "name") or prop.is_hidden:
                continue
            if prop.type in ("POINTER", "COLLECTION") or not prop.is_runtime:
                continue
            assert prop.name, f"{cls.__name__}.{prop.identifier}"
            assert prop.name != prop.identifier, f"{cls.__name__}.{prop.identifier}: no name"


def test_a_number_with_a_unit_says_it():
    """In its name, in its description, or by the unit that Blender shows."""
    units = {"_m": "met", "_deg": "degree", "_mm": "mill", "_s": "second", "_lx": "lux"}
    for cls in registered(bpy.types.PropertyGroup):
        for prop in cls.bl_rna.properties:
            for ending, word in units.items():
                if prop.type != "FLOAT" or not prop.identifier.endswith(ending):
                    continue
                said = f"{prop.name} {prop.description}".lower()
                assert word in said or prop.unit != "NONE", f"{cls.__name__}.{prop.identifier}"


def test_every_refusal_gives_its_reason():
    """A poll that returns False without poll_message_set leaves a grey button unexplained."""
    for path in sorted((ADDON / "operators").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.FunctionDef) and node.name == "poll"):
                continue
            text = ast.unparse(node)
            refuses = "return False" in text
            assert not refuses or "poll_message_set" in text, f"{path.name}:{node.lineno}"


@pytest.fixture(scope="module")
def names() -> list[str]:
    return [cls.bl_idname for cls in operators()]


def test_in_an_empty_scene_each_operator_works_or_says_why_not(names):
    for name in names:
        if name in NOT_CALLED:
            continue
        bpy.ops.wm.read_factory_settings(use_empty=True)
        operator = getattr(bpy.ops.limen, name.partition(".")[2])
        try:
            result = operator()
        except RuntimeError as error:
            assert "Traceback" not in str(error), f"{name}: {error}"
            assert len(str(error).strip()) > 10, name
        else:
            assert result <= {"FINISHED", "CANCELLED"}, name


@pytest.mark.slow
def test_in_a_new_study_each_operator_works_or_says_why_not(names):
    for name in names:
        if name in NOT_CALLED | {"limen.measure", "limen.preview_cell", "limen.render_view"}:
            continue  # they render whole images: their own tests do, small
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.limen.new_study()
        operator = getattr(bpy.ops.limen, name.partition(".")[2])
        try:
            operator()
        except RuntimeError as error:
            assert "Traceback" not in str(error), f"{name}: {error}"
