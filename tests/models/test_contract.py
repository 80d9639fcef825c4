"""Bitfm's own models keep the contract that it asks of others; the true defaults do in ``test_defaults.py``."""

from bitfm import FM, BiasModel, DiscreteFM, DistilledFM
from bitfm.testing import CodeModelContract, FeatureModelContract


class TestBiasModel(FeatureModelContract):
    model = BiasModel(max_iter=20)


class TestFM(FeatureModelContract):
    model = FM(rank=5, n_iter=6)


class TestFMAcross(FeatureModelContract):
    model = FM(rank=5, n_iter=6, pairs="across")
    matrix_fields = (31, 32)


class TestFMBySGD(FeatureModelContract):
    model = FM(rank=5, solver="sgd", n_iter=6)


class TestFMByGibbs(FeatureModelContract):
    model = FM(rank=5, solver="gibbs", n_iter=8, n_samples=3)


class TestDiscreteFM(CodeModelContract):
    model = DiscreteFM(bits=16, max_iter=6)


class TestDistilledFM(CodeModelContract):
    model = DistilledFM(bits=16, teacher=FM(rank=4, solver="gibbs", n_iter=4, n_samples=2))
