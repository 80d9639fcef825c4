"""The commands, put together."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bitfm import __version__
from bitfm.cli import bench, data, demo, doctor, paper
from bitfm.cli._screen import error
from bitfm.errors import BitfmError

app = typer.Typer(
    name="bitfm",
    help="Feature-based recommendation in bits.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(doctor.doctor)
app.command()(paper.paper)
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bitfm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; an expected error is one line on standard error and exit code 1."""
    try:
        app()
    except (BitfmError, OSError, ValueError) as problem:
        error(str(problem))
        sys.exit(1)
    except KeyboardInterrupt:
        error("interrupted")
        sys.exit(130)
