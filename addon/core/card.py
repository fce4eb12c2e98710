"""The dataset card: a README that travels with a dataset."""

from collections.abc import Sequence

from .factors import ViewSpec
from .study import Study

__all__ = ["dataset_card"]


def dataset_card(study: Study, views: Sequence[ViewSpec]) -> str:
    """Return the card in Markdown; equal studies have equal cards."""
    people = sum(view.target_present for view in views)
    camera = study.camera
    width, height = camera.window or camera.resolution
    lines = [
        f"# {study.name}",
        "",
        f"A {study.family} benchmark rendered by Limen: synthetic pictures, calibrated in pixels "
        "per metre and lux. `study.toml` holds every setting.",
        "",
        f"- {len(views)} views ({people} with a person, {len(views) - people} without), "
        f"each under {len(study.lightings)} lightings: {len(views) * len(study.lightings)} images "
        f"of {width} x {height} pixels",
        f"- distances {_list(camera.distances_m)} m; azimuths {_list(camera.azimuths_deg)}; "
        f"elevations {_list(camera.elevations_deg)} degrees",
        f"- actions: {', '.join(action.replace('_', ' ') for action in study.actions)}",
        f"- sceneries: {', '.join(study.sceneries)}",
        "- lightings: "
        + ", ".join(f"{item.name} ({item.illuminance_lx:g} lx)" for item in study.lightings),
        "",
        "The people are not real. Bodies and motion that carry a licence of their own are named in "
        "the rows, never included.",
        "",
        "Check it with `limen check`; the format is described in Limen's docs/dataset.md.",
        "",
    ]
    return "\n".join(lines)


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
