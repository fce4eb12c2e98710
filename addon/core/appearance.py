"""How a person looks: skin, hair and clothes, drawn from a texture's id and nothing else.

`limen-texture-00000` and any other number are Limen's own textures. They are procedural: an id
stands for a tone of the Monk scale, a head of hair, and an outfit with its fabrics, which fit every
body. The same id always looks the same on the same kind of body.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from . import seeds
from .shoes import SHOES
from .tailor import Pattern

__all__ = [
    "Appearance",
    "Cloth",
    "Fabric",
    "appearance",
    "fabrics",
    "figure_of",
    "is_procedural",
    "looks",
    "monk_tones",
    "patterns",
    "skin_reflectance",
]

Rgb = tuple[float, float, float]

_DATA = Path(__file__).resolve().parents[1] / "data"
_ID = re.compile(r"limen-texture-\d+")


@dataclass(frozen=True)
class Fabric:
    """A kind of cloth.

    Attributes:
        name: As in "denim".
        colours: Names of colours that it is dyed in.
        surfaces: Names of patterns on it, as in "stripes".
        grain_m: Size of its weave.
        grain: The weave varies its colour by this share.
        crease_m: Height of its folds.
        roughness: 0 to 1.
        specular: Blender's "Specular IOR Level".
    """

    name: str
    colours: tuple[str, ...]
    surfaces: tuple[str, ...]
    grain_m: float
    grain: float
    crease_m: float
    roughness: float
    specular: float = 0.0


@dataclass(frozen=True)
class Cloth:
    """What a garment is made of: a fabric, its colours (linear reflectances) and its pattern."""

    fabric: Fabric
    colour: Rgb
    second: Rgb
    surface: str


@dataclass(frozen=True)
class Appearance:
    """A person's looks.

    Attributes:
        tone: Of the Monk scale, 1 (lightest) to 10.
        skin: Reflectance, linear Rec. 709.
        hair: Style, one of `hair.HAIR_STYLES`.
        hair_colour: Reflectance.
        eyes: Colour of the iris.
        beard: 0 none, to 1 full.
        garments: Patterns that are worn, from the inside out, and what of.
        shoes: Name of the shoes.
        shoe_cloth: Of the upper.
        sole: Colour of the sole.
        hat: What a cap, beanie or scarf is made of.
    """

    tone: int
    skin: Rgb
    hair: str
    hair_colour: Rgb
    eyes: Rgb
    beard: float
    garments: tuple[tuple[Pattern, Cloth], ...]
    shoes: str
    shoe_cloth: Cloth
    sole: Rgb
    hat: Cloth


def is_procedural(texture: str) -> bool:
    """Whether a texture's name is one of Limen's own: an id, or a name in `looks`."""
    return _ID.fullmatch(texture) is not None or texture in looks()


def figure_of(body_name: str) -> str:
    """Which clothes a body's file is dressed in, by its name: "male", "female" or "neutral"."""
    name = body_name.lower()
    return "female" if "female" in name else "male" if "male" in name else "neutral"


def looks() -> Mapping[str, str]:
    """Names that stand for an id of Limen's own textures."""
    found: Mapping[str, str] = _people()["looks"]
    return found


@lru_cache(maxsize=256)
def appearance(texture: str, figure: str = "neutral") -> Appearance:
    """The looks that an id stands for.

    Args:
        texture: As in "limen-texture-00012", or a name in `looks`.
        figure: "male", "female" or "neutral": which hair and clothes are drawn from.

    Raises:
        ValueError: The name is not one of Limen's own.
    """
    name = looks().get(texture, texture)
    if not _ID.fullmatch(name):
        raise ValueError(f"'{texture}' is no texture of Limen's: they are limen-texture-00000 ff.")
    # Leading zeros do not matter.
    key = f"limen-texture-{int(name.rpartition('-')[2]):05d}"

    def draw(what: str, options: Sequence[Any]) -> Any:
        return options[seeds.choice_index(0, key, what, len(options))]

    def chance(what: str, share: float) -> bool:
        return seeds.uniform(0, key, what) < share

    people, wardrobe = _people(), _wardrobe()["wardrobe"]
    female = figure == "female" or (figure == "neutral" and chance("figure", 0.5))
    tone = 1 + seeds.choice_index(0, key, "tone", 10)
    style = draw("hair", people["styles"]["female" if female else "male"])
    dark = ["black", "black", "dark-brown"]
    shades = (
        dark
        if tone > 6 or style == "afro"
        else [*dark, "brown", "brown", "light-brown", "blond", "red"]
    )
    if chance("greying", 0.10):
        shades = ["grey", "white"] if tone < 8 else ["grey"]
    irises = ["brown"] if tone > 5 else ["brown", "brown", "hazel", "blue", "blue", "green", "grey"]
    beard = 0.0
    if not female and chance("beard", 0.45):
        beard = 0.35 + 0.65 * seeds.uniform(0, key, "beard length")

    used: set[Rgb] = set()

    def cloth(what: str, pattern_fabrics: Sequence[str]) -> Cloth:
        fabric = fabrics()[draw(f"{what} fabric", pattern_fabrics)]
        names = [c for c in fabric.colours if _colour(c) not in used] or list(fabric.colours)
        order = seeds.permutation(0, key, f"{what} colour", len(names))
        colour = _colour(names[order[0]])
        used.add(colour)
        second = _colour(names[order[1]]) if len(names) > 1 else colour
        return Cloth(fabric, colour, second, draw(f"{what} surface", fabric.surfaces))

    garments: list[tuple[Pattern, Cloth]] = []

    def wear(what: str, name: str, same: Cloth | None = None) -> Cloth:
        pattern = patterns()[name]
        made = same or cloth(what, pattern.fabrics)
        garments.append((pattern, made))
        return made

    shoes = draw("shoes", [*wardrobe["shoes"], "flats", "flats"] if female else wardrobe["shoes"])
    lower = draw("lower", wardrobe["trousers"])
    if female and chance("skirt", 0.4):
        lower = draw("skirt kind", wardrobe["skirts"])
    bottom = cloth("lower", patterns()[lower].fabrics)
    bare_legs = lower in ("shorts", "skirt", "long-skirt")
    if shoes != "flats" and (not bare_legs or chance("socks", 0.7)):
        wear("socks", "socks")
    if shoes == "boots":
        boot = cloth("shoes", [SHOES[shoes].material])
        wear("shaft", "shaft", boot)
        shoe_cloth = boot
    else:
        shoe_cloth = cloth("shoes", [SHOES[shoes].material])
    if lower == "skirt" and chance("stockings", 0.5):
        wear("stockings", "leggings")
    wear("lower", lower, bottom)
    top = draw("top", wardrobe["tops"])
    outer = draw("outer", wardrobe["outers"])
    if lower in ("skirt", "long-skirt") and chance("dress", 0.4):
        outer = ""
        wear("top", top, bottom)
    else:
        wear("top", top)
    if outer:
        wear("outer", outer)

    return Appearance(
        tone=tone,
        skin=skin_reflectance(tone),
        hair=style,
        hair_colour=tuple(people["hair"][draw("hair colour", shades)]),
        eyes=tuple(people["eyes"][draw("eyes", irises)]),
        beard=beard,
        garments=tuple(garments),
        shoes=shoes,
        shoe_cloth=shoe_cloth,
        sole=_colour(draw("sole", fabrics()["rubber"].colours)),
        hat=cloth("hat", ["cotton"]),
    )


# ------------------------------------------------------------------------- skin


def monk_tones() -> tuple[str, ...]:
    """The swatches of the Monk scale as published, sRGB in hex, lightest first."""
    return tuple(_people()["skin"]["monk_srgb"])


_LIGHTEST, _DARKEST = 70.0, 27.0  # L* of measured skin, fairest to darkest
_CHROMA = ((9.0, 15.0), (13.0, 18.0), (8.0, 9.0))  # a*, b* of light, middle and dark skin


def skin_reflectance(tone: int) -> Rgb:
    """The reflectance of skin of a tone of the Monk scale, linear Rec. 709.

    The swatches are made to be told apart on a screen: the lightest is nearly white paper. Their
    order and their spacing in CIE L* are kept and mapped to the lightness that measured skin has
    (about 27 to 70; Xiao et al. 2017, "Characterising the variations in ethnic skin colours"); hue
    and chroma are half the swatch's, half that of measured skin of this lightness.

    Args:
        tone: 1 to 10.
    """
    swatches = np.array([[int(h[i : i + 2], 16) / 255 for i in (1, 3, 5)] for h in monk_tones()])
    lab = _lab(np.where(swatches <= 0.04045, swatches / 12.92, ((swatches + 0.055) / 1.055) ** 2.4))
    low, high = lab[:, 0].min(), lab[:, 0].max()
    share = (lab[tone - 1, 0] - low) / (high - low)
    lightness = _DARKEST + share * (_LIGHTEST - _DARKEST)
    measured = np.array(
        [np.interp(share, [0, 0.5, 1], [_CHROMA[k][axis] for k in (2, 1, 0)]) for axis in (0, 1)]
    )
    a, b = (lab[tone - 1, 1:] + 2 * measured) / 3
    rgb = _rgb(np.array([lightness, a, b])).clip(0.01, 1)
    return (float(rgb[0]), float(rgb[1]), float(rgb[2]))


_TO_XYZ = np.array(
    (
        (0.4124564, 0.3575761, 0.1804375),
        (0.2126729, 0.7151522, 0.0721750),
        (0.0193339, 0.1191920, 0.9503041),
    )
)
_WHITE = _TO_XYZ.sum(axis=1)


def _lab(rgb: Any) -> Any:
    t = rgb @ _TO_XYZ.T / _WHITE
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])],
        axis=-1,
    )


def _rgb(lab: Any) -> Any:
    y = (lab[0] + 16) / 116
    f = np.array([y + lab[1] / 500, y, y - lab[2] / 200])
    t = np.where(f**3 > 216 / 24389, f**3, (116 * f - 16) * 27 / 24389)
    return np.linalg.solve(_TO_XYZ, t * _WHITE)


# ------------------------------------------------------------------------- data


@lru_cache(maxsize=1)
def _people() -> dict[str, Any]:
    return tomllib.loads((_DATA / "people.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _wardrobe() -> dict[str, Any]:
    return tomllib.loads((_DATA / "wardrobe.toml").read_text(encoding="utf-8"))


def _values(table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}


@lru_cache(maxsize=1)
def patterns() -> Mapping[str, Pattern]:
    """The garments of `data/wardrobe.toml` by name."""
    return {table["name"]: Pattern(**_values(table)) for table in _wardrobe()["pattern"]}


@lru_cache(maxsize=1)
def fabrics() -> Mapping[str, Fabric]:
    """The fabrics of `data/wardrobe.toml` by name."""
    return {table["name"]: Fabric(**_values(table)) for table in _wardrobe()["fabric"]}


def _colour(name: str) -> Rgb:
    r, g, b = _wardrobe()["colours"][name]
    return (r, g, b)
