"""The experiments of the paper: every method, on the paper's splits, with its figures, its table and its claims."""
