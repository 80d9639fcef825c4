"""A solver of FM that bitfm does not have: plain gradient descent in NumPy."""

import numpy as np

from bitfm.models.solvers import Solution, Solver, register_solver


def scores(x, p):
    """w0 + Σ w x + Σ_{i<j} ⟨v_i, v_j⟩ x_i x_j."""
    return p.bias + x @ p.weights + ((x @ p.factors) ** 2 - x**2 @ p.factors**2).sum(axis=1) / 2


def gradient_descent(problem):
    """Lower Σ e² / n + λ |w|² + λ |v|², with a step that is halved when it would raise it."""
    s, p = problem.settings, problem.start()
    blocks, y, _ = problem.train
    x = blocks.to_csr().toarray().astype(float)
    sizes = [field.size for field in blocks.fields]
    ridge_w, ridge_v = np.repeat(s.ridge_w, sizes), np.repeat(s.ridge_v, sizes)

    def objective(p):
        return ((y - scores(x, p)) ** 2).mean() + problem.penalty(p)

    step, least = 1.0, objective(p)
    for number in range(1, s.n_iter + 1):
        error = -2 * (y - scores(x, p)) / len(y)
        of_weights = x.T @ error + 2 * ridge_w * p.weights
        of_factors = x.T @ (error[:, None] * (x @ p.factors))
        of_factors += (2 * ridge_v - (x**2).T @ error)[:, None] * p.factors
        while True:
            new = p.copy()
            new.bias -= step * error.sum()
            new.weights -= (step * of_weights).astype(p.weights.dtype)
            new.factors -= (step * of_factors).astype(p.factors.dtype)
            if objective(new) <= least or step < 1e-12:
                break
            step /= 2
        p, least, step = new, objective(new), step * 2
        if problem.progress.report("gd", number, s.n_iter, least, least, validation=problem.rmse(p)):
            break
    return Solution(p)


register_solver("gd", Solver(gradient_descent, regularization=0.001, linear_regularization=0.0001, n_iter=60))
