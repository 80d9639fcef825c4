"""Exact top-N: the best items of a catalogue for many queries."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.errors import BitfmError, ModelFileError
from bitfm.parameters import HistoryTower, ImplicitParameters, ItemTower, Parameters, Tower, TowerRows, towers
from bitfm.persist import damage
from bitfm.retrieval._row_codes import RowCodeSegment
from bitfm.retrieval._segments import CodeSegment, Items, Ranked, Segment, excluded_of, positions_of
from bitfm.retrieval._selection import Part, Selection
from bitfm.retrieval._vector_segment import VectorSegment
from bitfm.validation import check_bits, check_choice, check_count, check_integer, thread_count

__all__ = ["Index", "RowCodeSettings"]

_MANY = 100_000  # items from which on "auto" takes row codes
_PAIRS_PER_THREAD = 4_000_000  # below, starting a thread costs more than it saves

Segments: TypeAlias = tuple[Segment, ...]


class RowCodeSettings(NamedTuple):
    """How items that are vectors get codes, if they do."""

    bits: int
    rescore: int


def _towers(
    parameters: Parameters | ImplicitParameters, block: str | None
) -> tuple[Tower | HistoryTower, Tower | ItemTower]:
    if isinstance(parameters, ImplicitParameters):
        return HistoryTower(parameters), ItemTower(parameters)
    return towers(parameters, block)


class Index:
    """A catalogue of items, laid out to find the best for a user; made by a model's ``index``.

    Items have positions, counted from 0 in the order in which they were given. The result of a search is that of
    scoring every item and sorting, ties by lowest position, at any number of threads.

    Parameters
    ----------
    parameters : CodeParameters or FactorParameters
        What a fit yielded; ``parameters_`` of a model.
    items, block, mode, bits, rescore
        See `DistilledFM.index`.

    Attributes
    ----------
    mode : {"exact", "codes"}
        Whether a search is exact, or finds candidates by row codes; of ``mode="auto"``, what it has come to.
    block : str
        Which of the model's blocks the items are.
    n_positions : int
        Number of positions, those of removed items included.
    segments : tuple of Segment
        The parts that the catalogue is kept in; each is immutable.

    Notes
    -----
    Searching is safe from any number of threads, also while another thread adds or removes items: a search sees the
    catalogue as it was when the search began.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import Block, Blocks, DistilledFM
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(200, 100, 4000)
    >>> readers = Block(shop.reader_rows, {"id": sp.identity(200)})
    >>> books = Block(shop.book_rows, {"id": sp.identity(100)})
    >>> model = DistilledFM(bits=32).fit(Blocks(user=readers, item=books), shop.ratings["rating"])
    >>> positions, scores = model.index().search([0, 1, 2], n=5)
    >>> positions.shape, scores.shape
    ((3, 5), (3, 5))
    """

    def __init__(
        self,
        parameters: Parameters | ImplicitParameters,
        items: Any = None,
        block: str | None = None,
        *,
        mode: str = "exact",
        bits: int = 64,
        rescore: int = 50,
    ) -> None:
        row_codes = RowCodeSettings(check_bits(bits), check_integer("rescore", rescore, 1, 10**6))
        self._open(parameters, block, (), 0, row_codes)
        self.mode = check_choice("mode", mode, ("exact", "codes", "auto"))
        self.add(np.arange(self._items.n_features) if items is None else items)

    @classmethod
    def of_segments(
        cls,
        parameters: Parameters | ImplicitParameters,
        block: str,
        segments: Segments,
        n_positions: int,
        row_codes: RowCodeSettings,
        file: str | None = None,
    ) -> Index:
        """Return an index over segments that are there already; those of a file are checked on first use."""
        index = cls.__new__(cls)
        cls._open(index, parameters, block, segments, n_positions, row_codes, file)
        index.mode = "codes" if any(isinstance(segment, RowCodeSegment) for segment in segments) else "exact"
        return index

    def _open(
        self,
        parameters: Parameters | ImplicitParameters,
        block: str | None,
        segments: Segments,
        n_positions: int,
        row_codes: RowCodeSettings,
        file: str | None = None,
    ) -> None:
        self.file, self._checked = file, file is None
        self.parameters, self.row_codes = parameters, row_codes
        self._users, self._items = _towers(parameters, block)
        self.block = self._items.blocks[0]
        self.segments, self.n_positions = segments, n_positions
        self._writing = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_writing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._writing = threading.Lock()

    def __len__(self) -> int:
        return sum(segment.n_items for segment in self.segments)

    def __repr__(self) -> str:
        how = "exact" if self.mode == "exact" else f"row codes of {self.row_codes.bits} bits"
        return f"Index({len(self)} items, {how})"

    def search(
        self,
        users: Any,
        n: int = 10,
        *,
        exclude: Any = None,
        allow: Any = None,
        deny: Any = None,
        within: Selection | None = None,
        n_jobs: int | None = -1,
    ) -> Ranked:
        """Return the best n items for each query.

        Parameters
        ----------
        users : Blocks, Block or array of int
            The queries, one per interaction: the blocks of the model other than the items', context included. Where
            these are bare ids, their indices will do.
        n : int, default 10
            How many; if fewer items are left, as many as there are.
        exclude : sparse matrix, queries × positions, optional
            Items not to return for a query, such as those the user has seen: every entry counts, whatever its value.
        allow, deny : array of positions, or of bool for every position, optional
            Items to choose from, and items to leave out, for all queries.
        within : Selection, optional
            Items to choose from that `select` has found before.
        n_jobs : int, default -1
            Threads; -1 is all. The result does not depend on it.

        Returns
        -------
        positions : array of int64, queries × n, best first
            -1 where a query has fewer than n items left.
        scores : array of float32, queries × n
            The model's scores; -inf where there is no item.
        """
        rows = self._users.rows("users", users, thread_count(n_jobs))
        return self.search_rows(rows, n, exclude=exclude, allow=allow, deny=deny, within=within, n_jobs=n_jobs)

    def search_rows(
        self,
        rows: TowerRows,
        n: int,
        *,
        exclude: Any = None,
        allow: Any = None,
        deny: Any = None,
        within: Selection | None = None,
        n_jobs: int | None = -1,
    ) -> Ranked:
        """Return the best n items for rows of a users' tower, such as those of users folded in; see `search`."""
        n, threads = check_integer("n", n, 0), thread_count(n_jobs)
        self.check()
        excluded = excluded_of(exclude, len(rows), self.n_positions)
        parts = self._parts(allow, deny, within)
        n = min(n, sum(part.n_items for part in parts))
        try:
            best = [
                segment.search(mask, rows, excluded, min(n, m), min(threads, 1 + len(rows) * m // _PAIRS_PER_THREAD))
                for segment, mask, m in parts
            ]
        except ValueError as error:  # all else was checked above, so it is what the rows were made from
            raise self._damage("the model", error) from None
        if len(best) == 1:
            return best[0]
        positions, scores = (np.concatenate(parts, axis=1) for parts in zip(*best, strict=True))
        order = np.lexsort((positions, -scores), axis=1)[:, :n]  # ties by lowest position
        return np.take_along_axis(positions, order, 1), np.take_along_axis(scores, order, 1)

    def select(self, allow: Any = None, deny: Any = None, boost: npt.ArrayLike | None = None) -> Selection:
        """Find items to choose from once, for any number of searches ``within`` them.

        Parameters
        ----------
        allow, deny : as for `search`
        boost : array of numbers, one per position, optional
            What is added to their scores.
        """
        self.check()
        segments, n_positions = self.segments, self.n_positions
        selection = Selection(segments, tuple(self._parts(allow, deny, None)))
        if boost is None:
            return selection
        boosts = np.asarray(boost, np.float32)
        if boosts.shape != (n_positions,) or not np.isfinite(boosts).all():
            raise ValueError(f"boost: expected {n_positions} finite numbers, one per position; got {boosts.shape}.")
        return selection.boosted(boosts)

    def compact(self, selection: Selection) -> Selection:
        """Return a selection that is searched in less time; it takes time, and memory for a copy of its items."""
        return selection.compact(self._users.typical_length())

    def _parts(self, allow: Any, deny: Any, within: Selection | None) -> Sequence[Part]:
        """Return what to search."""
        segments, n_positions = self.segments, self.n_positions
        if within is not None and within.segments is not segments:
            raise ValueError("within: the index has other items than when they were selected; select them again.")
        parts = within.parts if within is not None else [Part(one, one.live, one.n_items) for one in segments]
        if allow is None and deny is None:
            return parts
        allowed = None if allow is None else positions_of("allow", allow, n_positions)
        denied = None if deny is None else positions_of("deny", deny, n_positions)
        return [part.narrowed(allowed, denied) for part in parts]

    def add(self, items: Any) -> npt.NDArray[np.int64]:
        """Add items, a Block or an array of int where items are bare ids, and return their positions."""
        with self._writing:
            self.check()
            rows = self._items.rows("items", items, thread_count(-1))
            end = self.n_positions + len(rows)
            check_count("an index", end, "positions, those of removed items included", "make a new one of its items")
            positions = np.arange(self.n_positions, end)
            self._put(Items.of(rows, positions), self.segments)
        return positions

    def remove(self, positions: npt.ArrayLike) -> None:
        """Take items out. Their positions are not given to others."""
        with self._writing:
            self.check()
            gone = positions_of("positions", positions, self.n_positions)
            self.segments = tuple(segment.deleted(gone) for segment in self.segments)

    def change(self, positions: npt.ArrayLike, items: Any) -> None:
        """Give items, one per position, other features; each keeps its position. What was removed comes back."""
        with self._writing:
            self.check()
            where = positions_of("positions", positions, self.n_positions)
            rows = self._items.rows("items", items, thread_count(-1))
            if len(where) != len(rows) or len(np.unique(where)) < len(where):
                raise ValueError(
                    f"change: expected one item per position, each position once; got {len(where)} positions "
                    f"({len(np.unique(where))} different) and {len(rows)} items."
                )
            self._put(Items.of(rows, where), tuple(segment.deleted(where) for segment in self.segments))

    def with_parameters(self, parameters: Parameters | ImplicitParameters) -> Index:
        """Return the same items with parameters that have other users, or more of them."""
        self.check()
        index = Index.of_segments(parameters, self.block, self.segments, self.n_positions, self.row_codes)
        index.file = self.file
        return index

    def only(self, positions: npt.NDArray[Any], parameters: Parameters | ImplicitParameters) -> Index:
        """Return an index of some items, numbered anew in the same order, with parameters that may lack the others.

        Nothing is left of other items, nor of what items were before a change: segments that hold such are laid out
        anew.
        """
        index = self.with_parameters(parameters)  # whose segments no other thread changes
        places = np.full(index.n_positions, -1, np.int32)
        places[positions] = np.arange(len(positions), dtype=np.int32)
        length = _towers(parameters, self.block)[0].typical_length()
        segments = []
        for segment in index.segments:
            how = self.row_codes if isinstance(segment, RowCodeSegment) else ()
            segments.append(segment.only(places, length, *how))
        filled = [segment for segment in segments if segment.n_items]
        index.segments, index.n_positions = tuple(filled or segments[:1]), len(positions)
        return index

    def to_faiss_binary(self) -> Any:
        """Return the items' codes as a FAISS ``IndexBinaryIDMap2`` over ``IndexBinaryFlat``, positions for ids.

        It finds the nearest codes by Hamming distance, for queries that are codes, such as ``model.codes_`` of users.
        Gains and biases stay behind, so its order is the model's only where all items have the same. Needs the extra
        ``faiss``.
        """
        codes, positions = self._codes("to_faiss_binary")
        try:
            import faiss
        except ImportError:
            raise BitfmError(
                "to_faiss_binary needs FAISS, which is not installed: pip install 'bitfm[faiss]'"
            ) from None
        index = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(codes.shape[1] * 8))
        index.add_with_ids(codes, positions)
        return index

    def to_usearch(self) -> Any:
        """Return the items' codes as a USearch ``Index`` of Hamming distances, positions for keys.

        As for `to_faiss_binary`; and its search is not exact. Needs the extra ``usearch``.
        """
        codes, positions = self._codes("to_usearch")
        try:
            from usearch.index import Index as Graph
        except ImportError:
            raise BitfmError("to_usearch needs USearch, which is not installed: pip install 'bitfm[usearch]'") from None
        graph = Graph(ndim=codes.shape[1] * 8, metric="hamming", dtype="b1")
        if len(codes):
            graph.add(positions.astype(np.uint64), codes)
        return graph

    def _codes(self, what: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        if not all(isinstance(segment, CodeSegment) for segment in self.segments):
            raise ValueError(
                f"{what}: the items have several features each, so they have no codes; index items that are bare ids."
            )
        self.check()
        items = Items.together([segment.items() for segment in self.segments])
        order = np.argsort(items.positions)
        return np.ascontiguousarray(items.codes[order]), items.positions[order].astype(np.int64)

    def check(self) -> None:
        """Check segments of a file once: each on its own, and that no two hold the same item."""
        if self._checked:
            return
        segments, n_positions = self.segments, self.n_positions
        try:
            for segment in segments:
                segment.check(n_positions)
            if len(segments) > 1 and np.unique(np.concatenate([s.positions for s in segments])).size < len(self):
                raise ValueError("two segments hold the same item")
        except ModelFileError:  # of the tables that vectors are sums of
            raise
        except ValueError as error:
            raise self._damage("the index", error) from None
        self._checked = True

    def _damage(self, what: str, error: ValueError) -> ValueError:
        """Return the error to raise where the core refuses what it is given: of a file, its name and what to do."""
        return error if self.file is None else damage(self.file, f"{what} is damaged: {error}")

    def _put(self, items: Items, segments: Segments) -> None:
        """Put items on a segment of their own, with those of segments not much larger: few segments, few moves."""
        coded = len(items.codes) == len(items)
        if self.mode == "auto":
            self.mode = "codes" if len(items) >= _MANY and not coded else "exact"
        kind = CodeSegment if coded else RowCodeSegment if self.mode == "codes" else VectorSegment
        kept = list(segments)
        while kept and type(kept[-1]) is kind and kept[-1].n_items <= 2 * len(items):
            items = Items.together([kept.pop().items(), items])
        length = self._users.typical_length()
        how = self.row_codes if kind is RowCodeSegment else ()
        try:
            new = kind.of(items, length, *how)
        except ValueError as error:  # numbers that are not finite
            raise self._damage("the model", error) from None
        # first the larger number: others read segments first, and must not meet a position beyond it
        self.n_positions = max(self.n_positions, int(items.positions.max(initial=-1)) + 1)
        self.segments = (*kept, new)
