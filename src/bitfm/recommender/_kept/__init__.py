"""Columns of items that are kept as they are, to filter, boost and diversify by."""
