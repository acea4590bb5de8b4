"""Saving and loading fitted estimators without pickle.

A model file is a zip archive in the format of skops: a tree of type names and plain
values, with arrays stored apart. Loading reads the tree, compares its type names with
what is trusted, and only then builds anything.
"""

import importlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import BadZipFile

from sklearn.base import BaseEstimator

from multikernel.exceptions import UntrustedTypesError

SCORERS = (
    "sklearn.metrics._scorer._PassthroughScorer",  # calls model.score
    "sklearn.metrics._scorer._Scorer",  # calls a function, which must be trusted too
)
PathLike = str | os.PathLike[str]


def save(estimator: Any, path: PathLike) -> None:
    """Write an estimator to a file, whole or not at all.

    The file is written beside its final place and moved there at the end, so that an
    interrupt leaves an existing file as it was.

    Parameters
    ----------
    estimator : estimator
        Fitted or not; pipelines and searches are saved as well.
    path : str or path-like
        The file to write, by custom with the ending ``.skops``.

    Raises
    ------
    ImportError
        If skops is not installed.
    FileNotFoundError
        If the folder of `path` does not exist.
    IsADirectoryError
        If `path` is a folder.

    See Also
    --------
    load : Read such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.preprocessing import StandardScaler
    >>> from multikernel.persistence import load, save
    >>> scaler = StandardScaler().fit([[0.0], [2.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(scaler, Path(folder) / "scaler.skops")
    ...     load(Path(folder) / "scaler.skops").transform([[3.0]])
    array([[2.]])
    """
    data = _skops_io().dumps(estimator)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot save to {target}: the folder {target.parent} does not exist."
        )
    if target.is_dir():
        raise IsADirectoryError(f"Cannot save to {target}: it is a folder.")
    _replace_file(target, data)


def load(path: PathLike, trusted: Sequence[str | type] = ()) -> Any:
    """Read an estimator from a file written by `save`.

    Trusted without asking are this package's classes, scikit-learn's estimators,
    Gaussian process kernels, splitters and named scores, and the plain types that
    skops trusts.
    Anything else is named and refused: building an object of an unknown type can run
    its code.

    Parameters
    ----------
    path : str or path-like
        The file to read.
    trusted : sequence of str or type, default=()
        Further types to accept, as classes or by their full names, for example
        ``["my_package.kernels.MyKernel"]``.

    Returns
    -------
    estimator : estimator

    Raises
    ------
    ImportError
        If skops is not installed.
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no model file.
    multikernel.exceptions.UntrustedTypesError
        If the file holds types that are not trusted; the message lists them.

    See Also
    --------
    save : Write such a file; it has an example.
    """
    io = _skops_io()
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {path}.")
    # Read once: what is checked and what is built must be the same bytes.
    data = Path(path).read_bytes()
    try:
        found = io.get_untrusted_types(data=data)
    except (AttributeError, BadZipFile, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} is no model file written by multikernel.save ({error})."
        ) from error
    accepted = {_full_name(item) for item in trusted}
    refused = [
        name
        for name in found
        if not (name in accepted or _is_trusted_class(name) or _is_score(name))
    ]
    if refused:
        raise UntrustedTypesError(
            f"{path} holds types that are not trusted: {', '.join(refused)}. If you "
            f"know where the file comes from, load it with trusted={refused}."
        )
    return io.loads(data, trusted=found)


def _skops_io() -> ModuleType:
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ImportError(
            "Saving and loading models needs skops: pip install "
            "'multikernel[persistence]'."
        ) from error


def _replace_file(target: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.", suffix=".part"
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes files private
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _full_name(item: Any) -> str:
    if isinstance(item, str):
        return item
    return f"{item.__module__}.{item.__qualname__}"


def _is_trusted_class(name: str) -> bool:
    """Say whether a full name is that of a class of ours, or of a known kind.

    A prefix is no proof: modules of ours hold names from elsewhere, so the name is
    resolved and the class must have been defined in the module it is named after.
    """
    module_name, _, class_name = name.rpartition(".")
    package = module_name.partition(".")[0]
    if package not in ("multikernel", "sklearn"):
        return False
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return False
    if not isinstance(found, type) or found.__module__ != module_name:
        return False
    if name in SCORERS:
        return True
    # Imported here: they take a fifth of the time of importing this package.
    from sklearn.gaussian_process.kernels import Kernel
    from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

    kinds = (BaseEstimator, Kernel, BaseCrossValidator, BaseShuffleSplit)
    return package == "multikernel" or issubclass(found, kinds)


def _is_score(name: str) -> bool:
    """Say whether a full name is that of the function of one of sklearn's scorers."""
    if name.partition(".")[0] != "sklearn":
        return False
    from sklearn.metrics import get_scorer, get_scorer_names

    functions = (
        getattr(get_scorer(scorer), "_score_func", None)
        for scorer in get_scorer_names()
    )
    return any(f is not None and name == _full_name(f) for f in functions)
