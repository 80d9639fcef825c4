"""Results as files: Parquet, CSV and JSON lines, each whole or not there."""

from __future__ import annotations

import polars as pl
import pytest

from cli_process import call, run

READ = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}


@pytest.mark.parametrize("ending", READ)
def test_recommendations_are_written_as_a_table(bookshop, model, tmp_path, monkeypatch, ending):
    monkeypatch.setattr("bitfm.cli.recommend._BATCH", 7)  # so that there are several
    readers = "".join(f"{reader}\n" for reader in bookshop.shop.readers["reader"][:20])
    printed = call("recommend", model.path, "-", "-n", 3, "--csv", cwd=tmp_path, stdin=readers).stdout
    out = tmp_path / f"best.{ending}"
    done = call("recommend", model.path, "-", "-n", 3, "-o", out, cwd=tmp_path, stdin=readers)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"60 rows written to {out}\n"
    table = READ[ending](out)
    expected = pl.read_csv(printed.encode())
    assert table.columns == expected.columns
    assert table["item"].to_list() == expected["item"].to_list()
    assert table["score"].to_list() == pytest.approx(expected["score"].to_list(), rel=1e-6)


def test_ids_that_were_numbers_are_numbers_in_parquet(tmp_path):
    rows = [(user, item, 1 + user * item % 5) for user in range(1, 9) for item in range(10, 20) if (user + item) % 3]
    pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row").write_csv(tmp_path / "ratings.csv")
    quick = ["--bits", 8, "--model", "discrete", "-o", "numbers.bitfm"]
    assert call("fit", "--interactions", "ratings.csv", *quick, cwd=tmp_path).returncode == 0
    done = run("recommend", "numbers.bitfm", 3, 5, "-n", 2, "-o", "best.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(tmp_path / "best.parquet")
    assert table.schema["user"] == table.schema["item"] == pl.Int64
    assert table["user"].to_list() == [3, 3, 5, 5]
    done = run("similar", "numbers.bitfm", 12, "-n", 4, "-o", "alike.parquet", cwd=tmp_path)
    assert done.stdout == "4 rows written to alike.parquet\n"
    assert pl.read_parquet(tmp_path / "alike.parquet")["rank"].to_list() == [1, 2, 3, 4]


def test_a_spreadsheet_gets_no_formulas_in_a_file_either(tmp_path):
    rows = {"user_id": ["a", "a", "b", "b", "c"], "item_id": ["=1+1", "x", "=1+1", "y", "y"], "rating": [5, 1, 4, 2, 3]}
    pl.DataFrame(rows).write_csv(tmp_path / "ratings.csv")
    quick = ["--bits", 8, "--model", "discrete", "-o", "shop.bitfm"]
    assert call("fit", "--interactions", "ratings.csv", *quick, cwd=tmp_path).returncode == 0
    call("recommend", "shop.bitfm", "c", "--spreadsheet", "-o", "best.csv", cwd=tmp_path)
    assert "'=1+1" in (tmp_path / "best.csv").read_text()


def test_what_cannot_be_written_is_refused_before_the_work(bookshop, model, tmp_path):
    for out, code in (("best.xlsx", 2), ("nowhere/best.csv", 3), (model.path, 2)):
        done = call("recommend", model.path, bookshop.reader, "-o", out, cwd=tmp_path)
        assert done.returncode == code, done.stderr
    assert list(tmp_path.iterdir()) == []
