"""The only file that asks which Blender this is and what it can do (4.3 to 5.3)."""

import bpy

__all__ = [
    "DeviceError",
    "blender_version",
    "enable_nodes",
    "has_denoiser",
    "is_module",
    "linear_picture_shader",
    "new_material",
    "set_multilayer_exr",
    "use_device",
]

_GPU_BACKENDS = ("OPTIX", "CUDA", "HIP", "METAL", "ONEAPI")


class DeviceError(RuntimeError):
    """A render device that this Blender or machine does not have."""


def blender_version() -> str:
    """Return the version as ``4.5.15``."""
    return ".".join(str(part) for part in bpy.app.version)


def is_module() -> bool:
    """Return whether this is the bpy wheel in somebody's Python, rather than a Blender."""
    return bool(getattr(bpy.app, "module", False))  # 4.3 does not say


def has_denoiser() -> bool:
    """Return whether Cycles was built with OpenImageDenoise (Debian's Blenders are not)."""
    import _cycles

    return bool(getattr(_cycles, "with_openimagedenoise", False))


def linear_picture_shader() -> str:
    """Return the built-in shader that draws a picture of linear values as it should look."""
    # Until 4.5 viewports are drawn in linear values, from 5.0 on in those of the screen.
    return "IMAGE" if bpy.app.version < (5, 0) else "IMAGE_SCENE_LINEAR_TO_REC709_SRGB"


def set_multilayer_exr(image_settings: bpy.types.ImageFormatSettings) -> None:
    """Make a render write an uncompressed 32-bit multilayer OpenEXR file."""
    if hasattr(image_settings, "media_type"):  # 5.0 and later: the kind of media comes first
        image_settings.media_type = "MULTI_LAYER_IMAGE"
    image_settings.file_format = "OPEN_EXR_MULTILAYER"
    image_settings.color_depth = "32"
    image_settings.exr_codec = "NONE"


def enable_nodes(
    datablock: bpy.types.Material | bpy.types.World | bpy.types.Light,
) -> bpy.types.NodeTree:
    """Return the node tree of a material, world or light, cleared."""
    if bpy.app.version < (5, 0):  # always on from 5.0, where setting it warns
        datablock.use_nodes = True
    datablock.node_tree.nodes.clear()
    return datablock.node_tree


def new_material(name: str) -> tuple[bpy.types.Material, bpy.types.NodeTree]:
    """Return a material and its empty node tree, shaded alike in all versions.

    Cycles dims low light on tilted normals, to soften where shadow begins, and from 4.5 on in
    another way (Blender's pull request 135380): 6 % of a desert's light from the horizon lay
    between 4.3 and 4.5. Without it the cosine law holds in all.
    """
    material = bpy.data.materials.new(name)
    tree = enable_nodes(material)
    material.cycles.use_bump_map_correction = False
    return material, tree


def use_device(scene: bpy.types.Scene, device: str) -> str:
    """Make Cycles render ``scene`` on a device, whatever the user's preferences say.

    Args:
        scene: The scene to render.
        device: ``cpu`` or ``gpu``.

    Returns:
        The device in words.

    Raises:
        DeviceError: There is no such device; the message says what was looked for.
    """
    if device == "cpu":
        scene.cycles.device = "CPU"
        return "CPU"
    preferences = bpy.context.preferences.addons["cycles"].preferences
    for backend in _GPU_BACKENDS:
        try:
            preferences.compute_device_type = backend
        except TypeError:  # not in this build's list of backends
            continue
        preferences.refresh_devices()
        devices = [d for d in preferences.devices if d.type == backend]
        if devices:
            for entry in preferences.devices:
                entry.use = entry.type == backend
            scene.cycles.device = "GPU"
            return f"{backend}: {', '.join(d.name for d in devices)}"
    raise DeviceError(
        f"no GPU that Cycles can use was found (looked for {', '.join(_GPU_BACKENDS)}): "
        "render with --device cpu, or check the graphics driver"
    )
