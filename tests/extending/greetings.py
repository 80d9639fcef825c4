"""Commands that bitfm does not have: one that greets, and a group of them."""

from typing import Annotated

import typer

from bitfm.cli.screen import line


def greet(
    name: Annotated[str, typer.Argument(help="Whom.")],
    loud: Annotated[bool, typer.Option(help="As loud as can be.")] = False,
) -> None:
    """Greet by name."""
    line(f"HELLO {name}" if loud else f"hello {name}")


group = typer.Typer(help="Several greetings.", no_args_is_help=True)
group.command()(greet)


@group.command()
def leave() -> None:
    """Say goodbye."""
    line("goodbye")
