"""The study file: what it may say, and how it is loaded, checked, resolved and saved.

``docs/study.md`` explains the file key by key. Loading either returns a :class:`Study` or raises
one :class:`StudyError` that lists every fault. Saving over a file changes only the values that were
edited and keeps its comments and layout.
"""

from .reading import load_study, parse_study
from .saving import brief_text, dump_study, resolve, save_study
from .values import (
    FAMILIES,
    RANDOM_BETAS,
    RANDOM_BETAS_LIMIT,
    SCENERIES,
    CameraSetup,
    Outputs,
    OwnScenery,
    RenderSettings,
    Sampling,
    Study,
    StudyError,
    Subject,
    with_distances,
)

__all__ = [
    "FAMILIES",
    "RANDOM_BETAS",
    "RANDOM_BETAS_LIMIT",
    "SCENERIES",
    "CameraSetup",
    "Outputs",
    "OwnScenery",
    "RenderSettings",
    "Sampling",
    "Study",
    "StudyError",
    "Subject",
    "brief_text",
    "dump_study",
    "load_study",
    "parse_study",
    "resolve",
    "save_study",
    "with_distances",
]
