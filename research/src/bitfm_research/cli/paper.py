"""``bitfm paper``: every experiment of the paper by one command."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from bitfm import __version__
from bitfm.atomic import atomic_write
from bitfm.cli.screen import console, note, show

if TYPE_CHECKING:
    from bitfm_research.paper.plan import Plan

_SETTINGS = "settings.json"


def paper(
    data: Annotated[
        Path | None, typer.Option(help="The folder of the data sets, or of the paper's two (default: BITFM_DATA).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and report; a run goes on from it.")] = Path(
        "results"
    ),
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="yelp, amazon, ml-1m, douban, citeulike-t, frappe, yelp-words or amazon-words; may be given several "
            "times. Default: all that are there."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="A method's name; may be given several times. Default: all.")
    ] = None,
    bits: Annotated[
        list[int] | None, typer.Option(help="Code length; may be given several times. Default: 8, 16, 32 and 64.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds, of what is random. Default: 3, and 1 with --quick.")
    ] = None,
    libfm: Annotated[
        Path | None,
        typer.Option(help="libFM's own program, run beside ours. Default: libFM on the PATH, if any."),
    ] = None,
    quick: Annotated[bool, typer.Option(help="A first look: some users, two code lengths, fewer settings.")] = False,
    show_plan: Annotated[bool, typer.Option("--plan", help="Say what is left and what it costs; run nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Reproduce the paper: all methods, Figures 1 and 2, Table 1, and what became of its claims."""
    from bitfm_research.bench.datasets import need_data
    from bitfm_research.bench.results import command_line
    from bitfm_research.paper.claims import check_claims
    from bitfm_research.paper.datasets import find_data
    from bitfm_research.paper.libfm_program import find_libfm
    from bitfm_research.paper.plan import Plan
    from bitfm_research.paper.report import write_report
    from bitfm_research.paper.results import Results
    from bitfm_research.paper.run import run
    from bitfm_research.paper.user_scores import UserScores

    plan = Plan(
        need_data(data),
        tuple(dataset or ()),
        tuple(methods or ()),
        tuple(bits or ()),
        seeds,
        quick,
        find_libfm(libfm),
    )
    find_data(plan.data)
    if show_plan:
        _show_costs(plan, out, as_json)
        return
    _same_settings(out, {"quick": quick})
    results, users = Results(out / "results.csv"), UserScores(out / "users")
    command = command_line("paper", group=None, dataset=dataset, methods=methods, bits=bits, seeds=seeds, quick=quick)
    try:
        run(plan, results, users, note)
    finally:  # what there is, also if a run ends before its time
        write_report(results, out, _about(command, plan.libfm, quick), users)
    rows: list[dict[str, Any]] = [
        {
            "claim": claim.title,
            "data set": it.dataset,
            "paper": None if it.paper is None else claim.shown(it.paper),
            "measured": claim.shown(it.measured),
            "p": None if it.tested is None else it.tested.shown,
            "holds": it.verdict,
        }
        for claim in check_claims(results, users)
        for it in claim.findings
    ]
    show("What the paper says, and what was measured", rows, caption=command, as_json=as_json)
    if not as_json:
        console.print(f"\nWritten: {out / 'report.html'}, {out / 'report.md'}, {out / 'results.csv'} and figures.")


def _show_costs(plan: Plan, out: Path, as_json: bool) -> None:
    from bitfm_research.paper.costs import costs_of
    from bitfm_research.paper.results import Results
    from bitfm_research.paper.run import jobs_left

    results = Results(out / "results.csv")
    left, total = jobs_left(plan, results)
    costs = costs_of(left, results)
    rows = [
        {
            "data set": it.dataset,
            "method": it.method,
            "jobs": it.jobs,
            "seconds": None if it.seconds is None else round(it.seconds, 1),
        }
        for it in costs
    ]
    known = sum(it.seconds for it in costs if it.seconds is not None)
    caption = f"{len(left)} of {total} jobs are left; about {known / 60:.0f} minutes of processor time"
    if plan.quick:
        caption += " without --quick, which takes a sample"
    show("What the run costs, on one thread", rows, caption=caption, as_json=as_json)


def _same_settings(out: Path, settings: dict[str, Any]) -> None:
    """Keep runs apart whose numbers cannot stand side by side."""
    path = out / _SETTINGS
    if (out / "results.csv").exists() and not path.exists():
        raise ValueError(f"{out} has results of unknown settings: there is no {_SETTINGS} in it; give another --out")
    if path.exists():
        before = json.loads(path.read_text("utf-8"))
        if before != settings:
            raise ValueError(f"{out} holds a run with {_words(before)}, not {_words(settings)}; give another --out")
        return
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(json.dumps(settings).encode())


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _about(command: str, libfm: Path | None, quick: bool) -> dict[str, str]:
    import numpy
    import scipy
    from bitfm.core import isa

    about = {
        "Command": f"`{command}`",
        "Versions": f"bitfm {__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}",
        "libFM's own program": f"`{libfm.name}`" if libfm else "not run: there is no `libFM` on the PATH, see --libfm",
        "Computer": f"{platform.machine()}, instruction set {isa()}",
    }
    if quick:
        about["Quick"] = "a first look: some of the users, two code lengths; the numbers are not those of the paper"
    return about
