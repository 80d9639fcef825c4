"""``bitfm data prepare``: raw data made ready to fit on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from bitfm.cli.screen import show

if TYPE_CHECKING:
    from bitfm_research.prepare import Source


app = typer.Typer(
    help="Average, filter and number raw ratings, and take words from reviews, as the paper does.", no_args_is_help=True
)

Out = Annotated[Path, typer.Option(help="A new folder for the result, or one to replace that has such a result.")]
MinRatings = Annotated[int, typer.Option(min=1, help="Drop users, and then items, with fewer ratings.")]
Iterate = Annotated[
    bool, typer.Option("--iterate", help="Drop in turn until all users and items have as many: the k-core.")
]
MaxWords = Annotated[int, typer.Option(min=0, help="How many words to keep of all texts; 0 to leave texts out.")]
SkipBad = Annotated[
    bool,
    typer.Option("--skip-bad", help="Count lines that cannot be read and go on, instead of stopping at the first."),
]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command()
def yelp(
    path: Annotated[Path, typer.Argument(help="review.json of the academic data set, also with gzip.")],
    out: Out,
    min_ratings: MinRatings = 20,
    iterate: Iterate = False,
    max_words: MaxWords = 8000,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Prepare Yelp's reviews."""
    from bitfm_research.prepare import YelpReviews

    _prepare(YelpReviews(path), out, min_ratings, iterate, max_words, skip_bad, as_json)


@app.command()
def amazon(
    path: Annotated[
        Path, typer.Argument(help="Reviews such as reviews_Books_5.json.gz, or a CSV of user, item, rating, time.")
    ],
    out: Out,
    min_ratings: MinRatings = 20,
    iterate: Iterate = False,
    max_words: MaxWords = 8000,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Prepare Amazon's reviews or ratings."""
    from bitfm_research.prepare import AmazonReviews

    _prepare(AmazonReviews(path), out, min_ratings, iterate, max_words, skip_bad, as_json)


@app.command()
def movielens(
    path: Annotated[Path, typer.Argument(help="The folder or the zip archive of a release.")],
    out: Out,
    texts: Annotated[
        Path | None,
        typer.Option(help="A CSV, TSV or Parquet file: a movie's id in the first column, a text in the second."),
    ] = None,
    min_ratings: MinRatings = 20,
    iterate: Iterate = False,
    max_words: MaxWords = 8000,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Prepare a release of MovieLens, with genres."""
    from bitfm_research.prepare import MovieLens

    _prepare(MovieLens(path, texts), out, min_ratings, iterate, max_words, skip_bad, as_json)


@app.command()
def csv(
    path: Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file with one rating per row.")],
    out: Out,
    user: Annotated[str, typer.Option(help="The column of users.")],
    item: Annotated[str, typer.Option(help="The column of items.")],
    rating: Annotated[str, typer.Option(help="The column of ratings.")],
    text: Annotated[str | None, typer.Option(help="The column of reviews.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of times: seconds since 1970, or dates.")] = None,
    separator: Annotated[
        str | None, typer.Option(help="Between columns. Default: a tab in a .tsv file, else a comma.")
    ] = None,
    min_ratings: MinRatings = 20,
    iterate: Iterate = False,
    max_words: MaxWords = 8000,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Prepare any table of ratings: CSV, TSV or Parquet."""
    from bitfm_research.prepare import RatingTable

    table = RatingTable(path, user=user, item=item, rating=rating, text=text, time=time, separator=separator)
    _prepare(table, out, min_ratings, iterate, max_words, skip_bad, as_json)


def _prepare(
    source: Source, out: Path, min_ratings: int, iterate: bool, max_words: int, skip_bad: bool, as_json: bool
) -> None:
    from bitfm_research.prepare import prepare
    from bitfm_research.prepare.pipeline import step_title
    from bitfm_research.prepare.saving import check_target

    check_target(out)  # before the work, not after it
    data = prepare(
        source, min_ratings=min_ratings, iterate=iterate, max_words=max_words, skip_bad=skip_bad, progress=True
    )
    data.save(out)
    rows = [{"step": step_title(step, min_ratings), **counts} for step, counts in data.steps.items()]
    skipped = data.source["skipped_lines"]
    facts = [f"{len(names):,} {name}" for name, (_, names) in data.item_tables().items()]
    facts += [f"{skipped:,} bad lines skipped"] if skip_bad else []
    show(str(source.path), rows, caption="; ".join([*facts, f"written to {out}"]), as_json=as_json)
