"""A kind of model of another package is saved and opened again: one class, and an entry point or a registration."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import bitfm
from bitfm.models import BiasModel, register_kind
from bitfm.models.base import FeatureModel

MODEL = '''
"""A model that scores everything alike."""

import numpy as np

from bitfm.models.base import FeatureModel


class MeanModel(FeatureModel):
    """The mean of the targets."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Take the mean."""
        blocks, y, _ = self._training_data(X, y, None, None)
        self.bias_, self.weights_ = float(y.mean()), np.zeros(blocks.n_features, np.float32)
        return self
'''


def test_a_file_of_another_packages_kind_opens_where_the_package_is(tmp_path):
    (tmp_path / "means.py").write_text(MODEL)
    about = tmp_path / "means-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: means\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[bitfm.kinds]\nMeanModel = means:MeanModel\n")

    def run(code, path):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path / "work", timeout=240, check=False
        )

    (tmp_path / "work").mkdir()
    save = "import numpy, means; means.MeanModel().fit(numpy.eye(3), [1.0, 2.0, 6.0]).save('mean.bitfm')"
    assert run(save, tmp_path).stderr == ""
    load = "import sys, numpy, bitfm; print(bitfm.load('mean.bitfm').predict(numpy.eye(3)), 'means' in sys.modules)"
    assert run(load, tmp_path).stdout == "[3. 3. 3.] True\n"
    told = run(load, tmp_path / "nowhere").stderr
    assert "mean.bitfm: holds a model of unknown kind 'MeanModel'; install the package it comes from" in told


def test_a_class_is_registered_for_this_process(tmp_path):
    class Constant(FeatureModel):
        def __init__(self, n_jobs: int | None = None) -> None:
            self.n_jobs = n_jobs

        def fit(self, X, y):
            self._training_data(X, y, None, None)
            self.bias_, self.weights_ = 1.5, np.zeros(2, np.float32)
            return self

    model = Constant().fit(np.eye(2), [0.0, 1.0])
    with pytest.raises(TypeError, match="register_kind"):
        model.save(tmp_path / "constant.bitfm")
    assert register_kind(Constant) is Constant
    model.save(tmp_path / "constant.bitfm")
    assert isinstance(bitfm.load(tmp_path / "constant.bitfm"), Constant)


def test_bitfms_own_names_cannot_be_taken():
    with pytest.raises(ValueError, match="another kind called 'BiasModel'"):
        register_kind(type("BiasModel", (BiasModel,), {}))
