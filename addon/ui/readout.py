"""What the shown camera sees, in numbers: read while drawing, so what costs time is kept.

All distances are along the optical axis, as the densities are (``core.zones``).
"""

from dataclasses import dataclass
from functools import lru_cache

import bpy

from ..core.optics import Camera, CameraPose
from ..core.standards import Scale, class_of, load_scales
from ..core.zones import Zone, class_seen_at, ground_zones, height_in_pixels, point_density
from ..operators.view import camera_count, camera_number
from ..preferences import in_feet
from ..properties import live
from ..properties.convert import camera_of
from ..properties.words import translated
from ..scene.camera_rig import camera_pose, is_moved
from ..scene.subject import SUBJECT
from ..scene.test_person import find_test_person

__all__ = [
    "PersonSeen",
    "Reading",
    "class_title",
    "density_text",
    "distance_text",
    "person_seen",
    "read_camera",
    "shown_optics",
    "subject_height_m",
    "subject_lines",
    "test_person_line",
    "test_person_seen",
]

_FEET = 0.3048  # metres, exactly
_NOTHING = "—"


@dataclass(frozen=True)
class Reading:
    """The shown camera, now.

    Attributes:
        camera: The optics that the study says.
        pose: Where the camera object stands and looks.
        scale: Whose classes are told.
        zones: What it sees on the ground.
        moved: Whether it was dragged away from the rig.
        subject_m: The look-at point.
    """

    camera: Camera
    pose: CameraPose
    scale: Scale
    zones: tuple[Zone, ...]
    moved: bool
    subject_m: tuple[float, float, float]

    @property
    def subject_density(self) -> float | None:
        """Pixels per metre at the look-at point, None behind the camera."""
        return point_density(self.camera, self.pose, self.subject_m)


@dataclass(frozen=True)
class PersonSeen:
    """A person on the ground, as the camera has it; the density is that of the ground it is on.

    Attributes:
        distance_m: Along the axis.
        density_px_per_m: There.
        class_name: In the picture; None outside, and below the lowest class.
        height_px: Sole to crown.
        height_m: Sole to crown.
    """

    distance_m: float
    density_px_per_m: float
    class_name: str | None
    height_px: float
    height_m: float


_optics: tuple[tuple, Camera | None] = ((), None)


def shown_optics(scene: bpy.types.Scene) -> Camera | None:
    """Return the optics that a scene's study says, None while they can be no camera's."""
    global _optics
    shown = scene.limen.study.camera
    key = (
        shown.sensor_width_mm,
        shown.sensor_height_mm,
        shown.lens_mm,
        shown.fnumber,
        *shown.resolution,
        shown.use_window,
        *shown.window,
        shown.exact,
    )
    if _optics[0] != key:
        try:
            found = camera_of(shown).optics()
        except ValueError:  # the study panel says what is wrong
            found = None
        _optics = key, found
    return _optics[1]


_reading: tuple[tuple, Reading | None] = ((), None)


def read_camera(scene: bpy.types.Scene) -> Reading | None:
    """Return what the shown camera of a scene's study sees, None while there is none."""
    global _reading
    settings = scene.limen
    if not (settings.is_open and settings.rig_placed) or scene.camera is None:
        return None
    camera = shown_optics(scene)
    if camera is None:
        return None
    shown = settings.study.camera
    matrix = tuple(tuple(row) for row in scene.camera.matrix_world)
    moved = is_moved(scene.camera)
    key = (camera, matrix, shown.scale, shown.look_at_height_m, moved)
    if _reading[0] != key:
        pose, scale = camera_pose(scene.camera), load_scales()[shown.scale]
        subject_m = (0.0, 0.0, shown.look_at_height_m)
        zones = ground_zones(camera, pose, scale)
        _reading = key, Reading(camera, pose, scale, zones, moved, subject_m)
    return _reading[1]


def person_seen(
    reading: Reading, foot_m: tuple[float, float, float], height_m: float
) -> PersonSeen | None:
    """Return how a person is seen that stands on a ground point, None behind the camera."""
    density = point_density(reading.camera, reading.pose, foot_m)
    height_px = height_in_pixels(reading.camera, reading.pose, foot_m, height_m)
    if density is None or height_px is None:
        return None
    name = class_seen_at(reading.camera, reading.pose, reading.scale, foot_m)
    return PersonSeen(reading.camera.focal_px / density, density, name, height_px, height_m)


def subject_height_m(scene: bpy.types.Scene) -> float:
    """Return the height above the ground of the subject as posed, or what the test person has."""
    item = scene.objects.get(SUBJECT)
    if item is None:
        return float(scene.limen.overlay.test_height_m)
    return float(max(corner[2] for corner in item.bound_box))


def test_person_seen(scene: bpy.types.Scene, reading: Reading) -> PersonSeen | None:
    """Return how the test person is seen, None where there is none or it is behind the camera."""
    item = find_test_person(scene)
    if item is None:
        return None
    x, y, _ = item.matrix_world.translation
    return person_seen(reading, (x, y, 0.0), item.matrix_world.to_scale()[2])


# --- in words ------------------------------------------------------------------------------------


def distance_text(distance_m: float, feet: bool) -> str:
    """Return a distance as ``5.38 m`` or ``17.6 ft``."""
    return f"{_figures(distance_m / _FEET)} ft" if feet else f"{_figures(distance_m)} m"


def density_text(density_px_per_m: float, feet: bool) -> str:
    """Return a pixel density as ``187.5 px/m`` or ``57.2 px/ft``."""
    if feet:
        return f"{_figures(density_px_per_m * _FEET)} px/ft"
    return f"{_figures(density_px_per_m)} px/m"


def _figures(value: float) -> str:
    """Return three figures or more, and no zero that says nothing: 5.38, 187.5, 250, 1008."""
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}".removesuffix(".0") if value < 1000 else f"{value:.0f}"


@lru_cache(maxsize=64)
def class_title(name: str | None) -> str:
    """Return a class as it is shown, with a word for none."""
    return translated(name.capitalize()) if name else translated("Below all classes")


def subject_lines(context: bpy.types.Context, reading: Reading) -> list[tuple[str, str]]:
    """Return (what, value) of what the shown camera makes of the subject."""
    scene, feet = context.scene, in_feet(context)
    study, density = live.state().study, reading.subject_density
    lines = []
    if study is not None:
        number, count = camera_number(scene.limen.cell, study), camera_count(study)
        lines.append((translated("Camera"), translated("{} of {}", number, count)))
    lines.append((translated("Height"), distance_text(float(reading.pose.position_m[2]), feet)))
    if density is None:
        lines.append((translated("Subject"), translated("behind the camera")))
    else:
        height_m = subject_height_m(scene)
        foot = (0.0, 0.0, 0.0)
        height_px = height_in_pixels(reading.camera, reading.pose, foot, height_m)
        tall = _NOTHING if height_px is None else f"{height_px:.0f} px"
        lines += [
            (translated("Density"), density_text(density, feet)),
            (translated("Class"), class_title(class_of(density, reading.scale))),
            (translated("Distance"), distance_text(reading.camera.focal_px / density, feet)),
            (translated("Person"), f"{tall}  ({distance_text(height_m, feet)})"),
        ]
    wide, high = reading.camera.image_fov_deg
    lines.append((translated("Field of view"), f"{wide:.1f}° × {high:.1f}°"))
    return lines


def test_person_line(context: bpy.types.Context, reading: Reading) -> str:
    """Return what the camera makes of the test person, "" where there is none."""
    scene, feet = context.scene, in_feet(context)
    if find_test_person(scene) is None:
        return ""
    seen = test_person_seen(scene, reading)
    if seen is None:
        return translated("Behind the camera")
    name = seen.class_name
    if name is None and class_of(seen.density_px_per_m, reading.scale) is not None:
        said = translated("outside the picture")
    else:
        said = class_title(name)
    return (
        f"{said} · {density_text(seen.density_px_per_m, feet)} · "
        f"{distance_text(seen.distance_m, feet)} · {seen.height_px:.0f} px"
    )
