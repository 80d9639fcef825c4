"""A part of the interactions that is held out, and how a model remembers which."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from bitfm.cli.screen import note
from bitfm.errors import ValueInTableError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

__all__ = ["SPLIT_NOTE", "Fingerprint", "Roles", "Split"]

SPLIT_NOTE = "split"  # what a model's note of its split is called
_DIGEST_BYTES = 8
_LARGEST_RATING = 1000  # that bitfm.evaluation.ndcg takes
_NOTE = re.compile(
    r"(\d(?:\.\d+)?(?:e-\d+)?) of each user's interactions held out, seed (\d{1,20}), "
    r"of (\d{1,20}) rows with digest ([0-9a-f]{16})"
)


@dataclass(frozen=True)
class Roles:
    """Which columns of the interactions are what; without a target every row is an event."""

    user: str
    item: str
    target: str | None
    context: Sequence[str]
    time: str | None

    def latest(self, interactions: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that a fit would use, and say how many it would not.

        Of ratings without context only the latest of a user and item counts. It is taken before a split, or else an
        earlier rating of the pair could be trained on and the latest tested on.
        """
        from bitfm.data.tables import ids_of, need_columns, need_rows, times_of
        from bitfm.recommender._reading import latest_rows

        for role, column in (("user", self.user), ("item", self.item), ("target", self.target), ("time", self.time)):
            if column is not None:
                need_columns("interactions", interactions, [column], f"name the right one with --{role}")
        need_rows("interactions", interactions)
        if self.target is None or self.context:
            return interactions
        users, items = (ids_of("interactions", interactions, column).text for column in (self.user, self.item))
        times = None if self.time is None else times_of("interactions", interactions, self.time)
        kept: pl.DataFrame = interactions[latest_rows(users, items, times)]
        left_out = interactions.height - kept.height
        if left_out:
            note(f"rows left out, since a later one has the same user and item: {left_out:,}")
        return kept

    def need_measurable(self, interactions: pl.DataFrame) -> None:
        """Refuse ratings that NDCG cannot take, before the work and not after it."""
        from bitfm.data.tables import need_columns, need_rows, numbers_of

        if self.target is None:
            return
        need_columns("interactions", interactions, [self.target], "name the right one with --target")
        need_rows("interactions", interactions)
        largest = float(numbers_of("interactions", interactions, self.target).max())
        if largest > _LARGEST_RATING:
            raise ValueInTableError(
                f"interactions, column {self.target!r}: the largest rating is {largest:,g}, but NDCG, which counts a "
                f"rating r as 2^r − 1, takes at most {_LARGEST_RATING:,}; scale the ratings, for example to 1 to 5"
            )


@dataclass(frozen=True)
class Fingerprint:
    """What tells whether a table has the same users and items in the same order as another."""

    rows: int
    digest: str

    @classmethod
    def of(cls, interactions: pl.DataFrame, user: str, item: str) -> Fingerprint:
        """Take the ids as text, so that it does not matter in which format the table was kept."""
        from bitfm.data.tables import ids_of

        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for column in (user, item):
            ids = ids_of("interactions", interactions, column).text
            digest.update(ids.str.len_bytes().to_numpy().astype("<u4").tobytes())  # where one id ends
            digest.update(ids.str.join("").item().encode())
        return cls(interactions.height, digest.hexdigest())


@dataclass(frozen=True)
class Split:
    """A share of each user's interactions, held out; the same table and seed give the same rows."""

    share: float
    seed: int

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise typer.BadParameter(f"expected a share above 0 and below 1, got {self.share:g}", param_hint="--test")

    def __str__(self) -> str:
        return f"{self.share!r} of each user's interactions held out, seed {self.seed}"

    def note(self, table: Fingerprint) -> str:
        """Return what a model keeps of a split of a table, in words."""
        return f"{self}, of {table.rows} rows with digest {table.digest}"

    @classmethod
    def remembered(cls, note: str | None) -> tuple[Split, Fingerprint] | None:
        """Return the split and the table that a note tells of; None if it tells of none."""
        found = _NOTE.fullmatch(note or "")
        if found is None or not 0 < float(found[1]) < 1:
            return None
        return cls(float(found[1]), int(found[2])), Fingerprint(int(found[3]), found[4])

    def train(self, interactions: pl.DataFrame, user: str) -> npt.NDArray[np.bool_]:
        """Return which rows are left to train on."""
        from bitfm.data.tables import need_columns, need_rows
        from bitfm.evaluation import split_per_user

        need_columns("interactions", interactions, [user])
        need_rows("interactions", interactions)
        return split_per_user(_numbered(interactions, user), 1 - self.share, self.seed)


def _numbered(interactions: pl.DataFrame, user: str) -> npt.NDArray[Any]:
    """Return the number of each row's user, in the order in which they appear."""
    import polars as pl

    from bitfm.data.tables import ids_of

    ids = ids_of("interactions", interactions, user).text.alias("id").to_frame()
    numbers = ids.unique(maintain_order=True).with_row_index("number")
    return ids.join(numbers, on="id", how="left", maintain_order="left")["number"].cast(pl.Int64).to_numpy()
