"""From a source of raw ratings to what a model can be fitted on, as the paper prepares its data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from bitfm.errors import DataFileError
from bitfm.validation import check_integer

from bitfm_research.prepare._progress import Bars
from bitfm_research.prepare._ratings import Steps, average, collect, keep_frequent
from bitfm_research.prepare._texts import item_words
from bitfm_research.prepare.prepared import Prepared
from bitfm_research.prepare.source import NO_TIME, BadLines, Source

__all__ = ["prepare", "step_title"]


def prepare(
    source: Source,
    *,
    min_ratings: int = 20,
    iterate: bool = False,
    max_words: int = 8000,
    skip_bad: bool = False,
    progress: bool = False,
) -> Prepared:
    r"""Prepare raw ratings as the paper does (Liu et al. 2018, "Experimental Settings").

    In this order: ratings of the same user and item become their mean; users with fewer than `min_ratings` ratings are
    dropped, and then items with fewer than `min_ratings` of those left; all texts about an item become one document;
    stop words are left out of it, and of the others those are kept that weigh most by TF-IDF.

    The file is read twice if it has texts, a batch at a time. Kept in memory are the ratings, the ids, and the texts of
    those items that are left.

    Parameters
    ----------
    source : Source
        Where the ratings are: `YelpReviews`, `AmazonReviews`, `MovieLens`, `RatingTable`, or one of your own.
    min_ratings : int, default 20
        Users and items with fewer ratings are dropped. With 1, all are kept.
    iterate : bool, default False
        Drop users and items in turn until all that are left have `min_ratings` ratings: the k-core. The paper does it
        once, after which all items have as many, but users may have fewer, since they lose ratings of dropped items.
    max_words : int, default 8000
        How many words to keep, at most. With 0, texts are not read.
    skip_bad : bool, default False
        Count lines that cannot be read and go on. By default the first one is an error that names its place.
    progress : bool, default False
        Show progress on standard error, if that is a terminal.

    Returns
    -------
    Prepared
        Users and items are numbered in the order in which they first occur in the file. Of a pair with several ratings
        the latest time counts. There are no times if any rating lacks one.

    Raises
    ------
    DataFileError
        If the file is not what it should be, or nothing is left.

    Notes
    -----
    The documents hold *all* texts about an item: also those by users who were dropped, and those that belong to ratings
    which you may put into a test part. The paper does the same. A measure on such a test part is too good by what its
    texts tell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bitfm_research.prepare import RatingTable
    >>> rows = ["who,book,stars,review", "ann,Dune,5,Sand and spice", "bob,Dune,4,Sand", "bob,Dune,2,No", "bob,Emma,2,"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.csv")
    ...     _ = path.write_text("\n".join(rows))
    ...     source = RatingTable(path, user="who", item="book", rating="stars", text="review")
    ...     data = prepare(source, min_ratings=1)
    >>> data
    Prepared(2 users, 2 items, 3 ratings; words 2)
    >>> data.ratings  # of ann for Dune; of bob for Dune, the mean of two; of bob for Emma
    array([5., 3., 2.])
    >>> data.steps["raw"]
    {'users': 2, 'items': 2, 'ratings': 4}
    """
    _check(source, min_ratings, max_words)
    bars, bad = Bars(progress), BadLines(skip_bad)
    with bars.stage("Reading ratings") as stage:
        raw, user_ids, item_ids = collect(source, bad, stage)
    averaged = average(raw)
    steps = {"raw": raw.counts(), "averaged": averaged.counts()}
    del raw
    kept, filtered = keep_frequent(averaged, min_ratings, iterate)
    steps |= filtered
    if not len(kept.ratings):
        raise DataFileError(_nothing_left(source, steps, min_ratings, bad.count))
    users, kept_users = _renumbered(kept.users, user_ids)
    items, kept_items = _renumbered(kept.items, item_ids)
    words, names = None, None
    if source.has_texts and max_words:
        words, names = item_words(source, kept_items, max_words, BadLines(skip_bad), bars)
    fields = source.item_fields(kept_items)
    return Prepared(
        user_ids=np.array(kept_users, object),
        item_ids=np.array(kept_items, object),
        users=users,
        items=items,
        ratings=kept.ratings,
        times=None if (kept.times == NO_TIME).any() else kept.times,
        item_words=words,
        words=names,
        item_fields={name: table for name, (table, _) in fields.items()},
        item_field_names={name: np.array(columns, object) for name, (_, columns) in fields.items()},
        steps=steps,
        source={"format": source.kind, "file": source.path.name, "skipped_lines": bad.count},
        settings={"min_ratings": min_ratings, "iterate": iterate, "max_words": max_words},
    )


def step_title(step: str, min_ratings: int) -> str:
    """Return a step of `Prepared.steps` in words.

    Examples
    --------
    >>> step_title("users_filtered", 20)
    'without users of fewer than 20 ratings'
    """
    return {
        "raw": "as read",
        "averaged": "one rating per user and item",
        "users_filtered": f"without users of fewer than {min_ratings} ratings",
        "items_filtered": f"without items of fewer than {min_ratings} ratings",
        "repeated": "repeated until nothing changes",
    }[step]


def _check(source: Source, min_ratings: int, max_words: int) -> None:
    if not isinstance(source, Source):
        raise TypeError(f"source is of type {type(source).__name__}; give a Source such as YelpReviews(path)")
    check_integer("min_ratings", min_ratings, 1)
    check_integer("max_words", max_words, 0)


def _renumbered(numbers: npt.NDArray[np.int32], ids: list[str]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return numbers without gaps, in the same order, and the ids they stand for."""
    kept, rows = np.unique(numbers, return_inverse=True)
    return rows.astype(np.int32), [ids[number] for number in kept]


def _nothing_left(source: Source, steps: Steps, min_ratings: int, skipped: int) -> str:
    if not steps["raw"]["ratings"]:
        return f"{source.path} holds no ratings" + (f"; {skipped:,} lines were skipped as bad" if skipped else "")
    counts = "; ".join(
        f"{step_title(step, min_ratings)}: {n['ratings']:,} ratings of {n['users']:,} users and {n['items']:,} items"
        for step, n in steps.items()
    )
    return f"{source.path}: no rating is left ({counts}); lower min_ratings (--min-ratings)"
