"""Kernel matrices of multi-source data, as figure 2 uses them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load
from multikernel.gram import build_stack
from multikernel.kernels import ListDictionary
from multikernel.kernels.sequence import Alphabet, SpectrumKernel, motif_dictionary
from multikernel.kernels.sequence.letters import pack, read_sequences

Array = NDArray[np.float64]

PLACES = ("chloroplast", "mitochondrial", "extracellular", "cytoplasmic")


@dataclass(frozen=True, eq=False)
class KernelSet:
    """Matrices and targets.

    Parameters
    ----------
    name : str
        For tables.
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
        Positive semidefinite kernel matrices.
    y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        Class numbers, or labels -1.0 and 1.0.
    """

    name: str
    grams: Array
    y: Array


def clip_spectrum(K: Array) -> Array:
    """Return the nearest positive semidefinite matrix: negative eigenvalues to zero."""
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray((clipped + clipped.T) / 2.0)


def gaussians(K: Array, widths: tuple[float, ...]) -> Iterator[Array]:
    """Yield Gaussian kernels from the inner products of a view.

    Widths are multiples of the median distance between samples.
    """
    diagonal = np.diag(K)
    squares = np.maximum(diagonal[:, None] + diagonal - 2.0 * K, 0.0)
    median = np.median(squares[np.triu_indices_from(squares, 1)])
    for width in widths:
        yield np.exp(-squares / (2.0 * width**2 * median))


def views(
    columns: Mapping[str, Array], widths: tuple[float, ...], *, cosine: bool = False
) -> Array:
    """Return a linear kernel and Gaussian ones on every view."""
    grams = []
    for Z in columns.values():
        Z = Z / np.linalg.norm(Z, axis=1, keepdims=True) if cosine else Z
        linear = Z @ Z.T
        grams += [linear, *gaussians(linear, widths)]
    return np.stack(grams)


def standardized(columns: Mapping[str, Array], rows: Array | slice) -> dict[str, Array]:
    """Return chosen rows of every view, with standardized columns."""
    return {
        name: StandardScaler().fit_transform(Z[rows]) for name, Z in columns.items()
    }


def frequent(Y: Array, least: int) -> Array:
    """Return the labels with at least so many samples on either side, as signs."""
    positive = Y.sum(axis=0)
    kept = np.minimum(positive, len(Y) - positive) >= least
    return np.where(Y[:, kept] > 0, 1.0, -1.0)


def protein_folds() -> KernelSet:
    """694 proteins of 27 folds; 12 views, of which leading factors are at hand.

    Every view has its cosine kernel and a Gaussian one.
    """
    data = load("proteinfold_kernels_rank27")
    grams = views(data.views, (0.5,), cosine=True)
    return KernelSet("protein folds", grams, data.y)


def digits() -> KernelSet:
    """600 of 2000 handwritten digits; six views with four kernels each."""
    data = load("mfeat_digits_6views")
    rows = np.random.default_rng(0).permutation(len(data.y))[:600]
    grams = views(standardized(data.views, rows), (0.35, 0.7, 1.4))
    return KernelSet("digits", grams, data.y[rows])


def yeast() -> KernelSet:
    """600 of 2417 genes with up to 13 functions; two views with six kernels each."""
    data = load("yeast_expr_phylo_2views")
    rows = np.random.default_rng(0).permutation(len(data.Y))[:600]
    grams = views(standardized(data.views, rows), (0.25, 0.5, 1.0, 2.0, 4.0))
    return KernelSet("yeast genes", grams, frequent(data.Y[rows], 25))


def enzyme_drugs() -> KernelSet:
    """445 drugs and the enzymes that they bind; nine kernels on the drugs.

    Two of them have negative eigenvalues (to -1.1), which are set to zero here: on
    all samples, so that training and test parts belong to one kernel. No labels are
    involved.
    """
    data = load("dti_e_drugs_kernels")
    grams = np.stack([clip_spectrum(K) for K in data.K.astype(np.float64)])
    return KernelSet("enzyme drugs", grams, frequent(data.Y, 30))


def ion_channels() -> KernelSet:
    """204 ion channels and the drugs that bind them; nine kernels on the proteins.

    Two of them (go, ppi) have negative eigenvalues (to -0.8), set to zero as in
    `enzyme_drugs`.
    """
    data = load("dti_ic_proteins_kernels")
    grams = np.stack([clip_spectrum(K) for K in data.K.astype(np.float64)])
    return KernelSet("ion channels", grams, frequent(data.Y, 25))


def multiloc() -> KernelSet:
    """400 of 5959 proteins in the four places of plants; motifs and spectra.

    The relative of the paper's PLANT that can be had: 64 of its kernels are motif
    histograms compared by the Jensen-Shannon divergence, as here; its five kernels of
    phylogeny and similarity are replaced by spectra of one to three residues.
    """
    data = load("multiloc_protein_sequences")
    places = np.asarray(data.class_names)[np.asarray(data.y)]
    rows = np.flatnonzero(np.isin(places, PLACES))
    rows, _ = train_test_split(
        rows, train_size=400, stratify=places[rows], random_state=0
    )
    amino_acids = Alphabet("protein", unknown="skip")
    spectra = [SpectrumKernel(k, amino_acids) for k in (1, 2, 3)]
    motifs = motif_dictionary(alphabet=amino_acids)
    kernels = ListDictionary([*motifs.kernels, *spectra])
    texts = pack(read_sequences([data.sequences[row] for row in rows]))
    built = build_stack(kernels, texts, normalize="cosine", storage="dense")
    numbers = np.unique(places[rows], return_inverse=True)[1]
    return KernelSet("MultiLoc", np.asarray(built.stack.array), numbers)


SETS: Mapping[str, Callable[[], KernelSet]] = {
    "protein folds": protein_folds,
    "digits": digits,
    "MultiLoc": multiloc,
    "yeast genes": yeast,
    "enzyme drugs": enzyme_drugs,
    "ion channels": ion_channels,
}
