"""The command line: in this process, or in one of its own where exit codes, pipes or signals are the point."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from typing import Any
from unittest import mock

COMMAND = [sys.executable, "-c", "import sys; sys.argv[0] = 'bitfm'; from bitfm.cli import main; main()"]


def run(*arguments: Any, cwd: Any, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``bitfm`` with arguments."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        input=stdin,
        cwd=cwd,
        env=os.environ | environment,
        timeout=240,
        check=False,
    )


def call(*arguments: Any, cwd: Any, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``bitfm`` in this process, which is faster: the same function, from the same arguments to the exit code."""
    from bitfm.cli import main
    from bitfm.cli.screen import be_quiet
    from bitfm.validation import limit_threads

    printed, said, argv = io.StringIO(), io.StringIO(), ["bitfm", *map(str, arguments)]
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(said),
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))),
        mock.patch.object(sys.modules["__main__"], "__package__", ""),  # else the program is called like pytest's
    ):
        try:
            main()
            code: Any = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            be_quiet(False)  # as the next process is
            limit_threads(None)
    return subprocess.CompletedProcess(argv, code, printed.getvalue(), said.getvalue())


def run_into_closed_pipe(*arguments: Any, cwd: Any, stdin: str = "") -> tuple[int, str]:
    """Run ``bitfm`` with a standard output that nobody reads; return the exit code and what it says of it."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            input=stdin,
            cwd=cwd,
            timeout=240,
            check=False,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr
