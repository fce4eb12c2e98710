"""What a study is: values, without their file.

The file that says them is read by :mod:`.reading` and written by :mod:`.saving`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from ..lighting import Lighting
from ..optics import Camera, distance_for
from ..standards import band_midpoint, load_scales

__all__ = [
    "BUILT_FAMILIES",
    "DENOISERS",
    "DISTANCE_KEYS",
    "FAMILIES",
    "LIGHTING_EXTRAS",
    "METHODS",
    "RANDOM_BETAS",
    "RANDOM_BETAS_LIMIT",
    "SCENERIES",
    "CameraSetup",
    "Outputs",
    "OwnScenery",
    "RenderSettings",
    "Sampling",
    "Study",
    "StudyError",
    "Subject",
    "lighting_values",
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
LIGHTING_EXTRAS = ("stars", "lamps_lm", "lamps_colour", "illuminator_cd", "monochrome")
DISTANCE_KEYS = ("distances_m", "bands", "densities_px_per_m")  # a study gives one of them


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
        paths: The keys that the problems are of, as ("camera", "fnumber"); () where no file with
            keys was read.
    """

    def __init__(
        self, problems: Sequence[str], paths: Sequence[tuple[str | int, ...]] = ()
    ) -> None:
        self.problems = tuple(problems)
        self.paths = tuple(paths)
        super().__init__("\n".join(self.problems))


def with_distances(setup: CameraSetup) -> CameraSetup:
    """Return a camera setup whose ``distances_m`` are those of its bands or densities, if any."""
    scale = load_scales()[setup.scale]
    midpoints = tuple(band_midpoint(scale, band) for band in setup.bands)
    densities = midpoints or setup.densities_px_per_m
    if not densities:
        return setup
    camera = replace(setup, window=None).optics()
    return replace(setup, distances_m=tuple(distance_for(camera, d) for d in densities))


def lighting_values(lighting: Lighting) -> dict[str, Any]:
    """Return a lighting's keys and values as a file has them: no extra that is at its default."""
    plain = Lighting(lighting.name, lighting.band, lighting.illuminance_lx, ())
    absent = {key for key in LIGHTING_EXTRAS if vars(lighting)[key] == vars(plain)[key]}
    values = {key: value for key, value in vars(lighting).items() if key not in absent}
    return {**values, "components": [dict(vars(c)) for c in lighting.components]}
