"""What the sidebar edits: a study as properties of a scene, so that undo and .blend files keep it.

Names, units and ranges are those of the study file. Collections hold the levels of the factors;
one that is not ``used`` stays in the list and out of the study.
"""

import contextlib
import json
import math

import bpy

from ..core.optics import Sensor, load_sensors
from ..core.photometry import illuminance_text, read_illuminance_lx
from ..core.poses import load_poses
from ..core.standards import band_midpoint, class_of, load_scales
from ..core.study import RANDOM_BETAS
from ..core.study.values import DENOISERS, FAMILIES, METHODS
from . import live

__all__ = [
    "CLASSES",
    "FACTOR_ITEMS",
    "LimenCamera",
    "LimenLevel",
    "LimenLight",
    "LimenLighting",
    "LimenOverlay",
    "LimenPerson",
    "LimenSettings",
    "LimenStudy",
    "LimenSubject",
    "fill_bands",
]

_OWN = "own"


def _edited(group: bpy.types.PropertyGroup, _context: object) -> None:
    live.touch(group.id_data)


def _words(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").capitalize()


def _sensor_title(sensor: Sensor) -> str:
    """Return how a preset is called: as its source spells it, where that begins with its name."""
    spelt = sensor.source.partition(":")[0]
    return spelt if spelt.lower() == sensor.name else _words(sensor.name)


# Blender shows an enum's texts from where they lie: they must outlive the call that made them.
_SENSOR_ITEMS = [
    *((s.name, _sensor_title(s), s.source) for s in load_sensors().values()),
    (_OWN, "Own", "A sensor with a size and a resolution of its own"),
]
_SCALE_ITEMS = [(s.name, s.title, s.source) for s in load_scales().values()]
_FAMILY_ITEMS = [(name, _words(name), "") for name in FAMILIES]
_METHOD_ITEMS = [
    (METHODS[0], "Fast", "Light layers on a shared background, composed afterwards"),
    (METHODS[1], "Exact", "Every lighting rendered whole and by itself: slow, a reference"),
]
_DENOISER_ITEMS = [
    (DENOISERS[0], "OpenImageDenoise", "Part of most Blenders"),
    (DENOISERS[1], "None", "For a Blender without it; takes more samples"),
]
FACTOR_ITEMS = [
    ("lighting", "Lighting", "Crossed with every view"),
    ("scenery", "Scenery", "The place"),
    ("distance", "Distance", "As the camera panel gives them"),
    ("azimuth", "Azimuth", "Of the camera, counter-clockwise seen from above; 0: the front"),
    ("elevation", "Elevation", "Of the camera above the horizontal"),
    ("action", "Action", "What the subject does"),
    ("pose", "Pose", "Of the actions"),
    ("subject", "Subject", "Who is seen"),
    ("texture", "Texture", "Of the chosen subject"),
    ("unoccluded", "Unoccluded", "How much of the person things before it leave in sight"),
]
_GENDERS = ("neutral", "male", "female")


class LimenLevel(bpy.types.PropertyGroup):
    """A level of a factor that is a name or a number."""

    value: bpy.props.FloatProperty(name="Value", update=_edited, precision=2)
    used: bpy.props.BoolProperty(
        name="Used", description="Part of the study", default=True, update=_edited
    )
    exact: bpy.props.StringProperty(options={"HIDDEN"})


def _light_edited(lighting: "LimenLighting", context: object) -> None:
    _edited(lighting, context)
    live.light_edited(lighting.id_data)


def _lighting_named(lighting: "LimenLighting", context: object) -> None:
    """Keep showing the lighting that is chosen, under its new name."""
    settings = lighting.id_data.limen
    lightings, index = settings.study.lightings, settings.light.index
    if not live.is_filling() and index < len(lightings) and lightings[index] == lighting:
        settings.cell.lighting = lighting.name
    _edited(lighting, context)


def _stops(lighting: "LimenLighting") -> float:
    return math.log2(lighting.illuminance_lx / _illuminance_before_lx(lighting))


def _set_stops(lighting: "LimenLighting", stops: float) -> None:
    lighting.illuminance_lx = _illuminance_before_lx(lighting) * 2**stops


def _illuminance(lighting: "LimenLighting") -> str:
    return illuminance_text(lighting.illuminance_lx, figures=6)


def _type_illuminance(lighting: "LimenLighting", typed: str) -> None:
    if typed == lighting.illuminance:  # left as it is, with all its digits
        return
    with contextlib.suppress(ValueError):  # what is no illuminance changes nothing
        lighting.illuminance_lx = read_illuminance_lx(typed)


def _illuminance_before_lx(lighting: "LimenLighting") -> float:
    try:
        return float(json.loads(lighting.made_of)["illuminance_lx"])
    except (ValueError, KeyError, TypeError):  # the study tells that it is damaged
        return lighting.illuminance_lx


class LimenLighting(bpy.types.PropertyGroup):
    """A light condition: a preset, or one of the study's own."""

    name: bpy.props.StringProperty(
        name="Name",
        description="The label of the lighting in the dataset: letters, digits, underscores",
        update=_lighting_named,
    )
    used: bpy.props.BoolProperty(
        name="Used", description="Part of the study", default=True, update=_edited
    )
    illuminance_lx: bpy.props.FloatProperty(
        name="Illuminance",
        description="On an unobstructed horizontal plate, in lux",
        min=1e-6,
        max=1e6,
        soft_min=0.01,
        soft_max=120_000,
        precision=3,
        update=_light_edited,
    )
    illuminance: bpy.props.StringProperty(
        name="Illuminance",
        description="On an unobstructed horizontal plate, in lux: type a number, as 1500 or 0.3",
        get=_illuminance,
        set=_type_illuminance,
        options={"SKIP_SAVE"},
    )
    stops: bpy.props.FloatProperty(
        name="Stops",
        description="Brighter or darker than the lighting was when it was added; a stop more is "
        "twice the illuminance",
        soft_min=-6,
        soft_max=6,
        precision=2,
        get=_stops,
        set=_set_stops,
        options={"SKIP_SAVE"},
    )
    sun_percent: bpy.props.FloatProperty(
        name="Sun",
        description="Share of the sun or moon, else of the glow, in the illuminance, in percent; "
        "the sky gives the rest",
        min=0,
        max=100,
        precision=1,
        subtype="PERCENTAGE",
        update=_light_edited,
    )
    made_of: bpy.props.StringProperty(options={"HIDDEN"})  # JSON of the lighting as it was added
    exact: bpy.props.StringProperty(options={"HIDDEN"})


class LimenScenery(bpy.types.PropertyGroup):
    """A place: one of Limen's, or a collection in a file of the user's."""

    used: bpy.props.BoolProperty(
        name="Used", description="Part of the study", default=True, update=_edited
    )
    own: bpy.props.BoolProperty(options={"HIDDEN"})
    own_place: bpy.props.IntProperty(options={"HIDDEN"})  # among the [[scenery]] tables of the file
    collection: bpy.props.StringProperty(
        name="Collection", description="What is taken from the .blend file", update=_edited
    )
    anchor: bpy.props.StringProperty(
        name="Anchor",
        description="The empty at the subject's place; its Y axis is north",
        update=_edited,
    )
    blend_sha256: bpy.props.StringProperty(options={"HIDDEN"})


class LimenTexture(bpy.types.PropertyGroup):
    """A texture that a subject is seen in."""

    used: bpy.props.BoolProperty(
        name="Used", description="Part of the study", default=True, update=_edited
    )
    sha256: bpy.props.StringProperty(options={"HIDDEN"})


def _body_named(subject: "LimenSubject", context: object) -> None:
    """Forget the hash of the body before: another file has another one."""
    if not live.is_filling():
        subject.body_sha256 = ""
    _edited(subject, context)


class LimenSubject(bpy.types.PropertyGroup):
    """A person."""

    used: bpy.props.BoolProperty(
        name="Used", description="Part of the study", default=True, update=_edited
    )
    body: bpy.props.StringProperty(
        name="Body",
        description="neutral, male or female are built in; any other name is a licensed body's",
        default=_GENDERS[0],
        update=_body_named,
        search=lambda _self, _context, text: [g for g in _GENDERS if text.lower() in g],
        search_options={"SUGGESTION"},
    )
    body_sha256: bpy.props.StringProperty(options={"HIDDEN"})
    random_betas: bpy.props.BoolProperty(
        name="Random shape",
        description="The shape is drawn from the study's seed and the subject's name",
        update=_edited,
    )
    betas: bpy.props.FloatVectorProperty(
        name="Shape",
        description="Shape coefficients of SMPL-X, in standard deviations",
        size=RANDOM_BETAS,
        min=-10,
        max=10,
        soft_min=-3,
        soft_max=3,
        update=_edited,
    )
    yaw_deg: bpy.props.FloatProperty(
        name="Yaw",
        description="Turned counter-clockwise seen from above, in degrees; at 0 the subject faces "
        "the camera of azimuth 0",
        min=-360,
        max=360,
        precision=1,
        update=_edited,
    )
    textures: bpy.props.CollectionProperty(type=LimenTexture)
    texture_index: bpy.props.IntProperty(name="Texture", min=0)
    hashes_given: bpy.props.BoolProperty(options={"HIDDEN"})
    exact: bpy.props.StringProperty(options={"HIDDEN"})


def _sensor_chosen(camera: "LimenCamera", context: object) -> None:
    """Give the camera what belongs to the preset."""
    preset = load_sensors().get(camera.sensor)
    if preset and not live.is_filling():
        with live.filling():  # half of a preset is nobody's own sensor
            camera.sensor_width_mm, camera.sensor_height_mm = preset.width_mm, preset.height_mm
            camera.resolution = preset.width_px, preset.height_px
            if preset.lens_mm:
                camera.lens_mm = preset.lens_mm
            if preset.fnumber:
                camera.fnumber = preset.fnumber
    _edited(camera, context)


def _size_edited(camera: "LimenCamera", context: object) -> None:
    """A sensor of another size or resolution than its preset's is the user's own."""
    preset = load_sensors().get(camera.sensor)
    if preset and not live.is_filling():
        size = (camera.sensor_width_mm, camera.sensor_height_mm, *camera.resolution)
        of_preset = (preset.width_mm, preset.height_mm, preset.width_px, preset.height_px)
        if not all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(size, of_preset, strict=True)):
            camera.sensor = _OWN
    _edited(camera, context)


def _scale_chosen(camera: "LimenCamera", context: object) -> None:
    """Offer the bands of the scale: those are on that hold the middles of the ones before."""
    if not live.is_filling():
        scale, before = load_scales()[camera.scale], load_scales()[camera.scale_was or camera.scale]
        middles = [band_midpoint(before, band.name) for band in camera.bands if band.used]
        fill_bands(camera, {class_of(middle, scale) or "" for middle in middles})
    _edited(camera, context)


def fill_bands(camera: "LimenCamera", used: set[str]) -> None:
    """List a scale's bands, highest density first, those of ``used`` switched on."""
    names = [item.name for item in load_scales()[camera.scale].classes[:-1]]
    camera.bands.clear()
    for name in reversed(names):
        band = camera.bands.add()
        band.name, band.used = name, name in used
    camera.scale_was = camera.scale


class LimenCamera(bpy.types.PropertyGroup):
    """The camera and where it stands."""

    sensor: bpy.props.EnumProperty(
        name="Sensor", description="A sensor preset", items=_SENSOR_ITEMS, update=_sensor_chosen
    )
    sensor_label: bpy.props.StringProperty(
        name="Label", description="What the dataset calls this sensor", default=_OWN, update=_edited
    )
    sensor_width_mm: bpy.props.FloatProperty(
        name="Width",
        description="Of the imaging area, in millimetres",
        default=5.568,
        min=1e-3,
        max=1000,
        precision=3,
        update=_size_edited,
    )
    sensor_height_mm: bpy.props.FloatProperty(
        name="Height",
        description="Of the imaging area, in millimetres",
        default=3.132,
        min=1e-3,
        max=1000,
        precision=3,
        update=_size_edited,
    )
    resolution: bpy.props.IntVectorProperty(
        name="Resolution",
        description="Pixels of the whole sensor",
        size=2,
        default=(1920, 1080),
        min=1,
        update=_size_edited,
    )
    lens_mm: bpy.props.FloatProperty(
        name="Focal length",
        description="In millimetres",
        default=2.8,
        min=1e-2,
        max=10_000,
        soft_min=1,
        soft_max=100,
        precision=2,
        update=_edited,
    )
    fnumber: bpy.props.FloatProperty(
        name="f-number",
        description="Focal length / aperture; it sets the exposure, the image is sharp everywhere",
        default=1.4,
        min=0.1,
        max=128,
        soft_max=22,
        precision=1,
        update=_edited,
    )
    use_window: bpy.props.BoolProperty(
        name="Window",
        description="Render a centre crop of the sensor: pixels per metre stay, work shrinks",
        update=_edited,
    )
    window: bpy.props.IntVectorProperty(
        name="Window",
        description="Width and height of the crop in pixels",
        size=2,
        default=(480, 480),
        min=1,
        update=_edited,
    )
    scale: bpy.props.EnumProperty(
        name="Scale",
        description="The pixel-density scale whose classes are shown",
        items=_SCALE_ITEMS,
        update=_scale_chosen,
    )
    distance_by: bpy.props.EnumProperty(
        name="Distances from",
        items=[
            ("bands", "Classes", "The middle of some classes of the scale"),
            ("densities_px_per_m", "Densities", "Pixel densities in px/m"),
            ("distances_m", "Distances", "Metres from the camera to the look-at point"),
        ],
        update=lambda camera, context: _distance_by_chosen(camera, context),
    )
    distance_was: bpy.props.StringProperty(default="bands", options={"HIDDEN"})
    scale_was: bpy.props.StringProperty(options={"HIDDEN"})  # that the bands are of
    bands: bpy.props.CollectionProperty(type=LimenLevel)
    densities_px_per_m: bpy.props.CollectionProperty(type=LimenLevel)
    distances_m: bpy.props.CollectionProperty(type=LimenLevel)
    azimuths_deg: bpy.props.CollectionProperty(type=LimenLevel)
    elevations_deg: bpy.props.CollectionProperty(type=LimenLevel)
    look_at_height_m: bpy.props.FloatProperty(
        name="Look-at height",
        description="Of the point above the ground at which all cameras look, in metres",
        default=0.9,
        min=0,
        max=100,
        soft_max=2,
        precision=2,
        update=_edited,
    )
    shutter_limit_s: bpy.props.FloatProperty(
        name="Shutter limit",
        description="The longest exposure in seconds: night is dark because it is reached",
        default=0.04,
        min=1 / 50_000,
        max=60,
        soft_max=0.5,
        precision=4,
        update=_edited,
    )
    iso: bpy.props.FloatProperty(
        name="Base ISO",
        description="Sensitivity at base gain",
        default=250,
        min=1,
        max=1_000_000,
        soft_max=6400,
        precision=0,
        update=_edited,
    )
    exact: bpy.props.StringProperty(options={"HIDDEN"})


def _distance_by_chosen(camera: LimenCamera, context: object) -> None:
    """Say the distances that were given in the way that is chosen now."""
    if not live.is_filling():
        from .convert import restate_distances  # which needs the groups

        restate_distances(camera)
    _edited(camera, context)


def _all_poses_chosen(study: "LimenStudy", context: object) -> None:
    """Begin the list with all that was shown until now: an empty one would mean all as well."""
    if not study.all_poses and not len(study.poses) and not live.is_filling():
        actions = {level.name for level in study.actions if level.used}
        for name, pose in load_poses().items():
            if pose.action in actions:
                study.poses.add().name = name
    _edited(study, context)


class LimenStudy(bpy.types.PropertyGroup):
    """The study."""

    name: bpy.props.StringProperty(
        name="Name", description="What the dataset calls the study", update=_edited
    )
    family: bpy.props.EnumProperty(
        name="Family", description="Of benchmarks", items=_FAMILY_ITEMS, update=_edited
    )
    seed: bpy.props.IntProperty(
        name="Seed",
        description="What every random choice starts from: the same seed draws the same study",
        min=0,
        update=_edited,
    )
    camera: bpy.props.PointerProperty(type=LimenCamera)
    lightings: bpy.props.CollectionProperty(type=LimenLighting)
    sceneries: bpy.props.CollectionProperty(type=LimenScenery)
    subjects: bpy.props.CollectionProperty(type=LimenSubject)
    actions: bpy.props.CollectionProperty(type=LimenLevel)
    all_poses: bpy.props.BoolProperty(
        name="All poses",
        description="Every pose of the actions; off: those of the list",
        default=True,
        update=_all_poses_chosen,
    )
    poses: bpy.props.CollectionProperty(type=LimenLevel)
    unoccluded_fractions: bpy.props.CollectionProperty(type=LimenLevel)
    all_views: bpy.props.BoolProperty(
        name="Full cross",
        description="Every combination; off: a number of views, drawn evenly over the factors",
        default=True,
        update=_edited,
    )
    views: bpy.props.IntProperty(
        name="Views",
        description="Views with a person, drawn evenly over the factors",
        default=24,
        min=1,
        update=_edited,
    )
    all_backgrounds: bpy.props.BoolProperty(
        name="Every background",
        description="Each background in use is also shown without a person",
        default=True,
        update=_edited,
    )
    person_free: bpy.props.FloatProperty(
        name="Person-free share",
        description="Share of all views that show nobody",
        min=0,
        max=0.99,
        default=0.2,
        precision=2,
        update=_edited,
    )
    method: bpy.props.EnumProperty(name="Method", items=_METHOD_ITEMS, update=_edited)
    samples: bpy.props.IntProperty(
        name="Samples", description="A pixel", default=32, min=1, max=65536, update=_edited
    )
    denoise: bpy.props.EnumProperty(name="Denoiser", items=_DENOISER_ITEMS, update=_edited)
    masks: bpy.props.BoolProperty(
        name="Masks",
        description="Which pixels show the person",
        default=True,
        update=_edited,
    )
    depth: bpy.props.BoolProperty(
        name="Depth", description="In metres", default=True, update=_edited
    )
    clean: bpy.props.BoolProperty(
        name="Clean images",
        description="8-bit images without noise; the light stack is kept in any case",
        default=True,
        update=_edited,
    )
    exact: bpy.props.StringProperty(options={"HIDDEN"})


def _lighting_shown(cell: "LimenCell", _context: object) -> None:
    """Choose in the list what is shown."""
    settings = cell.id_data.limen
    index = settings.study.lightings.find(cell.lighting)
    if index not in (-1, settings.light.index):
        settings.light.index = index
    live.light_edited(cell.id_data)


def _lighting_chosen(light: "LimenLight", _context: object) -> None:
    """Show the lighting that is chosen in the list, where the study uses it."""
    settings = light.id_data.limen
    lightings = settings.study.lightings
    if live.is_filling() or light.index >= len(lightings):
        return
    chosen = lightings[light.index]
    if chosen.used and chosen.name != settings.cell.lighting:
        settings.cell.lighting = chosen.name


class LimenLight(bpy.types.PropertyGroup):
    """Which lighting is chosen, and how a cell is previewed."""

    index: bpy.props.IntProperty(
        name="Lighting", description="Chosen in the list", min=0, update=_lighting_chosen
    )
    all_lightings: bpy.props.BoolProperty(
        name="For All Lightings",
        description="Render what every lighting of the study needs, to change between them at "
        "once; off: what the shown one needs",
    )


class LimenCell(bpy.types.PropertyGroup):
    """The cell of the study that stands in the scene: a level of every factor."""

    distance: bpy.props.IntProperty(name="Distance", min=0)
    azimuth: bpy.props.IntProperty(name="Azimuth", min=0)
    elevation: bpy.props.IntProperty(name="Elevation", min=0)
    scenery: bpy.props.StringProperty(name="Scenery")
    subject: bpy.props.StringProperty(name="Subject")
    texture: bpy.props.StringProperty(name="Texture")
    pose: bpy.props.StringProperty(name="Pose")
    lighting: bpy.props.StringProperty(name="Lighting", update=_lighting_shown)
    person: bpy.props.BoolProperty(
        name="Person", description="Whether a person stands there", default=True
    )


_ALL_ACTIONS, _OF_STUDY = "ALL", "STUDY"
_filter_items: list[tuple[str, str, str]] = []


def _pose_filter_items(_gallery: object, _context: object) -> list[tuple[str, str, str]]:
    if not _filter_items:
        titles = {pose.action: pose.title for pose in load_poses().values()}
        _filter_items.extend(
            [
                (_ALL_ACTIONS, "All actions", "Every pose of the library"),
                (_OF_STUDY, "In the study", "The poses that the study shows"),
                *((action, title, f"Poses of {title}") for action, title in titles.items()),
            ]
        )
    return _filter_items


class LimenPerson(bpy.types.PropertyGroup):
    """What is said of the person in the scene, and which poses are offered for it."""

    faults: bpy.props.StringProperty(options={"HIDDEN"})  # a line each; "": it stands well
    problem: bpy.props.StringProperty(options={"HIDDEN"})  # why an edit is not shown
    pose_filter: bpy.props.EnumProperty(
        name="Poses", description="Which poses the gallery offers", items=_pose_filter_items
    )
    pose_search: bpy.props.StringProperty(
        name="Search",
        description="Only poses with this in their name",
        options={"TEXTEDIT_UPDATE"},
    )


_fit_items: list[tuple[str, str, str]] = []


def _fit_class_items(overlay: "LimenOverlay", _context: object) -> list[tuple[str, str, str]]:
    scale = load_scales()[overlay.id_data.limen.study.camera.scale]
    _fit_items[:] = [
        (item.name, _words(item.name), f"From {item.px_per_m:g} px/m") for item in scale.classes
    ]
    return _fit_items


class LimenOverlay(bpy.types.PropertyGroup):
    """What the viewport shows of the cameras, and the lens calculator's question."""

    zones: bpy.props.BoolProperty(
        name="Zones",
        description="Where on the flat ground the shown camera reaches which class",
        default=True,
    )
    rig: bpy.props.BoolProperty(
        name="Cameras", description="Where the cameras of the rig stand", default=True
    )
    labels: bpy.props.BoolProperty(
        name="Labels", description="Class and distances on each zone", default=True
    )
    legend: bpy.props.BoolProperty(
        name="Legend", description="The classes of the scale with their colours", default=True
    )
    hud: bpy.props.BoolProperty(
        name="Readout",
        description="Density, class, field of view, distance and height of the person in pixels",
        default=True,
    )
    chip: bpy.props.BoolProperty(
        name="Person in pixels",
        description="A person at the density of the subject, at true size and enlarged",
        default=True,
    )
    opacity: bpy.props.FloatProperty(
        name="Opacity",
        description="Of the zones on the ground",
        min=0,
        max=1,
        default=0.35,
        subtype="FACTOR",
    )
    test_height_m: bpy.props.FloatProperty(
        name="Height",
        description="Of the test person, in metres",
        min=0.3,
        max=3,
        default=1.75,
        precision=2,
        update=_edited,
    )
    fit_class: bpy.props.EnumProperty(
        name="Class", description="That the lens is to reach", items=_fit_class_items
    )
    fit_distance_m: bpy.props.FloatProperty(
        name="At",
        description="Distance along the optical axis at which the class is wanted, in metres",
        min=0.1,
        max=10_000,
        soft_max=100,
        default=10,
        precision=2,
    )


class LimenBatch(bpy.types.PropertyGroup):
    """Where the study is rendered to, and with what."""

    output: bpy.props.StringProperty(
        name="Output",
        description="Folder of the dataset, a new or an empty one; or one that was begun with this "
        "study, to go on with it. Empty: in the folder of the preferences, else beside the study",
        subtype="DIR_PATH",
        update=_edited,
    )
    device: bpy.props.EnumProperty(
        name="Device",
        description="What the background Blender renders with",
        items=[
            ("cpu", "CPU", "Render with the processor"),
            ("gpu", "GPU", "Render with the graphics card: Cycles' first backend that finds one"),
        ],
        update=_edited,
    )


class LimenSettings(bpy.types.PropertyGroup):
    """What a scene remembers: the study that is open in it, and what of it is shown.

    Panels and operators that need more state of their own add a PropertyGroup to CLASSES and a
    pointer here.
    """

    is_open: bpy.props.BoolProperty(name="Open", description="Whether a study is open")
    study_path: bpy.props.StringProperty(
        name="File", description="Where the study was opened or saved last", subtype="FILE_PATH"
    )
    saved_text: bpy.props.StringProperty(options={"HIDDEN"})  # the study as the file has it
    study: bpy.props.PointerProperty(type=LimenStudy)
    cell: bpy.props.PointerProperty(type=LimenCell)
    rig_placed: bpy.props.BoolProperty(
        name="Rig placed", description="Whether a cell stands in the scene"
    )
    view_id: bpy.props.StringProperty(name="View", description="The id of the cell that is shown")
    factor: bpy.props.EnumProperty(
        name="Factor", description="Whose levels are listed", items=FACTOR_ITEMS
    )
    level_index: bpy.props.IntProperty(name="Level", min=0)
    subject_index: bpy.props.IntProperty(name="Subject", min=0, update=_edited)
    scenery_index: bpy.props.IntProperty(name="Scenery", min=0)
    person: bpy.props.PointerProperty(type=LimenPerson)
    batch: bpy.props.PointerProperty(type=LimenBatch)
    overlay: bpy.props.PointerProperty(type=LimenOverlay)
    light: bpy.props.PointerProperty(type=LimenLight)


# In the order of registering: what is pointed at comes first.
CLASSES = (
    LimenLevel,
    LimenLighting,
    LimenScenery,
    LimenTexture,
    LimenSubject,
    LimenCamera,
    LimenStudy,
    LimenCell,
    LimenLight,
    LimenPerson,
    LimenOverlay,
    LimenBatch,
    LimenSettings,
)
