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
    r"""Draw two Gaussian classes that differ in the first `n_informative` features.

    .. math::

        x \mid y \sim \mathcal{N}(y \mu, I), \qquad
        \mu = \text{distance} \cdot \theta / \|\theta\|,
        \quad \theta = (1, \dots, 1, 0, \dots, 0)

    The Bayes error, :math:`\Phi(-\text{distance})`, does not depend on the sparsity.
    The papers use 50, 28, 17, 9, 4 and 1 informative features of 50, which are 0, 44,
    66, 82, 92 and 98 per cent of noise kernels [1]_ [2]_.

    Parameters
    ----------
    n_samples : int, default=50
        Number of samples; half of them (rounded up) are in class +1.
    n_informative : int
        Number of nonzero components of theta, from 1 to `n_features`.
    n_features : int, default=50
        Number of features.
    distance : float, default=1.75
        Distance of each mean from the origin, in standard deviations.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels -1.0 and +1.0, in random order.

    Raises
    ------
    ValueError
        If `n_informative` is not between 1 and `n_features`.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22.
    .. [2] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24, section 5.1.

    Examples
    --------
    >>> from multikernel.datasets import make_sparse_means
    >>> X, y = make_sparse_means(n_informative=4, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((50, 50), [-1.0, 1.0])
    """
    if not 1 <= n_informative <= n_features:
        raise ValueError(
            f"n_informative must be between 1 and n_features={n_features}, got "
            f"{n_informative}."
        )
    rng = check_random_state(random_state)
    y = _balanced_labels(n_samples, rng)
    mean = np.zeros(n_features)
    mean[:n_informative] = distance / np.sqrt(n_informative)
    X = rng.standard_normal((n_samples, n_features)) + y[:, None] * mean
    return X, y


def make_ringnorm(
    n_samples: int = 200, *, n_features: int = 20, random_state: RandomState = None
) -> tuple[Array, Array]:
    r"""Draw Breiman's ringnorm problem: a wide Gaussian around a narrow one.

    Class -1 is :math:`\mathcal{N}(0, 4 I)`, class +1 is :math:`\mathcal{N}(\mu, I)`
    with all components of mu equal to :math:`2 / \sqrt{d}` [1]_. The SpicyMKL paper
    uses it with up to 6000 kernels on random feature subsets.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples; half of them (rounded up) are in class +1.
    n_features : int, default=20
        Number d of features.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels -1.0 and +1.0, in random order.

    References
    ----------
    .. [1] Breiman (1996). Bias, variance, and arcing classifiers. Technical report
       460, Statistics Department, University of California at Berkeley.

    Examples
    --------
    >>> from multikernel.datasets import make_ringnorm
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> bool(X[y < 0].std() > 1.9), bool(X[y > 0].std() < 1.1)
    (True, True)
    """
    rng = check_random_state(random_state)
    y = _balanced_labels(n_samples, rng)
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
    r"""Draw a regression problem with three relevant features.

    .. math:: y = \sin(3 x_0) + x_1^2 - x_2 + \text{noise} \cdot \varepsilon

    with uniform inputs on [-1, 1] and standard normal :math:`\varepsilon`.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    n_features : int, default=10
        Number of features, at least 3; those after the third are irrelevant.
    noise : float, default=0.1
        Standard deviation of the noise, nonnegative.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Targets.

    Raises
    ------
    ValueError
        If `n_features` is below 3 or `noise` is negative.

    Examples
    --------
    >>> from multikernel.datasets import make_additive_regression
    >>> X, y = make_additive_regression(random_state=0)
    >>> X.shape, y.shape
    ((200, 10), (200,))
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
    r"""Draw genotypes with two markers that only have a joint effect.

    The probability of class +1 is :math:`f_{ij}` for samples with i and j minor alleles
    at the first two markers (the penetrance table). Its mean over either marker is the
    prevalence K for each genotype of the other marker. The heritability is
    :math:`\operatorname{Var}(f) / (K (1 - K))` [1]_. All markers are independent and in
    Hardy-Weinberg equilibrium.

    Parameters
    ----------
    n_samples : int, default=1600
        Number of samples; half of them (rounded up) are in class +1.
    n_markers : int, default=1000
        Number of markers, at least 2; those after the second are irrelevant.
    heritability : float, default=0.4
        Share of the variance of the classes that the table explains, above 0 and at
        most 0.5.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw and of the table.

    Returns
    -------
    X : ndarray of shape (n_samples, n_markers)
        Genotypes: 0, 1 or 2 minor alleles.
    y : ndarray of shape (n_samples,)
        Labels -1.0 and +1.0, in random order.
    accuracy : float
        Expected accuracy of the best possible classifier.

    Raises
    ------
    ValueError
        If `n_markers` is below 2, or `heritability` is out of its range.

    References
    ----------
    .. [1] Urbanowicz, Kiralis, Sinnott-Armstrong, Heberling, Fisher, Moore (2012).
       GAMETES: a fast, direct algorithm for generating pure, strict, epistatic models
       with random architectures. BioData Mining 5, 16.

    Examples
    --------
    >>> from multikernel.datasets import make_epistasis
    >>> X, y, accuracy = make_epistasis(100, n_markers=10, random_state=0)
    >>> X.shape, bool(accuracy > 0.7)
    ((100, 10), True)
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
    """Return the genotype shares of two markers, penetrances, and prevalence."""
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
