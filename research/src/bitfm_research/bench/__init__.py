"""Benchmarks: each measures other libraries in the same run."""
