"""Small random problems for the tests that compare with a reference."""

import numpy as np
from numpy.typing import NDArray
from reference.conic import LOSS_NAMES

from multikernel.losses import LOSSES as ALL_LOSSES, Loss, weighted
from multikernel.regularizers import BlockElasticNet, BlockL1, BlockRegularizer

Array = NDArray[np.float64]

LOSSES = {name: ALL_LOSSES[name] for name in LOSS_NAMES}
"""The losses that `reference.conic` knows."""

CLASSIFICATION = ("hinge", "log_loss")


def toy_grams(n_samples: int = 24, n_kernels: int = 6, seed: int = 0) -> Array:
    """Return Gaussian and linear kernels on random column sets of random inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4))
    grams = []
    for m in range(n_kernels):
        part = X[:, rng.choice(4, size=rng.integers(1, 4), replace=False)]
        squared = ((part[:, None] - part[None, :]) ** 2).sum(axis=2)
        grams.append(part @ part.T if m % 4 == 3 else np.exp(-squared / (1.0 + m)))
    return np.stack(grams)


def toy_targets(
    loss_name: str, n_samples: int = 24, seed: int = 0, n_outputs: int | None = None
) -> Array:
    """Return labels of unequal classes, or real targets with an offset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4))  # the inputs of toy_grams
    shape = (n_samples,) if n_outputs is None else (n_samples, n_outputs)
    signal = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    noisy = (signal + 0.4 * rng.normal(size=shape[::-1])).T
    if loss_name not in CLASSIFICATION:
        return np.ascontiguousarray(2.0 * noisy + 1.0)
    return np.where(noisy > 0.3, 1.0, -1.0)


def toy_loss(name: str, sample_weight: Array | None = None) -> Loss:
    """Return the library's loss of that name, with its default settings."""
    return weighted(LOSSES[name](), sample_weight)


def toy_regularizer(alpha: float, l1_ratio: float = 1.0) -> BlockRegularizer:
    """Return the library's penalty of that l1 ratio."""
    return BlockL1(alpha) if l1_ratio == 1.0 else BlockElasticNet(alpha, l1_ratio)
