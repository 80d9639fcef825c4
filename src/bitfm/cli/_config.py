"""``bitfm.toml``: defaults of the commands' options, which click takes for what the command line leaves out."""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bitfm.cli._registry import OWN, as_command
from bitfm.errors import BitfmError

__all__ = [
    "FILE_NAME",
    "MODEL",
    "Config",
    "ConfigError",
    "defaults",
    "model_alone",
    "model_and_rest",
    "read_toml",
    "source_of",
]

FILE_NAME, MODEL = "bitfm.toml", "model"  # the key model on top of the file: what fit writes and the others open


class ConfigError(BitfmError, ValueError):
    """The file of defaults has a key or a value that no command knows; the message names file and key."""

    code = "usage"


def source_of(context: typer.Context, parameter: str) -> str:
    """Return where a parameter's value comes from: "DEFAULT_MAP" is the file, "COMMANDLINE" what was typed."""
    return getattr(context.get_parameter_source(parameter), "name", "")


def _take(context: typer.Context, path: Path | None) -> Path | None:
    if not context.resilient_parsing:  # not while a shell completes a line
        context.default_map = defaults(str(context.info_name), path)
    return path


_HELP = "File of defaults instead of bitfm.toml."
Config = Annotated[Path | None, typer.Option("--config", is_eager=True, callback=_take, help=_HELP)]


def model_and_rest(
    context: typer.Context, model: str | None, rest: Sequence[str | None], *names: str
) -> tuple[Path, list[str]]:
    """Part the model from the arguments after it; one that bitfm.toml names may be left out, if no .bitfm is first."""
    default = context.lookup_default("model")
    first = [] if model is None or source_of(context, "model") == "DEFAULT_MAP" else [model]
    given = [*first, *(text for text in rest if text is not None)]
    path = default if default is not None and not (given and given[0].endswith(".bitfm")) else None
    path = model_alone(path or (given.pop(0) if given else None))
    if names and len(given) != len(names):
        told = f"expected {' '.join(names)} after the model, got {repr(' '.join(given)) if given else 'nothing'}"
        raise typer.BadParameter(told, param_hint=names[0])
    return path, given


def model_alone(model: str | None) -> Path:
    """Return the model of a command that has no other arguments: what is given is the model, whatever its name."""
    if model is None:
        raise typer.BadParameter("give a model file, or name one in bitfm.toml", param_hint="MODEL")
    return Path(model)


def read_toml(path: Path) -> dict[str, Any]:
    """Return what is in a file of defaults, unchecked."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} is not TOML: {problem}") from None


def defaults(command: str, path: Path | None = None) -> dict[str, Any]:
    """Return the defaults of a command by parameter, as typed; all of the file is checked, for all commands."""
    file = path or Path(FILE_NAME)
    if path is None and not file.is_file():
        return {}
    loaded = {name: entry.load() for name, entry in OWN.items()}
    commands = {name: one for name, one in loaded.items() if "config" in inspect.signature(one).parameters}
    content, found = read_toml(file), {}
    key, model = "out" if command == "fit" else MODEL, content.pop(MODEL, None)
    if model is not None and command != "tune":
        found[command] = _typed(f"{file}: model as", commands[command], {key: model})
    for name, table in content.items():
        _known(str(file), name, [MODEL, *commands])
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: {name} must be a table of options, as in [{name}], got {table!r}")
        found[name] = found.get(name, {}) | _typed(f"{file}: [{name}]", commands[name], table)
    return found.get(command, {})


def _typed(where: str, function: Any, table: dict[str, Any]) -> dict[str, str | list[str]]:
    """Return a table as the command line would have it, by parameter; click tells whether it takes the values."""
    command, typed = as_command(function.__name__, function), {}
    options = {max(one.opts, key=len).lstrip("-"): one for one in command.params if one.name != "config"}
    options = {key: one for key, one in options.items() if one.param_type_name == "option" or key == MODEL}
    for key, value in table.items():
        option = options[_known(where, key if key in options else key.replace("_", "-"), list(options))]
        try:
            typed[option.name] = _texts(value, option) if option.multiple else _text(value)
            option.process_value(typer.Context(command, resilient_parsing=True), typed[option.name])
        except typer.BadParameter as problem:
            told = problem.message.rstrip(".")
            raise ConfigError(f"{where} {key}: {told if ', got ' in told else f'{told}, got {value!r}'}") from None
    return typed


def _texts(value: Any, option: Any) -> list[str]:
    """Return the values of an option that may be given several times; an entry of a table becomes key=value."""
    if isinstance(value, dict):
        return [f"{key}={_text(item)}" for key, item in value.items()]
    if isinstance(value, list) and ("," not in (option.metavar or "") or any(isinstance(item, list) for item in value)):
        return [_text(item) for item in value]  # one list of names, such as A,B,C, is one value
    return [_text(value)]


def _text(value: Any) -> str:
    texts = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    if isinstance(value, dict) or (isinstance(value, list) and any("," in text for text in texts)):
        raise typer.BadParameter("expected a value, or a list of names without commas")
    return ",".join(texts)


def _known(where: str, key: str, known: list[str]) -> str:
    if key in known:
        return key
    near = difflib.get_close_matches(key, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise ConfigError(f"{where}: there is no {key!r}; {hint}")
