"""Reading a study file: every key has a rule, and every fault is told at once."""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .. import factors
from .. import toml_check as rules
from ..lighting import (
    BANDS,
    Component,
    Lighting,
    LightingError,
    load_lightings,
    load_more_lightings,
    make_lighting,
    parse_layer,
)
from ..optics import Camera, load_sensors
from ..poses import MORE_POSES, load_poses, written_name
from ..standards import load_scales
from .values import (
    BUILT_FAMILIES,
    DENOISERS,
    DISTANCE_KEYS,
    FAMILIES,
    LIGHTING_EXTRAS,
    METHODS,
    SCENERIES,
    CameraSetup,
    Outputs,
    OwnScenery,
    RenderSettings,
    Sampling,
    Study,
    StudyError,
    Subject,
    lighting_values,
    with_distances,
)

__all__ = ["library_poses", "lighting_presets", "load_study", "parse_study", "read_study_text"]


def load_study(path: Path, *, pose_actions: Mapping[str, str] | None = None) -> Study:
    """Load a study file.

    Args:
        path: The TOML file.
        pose_actions: See :func:`parse_study`.

    Raises:
        StudyError: The file cannot be read or has faults.
    """
    return parse_study(
        read_study_text(Path(path)), Path(path).as_posix(), pose_actions=pose_actions
    )


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
    study = _read_study(
        document, faults, (library_poses() if pose_actions is None else pose_actions)
    )
    faults.raise_if_any()
    return study


def read_study_text(path: Path) -> str:
    """Return a study file's text.

    Raises:
        StudyError: It cannot be read.
    """
    try:
        return rules.read_text(path, "Study")
    except rules.UnreadableError as error:
        raise StudyError([str(error)]) from error


def library_poses() -> Mapping[str, str]:
    """Return pose name -> action of the embedded library and LIMEN_POSES."""
    return {name: pose.action for name, pose in load_poses().items()}


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
_MORE = f" ({MORE_POSES} names a directory of more)"
_CAMERA_KEYS = tuple(f.name for f in fields(CameraSetup))
_SUBJECT_KEYS = tuple(f.name for f in fields(Subject))
_SCENERY_KEYS = tuple(f.name for f in fields(OwnScenery))
_LIGHTING_KEYS = ("name", "base", "band", "illuminance_lx", "components", *LIGHTING_EXTRAS)
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
            "actions",
            rules.list_of('actions = ["walking"]', rules.one_of(f"an action{_MORE}", actions)),
        ),
        poses=top.take(
            "poses",
            rules.list_of("poses = []", _pose_of(poses), empty=True),
            (),
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
    given = [key for key in DISTANCE_KEYS if key in table.data]
    if len(given) != 1:
        found = f"has {' and '.join(given)}" if given else "has no distances"
        faults.add(("camera", *given[1:2]), f"{found}: give one of {', '.join(DISTANCE_KEYS)}")
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


def lighting_presets() -> dict[str, Lighting]:
    """Return name -> lighting of all presets, the published ones first."""
    return {**load_lightings(), **load_more_lightings()}


def _read_lightings(top: rules.Table) -> tuple[Lighting, ...]:
    faults = top.faults
    presets = lighting_presets()
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
        return make_lighting(lighting_values(lighting), "lighting")
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


def _pose_of(poses: Mapping[str, str]) -> rules.Rule:
    """Return the rule that a text names a pose, or the mirror image of one."""
    written = rules.one_of(f"a pose{_MORE}", poses)

    def check(value: Any, path: rules.Path, faults: rules.Faults) -> Any:
        if isinstance(value, str) and written_name(value, poses) in poses:
            return value
        return written.check(value, path, faults)

    return rules.Rule(written.says, check)


def _check_poses(study: Study, poses: Mapping[str, str], faults: rules.Faults) -> None:
    """Check that poses and actions go together."""
    if rules.WRONG in (study.actions, study.poses) or not study.poses:
        return
    for i, pose in enumerate(study.poses):
        action = poses[written_name(pose, poses)]
        if action not in study.actions:
            faults.add(
                ("poses", i),
                f'is "{pose}", a pose of {action}, which is none of the actions: '
                "add the action or leave the pose out",
            )
    shown = {poses[written_name(pose, poses)] for pose in study.poses}
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
