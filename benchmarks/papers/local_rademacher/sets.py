"""The sets of figure 2: Gram matrices on all samples, labels, and names of kernels.

The human transcription-start set of the paper cannot be had. In its place there are
promoters of E. coli and splice sites of C. elegans with the five kernels of that task,
and a generated set that has by construction what the paper explains its result by:
kernels that know the labels have spectra that fall fast.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from multikernel import datasets
from multikernel.kernels import GaussianKernel, LinearKernel
from multikernel.kernels.sequence import (
    ProfileKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
    WindowKernel,
)


@dataclass(frozen=True)
class KernelSet:
    """One binary task.

    Parameters
    ----------
    names : sequence of str
        Names of the kernels.
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
        Their matrices.
    y : ndarray of shape (n_samples,)
        Labels, -1 and +1.
    """

    names: Sequence[str]
    grams: np.ndarray
    y: np.ndarray


def generated(n_samples: int, seed: int = 0) -> KernelSet:
    """Two smooth informative kernels, one weak, and two rough ones of noise.

    The label is the sign of a smooth function of two planes, with a tenth of all labels
    turned round. Kernels on the planes are wide Gaussians, whose eigenvalues fall
    geometrically; noise comes in 60 columns, with kernels whose spectra are flat. The
    weak kernel sees 30 columns in which every one is a little shifted by the label.
    """
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, n_samples, 2))
    score = A[:, 0] * A[:, 1] + B[:, 0] ** 2 - B[:, 1] ** 2
    y = np.where(score > 0, 1.0, -1.0)
    y[rng.random(n_samples) < 0.1] *= -1.0
    weak = 0.08 * y[:, None] + rng.standard_normal((n_samples, 30))
    noise = rng.standard_normal((n_samples, 60))
    grams = [
        GaussianKernel(2.0)(A),
        GaussianKernel(2.0)(B),
        GaussianKernel(5.0)(weak),
        GaussianKernel(5.0)(noise),
        LinearKernel()(noise[:, :30]),
    ]
    names = ["smooth A", "smooth B", "weak", "noise, Gaussian", "noise, linear"]
    return KernelSet(names, np.stack(grams), y)


def dna(name: str, signal: int) -> Callable[[int], KernelSet]:
    """Return the five kernels of the transcription-start task on a set of DNA.

    Parameters
    ----------
    name : str
        The set.
    signal : int
        Where the signal is: the spectrum kernels are on the letters before and after
        it, the weighted degree kernel on 30 letters on each side.
    """

    def load(n_samples: int) -> KernelSet:
        data = datasets.load(name)
        chosen = np.random.default_rng(0).permutation(len(data.y))[:n_samples]
        X = [data.sequences[i] for i in chosen]
        near = (max(signal - 30, 0), signal + 30)
        kernels = {
            "TSS": WindowKernel(WeightedDegreeKernel(20, 4), *near),
            "Promo": WindowKernel(SpectrumKernel(4), 0, signal),
            "1st Ex": WindowKernel(SpectrumKernel(4), signal, None),
            "Angle": ProfileKernel("twist"),
            "Energ": ProfileKernel("stacking"),
        }
        grams = np.stack([kernel(X) for kernel in kernels.values()])
        labels = np.asarray(data.y)[chosen]
        positive = labels == np.max(labels)
        return KernelSet(list(kernels), grams, np.where(positive, 1.0, -1.0))

    return load


SETS: dict[str, Callable[[int], KernelSet]] = {
    "generated": generated,
    "ecoli": dna("dna_ecoli_promoter_81", 60),
    "acceptor": dna("dna_celegans_acceptor_82", 40),
}
