"""The command line: ``bitfm``."""

from bitfm.cli.main import main

__all__ = ["main"]
