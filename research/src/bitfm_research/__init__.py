"""Research with bitfm: benchmarks, the paper's experiments and baselines, and the preparation of raw data."""
