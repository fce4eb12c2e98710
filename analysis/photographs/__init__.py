"""Your own pictures as a dataset, so that they are checked, developed, asked about and reported.

A photograph knows little of what a rendered view knows: distance, pixel density, lux, camera and
pose are null unless a table tells them. ``docs/photographs.md`` says how the truth is told.
"""

from .importing import FORMS, Defaults, ImportSummary, PhotographsError, import_photographs

__all__ = ["FORMS", "Defaults", "ImportSummary", "PhotographsError", "import_photographs"]
