"""What the reference lists, as lines: names, parameters, attributes, methods."""

import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from numpydoc.docscrape import ClassDoc

PAGES = Path(__file__).parents[2] / "docs" / "api"


def documented() -> dict[str, Any]:
    """Return every object of the reference by its full name."""
    names = (name for page in sorted(PAGES.glob("*.rst")) for name in _listed(page))
    return {name: _resolved(name) for name in sorted(names)}


def name_lines() -> Iterator[str]:
    """Describe every object of the reference; classes share lines of equal members."""
    members: dict[str, list[str]] = {}
    for name, item in documented().items():
        short = name.removeprefix("multikernel.")
        if inspect.isclass(item):
            yield f"class {short}{_builtin_base(item)}{_parameter_names(item)}"
            for line in _member_lines(item):
                members.setdefault(line, []).append(short)
        elif callable(item):
            yield f"function {short}{_signature(item)}"
        else:
            yield f"constant {short} = {_shown(item)}"
    yield ""
    for line, classes in sorted(members.items()):
        yield f"{line}: {', '.join(classes)}"


def _listed(page: Path) -> Iterator[str]:
    module = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif module and re.fullmatch(r"   [A-Za-z_][\w.]*", line):
            yield f"{module}.{line.strip()}"


def _resolved(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def _builtin_base(cls: type) -> str:
    """Return the class of Python that `except`, or unpacking, relies on."""
    bases = [base for base in cls.__mro__[1:] if base.__module__ == "builtins"]
    return "" if bases == [object] else f"({bases[0].__name__})"


CONSTRUCTED = ("multikernel.kernels.", "multikernel.losses.")
"""Packages whose objects are passed to estimators: their constructors are promised.

Their other methods belong to provisional protocols.
"""


def _member_lines(cls: type) -> Iterator[str]:
    """Return parameters with their defaults, attributes and methods, one a line."""
    if _has_parameters(cls):
        for parameter in _bare(inspect.signature(cls)).parameters.values():
            yield f"parameter {str(parameter).replace('=', ' = ', 1)}"
    if issubclass(cls, BaseException):
        return
    if cls.__module__.startswith(CONSTRUCTED):
        constructors = {n for n, m in vars(cls).items() if isinstance(m, classmethod)}
        yield from (f"method {n}{s}" for n, s in _methods(cls) if n in constructors)
        return
    for attribute in sorted({*_attributes(cls), *_documented_attributes(cls)}):
        yield f"attribute {attribute}"
    for method, signature in sorted(_methods(cls)):
        yield f"method {method}{signature}"


def _parameter_names(cls: type) -> str:
    """Return the names of parameters in their order, and which need their names."""
    if not _has_parameters(cls):
        return ""
    parameters = inspect.signature(cls).parameters.values()
    without = [parameter.replace(default=parameter.empty) for parameter in parameters]
    return str(_bare(inspect.Signature(without)))


def _has_parameters(cls: type) -> bool:
    return not _is_protocol(cls) and not issubclass(cls, Enum | BaseException)


def _is_protocol(cls: type) -> bool:
    return Protocol in cls.__mro__ and getattr(cls, "_is_protocol", False)


def _ours(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.startswith("multikernel")]


def _public_members(cls: type) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for base in reversed(_ours(cls)):
        members |= vars(base)
    return {name: item for name, item in members.items() if not name.startswith("_")}


def _attributes(cls: type) -> set[str]:
    """Return properties, members of enumerations and what a protocol declares."""
    members = _public_members(cls)
    names = {
        name
        for name, item in members.items()
        if isinstance(item, property | cached_property | Enum)
    }
    if _is_protocol(cls):
        for base in _ours(cls):
            names |= {n for n in inspect.get_annotations(base) if n[0] != "_"}
    return names


def _documented_attributes(cls: type) -> set[str]:
    written = ClassDoc(cls)["Attributes"]
    names = {name.strip() for item in written for name in item.name.split(",")}
    return {name for name in names if name.isidentifier()}


def _methods(cls: type) -> Iterator[tuple[str, str]]:
    for name, item in _public_members(cls).items():
        if isinstance(item, classmethod | staticmethod) or inspect.isfunction(item):
            yield name, _signature(getattr(cls, name))


def _signature(call: Any) -> str:
    return str(_bare(inspect.signature(call)))


class _Shown:
    """A default that is printed as it is to be read."""

    def __init__(self, default: Any) -> None:
        self.text = _shown(default)

    def __repr__(self) -> str:
        return self.text


def _bare(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature without annotations, and without self."""
    parameters = [
        parameter.replace(
            annotation=parameter.empty,
            default=parameter.default
            if parameter.default is parameter.empty
            else _Shown(parameter.default),
        )
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return inspect.Signature(parameters)


def _shown(default: Any) -> str:
    if inspect.isfunction(default) or inspect.isclass(default):
        return str(default.__name__)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(default))
