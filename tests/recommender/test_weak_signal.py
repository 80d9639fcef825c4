"""Where there is little or nothing to learn, a recommender is no worse than biases alone."""

import numpy as np
import pytest

from bitfm import BiasModel, Block, Blocks, Recommender
from bitfm.evaluation import ndcg, rmse

N_USERS, N_ITEMS, N = 120, 80, 3000
SIGNALS = {"noise": (0.0, 0.0, 0.0), "weak": (0.15, 0.15, 0.15)}  # users, items, tastes


def ratings(signal, seed):
    """Return users, items and stars: mostly noise."""
    rng, (of_users, of_items, of_tastes) = np.random.default_rng(seed), SIGNALS[signal]
    users, items = np.divmod(rng.permutation(N_USERS * N_ITEMS)[:N], N_ITEMS)
    tastes = np.sum(rng.normal(size=(N_USERS, 3))[users] * rng.normal(size=(N_ITEMS, 3))[items], axis=1) / np.sqrt(3)
    score = of_users * rng.normal(size=N_USERS)[users] + of_items * rng.normal(size=N_ITEMS)[items] + of_tastes * tastes
    return users, items, np.clip(np.round(3.5 + score + rng.normal(size=N)), 1, 5)


@pytest.mark.true_teacher
@pytest.mark.parametrize("signal", SIGNALS)
def test_no_worse_than_biases_alone(signal):
    better = []
    for seed in range(4):
        users, items, y = ratings(signal, seed)
        test = np.random.default_rng(seed).random(N) < 0.5
        X = Blocks(user=Block(users, {"id": np.eye(N_USERS)}), item=Block(items, {"id": np.eye(N_ITEMS)}))
        biases = BiasModel().fit(X[~test], y[~test]).predict(X[test])
        rec = Recommender(random_state=seed)
        rec.fit({"user_id": users[~test], "item_id": items[~test], "rating": y[~test]})
        scores = rec.predict({"user_id": users[test], "item_id": items[test]})
        truth = users[test], y[test]
        better.append((rmse(y[test], biases) - rmse(y[test], scores), ndcg(*truth, scores) - ndcg(*truth, biases)))
    mean, noise = np.mean(better, axis=0), np.std(better, axis=0, ddof=1) / np.sqrt(len(better))
    assert (mean >= -2 * noise).all()
    assert mean[0] > 0  # what is learnt of noise is less
