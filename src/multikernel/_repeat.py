"""A model as the code that makes it, with its imports: to be run as it stands."""

import functools
import importlib
import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import accumulate
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from multikernel.estimators.search.splits import asks_for_groups

WIDTH = 72
"""Letters of a line, where there are places to break it."""

MOST_NUMBERS = 1000
"""Numbers of an array that are written out: more would fill pages."""


PLAIN = (bool, int, float, complex, str, bytes, slice, range)
"""What Python writes as code by itself."""

BRACKETS: Mapping[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("set([", "])"),
    frozenset: ("frozenset([", "])"),
}


class Code:
    """Python code for values, and what it needs beside itself.

    After calls `imports` has lines of imports, and `unknown` what has no code: the
    reader has to give it under that name.
    """

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.unknown: dict[str, str] = {}

    def of(self, value: Any) -> str:
        """Return code for a value."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return f"float({str(value)!r})"
        if value is None or isinstance(value, PLAIN):
            return repr(value)
        if type(value) is dict:
            pairs = [f"{self.of(k)}: {self.of(v)}" for k, v in value.items()]
            return self._joined("{", pairs, "}")
        if type(value) in BRACKETS:
            parts = [self.of(item) for item in value]
            if isinstance(value, tuple) and len(parts) == 1:
                return f"({parts[0]},)"
            start, end = BRACKETS[type(value)]
            return self._joined(start, parts, end)
        return self._object(value)

    def _object(self, value: Any) -> str:
        """Return code for an array, a function, or an object by its arguments."""
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, functools.partial):
            parts = [value.func, *value.args]
            named = (f"{k}={self.of(v)}" for k, v in value.keywords.items())
            self.imports.add("import functools")
            return self._joined(
                "functools.partial(", (*(self.of(part) for part in parts), *named), ")"
            )
        if isinstance(value, type | FunctionType | BuiltinFunctionType | np.ufunc):
            return self._imported(value) or self._left(value)
        name = self._imported(type(value))
        arguments = given_arguments(value)
        if name is None or arguments is None:
            return self._left(value)
        parts = [f"{key}={self.of(part)}" for key, part in arguments.items()]
        made = self._joined(f"{name}(", parts, ")")
        for wanted in vars(value).get("_sklearn_output_config", {}).items():
            # What set_output has said is no parameter, and decides on names of columns.
            made += ".set_output({}={!r})".format(*wanted)
        return made

    def _array(self, value: Any) -> str:
        if value.size > MOST_NUMBERS or value.dtype.kind not in "biufUO":
            return self._left(value)
        self.imports.add("import numpy as np")
        kind = ", dtype=object" * (value.dtype.kind == "O")
        return f"np.array({self.of(value.tolist())}{kind})"

    def _imported(self, what: Any) -> str | None:
        """Return the name of a class or function, from the first module that has it."""
        module, name = getattr(what, "__module__", None), getattr(what, "__name__", "")
        if isinstance(what, np.ufunc):
            module = "numpy"
        if module == "builtins":
            return str(name)
        parts = str(module).split(".")
        for at in accumulate(parts, "{}.{}".format):
            if module is None or parts[0] == "__main__":
                return None
            if getattr(importlib.import_module(at), name, None) is what:
                self.imports.add(f"from {at} import {name}")
                return str(name)
        return None

    def _left(self, value: Any) -> str:
        """Return a name that the reader has to fill."""
        names = {text: name for name, text in self.unknown.items()}
        text = f"{type(value).__name__} {getattr(value, '__name__', '')}".strip()
        name = names.get(text, f"your_{type(value).__name__.lower()}_{len(names) + 1}")
        self.unknown[name] = text
        return name

    @staticmethod
    def _joined(start: str, parts: Iterable[str], end: str) -> str:
        """Return parts between brackets, in one line or in one each."""
        parts = list(parts)
        line = f"{start}{', '.join(parts)}{end}"
        if len(line) <= WIDTH and "\n" not in line:
            return line
        inside = "".join(f"\n{part},".replace("\n", "\n  ") for part in parts)
        return f"{start}{inside}\n{end}"


def given_arguments(value: Any) -> dict[str, Any] | None:
    """Return the arguments that make an object, without defaults; None if unknown."""
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.init]
        held = {name: getattr(value, name) for name in names}
    elif hasattr(value, "get_params"):
        held = value.get_params(deep=False)
    else:
        held = {k: v for k, v in vars(value).items() if not k.startswith("_")}
    try:
        parameters = inspect.signature(type(value)).parameters.values()
    except (TypeError, ValueError):
        return None
    plain = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if any(p.name not in held for p in plain):
        return None
    return {p.name: held[p.name] for p in plain if not _same(held[p.name], p.default)}


def _same(value: Any, default: Any) -> bool:
    """Return whether a value is the default of its parameter."""
    if value is default:
        return True
    plain = isinstance(value, bool | int | float | str | tuple)
    return bool(plain and type(value) is type(default) and value == default)


def code_of(model: Any, inner: Any) -> tuple[str, dict[str, str]]:
    """Return code that makes a model and fits it to X and y, and names left to fill.

    The `inner` estimator is the last step of the model.
    """
    code = Code()
    made = f"model = {code.of(model)}"
    data = "X" if is_outlier_detector(inner) else "X, y"
    steps = getattr(model, "steps", None)
    prefix = f"{steps[-1][0]}__" if steps else ""
    splitter = getattr(inner, "cv", None)
    if hasattr(splitter, "split") and asks_for_groups(splitter):
        data += f", {prefix}groups=groups"
        code.unknown["groups"] = "the groups of the samples"
    if inner._fitted().has_offset:
        data += f", {prefix}offset=offset"
        code.unknown["offset"] = "the offset of the fit"
    lines = [*sorted(code.imports, key=lambda line: (line[0] == "f", line)), ""]
    return "\n".join([*lines, made, f"model.fit({data})"]), code.unknown
