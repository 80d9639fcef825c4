"""Ratings that are ready to fit on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable

__all__ = ["Prepared"]


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """Ratings with their users and items, and what is known of the items; made by `prepare`.

    Attributes
    ----------
    user_ids, item_ids : ndarray of str
        The ids in the raw file: of user 0, 1, … and of item 0, 1, …
    users, items : ndarray of int32
        The user and the item of each rating.
    ratings : ndarray of float64
    times : ndarray of int64 or None
        Seconds since 1970.
    item_words : csr_matrix of float32 or None
        The words in the texts about each item, TF-IDF weights of unit length; one row per item.
    words : ndarray of str or None
        What the columns of ``item_words`` stand for.
    item_fields : dict of str to csr_matrix
        Further tables with one row per item, such as genres.
    item_field_names : dict of str to ndarray of str
        What the columns of ``item_fields`` stand for.
    steps : dict
        How many users, items and ratings there were after each step: ``raw``, ``averaged``, ``users_filtered``,
        ``items_filtered``, and ``repeated`` where the filter was iterated.
    source, settings : dict
        Where the ratings come from, and what `prepare` was told.

    Examples
    --------
    >>> data = Prepared(
    ...     user_ids=np.array(["ann", "bob"], object),
    ...     item_ids=np.array(["tea", "rum"], object),
    ...     users=np.array([0, 1, 1], np.int32),
    ...     items=np.array([0, 0, 1], np.int32),
    ...     ratings=np.array([5.0, 4.0, 1.0]),
    ...     item_fields={"strength": sp.csr_matrix([[0.0], [0.4]])},
    ...     item_field_names={"strength": np.array(["alcohol"], object)},
    ... )
    >>> data
    Prepared(2 users, 2 items, 3 ratings; strength 1)
    >>> data.blocks()
    Blocks(3 interactions, 5 features: user(2 rows: id 2), item(2 rows: strength 1, id 2))
    """

    user_ids: npt.NDArray[Any]
    item_ids: npt.NDArray[Any]
    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    ratings: npt.NDArray[np.float64]
    times: npt.NDArray[np.int64] | None = None
    item_words: sp.csr_matrix | None = None
    words: npt.NDArray[Any] | None = None
    item_fields: dict[str, sp.csr_matrix] = field(default_factory=dict)
    item_field_names: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    steps: dict[str, dict[str, int]] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.ratings)
        for name, column in (("users", self.users), ("items", self.items), ("times", self.times)):
            if column is not None and len(column) != n:
                raise ValueError(f"Prepared: {len(column)} {name} for {n} ratings; expected one each.")
        for name, rows, ids in (("users", self.users, self.user_ids), ("items", self.items, self.item_ids)):
            low, high = (rows.min(), rows.max()) if n else (0, -1)
            if low < 0 or high >= len(ids):
                raise ValueError(
                    f"Prepared: {name} must be from 0 to {len(ids) - 1}, but they go from {low} to {high}."
                )
        if not np.isfinite(self.ratings).all():
            raise ValueError("Prepared: ratings must be finite, but some are NaN or infinite.")
        if (self.item_words is None) != (self.words is None):
            raise ValueError("Prepared: item_words and words go together; give both or none.")
        if set(self.item_fields) != set(self.item_field_names) or {"id", "words"} & set(self.item_fields):
            raise ValueError(
                f"Prepared: item_fields {list(self.item_fields)} and item_field_names {list(self.item_field_names)} "
                "must have the same names, of which none is 'id' or 'words'."
            )
        for name, (table, columns) in self.item_tables().items():
            FeatureTable.of(f"Prepared: {name}", table)
            expected = (len(self.item_ids), len(columns))
            if table.shape != expected:
                raise ValueError(f"Prepared: {name} has shape {table.shape}; expected {expected}, items × names.")
        try:
            self.blocks()
        except ValueError as error:
            raise ValueError(f"Prepared: {error}") from None

    def __repr__(self) -> str:
        fields = ", ".join(f"{name} {len(columns)}" for name, (_, columns) in self.item_tables().items())
        return (
            f"Prepared({len(self.user_ids)} users, {len(self.item_ids)} items, {len(self.ratings)} ratings"
            f"{'; ' if fields else ''}{fields})"
        )

    def item_tables(self) -> dict[str, tuple[sp.csr_matrix, npt.NDArray[Any]]]:
        """Return every field of the items but their ids: its table, and what its columns stand for."""
        tables = {} if self.item_words is None or self.words is None else {"words": (self.item_words, self.words)}
        return tables | {name: (table, self.item_field_names[name]) for name, table in self.item_fields.items()}

    def blocks(self, mask: npt.ArrayLike | None = None, fields: Sequence[str] | None = None) -> Blocks:
        """Return the ratings' users and items as blocks, with ids as the last field of each.

        Parameters
        ----------
        mask : array of bool or int, optional
            Which of the ratings; by default all.
        fields : sequence of str, optional
            Which fields of the items, in this order; by default words and all others.

        Returns
        -------
        Blocks
            ``user`` has ids only, as in the paper.
        """
        tables = self.item_tables()
        for name in tables if fields is None else fields:
            if name not in tables:
                raise ValueError(f"Prepared has no field {name!r}; there are {', '.join(tables) or 'none'}.")
        chosen = {name: tables[name][0] for name in (tables if fields is None else fields)}
        blocks = Blocks(
            user=Block(self.users, {"id": FeatureTable.eye(len(self.user_ids))}),
            item=Block(self.items, {**chosen, "id": FeatureTable.eye(len(self.item_ids))}),
        )
        return blocks if mask is None else blocks[mask]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything to a folder, which appears whole or not at all.

        Parameters
        ----------
        folder : str or path
            A new folder, or one that `save` has written before, which is replaced.

        Notes
        -----
        ``ratings.parquet`` has the columns user, item, rating and time; ``users.parquet`` and ``items.parquet`` have
        the ids. A field of the items is ``item-NAME.npz``, as SciPy writes it, and its columns' names are
        ``item-NAME.parquet``. ``prepared.json`` has the source, the settings and the counts.
        """
        from bitfm_research.prepare.saving import save

        save(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Prepared:
        """Read what `save` has written.

        Parameters
        ----------
        folder : str or path
            The folder.

        Returns
        -------
        Prepared

        Raises
        ------
        DataFileError
            If the folder is not from `save`, or a file is missing or damaged.
        """
        from bitfm_research.prepare.saving import load

        return load(folder)
