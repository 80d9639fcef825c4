"""The draws of a Gibbs sampler in a model file: opened without copying, and refused if they are not what they seem."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

import bitfm
from bitfm import FM, ModelFileError, persist
from bitfm.models.solvers.gibbs import side_by_side

SAMPLES, RANK = 4, 3


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bitfm"


@pytest.fixture
def fitted(shop):
    return FM(rank=RANK, solver="gibbs", n_iter=9, n_samples=SAMPLES).fit(*shop)


@pytest.fixture
def saved(fitted, path):
    fitted.save(path)
    contents = persist.read(path)
    return dict(contents.tensors), dict(contents.metadata)


def mapped(array):
    """Whether the numbers of an array are those of a file in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


@pytest.mark.parametrize("kind", ["blocks", "float32", "float64", "across"])
def test_draws_come_back_as_they_were(shop, path, kind):
    X, y = shop
    if kind.startswith("float"):
        X = X.to_csr().astype(kind)
    pairs = "across" if kind == "across" else "all"
    model = FM(rank=RANK, solver="gibbs", n_iter=9, n_samples=SAMPLES, pairs=pairs).fit(X, y)
    model.save(path)
    back = bitfm.load(path)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.predict(X, return_std=True), model.predict(X, return_std=True))
    for name, array in model.samples_._asdict().items():
        np.testing.assert_array_equal(getattr(back.samples_, name), array)
        assert getattr(back.samples_, name).dtype == array.dtype
    assert back.bias_ == model.bias_ == np.mean(back.samples_.biases)
    np.testing.assert_array_equal(back.weights_, model.weights_)
    np.testing.assert_array_equal(back.factors_, model.samples_.factors[-1])


def test_draws_are_views_into_the_file(saved, path):
    back = bitfm.load(path)
    for array in (*back.samples_, back.factors_, back.weights_):
        assert mapped(array)
        assert not array.flags.writeable
    assert np.shares_memory(side_by_side(back.samples_), back.samples_.factors)
    assert mapped(side_by_side(back.samples_))


def test_draws_outlive_a_change_of_solver_until_the_next_fit(fitted, shop, path):
    X, y = shop
    fitted.set_params(solver="als").save(path)
    back = bitfm.load(path)
    np.testing.assert_array_equal(back.predict(X), fitted.predict(X))
    back.fit(X, y).save(path)
    assert not hasattr(bitfm.load(path), "samples_")
    assert set(persist.read(path).tensors) == {"bias", "weights", "factors"}


def test_a_loaded_chain_goes_on(fitted, shop, path):
    X, y = shop
    fitted.set_params(warm_start=True).save(path)
    np.testing.assert_array_equal(bitfm.load(path).fit(X, y).predict(X), fitted.fit(X, y).predict(X))


def refused(path, tensors, metadata, told):
    persist.write(path, tensors, metadata)
    with pytest.raises(ModelFileError, match=told) as error:
        bitfm.load(path)
    assert str(path) in str(error.value)


def test_samples_must_be_complete_and_stand_alone(saved, path):
    tensors, metadata = saved
    of_samples = {name for name in tensors if name.startswith(("sample_", "noise_"))}
    assert of_samples == {"sample_biases", "sample_weights", "sample_factors", "noise_precisions"}
    for name in of_samples:
        rest = {k: v for k, v in tensors.items() if k != name}
        refused(path, rest, metadata, f"lacks the tensor '{name}'")
        refused(path, rest | {"factors": np.zeros((63, RANK))}, metadata, f"lacks the tensor '{name}'")
    refused(path, tensors | {"factors": np.zeros((63, RANK))}, metadata, "factors")
    other = {k: v for k, v in tensors.items() if k not in of_samples}
    refused(path, other, metadata, "lacks the tensor 'factors'")


def test_samples_must_agree_on_their_number(saved, path):
    tensors, metadata = saved
    factors, fewer = tensors["sample_factors"], "sample_biases|sample_weights|noise_precisions"
    for other in (factors[:, :-1], np.repeat(factors, 2, axis=1)):
        refused(path, tensors | {"sample_factors": other.copy()}, metadata, fewer)
    for name in ("sample_biases", "sample_weights", "noise_precisions"):
        for other in (tensors[name][:-1], np.concatenate([tensors[name]] * 2), tensors[name][:1]):
            refused(path, tensors | {name: other.copy()}, metadata, name)
    none = {name: tensors[name][:0] for name in ("sample_biases", "sample_weights", "noise_precisions")}
    refused(path, tensors | none | {"sample_factors": factors[:, :0].copy()}, metadata, "0 samples")
    by_sample = np.ascontiguousarray(factors.transpose(1, 0, 2))
    for other in (by_sample, factors.reshape(63, -1), factors[..., None], factors[:-1].copy(), factors[:, :, :-1]):
        refused(path, tensors | {"sample_factors": np.ascontiguousarray(other)}, metadata, "sample")


def test_more_samples_than_can_be_scored_are_refused(path):
    FM(rank=1024, solver="gibbs", n_iter=1).fit(np.eye(2), [1.0, 2.0]).save(path)
    contents = persist.read(path)
    many = {
        "sample_biases": np.zeros(1025),
        "sample_weights": np.zeros((1025, 2)),
        "sample_factors": np.zeros((2, 1025, 1024), np.float32),
        "noise_precisions": np.ones(1025),
    }
    refused(path, contents.tensors | many, contents.metadata, "1025 samples, expected 1 to 1024")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("sample_biases", x) for x in (np.nan, np.inf, -np.inf)]
    + [("noise_precisions", x) for x in (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0)],
)
@pytest.mark.parametrize("place", [0, SAMPLES - 1])
def test_numbers_that_cannot_be_are_refused(saved, path, name, wrong, place):
    tensors, metadata = saved
    array = tensors[name].copy()
    array[place] = wrong
    refused(path, tensors | {name: array}, metadata, name)


@pytest.mark.parametrize("name", ["sample_biases", "noise_precisions"])
def test_single_numbers_of_samples_are_double(saved, path, name):
    tensors, metadata = saved
    refused(path, tensors | {name: tensors[name].astype(np.float32)}, metadata, f"{name}.*float64")


def test_draws_whose_rank_is_another_are_not_saved(fitted, path):
    with pytest.raises(ValueError, match=r"rank.*8.*3"):
        fitted.set_params(rank=8).save(path)
    assert not path.exists()
