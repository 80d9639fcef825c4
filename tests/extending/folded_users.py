"""A user tower of another package: users are folded in at query time, from the items that they have rated."""

import numpy as np

from bitfm.parameters import TowerRows
from bitfm.recommender import USER_TOWERS


class FoldedUsers:
    """A ridge regression of a user's ratings on the items' vectors: nothing of the user but the ratings counts."""

    def __init__(self, ridge: float = 5.0) -> None:
        self.ridge = ridge

    def rows(self, state, users, context, n_threads):
        """Return one row per query."""
        items, seen = state.all_rows("item"), state.log.by_user.take(users)
        vectors = np.zeros((len(users), items.vectors.shape[1]), np.float32)
        for query, (begin, end) in enumerate(zip(seen.indptr[:-1], seen.indptr[1:], strict=True)):
            rated = items.vectors[seen.indices[begin:end]].astype(np.float64)
            rest = seen.values[begin:end] - items.constants[seen.indices[begin:end]] - state.parameters.bias
            gram = rated.T @ rated + self.ridge * np.eye(rated.shape[1])
            vectors[query] = np.linalg.solve(gram, rated.T @ rest)
        return TowerRows.of_vectors(np.full(len(users), state.parameters.bias), vectors)


FOLDED = FoldedUsers()
USER_TOWERS.register("folded", FOLDED)
