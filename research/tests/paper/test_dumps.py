"""The page "If you have the dumps": its commands, as they stand there, on dumps of a hundredth of the size."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from bitfm.errors import DataFileError

import dumps
from bitfm_research.paper.claims import check_claims
from bitfm_research.paper.datasets import find_data, load_split
from bitfm_research.paper.figures import CURVES, write_figures
from bitfm_research.paper.names import FEATURES, FROM_DUMPS, LEVELS, PARTS
from bitfm_research.paper.results import Results
from bitfm_research.prepare import AmazonReviews, Prepared, prepare

PAGE = Path(__file__).parents[3] / "docs" / "dumps.md"
# A first look, by the methods of the paper's own figure; the page's command alone takes minutes even at this size.
FEWER = ["--quick", "--bits", "8", "--seeds", "1"]
METHODS = ["bias only", "FM, SGD", "BCCF", "DCF", "DCMF", "DFM, without linear terms", "DFM, paper"]


def commands():
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [shlex.split(line) for line in block.splitlines()]


def execute(words, folder):
    assert words[0] == "bitfm"
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_commands_of_the_page_give_figure_1_with_words(tmp_path):
    yelp, amazon, paper = commands()
    dumps.write_yelp(tmp_path / yelp[4])
    dumps.write_amazon(tmp_path / amazon[4])
    for words, sizes in ((yelp, dumps.YELP), (amazon, dumps.AMAZON)):
        execute(words, tmp_path)
        data = Prepared.load(tmp_path / words[-1])
        raw = data.steps["raw"]
        assert (raw["users"], raw["items"], raw["ratings"]) == sizes[:3]
        left = (len(data.user_ids), len(data.item_ids), len(data.ratings))
        assert left == sizes[3:]
        assert 5000 < len(data.words) <= 8000

    chosen = [word for method in METHODS for word in ("--methods", method)]
    execute([*paper, *FEWER, *chosen], tmp_path)
    folder = tmp_path / "results-words"
    results = Results(folder / "results.csv")
    for name in FROM_DUMPS:
        found = {row.method for row in results if (row.dataset, row.metric, row.k) == (name, "NDCG", 10)}
        with_words = {"FM, SGD", "DCMF", "DFM, paper", *PARTS}
        assert {*METHODS, *PARTS, *(method + FEATURES for method in with_words)} <= found
        assert found <= {*CURVES, *(method + FEATURES for method in with_words)}
    assert all(0.5 < row.value < 1 for row in results if row.metric == "NDCG" and row.k == 10)
    title = "DFM is better than BCCF, DCF and DCMF, given features"
    (claim,) = [claim for claim in check_claims(results) if claim.title == title]
    assert [claim.finding(name).paper for name in FROM_DUMPS] == [7.95, 2.38]
    assert all(claim.finding(name).measured is not None for name in FROM_DUMPS)
    for report in ("report.md", "report.html"):
        assert "Yelp with words" in (folder / report).read_text(encoding="utf-8")
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    assert (folder / "figure-1-words.svg").exists()
    assert "figure-1-words" in write_figures(results, tmp_path / "again")


def test_without_rows_of_dumps_nothing_speaks_of_them():
    assert not [it for claim in check_claims([]) for it in claim.findings if it.dataset in FROM_DUMPS]
    assert set(FROM_DUMPS).isdisjoint(LEVELS)


def test_a_dump_without_reviews_is_refused(tmp_path):
    rows = [f"u{n % 30},i{n % 7 * 31 % 29},{n % 5 + 1},{n}" for n in range(900)]
    (tmp_path / "ratings.csv").write_text("\n".join(rows) + "\n")
    prepare(AmazonReviews(tmp_path / "ratings.csv"), min_ratings=5).save(tmp_path / "amazon-words")
    assert find_data(tmp_path)[1] == ("amazon-words",)
    with pytest.raises(DataFileError, match="has no words; prepare it from a dump that has reviews"):
        load_split("amazon-words", tmp_path, 0)
