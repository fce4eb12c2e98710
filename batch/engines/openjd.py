"""An Open Job Description template, which ``openjd run`` and render farms execute.

Specification: jobtemplate-2023-09. A task is a process that takes views until none is left.
"""

import argparse
import json
import re
import shlex

from ...addon.core.dataset import write_file
from .command import DONE, WRONG_USE, open_views, say, worker_command

__all__ = ["launch", "template"]

_THREADS = 2


def launch(options: argparse.Namespace) -> int:
    """Write the template; returns the exit status."""
    options.threads = options.threads or _THREADS
    # JSON is YAML, and openjd reads both by the file's ending.
    if options.write.suffix not in (".json", ".yaml", ".yml"):
        say(f"--write {options.write}: a template is a .yaml or .json file")
        return WRONG_USE
    for argument in worker_command(options):
        if "{{" in argument:  # to openjd, the begin of an expression
            say(f"{argument}: a path with '{{{{' cannot stand in a template: choose another name")
            return WRONG_USE
    views = open_views(options)
    if views is None:
        return WRONG_USE
    options.shards = min(options.shards, views.wanted)
    write_file(options.write, (json.dumps(template(options), indent=2) + "\n").encode())
    say(f"written: {options.write}; try it with: openjd run {shlex.quote(str(options.write))}")
    return DONE


def template(options: argparse.Namespace) -> dict:
    """Return the template as a table."""
    command, *arguments = worker_command(options)
    action = {"command": command, "args": arguments}
    requirements: dict = {"amounts": [{"name": "amount.worker.vcpu", "min": options.threads}]}
    if options.device == "gpu":
        requirements["amounts"].append({"name": "amount.worker.gpu", "min": 1})
    return {
        "specificationVersion": "jobtemplate-2023-09",
        "name": "Limen " + re.sub(r"[^\w .-]", "-", options.study.stem)[:100],
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
