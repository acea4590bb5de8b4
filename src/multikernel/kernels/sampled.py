"""Kernels that are approximated by inner products of few features."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from multikernel._typing import Array
from multikernel._validation import COUNT, Number, check_parameter
from multikernel.kernels.base import Kernel, check_kernel, kernel_name
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.linalg.spectra import NEGLIGIBLE

SEED = Number(0, integer=True)


class FeatureKernel(ABC):
    """Base class of kernels that are inner products of features."""

    @abstractmethod
    def features(self, X: Array) -> Array:
        """Return the features of samples, shape (n_samples, n_features_out)."""

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        Z = self.features(X)
        return np.asarray(Z @ (Z if Y is None else self.features(Y)).T)

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        Z = self.features(X)
        return np.asarray(np.einsum("ij,ij->i", Z, Z))


@dataclass(frozen=True)
class NystroemKernel(FeatureKernel):
    """A kernel approximated by k(x, L) k(L, L)^+ k(L, x') with landmarks L.

    Estimators draw `n_components` landmarks from the training samples with the seed
    `random_state`; or pass `landmarks`, samples of shape (n_landmarks, n_features).
    Duality gaps ignore the error of the approximation. To include the error, pass the
    exact kernel and ``storage="low_rank"`` to the estimator.
    """

    # Williams, Seeger (2001). Using the Nystroem method to speed up kernel machines.
    # NIPS 13.

    kernel: Kernel
    n_components: int = 100
    random_state: int = 0
    landmarks: Array | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "The kernel of a NystroemKernel")
        check_parameter("NystroemKernel", "n_components", self.n_components, COUNT)
        check_parameter("NystroemKernel", "random_state", self.random_state, SEED)

    @property
    def name(self) -> str:
        """Return the readable name."""
        rank = self.n_components if self.landmarks is None else len(self.landmarks)
        return f"nystroem({kernel_name(self.kernel)}, {rank})"

    def learnt(self, X: Array) -> "NystroemKernel":
        """Return a copy with landmarks drawn from X, or itself if it has landmarks."""
        if self.landmarks is not None:
            return self
        rng = np.random.default_rng(self.random_state)
        size = min(self.n_components, X.shape[0])
        rows = np.sort(rng.choice(X.shape[0], size, replace=False))
        return replace(self, landmarks=X[rows])

    @cached_property
    def _directions(self) -> Array:
        """Return W such that k(X, L) W are the features of X, for the landmarks L."""
        # W W^T is the pseudo-inverse of k(L, L).
        eigenvalues, vectors = eigh(self.kernel(self._landmarks(), self._landmarks()))
        is_positive = eigenvalues > NEGLIGIBLE * max(float(eigenvalues[-1]), 0.0)
        return np.asarray(vectors[:, is_positive] / np.sqrt(eigenvalues[is_positive]))

    def _landmarks(self) -> Array:
        if self.landmarks is None:
            raise ValueError(
                f"{self.name} has no landmarks yet. Estimators draw them from the "
                "training samples. To call the kernel yourself, pass the argument "
                "landmarks, or use the copy that its method learnt(X) returns."
            )
        return self.landmarks

    def features(self, X: Array) -> Array:
        """Return features, (n_samples, rank), whose inner products are the kernel."""
        return np.asarray(self.kernel(X, self._landmarks()) @ self._directions)

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in vars(self).items() if k != "_directions"}


@dataclass(frozen=True)
class RandomFourierFeatures(FeatureKernel):
    """The kernel `gaussian`, approximated by `n_components` random Fourier features.

    It is the mean of cos(w^T (x - x')) over `n_components` // 2 random frequencies w,
    drawn with the seed `random_state` from a normal distribution with the inverse width
    of `gaussian` as standard deviation. Duality gaps ignore the approximation error.
    """

    # Rahimi, Recht (2007). Random features for large-scale kernel machines. NIPS 20.

    gaussian: GaussianKernel
    n_components: int = 100
    random_state: int = 0

    def __post_init__(self) -> None:
        if type(self.gaussian) is not GaussianKernel:
            raise TypeError(
                "RandomFourierFeatures: gaussian must be a GaussianKernel, got "
                f"{self.gaussian!r}."
            )
        at_least_two = Number(2, integer=True)
        owner = "RandomFourierFeatures"
        check_parameter(owner, "n_components", self.n_components, at_least_two)
        check_parameter(owner, "random_state", self.random_state, SEED)

    @property
    def name(self) -> str:
        """Return the readable name."""
        return f"fourier({self.gaussian.name}, {self.n_components})"

    def features(self, X: Array) -> Array:
        """Return features, rows of norm one, whose inner products are the kernel."""
        rng = np.random.default_rng(self.random_state)
        shape = X.shape[1], self.n_components // 2
        angles = X @ (rng.standard_normal(shape) / self.gaussian.width)
        features = np.hstack([np.cos(angles), np.sin(angles)])
        return np.asarray(features / np.sqrt(shape[1]))

    def diag(self, X: Array) -> Array:
        """Return ones, shape (n_samples,)."""
        return np.ones(X.shape[0])
