"""What a part of a file holds, declared: its tensors with types, shapes and ranges, and its metadata as a struct."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from reprlib import repr as short  # what a file says is of any length
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from bitfm.errors import ModelFileError

__all__ = [
    "Registry",
    "Tensor",
    "Tensors",
    "below",
    "check_tensors",
    "damage",
    "decode",
    "encode",
    "naming",
    "numbered",
    "plain",
    "put",
]

Tensors = Mapping[str, npt.NDArray[Any]]
T = TypeVar("T")


@dataclass(frozen=True)
class Tensor:
    """A declared tensor.

    Attributes
    ----------
    dtypes : str
        The types it may have, such as ``"float32 float64"``.
    shape : str
        Its dimensions: numbers, and names of sizes such as ``"features rank"``. A name that occurs first is learnt
        from the tensor, and must be the same wherever else it occurs.
    low, high : float, optional
        The range of its values, which are then looked at. Not for large tensors, which are checked as they are read.
    """

    dtypes: str
    shape: str = ""
    low: float | None = None
    high: float | None = None

    def check(self, name: str, array: npt.NDArray[Any], sizes: dict[str, int]) -> None:
        """Refuse an array that is anything else; learn the sizes that are not known yet."""
        dimensions = self.shape.split()
        if len(dimensions) == array.ndim:
            for dimension, size in zip(dimensions, array.shape, strict=True):
                if not dimension.isdigit():
                    sizes.setdefault(dimension, int(size))
        expected = tuple(int(d) if d.isdigit() else sizes.get(d, d) for d in dimensions)
        if array.shape != expected or str(array.dtype) not in self.dtypes.split():
            types = self.dtypes.replace(" ", " or ")
            raise ModelFileError(f"has {name!r} as {array.dtype} {array.shape}, expected {types} {expected}")
        if self.low is not None or self.high is not None:
            low, high = -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ModelFileError(f"has {name!r} with values that are not numbers")
            if array.size and not (low <= array.min() and array.max() <= high):
                raise ModelFileError(f"has {name!r} with values outside {low:g} to {high:g}")


def check_tensors(
    tensors: Tensors, declared: Mapping[str, Tensor], sizes: dict[str, int] | None = None, *, prefix: str = ""
) -> dict[str, int]:
    """Refuse tensors that are not those declared, no fewer and no more; return the sizes that they have.

    Examples
    --------
    >>> declared = {"codes": Tensor("uint8", "features bytes"), "gains": Tensor("float32", "features")}
    >>> check_tensors({"codes": np.zeros((5, 8), np.uint8), "gains": np.ones(5, np.float32)}, declared)
    {'features': 5, 'bytes': 8}
    >>> check_tensors({"codes": np.zeros((5, 8), np.uint8), "gains": np.ones(4, np.float32)}, declared)
    Traceback (most recent call last):
    bitfm.errors.ModelFileError: has 'gains' as float32 (4,), expected float32 (5,)
    """
    sizes = {} if sizes is None else sizes
    missing, unknown = sorted(set(declared) - set(tensors)), sorted(set(tensors) - set(declared))
    if missing:
        raise ModelFileError(f"lacks the tensor {prefix + missing[0]!r}")
    if unknown:
        raise ModelFileError(f"holds the tensor {short(prefix + unknown[0])}, which does not belong there")
    for name, tensor in declared.items():
        tensor.check(prefix + name, tensors[name], sizes)
    return sizes


def decode(metadata: Mapping[str, str], name: str, kind: type[T]) -> T:
    """Return an entry of the metadata, which is JSON, as the struct or type declared for it."""
    if name not in metadata:
        raise ModelFileError(f"lacks the entry {name!r}")
    try:
        return msgspec.json.decode(metadata[name], type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        text = str(error)  # may quote the file at any length
        text = text if len(text) < 200 else f"{text[:99]}…{text[-99:]}"
        raise ModelFileError(f"has a malformed entry {name!r} ({text})") from None


def encode(value: Any) -> str:
    """Return a value as JSON; the keys of a mapping are sorted, so that equal values give equal files."""
    try:
        return msgspec.json.encode(value, order="deterministic", enc_hook=_plain).decode()
    except UnicodeEncodeError as error:  # such as the name of a field
        told = f"save: {short(error.object)} has half of a surrogate pair, which no file can hold"
        raise ValueError(f"{told}; decode it in the encoding it was written in.") from None


def plain(name: str, value: Any, kind: Any) -> Any:
    """Return a setting as the type declared for it, with Python's numbers for NumPy's, and 1 for True.

    Examples
    --------
    >>> plain("bits", np.int16(8), int), plain("verbose", True, int), plain("early_stopping", 1, bool)
    (8, 1, True)
    """
    forms = [_python(value)]
    if isinstance(forms[0], int) and forms[0] in (0, 1):
        forms.append(int(forms[0]) if isinstance(forms[0], bool) else bool(forms[0]))
    for form in forms:
        with suppress(msgspec.ValidationError, TypeError, AttributeError):  # the last for arrays, taken as mappings
            return msgspec.to_builtins(msgspec.convert(form, kind))
    raise TypeError(f"save: {name} = {value!r} cannot be kept in a file; set it to a plain value.")


def _python(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return {str(key): _python(item) for key, item in value.items()} if hasattr(value, "items") else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a file cannot hold {type(value).__name__}")


def below(tensors: Tensors, prefix: str) -> dict[str, npt.NDArray[Any]]:
    """Return the tensors whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def numbered(tensors: Tensors, prefix: str) -> defaultdict[int, dict[str, npt.NDArray[Any]]]:
    """Return the tensors called prefix, number, dot and a rest, by number and rest; those of no number are under -1.

    Examples
    --------
    >>> dict(numbered({"table.0.a": np.ones(1), "table.12.a.b": np.ones(1)}, "table."))
    {0: {'a': array([1.])}, 12: {'a.b': array([1.])}}
    """
    found: defaultdict[int, dict[str, npt.NDArray[Any]]] = defaultdict(dict)
    for name, tensor in below(tensors, prefix).items():
        number, dot, rest = name.partition(".")
        whole = dot and number.isascii() and number[:9].isdigit() and str(int(number[:9])) == number
        found[int(number) if whole else -1][rest if whole else name] = tensor
    return found


def put(prefix: str, tensors: Tensors) -> dict[str, npt.NDArray[Any]]:
    """Return tensors with names that begin so."""
    return {prefix + name: np.asarray(tensor) for name, tensor in tensors.items()}


def damage(path: str | os.PathLike[str], what: object) -> ModelFileError:
    """Return the error to raise where contents of a file, which may be nameless, turn out to be wrong."""
    return ModelFileError(f"{os.fspath(path) or 'the model'}: {what}; get a fresh copy or save the model again.")


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors about its contents."""
    try:
        yield
    except ModelFileError as error:
        what = str(error).removesuffix("; save the model again.")  # of parts that are also read without a file's name
        raise damage(path, what) from None


class Registry(Generic[T]):
    """The kinds of parts that a file may hold: names, each with an object, or with the place of one.

    `places`, as ``"module:attribute"``, are imported when they are asked for. Other packages add theirs by an
    entry-point `group`.

    Examples
    --------
    >>> shapes = Registry[type]("demo.shapes", {"list": "builtins:list"})
    >>> shapes.register("set", set)
    >>> shapes.get("list"), shapes.get("set"), shapes.get("ring")
    (<class 'list'>, <class 'set'>, None)
    """

    def __init__(self, group: str, places: dict[str, str] | None = None) -> None:
        self.group = group
        self._places = dict(places or {})
        self._objects: dict[str, T] = {}

    def register(self, name: str, value: T) -> None:
        """Add an object, or put it in the place of another."""
        self._objects[name] = value

    def get(self, name: str, *, installed: bool = True) -> T | None:
        """Return the object of a name, or None if there is none; entry points count only if `installed`."""
        if name not in self._objects:
            if name in self._places:
                module, _, attribute = self._places[name].partition(":")
                self._objects[name] = getattr(import_module(module), attribute)
            elif installed and (points := entry_points(group=self.group, name=name)):
                self._objects[name] = next(iter(points)).load()
        return self._objects.get(name)

    def names(self) -> list[str]:
        """Return all names, those of entry points included."""
        return sorted({*self._places, *self._objects, *(point.name for point in entry_points(group=self.group))})
