"""The report of the paper's experiments: claims, figures and tables, as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bitfm.atomic import atomic_write
from bitfm.plotting import MISSING, available

from bitfm_research.paper._document import Block, Figure, Heading, Points, Table, Text, as_html, as_markdown
from bitfm_research.paper._one_libfm import one_libfm
from bitfm_research.paper._report_tables import scores, settings
from bitfm_research.paper._table_1 import times
from bitfm_research.paper._what_works import what_works
from bitfm_research.paper._words_of_events import words_of_events
from bitfm_research.paper.claim import Claim, Finding
from bitfm_research.paper.claims import check_claims
from bitfm_research.paper.figures import write_figures
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import EVENTS, WITH_FEATURES, WITH_IDS
from bitfm_research.paper.results import Measure
from bitfm_research.paper.user_scores import UserScores
from bitfm_research.plotting import TITLES

__all__ = ["write_report"]

_CAPTIONS = {
    "figure-1": "Figure 1. NDCG@K against K, one panel per code length, on the paper's splits. Methods "
    "without codes are the same in every panel of a row.",
    "figure-1-features": "Figure 1 with features of the items: plot words (MovieLens 1M), cast and types (Douban). A "
    "thin pale line is the method without them.",
    "figure-1-words": "Figure 1 with the words of the reviews, from the raw dumps, split in half by user. A thin "
    "pale line is the method without them.",
    "figure-2": "Figure 2. NDCG@10 at 64 bits against β (DFM) and L2 (FM by SGD). Zero has no place on a logarithmic "
    "axis, hence the break.",
    "table-1": "Table 1 as a picture: seconds to score every user with every item. Grey: the paper's own times, on its "
    "authors' computer.",
}
_DIFFERENT = (
    ("Ids only.", "The published splits of Yelp and Amazon carry ids and ratings, not the reviews. DFM by the paper's "
     "objective, libFM and all other codes have ids only there. DCMF, whose content is missing, the FMs by ALS "
     "and Gibbs, and the distilled codes have histories and raters besides: what the training ratings tell of a user "
     "and of an item. Other data with features stand in for the words."),
    ("Hyper-parameters.", "libFM's are chosen anew on a part of the training data. The others have their defaults, "
     "which were settled on such parts. The paper takes those of its baselines from another paper. In Figure 2, L2 is "
     "that of the factors, with the learning rate and the epochs that are best for it on the held-out part."),
    ("A teacher.", "The distilled codes learn from a Gibbs FM with the same fields, the same at every length: that "
     "of the tables, or one with the features besides. They have histories and raters also where there are features."),
    ("Seconds of a fit.", "Without the teacher's, and without the choice of libFM's penalty."),
    ("More methods.", "The paper shows neither the bias-only model nor a random order nor other solvers of the "
     "real-valued FM. All of them stand in the tables."),
    ("Times.", "The slow ways are timed on a sample of the pairs and scaled to all; the table says which. Computers "
     "differ: compare ratios, not seconds. Retrieval finds every user's best items and writes no matrix of scores."),
)  # fmt: skip


def write_report(
    results: Iterable[Measure], folder: Path, about: Mapping[str, str], users: UserScores | None = None
) -> list[Path]:
    """Write ``report.md`` and ``report.html``, and the figures they show, and return the paths of the two.

    Where a run was cut short, what is missing is "not run"; without matplotlib the report says so. `about` is how the
    rows came about: the command, the data, the split, versions, the computer. Without `users` there are no tests.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bitfm_research.paper.report import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_report([], Path(folder), {"Command": "bitfm paper"})]
    ['report.md', 'report.html']
    """
    rows = list(results)
    folder.mkdir(parents=True, exist_ok=True)
    blocks = _document(rows, folder, write_figures(rows, folder), about, users)
    written = []
    for name, text in (("report.md", as_markdown(blocks)), ("report.html", as_html(blocks))):
        with atomic_write(folder / name) as file:
            file.write(text.encode())
        written.append(folder / name)
    return written


def _document(
    rows: Sequence[Measure], folder: Path, drawn: Sequence[str], about: Mapping[str, str], users: UserScores | None
) -> list[Block]:
    means, claims = Means(rows), check_claims(rows, users)
    on_ids = [claim for claim in claims if claim.findings[0].dataset in WITH_IDS]
    on_events = [claim for claim in claims if claim.findings[0].dataset in EVENTS]
    on_features = [claim for claim in claims if claim not in on_ids and claim not in on_events]
    seeds = sorted({row.seed for row in rows})
    return [
        Heading("The experiments of Discrete Factorization Machines, run again", 1),
        Text(
            "Liu, He, Feng, Nie, Liu and Zhang, *Discrete Factorization Machines for Fast Feature-based "
            "Recommendation*, IJCAI 2018, Section 5. Every number here is computed from `results.csv`."
        ),
        Table(
            ["", "This run"],
            [*([key, value] for key, value in about.items()), ["Seeds in the rows", _listed(seeds)]],
            2,
        ),
        Heading("What the paper claims, and what was measured"),
        Text(_counted(claims)),
        Heading("On the paper's data sets", 3),
        _summary(on_ids, WITH_IDS),
        Heading("With features, on other data sets", 3),
        Text(
            "The paper has no numbers for other data than its own; what holds there is judged by the milder of its two."
        ),
        _summary(on_features, means.with_features()),
        Heading("Figure 1: accuracy"),
        *_command(about, *(f"--dataset {name}" for name in (*WITH_IDS, *WITH_FEATURES))),
        *_figure(folder, drawn, "figure-1"),
        *_figure(folder, drawn, "figure-1-features"),
        *(_figure(folder, drawn, "figure-1-words") if "figure-1-words" in drawn else []),
        Heading("What does the work in DFM"),
        *_command(about, '--methods "DFM, paper"', '--methods "DFM, without linear terms"', "--methods DCF"),
        *what_works(means, (*WITH_IDS, *means.with_features())),
        Heading("Words where there are no ratings"),
        *_command(about, *(f"--dataset {name}" for name in EVENTS)),
        *words_of_events(means),
        *([_summary(on_events, [name for name in EVENTS if means.runs(name)])] if on_events else []),
        Heading("One libFM"),
        *_command(about, '--methods "FM, SGD"', "--libfm PATH"),
        *one_libfm(means, (*WITH_IDS, *means.with_features())),
        Heading("Figure 2: β and L2"),
        *_command(about, '--methods "DFM, paper"', '--methods "FM, SGD"', "--bits 64"),
        *_figure(folder, drawn, "figure-2"),
        *settings(means),
        Heading("Table 1: time to score all pairs"),
        *_command(about, '--methods "DFM, paper"', '--methods "FM, SGD"'),
        *_figure(folder, drawn, "table-1"),
        *times(means),
        Heading("All scores"),
        Text(
            "NDCG of each user's ranked test items: the mean over seeds, and ± their standard deviation where several "
            "were run. What is not random was run once. The interval is of NDCG@10: 95 %, by bootstrap over users. "
            "Strong: the best NDCG@10 of a data set."
        ),
        *(block for dataset in (*WITH_IDS, *means.with_features()) for block in scores(means, dataset)),
        Heading("What differs from the paper"),
        Points(_DIFFERENT),
        Heading("Behind each claim"),
        *(block for claim in claims for block in _details(claim)),
    ]


def _command(about: Mapping[str, str], *options: str) -> list[Block]:
    """Return the command that gives a section alone, beside the whole run's."""
    quick = ["--quick"] if "Quick" in about else []
    return [Text(f"By itself: `{' '.join(['bitfm paper', *options, *quick])}`.")]


def _figure(folder: Path, drawn: Sequence[str], name: str) -> list[Block]:
    if name in drawn:
        return [Figure(folder / f"{name}.svg", _CAPTIONS[name])]
    title = _CAPTIONS[name].partition(".")[0].partition(":")[0]
    return [Text(f"{title}: not run." if available() else f"{title} is not drawn: {MISSING}.")]


def _summary(claims: Sequence[Claim], datasets: Sequence[str]) -> Table:
    theirs = any(it.paper is not None for claim in claims for it in claim.findings)
    head, rows = ["Claim", "Where"], [[claim.title, claim.where] for claim in claims]
    for dataset in datasets:
        columns = (["paper"] if theirs else []) + ["measured", "p", "holds"]
        head += [f"{TITLES[dataset]}: {columns[0]}", *columns[1:]]
        for row, claim in zip(rows, claims, strict=True):
            row += _told(claim, dataset)[-len(columns) :]
    return Table(head, rows, 2)


def _told(claim: Claim, dataset: str) -> list[str]:
    it = claim.finding(dataset)
    if it is None:
        return ["–"] * 4
    p_value = "–" if it.tested is None else it.tested.shown
    return ["–" if it.paper is None else claim.shown(it.paper), claim.shown(it.measured), p_value, it.verdict]


def _counted(claims: Sequence[Claim]) -> str:
    theirs = [claim for claim in claims if claim.where.startswith("Section")]
    verdicts = [it.holds for claim in theirs for it in claim.findings]
    n_tests = sum(it.tested is not None for claim in claims for it in claim.findings)
    yes, no, unknown = (sum(it is which for it in verdicts) for which in (True, False, None))
    missing = f"; {unknown} {'was' if unknown == 1 else 'were'} not run" if unknown else ""
    return (
        f"Of {len(verdicts)} findings, a claim of the paper on a data set each, {yes} hold and {no} do not{missing}. "
        "A difference holds if its sign is the paper's and its size at least half of the paper's; a loss "
        "that the paper calls small, if it is at most one and a half times the paper's. A difference must also be more "
        f"than chance: p ≤ 0.05 in a paired test over users, signs flipped at random, adjusted by Holm's method for "
        f"all {n_tests} tests of this report. The rule of each claim, and the numbers behind it, stand at the end."
    )


def _details(claim: Claim) -> list[Block]:
    points = [
        (f"{TITLES[it.dataset]}:", f"{it.verdict}. {it.why}{_test(it)}" if it.holds is not None else it.why)
        for it in claim.findings
    ]
    return [
        Heading(claim.title, 3),
        Text(f"{claim.where[0].upper()}{claim.where[1:]}. Holds if {claim.rule}."),
        Points(points),
    ]


def _test(it: Finding) -> str:
    return "" if it.tested is None else f" {it.tested.told()}"


def _listed(values: Sequence[int]) -> str:
    return ", ".join(str(value) for value in values) or "none"
