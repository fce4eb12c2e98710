"""An Open Job Description template, which ``openjd run`` and render farms execute.

Specification: jobtemplate-2023-09. A task is a process that takes views until none is left.
"""

import argparse
import json

from .command import DONE, WRONG_USE, open_views, say, worker_command

__all__ = ["launch", "template"]

_THREADS = 2


def launch(options: argparse.Namespace) -> int:
    """Write the template; returns the exit status."""
    options.threads = options.threads or _THREADS
    if open_views(options) is None:
        return WRONG_USE
    # JSON is YAML, and openjd reads both by the file's ending.
    if options.write.suffix not in (".json", ".yaml", ".yml"):
        say(f"--write {options.write}: a template is a .yaml or .json file")
        return WRONG_USE
    options.write.parent.mkdir(parents=True, exist_ok=True)
    options.write.write_text(json.dumps(template(options), indent=2) + "\n", encoding="utf-8")
    say(f"written: {options.write}; try it with: openjd run {options.write}")
    return DONE


def template(options: argparse.Namespace) -> dict:
    """Return the template as a table."""
    command, *arguments = worker_command(options)
    action = {"command": command, "args": [_literal(argument) for argument in arguments]}
    requirements: dict = {"amounts": [{"name": "amount.worker.vcpu", "min": options.threads}]}
    if options.device == "gpu":
        requirements["amounts"].append({"name": "amount.worker.gpu", "min": 1})
    return {
        "specificationVersion": "jobtemplate-2023-09",
        "name": f"Limen {options.study.stem}"[:128],
        "steps": [
            {
                "name": "Render",
                "parameterSpace": {
                    "taskParameterDefinitions": [
                        {"name": "Process", "type": "INT", "range": f"0-{options.shards - 1}"}
                    ]
                },
                "hostRequirements": requirements,
                "script": {"actions": {"onRun": action}},
            }
        ],
    }


def _literal(argument: str) -> str:
    """Keep a text from being read as a format string of the template."""
    if "{{" in argument:
        raise SystemExit(f"{argument}: a path with '{{{{' cannot stand in a template")
    return argument
