"""How models are fitted: one file per solver. Those of `bitfm.FM` register themselves by name."""

from bitfm.models.solvers import descent, gibbs  # noqa: F401  (they register themselves)
from bitfm.models.solvers.registry import (
    SOLVERS,
    Examples,
    FMParameters,
    FMProblem,
    FMSettings,
    Solution,
    Solver,
    register_solver,
)  # fmt: skip

__all__ = ["SOLVERS", "Examples", "FMParameters", "FMProblem", "FMSettings", "Solution", "Solver", "register_solver"]
