"""The report: one HTML page that needs no network and no other file, and its tables beside it."""

from .build import Report, ReportError, build_report, compare_in_dataset

__all__ = ["Report", "ReportError", "build_report", "compare_in_dataset"]
