"""Benchmarks: each measures its opponents in the same run."""
