"""The command line: ``bitfm``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, which imports for a while before it does: Ctrl-C ends that, too, with one line."""
    try:
        from bitfm.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("bitfm: interrupted\n")
        sys.exit(130)
