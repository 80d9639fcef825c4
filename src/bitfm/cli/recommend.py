"""``bitfm recommend``, ``similar`` and ``explain``: what a recommender says about users and items."""

from __future__ import annotations

import contextlib
import itertools
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from bitfm.cli import _options as option
from bitfm.cli._config import Config, model_and_rest
from bitfm.cli._files import Out, need_table, write_table
from bitfm.cli._options import names_of, pairs_of, with_options_of
from bitfm.cli._rules import RankOptions, RuleOptions
from bitfm.cli._titles import item_id, rated_items
from bitfm.cli.screen import line, note, notes_of_warnings, polars_of, print_csv, print_json, rows_of, show

if TYPE_CHECKING:
    import polars as pl

    from bitfm import Explanation, Recommender

_SHARES = 12  # of an explanation, in each table
_SPREADSHEET = "As --csv, with ' before texts that a spreadsheet would take for formulas."
_BATCH = 1000  # users at a time, since standard input may have any number


@with_options_of(RuleOptions, RankOptions)
def recommend(
    context_: typer.Context,
    model: option.Model = None,
    users: Annotated[option.Texts, Argument(metavar="USER", help="Ids; - reads them from stdin, one per line.")] = None,
    n: option.Number = 10,
    context: option.Moment = None,
    history: Annotated[
        str | None, Option(metavar="ITEM[:RATING],...", help="Items of a new user, instead of USER.")
    ] = None,
    feature: Annotated[
        option.Texts, Option(metavar="COLUMN=VALUE", help="A feature of a new user. Repeatable.")
    ] = None,
    seen: Annotated[bool, Option("--seen", help="Also what the user has had already.")] = False,
    exclude: Annotated[
        str | None, Option(metavar="KIND,...", help="Of events: hide what was had by these, e.g. buy, not all.")
    ] = None,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV, one batch of users after another.")] = False,
    spreadsheet: Annotated[bool, Option("--spreadsheet", help=_SPREADSHEET)] = False,
    out: Out = None,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Recommend items to users, or to a new user.

    bitfm recommend shop.bitfm u42 --context daytime=evening

    bitfm recommend shop.bitfm --history i7:5,i9:2 --feature age=25-34
    """
    if (as_csv or spreadsheet) and as_json:
        raise typer.BadParameter("give --csv or --json, not both", param_hint="--csv")
    path, ids = model_and_rest(context_, model, users or [])
    need_table(out, [path])
    moment = pairs_of("--context", context) or None
    is_new = history is not None or bool(feature)
    if is_new == bool(ids):
        raise typer.BadParameter("name users, or give --history or --feature of a new user", param_hint="USER")
    if is_new and exclude is not None:
        raise typer.BadParameter(
            "it goes by the events of known users; use --deny for a new one", param_hint="--exclude"
        )
    import bitfm

    rec = bitfm.load(path)
    how = {"n": n, "context": moment, "seen": seen, **RuleOptions.of(context_, rec), **RankOptions.of(context_)}
    if exclude is not None:
        how["exclude"] = names_of(exclude)
    if is_new:
        batches = iter([_for_new(rec, history or "", pairs_of("--feature", feature) or None, how)])
    else:
        batches = _for_users(rec, ids, how)
    if out is not None:
        written = write_table(out, (_with_stored_users(rec, batch) for batch in batches), no_formulas=spreadsheet)
        line(f"{written:,} rows written to {out}")
        return
    if as_csv or spreadsheet:
        for number, batch in enumerate(batches):
            print_csv(batch, header=number == 0, no_formulas=spreadsheet)
        return
    rows = [row for batch in batches for row in batch.to_dicts()]
    if as_json:
        if not is_new:
            stored = _stored_ids(rec, "user", [row["user"] for row in rows])
            rows = [{**row, "user": user} for row, user in zip(rows, stored, strict=True)]
        print_json({"model": str(path), "context": moment or {}, "recommendations": rows})
        return
    _show("Recommendations", rows)


@with_options_of(RuleOptions)
def similar(
    context_: typer.Context,
    model: option.Model = None,
    item: Annotated[str | None, Argument(metavar="ITEM", help="Its id, or its title.")] = None,
    n: option.Number = 10,
    users: Annotated[bool, Option("--users", help="Find users instead; ITEM is the id of one.")] = False,
    out: Out = None,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Find the items that are most similar to one, or the users.

    bitfm similar shop.bitfm i7 --where genre=Fantasy

    bitfm similar shop.bitfm --users u42
    """
    path, [named] = model_and_rest(context_, model, [item], "ITEM")
    need_table(out, [path])
    import bitfm

    rec = bitfm.load(path)
    rules, side = RuleOptions.of(context_, rec), "user" if users else "item"
    if users and any(rule is not None for rule in rules.values()):
        raise typer.BadParameter("--where, --allow and --deny are about items", param_hint="--users")
    id_ = named if users else item_id(rec, named)
    with notes_of_warnings():
        found = rec.similar_users(id_, n) if users else rec.similar_items(id_, n, **rules)
    if out is not None:
        line(f"{write_table(out, [polars_of(found)]):,} rows written to {out}")
    elif as_json:
        print_json({"model": str(path), side: _stored_ids(rec, side, [id_])[0], "similar": rows_of(found)})
    else:
        _show(f"Like {named}", rows_of(found))


def explain(
    context_: typer.Context,
    model: option.Model = None,
    user: Annotated[str | None, Argument(metavar="USER", help="The user's id.")] = None,
    item: Annotated[str | None, Argument(metavar="ITEM", help="The item's id, or its title.")] = None,
    context: option.Moment = None,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Explain the score of a user and an item.

    bitfm explain shop.bitfm u42 i7 --context daytime=evening
    """
    path, [user_id, named] = model_and_rest(context_, model, [user, item], "USER", "ITEM")
    import bitfm

    rec = bitfm.load(path)
    asked = item_id(rec, named)
    with _other_notes():
        found = rec.explain(user_id, asked, context=pairs_of("--context", context) or None)
    _remark_on_unknown(rec, "user", [user_id], "explained without the user")
    if not as_json:
        _show_explanation(f"{user_id} and {named}", found)
        return
    print_json(
        {
            "model": str(path),
            "user": _stored_ids(rec, "user", [user_id])[0],
            "item": _stored_ids(rec, "item", [asked])[0],
            "score": found.score,
            "bias": found.bias,
            "fields": [{"name": name, "contribution": share} for name, share in found.by_field().items()],
            "features": [{"name": f.name, "value": f.value, "contribution": f.contribution} for f in found.features],
            "pairs": [{"names": list(it.names), "contribution": it.contribution} for it in found.pairs],
        }
    )


def _show_explanation(title: str, found: Explanation) -> None:
    """Show what made a score: by field, and the features and pairs that weigh most."""
    named = [(share.name, share.contribution) for share in found.features]
    named += [(" with ".join(share.names), share.contribution) for share in found.pairs]
    named.sort(key=lambda share: -abs(share[1]))
    for heading, shares in ((f"{title}, by field", list(found.by_field().items())), ("One by one", named)):
        rest = [share for _, share in shares[_SHARES:]]
        more = f"and {len(rest):,} more, {sum(rest):+.4f} together" if rest else ""
        show(heading, [{"what": name, "share": f"{share:+.4f}"} for name, share in shares[:_SHARES]], caption=more)
    line(f"score {found.score:.4f} = bias {found.bias:.4f} and the shares of either table")


def _show(title: str, rows: list[dict[str, Any]]) -> None:
    """Show rows whose ids are not numbers, which would be printed with commas, and who is known if not all are."""
    hidden = "known" if all(row.get("known", True) for row in rows) else None
    show(
        title,
        [
            {key: str(value) if key in ("user", "item") else value for key, value in row.items() if key != hidden}
            for row in rows
        ],
    )


def _for_new(rec: Recommender, history: str, features: dict[str, str] | None, how: dict[str, Any]) -> pl.DataFrame:
    past = rated_items(rec, history)
    _remark_on_unknown(rec, "item", [one[0] if isinstance(one, tuple) else one for one in past], "passed over")
    with _other_notes():
        return polars_of(rec.recommend_new(past, features, **how))


@contextlib.contextmanager
def _other_notes() -> Iterator[None]:
    """Print what bitfm warns of, but not of users and pasts that are not known, which were remarked on."""
    with notes_of_warnings():
        warnings.filterwarnings("ignore", "(recommend|history|explain): ", UserWarning)
        yield


def _for_users(rec: Recommender, given: list[str], how: dict[str, Any]) -> Iterator[pl.DataFrame]:
    """Recommend to one batch of users after another, and say who is not known; without users, an empty frame."""
    stdin = (text.strip() for text in sys.stdin if text.strip())
    ids = itertools.chain.from_iterable(stdin if text == "-" else [text] for text in given)
    batch = list(itertools.islice(ids, _BATCH))
    while True:
        _remark_on_unknown(rec, "user", batch, "served the non-personalised ranking")
        with _other_notes():
            found = rec.recommend(batch, **how)
        yield polars_of(found)
        if not (batch := list(itertools.islice(ids, _BATCH))):
            return


def _remark_on_unknown(rec: Recommender, side: str, ids: list[str], done: str) -> None:
    """Say who or what is not known, which is not an error."""
    known = rec.state.side(side)
    unknown = [one for one, index in zip(ids, known.indices_of(ids), strict=True) if index < 0]
    if unknown and len(known):
        more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        note(f"not known, so {done}: {side} {unknown[0]!r}{more}")


def _with_stored_users(rec: Recommender, batch: pl.DataFrame) -> pl.DataFrame:
    """Return recommendations with the users' ids as numbers, if they were at the fit and all are known."""
    import polars as pl

    if "user" not in batch.columns or not (rec.state.users.integer_ids and batch["known"].all()):
        return batch
    return batch.with_columns(pl.Series("user", _stored_ids(rec, "user", batch["user"].to_list())))


def _stored_ids(rec: Recommender, side: str, ids: list[str]) -> list[Any]:
    """Return ids as they were at the fit, such as whole numbers; one that is not known stays as it was typed."""
    known = rec.state.side(side)
    stored = known.ids_of(known.indices_of(ids)).to_list()
    return [typed if one is None else one for typed, one in zip(ids, stored, strict=True)]
