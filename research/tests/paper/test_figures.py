import pytest

import paper_rows
from bitfm_research.paper import figures
from bitfm_research.paper._small_figures import draw_settings, draw_times
from bitfm_research.paper.figures import CURVES, draw_curves, write_figures
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, LEVELS, WITH_BITS, WITH_FEATURES, WITH_IDS
from bitfm_research.paper.results import Measure

ALL = ["figure-1", "figure-1-features", "figure-2", "table-1"]


def test_every_method_has_a_line_of_its_own():
    assert set(CURVES) == {*LEVELS, *WITH_BITS}
    looks = [(style["color"], style.get("marker"), str(style.get("linestyle"))) for style in CURVES.values()]
    assert len(set(looks)) == len(looks)


def test_without_matplotlib_there_are_no_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "available", lambda: False)
    assert write_figures(paper_rows.whole(), tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_all_figures_are_written_twice_and_are_the_same_again(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    for name in ("a", "b"):
        assert write_figures(paper_rows.whole(), tmp_path / name) == ALL
    for name in ALL:
        for ending in ("png", "svg"):
            first, second = ((tmp_path / folder / f"{name}.{ending}").read_bytes() for folder in ("a", "b"))
            assert first == second
        assert (tmp_path / "a" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_figure_1_has_a_panel_a_length_and_every_method_in_one_legend():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    means = Means(paper_rows.figure_1())
    figure = draw_curves(means, WITH_IDS)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [f"{name}, {bits} bits" for name in ("Yelp", "Amazon") for bits in BITS]
    assert [len(axes.lines) for axes in figure.axes] == [len(CURVES)] * 8
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(CURVES)
    (legend,) = draw_curves(means, WITH_FEATURES).legends
    assert len(legend.get_texts()) == len(CURVES) + 1  # and what pale lines mean


def test_what_is_missing_has_no_panel_and_no_line(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    few = [Measure("amazon", "DCF", 16, 0, "NDCG", 10, 0.8), Measure("amazon", "bias only", None, 0, "NDCG", 10, 0.8)]
    (axes,) = draw_curves(Means(few), WITH_IDS).axes
    assert axes.get_title() == "Amazon, 16 bits"
    assert len(axes.lines) == 2
    assert write_figures(few, tmp_path) == ["figure-1"]
    zero = [Measure("yelp", "DFM, paper; beta=0", 64, 0, "NDCG", 10, 0.8)]
    assert write_figures(zero, tmp_path) == ["figure-2"]
    time = [Measure("yelp", "FM; libFM loop", 8, 0, "TTC, ids", None, 8.0)]
    assert write_figures(time, tmp_path) == ["table-1"]


def test_a_long_legend_leaves_the_panels_their_size():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    rows = [row for row in paper_rows.whole() if row.dataset == "yelp" and row.bits in (None, 64)]
    means = Means(row for row in rows if row.metric != "TTC, ids")
    for figure in (draw_curves(means, WITH_IDS), draw_settings(means), draw_times(means)):
        (axes,) = figure.axes
        figure.draw_without_rendering()
        inches = axes.get_position().height * figure.get_figheight()
        assert 1.4 < inches < 2.5
