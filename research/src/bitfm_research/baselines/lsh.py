"""Locality-sensitive hashing: users who share buckets say what they thought of an item."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data.blocks import Blocks, FieldSizes, FieldSpan
from bitfm.errors import ModelFileError
from bitfm.models.base import FeatureModel, Floats
from bitfm.parameters import FactorParameters, Layout
from bitfm.persist import Tensor, Tensors
from bitfm.validation import check_bits, check_choice, check_integer, check_real, thread_count
from sklearn.utils.validation import check_is_fitted

from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._minhash import buckets_of, minhash_codes

__all__ = ["LSH", "VOTES", "VotesLayout"]

_BUCKET_BITS = (1, 2, 4, 8)
_UNKNOWN = -1


@dataclass(eq=False, repr=False)
class LSH(FeatureModel):
    """Locality-sensitive hashing of users by the items they share, as for Google News (Das et al., WWW 2007).

    A user's code is MinHash of the items that the user has rated, an item's that of its raters: two codes agree in a
    bit with probability (1 + J) / 2, where J is the Jaccard similarity of the two sets. The bits of a hash function are
    a bucket (Gionis et al., VLDB 1999). A score is what those who share buckets with the user thought of the item,
    each with a vote per bucket: ŷ = m + Σ_v w_uv (r_vi − m) / (Σ_v w_uv + s) over the raters v of item i, with the mean
    m of all ratings. The weight w_uv is the number of shared buckets as a multiple of what chance gives,
    bits / bucket_bits / 2^bucket_bits.

    Unlike the other codes, those of users cannot be compared with those of items, and the model keeps the ratings. A
    user or an item without ratings shares no bucket; its score is m.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    bucket_bits : {1, 2, 4, 8}, default 1
        Bits of a hash function. With more, there are fewer and smaller buckets. With 1, each bit is a bucket, and the
        weight of a vote is the number of bits that agree.
    by : {"users", "items", "both"}, default "users"
        Whose buckets vote: users' as published; items', where an item's score is what the user thought of items that
        share buckets with it; or both, whose votes are added up.
    shrink : float, default 3.0
        s: votes for the mean.
    random_state : int, RandomState or None, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.

    Attributes
    ----------
    user_codes_, item_codes_ : arrays of uint8, ids × bits / 8
        Bit t is bit t % 8 of byte t // 8.
    users_, items_, ratings_ : arrays, one per rating
        Those that vote: who rated what, and how far from the mean.
    id_columns_ : array of int64, 2 × 2
        Where the ids of users, and those of items, begin and end among the features.
    bias_ : float
        m.

    Examples
    --------
    >>> import numpy as np
    >>> from bitfm_research.baselines import LSH
    >>> pairs = np.array([(user, item) for user in range(6) for item in range(4) if (user - item) % 2 == 0])
    >>> X = np.hstack([np.eye(6)[pairs[:, 0]], np.eye(4)[pairs[:, 1]]])  # each user has rated every other item
    >>> model = LSH(bits=64, bucket_bits=8).fit(X, [5.0, 1.0, 5.0, 1.0] * 3, fields=[6, 4])
    >>> model.predict(X[:4]).round()
    array([5., 1., 5., 1.])
    """

    bits: int = 64
    _: KW_ONLY
    bucket_bits: int = 1
    by: str = "users"
    shrink: float = 3.0
    random_state: Any = 0
    n_jobs: int | None = -1

    def fit(self, X: Any, y: Any, *, fields: FieldSizes | None = None) -> Self:
        """Hash users and items, and keep the ratings.

        Parameters
        ----------
        X : Blocks of users and items, each with one field of ids; or a matrix, with `fields`
        y : ratings
        fields : sizes of the fields, for a plain matrix; see `Blocks.from_matrix`
        """
        with self._fitting():
            self.__dict__.pop("weights_", None)  # of a fit to other blocks
            blocks, y, _ = self._training_data(X, y, None, fields)
            ratings = IdRatings.of(blocks, y, type(self).__name__)
            self._check_settings()
            rng = np.random.default_rng(self._seed())
            self.user_codes_ = self._codes(ratings.users, ratings.items, ratings.n_users, ratings.n_items, rng)
            self.item_codes_ = self._codes(ratings.items, ratings.users, ratings.n_items, ratings.n_users, rng)
            self.bias_ = float(np.mean(y))
            self.users_, self.items_, self.ratings_ = ratings.users, ratings.items, y - self.bias_
            columns = ratings.user_columns, ratings.item_columns
            self.id_columns_ = np.array([(each.start, each.stop) for each in columns], np.int64)
            self.weights_ = np.zeros(blocks.n_features, np.float32)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return a score for every interaction of `Blocks`, or of a matrix with the columns of the fit."""
        check_is_fitted(self)
        self._check_settings()
        blocks = self._prediction_blocks(X)
        users, items = (_ids(blocks, slice(*columns)) for columns in self.id_columns_.tolist())
        votes = np.zeros((2, len(blocks)))
        if self.by != "items":
            votes += self._votes(self.user_codes_, self.users_, self.items_, len(self.item_codes_), users, items)
        if self.by != "users":
            votes += self._votes(self.item_codes_, self.items_, self.users_, len(self.user_codes_), items, users)
        total, weight = votes
        return self.bias_ + np.divide(total, weight + self.shrink, out=np.zeros_like(total), where=weight > 0)

    def members(self, side: str) -> sp.csr_matrix:
        """Return which ``"users"``, or ``"items"``, are in which buckets: 1 where they are; buckets are columns.

        Examples
        --------
        >>> from bitfm_research.baselines import LSH
        >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users who have rated the same items
        >>> inside = LSH(bits=8, bucket_bits=4).fit(X, [5, 1, 1, 5], fields=[2, 2]).members("users")
        >>> inside.shape, (inside @ inside.T).toarray().tolist()  # how many buckets are shared, of two
        ((2, 32), [[2.0, 2.0], [2.0, 2.0]])
        """
        check_is_fitted(self)
        of_users = check_choice("side", side, ("users", "items")) == "users"
        codes, own = (self.user_codes_, self.users_) if of_users else (self.item_codes_, self.items_)
        rows = np.flatnonzero(np.bincount(own, minlength=len(codes)))  # an empty set is in no bucket
        buckets = buckets_of(codes, self.bucket_bits)[rows].astype(np.int32)
        columns = buckets + (np.arange(buckets.shape[1], dtype=np.int32) << self.bucket_bits)
        ones = np.ones(columns.size, np.float32)
        shape = len(codes), buckets.shape[1] << self.bucket_bits
        return sp.csr_matrix((ones, (np.repeat(rows, buckets.shape[1]), columns.ravel())), shape=shape)

    def _votes(
        self,
        codes: npt.NDArray[np.uint8],
        own: npt.NDArray[np.int32],
        others: npt.NDArray[np.int32],
        n_others: int,
        rows: npt.NDArray[np.intp],
        of: npt.NDArray[np.intp],
    ) -> Floats:
        """Return Σ w r and Σ w for pairs of a row and one of the others, bucket by bucket of the row's."""
        known = np.flatnonzero((rows != _UNKNOWN) & (of != _UNKNOWN))
        known = known[np.bincount(own, minlength=len(codes))[rows[known]] > 0]  # an empty set is in no bucket
        votes, size = np.zeros((2, len(rows))), n_others << self.bucket_bits
        for bucket in buckets_of(codes, self.bucket_bits).T.astype(np.intp):
            at, asked = bucket[own] * n_others + others, bucket[rows[known]] * n_others + of[known]
            votes[0, known] += np.bincount(at, self.ratings_, minlength=size)[asked]
            votes[1, known] += np.bincount(at, minlength=size)[asked]
        votes *= 2**self.bucket_bits * self.bucket_bits / self.bits
        return votes

    def _codes(
        self,
        rows: npt.NDArray[np.int32],
        elements: npt.NDArray[np.int32],
        n_rows: int,
        n_elements: int,
        rng: np.random.Generator,
    ) -> npt.NDArray[np.uint8]:
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        elements = elements[np.argsort(rows, kind="stable")]
        return minhash_codes(indptr, elements, n_elements, self.bits, self.bucket_bits, rng)

    def _check_settings(self) -> None:
        check_bits(self.bits)
        thread_count(self.n_jobs)
        check_choice("by", self.by, ("users", "items", "both"))
        check_real("shrink", self.shrink)
        if check_integer("bucket_bits", self.bucket_bits, 1, 8) not in _BUCKET_BITS:
            raise ValueError(f"bucket_bits must be 1, 2, 4 or 8, so that buckets fill bytes, got {self.bucket_bits!r}.")

    def _across(self) -> bool:
        return hasattr(self, "weights_")  # so that a plain matrix is split into users and items

    def _kept(self) -> tuple[str, Tensors]:
        self._check_unchanged("bits", self.user_codes_.shape[1] * 8)
        return "votes", {name: getattr(self, name + "_") for name in VotesLayout.own}

    def _restore(self, parameters: Any, extra: Tensors) -> None:
        super()._restore(parameters, extra)
        for name in VotesLayout.own:
            setattr(self, name + "_", np.asarray(extra[name]))
        sides = ((self.users_, self.user_codes_), (self.items_, self.item_codes_))
        for (start, stop), (rows, codes) in zip(self.id_columns_.tolist(), sides, strict=True):
            if not 0 <= start <= stop <= self.n_features_in_ or stop - start != len(codes):
                raise ModelFileError(f"has ids from column {start} to {stop}, but {len(codes)} codes")
            if len(rows) and not 0 <= rows.min() <= rows.max() < len(codes):
                raise ModelFileError(f"has ratings of row {rows.max()}, but {len(codes)} codes")
            if codes.shape[1] * 8 != self.bits:
                raise ModelFileError(f"has codes of {codes.shape[1]} bytes, but bits is {self.bits!r}")


class VotesLayout(Layout):
    """Codes of users and items, and the ratings, as they lie in a file."""

    own: ClassVar = {
        "id_columns": Tensor("int64", "2 2"),
        "user_codes": Tensor("uint8", "users bytes"),
        "item_codes": Tensor("uint8", "items bytes"),
        "users": Tensor("int32", "ratings"),
        "items": Tensor("int32", "ratings"),
        "ratings": Tensor("float64", "ratings"),
    }
    tensors: ClassVar = {"bias": Tensor("float64", "", -np.inf), "weights": Tensor("float32", "features"), **own}

    def unpack(self, fields: tuple[FieldSpan, ...], pairs: str, tensors: Tensors) -> FactorParameters:
        """Return the bias and no factors: the votes are the model's."""
        nothing = np.zeros((len(tensors["weights"]), 0), np.float32)
        return FactorParameters(fields, float(tensors["bias"]), tensors["weights"], nothing, pairs)


def _ids(blocks: Blocks, columns: slice) -> npt.NDArray[np.intp]:
    """Return the id of each interaction, by the columns that ids have; or that there is none."""
    spans = iter(blocks.fields)
    for block in blocks.blocks.values():
        for table in block.tables.values():
            span = next(spans)
            if span.start <= columns.start < span.stop:
                ones = table.to_csr()[:, columns.start - span.start : columns.stop - span.start]
                counts = np.diff(ones.indptr)
                if counts.max(initial=0) > 1:
                    raise ValueError(f"an interaction has {counts.max()} ids of {span.block!r}, expected one or none.")
                ids = np.full(len(counts), _UNKNOWN, np.intp)
                ids[counts == 1] = ones.indices
                return ids[block.rows]
    raise ModelFileError(f"has ids from column {columns.start} on, which no field has")


VOTES = VotesLayout()
