"""``bitfm bench``: the figures this project claims, each by a command, opponents in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bitfm.cli._screen import note, show

app = typer.Typer(help="Measure: each command prints a table, or JSON for programs.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Data = Annotated[Path | None, typer.Option(help="The folder of the real data sets (default: BITFM_DATA).")]
Dataset = Annotated[list[str] | None, typer.Option(help="yelp or amazon; may be given twice. Default: both.")]


@app.command()
def read(
    megabytes: Annotated[float, typer.Option(help="Size of the generated file.")] = 50, as_json: Json = False
) -> None:
    """Read a libFM file, against scikit-learn."""
    from bitfm.bench.read import run

    show("Reading a libFM file", run(megabytes=megabytes), as_json=as_json)


@app.command()
def train(data: Data = None, dataset: Dataset = None, as_json: Json = False) -> None:
    """Train on the paper's sets, against the published way and myFM."""
    from bitfm.bench.train import run

    rows = run(tuple(dataset or ("yelp", "amazon")), folder=data, say=note)
    show("Training", rows, as_json=as_json)


@app.command()
def accuracy(
    data: Data = None,
    dataset: Dataset = None,
    bits: Annotated[list[int] | None, typer.Option(help="Code lengths; may be given twice. Default: 64.")] = None,
    seed: int = 0,
    as_json: Json = False,
) -> None:
    """Score accuracy on the paper's sets and split, beside bias-only and the real-valued FM."""
    from bitfm.bench.accuracy import run

    rows = run(tuple(dataset or ("yelp", "amazon")), bits=tuple(bits or (64,)), seed=seed, folder=data, say=note)
    show("Accuracy, ids only, the paper's split", rows, as_json=as_json)


@app.command()
def scale(
    interactions: Annotated[int, typer.Option(help="How many interactions to generate.")] = 10_000_000,
    iterations: Annotated[int, typer.Option(help="Iterations of each stage.")] = 2,
    init: Annotated[str, typer.Option(help="relaxed or random; a relaxed start keeps real factors too.")] = "relaxed",
    as_json: Json = False,
) -> None:
    """Train the paper's example of a practical system: 2,674,000 features, generated."""
    from bitfm.bench.scale import run

    rows = run(n_interactions=interactions, iterations=iterations, init=init, say=note)
    show("The paper's practical system", rows, as_json=as_json)


@app.command("all")
def everything(data: Data = None, as_json: Json = False) -> None:
    """All of them, one after another."""
    read(as_json=as_json)
    train(data=data, as_json=as_json)
    accuracy(data=data, as_json=as_json)
    scale(as_json=as_json)
