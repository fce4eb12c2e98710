"""Before a long render: check every view, and measure what rendering takes on this machine."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bpy

from ..core.dataset import write_file
from ..core.study import Study
from ..preferences import assets_dir, user_folder
from ..properties import live
from ..properties.words import translated
from ..scene import compat, stage
from ..scene.checks import Finding, checking
from .errors import reporting
from .estimate import Cost, Rates, cost_of, measuring
from .stepping import Stepping, Steps
from .study import StudyOperator, check_parts, scene_study

__all__ = ["CLASSES", "Estimate", "Report", "estimate", "preflight", "register", "unregister"]


# --- preflight -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What the last preflight found: its findings, of how many views, and of which study."""

    findings: tuple[Finding, ...]
    views: int
    study_text: str


_report: Report | None = None


def preflight() -> Report | None:
    """Return what the last preflight of this session found."""
    return _report


class LIMEN_OT_preflight(Stepping, bpy.types.Operator):
    """Check every view without rendering it: is the person in the picture, in sight, on the ground.

    Esc stops it.
    """

    bl_idname = "limen.preflight"
    bl_label = "Preflight"

    def steps(self, context: bpy.types.Context) -> Steps:
        """Check view after view."""
        study, specs = scene_study(context.scene)
        check_parts(study, None)
        self._text, self._views = live.current_state(context.scene).text, len(specs)
        return checking(study, specs, assets_dir(context))

    def finish(self, context: bpy.types.Context, result: list[Finding]) -> None:
        """Keep the findings for the panel."""
        global _report
        _report = Report(tuple(result), self._views, self._text)
        errors = sum(finding.error for finding in result)
        notes = len(result) - errors
        if errors:
            counts = errors, notes, self._views
            self.report({"WARNING"}, translated("{} faults and {} notes in {:,} views", *counts))
        else:
            text = translated("{:,} views are in order, {} notes", self._views, notes)
            self.report({"INFO"}, text)


class LIMEN_OT_show_finding(StudyOperator, bpy.types.Operator):
    """Show a view that this was found in; once more shows the next one."""

    bl_idname = "limen.show_finding"
    bl_label = "Show Finding"
    bl_options = {"REGISTER", "UNDO"}

    index: bpy.props.IntProperty(name="Finding", description="From 0", min=0)

    @reporting
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Set the view up, looked at through its camera."""
        if _report is None or self.index >= len(_report.findings):
            self.report({"ERROR"}, "There is no such finding: run Preflight")
            return {"CANCELLED"}
        views = [spec.view_id for spec in live.current_state(context.scene).views]
        ids = [i for i in _report.findings[self.index].view_ids if i in views]
        if not ids:
            self.report({"ERROR"}, "No view of the study as it is now has this: run Preflight")
            return {"CANCELLED"}
        shown = context.scene.limen.view_id
        wanted = ids[(ids.index(shown) + 1) % len(ids)] if shown in ids else ids[0]
        done: set[str] = bpy.ops.limen.set_up_view(number=views.index(wanted) + 1)
        if context.space_data is not None and context.space_data.type == "VIEW_3D":
            context.space_data.region_3d.view_perspective = "CAMERA"
        return done


# --- what it will cost ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """What the open study costs on this machine.

    Attributes:
        cost: Of the study as it is now; its seconds and bytes are 0 where nothing was measured.
        measured: When the rates were measured, None where they were not on this machine.
    """

    cost: Cost
    measured: datetime | None


_estimate: Estimate | None = None
_UNMEASURED = Rates(*[0.0] * 10)


def estimate() -> Estimate | None:
    """Return what the open study costs, None where none is open or it has faults."""
    return _estimate


def _rates_file() -> Path:
    return user_folder() / "rates.json"


def _rates_key(study: Study, device: str) -> str:
    """Return what rates depend on beyond the machine."""
    return f"{device}, {study.render.denoise}, Blender {compat.blender_version()}"


def _all_rates() -> dict[str, Any]:
    path = _rates_file()
    if not path.is_file():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # damaged: it is measured again
        return {}
    return kept if isinstance(kept, dict) else {}


def _keep_rates(key: str, rates: Rates) -> None:
    kept = {"measured": datetime.now(UTC).isoformat(timespec="seconds"), **asdict(rates)}
    text = json.dumps(_all_rates() | {key: kept}, indent=1)
    write_file(_rates_file(), text.encode())


def _kept_rates(key: str) -> tuple[Rates, datetime] | None:
    kept = _all_rates().get(key)
    try:
        measured = datetime.fromisoformat(kept["measured"])
        return Rates(**{name: float(kept[name]) for name in Rates.__annotations__}), measured
    except (KeyError, TypeError, ValueError):  # none, or of another version of Limen
        return None


def look_at_cost(scene: bpy.types.Scene) -> None:
    """Estimate the open study again from the rates that were measured."""
    global _estimate
    now = live.current_state(scene)
    _estimate = None
    if now.study is None:
        return
    found = _kept_rates(_rates_key(now.study, scene.limen.batch.device))
    rates, measured = found or (_UNMEASURED, None)
    _estimate = Estimate(cost_of(now.study, now.views, rates), measured)


class LIMEN_OT_measure(Stepping, bpy.types.Operator):
    """Render small parts of some views and say what the study takes here, in hours and gigabytes.

    What was measured is kept for this machine; edits of the study are estimated from it.
    """

    bl_idname = "limen.measure"
    bl_label = "Measure"

    def steps(self, context: bpy.types.Context) -> Steps:
        """Set views up and render tiles."""
        study, specs = scene_study(context.scene)
        device = context.scene.limen.batch.device
        self._key = _rates_key(study, device)
        return _on_device(device, measuring(study, specs, assets_dir(context)))

    def finish(self, context: bpy.types.Context, result: Rates) -> None:
        """Keep the rates."""
        _keep_rates(self._key, result)
        look_at_cost(context.scene)
        self.report({"INFO"}, translated("Measured"))


def _on_device(device: str, steps: Steps) -> Steps:
    """Take steps with the device that the batch will use; afterwards it is as it was."""
    scene = stage.stage_scene()
    before = scene.cycles.device
    compat.use_device(scene, device)
    try:
        return (yield from steps)
    finally:
        scene.cycles.device = before


CLASSES = (LIMEN_OT_preflight, LIMEN_OT_show_finding, LIMEN_OT_measure)


def register() -> None:
    """Estimate again after edits."""
    live.on_edit(look_at_cost)


def unregister() -> None:
    """Forget what was found."""
    global _report, _estimate
    _report = _estimate = None
