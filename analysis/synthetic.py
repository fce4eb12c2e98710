"""A small dataset made by numpy, without Blender: a test fixture, and a sample to try analysis on.

It keeps the contract in everything (docs/dataset.md): the images are composed of their light stack,
masks, depth, joints and camera agree, and every number in a row is measured or true. The person is
a figure of capsules on the real skeleton and in poses of the library; sand and boulders are
computed, and light is cast from the same unit layers that a study's lightings are made of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..addon.core import body, photometry, seeds
from ..addon.core.dataset import (
    Dataset,
    PartWriter,
    done_views,
    file_record,
    init_dataset,
    log_event,
    open_dataset,
    write_file,
)
from ..addon.core.factors import ViewSpec, media_ids, poses_by_action, sample_views
from ..addon.core.image_io import LayerImage, write_depth, write_layers, write_png
from ..addon.core.lighting import (
    ALPHA,
    Layer,
    direction,
    horizontal_irradiance,
    layer_weights,
    layers_of,
    load_lightings,
    sky_pattern,
)
from ..addon.core.optics import CameraPose, density_at, distance_for, look_at_pose, project
from ..addon.core.poses import Pose, find_pose, load_poses
from ..addon.core.relight import compose, pixel_directions, stack_from_layers
from ..addon.core.standards import class_of, load_scales
from ..addon.core.study import (
    CameraSetup,
    RenderSettings,
    Sampling,
    Study,
    Subject,
    dump_study,
    resolve,
)

__all__ = ["make_synthetic", "synthetic_study"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Box = tuple[int, int, int, int]
Row = dict[str, Any]

_SCALE = 4.0  # of the light layers in their files; a power of two, so that nothing is lost
_MARGIN_PX = 8  # between what a person changes and the border of its crop; its feather has 4
_SKY_DIRECTIONS = 96
_BODY = "capsules"

# Rest pose in metres, SMPL-X axes (Y up, facing +Z, +X the body's left), round numbers of an
# adult's proportions; the right side mirrors the left.
_REST_MIDDLE = {
    "pelvis": (0.0, 0.94, 0.0),
    "spine1": (0.0, 1.05, -0.01),
    "spine2": (0.0, 1.18, -0.01),
    "spine3": (0.0, 1.25, 0.0),
    "neck": (0.0, 1.44, -0.02),
    "head": (0.0, 1.54, 0.0),
    "jaw": (0.0, 1.53, 0.02),
}
_REST_LEFT = {
    "hip": (0.09, 0.88, 0.0),
    "knee": (0.10, 0.49, 0.0),
    "ankle": (0.10, 0.09, -0.03),
    "foot": (0.11, 0.03, 0.09),
    "collar": (0.07, 1.38, -0.01),
    "shoulder": (0.17, 1.40, -0.02),
    "elbow": (0.43, 1.40, -0.03),
    "wrist": (0.68, 1.40, -0.02),
    "eye_smplhf": (0.03, 1.60, 0.08),
}
_FINGERS = {"index": 0.03, "middle": 0.01, "ring": -0.01, "pinky": -0.03, "thumb": 0.05}

# Joints between which a capsule runs, its radius in metres, and what it wears.
_LIMBS = (
    ("pelvis", "spine2", 0.125, "shirt"),
    ("spine2", "spine3", 0.135, "shirt"),
    ("left_collar", "right_collar", 0.095, "shirt"),
    ("left_hip", "right_hip", 0.105, "trousers"),
    ("neck", "head", 0.055, "skin"),
    *(
        (f"{side}_{start}", f"{side}_{end}", radius, wear)
        for side in ("left", "right")
        for start, end, radius, wear in (
            ("collar", "shoulder", 0.07, "shirt"),
            ("shoulder", "elbow", 0.05, "shirt"),
            ("elbow", "wrist", 0.04, "skin"),
            ("wrist", "middle2", 0.035, "skin"),
            ("hip", "knee", 0.08, "trousers"),
            ("knee", "ankle", 0.058, "trousers"),
            ("ankle", "foot", 0.045, "shoes"),
        )
    ),
)
_HEAD_RADIUS_M = 0.095

# Linear Rec. 709 reflectances.
_WEAR = {"skin": (0.42, 0.25, 0.17), "shoes": (0.03, 0.03, 0.03)}
_TEXTURES = {
    "blue": {"shirt": (0.05, 0.12, 0.42), "trousers": (0.07, 0.07, 0.09)},
    "sand": {"shirt": (0.38, 0.30, 0.20), "trousers": (0.30, 0.24, 0.16)},
}
_GROUND = {"desert": (0.36, 0.28, 0.19), "field": (0.10, 0.14, 0.05)}
_BOULDER = (0.22, 0.20, 0.18)
# x, y, height of the centre, radius in metres: the desert's boulders hide legs from the front.
_BOULDERS = {
    "desert": ((0.18, -0.9, 0.15, 0.34), (-1.3, 0.7, 0.2, 0.45), (4.5, 5.0, 0.2, 0.6)),
    "field": ((-2.2, 1.4, 0.1, 0.4),),
}


def synthetic_study(seed: int = 0, *, views: int = 12, window_px: int = 160) -> Study:
    """The study of the synthetic dataset.

    Args:
        seed: Draws other views from the same factors.
        views: Views with a person; a quarter as many again show nobody. A multiple of 6 has every
            distance and scenery equally often.
        window_px: Width and height of the images, even, up to 1080.
    """
    lightings = load_lightings()
    camera = CameraSetup(
        sensor="syndorbench",
        sensor_width_mm=16 / 3,
        sensor_height_mm=3.0,
        lens_mm=2.8,
        fnumber=1.4,
        resolution=(1920, 1080),
        distances_m=(),
        azimuths_deg=(0.0, 135.0),
        elevations_deg=(0.0, 22.5),
        window=(window_px, window_px),
    )
    densities = (80.0, 40.0, 12.0)
    distances = tuple(round(distance_for(camera.optics(), d), 3) for d in densities)
    return Study(
        name="synthetic",
        family="visibility",
        seed=seed,
        camera=replace(camera, distances_m=distances),
        lightings=tuple(lightings[n] for n in ("noon_south", "evening_west", "night")),
        sceneries=("desert", "field"),
        subjects=(Subject("ada", body=_BODY, textures=("blue", "sand")),),
        actions=("walking", "kicking", "guard_up"),
        sampling=Sampling(views=views, person_free=0.2),
        render=RenderSettings(method="fast", samples=1, denoise="none"),
    )


def make_synthetic(root: Path, seed: int = 0, *, views: int = 12, window_px: int = 160) -> Dataset:
    """Write the synthetic dataset; the same arguments give the same bytes, ``log.jsonl`` apart.

    Args:
        root: An empty or a new directory, or one where this was interrupted.
        seed: See :func:`synthetic_study`, as for the others.
        views: Views with a person.
        window_px: Width and height of the images.

    Raises:
        DatasetError: The directory holds something else.
    """
    root = Path(root)
    library = load_poses()
    actions = {name: pose.action for name, pose in library.items()}
    study = resolve(synthetic_study(seed, views=views, window_px=window_px), pose_actions=actions)
    init_dataset(root, dump_study(study, pose_actions=actions))
    log_event(root, event="start", part="synthetic", device="numpy", limen=__version__)
    specs = sample_views(study, poses_by_action(study, actions))
    done = done_views(root, [lighting.name for lighting in study.lightings])
    plates: dict[str, _Plate] = {}
    with PartWriter(root, "synthetic") as writer:
        for spec in specs:
            if spec.view_id in done:
                continue
            name = spec.factors["pose"]
            pose = find_pose(str(name), library) if name else None
            writer.write(*_write_view(root, study, spec, pose, plates))
    write_file(
        root / "README.md",
        f"# {study.name}\n\nA synthetic dataset of {len(specs)} views, made by numpy with limen "
        f"{__version__} (seed {seed}). It is no benchmark.\n".encode(),
    )
    log_event(root, event="end", part="synthetic", views=len(specs))
    return open_dataset(root)


# --- geometry ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Solids:
    """Capsules: ends (M, 3) in metres, radii (M,), reflectances (M, 3)."""

    starts: Floats
    ends: Floats
    radii: Floats
    albedo: Floats


def _rest_joints() -> Floats:
    places = dict(_REST_MIDDLE)
    for side, sign in (("left", 1), ("right", -1)):
        for name, (x, y, z) in _REST_LEFT.items():
            places[f"{side}_{name}"] = (sign * x, y, z)
        wrist = _REST_LEFT["wrist"]
        for finger, across in _FINGERS.items():
            for k in (1, 2, 3):
                reach = 0.05 + 0.03 * k - 0.05 * (finger == "thumb")
                places[f"{side}_{finger}{k}"] = (
                    sign * (wrist[0] + reach),
                    wrist[1],
                    wrist[2] + across,
                )
    return np.array([places[name] for name in body.JOINT_NAMES])


def _skeleton() -> body.Body:
    """A body whose vertices are its joints: all that posing a figure of capsules needs."""
    joints = _rest_joints()
    n = len(joints)
    return body.Body(
        vertices_m=joints,
        faces=np.zeros((0, 3), np.int64),
        weights=np.eye(n),
        joint_regressor=np.eye(n),
        shapedirs=np.zeros((n, 3, 10)),
        expressiondirs=np.zeros((n, 3, 10)),
        posedirs=None,
        uv=None,
        uv_faces=None,
        name=_BODY,
        sha256=hashlib.sha256(repr((joints.tolist(), _LIMBS, _HEAD_RADIUS_M)).encode()).hexdigest(),
    )


def _figure(pose: NDArray[Any], texture: str) -> tuple[Floats, _Solids]:
    """Joints (55, 3) in the world, feet on the ground at the origin, and the figure's capsules."""
    joints = body.to_world(body.pose_body(_skeleton(), (), pose).joints_m)
    at = dict(zip(body.JOINT_NAMES, range(len(joints)), strict=True))
    crown = joints[at["head"]] + 0.7 * (joints[at["head"]] - joints[at["neck"]])
    starts = np.array([*(joints[at[a]] for a, *_ in _LIMBS), joints[at["head"]]])
    ends = np.array([*(joints[at[b]] for _, b, *_ in _LIMBS), crown])
    radii = np.array([*(radius for *_, radius, _ in _LIMBS), _HEAD_RADIUS_M])
    wear = {**_WEAR, **_TEXTURES[texture]}
    albedo = np.array([*(wear[name] for *_, name in _LIMBS), wear["skin"]])
    lift = -(np.minimum(starts[:, 2], ends[:, 2]) - radii).min() * np.array([0.0, 0.0, 1.0])
    return joints + lift, _Solids(starts + lift, ends + lift, radii, albedo)


def _boulders(scenery: str) -> _Solids:
    places = np.array(_BOULDERS[scenery])
    # A capsule has two ends: boulders are a little longer than wide.
    return _Solids(
        places[:, :3] - [0.05, 0, 0],
        places[:, :3] + [0.05, 0, 0],
        places[:, 3],
        np.tile(_BOULDER, (len(places), 1)),
    )


def _trace(origins: Floats, rays: Floats, solids: _Solids) -> tuple[Floats, NDArray[np.int64]]:
    """Distance (N,) along unit rays (N, 3) to the nearest capsule, inf for none, and its index."""
    nearest = np.full(len(rays), np.inf)
    which = np.full(len(rays), -1)
    centres = (solids.starts + solids.ends) / 2
    reach = np.linalg.norm(solids.ends - centres, axis=1) + solids.radii
    middle = centres.mean(axis=0)
    whole = (np.linalg.norm(centres - middle, axis=1) + reach).max()
    some = np.nonzero(_passes(origins, rays, middle[None], np.array([whole]))[:, 0])[0]
    passes = _passes(origins[some], rays[some], centres, reach)
    for k in range(len(reach)):
        near = some[passes[:, k]]
        t = _capsule_distance(
            origins[near], rays[near], solids.starts[k], solids.ends[k], solids.radii[k]
        )
        closer = t < nearest[near]
        nearest[near[closer]] = t[closer]
        which[near[closer]] = k
    return nearest, which


def _passes(origins: Floats, rays: Floats, centres: Floats, reach: Floats) -> Mask:
    """Which lines (N) come within reach (M,) of which centres (M, 3): (N, M)."""
    along = rays @ centres.T - _dot(origins, rays)[:, None]
    distance2 = (centres**2).sum(axis=1) + _dot(origins, origins)[:, None] - 2 * origins @ centres.T
    return np.asarray(distance2 - along**2 <= reach**2)


def _capsule_distance(
    origins: Floats, rays: Floats, start: Floats, end: Floats, radius: float
) -> Floats:
    """Distance (N,) to one capsule, inf where a ray misses it.

    The root of a quadratic for the cylinder, or, where that is hit past an end, for the end's
    sphere.
    """
    axis = end - start
    length2 = axis @ axis
    from_start = origins - start
    along_ray = rays @ axis
    along = from_start @ axis
    a = np.maximum(length2 - along_ray**2, 1e-12)
    b = length2 * _dot(from_start, rays) - along * along_ray
    c = length2 * (_dot(from_start, from_start) - radius**2) - along**2
    discriminant = b**2 - a * c
    side = (-b - np.sqrt(np.maximum(discriminant, 0))) / a
    place = along + side * along_ray
    on_side = (place > 0) & (place < length2)
    from_cap = np.where((place > 0)[:, None], origins - end, from_start)
    towards = _dot(from_cap, rays)
    cap_discriminant = towards**2 - _dot(from_cap, from_cap) + radius**2
    cap = -towards - np.sqrt(np.maximum(cap_discriminant, 0))
    distance = np.where(on_side, side, cap)
    hit = (discriminant >= 0) & (on_side | (cap_discriminant >= 0)) & (distance > 0)
    return np.where(hit, distance, np.inf)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _normals(points: Floats, which: NDArray[np.int64], solids: _Solids) -> Floats:
    start, axis = solids.starts[which], (solids.ends - solids.starts)[which]
    share = _dot(points - start, axis) / _dot(axis, axis)
    foot = start + np.clip(share, 0, 1)[:, None] * axis
    return np.asarray((points - foot) / solids.radii[which][:, None])


# --- pictures ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Camera:
    """A camera where a view needs it: matrices, image size and unit rays (H * W, 3)."""

    K: Floats
    pose: CameraPose
    width: int
    height: int
    rays: Floats


@dataclass(frozen=True, eq=False)
class _Surface:
    """What the camera sees (H * W): distance along the ray (inf: sky), normal, reflectance.

    ``person`` is where a person is seen, ``person_behind`` where one is, hidden or not.
    """

    distance: Floats
    normals: Floats
    albedo: Floats
    person: Mask
    person_behind: Mask


@dataclass(frozen=True, eq=False)
class _Plate:
    """A background and the file that holds its light."""

    surface: _Surface
    layers: Mapping[str, LayerImage]
    record: Row


def _camera(study: Study, spec: ViewSpec) -> _Camera:
    optics = study.camera.optics()
    factors: Mapping[str, Any] = spec.factors
    pose = look_at_pose(
        factors["azimuth_deg"],
        factors["elevation_deg"],
        factors["distance_m"],
        study.camera.look_at_height_m,
    )
    width, height = optics.image_px
    rays = pixel_directions(optics.K, pose.R, width, height).astype(float).reshape(-1, 3)
    return _Camera(optics.K, pose, width, height, rays)


def _background(study: Study, camera: _Camera, scenery: str, boulders: _Solids) -> _Surface:
    rays, eye = camera.rays, camera.pose.position_m
    downward = rays[:, 2] < 0
    distance = np.where(downward, eye[2] / -np.where(downward, rays[:, 2], -1), np.inf)
    albedo = np.zeros_like(rays)
    places = eye[:2] + distance[downward, None] * rays[downward, :2]
    albedo[downward] = _ground_albedo(study.seed, scenery, places, distance[downward])
    nobody = np.zeros(len(rays), bool)
    ground = _Surface(distance, np.tile([0.0, 0.0, 1.0], (len(rays), 1)), albedo, nobody, nobody)
    return replace(_with_solids(camera, ground, boulders), person=nobody, person_behind=nobody)


def _with_solids(camera: _Camera, behind: _Surface, solids: _Solids) -> _Surface:
    """The surface with solids put before it, as its person."""
    eye = camera.pose.position_m
    t, which = _trace(np.broadcast_to(eye, camera.rays.shape), camera.rays, solids)
    seen = t < behind.distance
    normals, albedo = behind.normals.copy(), behind.albedo.copy()
    normals[seen] = _normals(eye + t[seen, None] * camera.rays[seen], which[seen], solids)
    albedo[seen] = solids.albedo[which[seen]]
    return _Surface(np.minimum(t, behind.distance), normals, albedo, seen, np.isfinite(t))


def _ground_albedo(seed: int, scenery: str, places: Floats, distance: Floats) -> Floats:
    """Two octaves of waves in random directions, fading where pixels are coarser than they."""
    pattern = np.zeros(len(places))
    for k in range(10):
        wavelength = (0.35, 1.6)[k % 2]
        turn = 2 * np.pi * seeds.uniform(seed, scenery, f"ground/turn/{k}")
        phase = 2 * np.pi * seeds.uniform(seed, scenery, f"ground/phase/{k}")
        wave = places @ [np.cos(turn), np.sin(turn)] * (2 * np.pi / wavelength)
        pattern += np.sin(wave + phase) * np.clip(2 - distance * 0.02 / wavelength, 0, 1)
    return np.asarray(np.array(_GROUND[scenery]) * (1 + 0.06 * pattern)[:, None])


def _lit(
    camera: _Camera,
    surface: _Surface,
    boulders: _Solids,
    figure: _Solids | None,
    layers: Sequence[Layer],
) -> dict[str, Floats]:
    """Radiance (H, W, 3) under each unit layer: matt surfaces, shadows of suns, no bounces."""
    seen = np.isfinite(surface.distance)
    points = camera.pose.position_m + surface.distance[seen, None] * camera.rays[seen]
    normals = surface.normals[seen]
    reflected = surface.albedo[seen] / np.pi
    open_sky = np.ones(len(points))
    if figure is not None:
        # What a standing person takes of the sky from the ground around it, by rule of thumb.
        beside = np.linalg.norm(points[:, :2], axis=1)
        shaded = 1 - 0.5 * np.exp(-((beside / 0.4) ** 2))
        open_sky[~surface.person[seen]] = shaded[~surface.person[seen]]
    solids = [boulders] if figure is None else [boulders, figure]
    pictures = {}
    for layer in layers:
        if layer.kind == "sun":
            light = direction(layer.azimuth_deg, layer.elevation_deg)
            irradiance = np.maximum(normals @ light, 0)
            starts = points + 1e-3 * normals
            # Beyond this no shadow of anything here falls, and tracing it is most of the work.
            near = (irradiance > 0) & (np.abs(points[:, :2]).max(axis=1) < 12)
            for solid in solids:
                blocked, _ = _trace(starts[near], np.tile(light, (near.sum(), 1)), solid)
                irradiance[near] *= np.isinf(blocked)
        else:
            irradiance = _sky_irradiance(layer, normals) * open_sky
        picture = np.zeros((camera.height * camera.width, 3))
        picture[seen] = reflected * irradiance[:, None]
        pictures[layer.name] = picture.reshape(camera.height, camera.width, 3)
    pictures[ALPHA] = seen.astype(float).reshape(camera.height, camera.width, 1)
    return pictures


def _sky_irradiance(layer: Layer, normals: Floats) -> Floats:
    """Irradiance (N,) from a sky layer, summed over directions, exact for a horizontal plate."""
    k = np.arange(_SKY_DIRECTIONS) + 0.5
    z = k / _SKY_DIRECTIONS
    turn = k * np.pi * (3 - np.sqrt(5))
    across = np.sqrt(1 - z**2)
    sky = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=-1)
    strength = sky_pattern(layer, sky)
    strength *= horizontal_irradiance(layer) / (strength @ z)
    irradiance = np.full(len(normals), horizontal_irradiance(layer))
    tilted = normals[:, 2] < 1
    irradiance[tilted] = np.maximum(normals[tilted] @ sky.T, 0) @ strength
    return irradiance


def _layer_images(pictures: Mapping[str, Floats], box: Box) -> dict[str, LayerImage]:
    """The layers inside a box, rounded as their file will hold them."""
    x, y, width, height = box
    return {
        name: LayerImage(
            picture[y : y + height, x : x + width].astype(np.float16).astype(np.float32),
            box,
            1.0 if name == ALPHA else _SCALE,
        )
        for name, picture in pictures.items()
    }


# --- rows ----------------------------------------------------------------------------------------


def _write_view(
    root: Path, study: Study, spec: ViewSpec, pose: Pose | None, plates: dict[str, _Plate]
) -> tuple[Row, list[Row]]:
    """Write a view's files; returns its view row and index rows."""
    factors: Mapping[str, Any] = spec.factors
    scenery = factors["scenery"]
    camera = _camera(study, spec)
    layers = layers_of(study.lightings)
    everywhere = (0, 0, camera.width, camera.height)
    boulders = _boulders(scenery)

    plate_id = _plate_id(study, camera, scenery)
    plate_path = f"light/plates/{plate_id}.exr"
    if plate_id not in plates:
        background = _background(study, camera, scenery, boulders)
        images = _layer_images(_lit(camera, background, boulders, None, layers), everywhere)
        write_layers(root / plate_path, images, (camera.width, camera.height))
        plates[plate_id] = _Plate(background, images, file_record(root / plate_path))
    plate = plates[plate_id]

    files = {plate_path: plate.record}
    crops: dict[str, LayerImage] = {}
    surface, person = plate.surface, _NOBODY
    if pose is not None:
        joints, figure = _figure(pose.axis_angle_rad, factors["texture"])
        person = _person(study, spec, pose, joints, figure, camera)
        surface = _with_solids(camera, plate.surface, figure)
        pictures = _lit(camera, surface, boulders, figure, layers)
        box = _changed_box(pictures, plate.layers, surface.person.reshape(camera.height, -1))
        crops = _layer_images(pictures, box)
        _record(root, files, f"light/crops/{spec.view_id}.exr", write_layers, crops, everywhere[2:])
        for kind, mask in (("visible", surface.person), ("full", surface.person_behind)):
            path = f"masks/{spec.view_id}.{kind}.png"
            pixels = (mask * np.uint8(255)).reshape(camera.height, camera.width)
            _record(root, files, path, write_png, pixels)
    depth = np.where(np.isfinite(surface.distance), surface.distance, 0)
    depth = (depth * (camera.rays @ camera.pose.R[2])).astype(np.float32)
    depth_path = f"depth/{spec.view_id}.exr"
    _record(root, files, depth_path, write_depth, depth.reshape(camera.height, camera.width))

    irradiance = _irradiance_at_subject(boulders, layers)
    view = {
        "view_id": spec.view_id,
        "family": spec.family,
        "factors": dict(spec.factors),
        "target_present": spec.target_present,
        "target_kind": "person" if spec.target_present else None,
        "camera": {
            "label": spec.camera_label,
            "width": camera.width,
            "height": camera.height,
            "K": camera.K.tolist(),
            "R": camera.pose.R.tolist(),
            "t": camera.pose.t.tolist(),
            "position_m": camera.pose.position_m.tolist(),
        },
        **_densities(study, camera, factors["distance_m"]),
        **person,
        **_mask_numbers(surface, camera),
        "occluder": None,
        "plate_id": plate_id,
        "light": {
            "layers": [
                {"name": name, "scale": image.scale, "box": list(image.box)}
                for name, image in sorted(crops.items())
            ],
            "irradiance_lx": irradiance,
        },
        "render": {
            "method": study.render.method,
            "samples": study.render.samples,
            "denoise": study.render.denoise,
            "blender": "none: synthetic",
            "limen": __version__,
        },
        "files": files,
    }
    stack = stack_from_layers(
        plate.layers, crops, camera.rays.reshape(camera.height, camera.width, 3).astype(np.float32)
    )
    index = []
    for media_id, lighting in zip(media_ids(spec, study.lightings), study.lightings, strict=True):
        image = compose(stack, lighting)
        setup = study.camera
        exposure = photometry.meter(
            photometry.luminance(image),
            fnumber=setup.fnumber,
            iso=setup.iso,
            shutter_limit_s=setup.shutter_limit_s,
        )
        signal = photometry.expose(image, exposure, setup.fnumber, setup.iso)
        path = f"media/clean/{media_id}.png"
        write_png(root / path, photometry.to_srgb8(signal))
        index.append(
            {
                "id": media_id,
                "view_id": spec.view_id,
                "lighting": lighting.name,
                "band": lighting.band,
                "target_present": spec.target_present,
                **{name: factors[name] for name in _INDEX_FACTORS},
                "illuminance_nominal_lx": lighting.illuminance_lx,
                "illuminance_measured_lx": sum(
                    float(photometry.luminance(weight)) * irradiance[name]
                    for name, weight in layer_weights(lighting).items()
                ),
                "exposure_s": exposure,
                "media": {
                    "kind": "image",
                    "clean": {"path": path, **file_record(root / path)},
                },
            }
        )
    return view, index


_NOBODY = {
    "subject": None,
    "pose": None,
    "joints_m": None,
    "joints_px": None,
    "truncated": False,
}
_INDEX_FACTORS = (
    "action",
    "scenery",
    "pose",
    "subject",
    "distance_m",
    "azimuth_deg",
    "elevation_deg",
)


def _record(root: Path, files: dict[str, Row], path: str, write: Any, *content: Any) -> None:
    write(root / path, *content)
    files[path] = file_record(root / path)


def _plate_id(study: Study, camera: _Camera, scenery: str) -> str:
    content = {
        "camera": [camera.K.tolist(), camera.pose.R.tolist(), camera.pose.t.tolist()],
        "window": [camera.width, camera.height],
        "scenery": scenery,
        "seed": study.seed,
        "render": asdict(study.render),
        "layers": [layer.name for layer in layers_of(study.lightings)],
    }
    return "p" + hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def _changed_box(
    pictures: Mapping[str, Floats], plate: Mapping[str, LayerImage], person: Mask
) -> Box:
    """The box of what the person covers, shadows and occludes, with a margin."""
    changed = person.copy()
    for name, picture in pictures.items():
        changed |= (np.abs(picture - plate[name].pixels) > 0.01).any(axis=-1)
    rows, columns = np.nonzero(changed.any(axis=1))[0], np.nonzero(changed.any(axis=0))[0]
    height, width = changed.shape
    left, right = max(0, columns[0] - _MARGIN_PX), min(width, columns[-1] + 1 + _MARGIN_PX)
    top, bottom = max(0, rows[0] - _MARGIN_PX), min(height, rows[-1] + 1 + _MARGIN_PX)
    return int(left), int(top), int(right - left), int(bottom - top)


def _leaves_image(camera: _Camera, figure: _Solids) -> bool:
    ends = np.concatenate([figure.starts, figure.ends])
    pixels = project(ends, camera.K, camera.pose.R, camera.pose.t)
    depth = ends @ camera.pose.R[2] + camera.pose.t[2]
    reach = (np.tile(figure.radii, 2) * camera.K[0, 0] / depth)[:, None]
    limit = np.array([camera.width, camera.height]) - 0.5
    return bool((pixels - reach < -0.5).any() or (pixels + reach > limit).any())


def _irradiance_at_subject(boulders: _Solids, layers: Sequence[Layer]) -> dict[str, float]:
    """Layer name -> horizontal illuminance 1 m above the subject's place, among the boulders."""
    place = np.array([[0.0, 0.0, 1.0]])
    found = {}
    for layer in layers:
        light = direction(layer.azimuth_deg, layer.elevation_deg)[None]
        shaded = layer.kind == "sun" and np.isfinite(_trace(place, light, boulders)[0][0])
        found[layer.name] = 0.0 if shaded else horizontal_irradiance(layer)
    return found


def _densities(study: Study, camera: _Camera, distance_m: float) -> Row:
    look_at = np.array([0.0, 0.0, study.camera.look_at_height_m])
    ruler = look_at + np.outer([-0.5, 0.5], camera.pose.R[0])
    ends = project(ruler, camera.K, camera.pose.R, camera.pose.t)
    nominal = density_at(study.camera.optics(), distance_m)
    return {
        "density_nominal_px_per_m": nominal,
        "density_measured_px_per_m": float(np.linalg.norm(ends[1] - ends[0])),
        "pixel_density_class": {
            name.replace("-", "_"): class_of(nominal, scale)
            for name, scale in load_scales().items()
        },
    }


def _mask_numbers(surface: _Surface, camera: _Camera) -> Row:
    visible, full = surface.person, surface.person_behind
    visible_px, full_px = int(visible.sum()), int(full.sum())
    return {
        "box_visible": _mask_box(visible.reshape(camera.height, camera.width)),
        "box_full": _mask_box(full.reshape(camera.height, camera.width)),
        "visible_px": visible_px,
        "full_px": full_px,
        "visible_area_share": visible_px / visible.size,
        "unoccluded_fraction": visible_px / full_px if full_px else None,
    }


def _mask_box(mask: Mask) -> list[int] | None:
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return None
    x, y = int(columns.min()), int(rows.min())
    return [x, y, int(columns.max()) + 1 - x, int(rows.max()) + 1 - y]


def _person(
    study: Study, spec: ViewSpec, pose: Pose, joints: Floats, figure: _Solids, camera: _Camera
) -> Row:
    subject = next(s for s in study.subjects if s.name == spec.factors["subject"])
    _, resting = _figure(np.zeros_like(pose.axis_angle_rad), subject.textures[0])
    tops = np.maximum(resting.starts, resting.ends)[:, 2] + resting.radii
    return {
        "subject": {
            "name": subject.name,
            "body": subject.body,
            "body_sha256": _skeleton().sha256,
            "betas": list(subject.betas),
            "yaw_deg": subject.yaw_deg,
            "texture_sha256": None,
            "location_m": [0.0, 0.0, 0.0],
            "stature_m": float(tops.max()),
        },
        "pose": {
            "name": pose.name,
            "action": pose.action,
            "axis_angle_rad": pose.axis_angle_rad.tolist(),
        },
        "joints_m": joints.tolist(),
        "joints_px": project(joints, camera.K, camera.pose.R, camera.pose.t).tolist(),
        "truncated": _leaves_image(camera, figure),
    }
