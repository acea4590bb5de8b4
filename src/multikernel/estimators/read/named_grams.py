"""Gram matrices under names, which stay with them when samples are sliced."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed, shown


@dataclass(frozen=True, eq=False, repr=False)
class NamedGrams:
    """Gram matrices, samples first, with a name each: `stack_grams` makes them.

    scikit-learn slices them as it slices any pairwise data, and the names stay: from
    `cross_val_score`, `GridSearchCV` and pipelines to ``kernel_names_``, ``summary()``,
    pictures and model files. ``numpy.asarray`` returns the matrices without names.

    Parameters
    ----------
    array : ndarray of shape (n_samples, n_fit_samples, n_kernels)
        The matrices.
    names : tuple of str
        A name for each of them, all different.

    Raises
    ------
    ValueError
        If names are not as many as matrices, are no text, or occur twice.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import stack_grams
    >>> K = stack_grams({"tanimoto": np.eye(4), "pathways": np.ones((4, 4))})
    >>> K
    Gram matrices (4, 4, 2): 'tanimoto', 'pathways'
    >>> K[np.ix_([0, 1, 2], [1, 2])].shape
    (3, 2, 2)
    >>> float(K["pathways"].sum())
    16.0
    """

    array: Array
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if np.ndim(self.array) != 3:
            raise ValueError(
                "Named Gram matrices have three axes, (n_samples, n_fit_samples, "
                f"n_kernels), got shape {np.shape(self.array)}."
            )
        check_gram_names(self.names, self.array.shape[2])

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (n_samples, n_fit_samples, n_kernels)."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """Return the number of axes, 3."""
        return self.array.ndim

    @property
    def dtype(self) -> Any:
        """Return the type of the numbers."""
        return self.array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype=dtype, copy=copy)

    def __getitem__(self, key: Any) -> Any:
        """Return a matrix by its name, or a slice; names stay where all matrices do."""
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"There is no Gram matrix {key!r} among {self.names}.")
            return self.array[:, :, self.names.index(key)]
        part = self.array[key]
        axes = list(key) if isinstance(key, tuple) else [key]
        if axes and axes[-1] is Ellipsis:
            axes.pop()
        of_samples = len(axes) <= 2 and not any(a is None or a is ... for a in axes)
        # An index of one sample takes its axis away.
        return NamedGrams(part, self.names) if of_samples and part.ndim == 3 else part

    def __repr__(self) -> str:
        """Return the shape and the names: numbers would fill pages."""
        return f"Gram matrices {self.shape}: {', '.join(map(repr, self.names))}"


def check_gram_names(names: tuple[str, ...], n_kernels: int) -> None:
    """Raise unless each matrix has a name, a text, and all names differ."""
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise ValueError(f"The name of a Gram matrix is a text, got {shown(wrong[0])}.")
    if len(names) != n_kernels:
        raise ValueError(
            f"{len(names)} names were given for {n_kernels} Gram matrices."
        )
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise ValueError(f"Two Gram matrices have the name {twice[0]!r}.")


def names_of_grams(X: Any) -> tuple[str, ...] | None:
    """Return the names of Gram matrices, None where they have none."""
    return X.names if isinstance(X, NamedGrams) else None


def check_same_grams(owner: str, X: Any, known: tuple[str, ...] | None) -> None:
    """Raise where named matrices are not the fit's, in their order."""
    names = names_of_grams(X)
    if known is None or names is None or names == known:
        return
    raise ValueError(
        f"X holds the Gram matrices {listed(names)}, but {owner} was fitted on "
        f"{listed(known)}: give the same ones in the same order, for example "
        "stack_grams({name: grams[name] for name in names}) with the names of the fit."
    )
