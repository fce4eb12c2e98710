"""A wharf: quay slabs, kerb and bollards, harbour water, a container yard, the far bank.

The quay's edge runs east-west, north of the subject; the water is below and far enough that no
published camera sees the subject mirrored in it. What is higher than the line of sight to the
subject's feet stands farther away than the farthest published camera.
"""

import bpy
import numpy as np

from ..ground_tiles import Tile, paved_material
from ..lighting import Lamp, add_lamp
from ..materials import (
    Grain,
    add_haze,
    painted_material,
    rough_material,
    water_material,
)
from ..mesh import add_object, make_mesh
from .land import HORIZON_M, Part, add_range, merge, object_from

__all__ = ["LAMPS", "LOWEST_LEVEL_M", "VERSION", "WATER_EDGE_Y_M", "WATER_LEVEL_M", "build"]

VERSION = 2
LOWEST_LEVEL_M = 0.0  # what falls beyond the edge falls on water, which shows no shadow
WATER_LEVEL_M = -2.2
WATER_EDGE_Y_M = 17.0

_SEED = 20260803
_BANK_Y_M = 430.0
_STAINS = Tile(61.0, (Grain(7.0, 0.15), Grain(2.3, 0.1)), 256, _SEED)
_GRIT = Tile(3.7, (Grain(0.7, 0.12), Grain(0.06, 0.12), Grain(0.025, 0.16)), 512, _SEED + 1)
_JOINTS_M = (1.15, 0.62, 0.0)  # joints cross here: no camera looks along one
_CONTAINER_COLOURS = (
    (0.30, 0.055, 0.03),
    (0.025, 0.075, 0.17),
    (0.33, 0.16, 0.03),
    (0.05, 0.12, 0.07),
    (0.26, 0.26, 0.25),
    (0.11, 0.03, 0.035),
    (0.40, 0.38, 0.33),
    (0.02, 0.13, 0.16),
)
_MAST_M = 14.0
_MASTS = ((-21.0, -21.5), (21.0, -21.5), (-72.0, 12.5), (72.0, 12.5), (0.0, -62.0))

# Floodlights on the masts, towards the quay before them.
LAMPS = tuple(
    Lamp((x, y, _MAST_M - 0.1), (0.2 * x, 0.2 * y + 2.0, 0.0), size_m=0.5) for x, y in _MASTS
)


def build(collection: bpy.types.Collection, variant: int = 1) -> None:
    """Add quay, water, yard and what lies beyond to a collection."""
    rng = np.random.default_rng([_SEED, variant])
    _add_quay(collection)
    _add_water(collection)
    steel = painted_material("Limen Steel", (0.12, 0.12, 0.125), roughness=0.55)
    _add_quayside(collection, rng, steel)
    _add_yard(collection, rng)
    _add_masts(collection, steel)
    _add_ship(collection, rng)
    _add_distance(collection, rng)


# --- shapes --------------------------------------------------------------------------------------


def _box(low: tuple[float, float, float], high: tuple[float, float, float]) -> Part:
    """Return a box between two corners, facing out."""
    corners = np.array([low, high], float)
    vertices = np.array([[corners[i][0], corners[j][1], corners[k][2]] for i, j, k in _CORNERS])
    return vertices, np.array(_SIDES)


_CORNERS = [(i, j, k) for k in (0, 1) for j in (0, 1) for i in (0, 1)]
_SIDES = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]


def _centred(x: float, y: float, z: float, wide: float, deep: float, high: float) -> Part:
    return _box((x - wide / 2, y - deep / 2, z), (x + wide / 2, y + deep / 2, z + high))


def _turned(profile: list[tuple[float, float]], around: int = 14) -> Part:
    """Return a body of revolution about z, from (radius, height) upwards, closed at the top."""
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    rows = [np.column_stack([r * ring, np.full(around, z)]) for r, z in profile]
    vertices = np.concatenate([*rows, [[0.0, 0.0, profile[-1][1]]] * around])
    i = np.arange(around)
    following = (i + 1) % around
    faces = [
        np.stack([i, following, following + around, i + around], axis=-1) + row * around
        for row in range(len(profile))
    ]
    return vertices, np.concatenate(faces)


def _moved(part: Part, x: float, y: float, z: float = 0.0) -> Part:
    return part[0] + np.array([x, y, z]), part[1]


def _ridged(length: float, width: float, height: float) -> Part:
    """Return a container: a box with upright ribs on its long sides, doors flush."""
    pitch, depth = 0.28, 0.045
    count = int((length - 0.3) / pitch)
    start = -pitch * count / 2
    x, out = [-length / 2, start], [0.0, 0.0]
    for rib in range(count):
        left = start + rib * pitch
        x += [left + 0.07, left + 0.11, left + 0.21, left + 0.25]
        out += [0.0, depth, depth, 0.0]
    x, out = np.array([*x, length / 2]), np.array([*out, 0.0])
    walls = []
    for side in (-1, 1):
        y = side * (width / 2 - out)
        low = np.column_stack([x, y, np.full(len(x), 0.12)])
        high = np.column_stack([x, y, np.full(len(x), height - 0.1)])
        i = np.arange(len(x) - 1)
        quads = np.stack([i, i + 1, i + 1 + len(x), i + len(x)], axis=-1)
        walls.append((np.concatenate([low, high]), quads if side < 0 else quads[:, ::-1]))
    rails = [
        _centred(0, 0, 0, length, width, 0.13),
        _centred(0, 0, height - 0.12, length, width, 0.12),
        *(
            _centred(sx * (length / 2 - 0.06), sy * (width / 2 - 0.06), 0, 0.12, 0.12, height)
            for sx in (-1, 1)
            for sy in (-1, 1)
        ),
        _centred(length / 2 - 0.1, 0, 0.1, 0.12, width - 0.1, height - 0.2),
        _centred(-length / 2 + 0.1, 0, 0.1, 0.12, width - 0.1, height - 0.2),
        *(  # lock bars of the doors
            _moved(_turned([(0.022, 0.1), (0.022, height - 0.15)], 6), length / 2 + 0.005, dy)
            for dy in (-0.85, -0.4, 0.4, 0.85)
        ),
    ]
    return merge([*walls, *rails])


# --- quay and water ------------------------------------------------------------------------------


def _add_quay(collection: bpy.types.Collection) -> None:
    slabs = paved_material("Limen Slabs", (0.33, 0.325, 0.305), (_STAINS, _GRIT), slab_m=3.0)
    edge, far = WATER_EDGE_Y_M, 60.0

    def sheet(name: str, x: float, low_y: float, high_y: float, material: object) -> None:
        corners = np.array([[-x, low_y, 0], [x, low_y, 0], [x, high_y, 0], [-x, high_y, 0.0]])
        corners -= _JOINTS_M
        face = np.array([[0, 1, 2, 3]])
        item = object_from(collection, name, corners, face, material, smooth=False)
        item.location = _JOINTS_M  # the slabs lie along the object's axes

    sheet("Limen Ground", 420.0, -far * 2.5, edge, slabs)
    tarmac = add_haze(rough_material("Limen Tarmac", (0.14, 0.137, 0.13), roughness=0.9))
    sheet("Limen Ground Far", HORIZON_M, -HORIZON_M, -far * 2.5, tarmac)
    wall = rough_material("Limen Quay Wall", (0.20, 0.195, 0.18), roughness=0.9)
    weed = rough_material("Limen Weed", (0.035, 0.042, 0.025), roughness=0.6, specular=0.3)
    for name, low, high, material in (
        ("Limen Quay Wall", -0.9, 0.0, wall),
        ("Limen Quay Tide", WATER_LEVEL_M - 1, -0.9, weed),
    ):
        corners = np.array(
            [[420, edge, low], [-420, edge, low], [-420, edge, high], [420, edge, high]]
        )
        object_from(collection, name, corners, np.array([[0, 1, 2, 3]]), material, smooth=False)


def _add_water(collection: bpy.types.Collection) -> None:
    water = add_haze(water_material("Limen Water", (0.012, 0.022, 0.022)))
    far = HORIZON_M
    corners = [[-far, WATER_EDGE_Y_M], [far, WATER_EDGE_Y_M], [far, _BANK_Y_M], [-far, _BANK_Y_M]]
    vertices = np.column_stack([corners, np.full(4, WATER_LEVEL_M)])
    object_from(collection, "Limen Water", vertices, np.array([[0, 1, 2, 3]]), water, smooth=False)


def _add_quayside(
    collection: bpy.types.Collection, rng: np.random.Generator, steel: bpy.types.Material
) -> None:
    """Add what stands on the quay near the subject, all of it low: kerb, bollards, rails, rope."""
    edge = WATER_EDGE_Y_M
    kerb = painted_material("Limen Kerb", (0.42, 0.30, 0.03), worn=0.35)
    pieces = [_centred(x, edge - 0.16, 0, 5.7, 0.3, 0.26) for x in np.arange(-117, 118, 6.0)]
    object_from(collection, "Limen Kerb", *merge(pieces), kerb, smooth=False)
    bollard = _turned(
        [
            (0.34, 0.0),
            (0.34, 0.05),
            (0.19, 0.06),
            (0.16, 0.30),
            (0.24, 0.36),
            (0.27, 0.42),
            (0.2, 0.5),
        ]
    )
    places = [float(x) for x in np.arange(-118.5, 119, 15.0)]
    object_from(
        collection,
        "Limen Bollards",
        *merge([_moved(bollard, x + float(rng.uniform(-0.5, 0.5)), edge - 0.95) for x in places]),
        steel,
    )
    rails = [_box((-420, y - 0.035, -0.05), (420, y + 0.035, 0.012)) for y in (5.8, 13.6)]
    rails += [_box((-420, y - 0.14, -0.05), (420, y + 0.14, 0.004)) for y in (5.8, 13.6)]
    object_from(collection, "Limen Crane Rails", *merge(rails), steel, smooth=False)
    paint = painted_material("Limen Paint", (0.55, 0.42, 0.05), roughness=0.7, worn=0.5)
    line = [_box((x, 14.55, -0.05), (x + 3.0, 14.7, 0.003)) for x in np.arange(-120, 120, 5.0)]
    line += [_box((-120, y - 0.06, -0.05), (120, y + 0.06, 0.003)) for y in (-9.0, -26.5)]
    object_from(collection, "Limen Lines", *merge(line), paint, smooth=False)
    rubber = rough_material("Limen Rubber", (0.02, 0.02, 0.021), roughness=0.8)
    fenders = [_centred(x, edge + 0.22, -2.0, 0.5, 0.45, 1.75) for x in np.arange(-114, 115, 7.5)]
    object_from(collection, "Limen Fenders", *merge(fenders), rubber, smooth=False)
    rope = rough_material("Limen Rope", (0.30, 0.25, 0.16), roughness=0.95)
    coils = []
    for x, y in ((-9.5, 14.9), (19.5, 15.2), (-38.0, 15.0)):
        coils += [
            _moved(
                _turned(
                    [(0.42 - 0.05 * k, 0.0), (0.44 - 0.05 * k, 0.045), (0.40 - 0.05 * k, 0.09)]
                ),
                x,
                y,
                0.085 * k,
            )
            for k in range(4)
        ]
    object_from(collection, "Limen Ropes", *merge(coils), rope)
    wood = rough_material("Limen Pallets", (0.30, 0.215, 0.13), roughness=0.95)
    pallets = []
    for x, y, count in ((-11.5, -7.0, 2), (15.5, 8.5, 2), (13.8, -13.0, 3), (-17.5, 3.5, 3)):
        turn = rng.uniform(-0.4, 0.4)
        for level in range(count):
            pallets.append(_spun(_pallet(), turn + rng.uniform(-0.05, 0.05), x, y, 0.15 * level))
    object_from(collection, "Limen Pallets", *merge(pallets), wood, smooth=False)
    railing = []
    for start, end in ((32.0, 62.0), (-62.0, -32.0)):
        for x in np.arange(start, end + 0.1, 2.0):
            railing.append(_centred(x, edge - 1.6, 0, 0.05, 0.05, 1.1))
        for height in (0.55, 1.06):
            railing.append(_box((start, edge - 1.62, height), (end, edge - 1.58, height + 0.04)))
    object_from(
        collection,
        "Limen Railings",
        *merge(railing),
        painted_material("Limen Railings", (0.45, 0.45, 0.44), worn=0.3),
        smooth=False,
    )


def _pallet() -> Part:
    boards = [_centred(0, y, 0.12, 1.2, 0.1, 0.022) for y in np.linspace(-0.35, 0.35, 6)]
    skids = [_centred(x, 0, 0.0, 0.1, 0.8, 0.12) for x in (-0.55, 0.0, 0.55)]
    return merge([*boards, *skids])


def _spun(part: Part, turn: float, x: float, y: float, z: float) -> Part:
    cos, sin = np.cos(turn), np.sin(turn)
    rotation = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    return part[0] @ rotation.T + np.array([x, y, z]), part[1]


# --- the yard ------------------------------------------------------------------------------------


def _add_yard(collection: bpy.types.Collection, rng: np.random.Generator) -> None:
    """Add rows of container stacks, sheds behind them, crates at the ends of the quay."""
    paint = painted_material("Limen Containers", (1.0, 1.0, 1.0), worn=0.22)
    short, long = (
        _mesh(f"Limen Container {n}", _ridged(n, 2.44, 2.59), paint) for n in (6.06, 12.19)
    )
    for row_y in (-31.0, -34.2, -47.0, -50.2, -66.0, -69.2):
        x = -96.0 + float(rng.uniform(0, 3))
        while x < 92:
            if rng.uniform() < 0.13 or abs(x) < 5.5:  # a lane, and gaps
                x += float(rng.uniform(2.5, 7.5))
                continue
            mesh, length = (short, 6.06) if rng.uniform() < 0.4 else (long, 12.19)
            for level in range(1 + int(rng.integers(0, 3 if row_y > -40 else 4))):
                _add_container(collection, rng, mesh, x + length / 2, row_y, level)
            x += length + float(rng.uniform(0.25, 0.6))
    for x, y, turn in ((33.5, 3.0, 0.1), (41.0, -4.0, 1.2), (-34.5, -2.0, -0.2), (-43.0, 6.0, 0.5)):
        item = add_object("Limen Container", short, collection)
        item.location = (x, y, 0)
        item.rotation_euler = (0, 0, turn)
        item.color = (*_CONTAINER_COLOURS[int(rng.integers(len(_CONTAINER_COLOURS)))], 1)
    wood = rough_material("Limen Crates", (0.34, 0.25, 0.15), roughness=0.9)
    crates = []
    for _ in range(26):
        angle = rng.uniform(-0.35, 0.35) + (np.pi if rng.uniform() < 0.5 else 0)
        radius = rng.uniform(29, 52)
        side = float(rng.uniform(0.7, 1.6))
        crates.append(
            _spun(
                _centred(0, 0, 0, side * 1.2, side, side * 0.9),
                float(rng.uniform(0, 3)),
                radius * np.cos(angle),
                radius * np.sin(angle),
                0.0,
            )
        )
    object_from(collection, "Limen Crates", *merge(crates), wood, smooth=False)
    cladding = add_haze(painted_material("Limen Sheds", (0.34, 0.37, 0.38), worn=0.1), 20_000.0)
    roof = add_haze(rough_material("Limen Roofs", (0.17, 0.16, 0.155)), 20_000.0)
    for x, y, wide, deep, high in (
        (-85.0, -115.0, 90.0, 40.0, 11.0),
        (40.0, -122.0, 110.0, 45.0, 13.0),
        (150.0, -100.0, 60.0, 35.0, 9.0),
        (-180.0, -95.0, 60.0, 35.0, 9.0),
    ):
        _add_shed(collection, cladding, roof, x, y, wide, deep, high)


def _mesh(name: str, part: Part, material: bpy.types.Material) -> bpy.types.Mesh:
    mesh = make_mesh(name, *part, smooth=False)
    mesh.materials.append(material)
    return mesh


def _add_container(
    collection: bpy.types.Collection,
    rng: np.random.Generator,
    mesh: bpy.types.Mesh,
    x: float,
    y: float,
    level: int,
) -> None:
    item = add_object("Limen Container", mesh, collection)
    item.location = (x + rng.normal(0, 0.03), y + rng.normal(0, 0.03), 2.59 * level)
    item.rotation_euler = (0, 0, np.pi * int(rng.integers(2)))
    colour = np.array(_CONTAINER_COLOURS[int(rng.integers(len(_CONTAINER_COLOURS)))])
    item.color = (*(colour * rng.uniform(0.75, 1.2)), 1)


def _add_shed(
    collection: bpy.types.Collection,
    cladding: bpy.types.Material,
    roof: bpy.types.Material,
    x: float,
    y: float,
    wide: float,
    deep: float,
    high: float,
) -> None:
    walls = _centred(x, y, 0, wide, deep, high)
    object_from(collection, "Limen Shed", *walls, cladding, smooth=False)
    left, right, front, back = (
        x - wide / 2 - 0.5,
        x + wide / 2 + 0.5,
        y - deep / 2 - 0.7,
        y + deep / 2 + 0.7,
    )
    ridge = high + deep * 0.12
    vertices = np.array(
        [[a, b, z] for a in (left, right) for b, z in ((front, high), (y, ridge), (back, high))]
    )
    slopes = np.array([[0, 3, 4, 1], [1, 4, 5, 2]])
    object_from(collection, "Limen Roof", vertices, slopes, roof, smooth=False)
    gable = np.array([[0, 1, 2], [3, 5, 4]])
    object_from(collection, "Limen Gables", vertices, gable, cladding, smooth=False)
    doors = [
        _centred(a, back - 0.7, 0, 5.0, 0.1, 5.5) for a in np.arange(left + 8, right - 6, 14.0)
    ]
    object_from(collection, "Limen Doors", *merge(doors), roof, smooth=False)


def _add_masts(collection: bpy.types.Collection, steel: bpy.types.Material) -> None:
    parts = []
    for x, y in _MASTS:
        parts.append(
            _moved(_turned([(0.3, 0.0), (0.3, 0.25), (0.12, 0.3), (0.07, _MAST_M)], 10), x, y)
        )
        parts.append(_centred(x, y, _MAST_M + 0.05, 1.8, 0.16, 0.12))
        parts += [_centred(x + dx, y, _MAST_M + 0.17, 0.55, 0.5, 0.22) for dx in (-0.6, 0.6)]
    object_from(collection, "Limen Masts", *merge(parts), steel, smooth=False)
    for lamp in LAMPS:
        add_lamp(collection, lamp)


# --- beyond --------------------------------------------------------------------------------------


def _add_ship(collection: bpy.types.Collection, rng: np.random.Generator) -> None:
    """Moor a coaster along the quay, east of the subject or west of it."""
    side = 1.0 if rng.uniform() < 0.5 else -1.0
    length, beam, depth = 82.0, 12.5, 6.4
    along = np.linspace(0, 1, 25)
    half = beam / 2 * np.minimum(1, np.minimum((along / 0.06) ** 0.5, ((1 - along) / 0.16) ** 0.6))
    rows = []
    for share, narrow in ((0.0, 0.82), (0.35, 0.98), (1.0, 1.0)):
        x = (along - 0.5) * length * (0.96 + 0.04 * share)
        z = WATER_LEVEL_M - 0.6 + share * (depth + 2.2 * along**4)
        rows += [np.column_stack([x, half * narrow, z])]
    hull_rows = [np.concatenate([row, (row * [1, -1, 1])[::-1]]) for row in rows]
    around = len(hull_rows[0])
    i = np.arange(around)
    following = (i + 1) % around
    quads = np.concatenate(
        [
            np.stack([following, i, i + around, following + around], axis=-1) + k * around
            for k in range(2)
        ]
    )
    middle_x, middle_y = side * 88.0, WATER_EDGE_Y_M + beam / 2 + 1.1
    hull = painted_material("Limen Hull", (0.03, 0.05, 0.085), worn=0.3)
    white = painted_material("Limen Deckhouse", (0.6, 0.59, 0.56), worn=0.15)
    object_from(
        collection,
        "Limen Hull",
        np.concatenate(hull_rows) + np.array([middle_x, middle_y, 0]),
        quads,
        hull,
    )
    deck = WATER_LEVEL_M - 0.9 + depth
    strip = np.stack([i[: around // 2 - 1], i[: around // 2 - 1] + 1], axis=-1)
    mirrored = around - 1 - strip
    plates = np.stack([strip[:, 0], strip[:, 1], mirrored[:, 1], mirrored[:, 0]], axis=-1)[:, ::-1]
    object_from(
        collection,
        "Limen Deck",
        hull_rows[2] * [1, 0.98, 1] + [middle_x, middle_y, -0.5],
        plates,
        painted_material("Limen Deck", (0.16, 0.07, 0.045), worn=0.3),
        smooth=False,
    )
    stern = middle_x - 0.40 * length
    house = [
        _centred(stern, middle_y, deck, 9.0, 9.5, 5.4),
        _centred(stern + 0.6, middle_y, deck + 5.4, 7.0, 11.0, 2.6),
        _centred(stern - 2.4, middle_y, deck + 8.0, 2.2, 2.4, 2.6),
        _centred(stern + 1.5, middle_y, deck + 8.0, 0.22, 0.22, 6.0),
        _centred(middle_x + 0.44 * length, middle_y, deck + 1.5, 0.25, 0.25, 8.0),
    ]
    object_from(collection, "Limen Deckhouse", *merge(house), white, smooth=False)
    hatches = [
        _centred(middle_x + dx, middle_y, deck, 14.0, 9.0, 1.5) for dx in (-18.0, -2.0, 14.0)
    ]
    object_from(collection, "Limen Hatches", *merge(hatches), hull, smooth=False)


def _add_distance(collection: bpy.types.Collection, rng: np.random.Generator) -> None:
    """Add the other bank: its quay, sheds, tanks, cranes, and hills behind."""
    stone = add_haze(rough_material("Limen Bank", (0.2, 0.2, 0.18)))
    bank = _BANK_Y_M
    object_from(
        collection,
        "Limen Bank",
        *_box((-HORIZON_M, bank, -4), (HORIZON_M, HORIZON_M, 0.4)),
        stone,
        smooth=False,
    )
    paint = add_haze(painted_material("Limen Far Paint", (1.0, 1.0, 1.0), worn=0.1))
    blocks: dict[int, list[Part]] = {k: [] for k in range(len(_FAR_COLOURS))}
    for _ in range(110):
        x, y = float(rng.uniform(-1100, 1100)), bank + float(rng.uniform(12, 190))
        high = float(rng.uniform(5, 16)) * (1.8 if rng.uniform() < 0.08 else 1.0)
        part = _centred(x, y, 0.4, float(rng.uniform(18, 75)), 20.0, high)
        blocks[int(rng.integers(len(_FAR_COLOURS)))].append(part)
    for _ in range(14):
        radius = float(rng.uniform(6, 13))
        high = float(rng.uniform(10, 19))
        tank = _turned([(radius, 0.0), (radius, high), (radius * 0.5, high + 1.2)], 24)
        blocks[0].append(
            _moved(tank, float(rng.uniform(-700, 700)), bank + float(rng.uniform(25, 90)))
        )
    for x in rng.uniform(-650, 650, 6):
        blocks[3] += _crane(float(x), bank + 18.0)
    blocks[3] += _crane(-165.0, 9.7) + _crane(208.0, 9.7)
    for k, parts in blocks.items():
        if parts:
            item = object_from(collection, f"Limen Far {k}", *merge(parts), paint, smooth=False)
            item.color = (*_FAR_COLOURS[k], 1)
    hills = add_haze(rough_material("Limen Hills", (0.075, 0.085, 0.05)))
    for distance_m, height_m in ((1250.0, 45.0), (1900.0, 110.0)):
        add_range(collection, rng, hills, distance_m, height_m)


_FAR_COLOURS = ((0.45, 0.44, 0.41), (0.30, 0.17, 0.12), (0.22, 0.26, 0.28), (0.20, 0.10, 0.035))


def _crane(x: float, y: float) -> list[Part]:
    """Return a quay crane: four legs, a bridge, a boom over the water."""
    legs = [_centred(x + dx, y + dy, 0, 1.1, 1.1, 24.0) for dx in (-7.0, 7.0) for dy in (-4.0, 4.0)]
    beams = [
        _box((x - 7.6, y + dy - 0.7, 22.5), (x + 7.6, y + dy + 0.7, 24.5)) for dy in (-4.0, 4.0)
    ]
    boom = [
        _box((x - 1.6, y - 16, 26.0), (x - 0.7, y + 27, 27.6)),
        _box((x + 0.7, y - 16, 26.0), (x + 1.6, y + 27, 27.6)),
        _centred(x, y, 24.5, 1.4, 1.4, 13.0),
        _centred(x + 2.6, y - 7, 24.5, 3.2, 6.0, 3.2),
    ]
    return [*legs, *beams, *boom]
