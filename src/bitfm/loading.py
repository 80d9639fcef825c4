"""Opening a file, whatever it holds."""

from __future__ import annotations

import os
from typing import Any

from bitfm import persist
from bitfm.errors import ModelFileError
from bitfm.parameters import kind_of, unpack_model
from bitfm.retrieval import unpack_index

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Any:
    """Open a saved recommender or model by memory map: in milliseconds whatever its size, shared between processes.

    Parameters
    ----------
    path : path of a file that a ``save`` of bitfm wrote

    Returns
    -------
    Recommender, BiasModel, FM, DiscreteFM, DistilledFM or a model of another package
        Fitted; its arrays are read-only views into the file.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a bitfm model, or comes from a newer bitfm.

    Examples
    --------
    >>> import tempfile, pathlib, bitfm
    >>> ratings = {"user_id": ["ann", "ann", "bob"], "item_id": ["tea", "milk", "tea"], "rating": [5, 2, 4]}
    >>> rec = bitfm.Recommender(bits=8).fit(ratings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rec.save(pathlib.Path(folder) / "shop.bitfm")
    ...     opened = bitfm.load(pathlib.Path(folder) / "shop.bitfm")
    >>> opened.recommend("bob")["item"].to_list()
    ['milk']
    """
    contents = persist.read(path)
    with persist.naming(path):
        if "recommender" in contents.metadata:
            from bitfm.recommender import open_recommender

            return open_recommender(contents)
        if any(name.startswith("tables.") for name in contents.tensors):
            raise ModelFileError("holds tables of a recommender, but lacks the entry 'recommender'")
        record, parameters = unpack_model(contents)
        return kind_of(record).from_record(record, parameters, unpack_index(parameters, contents))
