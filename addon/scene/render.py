"""Rendering with Cycles into numpy arrays: settings, crops, and reading the passes back."""

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.image_io import Box, read_channels
from . import compat

__all__ = [
    "Passes",
    "RenderError",
    "Shot",
    "configure",
    "forget_pictures",
    "render_channels",
    "render_passes",
    "stacked",
]

Passes = Mapping[str, NDArray[np.float32]]
"""Channel -> (h, w) values, as ``Combined.R``."""

_MEMORY = Path("/dev/shm")  # Linux: a frame is written and read back at once
_SCRATCH = f"limen-{platform.node()}-"
_INDEX_PASSES = ("IndexOB", "Object Index")  # the second from 5.0 on


class RenderError(RuntimeError):
    """A render that failed or gave no usable picture."""


@dataclass(frozen=True)
class Shot:
    """One render.

    Attributes:
        samples: Per pixel.
        seed: Of Cycles.
        guides: Also give what a denoiser goes by, see :func:`~.denoise.guides_of`.
        exact_pixels: Sample pixel centres alone, for masks and depth.
        box: ``(x, y, width, height)`` to render; None for the whole image.
    """

    samples: int
    seed: int = 0
    guides: bool = False
    exact_pixels: bool = False
    box: Box | None = None


def configure(scene: bpy.types.Scene, device: str = "cpu") -> str:
    """Set everything that holds for all renders of a scene; returns the device in words.

    Nothing here may change the light: no clamping, no light thresholds, no adaptive stop. What
    changes the speed was measured: the manual importance map and FAST prefilter take most of the
    fixed cost away, the light tree costs quality where lights differ in strength.
    """
    render, cycles = scene.render, scene.cycles
    render.engine = "CYCLES"
    render.resolution_percentage = 100
    render.use_persistent_data = True
    render.use_file_extension = False
    render.use_compositing = False
    render.use_sequencer = False
    render.use_motion_blur = False
    render.dither_intensity = 0.0
    scene.view_settings.view_transform = "Standard"
    compat.set_exr(render.image_settings, multilayer=True)
    # The default, blue noise, gives other noise after a render of more samples: what a picture
    # shows would depend on what was rendered before it.
    cycles.sampling_pattern = "TABULATED_SOBOL"
    cycles.use_adaptive_sampling = False
    cycles.use_light_tree = False
    cycles.light_sampling_threshold = 0.0
    cycles.sample_clamp_direct = 0.0
    cycles.sample_clamp_indirect = 0.0
    cycles.blur_glossy = 0.0
    cycles.caustics_reflective = False
    cycles.caustics_refractive = False
    cycles.max_bounces = 4
    cycles.diffuse_bounces = 4
    cycles.glossy_bounces = 2
    cycles.transmission_bounces = 2
    cycles.transparent_max_bounces = 8
    cycles.use_auto_tile = False
    cycles.use_denoising = False  # see denoise.py
    view_layer = scene.view_layers[0]
    view_layer.use_pass_z = True
    view_layer.use_pass_object_index = True
    _sweep_memory()
    return compat.use_device(scene, device)


def render_passes(scene: bpy.types.Scene, shot: Shot) -> dict[str, NDArray[np.float32]]:
    """Render and return the passes by channel.

    Returns:
        ``Combined.R`` (and G, B, A), ``Depth.Z`` and ``IndexOB.X`` -> (h, w) float32 of the box;
        with guides also ``Denoising Albedo.R`` (G, B) and ``Denoising Normal.X`` (Y, Z).

    Raises:
        RenderError: Blender failed or was cancelled.
    """
    cycles = scene.cycles
    # Cycles takes the first sample of a sequence at the pixel's centre, whatever the seed: a few
    # would show edges too sharp, and in all layers alike. A sequence is even over as many samples
    # as a power of two, from a multiple of it on.
    first = 0 if shot.exact_pixels else 1 << (shot.samples - 1).bit_length()
    compat.set_samples(scene, first, shot.samples)
    cycles.seed = shot.seed
    scene.view_layers[0].cycles.denoising_store_passes = shot.guides
    cycles.pixel_filter_type = "BOX" if shot.exact_pixels else "BLACKMAN_HARRIS"
    cycles.filter_width = 0.01 if shot.exact_pixels else 1.5
    scene.render.film_transparent = True  # a viewport preview may have shown the sky
    _set_border(scene.render, shot.box)
    return {_pass_name(name): pixels for name, pixels in render_channels(scene).items()}


def render_channels(scene: bpy.types.Scene) -> dict[str, NDArray[np.float32]]:
    """Render a scene as it is set and return the channels of its file.

    Raises:
        RenderError: Blender failed or was cancelled.
    """
    with _scratch_directory() as directory:
        path = directory / "render.exr"
        scene.render.filepath = str(path)
        with _quiet_stdout():
            try:
                bpy.ops.render.render(write_still=True, scene=scene.name)
            except RuntimeError as error:
                raise RenderError(f"Blender could not render: {str(error).strip()}") from error
        if not path.exists():
            raise RenderError("the render was cancelled: no picture was written")
        return read_channels(path)


def forget_pictures() -> None:
    """Have Cycles forget what it keeps between renders; for whoever has removed an image.

    It knows an image by its place in memory: one that is made where another was removed is drawn
    as that other one (seen in 4.3 and 4.5, not in 5.2).
    """
    for scene in bpy.data.scenes:
        if scene.render.use_persistent_data:
            scene.render.use_persistent_data = False  # which frees it
            scene.render.use_persistent_data = True


def stacked(passes: Mapping[str, NDArray[np.float32]], name: str, channels: str) -> NDArray:
    """Return the channels of a pass as one (h, w, c) array."""
    return np.stack([passes[f"{name}.{channel}"] for channel in channels], axis=-1)


def _pass_name(channel: str) -> str:
    layer_pass, _, component = channel.rpartition(".")
    name = layer_pass.rpartition(".")[2]
    return f"{_INDEX_PASSES[0] if name in _INDEX_PASSES else name}.{component}"


def _set_border(render: bpy.types.RenderSettings, box: Box | None) -> None:
    render.use_border = render.use_crop_to_border = box is not None
    if box is None:
        return
    x, y, width, height = box
    full_width, full_height = render.resolution_x, render.resolution_y
    # A quarter pixel of slack: Blender truncates, and the exact fraction may fall a row short.
    render.border_min_x = (x + 0.25) / full_width
    render.border_max_x = min(1.0, (x + width + 0.25) / full_width)
    render.border_min_y = max(0.0, (full_height - y - height + 0.25) / full_height)
    render.border_max_y = min(1.0, (full_height - y + 0.25) / full_height)


@contextlib.contextmanager
def _scratch_directory() -> Iterator[Path]:
    parent = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    directory = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-", dir=parent))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _sweep_memory() -> None:
    """Remove the frames of killed renders: they would fill the memory until a restart."""
    for left in _MEMORY.glob(f"{_SCRATCH}*"):
        process = left.name.removeprefix(_SCRATCH).partition("-")[0]
        if not Path("/proc", process).exists():
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Keep Blender's own line per render out of a batch's output (its C code writes to fd 1)."""
    if not bpy.app.background:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(null)
        os.close(saved)
