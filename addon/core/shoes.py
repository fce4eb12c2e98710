"""Shoes: an upper and a sole lofted about the foot."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .body import JOINT_NAMES, Body
from .hair import bound_to_body
from .landmarks import Landmarks
from .surface import Surface, join

__all__ = ["SHOES", "Last", "make_shoes"]

_Floats = NDArray[np.floating[Any]]
_Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Last:
    """The shape of a shoe; lengths for a stature of 1.70 m.

    Attributes:
        sole_m: Thickness of the sole.
        heel_m: How much thinner it is under the arch, behind which the heel begins.
        welt_m: How far it stands out.
        toe: 2 is a round toe, 3 a square one.
        collar_m: Height of the upper at the ankle, over the sole.
        material: Name of a fabric.
    """

    sole_m: float
    heel_m: float
    welt_m: float
    toe: float
    collar_m: float
    material: str


SHOES: dict[str, Last] = {
    "sneakers": Last(0.026, 0.004, 0.006, 2.6, 0.092, "mesh"),
    "shoes": Last(0.009, 0.010, 0.005, 2.2, 0.086, "leather"),
    "boots": Last(0.018, 0.012, 0.007, 2.8, 0.100, "leather"),
    "flats": Last(0.009, 0.003, 0.002, 2.3, 0.060, "leather"),
}
"""Shoes by name."""

_STATIONS = 18
_AROUND = 20


def make_shoes(body: Body, marks: Landmarks, last: Last) -> dict[str, Surface]:
    """Both shoes' "upper" and "sole" at rest on the body's mean shape."""
    uppers, soles = [], []
    for side in ("left", "right"):
        upper, sole = _shoe(body, marks, last, side)
        uppers.append(upper)
        soles.append(sole)
    return {"upper": join(uppers), "sole": join(soles)}


def _shoe(body: Body, marks: Landmarks, last: Last, side: str) -> tuple[Surface, Surface]:
    s = marks.size
    parts = [JOINT_NAMES.index(f"{side}_{part}") for part in ("ankle", "foot")]
    near = np.flatnonzero(
        (body.weights[:, parts].sum(axis=1) > 0.5) & (body.vertices_m[:, 1] < marks.ankles_y + 0.03)
    )
    foot = body.vertices_m[near]
    ankle, ball = marks.at[f"{side}_ankle"], marks.at[f"{side}_foot"]
    ahead = np.array([ball[0] - ankle[0], 0.0, ball[2] - ankle[2]])
    ahead /= np.linalg.norm(ahead)
    aside = np.array([ahead[2], 0.0, -ahead[0]])
    ground = foot[:, 1].min()
    along, across = (foot - ankle) @ ahead, (foot - ankle) @ aside
    heel, toe = along.min() - 0.006 * s, along.max() + 0.012 * s

    share = (1 - np.cos(np.pi * np.linspace(0, 1, _STATIONS))) / 2
    stations = heel + (toe - heel) * share
    reach = 0.022 * s
    left, right, top = (np.zeros(_STATIONS) for _ in range(3))
    for i, place in enumerate(np.clip(stations, along.min() + reach / 2, along.max() - reach / 2)):
        there = (abs(along - place) < reach) & (foot[:, 1] < ground + 0.075 * s)
        left[i], right[i] = across[there].min() - 0.006 * s, across[there].max() + 0.006 * s
        top[i] = foot[there, 1].max() + 0.006 * s
    left, right = _even(left), _even(right)
    # The outline closes round at the heel and by the toe's own shape in front.
    end = np.clip(np.abs(share - 0.30) / np.where(share < 0.30, 0.30, 0.70), 0, 1)
    power = np.where(share < 0.30, 2.6, last.toe)
    close = np.maximum(1 - end ** (power * 2), 0) ** (1 / 2)
    middle, half = (left + right) / 2, (right - left) / 2 * np.maximum(close, 0.02)

    # Height of the upper: heel counter, collar at the ankle, instep, toe box.
    height = np.interp(
        share,
        [0.0, 0.06, 0.30, 0.42, 0.60, 0.80, 0.95, 1.0],
        s
        * np.array([*(last.collar_m * np.array([0.8, 1.0, 1.0, 0.9])), 0.066, 0.050, 0.040, 0.022]),
    )
    profile = np.minimum(np.maximum(_even(top) - ground, 0.030 * s), height)
    profile = np.where(share < 0.45, height, profile)
    profile = _even(profile)

    turn = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    # |u|^2.6 + |v|^2.6 = 1 is a rounded box, narrower at the top.
    u = np.sign(np.cos(turn)) * np.abs(np.cos(turn)) ** (2 / 2.6)
    v = np.sign(np.sin(turn)) * np.abs(np.sin(turn)) ** (2 / 2.6)
    up = (v + 1) / 2
    taper = 1 - 0.24 * up**2 * np.clip(profile / (0.05 * s), 0.3, 1.3)[:, None]
    rings = (
        ankle
        + stations[:, None, None] * ahead
        + (middle[:, None] + half[:, None] * u * taper)[..., None] * aside
    )
    rings[..., 1] = ground + profile[:, None] * up
    upper = _closed(rings)

    thick = s * (last.sole_m + last.heel_m * (1 - np.exp(-(((share - 0.47) / 0.09) ** 2))))
    spring = s * 0.012 * np.clip((share - 0.75) / 0.25, 0, 1) ** 2
    outline = half + last.welt_m * s * np.clip(close * 3, 0.1, 1)
    sole_rings = []
    for wide, low in ((0.96, -1.0), (1.0, -0.75), (1.0, 0.10), (0.94, 0.22)):
        edge = np.stack([middle - outline * wide, middle + outline * wide])
        row = ankle + stations[:, None] * ahead
        pair = row[None] + edge[..., None] * aside
        pair[..., 1] = ground + np.where(low < 0, low * thick + spring, low * 0.03 * s + spring)
        sole_rings.append(pair)
    sole = _slab(np.array(sole_rings))
    return (
        bound_to_body(body, *upper, near[:: max(1, len(near) // 500)], 0.03 * s),
        bound_to_body(body, *sole, near[:: max(1, len(near) // 500)], 0.03 * s),
    )


def _even(values: _Floats) -> _Floats:
    padded = np.pad(values, 2, "edge")
    even: _Floats = np.convolve(padded, [0.1, 0.2, 0.4, 0.2, 0.1], "valid")
    return even


def _closed(rings: _Floats) -> tuple[_Floats, _Ints]:
    """A loft (R, C, 3) closed at both ends."""
    rows, columns = rings.shape[:2]
    r = np.arange(rows - 1)[:, None] * columns
    c = np.arange(columns)[None]
    nxt = (c + 1) % columns
    a, b, d, e = (x.ravel() for x in (r + c, r + nxt, r + columns + c, r + columns + nxt))
    faces = [np.stack([a, b, e], axis=1), np.stack([a, e, d], axis=1)]
    ends = rings[[0, -1]].mean(axis=1)
    c = np.arange(columns)
    nxt = (c + 1) % columns
    first, last = np.full(columns, rows * columns), np.full(columns, rows * columns + 1)
    start = (rows - 1) * columns
    faces += [np.stack([first, nxt, c], axis=1), np.stack([last, start + c, start + nxt], axis=1)]
    vertices, triangles = np.concatenate([rings.reshape(-1, 3), ends]), np.concatenate(faces)
    a, b, c = np.moveaxis(vertices[triangles] - vertices.mean(axis=0), 1, 0)
    if (a * np.cross(b, c)).sum() < 0:  # inside out
        triangles = triangles[:, ::-1]
    return vertices, triangles


def _slab(levels: _Floats) -> tuple[_Floats, _Ints]:
    """A sole of outlines (L, 2, R, 3): left and right edges at rising levels."""
    rings = np.concatenate([levels[:, 0], levels[:, 1, ::-1]], axis=1)
    return _closed(rings)
