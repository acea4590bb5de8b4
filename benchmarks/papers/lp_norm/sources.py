"""Kernel matrices of multi-source data, as table1.py uses them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load
from multikernel.gram import build_stack
from multikernel.kernels import ListDictionary
from multikernel.kernels.sequence import Alphabet, SpectrumKernel, motif_dictionary
from multikernel.kernels.sequence.letters import pack, read_sequences

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Source:
    """Matrices and targets.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
        Positive semidefinite kernel matrices.
    y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        Class numbers, or one binary label per column, 0 and 1.
    """

    grams: Array
    y: Array

    @property
    def tasks(self) -> list[Array]:
        """Return the targets of every learning problem."""
        return [self.y] if self.y.ndim == 1 else list(self.y.T)


def clip_spectrum(K: Array) -> Array:
    """Return the nearest positive semidefinite matrix: negative eigenvalues to zero."""
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray((clipped + clipped.T) / 2.0)


def frequent(Y: Array, least: int) -> Array:
    """Return the labels with at least so many samples on either side."""
    positive = Y.sum(axis=0)
    return Y[:, np.minimum(positive, len(Y) - positive) >= least]


def protein_folds() -> Source:
    """Proteins of the folds with 20 of 694 or more; 12 views, a linear kernel on each.

    The kernels have a unit diagonal. The views are factors of rank 27 of the original
    kernels, which are not at hand.
    """
    data = load("proteinfold_kernels_rank27")
    _, codes, counts = np.unique(data.y, return_inverse=True, return_counts=True)
    rows = counts[codes] >= 20
    views = [columns[rows] for columns in data.views.values()]
    units = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in views]
    return Source(np.stack([Z @ Z.T for Z in units]), data.y[rows])


def yeast() -> Source:
    """400 of 2417 genes with 12 functions; expression and phylogenetic profile.

    On each view, with standardized columns, a linear kernel and Gaussian ones of five
    widths about the median distance.
    """
    data = load("yeast_expr_phylo_2views")
    rows = np.random.default_rng(0).permutation(len(data.Y))[:400]
    grams = []
    for columns in data.views.values():
        Z = StandardScaler().fit_transform(columns[rows])
        squared = euclidean_distances(Z, squared=True)
        middle = float(np.median(squared))
        grams.append(Z @ Z.T)
        scales = 2.0 * middle * np.array([0.25, 0.5, 1.0, 2.0, 4.0]) ** 2
        grams += [np.exp(-squared / scale) for scale in scales]
    return Source(np.stack(grams), frequent(data.Y[rows], 30))


def enzyme_drugs() -> Source:
    """445 drugs, and which of 5 enzymes they bind; nine kernels on the drugs.

    Two of them (minmaxTanimoto, simcomp) have negative eigenvalues, to -1.1: these
    are set to zero, on all samples, so that training and test parts are of one kernel.
    """
    data = load("dti_e_drugs_kernels")
    grams = np.stack([clip_spectrum(K) for K in data.K.astype(np.float64)])
    return Source(grams, frequent(data.Y, 30))


def ion_channels() -> Source:
    """204 ion channels, and which drugs bind them; nine kernels on the proteins.

    Two of them (go, ppi) have negative eigenvalues, to -0.8: set to zero as in
    `enzyme_drugs`.
    """
    data = load("dti_ic_proteins_kernels")
    grams = np.stack([clip_spectrum(K) for K in data.K.astype(np.float64)])
    return Source(grams, frequent(data.Y, 25))


def multiloc() -> Source:
    """1000 of 5959 proteins in 11 places of the cell, from their sequences alone.

    64 motif kernels of Ong and Zien (Jensen-Shannon) and spectra of one to three
    residues: of plant's kernels those that need no alignments and no phylogeny.
    """
    data = load("multiloc_protein_sequences")
    y = np.asarray(data.y)
    rows, _ = train_test_split(
        np.arange(y.size), train_size=1000, stratify=y, random_state=0
    )
    letters = Alphabet("protein", unknown="skip")
    spectra = [SpectrumKernel(k, letters) for k in (1, 2, 3)]
    kernels = ListDictionary([*motif_dictionary(alphabet=letters).kernels, *spectra])
    texts = pack(read_sequences([data.sequences[row] for row in rows]))
    built = build_stack(kernels, texts, storage="dense")
    return Source(np.asarray(built.stack.array), y[rows])  # type: ignore[attr-defined]


SOURCES: Mapping[str, Callable[[], Source]] = {
    "protein folds": protein_folds,
    "yeast genes": yeast,
    "enzyme drugs": enzyme_drugs,
    "ion channels": ion_channels,
    "MultiLoc proteins": multiloc,
}
