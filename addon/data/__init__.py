"""Presets as data."""
