"""Build, light, render and measure scenes: bpy without a user interface."""
