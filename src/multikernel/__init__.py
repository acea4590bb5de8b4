"""Multiple kernel learning with certified optimality."""

import importlib.util

import lazy_loader

__version__ = "1.0.0"

# Names are imported when first used, so that the command line starts quickly.
__getattr__, _list_names, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    """Return the classes and functions of this package, without its modules."""
    return [
        name
        for name in _list_names()
        if importlib.util.find_spec(f"{__name__}.{name}") is None
    ]
