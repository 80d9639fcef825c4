"""The command line: all commands, and how their errors end."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import Annotated, Any

import typer

from bitfm import __version__
from bitfm.cli._registry import Commands
from bitfm.cli.screen import error
from bitfm.errors import BitfmError

# Of errors, by their codes, from 2 on: documented, so new ones go to the end. Other errors exit with 1.
_CODES = (
    "usage system data-file table missing-column empty-table value-in-table duplicate-rows mixed-ids unknown-id "
    "model-file newer-model-file disk-full out-of-memory"
)
EXIT_CODES = {code: number for number, code in enumerate(_CODES.split(), start=2)}
_OF_SYSTEM = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "disk-full") | {errno.ENOMEM: "out-of-memory"}


class _Commands(Commands):
    """Runs a command; a reader that has seen enough of its output is not an error."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, and not when nobody can catch what it raises
            return result
        except BrokenPipeError:
            _drop_unwritten(sys.stdout, 1)
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            error("interrupted")
            raise typer.Exit(130) from None


app = typer.Typer(
    name="bitfm",
    cls=_Commands,
    help="Feature-based recommendation in bits.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bitfm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; an expected error is one line on standard error and an exit code of its own."""
    _buffer_output()
    try:
        app()
        return
    except BitfmError as problem:
        code, message = EXIT_CODES.get(problem.code, 1), str(problem)
    except OSError as problem:
        code = EXIT_CODES[_OF_SYSTEM.get(problem.errno or 0, "system")]
        message = f"{problem.strerror}: {problem.filename}" if problem.strerror and problem.filename else str(problem)
    except ValueError as problem:
        code, message = 1, str(problem)
    except MemoryError as problem:
        found = f" ({problem})" if str(problem) else ""
        code, message = EXIT_CODES["out-of-memory"], f"out of memory{found}; give smaller tables, or more memory"
    with contextlib.suppress(OSError):
        error(message)  # only here: the exception is gone, and with it what the command held in memory
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        _drop_unwritten(stream, descriptor)
    sys.exit(code)


def _buffer_output() -> None:
    """Give standard output a buffer under ``python -u``, where Python loses what does not fit on a full disk, silently.

    An unbuffered stream does not look at how much of a text was written. Lines are still written at once.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(raw := sys.stdout.buffer, io.FileIO):
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout.detach()
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)


def _drop_unwritten(stream: Any, descriptor: int) -> None:
    """Forget what cannot be written, or Python tries again at its end and exits with a code of its own."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
