"""``bitfm data``: commands about tables, bitfm's own and those of other packages."""

from __future__ import annotations

import typer

from bitfm.cli._registry import Commands


class _DataCommands(Commands):
    """Those called ``data.something``."""

    prefix = "data."


app = typer.Typer(cls=_DataCommands, help="Look at tables, and make raw data ready.", no_args_is_help=True)
