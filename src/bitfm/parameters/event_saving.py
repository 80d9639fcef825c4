"""The layout of parameters of events in a file: what an item takes there is what it takes in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bitfm.data.blocks import FieldSpan
from bitfm.errors import ModelFileError
from bitfm.parameters.event_fold_in import EventWeights
from bitfm.parameters.feature_vectors import FeatureVectors
from bitfm.parameters.implicit import HISTORY, ID, ImplicitParameters, UserSide, feature_fields
from bitfm.parameters.item_codes import ItemCodes
from bitfm.parameters.neighbors import Neighbors
from bitfm.parameters.saving import Layout
from bitfm.parameters.steps import Steps
from bitfm.persist import Tensor, Tensors

__all__ = ["EventLayout"]

_NUMBERS = ("unobserved", "regularization", "scale", "repeat", "largest gain", "largest weight", "largest neighbor")
_COUNTS = ("observed items", "observed users", "signed weights")
_MOST_BITS = 4  # of a dimension
_MOST_RANK = 4096


class EventLayout(Layout):
    """Codes of items with a decoder, neighbours, and vectors of features."""

    tensors: ClassVar[Mapping[str, Tensor]] = {
        "codes": Tensor("uint8", "items bytes"),
        "gains": Tensor("uint8", "items"),
        "weights": Tensor("uint8", "items"),
        "decoder": Tensor("float32", "rows rank", -np.inf),
        "gram": Tensor("float64", "rank", 0),
        "neighbor_counts": Tensor("uint8", "items"),
        "neighbors": Tensor("uint8", "entries width"),
        "neighbor_values": Tensor("uint8", "entries"),
        "user_gram": Tensor("float64", "rank rank", -np.inf),
        "mean_user": Tensor("float32", "rank", -np.inf),
        "unknown_user": Tensor("float32", "rank", -np.inf),
        "feature_values": Tensor("int8", "known rank"),
        "feature_scales": Tensor("float32", "known"),
        "numbers": Tensor("float64", str(len(_NUMBERS)), 0),
        "counts": Tensor("int64", str(len(_COUNTS)), 0),
    }

    def pack(self, parameters: Any) -> dict[str, Any]:
        """Return the tensors of parameters."""
        p: ImplicitParameters = parameters
        numbers = (p.weights.unobserved, p.weights.regularization, p.neighbors.scale, p.repeat)
        largest = (p.items.gain_steps.largest, p.items.weight_steps.largest, p.neighbors.steps.largest)
        return {
            "codes": p.items.codes,
            "gains": p.items.gain_steps.bytes,
            "weights": p.items.weight_steps.bytes,
            "decoder": p.items.decoder,
            "gram": p.gram,
            "neighbor_counts": p.neighbors.counts,
            "neighbors": p.neighbors.targets,
            "neighbor_values": p.neighbors.steps.bytes,
            "user_gram": p.users.gram,
            "mean_user": p.users.mean,
            "unknown_user": p.users.unknown,
            "feature_values": p.features.values,
            "feature_scales": p.features.scales,
            "numbers": np.array([*numbers, *largest], np.float64),
            "counts": np.array([p.n_observed, p.users.n, p.items.weight_steps.signed], np.int64),
        }

    def unpack(self, fields: tuple[FieldSpan, ...], pairs: str, tensors: Tensors) -> Any:
        """Return the parameters of tensors that are as declared."""
        n_items, n_known = len(tensors["codes"]), len(tensors["feature_values"])
        sizes = {(field.block, field.name): field.size for field in fields}
        ends = (fields[0].block, HISTORY), (fields[-1].block, ID)
        if any(sizes.get(end) != n_items for end in ends) or fields[-1].name != ID or pairs != "across":
            raise ModelFileError(f"has fields {sizes}, but codes of {n_items} items")
        if sum(field.size for field in feature_fields(fields)) != n_known:
            raise ModelFileError(f"has vectors of {n_known} features, but fields {sizes}")
        (rows, rank), bits = tensors["decoder"].shape, 8 * tensors["codes"].shape[1]
        dimensions = min(rank, bits)
        if not 8 <= bits <= 512 or rank > _MOST_RANK or rows != dimensions + 1 or bits > _MOST_BITS * dimensions:
            raise ModelFileError(f"has codes of {bits} bits and a decoder of {rows} rows of {rank}, which do not fit")
        width = tensors["neighbors"].shape[1]
        if not 1 <= width <= 4:
            raise ModelFileError(f"has neighbours of {width} bytes, expected 1 to 4")
        numbers = dict(zip(_NUMBERS, map(float, tensors["numbers"]), strict=True))
        counts = dict(zip(_COUNTS, map(int, tensors["counts"]), strict=True))
        gains = Steps(tensors["gains"], numbers["largest gain"], signed=False)
        weights = Steps(tensors["weights"], numbers["largest weight"], signed=bool(counts["signed weights"]))
        values = Steps(tensors["neighbor_values"], numbers["largest neighbor"], signed=False)
        return ImplicitParameters(
            fields,
            ItemCodes(tensors["codes"], gains, weights, tensors["decoder"]),
            tensors["gram"],
            Neighbors(tensors["neighbor_counts"], tensors["neighbors"], values, numbers["scale"]),
            EventWeights(numbers["unobserved"], numbers["regularization"]),
            counts["observed items"],
            UserSide(tensors["user_gram"], tensors["mean_user"], tensors["unknown_user"], counts["observed users"]),
            FeatureVectors(tensors["feature_values"], tensors["feature_scales"]),
            numbers["repeat"],
        )
