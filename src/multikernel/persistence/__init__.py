"""Saving and loading of fitted estimators without pickle.

A model file is a zip archive in the format of skops: a tree of type names and plain
values, and arrays. Loading bounds the memory that the file requires, checks all type
names, and only then builds objects.
"""

import importlib
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from multikernel._install import how_to_install
from multikernel._validation import InstanceOf, check_parameter, listed
from multikernel.exceptions import UntrustedTypesError, VersionWarning, warn_user
from multikernel.gram.memory import readable_bytes
from multikernel.gram.temporary import PathLike as PathLike
from multikernel.linalg.threads import aside
from multikernel.persistence import archive
from multikernel.persistence.checks import check_loaded
from multikernel.persistence.places import find_place, write_to
from multikernel.persistence.trust import closed_names, trusted_names
from multikernel.persistence.values import StoredValue, failing_part, plain, restored

MAX_BYTES = 2**31  # machines with 4 GB of memory can load such files
STORED_VALUE = f"{StoredValue.__module__}.{StoredValue.__qualname__}"
FILE = InstanceOf((str, os.PathLike), "the path of a file")


def save(estimator: BaseEstimator, path: PathLike) -> None:
    """Write an estimator to a compressed file, completely or not at all.

    The file records the versions of this library, scikit-learn and NumPy. Parameters
    are stored as plain values; for example, a pandas Index becomes a list.

    Parameters
    ----------
    estimator : estimator
        Estimator, pipeline or search, fitted or not.
    path : str or path-like
        File or pipe to write, by convention with the suffix ``.skops``.

    Raises
    ------
    ImportError
        If skops is not installed.
    OSError
        If `path` is a folder or a device, if the folder of the file does not exist, or
        if the disk is full.
    TypeError
        If the estimator contains an object that cannot be stored, such as a generator.

    Warns
    -----
    UserWarning
        If `load` will require ``trusted=`` or a larger ``max_bytes``.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.preprocessing import StandardScaler
    >>> from multikernel.persistence import load, save
    >>> scaler = StandardScaler().fit([[0.0], [2.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(scaler, f"{folder}/scaler.skops")
    ...     load(f"{folder}/scaler.skops").transform([[3.0]])
    array([[2.]])
    """
    _skops_io()
    check_parameter("save", "path", path, FILE)
    target = find_place(path)  # raises before the model is serialized
    write_to(target, model_bytes(estimator))


def model_bytes(estimator: BaseEstimator) -> bytes:
    """Return the bytes of a model file; warn if `load` will require options."""
    try:
        # In a thread of its own (`aside`), because an interrupt inside zipfile would
        # raise a different error.
        data, needed, untrusted = aside(partial(_serialize, estimator))
    except (MemoryError, OSError):
        raise
    except Exception as error:  # skops and the objects may raise errors of any type
        path, item = aside(
            partial(failing_part, estimator, lambda part: _untrusted_in(part) is None)
        )
        reason = str(error).rstrip(".") or type(error).__name__
        raise TypeError(
            f"Cannot save {path}, an object of type {type(item).__qualname__}: "
            f"{reason}. A model file can hold numbers, text, lists, mappings, arrays "
            "and objects of trusted types: use one of these and save again."
        ) from error
    if untrusted:
        # The path of the innermost part of that type, for the message.
        path, _ = aside(partial(failing_part, estimator, _untrusted_in))
        warn_user(
            f"{path} has a type that load does not trust: to load this model, pass "
            f"trusted={untrusted}."
        )
    if needed > MAX_BYTES:
        warn_user(
            f"Loading this model may take {readable_bytes(needed)}: to load it, pass "
            f"max_bytes={needed}."
        )
    return data


def _serialize(item: object) -> tuple[bytes, int, list[str]]:
    """Return the archive, the bytes of memory for loading, and the untrusted types."""
    written = _skops_io().dumps(plain(item), compression=ZIP_DEFLATED)
    data = archive.with_version(written)
    content = archive.checked_archive(data)
    allowed = trusted_names(content.names, content.calls)
    untrusted = _untrusted_types(content, allowed)
    for name in untrusted:
        if not _is_importable(name):
            raise ValueError(
                f"load could not import {name}. Define it with def or class at the top "
                "level of a module."
            )
    return data, content.needed, untrusted


def _is_importable(name: str) -> bool:
    """Return whether a module defines a class or function of this full name."""
    module_name, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module_name), attribute)
    except ImportError:
        return False


def _untrusted_in(item: object) -> list[str] | None:
    """Return the types that `load` does not trust; None if skops cannot store it."""
    try:
        return _serialize(item)[2]
    except Exception:  # skops and the objects may raise errors of any type
        return None


def load(
    path: PathLike, trusted: Sequence[str | type] = (), *, max_bytes: int = MAX_BYTES
) -> Any:
    """Read an estimator from a file written by `save`.

    `load` trusts the classes of this package, the plain types of skops, and these parts
    of scikit-learn: estimators that use NumPy only (scalers, encoders, imputers, linear
    models, pipelines, searches), Gaussian process kernels, splitters and named scores.
    Any other type raises an error, because building it can run its code, or because
    compiled code (as in `sklearn.svm.SVC`) may crash on altered arrays.

    Parameters
    ----------
    path : str or path-like
        File to read.
    trusted : sequence of str or type, default=()
        Further types to accept, as classes or full names such as
        ``["my_package.kernels.MyKernel"]``. Their constructors may run.
    max_bytes : int, default=2**31
        Maximum memory for loading, by default 2.1 GB. Loading requires about four times
        the size of the arrays, plus some kB per object. The limit is checked before
        anything is unpacked or built.

    Raises
    ------
    ImportError
        If skops is not installed.
    OSError
        If the file does not exist, is a folder, or cannot be read.
    ValueError
        If the file is damaged or not a model file, or requires more than `max_bytes`.
    multikernel.exceptions.UntrustedTypesError
        If the file contains types that are not trusted; the message lists them.

    Warns
    -----
    multikernel.exceptions.VersionWarning
        If the file contains objects of an incompatible version of multikernel, another
        version of scikit-learn, or another major version of NumPy.

    Examples
    --------
    >>> import tempfile
    >>> from multikernel import SpicyMKLRegressor, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(SpicyMKLRegressor(alpha=0.1), f"{folder}/model.skops")
    ...     load(f"{folder}/model.skops").alpha
    0.1
    """
    _skops_io()
    check_parameter("load", "path", path, FILE)
    check_parameter("load", "trusted", trusted, _expect_types)
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: pass the path of a model file.")
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no model file {path}: pass the path of an existing file."
        )
    names = [
        item if isinstance(item, str) else f"{item.__module__}.{item.__qualname__}"
        for item in trusted
    ]
    with _readable_errors(path):
        archive.check_memory(Path(path).stat().st_size, max_bytes)
    # The file is read once, so that the model is built from the checked bytes.
    data = Path(path).read_bytes()
    with _readable_errors(path):
        content = aside(partial(archive.checked_archive, data, max_bytes))
        loaded = _build(path, content, {*names})
        check_loaded(loaded)
    _warn_of_versions(path, loaded, content)
    return loaded


def _expect_types(value: object) -> str | None:
    """Return a description of valid `trusted` types, or None if the value is valid."""
    if isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(item, str) or hasattr(item, "__qualname__") for item in value
    ):
        return None
    return "a list of types or of their names"


def _build(path: PathLike, content: archive.Content, trusted: set[str]) -> object:
    """Build the objects of a checked file; raise if types are not trusted."""
    allowed = trusted | trusted_names(content.names, content.calls)
    if untrusted := _untrusted_types(content, allowed):
        raise UntrustedTypesError(
            f"{path} holds types that are not trusted: {', '.join(untrusted)}. If you "
            f"trust the source of this file, load it with trusted={untrusted}."
        )
    missing = [name for name in trusted & content.names if not _is_importable(name)]
    if missing:
        raise archive.RefusedError(
            f"The file contains {listed(sorted(missing))}, which cannot be imported: "
            "install or define the missing types, and load again."
        )
    with warnings.catch_warnings():
        # scikit-learn warns for each object; `_warn_of_versions` warns once instead.
        if content.differing():
            warnings.simplefilter("ignore", InconsistentVersionWarning)
        loaded = _skops_io().loads(content.data, trusted=sorted(allowed))
    return restored(loaded) if STORED_VALUE in content.names else loaded


def _untrusted_types(content: archive.Content, allowed: set[str]) -> list[str]:
    """Return names of a file's types that require trust and are not in `allowed`."""
    untrusted = closed_names(content.names, content.calls)
    untrusted.update(_skops_io().get_untrusted_types(data=content.data))
    return sorted(untrusted - allowed)


def _warn_of_versions(path: PathLike, loaded: object, content: archive.Content) -> None:
    """Warn if a file's library versions may be incompatible with the installed ones."""
    differing, installed = content.differing(), archive.versions()
    if not differing:
        return
    file_text = " and ".join(f"{name} {content.versions[name]}" for name in differing)
    installed_text = " and ".join(f"{name} {installed[name]}" for name in differing)
    warn_user(
        VersionWarning(
            f"{path} was written with {file_text} but loaded with {installed_text}: "
            "predictions may differ or fail. Compare some predictions with earlier "
            "ones, or fit the model again.",
            estimator_name=type(loaded).__name__,
            current_sklearn_version=installed["scikit-learn"],
            original_sklearn_version=content.versions.get("scikit-learn", "unknown"),
        )
    )


def _skops_io() -> ModuleType:
    """Return `skops.io`; raise with the installation command if missing."""
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ImportError(
            "Saving and loading models requires skops: "
            f"{how_to_install('persistence')}."
        ) from error


@contextmanager
def _readable_errors(path: PathLike) -> Iterator[None]:
    """Convert the errors of damaged or hostile files to one sentence."""
    try:
        yield
    except (UntrustedTypesError, MemoryError):
        raise
    except archive.RefusedError as error:
        raise ValueError(f"Cannot load {path}. {error}") from error
    except Exception as error:
        # Readers of zip, JSON and arrays raise some twenty kinds of errors.
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, AttributeError | TypeError | LookupError):
            reason = "its parts are inconsistent"
        raise ValueError(
            f"{path} is not a model file written by multikernel.save, or it is damaged "
            f"({reason[:500].rstrip('.')}): pass another file, or save the model again."
        ) from error
