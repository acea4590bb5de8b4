"""Simulated data of papers on multiple kernel learning, with known truth."""

import numpy as np
from sklearn.utils import check_random_state

from multikernel._typing import Array

RandomState = int | np.random.RandomState | None


def make_sparse_means(
    n_samples: int = 50,
    *,
    n_informative: int,
    n_features: int = 50,
    distance: float = 1.75,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Draw two Gaussian classes that differ in the first `n_informative` features.

    The class means are `distance` standard deviations from the origin, in opposite
    directions, with equal components in all informative features. The Bayes error,
    Phi(-distance), does not depend on `n_informative`. Return the inputs, shape
    (n_samples, n_features), and labels -1.0 and +1.0 in equal numbers.
    """
    if not 1 <= n_informative <= n_features:
        raise ValueError(
            f"n_informative must be between 1 and n_features={n_features}, got "
            f"{n_informative}."
        )
    rng = check_random_state(random_state)
    y = _balanced_labels(n_samples, rng)
    mean = np.zeros(n_features)
    # Kloft et al. (NIPS 22, 2009) and Sindhwani and Lozano (NIPS 24, 2011, section 5.1)
    # use 50, 28, 17, 9, 4 and 1 informative features of 50.
    mean[:n_informative] = distance / np.sqrt(n_informative)
    X = rng.standard_normal((n_samples, n_features)) + y[:, None] * mean
    return X, y


def make_ringnorm(
    n_samples: int = 200, *, n_features: int = 20, random_state: RandomState = None
) -> tuple[Array, Array]:
    """Draw Breiman's ringnorm problem: a wide Gaussian around a narrow one.

    Class -1 has mean zero and covariance 4 I. Class +1 has covariance I and, in every
    feature, the mean 2 / sqrt(n_features). Return the inputs, shape (n_samples,
    n_features), and labels -1.0 and +1.0 in equal numbers.
    """
    rng = check_random_state(random_state)
    y = _balanced_labels(n_samples, rng)
    # Breiman (1996). Bias, variance, and arcing classifiers. Technical report 460,
    # Statistics Department, University of California at Berkeley.
    narrow = (y > 0)[:, None]
    noise = rng.standard_normal((n_samples, n_features))
    X = np.where(narrow, noise + 2.0 / np.sqrt(n_features), 2.0 * noise)
    return X, y


def make_additive_regression(
    n_samples: int = 200,
    *,
    n_features: int = 10,
    noise: float = 0.1,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Draw a regression problem with three relevant features.

    Targets are sin(3 x0) + x1² - x2 plus normal noise of standard deviation `noise`.
    Features are uniform on [-1, 1]; those after the third are irrelevant. Return the
    inputs, shape (n_samples, n_features), and the targets.
    """
    if n_features < 3:
        raise ValueError(f"n_features must be at least 3, got {n_features}.")
    if noise < 0:
        raise ValueError(f"noise must not be negative, got {noise}.")
    rng = check_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, (n_samples, n_features))
    signal = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2]
    return X, signal + noise * rng.standard_normal(n_samples)


def make_epistasis(
    n_samples: int = 1600,
    *,
    n_markers: int = 1000,
    heritability: float = 0.4,
    random_state: RandomState = None,
) -> tuple[Array, Array, float]:
    """Draw genotypes with two markers that only have a joint effect on the class.

    `heritability`, above 0 and at most 0.5, is the share of the variance of the classes
    that the first two markers explain; further markers are irrelevant. Return the
    numbers of minor alleles (0, 1 or 2), shape (n_samples, n_markers), labels -1.0 and
    +1.0 in equal numbers, and the expected accuracy of the best possible classifier.
    """
    if n_markers < 2:
        raise ValueError(f"n_markers must be at least 2, got {n_markers}.")
    if not 0.0 < heritability <= 0.5:
        raise ValueError(
            f"heritability must be above 0 and at most 0.5, got {heritability}."
        )
    rng = check_random_state(random_state)
    y = _balanced_labels(n_samples, rng)
    cells, table, prevalence = _penetrances(heritability, rng)
    affected = cells * table / prevalence
    healthy = cells * (1.0 - table) / (1.0 - prevalence)
    X = np.empty((n_samples, n_markers))
    for label, shares in ((1.0, affected), (-1.0, healthy)):
        rows = np.flatnonzero(y == label)
        cells_drawn = rng.choice(9, rows.size, p=shares.ravel() / shares.sum())
        X[rows, 0], X[rows, 1] = np.divmod(cells_drawn, 3)
    X[:, 2:] = rng.binomial(2, rng.uniform(0.05, 0.5, n_markers - 2), X[:, 2:].shape)
    return X, y, 0.5 * float(np.maximum(affected, healthy).sum())


def _penetrances(
    heritability: float, rng: np.random.RandomState
) -> tuple[Array, Array, float]:
    """Return genotype shares of two markers, their penetrance table, and prevalence."""
    # Urbanowicz et al. (2012). GAMETES. BioData Mining 5, 16. Row i and column j of the
    # table f is the probability of class +1 with i and j minor alleles. Its mean over
    # either marker is the prevalence K; the heritability is Var(f) / (K (1 - K)).
    # Tables are drawn until all penetrances are probabilities for some prevalence.
    while True:
        minor = rng.uniform(0.2, 0.5, 2)[:, None]
        shares = np.hstack([(1 - minor) ** 2, 2 * minor * (1 - minor), minor**2])
        table, (p, q) = rng.standard_normal((3, 3)), shares
        table -= (p @ table) + (table @ q)[:, None] - p @ table @ q
        table /= np.sqrt(p @ table**2 @ q)
        upper, lower = heritability * np.array([table.max(), table.min()]) ** 2
        lowest, highest = lower / (1.0 + lower), 1.0 / (1.0 + upper)
        if lowest <= highest:
            K = 0.5 * (lowest + highest)
            root = np.sqrt(heritability * K * (1.0 - K))
            return (np.outer(p, q), np.clip(K + root * table, 0.0, 1.0), float(K))


def _balanced_labels(n_samples: int, rng: np.random.RandomState) -> Array:
    """Return +1 and -1 in equal numbers (one more +1 if odd), shuffled."""
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2, got {n_samples}.")
    y = np.where(np.arange(n_samples) % 2 == 0, 1.0, -1.0)
    rng.shuffle(y)
    return y
