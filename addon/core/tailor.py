"""Garments cut from a shell about the body, fitted to its skeleton, hung loose, and hemmed.

A pattern (`data/wardrobe.toml`) says where a garment ends and how wide it hangs. Everything is in
the rest pose (a T) on the mean shape; the skeleton and the shape coefficients move it from there.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .body import Body
from .landmarks import Landmarks
from .surface import Surface, clip, hemmed, join, normals, open_edges, smoothed

__all__ = ["Pattern", "beyond_armhole", "covered", "cut_garment", "shell_of"]

_Floats = NDArray[np.floating[Any]]
_Mask = NDArray[np.bool_]

_SMOOTHING = 14  # steps that hide the anatomy of a body that has no shell of its own
_HEM_M = 0.006
_MARGIN_M = 0.035  # skin that lies this far inside a garment is never seen


@dataclass(frozen=True)
class Pattern:
    """A garment. Lengths are for a stature of 1.70 m.

    Attributes:
        name: As in "tee".
        kind: "top", "outer", "trousers", "skirt", "socks" or "shaft".
        sleeve: Share of the arm, from shoulder to wrist, that it covers.
        collar_m: Height of the neckline above that of a T-shirt.
        v_m: Depth of the V below it.
        hem_m: Of what hangs from the shoulders: below the hip joints. Of a skirt or trousers:
            above the ankle.
        waist_m: Where trousers and skirts begin: above the hip joints.
        ease_m: Room between shell and cloth.
        hang: 0 follows the body, 1 hangs straight down from the chest or the hip.
        tube_m: Least radius of sleeves and trouser legs at their end.
        open_m: Half the gap at the front; 0 closed.
        fabrics: Names of fabrics that it is made of.
    """

    name: str
    kind: str
    sleeve: float = 0.0
    collar_m: float = 0.0
    v_m: float = 0.0
    hem_m: float = 0.0
    waist_m: float = 0.10
    ease_m: float = 0.006
    hang: float = 0.0
    tube_m: float = 0.0
    open_m: float = 0.0
    fabrics: tuple[str, ...] = ("cotton",)


def shell_of(body: Body, kind: str = "tights") -> Surface:
    """The surface that garments are cut from: the body's own shell, or its skin made smooth."""
    if kind in body.shells:
        return body.shells[kind]
    skin = body.surface()
    return skin.moved(smoothed(skin.vertices_m, skin.faces, _SMOOTHING))


def _neckline(marks: Landmarks, points: _Floats, pattern: Pattern) -> _Floats:
    """How far points lie below the neckline."""
    s = marks.size
    x, y, z = abs(points[:, 0]), points[:, 1], points[:, 2] - marks.at["neck"][2]
    line = marks.at["neck"][1] + (0.012 + pattern.collar_m) * s - 0.42 * z
    if pattern.v_m:
        front = np.clip(z / (0.05 * s), 0, 1)
        line -= front * pattern.v_m * s * np.clip(1 - x / (0.085 * s), 0, 1)
    # Beside the neck the line stands aside: it must not cut the arms.
    return np.asarray(line - y + np.maximum(0, x - 0.11 * s) * 10)


def _fields(marks: Landmarks, points: _Floats, pattern: Pattern) -> list[_Floats]:
    """Each of these is positive where the garment is; about how far inside, in metres."""
    s = marks.size
    x, y = abs(points[:, 0]), points[:, 1]
    if pattern.kind in ("top", "outer"):
        reach = marks.wrists_x - marks.shoulders_x
        sleeve_x = marks.shoulders_x + (0.02 * s if not pattern.sleeve else pattern.sleeve * reach)
        fields = [
            sleeve_x - x,
            y - np.maximum(marks.hips_y - pattern.hem_m * s, marks.crotch_y + 0.035 * s),
            _neckline(marks, points, pattern),
        ]
        if pattern.open_m:
            below = np.clip((marks.at["neck"][1] - y) / (0.5 * s), 0, 1)
            gap = x - pattern.open_m * s * (0.55 + 0.45 * below)
            behind = marks.at["neck"][2] - points[:, 2] + 0.02 * s
            fields.append(np.maximum(gap, behind))
        return fields
    top = marks.hips_y + pattern.waist_m * s - y
    arms = np.maximum(marks.shoulders_x + 0.02 * s - x, marks.hips_y - y)
    if pattern.kind in ("trousers", "skirt"):
        return [top, arms, y - (marks.ankles_y + pattern.hem_m * s)]
    # Socks and the shafts of boots begin inside the shoe.
    ahead = points[:, 2] - marks.at["left_ankle"][2]
    low = marks.ankles_y - np.clip(0.40 * ahead, -0.01 * s, 0.018 * s)
    return [marks.ankles_y + pattern.waist_m * s - y, y - low]


def covered(
    marks: Landmarks, points_m: _Floats, pattern: Pattern, margin_m: float = _MARGIN_M
) -> _Mask:
    """Which points (N, 3) lie so far under a garment that they are never seen."""
    fields = _fields(marks, points_m, pattern)
    if pattern.open_m:
        fields[-1] = fields[-1] - 0.02 * marks.size
    hidden: _Mask = np.min(fields, axis=0) > margin_m * marks.size
    return hidden


def cut_garment(body: Body, marks: Landmarks, pattern: Pattern) -> Surface:
    """A garment at rest on the body's mean shape.

    Args:
        body: Who wears it.
        marks: The body's landmarks.
        pattern: The garment.
    """
    skirt = pattern.kind == "skirt"
    shell = shell_of(body, "skirt" if skirt else "tights")
    from_skirt = skirt and "skirt" in body.shells
    for k in range(len(_fields(marks, shell.vertices_m, pattern))):
        if from_skirt and k == 1:
            continue
        shell = clip(shell, _fields(marks, shell.vertices_m, pattern)[k])
    outward = normals(shell.vertices_m, shell.faces)
    vertices = shell.vertices_m + pattern.ease_m * outward
    if pattern.kind in ("top", "outer"):
        vertices = _hung_from_chest(marks, vertices, pattern)
        vertices = _sleeves(marks, vertices, pattern)
        vertices = _collar(marks, vertices, outward, pattern)
        # Over what is worn below: the trousers, or the shirt.
        hem_y = shell.vertices_m[:, 1].min()
        over = np.clip(1 - (shell.vertices_m[:, 1] - hem_y) / (0.16 * marks.size), 0, 1)
        vertices = vertices + (0.008 * over)[:, None] * outward
    elif pattern.kind == "trousers":
        vertices = _legs(marks, vertices, pattern)
    elif pattern.kind == "shaft":
        vertices = vertices + 0.004 * outward
    if pattern.kind in ("top", "outer"):
        steps = _chest_steps(marks, vertices, pattern)
        steps[open_edges(shell.faces)] = 0
        vertices = smoothed(vertices, shell.faces, steps)
    garment = hemmed(shell.moved(vertices), _HEM_M)
    if pattern.kind in ("top", "outer"):
        sleeves = beyond_armhole(marks, garment.vertices_m)
        garment = join([clip(garment, -sleeves), clip(garment, sleeves)])
    return garment


def _chest_steps(marks: Landmarks, vertices: _Floats, pattern: Pattern) -> NDArray[np.integer[Any]]:
    """Smoothing steps (N,): cloth is drawn over the chest, not into its relief."""
    above = (vertices[:, 1] - marks.at["spine3"][1] - 0.06 * marks.size) / (0.13 * marks.size)
    beside = vertices[:, 0] / (marks.shoulders_x - 0.02 * marks.size)
    share = np.clip(1 - above**2, 0, 1) * (abs(beside) < 1)
    return np.asarray(np.rint(14 * pattern.hang * share).astype(np.int64))


def beyond_armhole(marks: Landmarks, points_m: _Floats) -> _Floats:
    """How far points (N, 3) at rest are outside the seam between trunk and sleeve."""
    s = marks.size
    out = abs(points_m[:, 0]) - marks.shoulders_x - 0.012 * s
    height = points_m[:, 1] - marks.at["left_shoulder"][1] + 0.16 * s
    return np.minimum(out, height)


def _hung_from_chest(marks: Landmarks, vertices: _Floats, pattern: Pattern) -> _Floats:
    """Let the trunk's cloth fall from the chest instead of following the waist."""
    if not pattern.hang:
        return vertices
    s = marks.size
    middle = marks.at["spine2"]
    chest_y = marks.at["spine3"][1] + 0.02 * s
    trunk = abs(vertices[:, 0]) < marks.shoulders_x + 0.01 * s
    offset = vertices[:, [0, 2]] - middle[[0, 2]]
    angle = np.arctan2(offset[:, 0], offset[:, 1])
    radius = np.linalg.norm(offset, axis=1)
    ring = trunk & (abs(vertices[:, 1] - chest_y) < 0.05 * s)
    bins = np.linspace(-np.pi, np.pi, 25)
    centres = (bins[:-1] + bins[1:]) / 2
    reach = np.array(
        [radius[ring & (angle >= a) & (angle < b)].max(initial=0.0) for a, b in pairwise(bins)]
    )
    reach = np.where(reach > 0, reach, np.median(reach[reach > 0]))
    # The arms' openings give no radius at the sides: no wider than the chest is deep and wide.
    reach = np.minimum(reach, 1.25 * np.median(reach))
    for _ in range(2):
        reach = (np.roll(reach, 1) + 2 * reach + np.roll(reach, -1)) / 4
    wanted = np.interp(angle, centres, reach, period=2 * np.pi)
    below = np.clip((chest_y - vertices[:, 1]) / (0.10 * s), 0, 1)
    target = radius + np.maximum(0, 0.97 * wanted - radius) * below * pattern.hang
    # Soft folds, more of them towards the hem.
    folds = np.sin(7 * angle + 2) + 0.6 * np.sin(12 * angle)
    target += 0.004 * s * pattern.hang * below * folds
    spanned = _spanned(angle, vertices[:, 1], target, trunk & (below > 0))
    target = target + below * np.maximum(0, spanned - target)
    scale = np.where(trunk, target / np.maximum(radius, 1e-6), 1.0)
    moved = vertices.copy()
    moved[:, [0, 2]] = middle[[0, 2]] + offset * scale[:, None]
    return moved


def _spanned(angle: _Floats, height: _Floats, radius: _Floats, where: _Mask) -> _Floats:
    """Radii over the hollows of a trunk: cloth spans them, as between the shoulder blades."""
    turns, step = 48, 0.02
    place = (angle + np.pi) / (2 * np.pi) * turns
    level = (height - height.min()) / step
    reach = np.zeros((int(level.max()) + 2, turns))
    cells = np.rint(level[where]).astype(int), np.rint(place[where]).astype(int) % turns
    np.maximum.at(reach, cells, radius[where])
    # The tangent at a point d beside this one passes here at radius * cos(d).
    offsets = np.arange(-5, 6)
    tangents = [np.roll(reach, k, axis=1) * np.cos(2 * np.pi * k / turns) for k in offsets]
    hull = np.max(tangents, axis=0)
    for axis in (0, 1):
        before, after = np.roll(hull, 1, axis), np.roll(hull, -1, axis)
        if axis == 0:
            before[0], after[-1] = hull[0], hull[-1]
        hull = (before + 2 * hull + after) / 4
    i, j = level.astype(int), place.astype(int)
    di, dj = level - i, place - j
    sides = [hull[i, k % turns] * (1 - di) + hull[i + 1, k % turns] * di for k in (j, j + 1)]
    return np.asarray(sides[0] * (1 - dj) + sides[1] * dj)


def _sleeves(marks: Landmarks, vertices: _Floats, pattern: Pattern) -> _Floats:
    """Widen the arms' cloth to the sleeve's least radius at its end."""
    if not pattern.tube_m or not pattern.sleeve:
        return vertices
    moved = vertices.copy()
    for side, sign in (("left", 1), ("right", -1)):
        start, end = marks.at[f"{side}_shoulder"], marks.at[f"{side}_wrist"]
        along = sign * (vertices[:, 0] - start[0])
        share = along / (abs(end[0] - start[0]) * pattern.sleeve)
        axis = start + (end - start) * (along / abs(end[0] - start[0]))[:, None]
        grown = np.clip((share - 0.15) / 0.5, 0, 1)
        moved = _at_least(moved, axis, (1, 2), pattern.tube_m * marks.size * grown, along > 0)
    return moved


def _legs(marks: Landmarks, vertices: _Floats, pattern: Pattern) -> _Floats:
    """Let the trouser legs fall straight from the thigh."""
    if not pattern.tube_m:
        return vertices
    s = marks.size
    moved = vertices.copy()
    for side, sign in (("left", 1), ("right", -1)):
        joints = np.array([marks.at[f"{side}_{part}"] for part in ("ankle", "knee", "hip")])
        y = vertices[:, 1]
        axis = np.stack([np.interp(y, joints[:, 1], joints[:, k]) for k in range(3)], axis=1)
        # The calf lies behind the joints' line, and so does the leg of the trousers.
        axis[:, 2] -= 0.012 * s
        top = marks.hips_y - 0.16 * s
        grown = np.clip((top - y) / (0.28 * s), 0, 1) ** 0.7
        wrinkles = 0.0015 * s * np.sin(y / (0.021 * s)) * np.clip((marks.knees_y - y) / 0.1, 0, 1)
        least = pattern.tube_m * s * grown
        here = sign * vertices[:, 0] > 0
        moved = _at_least(moved, axis, (0, 2), least + wrinkles, here & (y < top))
    return moved


def _at_least(
    vertices: _Floats,
    axis: _Floats,
    across: tuple[int, int],
    least_m: _Floats,
    where: _Mask,
) -> _Floats:
    """Push vertices out to a least distance from an axis, smoothly."""
    columns = list(across)
    offset = vertices[:, columns] - axis[:, columns]
    radius = np.maximum(np.linalg.norm(offset, axis=1), 1e-6)
    soft = 0.006
    difference = radius - least_m
    target = least_m + (difference + np.sqrt(difference**2 + soft**2)) / 2
    scale = np.where(where & (least_m > 0), target / radius, 1.0)
    moved = vertices.copy()
    moved[:, columns] = axis[:, columns] + offset * scale[:, None]
    return moved


def _collar(marks: Landmarks, vertices: _Floats, outward: _Floats, pattern: Pattern) -> _Floats:
    """Let a collar stand off the neck, and a jacket's front fall open a little."""
    s = marks.size
    base = marks.at["neck"][1] - 0.42 * (vertices[:, 2] - marks.at["neck"][2])
    near_neck = abs(vertices[:, 0]) < 0.10 * s
    rise = np.clip((vertices[:, 1] - base) / (0.05 * s), 0, 1) * near_neck
    return np.asarray(vertices + (0.010 * s * rise)[:, None] * outward * (pattern.collar_m > 0))
