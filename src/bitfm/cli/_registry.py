"""The commands by name: bitfm's own, and those of other packages by entry point. Each is loaded when it is needed."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from bitfm.errors import BitfmError

__all__ = ["OWN", "CommandError", "Commands", "as_command", "data"]

GROUP = "bitfm.commands"  # a name with a dot, such as data.prepare, is a command of a group of commands
OWN = {
    name: EntryPoint(name, f"bitfm.cli.{place}", GROUP)
    for name, place in {
        "fit": "fit:fit",
        "evaluate": "evaluate:evaluate",
        "compare": "compare:compare",
        "recommend": "recommend:recommend",
        "similar": "recommend:similar",
        "explain": "recommend:explain",
        "remove": "remove:remove",
        "inspect": "inspect:inspect",
        "tune": "tune:tune",
        "demo": "demo:demo",
        "doctor": "doctor:doctor",
        "data": "_registry:data",
        "data.describe": "describe:describe",
    }.items()
}
_ELSEWHERE = dict.fromkeys(("bench", "paper", "data.prepare"), "bitfm-research")


class CommandError(BitfmError):
    """A command is not installed, or the package that it comes from is broken."""

    code = "usage"  # as of a command that does not exist


class Commands(TyperGroup):
    """Commands whose names begin with `prefix`; only the one that is called is imported, or all for their help."""

    prefix = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names: bitfm's own first."""
        others = sorted(set(entry_points(group=GROUP).names) - set(OWN))
        names = [name.removeprefix(self.prefix) for name in [*OWN, *others] if name.startswith(self.prefix)]
        return [name for name in names if "." not in name]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command; None if nothing has this name."""
        name = self.prefix + cmd_name
        spoken = f"bitfm {name.replace('.', ' ')}"
        found = [OWN[name]] if name in OWN else list(entry_points(group=GROUP, name=name))
        if not found and name in _ELSEWHERE:
            package = _ELSEWHERE[name]
            message = f"{spoken} is a command of {package}, which is not installed; pip install {package}"
            return _refusal(cmd_name, message, hidden=True)
        try:
            return as_command(cmd_name, found[0].load()) if found else None
        except MemoryError:
            raise
        except Exception as problem:  # whatever another package does at its import; the other commands work on
            source = found[0].dist.name if found[0].dist else found[0].value
            message = f"{spoken} cannot be loaded: {problem!r}; install {source} again or remove it"
            return _refusal(cmd_name, message, help=message)


def as_command(name: str, target: Any, **options: Any) -> Any:
    """Return what a group of commands holds for a function or for a group of its own."""
    holder = typer.Typer(rich_markup_mode=None)
    if isinstance(target, typer.Typer):
        holder.add_typer(target, name=name)
    else:
        holder.command(name, **options)(target)
    return typer.main.get_group(holder).commands[name]


def _refusal(name: str, message: str, **options: Any) -> Any:
    """Return a command that says what is wrong, whatever it is called with, --help included."""

    def refuse() -> None:
        raise CommandError(message)

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return as_command(name, refuse, add_help_option=False, context_settings=anything, **options)


class _DataCommands(Commands):
    prefix = "data."


data = typer.Typer(cls=_DataCommands, help="Look at tables, and make raw data ready.", no_args_is_help=True)
