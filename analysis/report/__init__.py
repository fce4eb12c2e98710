"""The report: one HTML page that needs no network and no other file."""

from .build import ReportError, build_report, scores_file

__all__ = ["ReportError", "build_report", "scores_file"]
