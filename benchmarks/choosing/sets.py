"""The data folder's sets by kind, split into samples to learn from and to predict."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load
from multikernel.kernels import GaussianKernel, LinearKernel
from multikernel.kernels.sequence import (
    Alphabet,
    MotifKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
)

Array = Any
N_TRAIN, N_LARGE, N_TEST = 300, 3000, 1000
"""Samples to learn from (of large tables) and to predict, at most."""
WIDTHS = (0.5, 1.0, 2.0)
"""Of Gaussian kernels on a view, in medians of the distances."""
TABLES, LARGE, VIEWS = "small tables", "large tables", "views and kernels"
SEQUENCES, TARGETS = "sequences", "many targets"
KINDS = {
    TABLES: (
        *("liver", "sonar", "ionosphere", "wpbc", "ida_thyroid", "pima", "ida_titanic"),
        *("ida_banana", "ida_ringnorm", "ida_splice", "uci_mushroom", "uci_spambase"),
        *("uci_magic04", "uci_segment", "breast_cancer", "diabetes", "delve_boston"),
        *("delve_abalone", "delve_bank_32fh", "delve_bank_32fm", "delve_bank_32nh"),
        *("delve_bank_32nm", "delve_pumadyn_32fh", "delve_pumadyn_32fm"),
        *("delve_pumadyn_32nh", "delve_pumadyn_32nm"),
    ),
    LARGE: (
        *("uci_spambase", "uci_magic04", "uci_mushroom", "ida_ringnorm", "ida_banana"),
        *("delve_bank_32nh", "delve_bank_32fm", "delve_pumadyn_32nh"),
        *("delve_pumadyn_32nm", "mnist_t10k"),
    ),
    VIEWS: (
        *("omics_tcga_brca_3views", "msrc_v5_5views", "threesources_3views"),
        *("mfeat_digits_6views", "yeast_expr_phylo_2views", "dti_e_drugs_kernels"),
        *("dti_ic_proteins_kernels", "proteinfold_kernels_rank27"),
    ),
    SEQUENCES: (
        *("dna_uci_promoters", "dna_uci_splice", "dna_celegans_acceptor_82"),
        *("dna_celegans_acceptor_141", "dna_ecoli_promoter_81", "dna_tfbs_set0"),
        "multiloc_protein_sequences",
    ),
    TARGETS: (
        *("digits", "omics_tcga_brca_3views", "mfeat_digits_6views"),
        "yeast_expr_phylo_2views",
    ),
}


@dataclass(frozen=True)
class Split:
    """Samples of a set as methods take them.

    Attributes
    ----------
    kind, measure : str
        A key of `KINDS`, and ``"accuracy"``, ``"AUC"`` or ``"R²"``.
    X, y, X_test, y_test : Any
        What our estimators learn from and predict.
    kernels : Any
        What our estimators are given as their kernels.
    columns, columns_test : ndarray
        The same samples as rows of numbers, for methods that take nothing else.
    views : dict of str to slice
        The columns of each view.
    grams : callable
        Returns kernels of the training samples, and of the others to these: of shapes
        (n_kernels, n, n) and (n_kernels, n_test, n).
    """

    kind: str
    measure: str
    X: Any
    y: Array
    X_test: Any
    y_test: Array
    kernels: Any
    columns: Array
    columns_test: Array
    views: Mapping[str, slice]
    grams: Callable[[], tuple[Array, Array]]


def split_of(kind: str, name: str, number: int) -> Split:
    """Return a split of a set; where a set has many labels, it is of another label."""
    data = load(name)
    if kind == TARGETS:
        return _of_targets(data, name, number)
    if kind == SEQUENCES:
        return _of_sequences(data, number)
    if "K" in data or name.startswith("proteinfold"):
        return _of_kernels(data, number)
    y = data.Y[:, number] if "Y" in data else data.y
    X, y = np.asarray(data.X, dtype=float), np.asarray(y)
    if kind == VIEWS:  # a third of the omics samples lacks a whole view
        whole = ~np.isnan(X).any(axis=1)
        X, y = X[whole], y[whole]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    train, test = _parts(y, number, N_LARGE if kind == LARGE else N_TRAIN)
    return _of_columns(kind, _measure(kind, y), X, y, _places(data), train, test)


def _parts(y: Array, number: int, most: int = N_TRAIN) -> tuple[Array, Array]:
    n = min(most, int(0.7 * len(y)))
    return tuple(
        train_test_split(
            np.arange(len(y)),
            train_size=n,
            test_size=min(N_TEST, len(y) - n),
            random_state=number,
            stratify=y if _measure("", y) != "R²" else None,
        )
    )


def _measure(kind: str, y: Array) -> str:
    """Return how well a prediction is judged: labels of few samples by their order."""
    if y.dtype.kind == "f":
        return "R²"
    tables = kind in (TABLES, LARGE)
    return "AUC" if np.unique(y).size == 2 and not tables else "accuracy"


def _places(data: Any) -> dict[str, slice]:
    views = data.get("views", {})
    ends = np.cumsum([0, *(view.shape[1] for view in views.values())])
    places = itertools.starmap(slice, itertools.pairwise(ends.tolist()))
    return dict(zip(views, places, strict=True))


def _of_columns(
    kind: str,
    measure: str,
    X: Array,
    y: Array,
    views: Mapping[str, slice],
    train: Array,
    test: Array,
) -> Split:
    """Return standardized columns and targets: what comes with SVR suits these.

    A view has a linear kernel and three widths.
    """
    if measure == "R²":
        table = y.reshape(len(y), -1)
        y = StandardScaler().fit(table[train]).transform(table).reshape(y.shape)
    scaler = StandardScaler().fit(X[train])
    X, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    each: list[Any] = [GaussianKernel("median", multiple=m) for m in WIDTHS]
    each.append(LinearKernel())
    return Split(
        kind=kind,
        measure=measure,
        X=X,
        y=y[train],
        X_test=X_test,
        y_test=y[test],
        kernels={name: (part, each) for name, part in views.items()} or None,
        columns=X,
        columns_test=X_test,
        views=views,
        grams=lambda: _grams_of_views(X, X_test, views),
    )


def _grams_of_views(
    X: Array, X_test: Array, views: Mapping[str, slice]
) -> tuple[Array, Array]:
    """Return the same kernels as users of scikit-learn make them."""
    from scipy.spatial.distance import pdist
    from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

    found: list[tuple[Array, Array]] = []
    for part in views.values():
        A, B = X[:, part], X_test[:, part]
        middle = np.median(pdist(A))
        for multiple in WIDTHS:
            gamma = 0.5 / (multiple * middle) ** 2
            found.append((rbf_kernel(A, gamma=gamma), rbf_kernel(B, A, gamma=gamma)))
        found.append((linear_kernel(A), linear_kernel(B, A)))
    return _of_unit_trace(*map(np.array, zip(*found, strict=True)))


def _of_unit_trace(K: Array, K_test: Array) -> tuple[Array, Array]:
    unit = np.einsum("mii->m", K)[:, None, None] / K.shape[1]
    return K / unit, K_test / unit


def clipped(K: Array) -> Array:
    """Return a similarity without its negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(0.5 * (K + K.T))
    return np.asarray((vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T)


def _of_kernels(data: Any, number: int) -> Split:
    """Return Gram matrices, made kernels where they are similarities."""
    if "K" in data:
        grams, y = np.asarray(data.K, dtype=float), data.Y[:, number]
        grams = np.array([clipped(K) for K in grams])
    else:
        grams, y = np.array([V @ V.T for V in data.views.values()]), data.y
        norms = np.sqrt(np.einsum("mii->mi", grams))
        grams /= norms[:, :, None] * norms[:, None, :]
    train, test = _parts(y, number)
    K, K_test = grams[:, train][:, :, train], grams[:, test][:, :, train]
    X, X_test = (np.moveaxis(one, 0, 2) for one in (K, K_test))
    return Split(
        kind=VIEWS,
        measure=_measure(VIEWS, y),
        X=X,
        y=y[train],
        X_test=X_test,
        y_test=y[test],
        kernels="precomputed",
        columns=X.reshape(len(X), -1),
        columns_test=X_test.reshape(len(X_test), -1),
        views={},
        grams=lambda: _of_unit_trace(K, K_test),
    )


def _of_sequences(data: Any, number: int) -> Split:
    """Return strings; as columns their letters, or how often pairs of these occur."""
    text, y = np.array(data.sequences, dtype=object), np.asarray(data.y)
    proteins = data.name.startswith("multiloc")
    letters = Alphabet("protein" if proteins else "dna", unknown="skip")
    kernels: list[Any] = [SpectrumKernel(k, letters) for k in (1, 2, 3)]
    if proteins:
        kernels += [
            MotifKernel(f"x{gap}x", alphabet=letters) for gap in ("", ".", "..")
        ]
        pairs = SpectrumKernel(2, letters)
        columns = pairs.features(text.tolist()).toarray()
    else:
        kernels += [SpectrumKernel(k, letters) for k in (4, 5, 6)]
        kernels += [
            WeightedDegreeKernel(degree, shift, letters)
            for degree, shift in itertools.product((3, 10), (0, 8))
        ]
        codes = np.array([[*one] for one in text])
        columns = np.hstack([codes == letter for letter in "ACGT"]).astype(float)
    train, test = _parts(y, number)
    X, X_test = text[train].tolist(), text[test].tolist()

    def grams() -> tuple[Array, Array]:
        K = [kernel(X) for kernel in kernels]
        return np.array(K), np.array([kernel(X_test, X) for kernel in kernels])

    return Split(
        kind=SEQUENCES,
        measure=_measure(SEQUENCES, y),
        X=X,
        y=y[train],
        X_test=X_test,
        y_test=y[test],
        kernels=kernels,
        columns=columns[train],
        columns_test=columns[test],
        views={},
        grams=grams,
    )


def _of_targets(data: Any, name: str, number: int) -> Split:
    """Return views, and what is to be predicted from them.

    The proteins of tumours, a view of digits, the lower half of small pictures, the
    functions of genes.
    """
    if name == "digits":
        lower = data.X[:, 32:]
        views = {"top": data.X[:, :16], "middle": data.X[:, 16:32]}
        Y = lower[:, lower.std(axis=0) > 2.0]
    else:
        views = dict(data.views)
        hidden = {"omics": "protein", "mfeat": "zer"}.get(name.split("_")[0])
        Y = np.asarray(views.pop(hidden) if hidden else data.Y, dtype=float)
    whole = ~np.isnan(Y).any(axis=1)
    X, Y = np.hstack([*views.values()])[whole], Y[whole]
    train, test = _parts(Y, number)
    return _of_columns(TARGETS, "R²", X, Y, _places({"views": views}), train, test)
