"""From scene-linear images to what a camera records and shows."""
