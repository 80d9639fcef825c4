"""What a fit to tables of public sets' shapes costs."""

from pathlib import Path

from bitfm_research.bench.cost import book_crossing, measure_costs, rent_the_runway


def test_tables_have_their_shapes():
    ratings = rent_the_runway(0.01)["interactions"]
    assert ratings.shape == (1920, 13)
    assert ratings["review_text"].str.split(" ").list.len().unique().to_list() == [60]
    tables = book_crossing(0.01)
    assert [tables[name].height for name in ("users", "items")] == [2800, 2700]
    assert ratings.equals(rent_the_runway(0.01)["interactions"])  # the same each time


def test_costs_are_measured_in_a_process_of_their_own():
    ((_, rows),) = measure_costs(Path(), lambda _: None, share=0.01)
    assert [row["tables like"] for row in rows] == ["RentTheRunway", "Book-Crossing"]
    for row in rows:
        assert row["CPU seconds"] > 0
        assert row["MB of the file"] > 0
        assert 0 < row["RMSE"] < 1.2 * row["RMSE of the mean"]
