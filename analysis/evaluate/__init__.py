"""Ask models about the images of a dataset, and keep every answer.

``runs/MODEL__TASK__VARIANT/predictions.jsonl`` holds a row per question, keyed by ``id`` and
``variant``; ``run.json`` beside it says which model, settings, prompt, versions and images the
answers come from, and when. Each answer is written as it comes: a killed run goes on where it
stopped, a finished one does nothing when it is repeated.
"""

from .items import PUBLISHED, choose_items, count_questions
from .run import ENGINES, RunSummary, evaluate, evaluate_all
from .table import OUTCOMES, EvaluateError, Run, read_runs

__all__ = [
    "ENGINES",
    "OUTCOMES",
    "PUBLISHED",
    "EvaluateError",
    "Run",
    "RunSummary",
    "choose_items",
    "count_questions",
    "evaluate",
    "evaluate_all",
    "read_runs",
]
