"""Columns of tables as features: which kind a column is, what it has learnt, and its sparse table."""
