"""Real data sets by name, from ``NAME.npz`` files of a folder or from scikit-learn."""

import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.utils import Bunch

DATA_VARIABLE = "MULTIKERNEL_DATA"

# Files of the papers' data sets, by short name.
_FILES: Mapping[str, str] = {
    "liver": "uci_liver_bupa",
    "pima": "uci_pima",
    "ionosphere": "uci_ionosphere",
    "wpbc": "uci_wpbc",
    "sonar": "uci_sonar",
    "ringnorm": "ida_ringnorm",
    "splice": "ida_splice",
    "mnist": "mnist_t10k",
}

_BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")


def load(name: str, *, as_frame: bool = False) -> Bunch:
    """Load a data set from the folder ``MULTIKERNEL_DATA``, or from scikit-learn.

    Parameters
    ----------
    name : str
        Short name (``"liver"``, ``"pima"``, ``"ionosphere"``, ``"wpbc"``, ``"sonar"``,
        ``"ringnorm"``, ``"splice"``, ``"mnist"``), bundled set (``"breast_cancer"``,
        ``"diabetes"``, ``"digits"``, ``"iris"``, ``"wine"``), or file name without
        suffix. The environment variable names the folder, which has priority.
    as_frame : bool, default=False
        Whether to return data with names: ``X`` and ``Y`` as pandas data frames, ``y``
        as a series (of class names if known), ``views`` as column names, and ``K`` as
        Gram matrices by name for `multikernel.stack_grams`.

    Returns
    -------
    data : Bunch
        ``name`` and, if the data set has them:

        - ``X`` of shape (n_samples, n_features), ``y`` of shape (n_samples,),
          ``feature_names``; two-class labels are -1 and +1, nothing is scaled, and
          missing values are NaN;
        - ``views``, a dict of column blocks of `X` by name (without a copy);
        - ``K`` of shape (n_kernels, n_samples, n_samples), ``kernel_names`` and the
          labels ``Y`` of shape (n_samples, n_labels);
        - ``sequences``, a list of n_samples strings;
        - ``split``, 0 for training and 1 for test samples.

    Raises
    ------
    FileNotFoundError, ValueError
        If the data set is known but not available, or if the name is unknown.

    Examples
    --------
    >>> from multikernel.datasets import load
    >>> data = load("breast_cancer")
    >>> data.X.shape, data.feature_names[0], sorted(set(data.y.tolist()))
    ((569, 30), 'mean radius', [-1, 1])
    >>> load("breast_cancer", as_frame=True).X.columns[:2].tolist()
    ['mean radius', 'mean texture']
    """
    return _with_names(_load_arrays(name)) if as_frame else _load_arrays(name)


def _load_arrays(name: str) -> Bunch:
    """Return a data set as arrays."""
    path = _data_file(name)
    if path is not None:
        return _read_npz(name, path)
    if name in _BUNDLED:
        return _bundled(name)
    if name in _FILES:
        raise FileNotFoundError(
            f"Data set {name!r} was not found: set the environment variable "
            f"{DATA_VARIABLE} to a folder that contains {_FILES[name]}.npz."
        )
    raise ValueError(
        f"There is no data set {name!r}: use one of {', '.join(available())}, or store "
        f"your own data set as {name}.npz in a folder, and set the environment "
        f"variable {DATA_VARIABLE} to this folder."
    )


def _with_names(data: Bunch) -> Bunch:
    """Return a data set as data frames, series and mappings with names."""
    import pandas as pd

    samples, content = data.get("sample_ids"), Bunch(**data)
    if "sequences" in data:
        content.X = pd.DataFrame({"sequence": data.sequences}, index=samples)
    elif "X" in data:
        names = data.get("feature_names") or _column_names(data)
        content.X = pd.DataFrame(data.X, index=samples, columns=names)
    if "views" in data:
        edges = np.cumsum([0, *(view.shape[1] for view in data.views.values())])
        blocks = zip(data.views, pairwise(edges.tolist()), strict=True)
        content.views = {view: list(names[a:b]) for view, (a, b) in blocks}
    if "y" in data:
        y = data.y
        if "class_names" in data:
            # Labels are indices of the names, or -1 and +1 for the first and second.
            indices = y if y.min() >= 0 else np.unique(y, return_inverse=True)[1]
            y = np.array(data.class_names)[indices]
        content.y = pd.Series(y, index=samples, name="y")
    if "Y" in data:
        content.Y = pd.DataFrame(data.Y, index=samples, columns=data.get("label_ids"))
    if "K" in data:
        content.K = dict(zip(data.kernel_names, data.K, strict=True))
    return content


def _column_names(data: Bunch) -> list[str]:
    """Return names for unnamed columns: the view and the position in it."""
    views = data.get("views") or {"x": data.X}
    return [f"{name}{k}" for name, X in views.items() for k in range(X.shape[1])]


def available() -> tuple[str, ...]:
    """Return the sorted names that `load` finds on this machine, without a download."""
    folder = _folder()
    stems = {path.stem for path in folder.glob("*.npz")} if folder else set()
    short_names = {name for name, stem in _FILES.items() if stem in stems}
    return tuple(sorted(stems | short_names | set(_BUNDLED)))


def _folder() -> Path | None:
    """Return the folder that `DATA_VARIABLE` names, or None if it is not set."""
    value = os.environ.get(DATA_VARIABLE)
    return Path(value) if value else None


def _data_file(name: str) -> Path | None:
    """Return the file of a data set, or None if the folder has no such file."""
    folder = _folder()
    stem = _FILES.get(name, name)
    # A name such as "../x" must not leave the folder.
    if folder is None or Path(stem).name != stem:
        return None
    path = folder / f"{stem}.npz"
    return path if path.is_file() else None


def _read_npz(name: str, path: Path) -> Bunch:
    """Return the arrays of a file, with views, names and sequences."""
    with np.load(path, allow_pickle=False) as archive:
        arrays: dict[str, Any] = {key: archive[key] for key in archive.files}
    names = {"feature_names", "kernel_names", "view_names", "class_names"}
    for key in names & arrays.keys():
        arrays[key] = arrays[key].tolist()
    # View k has the columns from view_start[k] to view_start[k + 1] - 1.
    if "view_start" in arrays:
        start = arrays.pop("view_start")
        blocks = zip(arrays.pop("view_names"), pairwise(start), strict=True)
        arrays["views"] = {view: arrays["X"][:, a:b] for view, (a, b) in blocks}
    X = arrays.get("X", np.empty(0))
    if "seq" in arrays:
        text = arrays.pop("seq").tobytes().decode("ascii")
        start = arrays.pop("seq_start")
        arrays["sequences"] = [text[a:b] for a, b in pairwise(start)]
    elif X.dtype == np.uint8 and X.min() >= ord("A") and X.max() <= ord("Z"):
        # Each row of X is a sequence, as ASCII codes of capital letters.
        arrays["sequences"] = [bytes(row).decode("ascii") for row in X]
    return Bunch(name=name, **arrays)


def _bundled(name: str) -> Bunch:
    """Return a data set of scikit-learn; two classes are -1 and +1."""
    source = getattr(datasets, f"load_{name}")()
    y = source.target
    if len(getattr(source, "target_names", ())) == 2:
        y = 2 * y - 1
    feature_names = [str(feature) for feature in source.feature_names]
    return Bunch(name=name, X=source.data, y=y, feature_names=feature_names)
