"""The only file that asks which Blender this is and what it can do (4.3 to 5.3)."""

from collections.abc import Mapping

import bpy

__all__ = [
    "DeviceError",
    "add_denoising",
    "blender_version",
    "enable_nodes",
    "has_denoiser",
    "is_module",
    "linear_picture_shader",
    "new_material",
    "remove_compositing",
    "set_exr",
    "set_samples",
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


def set_exr(image_settings: bpy.types.ImageFormatSettings, *, multilayer: bool) -> None:
    """Make a render write an uncompressed 32-bit OpenEXR file, of all its passes or its picture."""
    if hasattr(image_settings, "media_type"):  # 5.0 and later: the kind of media comes first
        image_settings.media_type = "MULTI_LAYER_IMAGE" if multilayer else "IMAGE"
    image_settings.file_format = "OPEN_EXR_MULTILAYER" if multilayer else "OPEN_EXR"
    image_settings.color_mode = "RGBA" if multilayer else "RGB"
    image_settings.color_depth = "32"
    image_settings.exr_codec = "NONE"


def set_samples(scene: bpy.types.Scene, first: int, count: int) -> None:
    """Set how many samples a pixel takes, and which of its sequence is the first."""
    cycles = scene.cycles
    cycles.sample_offset = first
    if hasattr(cycles, "use_sample_subset"):  # 4.4 and later
        cycles.samples = first + count
        cycles.use_sample_subset = True
        cycles.sample_subset_length = count
    else:
        cycles.samples = count


def add_denoising(
    scene: bpy.types.Scene, images: Mapping[str, bpy.types.Image]
) -> bpy.types.NodeTree:
    """Have a scene show an image denoised by the others; returns its nodes.

    Args:
        scene: A new one.
        images: ``Image``, ``Albedo`` and ``Normal``.
    """
    scene.render.use_compositing = True
    scene.render.use_sequencer = False
    scene.render.dither_intensity = 0.0
    scene.view_settings.view_transform = "Standard"
    if bpy.app.version < (5, 0):
        scene.use_nodes = True
        tree = scene.node_tree
        tree.nodes.clear()
        output = tree.nodes.new("CompositorNodeComposite")
    else:
        tree = bpy.data.node_groups.new("Limen Denoiser", "CompositorNodeTree")
        scene.compositing_node_group = tree
        tree.interface.new_socket("Image", in_out="OUTPUT", socket_type="NodeSocketColor")
        output = tree.nodes.new("NodeGroupOutput")
    node = tree.nodes.new("CompositorNodeDenoise")
    # FAST is nearer to the truth than HIGH at the few samples that are taken, and cheaper. The
    # prefilter of that name is none: the guides are taken as they are, and as not quite free of
    # noise.
    for name in ("prefilter", "quality"):
        if hasattr(node, name):  # 4.3 has no quality: there it is HIGH
            setattr(node, name, "FAST")
        elif name.title() in node.inputs:  # 5.0 and later
            node.inputs[name.title()].default_value = "Fast"
    for name, image in images.items():
        source = tree.nodes.new("CompositorNodeImage")
        source.image = image
        tree.links.new(source.outputs["Image"], node.inputs[name])
    tree.links.new(node.outputs[0], output.inputs[0])
    return tree


def remove_compositing(tree: bpy.types.NodeTree) -> None:
    """Remove the nodes of a scene that is no longer needed."""
    if bpy.app.version >= (5, 0):  # before, they are the scene's own
        bpy.data.node_groups.remove(tree)


def enable_nodes(
    datablock: bpy.types.Material | bpy.types.World | bpy.types.Light,
) -> bpy.types.NodeTree:
    """Return the node tree of a material, world or light, cleared."""
    # From 5.0 on always there for materials and worlds, where setting it warns; not for lamps.
    if bpy.app.version < (5, 0) or datablock.node_tree is None:
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
