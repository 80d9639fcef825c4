"""A third party's kind of model: a file of its own, saved, opened by `bitfm.load` and served by an index."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import bitfm
from bitfm import Block, Blocks, DiscreteFM, ModelFileError, persist
from bitfm.models import BiasModel, register_kind
from bitfm.testing import CodeModelContract
from extending.rounded_fm import RoundedFM


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

    model = RoundedFM(bits=16)
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


def test_a_dataclass_over_one_of_bitfms_models_is_saved(data, tmp_path):
    """Its base's settings are of types that this module does not import, such as Any."""

    @register_kind
    @dataclass(eq=False, repr=False, kw_only=True)
    class ScaledFM(DiscreteFM):
        scale: float = 1.0

    model = ScaledFM(8, scale=2.0).fit(*data)
    model.save(tmp_path / "scaled.bitfm")
    assert bitfm.load(tmp_path / "scaled.bitfm").get_params() == model.get_params()


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
    (package / "entry_points.txt").write_text("[bitfm.kinds]\nRoundedFM = rounded_fm:RoundedFM\n")
    model.save(tmp_path / "rounded.bitfm", index=model.index())
    places = [str(tmp_path / "rounded.bitfm"), str(tmp_path), str(Path(__file__).parent)]
    child = subprocess.run([sys.executable, "-c", OPEN, *places], capture_output=True, text=True, check=True)
    assert child.stdout.splitlines() == ["True", str(best_of_all(model, 7, 10))]
