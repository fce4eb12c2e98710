"""The report's numbers as files: CSV, Parquet, and LaTeX tables (booktabs)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...addon.core.dataset import replacing, write_file
from ..metrics.intervals import Estimate
from ..metrics.scores import OUTCOMES
from ..metrics.tables import NOT_ASKED, UNKNOWN
from . import text
from .actions import ActionTable
from .answers import Answerer, Answers
from .limits import AXES, Limits
from .results import Results

__all__ = ["csv_text", "latex_table", "pair_rows", "tables_directory", "write_tables"]

_TABLE_METRICS = ("accuracy", "balanced_accuracy", "sensitivity", "specificity", "macro_f1", "mcc")

Row = Mapping[str, Any]


def tables_directory(report: Path) -> Path:
    """``report_tables`` beside ``report.html``."""
    return report.with_name(f"{report.stem}_tables")


def write_tables(
    directory: Path,
    answers: Answers,
    people: Sequence[Answerer],
    results: Results,
    limits: Limits,
    actions: Sequence[ActionTable],
) -> tuple[Path, ...]:
    """Write every table: ``NAME.csv`` and ``NAME.parquet``, three of them as ``NAME.tex``.

    ``scores.csv`` has every factor, and pairs of factors where one is the pixel density;
    ``scores.parquet`` has all pairs.

    Returns:
        The files, by name.
    """
    tables = {
        "scores": _score_rows(results),
        "thresholds": _threshold_rows(limits),
        "failure_points": _failure_rows(limits),
        "comparisons": pair_rows(results),
        "night_vision": _gain_rows(results),
        "published_rule": _published_rows(results),
        "actions": _action_rows(actions),
    }
    files = []
    for name, rows in tables.items():
        if rows:
            few = [row for row in rows if name != "scores" or _is_short(row)]
            files += [_write_csv(directory, name, few), _write_parquet(directory, name, rows)]
    files.append(_write_parquet(directory, "answers", _answer_columns(answers, people)))
    for name, table in {
        "leaderboard": _leaderboard_tex(results),
        "thresholds": _thresholds_tex(limits),
        "published_rule": _published_tex(results),
    }.items():
        if table:
            path = directory / f"{name}.tex"
            write_file(path, table.encode())
            files.append(path)
    return tuple(sorted(files))


def _is_short(row: Row) -> bool:
    """Whether a score goes into the CSV: all pairs of factors would make it too long to open."""
    return " x " not in row["by"] or "density_px_per_m" in row["by"]


# --- rows ----------------------------------------------------------------------------------------


def _score_rows(results: Results) -> list[Row]:
    return [
        {
            "model": score.label,
            "truth": score.truth,
            "by": " x ".join(score.by) or "all",
            "level": " x ".join(map(_level, score.levels)) or "all",
            "metric": metric,
            **_numbers(estimate),
        }
        for score in results.scores.values()
        for metric, estimate in score.estimates.items()
    ]


def _level(level: Any) -> str:
    return f"{level:g}" if isinstance(level, int | float) else str(level)


def _numbers(estimate: Estimate) -> dict[str, Any]:
    low, high = estimate.interval or (None, None)
    return {
        "value": estimate.value,
        "low": low,
        "high": high,
        "n": estimate.n,
        "clusters": estimate.clusters,
    }


def _threshold_rows(limits: Limits) -> list[Row]:
    units = {axis.factor: axis.unit for axis in AXES}
    rows: list[Row] = []
    for curve in limits.curves:
        if curve.fit is None:
            continue
        for found in curve.fit.thresholds:
            ratio = curve.ratio_to_human if found.share == 0.5 else None
            rows.append(
                {
                    "model": curve.label,
                    "axis": curve.axis,
                    "unit": units[curve.axis],
                    "panel": curve.panel,
                    "share": found.share,
                    "threshold": found.value,
                    "low": found.interval[0],
                    "high": found.interval[1],
                    "slope_per_decade": curve.fit.slope,
                    "guess_rate": curve.fit.guess,
                    "lapse_rate": curve.fit.lapse,
                    "ratio_to": limits.reference if ratio else None,
                    "ratio": ratio[0] if ratio else None,
                    "ratio_low": ratio[1] if ratio else None,
                    "ratio_high": ratio[2] if ratio else None,
                    "n": curve.fit.n,
                    "clusters": curve.fit.clusters,
                    "design_effect": curve.fit.design_effect,
                    "warnings": "; ".join(curve.fit.warnings),
                }
            )
    return rows


def _failure_rows(limits: Limits) -> list[Row]:
    return [
        {
            "model": one.label,
            "axis": one.axis,
            "level": level,
            "surviving": surviving,
            "low": low,
            "high": high,
            "at_risk": at_risk,
            "failed": failed,
        }
        for one in limits.failures
        for level, surviving, low, high, at_risk, failed in zip(
            one.curve.levels,
            one.curve.surviving,
            one.curve.low,
            one.curve.high,
            one.curve.at_risk,
            one.curve.failed,
            strict=True,
        )
    ]


def pair_rows(results: Results) -> list[Row]:
    """Every comparison of two answerers."""
    return [
        {
            "first": pair.first,
            "second": pair.second,
            "difference": pair.comparison.difference.value,
            "low": (pair.comparison.difference.interval or (None, None))[0],
            "high": (pair.comparison.difference.interval or (None, None))[1],
            "only_first_right": pair.comparison.only_first,
            "only_second_right": pair.comparison.only_second,
            "p": pair.comparison.p_value,
            "p_holm": pair.p_holm,
            "p_mcnemar": pair.comparison.p_mcnemar,
            "n": pair.comparison.difference.n,
            "clusters": pair.comparison.difference.clusters,
        }
        for pair in results.pairs
    ]


def _gain_rows(results: Results) -> list[Row]:
    return [
        {
            "model": gain.label,
            "over": gain.over,
            "before": gain.before,
            "after": gain.after,
            "gain": gain.difference.value,
            "low": (gain.difference.interval or (None, None))[0],
            "high": (gain.difference.interval or (None, None))[1],
            "n": gain.difference.n,
            "clusters": gain.difference.clusters,
        }
        for gain in results.gains
    ]


def _published_rows(results: Results) -> list[Row]:
    return [
        {
            "model": row.label,
            "distance_m": metres,
            "condition": name,
            "accuracy": share,
            "macro_f1": row.macro_f1[metres][name],
        }
        for row in results.published
        for metres, of in row.accuracy.items()
        for name, share in of.items()
    ]


def _action_rows(tables: Sequence[ActionTable]) -> list[Row]:
    return [
        {
            "task": table.task,
            "model": result.label,
            "metric": metric,
            "density_px_per_m": density,
            **_numbers(estimate),
        }
        for table in tables
        for result in table.results
        for metric, density, estimate in (
            ("accuracy", None, result.accuracy),
            *(("accuracy", d, e) for d, e in result.by_density.items()),
            *([("embedding_score", None, result.similarity)] if result.similarity else []),
            *(("embedding_score", d, e) for d, e in result.similarity_by_density.items()),
            *([("chance_corrected", None, result.corrected)] if result.corrected else []),
        )
    ]


def _answer_columns(answers: Answers, people: Sequence[Answerer]) -> dict[str, list[Any]]:
    """A row per image: factors, truths, and what each answerer's answer came to."""
    items = answers.items
    columns: dict[str, list[Any]] = {
        "id": [row_id for row_id, _ in items.keys],
        "variant": [variant for _, variant in items.keys],
        "cluster": items.clusters.tolist(),
    }
    for name, factor in items.factors.items():
        if name != "variant":
            levels = (*factor.levels, None)
            columns[name] = [levels[code] for code in factor.codes]
    for name, truth in items.truths.items():
        columns[f"truth_{name}"] = [None if t == UNKNOWN else int(t) for t in truth]
    for one in people:
        if one.kind != "constant":
            name = f"{one.task}: {one.label}" if f"answer of {one.label}" in columns else one.label
            columns[f"answer of {name}"] = [
                None if code == NOT_ASKED else OUTCOMES[code] for code in one.outcomes
            ]
    return columns


# --- files ---------------------------------------------------------------------------------------


def csv_text(rows: Iterable[Row]) -> str:
    """Write rows as CSV; shares with six digits, empty where there is no number.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    rows = list(rows)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(rows[0].keys())
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row.values()])
    return file.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    words = str(value)
    return (
        f"'{words}"
        if words[:1] in ("=", "+", "-", "@", "\t", "\r") and isinstance(value, str)
        else words
    )


def _write_csv(directory: Path, name: str, rows: Sequence[Row]) -> Path:
    path = directory / f"{name}.csv"
    write_file(path, csv_text(rows).encode())
    return path


def _write_parquet(
    directory: Path, name: str, rows: Sequence[Row] | Mapping[str, list[Any]]
) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    path = directory / f"{name}.parquet"
    if isinstance(rows, Mapping):
        table = pa.table({key: pa.array(column) for key, column in rows.items()})
    else:
        table = pa.Table.from_pylist([dict(row) for row in rows])
    with replacing(path) as partial:
        parquet.write_table(table, partial)
    return path


# --- LaTeX ---------------------------------------------------------------------------------------


def latex_table(header: Sequence[str], rows: Iterable[Sequence[str]], note: str) -> str:
    r"""Write plain text as a tabular with booktabs rules (``\usepackage{booktabs}``)."""
    lines = [f"% {note}", f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", "\\toprule"]
    lines.append(" & ".join(map(_tex, header)) + r" \\")
    lines.append("\\midrule")
    lines += [" & ".join(map(_tex, row)) + r" \\" for row in rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


_TEX = {
    "\\": r"\textbackslash{}",
    "–": "--",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def _tex(words: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in words)


def _leaderboard_tex(results: Results) -> str:
    main = results.truths[0]
    rows = []
    for label in results.labels:
        score = results.find(label, main)
        if score is not None:
            cells = [
                _tex_cell(score.estimates[m], 100 if m != "mcc" else 1) for m in _TABLE_METRICS
            ]
            rows.append([label, f"{score.positives + score.negatives:,}", *cells])
    header = ["Model", "n", *(m.replace("_", " ") for m in _TABLE_METRICS)]
    return latex_table(
        header,
        rows,
        f"Against {main}; percent (MCC: -1 to 1), 95 % intervals clustered by subject and pose",
    )


def _tex_cell(estimate: Estimate, scale: float) -> str:
    if estimate.value is None:
        return text.UNDEFINED
    digits = 1 if scale == 100 else 2
    value = f"{scale * estimate.value:.{digits}f}"
    if estimate.interval is None:
        return value
    low, high = (f"{scale * end:.{digits}f}" for end in estimate.interval)
    return f"{value} ({low}–{high})"


def _thresholds_tex(limits: Limits) -> str:
    units = {axis.factor: axis.unit for axis in AXES}
    rows = [
        [
            curve.label,
            curve.panel,
            *(text.threshold(found, units[curve.axis]) for found in curve.fit.thresholds),
            f"{curve.fit.n:,}",
        ]
        for curve in limits.curves
        if curve.fit is not None
    ]
    if not rows:
        return ""
    return latex_table(
        ["Model", "Held", "50 %", "80 %", "n"],
        rows,
        "Thresholds at a share of the way from guess rate to ceiling, with 95 % intervals",
    )


def _published_tex(results: Results) -> str:
    if not results.published:
        return ""
    distances = sorted({metres for row in results.published for metres in row.accuracy})
    rows = [
        [
            row.label,
            *(
                f"{100 * row.accuracy[d]['overall']:.2f}/{100 * row.macro_f1[d]['overall']:.2f}"
                if d in row.accuracy
                else text.UNDEFINED
                for d in distances
            ),
        ]
        for row in results.published
    ]
    return latex_table(
        ["Model", *(f"{d:g} m" for d in distances)],
        rows,
        "The published rule: accuracy/macro-F1, unweighted mean over day, night and night vision",
    )
