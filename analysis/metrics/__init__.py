"""Scores, thresholds and their uncertainty: pure functions of arrays, a file a topic.

- ``scores``: of yes/no answers, from counts.
- ``intervals``: clustered bootstrap, paired comparisons, correction for many.
- ``tables``: answers as columns, cut into cells by factors.
- ``psychometric``: fits and thresholds over pixel density or light.
- ``likelihood``: what they are fitted with.
- ``failure``: where along a factor an answer turns wrong, and survival curves.
- ``similarity``: actions named in a model's own words.
- ``constant``: runs held against constant answers.
- ``published``: the published aggregation and table.
- ``size_law``: score against the number of parameters.
"""
