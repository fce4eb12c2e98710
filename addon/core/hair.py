"""Hair, caps and scarves: caps raised from the scalp, and what hangs from them.

All of it is fitted to the body's mean shape at rest and moves with the nearest skin.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .body import JOINT_NAMES, Body
from .landmarks import Landmarks, hairline_m
from .surface import Surface, clip, join, normals, raised, refined, smoothed

__all__ = ["HAIR_STYLES", "bound_to_body", "grow_hair", "under_hair"]

_Floats = NDArray[np.floating[Any]]
_Ints = NDArray[np.integer[Any]]
_Mask = NDArray[np.bool_]

# Style -> thickness over the scalp and at its edge (m), how far the edge is below the hairline (m).
_CAPS: dict[str, tuple[float, float, float]] = {
    "buzz": (0.004, 0.001, 0.0),
    "short": (0.018, 0.002, 0.0),
    "swept": (0.030, 0.005, -0.004),
    "curly": (0.040, 0.007, 0.0),
    "afro": (0.062, 0.012, 0.0),
    "bob": (0.018, 0.004, 0.0),
    "long": (0.016, 0.004, 0.0),
    "ponytail": (0.011, 0.003, 0.0),
    "bun": (0.011, 0.003, 0.0),
}
HAIR_STYLES: tuple[str, ...] = ("bald", *_CAPS, "cap", "cap-bob", "beanie", "headscarf")
"""Names that `grow_hair` takes; the last four cover the hair."""


def grow_hair(body: Body, marks: Landmarks, style: str) -> dict[str, Surface]:
    """Hair and headwear at rest: "hair" and "hat", each where the style has it.

    Args:
        body: Whose head.
        marks: The body's landmarks.
        style: One of `HAIR_STYLES`.
    """
    s = marks.size
    if style == "bald":
        return {}
    if style in ("cap", "cap-bob", "beanie"):
        low = 0.022 if style == "beanie" else 0.012
        hat = _cap(body, marks, 0.016 * s, 0.008 * s, low * s, smooth=10, even=True)
        hair = _cap(body, marks, 0.005 * s, 0.002 * s, 0.0)
        # Only what may show at the edge: at the crown it would stand through the cloth.
        parts = {"hair": clip(hair, 0.03 * s - hairline_m(marks, hair.vertices_m))}
        if style != "beanie":
            hat = join([hat, _brim(body, marks)])
        if style == "cap-bob":
            parts["hair"] = join([parts["hair"], _curtain(body, marks, long=False)])
        return parts | {"hat": hat}
    if style == "headscarf":
        return {"hat": _headscarf(body, marks)}
    thickness, edge, below = _CAPS[style]
    pieces = [_cap(body, marks, thickness * s, edge * s, below * s, swept=style == "swept")]
    if style in ("curly", "afro"):
        pieces = [_curled(marks, pieces[0], 0.006 * s)]
    if style in ("bob", "long"):
        pieces.append(_curtain(body, marks, style == "long"))
    if style == "ponytail":
        pieces.append(_tail(body, marks))
    if style == "bun":
        pieces.append(_ball(body, marks))
    return {"hair": join(pieces)}


def bound_to_body(
    body: Body, vertices_m: _Floats, faces: _Ints, near: _Ints, spread_m: float
) -> Surface:
    """A surface of one's own that moves as the skin near it does.

    Args:
        body: Whose.
        vertices_m: (N, 3) at rest.
        faces: (F, 3).
        near: Body vertices that it may follow.
        spread_m: Each vertex follows those about as near as this to the nearest, averaged.
    """
    skin = body.vertices_m[near]
    squared = ((vertices_m[:, None] - skin[None]) ** 2).sum(axis=-1)
    closest = squared.min(axis=1, keepdims=True)
    share = np.exp(-(squared - closest) / (2 * spread_m**2))
    share /= share.sum(axis=1, keepdims=True)
    shapedirs = np.tensordot(share, body.shapedirs[near].astype(np.float64), axes=1)
    return Surface(
        vertices_m, faces, share @ body.weights[near], shapedirs, near[squared.argmin(axis=1)]
    )


def _head_vertices(body: Body, marks: Landmarks) -> _Ints:
    owner = np.array([name in ("head", "jaw", "neck") for name in JOINT_NAMES])
    return np.flatnonzero(body.weights[:, owner].sum(axis=1) > 0.5)


def _scalp(body: Body, marks: Landmarks, below_m: float, even: bool) -> tuple[Surface, _Floats]:
    """Skin above the hairline, and how far each vertex is inside."""
    skin = body.surface()
    scalp = refined(clip(skin, hairline_m(marks, skin.vertices_m, even=even) + below_m))
    return scalp, hairline_m(marks, scalp.vertices_m, even=even) + below_m


def _cap(
    body: Body,
    marks: Landmarks,
    thickness_m: float,
    edge_m: float,
    below_m: float,
    *,
    smooth: int = 3,
    swept: bool = False,
    even: bool = False,
) -> Surface:
    scalp, inside = _scalp(body, marks, below_m, even)
    rise = np.clip(inside / (0.035 * marks.size), 0, 1)
    rise = rise * (2 - rise)
    height = edge_m + (thickness_m - edge_m) * rise
    if swept:  # higher over the forehead, and to one side
        x, z = scalp.vertices_m[:, 0], scalp.vertices_m[:, 2]
        front = np.clip((z - marks.eyes[2] + 0.09) / 0.09, 0, 1)
        height = height * (0.6 + 0.8 * front * np.clip(0.6 + x / 0.08, 0, 1))
    vertices = raised(scalp, np.where(inside > 0.004, 2 * smooth, 0), height)
    vertices = smoothed(vertices, scalp.faces, np.where(inside > 0.006, smooth, 0))
    return scalp.moved(vertices)


def _curled(marks: Landmarks, cap: Surface, height_m: float) -> Surface:
    """Give a cap a lumpy outline."""
    p = cap.vertices_m / (0.016 * marks.size)
    lumps = np.sin(p[:, 0] + 2 * np.sin(p[:, 1])) + np.sin(p[:, 1] * 1.1 + 2 * np.sin(p[:, 2]))
    outward = normals(cap.vertices_m, cap.faces)
    inside = np.clip(hairline_m(marks, cap.vertices_m) / 0.02, 0, 1)
    return cap.moved(cap.vertices_m + (height_m * lumps * inside)[:, None] * outward)


def _grid(points: _Floats, *, closed: bool = False) -> tuple[_Floats, _Ints]:
    """Vertices and triangles of rows of points (R, C, 3); faces look to where rows x columns do."""
    rows, columns = points.shape[:2]
    r = np.arange(rows - 1)[:, None] * columns
    c = np.arange(columns if closed else columns - 1)[None]
    nxt = (c + 1) % columns
    a, b, d, e = (x.ravel() for x in (r + c, r + nxt, r + columns + c, r + columns + nxt))
    faces = np.concatenate([np.stack([a, b, e], axis=1), np.stack([a, e, d], axis=1)])
    return points.reshape(-1, 3), faces


def _radius_about(
    marks: Landmarks, points: _Floats, axis: _Floats, angles: _Floats, heights: _Floats
) -> _Floats:
    """Reach (H, A) of points about a vertical axis, at heights and angles (0: backwards)."""
    dx, dz = points[:, 0] - axis[0], axis[2] - points[:, 2]
    angle, radius = np.arctan2(dx, dz), np.hypot(dx, dz)
    step = (angles[1] - angles[0]) * 0.75
    reach = np.zeros((len(heights), len(angles)))
    for i, y in enumerate(heights):
        level = abs(points[:, 1] - y) < 0.016 * marks.size
        for j, a in enumerate(angles):
            there = level & (abs(angle - a) < step)
            reach[i, j] = radius[there].max(initial=0.0)
    return reach


def _curtain(body: Body, marks: Landmarks, long: bool) -> Surface:
    """Hair that hangs from the sides and back of the head."""
    s = marks.size
    head = _head_vertices(body, marks)
    arms = abs(body.vertices_m[:, 0]) > 0.16 * s
    trunk = np.flatnonzero(~arms & (body.vertices_m[:, 1] > marks.at["spine1"][1]))
    axis_m = marks.eyes - np.array([0, 0, 0.085 * s])
    half = np.radians(112 if long else 118)
    angles = np.linspace(-half, half, 33)
    top = marks.eyes[1] + 0.045 * s
    shoulder_y = marks.at["neck"][1] + 0.035 * s
    ends = np.where(abs(angles) < np.radians(75), top - 0.42 * s, shoulder_y + 0.03 * s)
    if not long:
        ends = np.full(len(angles), shoulder_y + 0.035 * s)
    for _ in range(3):
        ends = _even(ends)
    shares = np.linspace(0, 1, 20)
    heights = np.linspace(top, ends.min(), 40)
    skin = _radius_about(marks, body.vertices_m[trunk], axis_m, angles, heights)
    crown = _radius_about(marks, body.vertices_m[head], axis_m, angles, heights[:4]).max(axis=0)
    crown = _even(crown)
    fall = top + shares[:, None] * (ends - top)
    under = np.stack([np.interp(-y, -heights, c) for y, c in zip(fall.T, skin.T, strict=True)], 1)
    # Over the collar, the shoulders and what is worn there.
    low, high = shoulder_y - 0.05 * s, shoulder_y + 0.04 * s
    clear = np.interp(fall, [low, high], [0.054 * s, 0.014 * s])
    hang = (crown + 0.014 * s) * (1 - 0.14 * np.clip((top - fall) / (0.3 * s), 0, 1))
    # At the sides hair hangs straight, into the collar; only at the back it lies on the shoulders.
    back = np.clip((np.radians(72) - abs(angles)) / np.radians(30), 0, 1)
    reach = hang + back * np.maximum(under + clear - hang, 0)
    # Strands lie on what stands out beside them.
    reach = np.max([np.pad(reach, ((0, 0), (2, 2)), "edge")[:, k : k + 33] for k in range(5)], 0)
    for axis in (0, 1, 0, 1):
        reach = np.apply_along_axis(_even, axis, reach)
    share = np.broadcast_to(shares[:, None], reach.shape)
    reach -= 0.010 * s * np.clip((share - 0.85) / 0.15, 0, 1)  # the ends turn in
    reach -= 0.020 * s * np.clip((0.12 - share) / 0.12, 0, 1)  # and the roots under the cap
    reach += 0.0025 * s * np.sin(9 * angles + 4 * share) * np.clip(share / 0.3, 0, 1)
    points = np.stack(
        [axis_m[0] + reach * np.sin(angles), fall, axis_m[2] - reach * np.cos(angles)], axis=-1
    )
    vertices, faces = _grid(points)
    near = np.union1d(head, trunk)
    return bound_to_body(body, vertices, faces, near[:: max(1, len(near) // 1500)], 0.02 * s)


def _even(values: _Floats) -> _Floats:
    """A row of values, each drawn towards its neighbours."""
    padded = np.pad(values, 2, "edge")
    return np.asarray(np.convolve(padded, [0.1, 0.2, 0.4, 0.2, 0.1], "valid"))


def _tube(path: _Floats, width: _Floats, depth: _Floats, across: _Floats) -> tuple[_Floats, _Ints]:
    """A closed tube of elliptic sections along a path (R, 3)."""
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    third = np.cross(along, across)
    rings = (
        path[:, None]
        + (width[:, None] * np.cos(turn))[..., None] * across
        + (depth[:, None] * np.sin(turn))[..., None] * third[:, None]
    )
    return _grid(rings, closed=True)


def _back_of_head(body: Body, marks: Landmarks, above_eyes_m: float) -> _Floats:
    head = body.vertices_m[_head_vertices(body, marks)]
    level = abs(head[:, 1] - marks.eyes[1] - above_eyes_m) < 0.012 * marks.size
    return np.array([0.0, marks.eyes[1] + above_eyes_m, head[level, 2].min()])


def _tail(body: Body, marks: Landmarks) -> Surface:
    s = marks.size
    root = _back_of_head(body, marks, 0.045 * s)
    t = np.linspace(0, 1, 14)
    path = root + np.stack(
        [0 * t, s * (0.01 * np.sin(3 * t) - 0.25 * t**1.5), -s * 0.055 * np.sin(2.2 * t) ** 0.7],
        axis=1,
    )
    width = s * np.interp(t, [0, 0.08, 0.35, 0.8, 1], [0.016, 0.019, 0.032, 0.026, 0.004])
    vertices, faces = _tube(path, width, 0.75 * width, np.array([1.0, 0, 0]))
    return _on_head(body, marks, vertices, faces)


def _ball(body: Body, marks: Landmarks) -> Surface:
    s = marks.size
    centre = _back_of_head(body, marks, 0.06 * s) + np.array([0, 0.005 * s, -0.022 * s])
    t = np.linspace(0, np.pi, 12)
    path = centre + np.stack([0 * t, -0.034 * s * np.cos(t), 0 * t], axis=1)
    width = 0.037 * s * np.maximum(np.sin(t), 0.02)
    vertices, faces = _tube(path, width, width, np.array([1.0, 0, 0]))
    return _on_head(body, marks, vertices, faces[:, ::-1])


def _on_head(body: Body, marks: Landmarks, vertices: _Floats, faces: _Ints) -> Surface:
    """A stiff surface that moves with the head alone."""
    head = _head_vertices(body, marks)
    near = head[body.vertices_m[head, 1] > marks.eyes[1]]
    bound = bound_to_body(body, vertices, faces, near[::6], 0.05 * marks.size)
    weights = np.zeros_like(bound.weights)
    weights[:, JOINT_NAMES.index("head")] = 1
    return Surface(vertices, faces, weights, bound.shapedirs, bound.source)


def _brim(body: Body, marks: Landmarks) -> Surface:
    s = marks.size
    head = body.vertices_m[_head_vertices(body, marks)]
    y0 = marks.eyes[1] + 0.052 * s
    level = abs(head[:, 1] - y0) < 0.01 * s
    axis = marks.eyes - np.array([0, 0, 0.085 * s])
    angles = np.linspace(-1.0, 1.0, 15)
    forward = np.hypot(head[level, 0], head[level, 2] - axis[2])
    facing = np.arctan2(head[level, 0], head[level, 2] - axis[2])
    reach = np.array([forward[abs(facing - a) < 0.2].max(initial=0.07) for a in angles])
    outwards = np.array([-0.01, 0.02, 0.045, 0.07])
    shape = np.cos(angles * 1.35).clip(0.05) ** 0.5
    points = np.zeros((len(outwards), len(angles), 3))
    for i, out in enumerate(outwards * s):
        r = reach + 0.008 * s + np.where(out > 0, out * shape, out)
        drop = -0.25 * np.maximum(out, 0) - 0.012 * s * (angles**2) * (out > 0)
        points[i] = np.stack(
            [axis[0] + r * np.sin(angles), y0 + drop, axis[2] + r * np.cos(angles)], axis=1
        )
    top, faces = _grid(points)
    under, _ = _grid(points - np.array([0, 0.003 * s, 0]))
    both = np.concatenate([faces, faces[:, ::-1] + len(top)])
    return _on_head(body, marks, np.concatenate([top, under]), both)


def _headscarf(body: Body, marks: Landmarks) -> Surface:
    """Cloth about the head and neck that leaves the face free."""
    s = marks.size
    skin = body.surface()
    cloth = clip(skin, _under_scarf(marks, skin.vertices_m))
    inside = _under_scarf(marks, cloth.vertices_m)
    x, y, _ = cloth.vertices_m.T
    rise = 0.006 + 0.014 * np.clip(inside / 0.02, 0, 1)
    throat = np.clip((marks.eyes[1] - 0.06 * s - y) / (0.06 * s), 0, 1)
    folds = 0.004 * s * np.sin(y / (0.011 * s) + 14 * x) * throat
    vertices = raised(cloth, np.where(inside > 0.003, 30, 0), rise + 0.013 * throat + folds)
    return refined(cloth.moved(smoothed(vertices, cloth.faces, np.where(inside > 0.004, 3, 0))))


def _under_scarf(marks: Landmarks, points: _Floats) -> _Floats:
    """How far points are under a headscarf: all of head and neck but the face."""
    s = marks.size
    d = (points - marks.eyes + np.array([0, 0.025 * s, 0])) / s
    face = np.sqrt((d[:, 0] / 0.068) ** 2 + (d[:, 1] / 0.095) ** 2) - 1
    ahead = points[:, 2] > marks.eyes[2] - 0.075 * s
    outside = np.where(ahead, face * 0.07, 0.05)
    above = points[:, 1] - marks.at["neck"][1] + 0.05 * s - 0.35 * (0.05 * s - points[:, 2])
    return np.asarray(np.minimum(np.minimum(outside, above), 0.14 * s - abs(points[:, 0])))


def under_hair(marks: Landmarks, points_m: _Floats, style: str) -> _Mask:
    """Which points (N, 3) of the skin a style hides."""
    if style == "bald":
        return np.zeros(len(points_m), bool)
    field = _under_scarf if style == "headscarf" else hairline_m
    hidden: _Mask = field(marks, points_m) > 0.02 * marks.size
    return hidden
