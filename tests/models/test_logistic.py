"""FM with the logistic loss: no sweep raises the objective, and predictions are probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from bitfm import FM, DistilledFM
from problems import KINDS, float64, random_blocks, scores


def clicks(X, seed=0):
    rng = np.random.default_rng(seed)
    truth = scores(X, 0.3, rng.normal(size=X.n_features), rng.normal(size=(X.n_features, 2)) / 2, False)
    return (rng.random(len(X)) < expit(truth)).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_sweep_raises_the_objective(kind, weighted):
    X = random_blocks(kind, n=120)
    y, weight = clicks(X), np.random.default_rng(1).random(120) * 3 if weighted else None
    ridge = {"regularization": 0.5, "linear_regularization": 0.1}
    model = FM(rank=3, loss="logistic", n_iter=25, tol=0, init_scale=1, **ridge).fit(X, y, weight)
    values = np.array([step.objective for step in model.fit_log_])
    assert (values[1:] <= values[:-1] * (1 + 1e-6)).all()
    assert values[-1] < values[0]
    score = scores(X, model.bias_, model.weights_.astype(float), model.factors_.astype(float), False)
    loss = 2 * (np.ones(120) if weight is None else weight) @ (np.logaddexp(0, score) - y * score)
    assert model.fit_log_[-1].loss == pytest.approx(loss, rel=1e-4)
    penalty = 0.1 * (model.weights_**2).sum() + 0.5 * (model.factors_**2).sum()
    assert values[-1] == pytest.approx(loss + penalty, rel=1e-4)
    np.testing.assert_allclose(model.predict(X), expit(score), atol=1e-5)


def test_without_factors_it_ends_at_the_maximum_of_the_penalised_likelihood():
    X = float64(random_blocks("shared", n=150))
    y, x = clicks(X), X.to_csr().toarray()
    model = FM(rank=1, loss="logistic", init_scale=0, n_iter=3000, tol=0, linear_regularization=1.0).fit(X, y)

    def objective(parameters):
        score = parameters[0] + x @ parameters[1:]
        return 2 * (np.logaddexp(0, score) - y * score).sum() + (parameters[1:] ** 2).sum()

    best = minimize(objective, np.zeros(1 + x.shape[1]), tol=1e-12)
    assert model.fit_log_[-1].objective == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(np.append(model.bias_, model.weights_), best.x, atol=1e-3)


def test_it_stops_early_by_the_error_of_probabilities():
    X = random_blocks("mixed", n=300)
    model = FM(rank=2, loss="logistic", early_stopping=True, patience=2).fit(X, clicks(X))
    assert all(0 <= step.validation <= 1 for step in model.fit_log_)


def test_what_has_no_logistic_loss_says_so():
    X = random_blocks("shared", n=40)
    for solver in ("sgd", "gibbs"):
        with pytest.raises(ValueError, match=f"loss 'logistic' is not for solver '{solver}'; give one of 'als'"):
            FM(solver=solver, loss="logistic").fit(X, np.ones(40))
    with pytest.raises(ValueError, match="from 0 to 1, got 5"):
        FM(loss="logistic").fit(X, np.full(40, 5.0))
    with pytest.raises(ValueError, match="distilled from 'squared' only"):
        DistilledFM(8, teacher=FM(loss="logistic")).fit(X, np.ones(40))
