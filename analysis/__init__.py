"""Read a dataset, check it, evaluate models on it, report."""
