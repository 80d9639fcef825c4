"""``bitfm bench``: the figures this project claims, each by a command, other libraries in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from bitfm.cli.screen import note, show
from bitfm.validation import check_choice

app = typer.Typer(help="Measure: each command prints a table, or JSON for programs.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Data = Annotated[Path | None, typer.Option(help="The folder of the real data sets (default: BITFM_DATA).")]
Out = Annotated[Path | None, typer.Option(help="A folder for a CSV and a picture (which needs the extra plots).")]


@app.command()
def read(
    megabytes: Annotated[float, typer.Option(help="Size of the generated file.")] = 50, as_json: Json = False
) -> None:
    """Read a libFM file, against scikit-learn."""
    from bitfm_research.bench.read import run

    show("Reading a libFM file", run(megabytes=megabytes), as_json=as_json)


@app.command()
def train(
    data: Data = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="May be given several times. Default: yelp and amazon, and ml-1m for Gibbs sampling."),
    ] = None,
    part: Annotated[
        list[str] | None, typer.Option(help="codes, reals, fits or gibbs; may be given several times. Default: all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train, against the published way and myFM."""
    from bitfm_research.bench.results import command_line
    from bitfm_research.bench.train import run

    rows = run(dataset, parts=part, folder=data, say=note)
    show("Training", rows, caption=command_line("train", dataset=dataset, part=part), as_json=as_json)


@app.command()
def accuracy(
    data: Data = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="ml-100k, ml-1m, douban, yelp or amazon; may be given several times. Default: all."),
    ] = None,
    bits: Annotated[
        list[int] | None, typer.Option(help="Code lengths; may be given several times. Default: 8 to 64, 8 to 128.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="How many seeds. Default: 3 on ml-100k, else 1.")] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Score codes of every length beside bias-only and real-valued FMs, tuned."""
    from bitfm_research.bench import plots
    from bitfm_research.bench.accuracy import run
    from bitfm_research.bench.results import Results, command_line, over_seeds

    command = command_line("accuracy", dataset=dataset, bits=bits, seeds=seeds)
    results = Results(out, "accuracy", plots.draw_accuracy, command, note)
    for split, rows in run(dataset, bits=bits, seeds=seeds, folder=data, say=note):
        title = f"{split.name}: {split.protocol}"
        show(title, rows if as_json else over_seeds(rows, ("method", "bits")), caption=command, as_json=as_json)
        results.add(rows)


@app.command()
def features(
    data: Data = None,
    dataset: Annotated[str, typer.Option(help="ml-1m, or another set with features.")] = "ml-1m",
    bits: Annotated[int, typer.Option(help="Code length.")] = 64,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 1,
    out: Annotated[Path | None, typer.Option(help="A folder for a CSV.")] = None,
    as_json: Json = False,
) -> None:
    """Add fields one at a time, and score warm items and items that nobody has rated."""
    from bitfm_research.bench.features import run
    from bitfm_research.bench.results import Results, command_line, over_seeds

    command = command_line("features", dataset=dataset, bits=bits, seeds=seeds)
    results = Results(out, "features", None, command, note)
    for split, rows in run(dataset, bits=bits, seeds=seeds, folder=data, say=note):
        summary = rows if as_json else over_seeds(rows, ("method", "bits", "fields"))
        show(f"{split.name}: {split.protocol}", summary, caption=command, as_json=as_json)
        results.add(rows)


@app.command()
def ablation(
    data: Data = None,
    dataset: Annotated[str, typer.Option(help="ml-100k, ml-1m, douban, yelp or amazon.")] = "ml-100k",
    only: Annotated[
        list[str] | None, typer.Option(help="One of them, by its name; may be given several times. Default: all.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 3,
    validation: Annotated[
        bool, typer.Option("--validation", help="Score a part of the training data: to settle defaults by.")
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Change one thing at a time about the distilled codes."""
    from bitfm_research.bench import plots
    from bitfm_research.bench.ablation import run, select
    from bitfm_research.bench.results import Results, command_line, over_seeds

    command = command_line("ablation", dataset=dataset, only=only, seeds=seeds, validation=validation)
    ablations = select(only)
    results = Results(out, "ablation", plots.draw_ablation, command, note)
    for split, rows in run(dataset, seeds=seeds, ablations=ablations, held_out=validation, folder=data, say=note):
        title = f"{split.name}: {split.protocol}"
        results.add(rows)
    summary = results.rows if as_json else over_seeds(results.rows, ("ablation", "setting"))
    show(title, summary, caption=command, as_json=as_json)


@app.command()
def retrieval(
    data: Data = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            help="trained, codes, context, features, rows, bandwidth, approximate, sizes or filters; may be given "
            "several times. Default: all."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for a CSV per part, and a picture of sizes (which needs the extra plots)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the best items, against FAISS, implicit and the bare matrix product."""
    from bitfm_research.bench import plots
    from bitfm_research.bench.results import Results, command_line
    from bitfm_research.bench.retrieval import run
    from bitfm_research.bench.sizes import losses

    command = command_line("retrieval", part=part)
    results: dict[str, Results] = {}
    for name, title, rows in run(part, folder=data, say=note):
        show(title, rows, caption=command, as_json=as_json)
        if name not in results:
            draw = plots.draw_sizes if name == "sizes" else None
            results[name] = Results(out, f"retrieval-{name}", draw, command, note)
        results[name].add([{"table": title, **row} for row in rows])
    if "sizes" in results:
        lost = losses(results["sizes"].rows)
        if lost or as_json:
            show("Where bitfm loses", lost, caption=command, as_json=as_json)
        else:
            note("bitfm loses at no size")


@app.command()
def memory(
    features: Annotated[
        int, typer.Option(min=2, help="How many, in the model compared with real factors.")
    ] = 1_000_000,
    megabytes: Annotated[
        float, typer.Option(min=0.01, help="Size of the file to open; three of them are written.")
    ] = 1000,
    folder: Annotated[
        Path | None, typer.Option(help="A folder on a disk, for files in passing (default: the working directory).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Weigh a model against real factors, and open its file, against pickle and NumPy."""
    from bitfm_research.bench.memory import run
    from bitfm_research.bench.results import command_line

    command = command_line("memory", features=features, megabytes=megabytes)
    for title, rows in run(n_features=features, megabytes=megabytes, folder=folder, say=note):
        show(title, rows, caption=command, as_json=as_json)


@app.command()
def pairs(as_json: Json = False) -> None:
    """Score pairs from raw features, against tables of real and of whole numbers."""
    from bitfm_research.bench.pairs import run

    for title, rows in run(say=note):
        show(title, rows, caption="bitfm bench pairs", as_json=as_json)


@app.command()
def evaluation(as_json: Json = False) -> None:
    """Measure rankings of as many users as the paper's Amazon has, against scikit-learn."""
    from bitfm_research.bench.evaluation import run

    title = "Rankings of 35,151 users, 857,280 test ratings, generated"
    show(title, run(), caption="bitfm bench evaluation", as_json=as_json)


@app.command()
def recommender(
    data: Data = None,
    part: Annotated[
        list[str] | None,
        typer.Option(help="fold-in, categories, query or cost; may be given several times. Default: all."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a fold-in is worth, what many categories and large tables take, and how long a query takes."""
    from bitfm_research.bench.recommender import run
    from bitfm_research.bench.results import command_line

    for title, rows in run(part, folder=data, say=note):
        show(title, rows, caption=command_line("recommender", part=part), as_json=as_json)


@app.command()
def events(
    data: Data = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="ml-100k, ml-1m, citeulike-t, douban, yelp, citeulike-t-words, citeulike-t-cold, frappe. Default: all."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="The beginning of a method's name; may be given several times. Default: all."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many splits.")] = 3,
    first_seed: Annotated[int, typer.Option(help="Seed of the first split.")] = 0,
    part: Annotated[str, typer.Option(help="ranking, speed: a sweep beside implicit's, or search.")] = "ranking",
    out: Annotated[Path | None, typer.Option(help="A folder for a CSV.")] = None,
    as_json: Json = False,
) -> None:
    """Rank whole catalogues by events, beside tuned opponents."""
    from bitfm_research.bench.events import run, run_search, run_speed
    from bitfm_research.bench.results import Results, command_line, over_seeds

    if check_choice("part", part, ("ranking", "speed", "search")) != "ranking":
        tables = run_search(folder=data, say=note) if part == "search" else run_speed(dataset, folder=data, say=note)
        for title, rows in tables:
            show(title, rows, caption=command_line("events", dataset=dataset, part=part), as_json=as_json)
        return
    command = command_line("events", dataset=dataset, only=only, seeds=seeds, first_seed=first_seed or None)
    splits = range(first_seed, first_seed + seeds)
    results = Results(out, "events", None, command, note)
    for title, rows in run(dataset, seeds=splits, only=only, folder=data, say=note):
        show(title, rows if as_json else over_seeds(rows, ("method",)), caption=command, as_json=as_json)
        results.add(rows)


@app.command()
def scale(
    interactions: Annotated[int, typer.Option(help="How many interactions to generate.")] = 10_000_000,
    iterations: Annotated[int, typer.Option(help="Iterations of each stage.")] = 2,
    init: Annotated[str, typer.Option(help="relaxed or random; a relaxed start keeps real factors too.")] = "relaxed",
    as_json: Json = False,
) -> None:
    """Train the paper's example of a practical system: 2,674,000 features, generated."""
    from bitfm_research.bench.scale import run

    rows = run(n_interactions=interactions, iterations=iterations, init=init, say=note)
    show("The paper's practical system", rows, as_json=as_json)


@app.command("all")
def everything(data: Data = None, as_json: Json = False) -> None:
    """All of them, one after another."""
    read(as_json=as_json)
    train(data=data, as_json=as_json)
    accuracy(data=data, as_json=as_json)
    features(data=data, as_json=as_json)
    ablation(data=data, as_json=as_json)
    retrieval(data=data, as_json=as_json)
    pairs(as_json=as_json)
    memory(as_json=as_json)
    evaluation(as_json=as_json)
    recommender(data=data, as_json=as_json)
    events(data=data, as_json=as_json)
    events(data=data, part="speed", as_json=as_json)
    events(data=data, part="search", as_json=as_json)
    scale(as_json=as_json)
