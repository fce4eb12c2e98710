"""What images are developed with: sensor, lens, motion, ISP, compression, by their names."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ...addon.core.study import CameraSetup, Study
from .compression import Compression
from .denoise import DENOISERS
from .isp import IspPreset, load_isp_presets
from .lens import LensModel, load_lenses
from .sensor import SensorModel, load_sensor_models

__all__ = ["DevelopChoiceError", "DevelopError", "Settings", "choose_settings", "known"]

_VERSION = 2  # of what is computed and recorded; another one makes other images

_PITCH_TOLERANCE = 0.01
_MOTION_LIMIT_PX_S = 100_000

Row = dict[str, Any]
_Preset = TypeVar("_Preset")


class DevelopError(Exception):
    """Images cannot be developed; the message says why and what to do."""


class DevelopChoiceError(ValueError):
    """There is no such preset, sensor, lens, variant or band."""


@dataclass(frozen=True)
class Settings:
    """What images are made with.

    Attributes:
        isp: Of night vision.
        sensor: Of both variants, as all that follows.
        seed: The study's.
        camera: The study's: f-number, shutter limit, pixels of the whole sensor.
        lens: Its distortion; None for a pinhole, as the rendered image is.
        motion_px_s: (right, down) speed of the whole image while the shutter is open, or None.
        compression: What the 8-bit image went through, or None.
    """

    isp: IspPreset
    sensor: SensorModel
    seed: int
    camera: CameraSetup
    lens: LensModel | None = None
    motion_px_s: tuple[float, float] | None = None
    compression: Compression | None = None

    def of(self, variant: str) -> Row:
        """Return the parameters that a variant's row records and its images depend on."""
        parts = {
            "sensor": self.sensor,
            "lens": self.lens,
            "compression": self.compression,
            "isp": self.isp if variant == "nv" else None,
        }
        tables = {key: asdict(part) if part else None for key, part in parts.items()}
        for table in tables.values():
            if table:
                table.pop("source", None)  # words only
        row = {"version": _VERSION, **tables, "motion_px_s": self.motion_px_s}
        return dict(json.loads(json.dumps(row)))  # as JSON gives it back: lists, not tuples

    def hash(self, variant: str) -> str:
        """Return 16 hex digits of a variant's parameters: equal ones make equal images."""
        text = json.dumps(self.of(variant), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def difference(self, row: Mapping[str, Any]) -> str:
        """Return the first parameter in which a develop row differs from these settings."""
        there, wanted = dict(_flat(row)), dict(_flat(self.of(row["variant"])))
        for key in {**wanted, **there}:
            if there.get(key) != wanted.get(key):
                return f"{key} {there.get(key)}, now {wanted.get(key)}"
        return f"settings {row['settings']}"


def _flat(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("version", "motion_px_s"):
        yield key, parameters.get(key)
    for key in ("sensor", "lens", "compression", "isp"):
        table = parameters.get(key)
        if isinstance(table, Mapping):
            named = sorted(table.items(), key=lambda item: item[0] != "name")  # its name first
            yield from ((f"{key}.{name}", value) for name, value in named)
        else:
            yield key, None


def choose_settings(
    study: Study,
    *,
    isp: str = "neutral-v1",
    denoiser: str | None = None,
    sensor: str | None = None,
    lens: str | None = None,
    motion_px_s: tuple[float, float] | None = None,
    compression: Compression | None = None,
) -> Settings:
    """Return the settings that some names stand for; see :func:`..run.develop_dataset`.

    Raises:
        DevelopChoiceError: There is no such preset, denoiser, sensor or lens, or the motion is
            none.
        IspPresetError: A file of ISP presets holds a wrong value; likewise ``SensorError`` and
            ``LensError``.
    """
    preset = _preset(isp, load_isp_presets, "ISP preset")
    if denoiser is not None:
        preset = replace(preset, denoiser=known(denoiser, DENOISERS, "denoiser"))
    if motion_px_s is not None and not math.hypot(*motion_px_s) <= _MOTION_LIMIT_PX_S:
        raise DevelopChoiceError(
            f"a motion of {motion_px_s[0]:g},{motion_px_s[1]:g} pixels a second is none: two "
            f"numbers of together at most {_MOTION_LIMIT_PX_S:,} are allowed"
        )
    return Settings(
        preset,
        _sensor(study, sensor),
        study.seed,
        study.camera,
        None if lens is None else _preset(lens, load_lenses, "lens"),
        motion_px_s if motion_px_s and any(motion_px_s) else None,
        compression,
    )


def known(name: str, names: Iterable[str], what: str) -> str:
    """Return a name that is among those there are.

    Raises:
        DevelopChoiceError: It is none of them; the message lists them.
    """
    if name not in names:
        raise DevelopChoiceError(f"there is no {what} '{name}'; there are {', '.join(names)}")
    return name


def _preset(name: str, load: Callable[[Path | None], dict[str, _Preset]], what: str) -> _Preset:
    """Return an embedded preset by its name, or the only one of a TOML file."""
    if not name.endswith(".toml"):
        presets = load(None)
        if name not in presets:
            raise DevelopChoiceError(
                f"there is no {what} '{name}'; there are {', '.join(presets)}, or name a file "
                "NAME.toml with one"
            )
        return presets[name]
    of_file = load(Path(name))
    if len(of_file) != 1:
        raise DevelopChoiceError(
            f"{name} holds {len(of_file)} presets ({', '.join(of_file)}): a file that stands for "
            f"the {what} holds one"
        )
    return next(iter(of_file.values()))


def _sensor(study: Study, name: str | None) -> SensorModel:
    if name is not None:
        return _preset(name, load_sensor_models, "sensor")
    models = load_sensor_models()
    pitch_um = 1000 * study.camera.sensor_width_mm / study.camera.resolution[0]
    for model in models.values():
        if model.filter != "mono" and abs(model.pixel_pitch_um / pitch_um - 1) <= _PITCH_TOLERANCE:
            return model
    sizes = ", ".join(f"{model.name} ({model.pixel_pitch_um:.2f})" for model in models.values())
    raise DevelopChoiceError(
        f"no sensor model has this camera's pixels of {pitch_um:.2f} um: name the one to use "
        f"(--sensor NAME), of {sizes}"
    )
