"""Saving and loading fitted estimators without pickle.

A model file is a zip archive in the format of skops: a tree of type names and plain
values, with arrays stored apart. Loading adds up what the file will take, reads the
tree, compares its type names with what is trusted, and only then builds anything.
"""

import importlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED

from sklearn.exceptions import InconsistentVersionWarning

from multikernel._install import how_to_install
from multikernel.exceptions import UntrustedTypesError, VersionWarning, warn_user
from multikernel.gram.files import PathLike as PathLike
from multikernel.persistence.archive import (
    Content,
    RefusedError,
    check_loaded,
    checked_archive,
    versions,
    with_version,
)
from multikernel.persistence.places import find_place, write_to

MAX_BYTES = 2**31  # what a machine with 4 GB can spare
# Helpers that scikit-learn's fitted estimators hold, and that are no public estimators;
# skops trusts the public ones.
HELPERS = (
    "numpy.dtype",  # that SimpleImputer was fitted on; it holds no data
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer.make_column_selector",  # selects views
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.metrics._scorer._PassthroughScorer",  # calls model.score
    "sklearn.metrics._scorer._Scorer",  # calls a function, which must be trusted too
    "sklearn.multiclass._ConstantPredictor",
)
# Modules of scikit-learn whose public classes are all trusted.
MODULES = ("sklearn.gaussian_process.kernels", "sklearn.model_selection._split")
# Trusted by skops, and yet called with a number they take that many bytes, or more.
GREEDY = ("numpy.bytes_", "numpy.void", "numpy.random._generator.Generator")


def save(estimator: Any, path: PathLike) -> None:
    """Write an estimator to a compressed file, whole or not at all.

    An estimator that is not fitted is written as it is, with its parameters, and can be
    fitted once it is loaded. The file says which versions of this library, scikit-learn
    and NumPy wrote it.

    The file is written beside its final place and moved there at the end, so that an
    interrupt or a full disk leaves an existing file as it was. What a killed process
    left beside it is removed by the next save to the same place.

    Parameters
    ----------
    estimator : estimator
        Fitted or not; pipelines and searches are saved as well.
    path : str or path-like
        The file to write, by custom with the ending ``.skops``. A link is followed, and
        a pipe is written to.

    Raises
    ------
    ImportError
        If skops is not installed.
    FileNotFoundError
        If the folder of `path` does not exist.
    IsADirectoryError
        If `path` is a folder.
    OSError
        If `path` is a device, or the disk is full.

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
    _skops_io()
    target = find_place(path)  # rather now than after the work
    write_to(target, dumped(estimator))


def dumped(estimator: Any) -> bytes:
    """Return what `save` writes to a file."""
    data = _skops_io().dumps(estimator, compression=ZIP_DEFLATED)
    return with_version(data)


def load(
    path: PathLike, trusted: Sequence[str | type] = (), *, max_bytes: int = MAX_BYTES
) -> Any:
    """Read an estimator from a file written by `save`.

    Trusted without asking are this package's classes, scikit-learn's estimators,
    Gaussian process kernels, splitters and named scores, and the plain types that
    skops trusts.
    Anything else is named and refused: building an object of an unknown type can run
    its code. Objects are made without their constructors, which run for plain types
    only. What is built is checked as constructors and fits would: every array of a
    model has the shape and the kind that the others ask for.

    Parameters
    ----------
    path : str or path-like
        The file to read.
    trusted : sequence of str or type, default=()
        Further types to accept, as classes or by their full names, for example
        ``["my_package.kernels.MyKernel"]``. Their constructors may run.
    max_bytes : int, default=2**31
        Most memory that loading may take, 2.1 GB by default. It is added up from the
        sizes in the archive's directory before anything is unpacked, and from what
        the tree refers to before anything is built: about four times the arrays, and
        some kB for each object.

    Raises
    ------
    ImportError
        If skops is not installed.
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no model file, is damaged, is in another format, would take more
        than `max_bytes`, or if its arrays do not fit together.
    multikernel.exceptions.UntrustedTypesError
        If the file holds types that are not trusted; the message lists them.

    Warns
    -----
    multikernel.exceptions.VersionWarning
        If another version of multikernel or of scikit-learn, or another first number of
        NumPy's version, wrote the file, and it holds objects of that library.

    See Also
    --------
    save : Write such a file; it has an example.
    """
    skops = _skops_io()
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {path}.")
    with _one_sentence(path):
        # Read once: what is checked and what is built must be the same bytes.
        content = checked_archive(Path(path), max_bytes)
        loaded = _built(skops, path, content, {_full_name(item) for item in trusted})
        check_loaded(loaded)
    _warn_of_versions(path, loaded, content)
    return loaded


def _built(
    skops: ModuleType, path: PathLike, content: Content, trusted: set[str]
) -> Any:
    """Build what a checked file holds, or name the types that are not trusted."""
    allowed = trusted | {
        name
        for name in content.names
        if _is_score(name) or (name not in content.calls and _is_trusted_class(name))
    }
    greedy = content.calls.intersection(GREEDY) - allowed
    if not greedy:
        # skops looks for other types before it builds anything. To ask it for them
        # beforehand would read the tree twice, most of the time of loading.
        foreign = skops.exceptions.UntrustedTypesFoundException
        with suppress(foreign), warnings.catch_warnings():
            if content.differing():  # One sentence of ours says it for all.
                warnings.simplefilter("ignore", InconsistentVersionWarning)
            return skops.loads(content.data, trusted=sorted(allowed))
    untrusted = skops.get_untrusted_types(data=content.data)
    refused = sorted(greedy.union(untrusted) - allowed)
    raise UntrustedTypesError(
        f"{path} holds types that are not trusted: {', '.join(refused)}. If you "
        f"know where the file comes from, load it with trusted={refused}."
    )


def _warn_of_versions(path: PathLike, loaded: Any, content: Content) -> None:
    """Say which other versions wrote a file, where that may matter."""
    differing, here = content.differing(), versions()
    if not differing:
        return
    wrote = " and ".join(f"{name} {content.versions[name]}" for name in differing)
    now = " and ".join(f"{name} {here[name]}" for name in differing)
    warn_user(
        VersionWarning(
            f"{path} was written with {wrote}, and read with {now}: predictions may "
            "differ or fail. Compare some with earlier ones, or fit the model again.",
            estimator_name=type(loaded).__name__,
            current_sklearn_version=here["scikit-learn"],
            original_sklearn_version=content.versions.get("scikit-learn", "unknown"),
        )
    )


def _skops_io() -> ModuleType:
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:
        raise ImportError(
            f"Saving and loading models needs skops: {how_to_install('persistence')}."
        ) from error


@contextmanager
def _one_sentence(path: PathLike) -> Iterator[None]:
    """Turn whatever a damaged or hostile file leads to into one kind of error."""
    try:
        yield
    except UntrustedTypesError:
        raise
    except RefusedError as error:
        raise ValueError(f"Cannot load {path}: {error}.") from error
    except Exception as error:
        # Readers of zip, JSON and arrays, and objects that are given a foreign state,
        # raise some twenty kinds of errors between them.
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, AttributeError | TypeError | LookupError):
            reason = "its parts do not fit together"  # which Python says of its code
        raise ValueError(
            f"{path} is no model file written by multikernel.save ({reason[:500]})."
        ) from error


def _full_name(item: Any) -> str:
    if isinstance(item, str):
        return item
    return f"{item.__module__}.{item.__qualname__}"


def _is_trusted_class(name: str) -> bool:
    """Say whether a full name belongs to a class of ours, or to a known one.

    A prefix is no proof: modules of ours hold names from elsewhere, so the name is
    resolved and the class must have been defined in the module it is named after.
    """
    module_name, _, class_name = name.rpartition(".")
    ours = module_name.partition(".")[0] == "multikernel"
    if not (ours or module_name in MODULES or name in HELPERS):
        return False  # and the module is not even imported
    try:
        named = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return False
    return isinstance(named, type) and named.__module__ == module_name


def _is_score(name: str) -> bool:
    """Say whether a full name belongs to the function of a scorer of sklearn."""
    if name.partition(".")[0] != "sklearn":
        return False
    from sklearn.metrics import get_scorer, get_scorer_names

    functions = (
        getattr(get_scorer(scorer), "_score_func", None)
        for scorer in get_scorer_names()
    )
    return any(f is not None and name == _full_name(f) for f in functions)
