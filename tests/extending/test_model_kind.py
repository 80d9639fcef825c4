"""A third party's kind of model: a file of its own, saved, opened by `bitfm.load` and served by an index."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
import scipy.sparse as sp

import bitfm
from bitfm import FM, Block, Blocks, ModelFileError, persist
from bitfm.core import pack_signs
from bitfm.data.blocks import FieldSizes
from bitfm.models import BiasModel, Callback, CodeModel, register_kind
from bitfm.testing import CodeModelContract

# The model


class RoundedFM(CodeModel):
    """The signs of a factorization machine's factors, and their mean length as gains.

    Parameters
    ----------
    bits : int, default 32
        Length of the codes, and rank of the machine.
    penalty : float or mapping of field names to floats, default 10.0
        λ of the machine.
    """

    def __init__(
        self,
        bits: int = 32,
        *,
        penalty: float | dict[str, float] = 10.0,
        random_state: Any = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.bits = bits
        self.penalty = penalty
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, fields: FieldSizes | None = None, callback: Callback | None = None) -> Self:
        """Fit the machine and round it."""
        fm = FM(self.bits, n_iter=5, regularization=self.penalty, pairs="across", random_state=self.random_state)
        fm.set_params(n_jobs=self.n_jobs).fit(X, y, fields=fields, callback=callback)
        self.fields_, self.n_features_in_, self.pairs_ = fm.fields_, fm.n_features_in_, fm.pairs
        self.bias_, self.weights_ = fm.bias_, fm.weights_
        self.codes_ = pack_signs(fm.factors_)
        self.gains_ = np.abs(fm.factors_).mean(axis=1).astype(np.float32)
        self.fit_log_, self.n_iter_ = fm.fit_log_, fm.n_iter_
        return self


# What it can do without a change to bitfm


@pytest.fixture(scope="module")
def data() -> tuple[Blocks, np.ndarray]:
    rng = np.random.default_rng(0)
    u, i = rng.integers(20, size=600), rng.integers(30, size=600)
    return Blocks(user=Block(u, {"id": sp.identity(20)}), item=Block(i, {"id": sp.identity(30)})), rng.normal(size=600)


@pytest.fixture(scope="module")
def model(data):
    return RoundedFM(bits=16, penalty={"user": 2.0, "item": 3.0}).fit(*data)


class TestRoundedFM(CodeModelContract):
    """All that bitfm asks of a model."""

    model = register_kind(RoundedFM)(bits=16)
    matrix_fields = (31, 32)


def best_of_all(model, user, n):
    """Return the best items of a user: score all, and sort."""
    users = Block([user] * 30, {"id": sp.identity(20)})
    scores = model.predict(Blocks(user=users, item=Block(range(30), {"id": sp.identity(30)})))
    return np.lexsort((np.arange(30), -scores))[:n].tolist()


def test_a_class_that_is_not_registered_is_not_saved(data, tmp_path):
    class OtherFM(RoundedFM):
        pass

    with pytest.raises(TypeError, match=r"OtherFM.*register_kind"):
        OtherFM(bits=8).fit(*data).save(tmp_path / "other.bitfm")
    assert not (tmp_path / "other.bitfm").exists()


def test_bitfms_own_names_cannot_be_taken():
    with pytest.raises(ValueError, match="another kind called 'BiasModel'"):
        register_kind(type("BiasModel", (BiasModel,), {}))


def test_its_settings_are_checked(model, tmp_path):
    path = tmp_path / "rounded.bitfm"
    model.save(path)
    contents = persist.read(path)
    for wrong in ('"penalty":"x"', '"penalty":{"user":null}', '"penance":1.0'):
        text = contents.metadata["model"].replace('"penalty":{"item":3.0,"user":2.0}', wrong)
        assert text != contents.metadata["model"]
        persist.write(tmp_path / "wrong.bitfm", contents.tensors, {"model": text})
        with pytest.raises(ModelFileError, match=r"wrong\.bitfm: has .*pena"):
            bitfm.load(tmp_path / "wrong.bitfm")


OPEN = """
import sys
import bitfm

path, *packages = sys.argv[1:]
try:
    bitfm.load(path)
except bitfm.ModelFileError as error:
    print("unknown kind 'RoundedFM'" in str(error))
sys.path += packages
print(bitfm.load(path).index().search([7], n=10)[0][0].tolist())
"""


def test_an_entry_point_of_its_package_is_enough(model, tmp_path):
    """In another process, which nobody has told of the model, before and after its package is installed."""
    package = tmp_path / "rounded-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: rounded\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[bitfm.kinds]\nRoundedFM = {Path(__file__).stem}:RoundedFM\n")
    model.save(tmp_path / "rounded.bitfm", index=model.index())
    places = [str(tmp_path / "rounded.bitfm"), str(tmp_path), str(Path(__file__).parent)]
    child = subprocess.run([sys.executable, "-c", OPEN, *places], capture_output=True, text=True, check=True)
    assert child.stdout.splitlines() == ["True", str(best_of_all(model, 7, 10))]
