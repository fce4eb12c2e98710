"""One view: set up in the scene, rendered, measured, and described by its dataset rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import photometry, relight, seeds, standards
from ..core.assets import AssetError, find_body
from ..core.body import stature_m
from ..core.dataset import file_record
from ..core.factors import ViewSpec
from ..core.image_io import LayerImage, write_depth, write_layers, write_png
from ..core.lighting import Layer, Lighting, layer_weights, layers_of
from ..core.optics import Camera, CameraPose, density_at, look_at_pose, project
from ..core.poses import Pose, load_poses
from ..core.study import Study, Subject
from ..core.version import __version__
from . import camera_rig, compat, render, stack, stage
from .scenery import SceneryError, scenery_version
from .subject import PASS_INDEX, PlacedSubject, body_model, place_subject, remove_subject

__all__ = ["SetView", "find_parts", "place_camera", "render_view", "set_up_view"]

Row = dict[str, Any]
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class SetView:
    """A view as it stands in the scene.

    Attributes:
        study: What it belongs to.
        spec: Which view.
        camera: The optics.
        camera_pose: Where the camera stands.
        distance_m: Camera to look-at point.
        person: The target, None in a person-free view.
        subject: Who it is.
        pose: What it does.
        body_file: Its body.
    """

    study: Study
    spec: ViewSpec
    camera: Camera
    camera_pose: CameraPose
    distance_m: float
    person: PlacedSubject | None = None
    subject: Subject | None = None
    pose: Pose | None = None
    body_file: Path | None = None


def find_parts(study: Study, assets_dir: Path | None = None) -> None:
    """Check that every scenery and body of a study is there, so that no run fails halfway.

    Raises:
        AssetError: A body is missing, or its file is not the one that the study names.
        SceneryError: A scenery cannot be built.
    """
    for name in study.sceneries:
        scenery_version(name)
    for subject in study.subjects:
        _body_file(subject, assets_dir)


def _body_file(subject: Subject, assets_dir: Path | None) -> Path:
    path = find_body(subject, assets_dir)
    found = body_model(path).sha256
    if subject.body_sha256 not in ("", found):
        raise AssetError(
            f"the body '{subject.body}' of subject {subject.name} is another file ({path}): its "
            f"sha256 is {found} and the study's body_sha256 {subject.body_sha256}"
        )
    return path


def place_camera(study: Study, spec: ViewSpec) -> tuple[Camera, CameraPose]:
    """Build a view's scenery and aim its camera.

    Raises:
        SceneryError: The scenery is not there, or the camera stands inside it.
    """
    factors = spec.factors
    scenery = str(factors["scenery"])
    distance_m, azimuth_deg, elevation_deg = (
        float(factors[name]) for name in ("distance_m", "azimuth_deg", "elevation_deg")
    )
    stage.set_scenery(scenery)
    camera = study.camera.optics()
    pose = look_at_pose(azimuth_deg, elevation_deg, distance_m, study.camera.look_at_height_m)
    stage.set_camera(camera, pose)
    if stage.camera_is_buried():
        raise SceneryError(
            f"the camera at {distance_m:g} m, azimuth {azimuth_deg:g}, elevation {elevation_deg:g} "
            f"stands inside the {scenery}'s ground: raise camera.elevations_deg, or leave out this "
            "azimuth or distance"
        )
    return camera, pose


def set_up_view(study: Study, spec: ViewSpec, assets_dir: Path | None = None) -> SetView:
    """Build a view on the stage: scenery, camera and subject. The light is left as it is.

    Raises:
        AssetError: The subject's body is not there.
        SceneryError: The scenery is not there, or the camera stands inside it.
    """
    factors = spec.factors
    camera, camera_pose = place_camera(study, spec)
    distance_m = float(factors["distance_m"])
    if not spec.target_present:
        remove_subject()
        return SetView(study, spec, camera, camera_pose, distance_m)
    subject = next(s for s in study.subjects if s.name == factors["subject"])
    pose = load_poses()[str(factors["pose"])]
    body_file = _body_file(subject, assets_dir)
    person = place_subject(
        (stage.stage_scene(), stage.bare_scene()),
        body_file,
        subject.betas or (),
        pose.axis_angle_rad,
        subject.yaw_deg,
        str(factors["texture"]),
    )
    return SetView(study, spec, camera, camera_pose, distance_m, person, subject, pose, body_file)


def render_view(view: SetView, root: Path) -> tuple[Row, list[Row]]:
    """Render a view that is set up, write its files into a dataset, and return its rows.

    Args:
        view: From :func:`set_up_view`, with nothing changed since.
        root: The dataset.

    Returns:
        The view row and its index rows, not yet written (``docs/dataset.md``).

    Raises:
        RenderError: Blender failed.
        ImageError: A file could not be written.
    """
    files: dict[str, Path] = {}
    layers, images, plate = _render_light(view, root, files)
    visible, full, depth_m = _render_masks(view)
    if view.study.outputs.depth:
        files["depth"] = root / "depth" / f"{view.spec.view_id}.exr"
        write_depth(files["depth"], depth_m)
    if view.study.outputs.masks and view.person is not None:
        for name, mask in (("visible", visible), ("full", full)):
            files[name] = root / "masks" / f"{view.spec.view_id}.{name}.png"
            write_png(files[name], mask.astype(np.uint8) * 255)
    irradiance = _irradiance(str(view.spec.factors["scenery"]), layers)
    index = [
        _index_row(view, item, images, plate, irradiance, root) for item in view.study.lightings
    ]
    row = {
        **_camera_facts(view),
        **_target_facts(view, visible, full),
        "plate_id": None if plate is None else plate[0],
        "light": {
            "layers": [
                {"name": name, "scale": image.scale, "box": list(image.box)}
                for name, image in sorted(images.items())
            ],
            "irradiance_lx": {name: _figures(value) for name, value in irradiance.items()},
        },
        "render": {
            "method": view.study.render.method,
            "samples": view.study.render.samples,
            "denoise": view.study.render.denoise,
            "blender": compat.blender_version(),
            "limen": __version__,
        },
        "files": {path.relative_to(root).as_posix(): file_record(path) for path in files.values()},
    }
    return row, index


Plate = tuple[str, Mapping[str, LayerImage]]


def _render_light(
    view: SetView, root: Path, files: dict[str, Path]
) -> tuple[tuple[Layer, ...], dict[str, LayerImage], Plate | None]:
    """Render and write the light stack; returns its unit layers, the view's images, the plate."""
    study, settings = view.study, view.study.render
    layers = layers_of(study.lightings)
    view_seed = seeds.cycles_seed(study.seed, view.spec.view_id, "light")
    if settings.method == "exact":
        images = stack.exact_layers(study.lightings, settings, view_seed)
        plate = None
    else:
        scenery = str(view.spec.factors["scenery"])
        plate_name = stack.plate_id(
            view.camera, view.camera_pose, scenery, layers, settings, study.seed
        )
        path = stack.plate_path(root, plate_name)
        plate_seed = seeds.cycles_seed(study.seed, plate_name, "light")
        plate = (plate_name, stack.use_plate(path, layers, settings, plate_seed))
        files["plate"] = path
        images = {}
        if view.person is not None:
            boxes = stack.layer_boxes(view.person, scenery, layers, view.camera, view.camera_pose)
            images = stack.render_crops(layers, boxes, settings, view_seed)
    if images:
        files["light"] = root / "light" / "crops" / f"{view.spec.view_id}.exr"
        write_layers(files["light"], images, view.camera.image_px)
    return layers, images, plate


def _render_masks(view: SetView) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray]:
    """Return the visible mask, the mask without occluders, and the depth in metres (0: sky)."""
    shot = render.Shot(1, exact_pixels=True)
    passes = render.render_passes(stage.stage_scene(), shot)
    visible = passes["IndexOB.X"] == PASS_INDEX
    depth = passes["Depth.Z"]
    depth_m = np.where(depth > 1e6, 0, depth).astype(np.float32)  # Blender's depth of nothing: 1e10
    if view.person is None:
        return visible, visible, depth_m
    full = render.render_passes(stage.bare_scene(), shot)["IndexOB.X"] == PASS_INDEX
    return visible, full | visible, depth_m


@lru_cache(maxsize=8)  # plates of a scenery stand side by side in a run
def _irradiance(scenery: str, layers: tuple[Layer, ...]) -> Mapping[str, float]:
    """Return layer name -> irradiance at the subject's place; once for each scenery built."""
    return stage.measure_irradiance(stage.stage_scene(), layers)


def _index_row(
    view: SetView,
    item: Lighting,
    images: Mapping[str, LayerImage],
    plate: Plate | None,
    irradiance: Mapping[str, float],
    root: Path,
) -> Row:
    width, height = view.camera.image_px
    directions = relight.pixel_directions(view.camera.K, view.camera_pose.R, width, height)
    light = relight.stack_from_layers(None if plate is None else plate[1], images, directions)
    image = relight.compose(light, item)
    setup = view.study.camera
    # Metered without the person: the brightness of the ground must not tell who stands on it.
    metered = image
    if plate is not None and images:
        metered = relight.compose(relight.stack_from_layers(plate[1], {}, directions), item)
    exposure_s = photometry.meter(
        photometry.luminance(metered),
        fnumber=setup.fnumber,
        iso=setup.iso,
        shutter_limit_s=setup.shutter_limit_s,
    )
    media: Row = {"kind": "image", "clean": None}
    row_id = f"{view.spec.view_id}-{item.name}"
    if view.study.outputs.clean:
        path = root / "media" / "clean" / f"{row_id}.png"
        exposed = photometry.expose(image, exposure_s, setup.fnumber, setup.iso)
        write_png(path, photometry.to_srgb8(exposed))
        media["clean"] = {"path": path.relative_to(root).as_posix(), **file_record(path)}
    factors = view.spec.factors
    measured = sum(
        float(photometry.luminance(weight)) * irradiance[name]
        for name, weight in layer_weights(item).items()
    )
    return {
        "id": row_id,
        "view_id": view.spec.view_id,
        "lighting": item.name,
        "band": item.band,
        "target_present": view.spec.target_present,
        **{name: factors[name] for name in ("action", "scenery", "pose", "subject")},
        **{name: factors[name] for name in ("distance_m", "azimuth_deg", "elevation_deg")},
        "illuminance_nominal_lx": item.illuminance_lx,
        "illuminance_measured_lx": _figures(measured),
        "exposure_s": _figures(exposure_s),
        "media": media,
    }


def _camera_facts(view: SetView) -> Row:
    camera, pose = view.camera, view.camera_pose
    width, height = camera.image_px
    nominal = density_at(camera, view.distance_m)
    scales = standards.load_scales()
    return {
        "view_id": view.spec.view_id,
        "family": view.spec.family,
        "factors": dict(view.spec.factors),
        "camera": {
            "label": view.spec.camera_label,
            "width": width,
            "height": height,
            "K": camera.K.round(9).tolist(),
            "R": pose.R.round(9).tolist(),
            "t": pose.t.round(9).tolist(),
            "position_m": pose.position_m.round(9).tolist(),
        },
        "density_nominal_px_per_m": round(nominal, 6),
        "density_measured_px_per_m": round(
            camera_rig.measure_density(stage.bare_scene(), camera, pose, view.distance_m), 2
        ),
        "pixel_density_class": {
            "dori_2014": standards.class_of(nominal, scales["dori-2014"]),
            "classes_2025": standards.class_of(nominal, scales["classes-2025"]),
        },
    }


def _target_facts(view: SetView, visible: NDArray[np.bool_], full: NDArray[np.bool_]) -> Row:
    person, subject, pose = view.person, view.subject, view.pose
    width, height = view.camera.image_px
    facts: Row = {
        "target_present": view.spec.target_present,
        "target_kind": None,
        "subject": None,
        "pose": None,
        "joints_m": None,
        "joints_px": None,
        "box_visible": _box_of(visible),
        "box_full": _box_of(full),
        "visible_px": int(visible.sum()),
        "full_px": int(full.sum()),
        "visible_area_share": _figures(visible.sum() / visible.size),
        "unoccluded_fraction": None,
        "truncated": False,
    }
    if person is None or subject is None or pose is None or view.body_file is None:
        return facts
    body = body_model(view.body_file)
    surface = project(person.vertices_m, view.camera.K, view.camera_pose.R, view.camera_pose.t)
    inside = (surface > -0.5).all() and (surface < np.array([width, height]) - 0.5).all()
    joints = project(person.joints_m, view.camera.K, view.camera_pose.R, view.camera_pose.t)
    betas = subject.betas or ()
    facts |= {
        "target_kind": "person",
        "subject": {
            "name": subject.name,
            "body": subject.body,
            "body_sha256": body.sha256,
            "betas": list(betas),
            "yaw_deg": subject.yaw_deg,
            "location_m": list(person.location_m),
            "stature_m": round(stature_m(body, betas), 4),
        },
        "pose": {
            "name": pose.name,
            "action": pose.action,
            "axis_angle_rad": pose.axis_angle_rad.round(6).tolist(),
        },
        "joints_m": person.joints_m.round(4).tolist(),
        "joints_px": joints.round(2).tolist(),
        "truncated": not inside,
    }
    if facts["full_px"]:
        facts["unoccluded_fraction"] = _figures(facts["visible_px"] / facts["full_px"])
    return facts


def _box_of(mask: NDArray[np.bool_]) -> list[int] | None:
    ys, xs = np.nonzero(mask)
    if len(xs) == 0:
        return None
    x, y = int(xs.min()), int(ys.min())
    return [x, y, int(xs.max()) - x + 1, int(ys.max()) - y + 1]


def _figures(value: float) -> float:
    """Round to six significant figures: what is measured has no more."""
    return float(f"{value:.6g}")
