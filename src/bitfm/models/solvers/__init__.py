"""How models are fitted: one file per solver."""
