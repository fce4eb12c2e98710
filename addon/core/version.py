"""Limen's version; ``blender_manifest.toml`` repeats it and a test holds them equal."""

__all__ = ["__version__"]

__version__ = "0.1.0"
