import re
from html.parser import HTMLParser

import pytest
from bitfm import plotting

import paper_rows
from bitfm_research.paper import figures, report
from bitfm_research.paper.names import FEATURES, LEVELS, WITH_BITS
from bitfm_research.paper.report import write_report
from bitfm_research.paper.results import Measure, Results

ABOUT = {"Command": "bitfm paper --quick", "Computer": "two cores & <some> memory"}
VOID = {"meta", "br", "img"}


class Page(HTMLParser):
    """Follows the elements, so that one left open or closed twice is seen; keeps tables' cells and ids."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.ids = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.cells[-1] += data


@pytest.fixture
def no_pictures(monkeypatch):
    for module in (figures, report):
        monkeypatch.setattr(module, "available", lambda: False)


def written(rows, folder):
    markdown, page = write_report(rows, folder, ABOUT)
    return markdown.read_text(encoding="utf-8"), page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_pictures")
def test_a_whole_run_has_every_method_and_says_how_it_came_about(tmp_path):
    markdown, text = written(paper_rows.whole(), tmp_path / "new")
    page = Page(text)
    assert page.open == []
    names = {*LEVELS, *WITH_BITS, "DFM, paper" + FEATURES, "FM; libFM loop, s", "DFM, paper; retrieval, s"}
    assert names <= set(page.cells)
    assert {"Command", "bitfm paper --quick", "two cores & <some> memory"} <= set(page.cells)
    for name in (*names, "+7.95 %", "0.8574", "2,000,000 pairs", "176,760,038"):
        assert name in markdown
        assert name in text
    for given in (markdown, text):
        assert not re.search(r"\b[Nn]a[Nn]\b|\binf\b|\bNone\b", given)
        assert plotting.MISSING.partition(":")[0] in given
    assert "not run" not in page.cells
    assert "<script" not in text
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["report.html", "report.md"]


@pytest.mark.usefixtures("no_pictures")
def test_both_forms_have_the_same_tables(tmp_path):
    markdown, text = written(paper_rows.whole(), tmp_path)
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    cells = [cell.strip().replace("**", "") for line in rows for cell in line[1:-1].split(" | ")]
    assert cells == Page(text).cells


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("rows", [[], [Measure("yelp", "DCF", 8, 0, "NDCG", 10, float("nan"))]])
def test_without_numbers_everything_is_not_run(tmp_path, rows):
    markdown, text = written(rows, tmp_path)
    assert "0 hold and 0 do not" in markdown
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    assert not {"yes", "no"} & set(Page(text).cells)


@pytest.mark.usefixtures("no_pictures")
def test_a_run_cut_short_says_what_is_missing(tmp_path):
    rows = [row for row in paper_rows.figure_1() if row.dataset == "yelp" and row.method in ("DCF", "bias only")]
    markdown, _ = written([row for row in rows if row.bits != 64 and row.metric != "RMSE"], tmp_path)
    line = next(line for line in markdown.splitlines() if line.startswith("| bias only | – |"))
    assert line == "| bias only | – | 0.7719 | 0.7710 | **0.8120** | 0.8100 to 0.8140 | not run | 1.5 |"
    (missing,) = re.findall(r"^Not run: random; .*$", markdown, re.MULTILINE)
    assert "DCF (64 bits)" in missing
    assert "DCMF (8, 16, 32, 64 bits)" in missing


@pytest.mark.usefixtures("no_pictures")
def test_what_was_timed_whole_is_no_sample_after_a_file_has_rounded_it(tmp_path):
    Results(tmp_path / "results.csv").add(paper_rows.whole())
    markdown, _ = written(Results(tmp_path / "results.csv"), tmp_path)
    assert markdown.count("Timed on a sample and scaled: FM; libFM loop on 2,000,000 pairs. All others") == 4


def test_pictures_are_part_of_the_page_and_their_names_do_not_clash(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    markdown, text = written(paper_rows.whole(), tmp_path)
    page = Page(text)
    assert text.count("<svg") == 4
    assert len(page.ids) == len(set(page.ids)) > 100
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert used <= set(page.ids)
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert re.findall(r"\]\((.+?)\)", markdown) == [
        f"{n}.svg" for n in ("figure-1", "figure-1-features", "figure-2", "table-1")
    ]
