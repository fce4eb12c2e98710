"""A dressed person as parts: skin, hair and garments, each a surface that the skeleton moves."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .appearance import Appearance
from .body import JOINT_NAMES, Body
from .hair import grow_hair, under_hair
from .landmarks import Landmarks, hairline_m, landmarks
from .shoes import SHOES, make_shoes
from .surface import Surface, join, some_faces
from .tailor import Pattern, beyond_armhole, covered, cut_garment

__all__ = ["Outfit", "Part", "dress"]

_Floats = NDArray[np.floating[Any]]
_Mask = NDArray[np.bool_]
Rgb = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a person.

    Attributes:
        name: "skin", "hair", "hat", "upper", "sole", or a garment's pattern.
        faces: How many of the outfit's faces are its own, after those of the parts before.
        vertices: The same for the vertices.
        shade: Factors (N, 3) on its colour, vertex by vertex, or None.
    """

    name: str
    faces: int
    vertices: int
    shade: _Floats | None = None


@dataclass(frozen=True, eq=False)
class Outfit:
    """All parts as one surface at rest on the mean shape, part after part.

    Attributes:
        surface: N vertices.
        parts: In the order of their vertices and faces.
        coordinates_m: (N, 3): across, along and through the cloth, for its weave and its pattern.
            Along is downwards at the trunk and legs, and outwards on sleeves.
        around_m: (N,): how far along the cloth from the middle of front or back, or on a sleeve
            from its top, to either side. A stripe that runs down or out keeps it.
    """

    surface: Surface
    parts: tuple[Part, ...]
    coordinates_m: _Floats
    around_m: _Floats


def dress(body: Body, looks: Appearance) -> Outfit:
    """Dress a body.

    Skin that no one sees is left out, so that nothing can poke through.
    """
    marks = landmarks(body)
    surfaces: list[tuple[str, Surface]] = []
    worn = [pattern for pattern, _ in looks.garments]
    for k, pattern in enumerate(worn):
        garment = _garment(body, pattern)
        hidden = _hidden(marks, garment.vertices_m, worn[k + 1 :], 0.0)
        surfaces.append((pattern.name, _without(garment, hidden)))
    surfaces += _shoe_parts(body, looks.shoes).items()
    head = grow_hair(body, marks, looks.hair)
    surfaces += head.items()

    skin = body.surface()
    hidden = _hidden(marks, skin.vertices_m, worn, 0.035)
    hidden |= _in_shoes(marks, skin.vertices_m)
    hidden |= under_hair(marks, skin.vertices_m, looks.hair)
    bare = _without(skin, hidden)
    rows = np.unique(skin.faces[~hidden[skin.faces].all(axis=1)])
    shade = _skin_shade(body, marks, looks)[rows]
    parts = [Part("skin", len(bare.faces), len(bare.vertices_m), shade)]
    parts += [Part(name, len(s.faces), len(s.vertices_m)) for name, s in surfaces]
    whole = join([bare, *(surface for _, surface in surfaces)])
    sleeved = {pattern.name for pattern in worn if pattern.kind in ("top", "outer")}
    in_sleeve = np.repeat([part.name in sleeved for part in parts], [p.vertices for p in parts])
    in_sleeve &= beyond_armhole(marks, whole.vertices_m) > -1e-6
    coordinates = whole.vertices_m.copy()
    x, y = coordinates[in_sleeve, :2].T
    coordinates[in_sleeve, :2] = np.stack([y, marks.shoulders_x - abs(x)], axis=1)
    around = _around_m(marks, whole.vertices_m, in_sleeve)
    return Outfit(whole, tuple(parts), coordinates, around)


_TRUNK_RADIUS_M, _SLEEVE_RADIUS_M = 0.15, 0.06  # of a body of 1.70 m


def _around_m(marks: Landmarks, points: _Floats, in_sleeve: _Mask) -> _Floats:
    """How far points (N, 3) at rest are from the middle of front or back, or a sleeve's top (N,).

    Front and back are flat, so that stripes hang straight there; at the flank, where they would
    lie along the line of sight, the angle about the spine counts.
    """
    s = marks.size
    x, y, z = abs(points[:, 0]), points[:, 1], points[:, 2]
    angle = np.arctan2(x, abs(z - marks.at["spine2"][2]))
    share = np.clip((angle - 0.4) / 0.8, 0, 1)
    share = share**2 * (3 - 2 * share)
    trunk = (1 - share) * x + share * _TRUNK_RADIUS_M * s * angle
    start, end = marks.at["left_shoulder"], marks.at["left_wrist"]
    out = (x - start[0]) / (end[0] - start[0])
    axis_y, axis_z = (start[k] + out * (end[k] - start[k]) for k in (1, 2))
    sleeve = _SLEEVE_RADIUS_M * s * np.arctan2(abs(z - axis_z), y - axis_y)
    around: _Floats = np.where(in_sleeve, sleeve, trunk)
    return around


def _without(surface: Surface, hidden: _Mask) -> Surface:
    return some_faces(surface, ~hidden[surface.faces].all(axis=1))


def _hidden(marks: Landmarks, points: _Floats, patterns: list[Pattern], margin_m: float) -> _Mask:
    hidden = np.zeros(len(points), bool)
    for pattern in patterns:
        hidden |= covered(marks, points, pattern, margin_m)
    return hidden


def _in_shoes(marks: Landmarks, points: _Floats) -> _Mask:
    inside: _Mask = points[:, 1] < marks.ankles_y - 0.025 * marks.size
    return inside


# Keyed by the body itself: a run dresses few bodies in many outfits of the same garments.
@lru_cache(maxsize=64)
def _garment(body: Body, pattern: Pattern) -> Surface:
    return cut_garment(body, landmarks(body), pattern)


@lru_cache(maxsize=16)
def _shoe_parts(body: Body, name: str) -> Mapping[str, Surface]:
    return make_shoes(body, landmarks(body), SHOES[name])


# ------------------------------------------------------------------------- skin


def _bump(distance: _Floats, width: float) -> _Floats:
    bell: _Floats = np.exp(-0.5 * (distance / width) ** 2)
    return bell


def _skin_shade(body: Body, marks: Landmarks, looks: Appearance) -> _Floats:
    """Factors (V, 3) on the skin's reflectance: lips, brows, beard, eyes, warmer cheeks."""
    s, p = marks.size, body.vertices_m
    skin = np.array(looks.skin)
    hair = np.array(looks.hair_colour) / skin
    shade = np.ones((len(p), 3))
    x, y, z = abs(p[:, 0]), p[:, 1] - marks.eyes[1], p[:, 2] - marks.eyes[2]
    front = np.clip(z / (0.02 * s) + 1.5, 0, 1) * (y > -0.16 * s)

    def towards(target: Any, share: _Floats) -> None:
        shade[:] = shade * (1 - share[:, None]) + np.asarray(target) * share[:, None]

    warm = 0.7 * _bump(np.hypot(x - 0.042 * s, y + 0.035 * s), 0.022 * s)
    warm = warm + 0.8 * _bump(np.hypot(x, y + 0.035 * s), 0.014 * s)
    towards((1.06, 0.84, 0.84), np.clip(warm, 0, 1) * front)
    towards((0.86, 0.78, 0.76), 0.6 * _bump(np.hypot(x - 0.031 * s, y), 0.016 * s) * front)

    if body.lips is not None:
        lips = body.lips
        mouth_y = float(y[lips > 0.5].mean()) if (lips > 0.5).any() else -0.066 * s
    else:
        mouth_y = -0.066 * s
        lips = _bump((y - mouth_y) / 0.008 / s, 1.0) * _bump(x, 0.018 * s) * front
    towards((0.86, 0.58, 0.56), 0.8 * lips)

    if looks.beard:
        jaw = np.clip((mouth_y + 0.030 * s - y) / (0.010 * s), 0, 1)
        side = np.clip((x - 0.052 * s) / (0.01 * s), 0, 1) * (y < 0.005 * s) * (z > -0.085 * s)
        cheek = np.clip((mouth_y + 0.012 * s + 0.5 * np.maximum(x - 0.02 * s, 0) - y) / 0.01, 0, 1)
        chin = np.clip((y + 0.135 * s) / (0.02 * s), 0, 1) * np.clip(z / 0.02 + 4.5, 0, 1)
        share = np.maximum(jaw * cheek, side * 0.9) * chin * (1 - lips)
        towards(hair, 0.9 * looks.beard * np.clip(share, 0, 1))

    arch = 0.019 * s + 0.10 * x - 0.5 * np.maximum(x - 0.036 * s, 0)
    brow = _bump(y - arch, 0.0042 * s) * np.clip((x - 0.010 * s) / 0.004, 0, 1)
    brow = brow * np.clip((0.056 * s - x) / 0.008, 0, 1) * front
    towards(hair, 0.85 * np.clip(1.3 * brow, 0, 1))

    if looks.hair in ("bald", "buzz", "cap"):  # the shadow of shaved hair
        above = np.clip(hairline_m(marks, p) / (0.012 * s), 0, 1)
        towards(hair, (0.35 if looks.hair == "bald" else 0.85) * above)
    else:
        above = np.clip((hairline_m(marks, p) + 0.006 * s) / (0.008 * s), 0, 1)
        towards(hair, (0.9 if looks.hair != "headscarf" else 0.0) * above)

    for side in ("left", "right"):
        eye = body.weights[:, JOINT_NAMES.index(f"{side}_eye_smplhf")] > 0.5
        if not eye.any():
            continue
        centre = p[eye].mean(axis=0)
        offset = p[eye] - centre
        away = np.hypot(offset[:, 0], offset[:, 1]) / np.maximum(np.ptp(p[eye, 0]) / 2, 1e-6)
        ahead = offset[:, 2] > 0
        iris = ahead & (away < 0.48)
        pupil = ahead & (away < 0.20)
        colour = np.where(iris[:, None], looks.eyes, (0.42, 0.40, 0.38))
        colour[pupil] = 0.004
        shade[eye] = colour / skin
    return shade
