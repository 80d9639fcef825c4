"""``bitfm.toml``: defaults of the commands, so that nobody has to type the same options twice."""

from __future__ import annotations

import difflib
import enum
import inspect
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.models import ArgumentInfo, OptionInfo

from bitfm.cli._registry import load_own
from bitfm.errors import BitfmError

__all__ = [
    "MODEL",
    "NAMES",
    "PAIRS",
    "Config",
    "ConfigError",
    "configurable",
    "defaults",
    "is_from_config",
    "is_typed",
    "read_toml",
]

FILE_NAME = "bitfm.toml"
NAMES = "names"  # marks an option of names with commas between them: a list in the file
PAIRS = "pairs"  # marks an option key=value that may be given several times: a table in the file
MODEL = "model"  # marks what the key model on top of the file is for

Command = TypeVar("Command", bound=Callable[..., None])
_commands: dict[str, Callable[..., None]] = {}


class ConfigError(BitfmError, ValueError):
    """The file of defaults has a key or a value that no command knows; the message names file and key."""

    code = "usage"


@dataclass(frozen=True)
class _Entry:
    """What a key of the file is for: a parameter of a command, and what it takes."""

    parameter: str
    kind: Any
    many: bool
    mark: str


def configurable(command: Command) -> Command:
    """Let the file have a table for a command; the command needs a parameter ``config: Config``."""
    _commands[command.__name__.rstrip("_")] = command
    return command


def defaults(command: str, path: Path | None = None) -> dict[str, Any]:
    """Return the defaults of a command by parameter; the whole file is checked, for all commands.

    Without a path it is ``bitfm.toml`` in the current folder, if there is one.
    """
    if path is None:
        path = Path(FILE_NAME)
        if not path.is_file():
            return {}
    load_own()  # so that their tables are known
    content = read_toml(path)
    model = content.pop("model", None)
    if not isinstance(model, str | None):
        raise ConfigError(f"{path}: model must be the path of a model file, got {model!r}")
    found: dict[str, dict[str, Any]] = {}
    for name, section in content.items():
        if name not in _commands:
            raise ConfigError(f"{path}: {_unknown(name, ['model', *_commands])}")
        if not isinstance(section, dict):
            raise ConfigError(f"{path}: {name} must be a table of options, as in [{name}], got {section!r}")
        found[name] = _section(f"{path}: [{name}]", section, _entries(_commands[name]))
    own = {entry.parameter: model for entry in _entries(_commands[command]).values() if entry.mark == MODEL and model}
    return own | found.get(command, {})


def read_toml(path: Path) -> dict[str, Any]:
    """Return what is in a file of defaults, unchecked."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} is not TOML: {problem}") from None


def is_from_config(context: typer.Context, parameter: str) -> bool:
    """Whether a parameter's value comes from the file."""
    return _source(context, parameter) == "DEFAULT_MAP"


def is_typed(context: typer.Context, parameter: str) -> bool:
    """Whether a parameter's value comes from the command line, and overrules what goes with it in the file."""
    return _source(context, parameter) == "COMMANDLINE"


def _source(context: typer.Context, parameter: str) -> str:
    source = context.get_parameter_source(parameter)
    return "" if source is None else source.name


def _take(context: typer.Context, path: Path | None) -> Path | None:
    if not context.resilient_parsing:  # not while a shell completes a line
        context.default_map = defaults(str(context.info_name), path)
    return path


Config = Annotated[
    Path | None,
    typer.Option("--config", is_eager=True, callback=_take, help="File of defaults instead of bitfm.toml."),
]


def _entries(command: Callable[..., None]) -> dict[str, _Entry]:
    """Return what a command's table may hold."""
    hints = typing.get_type_hints(command, include_extras=True)
    entries = {}
    for name in inspect.signature(command).parameters:
        if typing.get_origin(hints[name]) is not Annotated:
            continue  # the context
        hint, *about = typing.get_args(hints[name])
        mark = next((text for text in about if isinstance(text, str)), "")
        info = next(part for part in about if isinstance(part, OptionInfo | ArgumentInfo))
        if name == "config" or (isinstance(info, ArgumentInfo) and mark != MODEL):
            continue  # users and items are asked for, not set
        long = [text for text in info.param_decls or () if text.startswith("--")]
        key = long[0].lstrip("-") if long else name.replace("_", "-")
        entries[key] = _Entry(name, *_kind(hint), mark)
    return entries


def _kind(hint: Any) -> tuple[Any, bool]:
    """Return what type a value is of, and whether there may be several."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(part for part in typing.get_args(hint) if part is not types.NoneType)
    if typing.get_origin(hint) is list:
        return typing.get_args(hint)[0], True
    return hint, False


def _section(where: str, section: Mapping[str, Any], entries: Mapping[str, _Entry]) -> dict[str, Any]:
    values = {}
    for key, value in section.items():
        entry = entries.get(key) or entries.get(key.replace("_", "-"))
        if entry is None:
            raise ConfigError(f"{where}: {_unknown(key, entries)}")
        values[entry.parameter] = _value(f"{where} {key}", value, entry)
    return values


def _value(where: str, value: Any, entry: _Entry) -> Any:
    """Return a value as the command line would have it."""
    if entry.mark == PAIRS and isinstance(value, dict):
        return [f"{key}={_one(where, item, str)}" for key, item in value.items()]
    if entry.mark == NAMES and entry.many:
        nested = isinstance(value, list) and any(isinstance(item, list) for item in value)
        return [_joined(where, names) for names in (value if nested else [value])]
    if entry.mark == NAMES:
        return _joined(where, value)
    if entry.many:
        return [_one(where, item, entry.kind) for item in (value if isinstance(value, list) else [value])]
    return _one(where, value, entry.kind)


def _joined(where: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(name, str) and "," not in name for name in value):
        raise ConfigError(f"{where} must be a list of names, none of them with a comma, got {value!r}")
    return ",".join(value)


_WANTED = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    Path: "the path of a file, as a string",
}


def _one(where: str, value: Any, kind: Any) -> Any:
    if issubclass(kind, enum.Enum):
        choices = [str(member.value) for member in kind]
        if value not in choices:
            raise ConfigError(f"{where} must be one of {', '.join(choices)}, got {value!r}")
        return value
    fits = {bool: bool, int: int, float: int | float, str: str, Path: str}[kind]
    if not isinstance(value, fits) or (kind is not bool and isinstance(value, bool)):
        raise ConfigError(f"{where} must be {_WANTED[kind]}, got {value!r}")
    return value


def _unknown(key: str, known: Any) -> str:
    near = difflib.get_close_matches(key, known, 1)
    return f"there is no {key!r}; " + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}")
