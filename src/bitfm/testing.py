# ruff: noqa: D102 - the name of a test says what it tests
"""Contract tests that the author of a model inherits; they need pytest.

A class of tests whose name begins with ``Test`` names the model, and pytest runs everything that bitfm asks of it:

.. code-block:: python

    from bitfm.testing import CodeModelContract


    class TestMyModel(CodeModelContract):
        model = MyModel(bits=16)
"""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bitfm
from bitfm.data import Block, Blocks
from bitfm.data.blocks import FieldSizes
from bitfm.models import CodeModel
from bitfm.models.base import FeatureModel

try:
    import pytest
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("bitfm.testing needs pytest; get it with: pip install pytest", name="pytest") from error

__all__ = ["CodeModelContract", "FeatureModelContract", "small_shop"]

Floats = npt.NDArray[np.float64]


def small_shop() -> tuple[Blocks, Floats]:
    """Return 500 ratings by ids and features of both sides, with something to learn in them."""
    rng = np.random.default_rng(0)
    n_users, n_items, n = 30, 20, 500
    u, i = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    words = sp.csr_matrix(sp.random(n_items, 12, 0.2, random_state=1))
    taste = words.toarray() @ rng.normal(size=(n_users, 12)).T
    y = 3 + rng.normal(size=n_users)[u] + rng.normal(size=n_items)[i] + taste[i, u]
    X = Blocks(
        user=Block(u, {"id": sp.identity(n_users), "age": rng.random((n_users, 1))}),
        item=Block(i, {"id": sp.identity(n_items), "words": words}),
    )
    return X, y


def _shuffled(matrix: sp.csr_matrix) -> sp.coo_matrix:
    """Return the matrix with its entries in disorder, each split in two."""
    coo = matrix.tocoo()
    order = np.random.default_rng(0).permutation(2 * coo.nnz)
    data, rows, columns = (np.concatenate([part, part])[order] for part in (coo.data / 2, coo.row, coo.col))
    return sp.coo_matrix((data, (rows, columns)), shape=coo.shape)


class FeatureModelContract:
    """What bitfm asks of every model; a test of an argument that the model does not have is skipped.

    Attributes
    ----------
    model : FeatureModel
        The model, not fitted: every test fits a clone of its own. Settings that make a fit quick save time.
    matrix_fields : mapping or sequence of int, optional
        What ``fit`` needs as ``fields=`` beside a plain matrix, where the model pairs features of different blocks.
    """

    model: ClassVar[Any]
    matrix_fields: ClassVar[FieldSizes | None] = None
    _fits: ClassVar[dict[type, tuple[Any, Floats]]] = {}

    def problem(self) -> tuple[Blocks, Floats]:
        """Return two blocks or more and their targets; override it where `small_shop` does not suit the model."""
        return small_shop()

    def fresh(self, **settings: Any) -> Any:
        """Return the model, not fitted, with these settings."""
        return clone(self.model).set_params(**settings)

    def fitted(self) -> tuple[Any, Blocks, Floats]:
        """Return the model fitted to the problem, once for all tests, with the problem; do not change it."""
        X, y = self.problem()
        if type(self) not in self._fits:
            model = self.fresh().fit(X, y)
            self._fits[type(self)] = model, model.predict(X)
        model, expected = self._fits[type(self)]
        np.testing.assert_array_equal(model.predict(X), expected, "a test has changed the fitted model")
        return model, X, y

    def need(self, argument: str) -> None:
        """Skip the test of a model whose ``fit`` or constructor lacks an argument."""
        if argument not in {*inspect.signature(type(self.model).fit).parameters, *self.model.get_params()}:
            pytest.skip(f"{type(self.model).__name__} has no {argument}")

    # Settings

    def test_settings_are_kept_as_they_are_given(self) -> None:
        model, X, y = self.fresh(), *self.problem()
        before = dict(vars(model))
        assert before.keys() == model.get_params(deep=False).keys(), "the constructor sets its parameters, nothing else"
        model.fit(X, y)
        assert all(vars(model)[name] is value for name, value in before.items()), "a fit leaves the settings alone"
        assert isinstance(model, FeatureModel)
        assert not hasattr(clone(model), "weights_")

    # Input

    def test_every_form_of_a_matrix_gives_the_same_model(self) -> None:
        X, y = self.problem()
        csr = X.to_csr()
        given = csr.copy(), y.copy()
        fields = {} if self.matrix_fields is None else {"fields": self.matrix_fields}
        expected = self.fresh().fit(csr, y, **fields).predict(csr)
        assert abs(csr - given[0]).nnz == 0, "a fit leaves its input alone"
        np.testing.assert_array_equal(y, given[1])
        for form in (csr.tocsc(), _shuffled(csr), csr.toarray(), Blocks.from_matrix(csr, self.matrix_fields)):
            model = self.fresh().fit(form, y, **({} if isinstance(form, Blocks) else fields))
            np.testing.assert_array_equal(model.predict(form), expected, f"of {type(form).__name__}")
            np.testing.assert_array_equal(model.predict(csr), expected, f"of {type(form).__name__}")

    def test_blocks_and_matrices_are_scored_alike(self) -> None:
        model, X, _ = self.fitted()
        expected, csr = model.predict(X), X.to_csr()
        assert expected.dtype == np.float64
        for form in (csr, csr.tocsc(), _shuffled(csr), csr.toarray(), np.asfortranarray(csr.toarray())):
            np.testing.assert_allclose(model.predict(form), expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(model.predict(csr.astype(np.float32)), expected, rtol=0, atol=1e-4)
        np.testing.assert_allclose([model.predict(X[s])[0] for s in range(9)], expected[:9], rtol=0, atol=1e-12)

    def test_nothing_is_scored_as_nothing(self) -> None:
        model, X, _ = self.fitted()
        for none in (X[[]], X[5:5], X.to_csr()[:0], np.zeros((0, X.n_features))):
            assert model.predict(none).shape == (0,)
            assert model.predict(none).dtype == np.float64
        np.testing.assert_array_equal(model.predict(sp.csr_matrix((3, X.n_features))), [model.bias_] * 3)

    def test_a_single_interaction_is_enough(self) -> None:
        X, y = self.problem()
        prediction = self.fresh().fit(X[:1], y[:1]).predict(X)
        assert prediction.shape == (len(X),)
        assert np.isfinite(prediction).all()

    def test_bad_input_is_refused_and_leaves_the_model_as_it_was(self) -> None:
        fitted, X, y = self.fitted()
        csr, n = X.to_csr(), len(y)
        spoilt, wrong = csr.copy(), y.copy()
        spoilt.data[7], wrong[7] = np.nan, np.inf
        cases: list[tuple[Any, Any, str | None]] = [
            (spoilt, y, "NaN"), (spoilt.toarray(), y, "NaN"), (csr, wrong, "infinity|inf"), (X, wrong, "infinity|inf"),
            (X, y[:-1], f"{n}, {n - 1}"), (csr, y[:-1], f"{n}, {n - 1}"),
            (X[[]], [], r"\b0\b"), (csr[:0], [], r"\b0\b"), (np.zeros((0, 3)), [], r"\b0\b"),
            (X, None, None), (X, "abc", None), (X, 3.0, None), (X, np.ones((n, 2)), None), (csr, ["a"] * n, None),
            (None, y, None), (3, y, None), ([1, 2], [1, 2], None), (np.ones((2, 2, 2)), [1, 2], None),
        ]  # fmt: skip
        model, unfitted = copy.deepcopy(fitted), self.fresh()
        for X_, y_, said in cases:
            for one in (model, unfitted):
                with pytest.raises((ValueError, TypeError), match=said):
                    one.fit(X_, y_)
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        with pytest.raises(NotFittedError):
            unfitted.predict(X)

    def test_other_columns_are_refused_with_both_numbers(self) -> None:
        model, X, _ = self.fitted()
        more = sp.hstack([X.to_csr(), sp.csr_matrix((len(X), 2))], format="csr")
        for given in (more, more.toarray(), Blocks.from_matrix(more), X.to_csr()[:, :-1]):
            with pytest.raises(ValueError, match=rf"{given.shape[1]} features.*{X.n_features} features"):
                model.predict(given)
        with pytest.raises(ValueError, match="fields"):
            model.predict(Blocks(**dict(reversed(X.blocks.items()))))

    # Repeatability

    def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(self) -> None:
        first, X, y = self.fitted()
        for n_jobs in (None, 1, 3) if "n_jobs" in self.model.get_params() else (None, None):
            model = self.fresh() if n_jobs is None else self.fresh(n_jobs=n_jobs)
            np.testing.assert_array_equal(model.fit(X, y).predict(X), first.predict(X))
        model = self.fresh().fit(X[::2], -y[::2]).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), first.predict(X), "a fit remembers the one before")

    # The end of a fit

    def test_the_callback_gets_every_iteration_and_true_stops_the_fit(self) -> None:
        self.need("callback")
        X, y = self.problem()
        log = self.fitted()[0].fit_log_
        last, starts = len(log), {place for place, item in enumerate(log, 1) if item.number == 1}
        for after in sorted(starts | {2, last + 1}):
            seen: list[Any] = []

            def stop(item: Any, seen: list[Any] = seen, after: int = after) -> bool:
                seen.append(item)
                return len(seen) == after

            model = self.fresh().fit(X, y, callback=stop)
            assert seen == model.fit_log_
            assert len(seen) == model.n_iter_ <= after
            assert after <= last or len(seen) == last
            assert np.isfinite(model.predict(X)).all()

    def test_a_fit_that_fails_or_is_interrupted_changes_nothing(self) -> None:
        self.need("callback")
        fitted, X, y = self.fitted()
        model, unfitted = copy.deepcopy(fitted), self.fresh()
        for error in (ZeroDivisionError("from the callback"), KeyboardInterrupt("from the callback")):

            def fail(_: object, error: BaseException = error) -> None:
                raise error

            for one in (model, unfitted):
                with pytest.raises(type(error), match="from the callback"):
                    one.fit(X[::2], -y[::2], callback=fail)
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        with pytest.raises(NotFittedError):
            unfitted.predict(X)

    # Files

    def test_a_model_that_is_not_fitted_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(NotFittedError):
            self.fresh().predict(self.problem()[0])
        with pytest.raises(NotFittedError):
            self.fresh().save(tmp_path / "model.bitfm")
        assert not any(tmp_path.iterdir())

    def test_it_comes_back_from_its_file_as_it_was(self, tmp_path: Path) -> None:
        model, X, y = self.fitted()
        path = tmp_path / "model.bitfm"
        model.save(path)
        back = bitfm.load(path)
        assert type(back) is type(model)
        np.testing.assert_array_equal(back.predict(X), model.predict(X))
        assert back.get_params(deep=False) == model.get_params(deep=False) | dict.fromkeys(model.unsaved)
        assert back.fields_ == model.fields_
        assert back.n_iter_ == model.n_iter_
        timeless = [replace(item, seconds=0.0) for item in model.fit_log_]
        assert repr(back.fit_log_) == repr(timeless)  # by their text, for NaN equals nothing
        back.save(path)  # over the very file it is mapped from
        again = bitfm.load(path).set_params(**{name: getattr(self.model, name) for name in model.unsaved})
        np.testing.assert_array_equal(again.fit(X, y).predict(X), model.predict(X))
        np.testing.assert_array_equal(back.predict(X), model.predict(X))
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.predict(X), model.predict(X))


class CodeModelContract(FeatureModelContract):
    """What bitfm asks of a model of codes beside: search, explanations and pairs that agree with its scores."""

    def _sides(self) -> tuple[CodeModel, Blocks, Blocks, str, Block]:
        """Return the fitted model, the problem, its users, the block of items, and one row for each item."""
        model, X, _ = self.fitted()
        name = "item" if "item" in X.blocks else [*X.blocks][-1]
        users = Blocks(**{other: block for other, block in X.blocks.items() if other != name})
        items = X.blocks[name]
        return cast(CodeModel, model), X, users, name, Block(range(items.n_rows), items.tables)

    def test_an_index_finds_what_sorting_all_scores_finds(self, tmp_path: Path) -> None:
        model, _, users, name, items = self._sides()
        index, n = model.index(items, block=name), len(items.rows)
        model.save(tmp_path / "model.bitfm", index=index)
        saved = bitfm.load(tmp_path / "model.bitfm").index()
        for q in range(min(7, len(users))):
            query = {other: Block(np.repeat(b.rows[q], n), b.tables) for other, b in users.blocks.items()}
            by_name = query | {name: items}
            scores = model.predict(Blocks(**{field.block: by_name[field.block] for field in model.fields_}))
            for each in (index, saved):
                positions, found = each.search(users[q : q + 1], n=min(10, n))
                np.testing.assert_allclose(found[0], -np.sort(-scores)[:10], rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(found[0], scores[positions[0]], rtol=1e-5, atol=1e-5)

    def test_an_explanation_adds_up_to_the_score(self) -> None:
        model, X, *_ = self._sides()
        for s in range(5):
            why = model.explain(X[s])
            parts = [f.contribution for f in why.features] + [pair.contribution for pair in why.pairs]
            sums = [why.score, why.bias + sum(parts) + why.other_pairs]
            np.testing.assert_allclose(sums, model.predict(X[s])[0], rtol=1e-4, atol=1e-5)
        with pytest.raises(ValueError, match="one interaction, got 2"):
            model.explain(X[:2])

    def test_pairs_and_real_numbers_are_scored_as_interactions_are(self) -> None:
        model, X, users, name, _ = self._sides()
        pairs = model.predict_pairs(users, X.blocks[name], block=name)
        np.testing.assert_allclose(pairs, model.predict(X), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model.to_float().predict(X), model.predict(X), rtol=1e-4, atol=1e-4)
