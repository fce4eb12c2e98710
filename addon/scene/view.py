"""One view: set up in the scene, rendered, measured, and described by its dataset rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
from ..core.image_io import Box, LayerImage, box_of, write_depth, write_layers, write_png
from ..core.lighting import ALPHA, ILLUMINATOR, Layer, Lighting, layer_weights, layers_of
from ..core.optics import Camera, CameraPose, density_at, look_at_pose, project
from ..core.poses import Pose, find_pose
from ..core.study import Study, Subject
from ..core.textures import Texture, find_texture
from ..core.version import __version__
from . import camera_rig, compat, render, stack, stage
from .boxes import layer_boxes
from .clean_images import CleanImages
from .occluder import Occluder, place_occluder, remove_occluder
from .samples import COVER
from .scenery import SceneryError, lamps_of, scenery_version
from .subject import (
    PASS_INDEX,
    PlacedSubject,
    body_model,
    mark_person,
    place_subject,
    remove_subject,
    subject_hidden,
)

__all__ = [
    "LightPlan",
    "SetView",
    "find_parts",
    "light_plan",
    "person_marks_of",
    "place_camera",
    "place_person",
    "render_view",
    "require_denoiser",
    "set_up_view",
    "subject_of",
    "wanted_fraction",
]

Row = dict[str, Any]


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
        occluder: What hides a part of the person, if the study asks for it.
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
    occluder: Occluder | None = None


def wanted_fraction(study: Study, spec: ViewSpec) -> float:
    """Return how much of a person a view is to leave in sight, drawn from the view's id."""
    fractions = study.unoccluded_fractions
    return fractions[seeds.choice_index(study.seed, spec.view_id, "occluder", len(fractions))]


def find_parts(study: Study, assets_dir: Path | None = None) -> None:
    """Check that all that a study needs is there, so that no run fails halfway.

    Raises:
        AssetError: A body or texture is missing, is not the file that the study names, or does not
            fit the other.
        SceneryError: A scenery cannot be built.
        RenderError: This Blender lacks the denoiser.
    """
    for name in study.sceneries:
        scenery_version(name)
    lit = [item.name for item in study.lightings if item.lamps_lm]
    if lit and not any(lamps_of(name) for name in study.sceneries):
        raise SceneryError(
            f"lighting {', '.join(lit)} has lamps_lm and no scenery of the study has lamps: add a "
            "wharf, or set lamps_lm = 0"
        )
    for subject in study.subjects:
        for name in subject.textures:
            _texture(subject, name, assets_dir)
    require_denoiser(study)


def require_denoiser(study: Study) -> None:
    """Check that this Blender can denoise as a study wants it.

    Raises:
        RenderError: It cannot.
    """
    if study.render.denoise == "oidn" and not compat.has_denoiser():
        raise render.RenderError(
            f'render.denoise is "oidn" and this Blender {compat.blender_version()} was built '
            'without OpenImageDenoise: use denoise = "none" with more samples, or a Blender from '
            "blender.org"
        )


def _body_file(subject: Subject, assets_dir: Path | None) -> Path:
    path = find_body(subject, assets_dir)
    found = body_model(path).sha256
    if subject.body_sha256 not in ("", found):
        raise AssetError(
            f"the body '{subject.body}' of subject {subject.name} is another file ({path}): its "
            f"sha256 is {found} and the study's body_sha256 {subject.body_sha256}"
        )
    return path


@lru_cache(maxsize=256)
def _texture(subject: Subject, name: str, assets_dir: Path | None) -> Texture:
    path = _body_file(subject, assets_dir)
    return find_texture(subject, name, body_model(path), path, assets_dir)


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
    stage.mend_stage()
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
    remove_occluder()
    wanted = wanted_fraction(study, spec)
    if not spec.target_present:
        if wanted < 1:
            subject, pose, texture = _stand_in(study, spec)
            person = _place(subject, pose, texture, assets_dir)
            occluder = _hide(person, spec, camera, camera_pose, wanted)
        remove_subject()
        view = SetView(study, spec, camera, camera_pose, distance_m)
        return replace(view, occluder=occluder) if wanted < 1 else view
    subject, pose = subject_of(study, spec), find_pose(str(factors["pose"]))
    person = place_person(study, spec, assets_dir)
    occluder = _hide(person, spec, camera, camera_pose, wanted) if wanted < 1 else None
    return SetView(
        study,
        spec,
        camera,
        camera_pose,
        distance_m,
        person,
        subject,
        pose,
        _body_file(subject, assets_dir),
        occluder,
    )


def subject_of(study: Study, spec: ViewSpec) -> Subject:
    """Return the subject of a view with a person."""
    return next(s for s in study.subjects if s.name == spec.factors["subject"])


def place_person(study: Study, spec: ViewSpec, assets_dir: Path | None = None) -> PlacedSubject:
    """Put a view's person on the stage in place of the one before.

    Raises:
        AssetError: The body or the texture is not there.
    """
    pose = find_pose(str(spec.factors["pose"]))
    return _place(subject_of(study, spec), pose, str(spec.factors["texture"]), assets_dir)


def person_marks_of(subject: Subject, pose: str, texture: str) -> dict[str, str]:
    """Return what is noted on a person when it is placed: equal marks, an equal person."""
    shape = (subject.body, subject.body_sha256, subject.betas, subject.yaw_deg)
    return {"subject": subject.name, "pose": pose, "texture": texture, "shape": repr(shape)}


def _place(subject: Subject, pose: Pose, texture: str, assets_dir: Path | None) -> PlacedSubject:
    person = place_subject(
        (stage.stage_scene(), stage.bare_scene()),
        _body_file(subject, assets_dir),
        subject.betas or (),
        pose.axis_angle_rad,
        subject.yaw_deg,
        _texture(subject, texture, assets_dir),
    )
    mark_person(person_marks_of(subject, pose.name, texture))
    return person


def _stand_in(study: Study, spec: ViewSpec) -> tuple[Subject, Pose, str]:
    """Return whom a person-free view's occluder would hide: the thing must not tell."""

    def drawn(things: Sequence[Any], what: str) -> Any:
        return things[seeds.choice_index(study.seed, spec.view_id, f"occluder {what}", len(things))]

    subject = drawn(study.subjects, "subject")
    return subject, find_pose(drawn(study.poses, "pose")), drawn(subject.textures, "texture")


def _hide(
    person: PlacedSubject, spec: ViewSpec, camera: Camera, pose: CameraPose, wanted: float
) -> Occluder:
    full = render.render_passes(stage.bare_scene(), render.Shot(1, exact_pixels=True))
    mask = full["IndexOB.X"] == PASS_INDEX
    scenery = str(spec.factors["scenery"])
    return place_occluder(
        stage.stage_scene(), scenery, person.vertices_m, mask, camera, pose, wanted
    )


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
    plan = light_plan(view)
    layers = plan.layers
    images, plate = _render_light(view, plan, root, files)
    visible, full, depth_m = _render_masks(view, plan)
    if view.study.outputs.depth:
        files["depth"] = root / "depth" / f"{view.spec.view_id}.exr"
        write_depth(files["depth"], depth_m)
    if view.study.outputs.masks and view.person is not None:
        for name, mask in (("visible", visible), ("full", full)):
            files[name] = root / "masks" / f"{view.spec.view_id}.{name}.png"
            write_png(files[name], mask.astype(np.uint8) * 255)
    irradiance = _irradiance(view, layers)
    directions = relight.pixel_directions(view.camera.K, view.camera_pose.R, *view.camera.image_px)
    clean = CleanImages(plate, images, directions, view.study.camera)
    index = [_index_row(view, item, clean, irradiance, root) for item in view.study.lightings]
    row = {
        **_camera_facts(view),
        **_target_facts(view, visible, full),
        "occluder": view.occluder
        and asdict(view.occluder) | {"wanted": wanted_fraction(view.study, view.spec)},
        "plate_id": plate and plate.name,
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


@dataclass(frozen=True)
class LightPlan:
    """What is rendered for the light stack of a view.

    Attributes:
        layers: The unit layers of all the study's lightings, by name.
        view_seed: Of Cycles, for what is the view's own.
        plate: The background; None where each lighting is rendered whole (method ``exact``).
        boxes: Layer name -> what the person changes, ``alpha`` among them; empty without a person.
    """

    layers: tuple[Layer, ...]
    view_seed: int
    plate: stack.PlateKey | None = None
    boxes: Mapping[str, Box] = field(default_factory=dict)


def light_plan(view: SetView) -> LightPlan:
    """Return what a view that is set up takes to be rendered."""
    study, settings = view.study, view.study.render
    layers = layers_of(study.lightings)
    view_seed = seeds.cycles_seed(study.seed, view.spec.view_id, "light")
    if settings.method == "exact":
        return LightPlan(layers, view_seed)
    scenery = str(view.spec.factors["scenery"])
    name = stack.plate_id(
        view.camera, view.camera_pose, scenery, layers, settings, study.seed, view.occluder
    )
    boxes: Mapping[str, Box] = {}
    if view.person is not None:
        boxes = layer_boxes(view.person, scenery, layers, view.camera, view.camera_pose)
    plate = stack.PlateKey(name, seeds.cycles_seed(study.seed, name, "light"))
    return LightPlan(layers, view_seed, plate, boxes)


def _render_light(
    view: SetView, plan: LightPlan, root: Path, files: dict[str, Path]
) -> tuple[dict[str, LayerImage], stack.Plate | None]:
    """Render and write the light stack; returns the view's images and the plate."""
    study, settings = view.study, view.study.render
    plate, images = None, {}
    if plan.plate is None:
        images = stack.exact_layers(study.lightings, settings, plan.view_seed)
    else:
        path = stack.plate_path(root, plan.plate.name)
        layers = (COVER, *plan.layers)
        plate = stack.use_plate(path, layers, settings, plan.plate)
        files["plate"] = path
        if plan.boxes:
            crops = stack.Crops(plan.boxes, settings, plan.view_seed, plan.plate)
            images = crops.render(layers)
    if images:
        files["light"] = root / "light" / "crops" / f"{view.spec.view_id}.exr"
        write_layers(files["light"], images, view.camera.image_px)
    return images, plate


def _render_masks(
    view: SetView, plan: LightPlan
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray]:
    """Return the visible mask, the mask without occluders, and the depth in metres (0: sky).

    Where there is a plate the person's box alone is rendered, and the depth behind it once for all
    views of the plate: at pixel centres a crop shows what the whole picture shows.
    """
    shot = render.Shot(1, exact_pixels=True)
    if plan.plate is None:
        passes = render.render_passes(stage.stage_scene(), shot)
        visible, depth_m = passes["IndexOB.X"] == PASS_INDEX, _metres(passes["Depth.Z"])
        if view.person is None:
            return visible, visible, depth_m
        full = render.render_passes(stage.bare_scene(), shot)["IndexOB.X"] == PASS_INDEX
        return visible, full | visible, depth_m
    depth_m = _background_depth_m(plan.plate.name).copy()
    visible, full = np.zeros(depth_m.shape, bool), np.zeros(depth_m.shape, bool)
    if (box := plan.boxes.get(ALPHA)) is not None:
        x, y, width, height = box
        part = (slice(y, y + height), slice(x, x + width))
        shot = replace(shot, box=box)
        passes = render.render_passes(stage.stage_scene(), shot)
        visible[part] = passes["IndexOB.X"] == PASS_INDEX
        depth_m[part] = _metres(passes["Depth.Z"])
        bare = render.render_passes(stage.bare_scene(), shot)
        full[part] = bare["IndexOB.X"] == PASS_INDEX
    return visible, full | visible, depth_m


@lru_cache(maxsize=1)  # views come in the order of their plates
def _background_depth_m(_plate: str) -> NDArray[np.float32]:
    """Return the depth of the scene as it stands, without the person; once for a plate."""
    with subject_hidden():
        shot = render.Shot(1, exact_pixels=True)
        return _metres(render.render_passes(stage.stage_scene(), shot)["Depth.Z"])


def _metres(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(depth > 1e6, 0, depth).astype(np.float32)  # Blender's depth of nothing: 1e10


def _irradiance(view: SetView, layers: tuple[Layer, ...]) -> Mapping[str, float]:
    """Return layer name -> irradiance at the subject's place."""
    camera = view.camera_pose.position_m.round(6).tolist()
    of_camera = tuple(camera) if any(layer.kind == ILLUMINATOR for layer in layers) else None
    return _measured(str(view.spec.factors["scenery"]), layers, view.occluder, of_camera)


@lru_cache(maxsize=8)  # plates of a scenery stand side by side in a run
def _measured(
    _scenery: str,
    layers: tuple[Layer, ...],
    _occluder: Occluder | None,
    _camera_m: tuple[float, ...] | None,
) -> Mapping[str, float]:
    """Measure in the scene as it stands; once for each thing that changes it."""
    return stage.measure_irradiance(stage.stage_scene(), layers)


def _index_row(
    view: SetView,
    item: Lighting,
    clean: CleanImages,
    irradiance: Mapping[str, float],
    root: Path,
) -> Row:
    media: Row = {"kind": "image", "clean": None}
    row_id = f"{view.spec.view_id}-{item.name}"
    if view.study.outputs.clean:
        path = root / "media" / "clean" / f"{row_id}.png"
        write_png(path, clean.image(item))
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
        "exposure_s": _figures(clean.exposure_s(item)),
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
        "box_visible": _listed(box_of(visible)),
        "box_full": _listed(box_of(full)),
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
            "texture_sha256": person.texture.sha256 or None,
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


def _listed(box: Box | None) -> list[int] | None:
    """Return a box as a row holds it."""
    return None if box is None else list(box)


def _figures(value: float) -> float:
    """Round to six significant figures: what is measured has no more."""
    return float(f"{value:.6g}")
