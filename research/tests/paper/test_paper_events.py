"""Words where there are no ratings, on generated files of the published forms."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from bitfm.evaluation import rank_metrics

from bitfm_research.paper._words_of_events import event_claims, words_of_events
from bitfm_research.paper.claims import check_claims
from bitfm_research.paper.datasets import find_data, load_split
from bitfm_research.paper.events import EVENTS_TUNED, ranked
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import EVENTS, KS
from bitfm_research.paper.plan import Plan
from bitfm_research.paper.results import Measure, Results
from bitfm_research.paper.run import run
from bitfm_research.paper.user_scores import UserScores

N_USERS, N_ITEMS, N_TOPICS = 60, 80, 4
METHODS = {"popularity", "DFM, pairs of items", "ImplicitFM"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Readers of one topic each, and items whose words tell their topic."""
    root, rng = tmp_path_factory.mktemp("events"), np.random.default_rng(0)
    chosen = [np.sort(rng.choice(np.arange(user % N_TOPICS, N_ITEMS, N_TOPICS), 12, False)) for user in range(N_USERS)]
    papers = root / "citeulike-t"
    papers.mkdir()
    (papers / "users.dat").write_text("".join(f"{len(c)} {' '.join(map(str, c))}\n" for c in chosen))
    words = [f"2 {item % N_TOPICS}:3 {N_TOPICS + item % 7}:1" for item in range(N_ITEMS)]
    (papers / "mult.dat").write_text("\n".join(words) + "\n")
    tags = [" ".join(str(10 * tag + item) for item in range(10)) for tag in range(8)]
    (papers / "tag-item.dat").write_text("".join(f"10 {items}\n" for items in tags))
    log, meta = io.StringIO(), io.StringIO()
    log.write("user\titem\tcnt\tdaytime\n")
    meta.write("item\tdescription\tname\n")
    for user, items in enumerate(chosen):
        for item in items:
            log.write(f"{user}\t{item}\t1\tmorning\n{user}\t{item}\t2\tnight\n")
    for item in range(N_ITEMS):
        meta.write(f"{item}\ttopic{item % N_TOPICS} thing{item % 7}\tapp{item}\n")
    (root / "frappe").mkdir()
    with zipfile.ZipFile(root / "frappe" / "Mobile_Frappe.zip", "w") as archive:
        archive.writestr("Mobile_Frappe/frappe/frappe.csv", log.getvalue())
        archive.writestr("Mobile_Frappe/frappe/meta.csv", meta.getvalue())
    return root


@pytest.mark.parametrize("name", EVENTS)
def test_events_are_split_once_and_every_item_has_its_words(data, name):
    split = load_split(name, data, 0)
    pairs = {(u, i) for part in (split.train, split.test) for u, i in zip(*part[:2], strict=True)}
    assert len(pairs) == len(split.train[0]) + len(split.test[0]) == 12 * N_USERS  # twice counts once
    words = split.item_fields["words"].to_csr()
    assert words.shape[0] == split.n_items
    topic = np.unique([item for _, item in sorted(pairs)]) % N_TOPICS
    alike = (words @ words.T).toarray() > 0.5
    assert alike[topic[:, None] == topic].mean() > alike[topic[:, None] != topic].mean()


def test_a_ranking_is_of_the_items_that_are_new(data):
    split = load_split("citeulike-t", data, 0)
    each = ranked(split, None, ())
    counts = np.bincount(split.train[1], minlength=split.n_items)
    seen, wanted = (
        sp.csr_matrix((part[2], part[:2]), shape=(split.n_users, split.n_items)) for part in (split.train, split.test)
    )
    scores = np.where(seen.toarray() > 0, -1.0, counts[None, :])
    order = np.argsort(-scores, axis=1, kind="stable")[:, : KS[-1]]
    np.testing.assert_allclose(each.values, rank_metrics(order, wanted, KS).ndcg.values)


def test_every_method_is_run_without_words_and_with_them(data, tmp_path):
    results, users = Results(tmp_path / "results.csv"), UserScores(tmp_path / "users")
    assert find_data(data)[1] == EVENTS
    run(Plan(data, bits=(16,), seeds=2), results, users, lambda line: None)
    for name in EVENTS:
        rows = {(m.method, m.seed) for m in results if (m.dataset, m.metric, m.k) == (name, "NDCG", 10)}
        coded = {(m, seed) for m in METHODS - {"popularity"} for m in (m, m + "; features") for seed in (0, 1)}
        assert rows == {("popularity", 0), *coded}
        assert results.value(name, EVENTS_TUNED, 16, 0, "alpha") in (100, 1000, 10_000)
    means = Means(results, users)
    best = max(means.ndcg("frappe", m, 16, 10) for m in ("ImplicitFM", "ImplicitFM; features"))
    assert best > means.ndcg("frappe", "popularity", None, 10)
    table = words_of_events(means)[-1]
    assert [row[0] for row in table.rows] == ["CiteULike-t"] * 5 + ["Frappe"] * 5
    for claim in event_claims(means):
        assert all(it.tested is not None for it in claim.findings)


def test_words_must_help_by_more_than_chance_and_sets_that_were_not_run_are_not_named():
    rows = [
        Measure("frappe", "ImplicitFM", 64, 0, "NDCG", 10, 0.2),
        Measure("frappe", "ImplicitFM; features", 64, 0, "NDCG", 10, 0.21),
    ]
    found = {claim.title: claim for claim in check_claims(rows) if claim.title.endswith("for events")}
    (it,) = found["ImplicitFM is better with words than without, for events"].findings
    assert (it.dataset, it.holds) == ("frappe", True)
    assert it.measured == pytest.approx(5)
    assert not [claim for claim in check_claims([]) if claim.title.endswith("for events")]
