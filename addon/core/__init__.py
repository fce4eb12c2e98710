"""The language of the benchmark: numpy and the standard library, no Blender."""
