"""The study file: what it may say, and how it is loaded, checked, resolved and saved.

``docs/study.md`` explains the file key by key. Loading either returns a :class:`Study` or raises
one :class:`StudyError` that lists every fault. Saving over a file changes only the values that were
edited and keeps its comments and layout.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from . import factors, seeds, toml_text
from . import toml_check as rules
from .dataset import write_file
from .lighting import (
    BANDS,
    Component,
    Lighting,
    LightingError,
    load_lightings,
    load_more_lightings,
    make_lighting,
    parse_layer,
)
from .optics import Camera, distance_for, load_sensors
from .poses import load_poses
from .standards import band_midpoint, load_scales
from .toml_text import format_value

__all__ = [
    "FAMILIES",
    "RANDOM_BETAS",
    "SCENERIES",
    "CameraSetup",
    "Outputs",
    "OwnScenery",
    "RenderSettings",
    "Sampling",
    "Study",
    "StudyError",
    "Subject",
    "dump_study",
    "load_study",
    "parse_study",
    "resolve",
    "save_study",
    "with_distances",
]

PLACES = ("desert", "field", "wharf")
SCENERY_VARIANTS = 3  # of each place: few, as each multiplies the backgrounds to render
SCENERIES = tuple(
    place if variant == 1 else f"{place}-{variant}"
    for place in PLACES
    for variant in range(1, SCENERY_VARIANTS + 1)
)
FAMILIES = ("visibility", "nuisance", "verification", "temporal")
BUILT_FAMILIES = ("visibility",)
METHODS = ("fast", "exact")
DENOISERS = ("oidn", "none")
RANDOM_BETAS = 10  # how many shape coefficients `betas = "random"` draws
RANDOM_BETAS_LIMIT = 2.0  # standard deviations: bodies that occur, none of the grotesque tails


@dataclass(frozen=True)
class CameraSetup:
    """The camera and the places it stands at.

    Attributes:
        sensor: A preset's name, or a label of the study's own.
        sensor_width_mm: Width of the imaging area.
        sensor_height_mm: Height of the imaging area.
        lens_mm: Focal length.
        fnumber: Focal length / aperture.
        resolution: (width, height) of the sensor in pixels.
        window: (width, height) of a centre crop in pixels, None for the whole sensor.
        scale: The pixel-density scale that ``bands`` are of.
        bands: Names of bands whose midpoints gave ``distances_m``, else ().
        densities_px_per_m: Densities that gave ``distances_m``, else ().
        distances_m: Camera to look-at point.
        azimuths_deg: Where the camera stands around the subject.
        elevations_deg: And above the horizontal.
        look_at_height_m: Height of the look-at point above the ground.
        shutter_limit_s: The longest exposure.
        iso: Sensitivity at base gain.
    """

    sensor: str
    sensor_width_mm: float
    sensor_height_mm: float
    lens_mm: float
    fnumber: float
    resolution: tuple[int, int]
    distances_m: tuple[float, ...]
    azimuths_deg: tuple[float, ...]
    elevations_deg: tuple[float, ...]
    window: tuple[int, int] | None = None
    scale: str = "dori-2014"
    bands: tuple[str, ...] = ()
    densities_px_per_m: tuple[float, ...] = ()
    look_at_height_m: float = 0.9
    shutter_limit_s: float = 0.04
    iso: float = 250.0

    @cached_property
    def azimuth_index(self) -> Mapping[float, int]:
        """Azimuth -> its place in ``azimuths_deg``: there may be tens of thousands."""
        return {azimuth: i for i, azimuth in enumerate(self.azimuths_deg)}

    @cached_property
    def elevation_index(self) -> Mapping[float, int]:
        """Elevation -> its place in ``elevations_deg``."""
        return {elevation: i for i, elevation in enumerate(self.elevations_deg)}

    def optics(self) -> Camera:
        """Return the pinhole camera."""
        return Camera(
            self.sensor_width_mm,
            self.sensor_height_mm,
            self.lens_mm,
            self.fnumber,
            *self.resolution,
            self.window,
        )


@dataclass(frozen=True)
class Subject:
    """A person.

    Attributes:
        name: Its label in the dataset.
        body: ``neutral``, ``male`` or ``female``, which are Limen's own, or the logical name of
            another one; never a path.
        body_sha256: The hash that the body's file must have, "" for any.
        betas: Shape coefficients, or ``"random"``: :func:`resolve` draws them from the study's
            seed and the subject's name.
        yaw_deg: Turned counter-clockwise seen from above; 0 faces -Y.
        textures: Names of the textures it is seen in: Limen's own, as ``limen-texture-00000``, or
            of images; never a path.
        texture_sha256: The hashes that their files must have, in the same order; "" for any.
    """

    name: str
    body: str = "neutral"
    body_sha256: str = ""
    betas: tuple[float, ...] | Literal["random"] = ()
    yaw_deg: float = 0.0
    textures: tuple[str, ...] = ("plain",)
    texture_sha256: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnScenery:
    """A place of the study's own: a collection in a ``.blend`` file.

    Attributes:
        name: Its label in the dataset; the file is ``NAME.blend``, never a path.
        collection: The collection that is taken from the file.
        anchor: An empty in the file, at the subject's place; its Y axis is north.
        blend_sha256: The hash that the file must have, "" for any.
    """

    name: str
    collection: str = "Limen"
    anchor: str = "Limen Anchor"
    blend_sha256: str = ""


@dataclass(frozen=True)
class Sampling:
    """How many views are drawn.

    Attributes:
        views: Views with a person, drawn evenly over the factors, or ``"all"``.
        person_free: Share of all views that show nobody, 0 up to 1, or ``"all"``: every background
            that a drawn view uses.
    """

    views: int | Literal["all"] = "all"
    person_free: float | Literal["all"] = "all"


@dataclass(frozen=True)
class RenderSettings:
    """How views are rendered: ``method`` fast or exact, ``samples`` a pixel, ``denoise``."""

    method: str = "fast"
    samples: int = 32
    denoise: str = "oidn"


@dataclass(frozen=True)
class Outputs:
    """What is written beside the light stack."""

    masks: bool = True
    depth: bool = True
    clean: bool = True


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        name: Its label.
        family: ``visibility``; the other families are known and not built yet.
        seed: What every random choice starts from.
        camera: Camera and viewpoints.
        lightings: Light conditions; each is crossed with every view.
        sceneries: Names of surroundings.
        subjects: Persons.
        actions: Names of actions.
        poses: Names of poses, () for every pose of the actions.
        sampling: How many views.
        render: How they are rendered.
        outputs: What is written.
        own_sceneries: Those of the sceneries that are files of the user's.
        unoccluded_fractions: How much of a person things placed before it leave in sight; each
            view has one of these, drawn from its id.
    """

    name: str
    family: str
    seed: int
    camera: CameraSetup
    lightings: tuple[Lighting, ...]
    sceneries: tuple[str, ...]
    subjects: tuple[Subject, ...]
    actions: tuple[str, ...]
    poses: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    render: RenderSettings = field(default_factory=RenderSettings)
    outputs: Outputs = field(default_factory=Outputs)
    own_sceneries: tuple[OwnScenery, ...] = ()
    unoccluded_fractions: tuple[float, ...] = (1.0,)


class StudyError(ValueError):
    """A study that cannot be used.

    Attributes:
        problems: Every fault, a sentence each: the key, what was found, what is allowed, and the
            file and line.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


# --- loading -------------------------------------------------------------------------------------


def load_study(path: Path, *, pose_actions: Mapping[str, str] | None = None) -> Study:
    """Load a study file.

    Args:
        path: The TOML file.
        pose_actions: See :func:`parse_study`.

    Raises:
        StudyError: The file cannot be read or has faults.
    """
    return parse_study(_read_text(Path(path)), Path(path).as_posix(), pose_actions=pose_actions)


def parse_study(
    text: str, source: str = "study", *, pose_actions: Mapping[str, str] | None = None
) -> Study:
    """Return the study that a TOML text describes.

    Args:
        text: The TOML.
        source: What to call it in errors.
        pose_actions: Pose name -> action of the pose library; by default the embedded one's.

    Raises:
        StudyError: It has faults; the error lists all of them.
    """
    try:
        document = rules.parse(text, source, "Study")
    except rules.UnreadableError as error:
        raise StudyError([str(error)]) from error
    faults = rules.Faults(text, source, "Study", StudyError)
    study = _read_study(document, faults, _pose_actions(pose_actions))
    faults.raise_if_any()
    return study


def _read_text(path: Path) -> str:
    try:
        return rules.read_text(path, "Study")
    except rules.UnreadableError as error:
        raise StudyError([str(error)]) from error


def _pose_actions(given: Mapping[str, str] | None) -> Mapping[str, str]:
    return _embedded_poses() if given is None else given


def _embedded_poses() -> Mapping[str, str]:
    return {name: pose.action for name, pose in load_poses().items()}


# --- reading the tables --------------------------------------------------------------------------

_TOP_KEYS = (
    "name",
    "family",
    "seed",
    "lightings",
    "sceneries",
    "actions",
    "poses",
    "unoccluded_fractions",
    "camera",
    "subject",
    "scenery",
    "lighting",
    "sampling",
    "render",
    "outputs",
)
_CAMERA_KEYS = tuple(f.name for f in fields(CameraSetup))
_SUBJECT_KEYS = tuple(f.name for f in fields(Subject))
_SCENERY_KEYS = tuple(f.name for f in fields(OwnScenery))
_LIGHTING_EXTRAS = ("stars", "lamps_lm", "lamps_colour", "illuminator_cd", "monochrome")
_LIGHTING_KEYS = ("name", "base", "band", "illuminance_lx", "components", *_LIGHTING_EXTRAS)
_DISTANCE_KEYS = ("distances_m", "bands", "densities_px_per_m")
_BETAS_MOST = 300  # SMPL-X has no more shape coefficients

_DISTANCE_LEAST_M, _DISTANCE_MOST_M = 1, 2000  # beyond arm's length, and before sceneries end
_FOV_MOST_DEG = 170  # the image of a pinhole grows without end towards 180

_DISTANCE = rules.number(
    "a distance in metres", "distances_m = [5.4, 23.0]", _DISTANCE_LEAST_M, _DISTANCE_MOST_M
)
_DENSITY = rules.number("a density in px/m", "densities_px_per_m = [187.5, 43.75]", 0.1, 100_000)
_AZIMUTH = rules.number("an azimuth in degrees", "azimuths_deg = [0, 45, 90]", 0, 359.999999)
_ELEVATION = rules.number("an elevation in degrees", "elevations_deg = [0, 22.5]", -90, 90)
_BETA = rules.number("a shape coefficient", "betas = [0.5, -1.2]", -10, 10)
_LIGHTING_NAME = rules.text(
    "a lighting's name is 1 to 64 letters, digits and _, as in noon_south", r"[A-Za-z0-9_]{1,64}"
)
_LAMPS_LM = rules.number("a luminous flux in lumens", "lamps_lm = 20000", 0, 1e7)
_ILLUMINATOR_CD = rules.number("a luminous intensity in cd", "illuminator_cd = 500", 0, 1e7)
_UNOCCLUDED = rules.number("an unoccluded fraction", "unoccluded_fractions = [1.0, 0.5]", 0.1, 1)
_DATABLOCK = rules.text(
    'a name in a .blend file has 1 to 63 characters, as in collection = "Limen"',
    r"[^\x00-\x1f\x7f]{1,63}",
)
_ILLUMINANCE = rules.number("an illuminance in lux", "illuminance_lx = 90000", 1e-6, 1e6)


def _read_study(data: Mapping[str, Any], faults: rules.Faults, poses: Mapping[str, str]) -> Study:
    top = rules.Table(data, (), _TOP_KEYS, faults)
    actions = tuple(dict.fromkeys(poses.values()))
    own = _read_own_sceneries(top)
    places = (*SCENERIES, *(scenery.name for scenery in own))
    study = Study(
        name=top.take("name", rules.name("a study's name", 'name = "demo"')),
        family=top.take("family", _FAMILY, "visibility"),
        seed=top.take("seed", rules.number("a seed", "seed = 1", 0, 2**63 - 1, whole=True)),
        camera=_read_camera(top),
        lightings=_read_lightings(top),
        sceneries=top.take(
            "sceneries",
            rules.list_of('sceneries = ["desert"]', rules.one_of("a scenery", places)),
        ),
        subjects=_read_subjects(top),
        actions=top.take(
            "actions", rules.list_of('actions = ["walking"]', rules.one_of("an action", actions))
        ),
        poses=top.take(
            "poses", rules.list_of("poses = []", rules.one_of("a pose", poses), empty=True), ()
        ),
        sampling=_read_sampling(top),
        render=_read_render(top),
        outputs=_read_outputs(top),
        own_sceneries=own,
        unoccluded_fractions=top.take(
            "unoccluded_fractions",
            rules.list_of("unoccluded_fractions = [1.0, 0.5]", _UNOCCLUDED),
            (1.0,),
        ),
    )
    _check_own_sceneries(study, faults)
    _check_poses(study, poses, faults)
    if not faults.found:
        _check_sampling(study, poses, faults)
    return study


def _check_family(value: Any, path: rules.Path, faults: rules.Faults) -> Any:
    if value in BUILT_FAMILIES:
        return value
    if value in FAMILIES:
        says = f"this family is not built yet: built is {', '.join(BUILT_FAMILIES)}"
    else:
        says = f"a family is one of these; {rules.hint(value, FAMILIES)}"
    faults.add(path, f"is {rules.show(value)}: {says}")
    return rules.WRONG


_FAMILY = rules.Rule(f"a family is one of {', '.join(FAMILIES)}", _check_family)


def _read_camera(top: rules.Table) -> CameraSetup:
    faults = top.faults
    if "camera" not in top.data:
        faults.add(("camera",), "is missing: a study has a table [camera], as in docs/study.md")
        missing: CameraSetup = rules.WRONG
        return missing
    table = rules.Table(top.data["camera"], ("camera",), _CAMERA_KEYS, faults)
    sensors = load_sensors()
    label = table.take("sensor", _SENSOR, "own")
    preset = sensors.get(label)
    width = table.take("sensor_width_mm", _SENSOR_WIDTH, None)
    height = table.take("sensor_height_mm", _SENSOR_HEIGHT, None)
    # A preset that is misspelt would have given the rest: one fault is enough.
    needed = rules.NEEDED if preset or width or height else rules.WRONG
    resolution = table.take(
        "resolution",
        rules.size("a resolution", "resolution = [1920, 1080]"),
        (preset.width_px, preset.height_px) if preset else needed,
    )
    if preset:
        for key, given, own in (
            ("sensor_width_mm", width, preset.width_mm),
            ("sensor_height_mm", height, preset.height_mm),
        ):
            if given not in (None, rules.WRONG, own):
                faults.add(
                    ("camera", key),
                    f'is {given:g}, but sensor "{label}" has {own:g}: leave the line out, or give '
                    "the sensor a name of its own",
                )
        width, height = preset.width_mm, preset.height_mm
    elif width is None and height is None:
        if label == "own":
            says = 'is missing: name a preset, as in sensor = "syndorbench", or give its height'
            faults.add(("camera", "sensor"), says)
        elif label is not rules.WRONG:
            says = f"a sensor is a preset or has its own height; {rules.hint(label, sensors)}"
            faults.add(("camera", "sensor"), f"is {rules.show(label)}: {says}")
        width = height = rules.WRONG
    elif rules.WRONG not in (width, height, resolution):
        if width is None:
            width = height * resolution[0] / resolution[1]
        if height is None:
            height = width * resolution[1] / resolution[0]
    setup = CameraSetup(
        sensor=label,
        sensor_width_mm=width,
        sensor_height_mm=height,
        lens_mm=table.take("lens_mm", _LENS, (preset and preset.lens_mm) or needed),
        fnumber=table.take("fnumber", _FNUMBER, (preset and preset.fnumber) or needed),
        resolution=resolution,
        window=table.take("window", rules.size("a window", "window = [400, 400]"), None),
        distances_m=rules.WRONG,
        azimuths_deg=table.take(
            "azimuths_deg", rules.list_of("azimuths_deg = [0, 45, 90]", _AZIMUTH)
        ),
        elevations_deg=table.take(
            "elevations_deg", rules.list_of("elevations_deg = [0, 22.5]", _ELEVATION)
        ),
        look_at_height_m=table.take("look_at_height_m", _LOOK_AT, 0.9),
        shutter_limit_s=table.take("shutter_limit_s", _SHUTTER, 0.04),
        iso=table.take("iso", _ISO, 250.0),
    )
    return _read_distances(setup, _checked_optics(setup, faults), table)


_SENSOR = rules.text(
    'a sensor is a preset\'s name or a label of 1 to 64 characters, as in sensor = "syndorbench"',
    r"[^\x00-\x1f\x7f]{1,64}",
)
_SENSOR_WIDTH = rules.number(
    "a sensor's width in mm", "sensor_width_mm = 5.568", 0, 1000, above=True
)
_SENSOR_HEIGHT = rules.number(
    "a sensor's height in mm", "sensor_height_mm = 3.132", 0, 1000, above=True
)
_LENS = rules.number("a focal length in mm", "lens_mm = 2.8", 0, 10_000, above=True)
_FNUMBER = rules.number("an f-number", "fnumber = 1.4", 0.1, 128)
_LOOK_AT = rules.number("a look-at height in metres", "look_at_height_m = 0.9", 0, 100)
_SHUTTER = rules.number("a shutter limit in seconds", "shutter_limit_s = 0.04", 1 / 50_000, 60)
_ISO = rules.number("a sensitivity", "iso = 250", 1, 1_000_000)


def _checked_optics(setup: CameraSetup, faults: rules.Faults) -> Camera | None:
    """Return the camera, or None where its numbers are wrong or do not fit together."""
    if rules.WRONG in (
        setup.sensor_width_mm,
        setup.sensor_height_mm,
        setup.lens_mm,
        setup.fnumber,
        setup.resolution,
        setup.window,
    ):
        return None
    try:
        camera = replace(setup, window=None).optics()
    except ValueError as error:
        faults.add(("camera", "resolution"), f"is {rules.show(list(setup.resolution))}: {error}")
        return None
    try:
        camera = setup.optics()
    except ValueError as error:
        faults.add(("camera", "window"), f"is {rules.show(list(setup.window or ()))}: {error}")
    fov_deg = max(camera.image_fov_deg)
    if fov_deg > _FOV_MOST_DEG:
        faults.add(
            ("camera", "lens_mm"),
            f"is {setup.lens_mm:g}: the image would be {fov_deg:.1f} degrees wide or high, at most "
            f"{_FOV_MOST_DEG} are allowed; take a longer lens or a smaller window",
        )
        return None
    return camera


def _read_distances(setup: CameraSetup, camera: Camera | None, table: rules.Table) -> CameraSetup:
    faults = table.faults
    scales = load_scales()
    scale = table.take("scale", rules.one_of("a scale", scales), "dori-2014")
    given = [key for key in _DISTANCE_KEYS if key in table.data]
    if len(given) != 1:
        found = f"has {' and '.join(given)}" if given else "has no distances"
        faults.add(("camera", *given[1:2]), f"{found}: give one of {', '.join(_DISTANCE_KEYS)}")
    bands: tuple[str, ...] = ()
    if scale is not rules.WRONG:
        allowed = [c.name for c in scales[scale].classes[:-1]]
        band = rules.one_of(f"a band of {scale}", allowed)
        bands = table.take("bands", rules.list_of('bands = ["observe"]', band), ())
    densities = table.take(
        "densities_px_per_m", rules.list_of("densities_px_per_m = [187.5, 43.75]", _DENSITY), ()
    )
    distances = table.take("distances_m", rules.list_of("distances_m = [5.4, 23.0]", _DISTANCE), ())
    if rules.WRONG in (scale, bands, densities, distances) or len(given) != 1 or camera is None:
        return setup
    setup = with_distances(
        replace(
            setup,
            scale=scale,
            bands=bands,
            densities_px_per_m=densities,
            distances_m=distances,
        )
    )
    for i, distance in enumerate(setup.distances_m):
        if not _DISTANCE_LEAST_M <= distance <= _DISTANCE_MOST_M:
            faults.add(
                ("camera", given[0], i),
                f"needs a distance of {distance:g} m: allowed are {_DISTANCE_LEAST_M} to "
                f"{_DISTANCE_MOST_M} m; change lens_mm or the density",
            )
    _check_above_ground(setup, faults)
    return setup


def _check_above_ground(setup: CameraSetup, faults: rules.Faults) -> None:
    if rules.WRONG in (setup.elevations_deg, setup.look_at_height_m):
        return
    for i, elevation in enumerate(setup.elevations_deg):
        for distance in setup.distances_m:
            height = setup.look_at_height_m + distance * math.sin(math.radians(elevation))
            if height <= 0:
                faults.add(
                    ("camera", "elevations_deg", i),
                    f"is {elevation:g}: at {distance:g} m the camera would stand {-height:.2f} m "
                    "below the ground; raise the elevation or look_at_height_m",
                )
                break


def _tables(top: rules.Table, key: str) -> list[Any]:
    """Return the tables of an array of tables, [] where there are none."""
    found = top.data.get(key, [])
    if isinstance(found, list):
        return found
    top.faults.add((key,), f"is {rules.show(found)}: it is written as [[{key}]]")
    return []


def _read_own_sceneries(top: rules.Table) -> tuple[OwnScenery, ...]:
    sceneries: list[OwnScenery] = []
    for i, data in enumerate(_tables(top, "scenery")):
        table = rules.Table(data, ("scenery", i), _SCENERY_KEYS, top.faults)
        scenery = OwnScenery(
            table.take("name", rules.name("a scenery's name", 'name = "yard"')),
            table.take("collection", _DATABLOCK, OwnScenery.collection),
            table.take("anchor", _DATABLOCK, OwnScenery.anchor),
            table.take("blend_sha256", _SHA256, ""),
        )
        if scenery.name in (*SCENERIES, *(other.name for other in sceneries)):
            top.faults.add(
                ("scenery", i, "name"),
                f'is "{scenery.name}", which another scenery has: give it another name',
            )
        sceneries.append(scenery)
    return tuple(sceneries)


def _check_own_sceneries(study: Study, faults: rules.Faults) -> None:
    if study.sceneries is rules.WRONG:
        return
    for i, scenery in enumerate(study.own_sceneries):
        if scenery.name is not rules.WRONG and scenery.name not in study.sceneries:
            faults.add(
                ("scenery", i, "name"),
                f'is "{scenery.name}", which is none of the sceneries: add it there, or remove '
                "this table",
            )


def _presets() -> dict[str, Lighting]:
    return {**load_lightings(), **load_more_lightings()}


def _read_lightings(top: rules.Table) -> tuple[Lighting, ...]:
    faults = top.faults
    presets = _presets()
    names = top.take(
        "lightings",
        rules.list_of(
            'lightings = ["noon_south"]', rules.one_of("a lighting", presets), empty=True
        ),
        (),
    )
    tables = _tables(top, "lighting")
    own = [_read_lighting(t, i, presets, faults) for i, t in enumerate(tables)]
    if not tables and names == ():
        faults.add(
            ("lightings",),
            'is empty: a study has at least one lighting, as in lightings = ["noon_south"]',
        )
    names = () if names is rules.WRONG else names
    seen = {name.lower() for name in names}  # files are named by them, and some systems fold case
    for i, lighting in enumerate(own):
        if lighting is not None and lighting.name.lower() in seen:
            faults.add(
                ("lighting", i, "name"),
                f'is "{lighting.name}", which the study already has (capitals do not count): '
                "give it another name",
            )
        elif lighting is not None:
            seen.add(lighting.name.lower())
    return (*(presets[name] for name in names), *(x for x in own if x is not None))


def _read_lighting(
    data: Any, index: int, presets: Mapping[str, Lighting], faults: rules.Faults
) -> Lighting | None:
    path: rules.Path = ("lighting", index)
    before = len(faults.found)
    table = rules.Table(data, path, _LIGHTING_KEYS, faults)
    base_name = table.take("base", rules.one_of("a base", presets), None)
    base = presets.get(base_name)
    lighting = Lighting(
        name=table.take("name", _LIGHTING_NAME),
        band=table.take("band", rules.one_of("a band", BANDS), base.band if base else rules.NEEDED),
        illuminance_lx=table.take(
            "illuminance_lx", _ILLUMINANCE, base.illuminance_lx if base else rules.NEEDED
        ),
        components=table.take("components", _COMPONENTS, base.components if base else rules.NEEDED),
        stars=table.take("stars", rules.flag("stars"), base.stars if base else False),
        lamps_lm=table.take("lamps_lm", _LAMPS_LM, base.lamps_lm if base else 0.0),
        lamps_colour=table.take(
            "lamps_colour", _COLOUR, base.lamps_colour if base else (1.0, 1.0, 1.0)
        ),
        illuminator_cd=table.take(
            "illuminator_cd", _ILLUMINATOR_CD, base.illuminator_cd if base else 0.0
        ),
        monochrome=table.take(
            "monochrome", rules.flag("monochrome"), base.monochrome if base else False
        ),
    )
    if len(faults.found) > before:
        return None
    try:
        return make_lighting(_lighting_values(lighting), "lighting")
    except LightingError as error:
        faults.add((*path, "components"), f"cannot be used: {error}")
        return None


def _check_component(value: Any, path: rules.Path, faults: rules.Faults) -> Any:
    before = len(faults.found)
    table = rules.Table(value, path, ("layer", "share", "colour"), faults)
    component = Component(
        table.take("layer", _LAYER),
        table.take("share", rules.number("a share", "share = 0.5", 0, 1)),
        table.take("colour", _COLOUR, (1.0, 1.0, 1.0)),
    )
    return component if len(faults.found) == before else rules.WRONG


def _check_layer(value: Any, path: rules.Path, faults: rules.Faults) -> Any:
    try:
        return parse_layer(value if isinstance(value, str) else rules.show(value)).name
    except LightingError as error:
        faults.add(path, f"is {rules.show(value)}: {error}")
        return rules.WRONG


def _check_colour(value: Any, path: rules.Path, faults: rules.Faults) -> Any:
    channel = rules.number("a colour channel", "colour = [1.0, 0.9, 0.8]", 0, 1000)
    if not isinstance(value, list) or len(value) != 3:
        faults.add(path, f"is {rules.show(value)}: {_COLOUR.says}")
        return rules.WRONG
    rgb = tuple(channel.check(v, (*path, i), faults) for i, v in enumerate(value))
    if rules.WRONG not in rgb and not any(rgb):
        faults.add(path, f"is {rules.show(value)}: a colour has at least one channel above 0")
        return rules.WRONG
    return rules.WRONG if rules.WRONG in rgb else rgb


_LAYER = rules.Rule('a layer is as in layer = "dome-uniform"', _check_layer)
_COLOUR = rules.Rule("a colour is linear [r, g, b], as in colour = [1.0, 0.9, 0.8]", _check_colour)
_COMPONENTS = rules.list_of(
    'components = [{ layer = "dome-uniform", share = 1.0 }]',
    rules.Rule("a component is a table with layer and share", _check_component),
    repeats=True,
)


def _read_subjects(top: rules.Table) -> tuple[Subject, ...]:
    faults = top.faults
    tables = _tables(top, "subject")
    if not tables and not top.data.get("subject"):
        faults.add(("subject",), "is missing: a study has at least one table [[subject]]")
    subjects = []
    names: set[str] = set()
    for i, data in enumerate(tables):
        table = rules.Table(data, ("subject", i), _SUBJECT_KEYS, faults)
        subject = Subject(
            name=table.take("name", rules.name("a subject's name", 'name = "anna"')),
            body=table.take("body", _BODY, "neutral"),
            body_sha256=table.take("body_sha256", _SHA256, ""),
            betas=table.take("betas", _BETAS, ()),
            yaw_deg=table.take("yaw_deg", _YAW, 0.0),
            textures=table.take(
                "textures",
                rules.list_of(
                    'textures = ["plain"]', rules.name("a texture's name", 'textures = ["plain"]')
                ),
                ("plain",),
            ),
            texture_sha256=table.take("texture_sha256", _TEXTURE_SHA256, ()),
        )
        if (
            rules.WRONG not in (subject.textures, subject.texture_sha256)
            and subject.texture_sha256
            and len(subject.texture_sha256) != len(subject.textures)
        ):
            faults.add(
                ("subject", i, "texture_sha256"),
                f"has {len(subject.texture_sha256)} hashes: there is one for each of the "
                f'{len(subject.textures)} textures, "" for any file',
            )
        if (
            subject.betas is not rules.WRONG
            and len(subject.betas) > _BETAS_MOST
            and (subject.betas != "random")
        ):
            faults.add(
                ("subject", i, "betas"),
                f"has {len(subject.betas)} coefficients: at most {_BETAS_MOST} are allowed",
            )
        if subject.name is not rules.WRONG and subject.name in names:
            faults.add(
                ("subject", i, "name"),
                f'is "{subject.name}", which another subject has: give it another name',
            )
        names.add(subject.name)
        subjects.append(subject)
    return tuple(subjects)


_BODY = rules.text(
    "a body is neutral, male, female or another body's name (never a path) of 1 to 64 letters, "
    'digits, _ and -, as in body = "neutral"',
    r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}",
)
_SHA256 = rules.text(
    'a SHA-256 is 64 hex digits in lower case, or "" for any file', r"(?:[0-9a-f]{64})?"
)
_TEXTURE_SHA256 = rules.list_of(
    'texture_sha256 = ["", "0123..."]', _SHA256, empty=True, repeats=True
)
_BETAS = rules.or_word(
    "random", rules.list_of("betas = [0.5, -1.2]", _BETA, empty=True, repeats=True)
)
_YAW = rules.number("a yaw in degrees", "yaw_deg = 30", -360, 360)


def _read_sampling(top: rules.Table) -> Sampling:
    table = rules.Table(
        top.data.get("sampling", {}), ("sampling",), ("views", "person_free"), top.faults
    )
    views = rules.number("a number of views", "views = 24", 1, factors.VIEWS_MOST, whole=True)
    return Sampling(
        table.take("views", rules.or_word("all", views), "all"),
        table.take("person_free", rules.or_word("all", _PERSON_FREE), "all"),
    )


_PERSON_FREE = rules.number("a person-free share of all views", "person_free = 0.2", 0, 0.99)


def _read_render(top: rules.Table) -> RenderSettings:
    table = rules.Table(
        top.data.get("render", {}), ("render",), ("method", "samples", "denoise"), top.faults
    )
    defaults = RenderSettings()
    return RenderSettings(
        table.take("method", rules.one_of("a method", METHODS), defaults.method),
        table.take(
            "samples",
            rules.number("samples a pixel", "samples = 32", 1, 65536, whole=True),
            defaults.samples,
        ),
        table.take("denoise", rules.one_of("a denoiser", DENOISERS), defaults.denoise),
    )


def _read_outputs(top: rules.Table) -> Outputs:
    names = tuple(f.name for f in fields(Outputs))
    table = rules.Table(top.data.get("outputs", {}), ("outputs",), names, top.faults)
    return Outputs(*(table.take(name, rules.flag(f"outputs.{name}"), True) for name in names))


def _check_poses(study: Study, poses: Mapping[str, str], faults: rules.Faults) -> None:
    """Check that poses and actions go together."""
    if rules.WRONG in (study.actions, study.poses) or not study.poses:
        return
    for i, pose in enumerate(study.poses):
        if poses[pose] not in study.actions:
            faults.add(
                ("poses", i),
                f'is "{pose}", a pose of {poses[pose]}, which is none of the actions: '
                "add the action or leave the pose out",
            )
    shown = {poses[pose] for pose in study.poses}
    for i, action in enumerate(study.actions):
        if action not in shown:
            own = [name for name, its in poses.items() if its == action]
            faults.add(
                ("actions", i),
                f'is "{action}", but poses lists none of it: add one of {", ".join(own)}',
            )


def _check_sampling(study: Study, poses: Mapping[str, str], faults: rules.Faults) -> None:
    """Check the numbers of views against what the factors hold."""
    shown = factors.poses_by_action(study, poses)
    try:
        factors.check_views(study, shown)
        if study.sampling.person_free not in ("all", 0):
            factors.sample_views(study, shown)  # how many backgrounds a draw uses shows in the draw
    except factors.SampleError as error:
        faults.add(("sampling", error.key), error.reason)


# --- resolving and writing -----------------------------------------------------------------------


def resolve(study: Study, *, pose_actions: Mapping[str, str] | None = None) -> Study:
    """Return the study with nothing left to look up or to draw.

    Random betas are drawn (rounded to 6 decimals, cut off at 2 standard deviations), poses listed,
    bands and densities replaced by their distances. Resolving again changes nothing.

    Args:
        study: The study.
        pose_actions: See :func:`parse_study`.
    """
    shown = factors.poses_by_action(study, _pose_actions(pose_actions))
    return replace(
        study,
        camera=replace(study.camera, bands=(), densities_px_per_m=()),
        subjects=tuple(
            replace(s, betas=_random_betas(study.seed, s.name)) if s.betas == "random" else s
            for s in study.subjects
        ),
        poses=study.poses or tuple(pose for its in shown.values() for pose in its),
    )


def _random_betas(seed: int, name: str) -> tuple[float, ...]:
    drawn = seeds.normal(seed, name, "betas", RANDOM_BETAS, limit=RANDOM_BETAS_LIMIT)
    return tuple(round(float(beta), 6) + 0.0 for beta in drawn)


def with_distances(setup: CameraSetup) -> CameraSetup:
    """Return a camera setup whose ``distances_m`` are those of its bands or densities, if any."""
    scale = load_scales()[setup.scale]
    midpoints = tuple(band_midpoint(scale, band) for band in setup.bands)
    densities = midpoints or setup.densities_px_per_m
    if not densities:
        return setup
    camera = replace(setup, window=None).optics()
    return replace(setup, distances_m=tuple(distance_for(camera, d) for d in densities))


def dump_study(study: Study, *, pose_actions: Mapping[str, str] | None = None) -> str:
    """Return a study as TOML, resolved and with every preset written out.

    This is the text that a dataset freezes: equal studies give equal texts, and parsing it gives
    ``resolve(study)``.

    Args:
        study: The study.
        pose_actions: See :func:`parse_study`.
    """
    study = resolve(study, pose_actions=pose_actions)
    return _compose(
        study,
        _top_values(study),
        _camera_values(study.camera),
        [_lighting_values(lighting) for lighting in study.lightings],
    )


def save_study(study: Study, path: Path, *, pose_actions: Mapping[str, str] | None = None) -> None:
    """Save a study: whole or not at all, and over an existing file only what was edited.

    Comments, order and layout of an existing file stay, keys it lacks are added to their tables,
    and a study that it already holds leaves it as it is to the byte.

    Args:
        study: The study.
        path: The TOML file; it may be there already.
        pose_actions: See :func:`parse_study`.

    Raises:
        StudyError: The study has faults, or the file that is there cannot be read or has faults.
    """
    path = Path(path)
    if path.exists():
        before = _read_text(path)
        old = parse_study(before, path.as_posix(), pose_actions=pose_actions)
        if old == study:
            return
        text = _edited(before, old, study)
    else:
        names = _preset_names(study.lightings)
        text = _compose(
            study,
            {**_top_values(study), "lightings": names},
            _brief_camera_values(study.camera),
            [_brief_lighting_values(lighting) for lighting in study.lightings[len(names) :]],
        )
    saved = parse_study(text, path.as_posix(), pose_actions=pose_actions)
    if saved != study:
        raise StudyError([f"Study is not saved: {_difference(study, saved)}"])
    write_file(path, text.encode())


def _top_values(study: Study) -> dict[str, Any]:
    return {
        key: getattr(study, key)
        for key in ("name", "family", "seed", *_TOP_LISTS)
        if key != "unoccluded_fractions" or study.unoccluded_fractions != (1.0,)
    }


_TOP_LISTS = ("sceneries", "actions", "poses", "unoccluded_fractions")


def _distance_key(setup: CameraSetup) -> str:
    """Return which of the three ways the distances are given in."""
    if setup.bands:
        return "bands"
    return "densities_px_per_m" if setup.densities_px_per_m else "distances_m"


def _camera_values(setup: CameraSetup) -> dict[str, Any]:
    absent = {*_DISTANCE_KEYS} - {_distance_key(setup)} | (
        {"window"} if not setup.window else set()
    )
    return {key: getattr(setup, key) for key in _CAMERA_ORDER if key not in absent}


def _brief_camera_values(setup: CameraSetup) -> dict[str, Any]:
    values = _camera_values(setup)
    if setup.sensor in load_sensors():
        del values["sensor_width_mm"], values["sensor_height_mm"]
    return values


_CAMERA_ORDER = (
    "sensor",
    "sensor_width_mm",
    "sensor_height_mm",
    "lens_mm",
    "fnumber",
    "resolution",
    "window",
    "scale",
    *_DISTANCE_KEYS,
    "azimuths_deg",
    "elevations_deg",
    "look_at_height_m",
    "shutter_limit_s",
    "iso",
)


def _lighting_values(lighting: Lighting) -> dict[str, Any]:
    plain = Lighting(lighting.name, lighting.band, lighting.illuminance_lx, ())
    absent = {key for key in _LIGHTING_EXTRAS if vars(lighting)[key] == vars(plain)[key]}
    values = {key: value for key, value in vars(lighting).items() if key not in absent}
    return {**values, "components": [dict(vars(c)) for c in lighting.components]}


def _brief_lighting_values(lighting: Lighting) -> dict[str, Any]:
    """Return a lighting's table, on the base of the preset it was rescaled from, if of one."""
    for preset in _presets().values():
        if replace(preset, name=lighting.name, illuminance_lx=lighting.illuminance_lx) == lighting:
            return {
                "name": lighting.name,
                "base": preset.name,
                "illuminance_lx": lighting.illuminance_lx,
            }
    return _lighting_values(lighting)


def _preset_names(lightings: Sequence[Lighting]) -> tuple[str, ...]:
    """Return the names of the presets that a list of lightings begins with."""
    presets = _presets()
    names = []
    for lighting in lightings:
        if presets.get(lighting.name) != lighting:
            break
        names.append(lighting.name)
    return tuple(names)


def _compose(
    study: Study,
    top: Mapping[str, Any],
    camera: Mapping[str, Any],
    lightings: Sequence[Mapping[str, Any]],
) -> str:
    text = "".join(f"{key} = {format_value(value)}\n" for key, value in top.items())
    text = toml_text.append_table(text, ("camera",), camera, array=False)
    for subject in study.subjects:
        text = toml_text.append_table(text, ("subject",), vars(subject), array=True)
    for scenery in study.own_sceneries:
        text = toml_text.append_table(text, ("scenery",), vars(scenery), array=True)
    for lighting in lightings:
        text = toml_text.append_table(text, ("lighting",), lighting, array=True)
    for key in ("sampling", "render", "outputs"):
        text = toml_text.append_table(text, (key,), vars(getattr(study, key)), array=False)
    return text


def _edited(text: str, old: Study, new: Study) -> str:
    """Return the text of ``old`` with as few edits as make it say ``new``."""
    for key in ("name", "family", "seed", *_TOP_LISTS):
        if getattr(old, key) != getattr(new, key):
            text = toml_text.set_key(text, (key,), getattr(new, key))
    text = _edited_camera(text, old.camera, new.camera)
    text = _edited_tables(text, "subject", old.subjects, new.subjects, vars)
    text = _edited_tables(text, "scenery", old.own_sceneries, new.own_sceneries, vars)
    text = _edited_lightings(text, old.lightings, new.lightings)
    for table in ("sampling", "render", "outputs"):
        before, after = vars(getattr(old, table)), vars(getattr(new, table))
        for key, value in after.items():
            if before[key] != value:
                text = toml_text.set_key(text, (table, key), value)
    return text


def _edited_camera(text: str, old: CameraSetup, new: CameraSetup) -> str:
    there = tomllib.loads(text)["camera"]
    sensors = load_sensors()
    brief = _brief_camera_values(new)
    changed = {key for key in _CAMERA_ORDER if getattr(old, key) != getattr(new, key)}
    if "sensor" in changed:
        # What the old preset gave silently, the new one may give otherwise.
        changed |= {"resolution", "lens_mm", "fnumber"}
    if changed & {"sensor", "sensor_width_mm", "sensor_height_mm", "resolution"}:
        changed |= {"sensor_width_mm", "sensor_height_mm"}
        if new.sensor not in sensors:
            changed |= {"sensor"}
    if _distance_key(old) == _distance_key(new) != "distances_m":
        changed -= {"distances_m"}
    for key in _CAMERA_ORDER:
        if key not in changed or (key == "sensor" and there.get(key, "own") == new.sensor):
            continue
        if key in brief:
            if key not in there or there[key] != _as_toml(brief[key]):
                text = toml_text.set_key(text, ("camera", key), brief[key])
        elif key in there:
            text = toml_text.delete_key(text, ("camera", key))
    return text


def _as_toml(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _edited_lightings(text: str, old: Sequence[Lighting], new: Sequence[Lighting]) -> str:
    if old == new:
        return text
    old_count = len(tomllib.loads(text).get("lightings", []))
    presets = _presets()
    count = len(new) - (len(old) - old_count)
    tables_stay = count >= 0 and new[count:] == old[old_count:]
    if not tables_stay or any(presets.get(x.name) != x for x in new[:count]):
        names_stay = new[:old_count] == old[:old_count]
        count = old_count if names_stay else len(_preset_names(new))
    if new[:count] != old[:old_count]:
        text = toml_text.set_key(text, ("lightings",), [x.name for x in new[:count]])
    return _edited_tables(text, "lighting", old[old_count:], new[count:], _brief_lighting_values)


def _edited_tables(
    text: str,
    key: str,
    old: Sequence[Any],
    new: Sequence[Any],
    values_of: Callable[[Any], Mapping[str, Any]],
) -> str:
    """Edit an array of tables that have names: in place, by removing some, by appending some."""
    layout = toml_text.scan(text)
    had, wanted = [x.name for x in old], [x.name for x in new]
    in_place = len(old) == len(new) and all(
        a == b or (a not in wanted and b not in had) for a, b in zip(had, wanted, strict=True)
    )
    if not in_place and (key,) in layout.values:  # an array of inline tables
        if not new:
            return toml_text.delete_key(text, (key,))
        return toml_text.set_key(text, (key,), [values_of(item) for item in new])
    if not in_place:
        kept = [item for item in old if item.name in wanted]
        if [item.name for item in kept] != wanted[: len(kept)]:
            kept = []
        for i in reversed(range(len(old))):
            if old[i] not in kept:
                text = toml_text.delete_table(text, (key, i))
        old = kept
    for i, (before, after) in enumerate(zip(old, new, strict=False)):
        if before != after:
            text = _edited_table(text, (key, i), before, after, values_of)
    for item in new[len(old) :]:
        text = toml_text.append_table(text, (key,), values_of(item), array=True)
    return text


def _edited_table(
    text: str,
    path: rules.Path,
    old: Any,
    new: Any,
    values_of: Callable[[Any], Mapping[str, Any]],
) -> str:
    changed = {key for key, value in vars(new).items() if value != vars(old)[key]}
    values = values_of(new)
    base = (*path, "base")
    if "components" in changed and base in toml_text.scan(text).values:
        text = toml_text.delete_key(text, base)
        values, changed = _lighting_values(new), set(vars(new))
    if "components" in changed:
        values = _lighting_values(new)
    for key in vars(new):
        if key in changed:
            value = values[key] if key in values else getattr(new, key)
            text = toml_text.set_key(text, (*path, key), value)
    return text


def _difference(study: object, saved: object, where: str = "") -> str:
    """Return where what the file would say first differs from a study, in words."""
    if is_dataclass(study) and is_dataclass(saved) and type(study) is type(saved):
        for f in fields(study):
            a, b = getattr(study, f.name), getattr(saved, f.name)
            if a != b:
                return _difference(a, b, f"{where}.{f.name}" if where else f.name)
    return f"{where} is {study}, but the file would give {saved}"
