"""Ready studies."""
