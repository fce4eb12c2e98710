"""Headless runs: render a study without a window."""
