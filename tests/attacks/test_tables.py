"""Tables damaged at random are read whole or refused by a sentence; `make fuzz` tries more, with atheris if it can."""

from __future__ import annotations

import polars as pl
import pytest

from attacks.tables import FORMATS, check_frame, mutant, seeds, survives

MUTANTS = 200  # for each format


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_tables_are_read(tmp_path, kind):
    ends = [survives(kind, raw, tmp_path) for raw in seeds(kind)]
    assert ends.count("read") > 20  # some dialects are ambiguous


@pytest.mark.parametrize("kind", FORMATS)
def test_mutants_are_read_whole_or_refused(tmp_path, kind):
    assert {survives(kind, mutant(kind, seed)[1], tmp_path) for seed in range(MUTANTS)} == {"read", "refused"}


@pytest.mark.parametrize(
    ("kind", "raw", "frame"),
    [
        ("csv", b"a,b\nx,y\nz,w\n", {"a": ["x"], "b": ["y"]}),
        ("csv", b"a,b\n1,2\n3,4\n", {"a": [1], "b": [2]}),
        ("csv", b"a,b\nx,y\n", {"a": ["x"], "b": ["yy"]}),
        ("jsonl", b'{"a": 1}\n{"a": 2}\n', {"a": [1]}),
        ("json", b'[{"a": 1}, {"a": 2}]', {"a": [1]}),
    ],
)
def test_what_is_lost_or_made_up_is_noticed(tmp_path, kind, raw, frame):
    (tmp_path / "table").write_bytes(raw)
    with pytest.raises(AssertionError, match=r"lost|does not have|rows of"):
        check_frame(kind, raw, tmp_path / "table", pl.DataFrame(frame))
