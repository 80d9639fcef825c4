"""Codes, gains and weights in a file: of all features, or of those that have any, where these are few."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import FieldSpan
from bitfm.errors import ModelFileError
from bitfm.parameters.parameters import CodeParameters
from bitfm.parameters.saving import Layout
from bitfm.persist import Tensor, Tensors

__all__ = ["CodeLayout"]

_FEW = 2  # as many features, at least, as have something other than 0, where only these are in the file
_MOST = 64  # and at most: what is opened takes no more memory than so many times the file
_OF_FEATURES = ("codes", "gains", "weights")


_BIAS = {"bias": Tensor("float64", "", -np.inf)}


class CodeLayout(Layout):
    """A code, a gain and a weight for each feature.

    Ids, histories and raters have a feature for every id of a table, also for those without a rating, which have
    learned nothing. Where these are most, the file says which it has, and the others are made when it is opened.
    """

    tensors: ClassVar[Mapping[str, Tensor]] = _BIAS | {
        "weights": Tensor("float32 float64", "features"),
        "codes": Tensor("uint8", "features bytes"),
        "gains": Tensor("float32", "features"),
    }
    some: ClassVar[Mapping[str, Tensor]] = _BIAS | {
        "weights": Tensor("float32 float64", "learned"),
        "codes": Tensor("uint8", "learned bytes"),
        "gains": Tensor("float32", "learned"),
        "has_learned": Tensor("uint8", "eighths"),
    }

    def declared(self, tensors: Tensors) -> Mapping[str, Tensor]:
        """Return what the tensors of a file must be."""
        return self.some if "has_learned" in tensors else self.tensors

    def of_parameters(self, parameters: Any) -> set[str]:
        """Return the names of all tensors: none is of anything else."""
        return set(self.some)

    def pack(self, parameters: Any) -> dict[str, Any]:
        """Return the tensors of parameters."""
        tensors = super().pack(parameters)
        learned = (tensors["gains"] != 0) | (tensors["weights"] != 0) | tensors["codes"].any(axis=1)
        n, n_learned = len(learned), int(np.count_nonzero(learned))
        if not _FEW * n_learned <= n <= _MOST * n_learned:
            return tensors
        kept = {name: tensors[name][learned] for name in _OF_FEATURES}
        return {**tensors, **kept, "has_learned": np.packbits(learned, bitorder="little")}

    def unpack(self, fields: tuple[FieldSpan, ...], pairs: str, tensors: Tensors) -> CodeParameters:
        """Return the parameters of tensors that are as declared."""
        if not 1 <= tensors["codes"].shape[1] <= 64:
            raise ModelFileError(f"has codes of {tensors['codes'].shape[1]} bytes, expected 1 to 64")
        bias = float(tensors["bias"])
        if "has_learned" not in tensors:
            return CodeParameters(fields, bias, tensors["weights"], tensors["codes"], tensors["gains"], pairs)
        n = fields[-1].stop
        learned = _learned(tensors["has_learned"], n, len(tensors["gains"]))
        codes, gains, weights = (_all_of(tensors[name], learned, n) for name in _OF_FEATURES)
        return CodeParameters(fields, bias, weights, codes, gains, pairs)


def _learned(bits: npt.NDArray[np.uint8], n: int, n_learned: int) -> npt.NDArray[np.intp]:
    """Return which features a file has, by a bit each."""
    if len(bits) != -(-n // 8) or n > _MOST * n_learned:
        raise ModelFileError(f"has {n_learned:,} of {n:,} features, and {len(bits):,} bytes that say which")
    learned = np.flatnonzero(np.unpackbits(bits, count=n, bitorder="little").view(bool))
    if len(learned) != n_learned:
        raise ModelFileError(f"says of {len(learned):,} features that it has them, but has {n_learned:,}")
    return learned


def _all_of(some: npt.NDArray[Any], learned: npt.NDArray[np.intp], n: int) -> npt.NDArray[Any]:
    """Return the rows of all features, which like those of a file are not to be written to."""
    rows = np.zeros((n, *some.shape[1:]), some.dtype)
    row = np.dtype((np.void, some.dtype.itemsize * math.prod(some.shape[1:])))  # in one piece: a tenth of the time
    rows.view(row).ravel()[learned] = some.view(row).ravel()
    rows.flags.writeable = False
    return rows
