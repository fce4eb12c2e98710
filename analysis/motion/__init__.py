"""Recorded human movement: read it, find poses in it, keep them as pose files."""
