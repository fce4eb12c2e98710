"""Every English text that the sidebar shows; run it to see what is not translated."""

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import bpy

__all__ = [
    "blanks",
    "english_texts",
    "missing",
    "put_together",
    "registered",
    "translated",
    "unused",
]

ADDON = Path(__file__).parents[2] / "addon"
DRAWN = ("label", "operator", "prop", "column", "progress", "popup_menu", "template_list")
TOLD = ("report", "poll_message_set", "status_text_set")
HELPERS = ("fact",)  # functions of the panels that draw what they are given
SENTENCES = ("translated", "marked")  # their first argument is looked up
# Names of things, the same in every language; and where a number comes from.
NAMES = {"CPU", "GPU", "OpenImageDenoise", "NLM", "BM3D", ""}
SOURCES = ("sensor", "scale")  # enums whose items are sensors and standards


def registered(*bases: type) -> list[type]:
    """Limen's classes of some kinds that Blender knows now, by name."""
    found = [*bases]
    for cls in found:
        found += [sub for sub in cls.__subclasses__() if sub not in found]
    own = {c for c in found if "limen" in c.__module__ and getattr(c, "is_registered", False)}
    return sorted(own, key=lambda cls: cls.__name__)


def _of_classes() -> Iterator[str]:
    for cls in registered(bpy.types.Operator, bpy.types.Panel, bpy.types.Menu):
        yield cls.bl_label
    for cls in registered(bpy.types.Operator):
        yield cls.bl_description
    kinds = (bpy.types.Operator, bpy.types.PropertyGroup, bpy.types.AddonPreferences)
    for cls in registered(*kinds):
        for prop in cls.bl_rna.properties:
            if prop.is_hidden or not prop.is_runtime or prop.type in ("POINTER", "COLLECTION"):
                continue
            yield from (prop.name, prop.description)
            if prop.type == "ENUM" and prop.identifier not in SOURCES:
                for item in prop.enum_items:
                    yield from (item.name, item.description)


def _of_code() -> Iterator[str]:
    for path in sorted(ADDON.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in HELPERS:
                yield from _constants(node.args)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SENTENCES:
                yield from _constants(node.args[:1])
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            said = {key.arg: key.value for key in node.keywords}
            texts = [said[name] for name in ("text", "heading", "title") if name in said]
            if node.func.attr == "poll_message_set":
                texts = node.args[:1]
            elif node.func.attr not in DRAWN or "translate" in said:
                continue
            yield from _constants(texts)


def _constants(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def put_together() -> list[str]:
    """Return where a text is drawn or told that has words in an f-string: nobody translates it."""
    found = []
    for path in sorted(ADDON.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            texts = [key.value for key in node.keywords if key.arg in ("text", "heading", "title")]
            if node.func.attr in TOLD and "ERROR" not in ast.unparse(node):  # faults are English
                texts = node.args
            elif node.func.attr not in DRAWN:
                continue
            for text in (text for text in texts if isinstance(text, ast.JoinedStr)):
                words = " ".join(_constants(text.values))
                if re.search("[A-Za-z]{4}", words):
                    found.append(f"{path.name}:{node.lineno}: {ast.unparse(text)}")
    return found


def blanks(text: str) -> list[str]:
    """Return the places of a sentence that are filled in, as ``{:,}``, in any order."""
    return sorted(re.findall(r"\{[^}]*\}", text))


def english_texts() -> set[str]:
    """Return them; Limen is registered."""
    texts = {*_of_classes(), *_of_code()}
    return {text for text in texts - NAMES if any(letter.isalpha() for letter in text)}


def translated() -> dict[str, str]:
    """Return English -> Simplified Chinese."""
    return tomllib.loads((ADDON / "data" / "zh_hans.toml").read_text(encoding="utf-8"))


def missing() -> list[str]:
    """Return the texts without a translation."""
    return sorted(english_texts() - translated().keys())


def unused() -> list[str]:
    """Return the translations of texts that nothing shows."""
    return sorted(translated().keys() - english_texts())


if __name__ == "__main__":
    import limen

    limen.register()
    print(*(f"missing: {text!r}" for text in missing()), sep="\n")
    print(*(f"unused: {text!r}" for text in unused()), sep="\n", flush=True)
    os._exit(0)  # the bpy wheel's clean-up may crash
