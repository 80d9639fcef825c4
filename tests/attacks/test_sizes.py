"""The sizes of `sizes`, a hundredth or a thousandth of them; `make fuzz ATTACK=sizes` has the whole ones."""

from __future__ import annotations

import pytest

from attacks.sizes import TABLES, attempt
from bitfm.data import read_table
from bitfm.errors import BitfmError

NO_TABLES = ("1 GB of zeros", "a line of 300 MB, CSV", "quoted cell without an end", "100 MB of quotes")


@pytest.mark.parametrize("name", TABLES)
def test_a_small_one_of_each_is_a_frame_or_a_sentence(tmp_path, name):
    file, content = TABLES[name]
    with open(tmp_path / file, "w") as out:
        out.writelines(content(0.003))
    problem = None
    try:
        assert read_table(tmp_path / file).width
    except BitfmError as error:
        problem = str(error)
    assert problem is None or (problem.count(file) == 1 and len(problem) < 600)
    assert (problem is not None) == (name in NO_TABLES)


@pytest.mark.memory
def test_a_large_category_is_refused_in_one_sentence(tmp_path):
    said, _, _ = attempt("a category of 1 GB", tmp_path, scale=0.02)
    assert said == "items, column 'c', row 1: a text of 19 MiB, but one has 16 at most; leave it out, or cut it"
