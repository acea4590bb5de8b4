"""Multiple kernel learning with certified optimality."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multikernel._public import *

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for.

    All names together take 1.7 s of processor time to import, 1.2 of it for libraries
    below; without them it is 0.01, after which the command line speaks.
    """
    missing = f"module 'multikernel' has no attribute {name!r}"
    if name.startswith("_") and name != "__all__":
        raise AttributeError(missing)
    try:
        attribute: Any = import_module(f"multikernel.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"multikernel.{name}":
            raise  # a library that a module needs is not there
        # Pictures, which all others are loaded with, take a fifth more than estimators.
        public = import_module("multikernel.estimators")
        if name not in public.__all__:
            public = import_module("multikernel._public")
        if name not in ("__all__", *public.__all__):
            raise AttributeError(missing) from None
        attribute = getattr(public, name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted([*globals(), *__getattr__("__all__")])
