"""Examples to learn from, with labels of our own making."""

import numpy as np
from limen.analysis.discern.learn import Examples


def made_examples(label_of, *, groups=60, per_group=20, noise=0.0, seed=0) -> Examples:
    """Examples with labels of our own making: label_of (N, 8) -> probability of label 1."""
    rng = np.random.default_rng(seed)
    n = groups * per_group
    values = np.column_stack([rng.uniform(0, 1, (n, 8)), rng.integers(0, 2, n)])
    labels = (rng.uniform(size=n) < label_of(values[:, :8])).astype(int)
    labels ^= rng.uniform(size=n) < noise
    of_group = np.repeat(np.arange(groups), per_group)
    names = tuple(f"{i}_{k}" for i in ("raw", "nv") for k in ("a", "b", "c", "d"))
    return Examples(
        keys=tuple((f"v{k:012x}-noon", "camera") for k in range(n)),
        values=values,
        labels=labels,
        groups=of_group,
        test=of_group >= 0.6 * groups,
        names=(*names, "shown_nv"),
        source="simulated",
        settings="0" * 16,
        parameters={"version": 1},
        dropped={},
        group_names=tuple(f"group{k:02d}" for k in range(groups)),
    )
