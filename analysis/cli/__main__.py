"""`python -m limen.analysis.cli`."""

from . import main

main()
