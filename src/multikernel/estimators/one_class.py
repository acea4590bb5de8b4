"""One-class learning: what most samples have in common, with many kernels."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from multikernel._typing import Array, Indices
from multikernel._validation import Check, Number
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.descriptions import documented
from multikernel.estimators.fit import fit_estimator
from multikernel.estimators.grams.method import fitted_attributes, warn_unfinished
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.source import GramSource, gram_source
from multikernel.estimators.grams.training import Training
from multikernel.estimators.lp.method import exponent
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.progress import Watch
from multikernel.estimators.read.numbers import refuse_frames
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.problem import Callback
from multikernel.solvers.one_class import OneClass


@dataclass(frozen=True, eq=False)
class OneClassMethod:
    """What most samples have in common: no losses of targets, one problem.

    Parameters
    ----------
    source : GramSource
        What it learns from.
    solver : OneClass
        The problem and its solver.
    """

    source: GramSource
    solver: OneClass

    why_no_path: ClassVar[str] = "has a share of outliers, and no strength."

    def learn(self, data: Training, watch: Watch) -> dict[str, Any]:
        """Return the fitted attributes."""
        weights = data.samples.weights
        weights = np.ones(data.stack.shape[1]) if weights is None else weights
        solution = self.solver.solve(data.stack, weights / weights.sum(), watch)
        warn_unfinished(data, [solution])
        # The solver holds loss and penalty too.
        fit = GramFit(Recipe((), (), self.solver), data, [solution])
        return fitted_attributes(fit) | {"offset_": -float(solution.intercept[0])}


@documented()
@dataclass(eq=False, repr=False)
class OneClassMKL(OutlierMixin, BaseMKL):
    r"""Novelty and outlier detection with lp-norm weights of the kernels.

    Minimizes, over weights of p-norm at most one, functions of the kernels' spaces and
    an offset [1]_,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} - b + \frac{1}{\nu \sum_i s_i}
        \sum_i s_i \max\Bigl(0, b - \sum_m f_m(x_i)\Bigr)

    with sample weights s: the one-class machine of `sklearn.svm.OneClassSVM` on a
    combination of kernels that is learned at the same time. Every fit ends with a
    duality gap, a bound on the distance of ``objective_`` to the optimum. The combined
    Gram matrix is stored in memory.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidate kernels, as for other estimators. None selects Gaussian kernels of
        a few widths on all columns together, which must be standardized, and for up to
        eight columns also on each column alone. These kernels are bounded, so a sample
        far from all others is unusual. A linear kernel is unbounded: samples far out on
        the side of the mean count as usual.
    nu : float, default=0.5
        Upper bound on the share of training samples outside the boundary, in (0, 1]; at
        least this share is on or outside the boundary.
    p : float, default=2.0
        Order of the norm of the kernel weights, at least 1; infinite gives the sum of
        all kernels. With p = 1 few kernels are selected. Near 1, kernels that are
        almost constant are preferred because no sample is unusual to them.
    max_iter : int, default=200
        Maximum number of iterations; each fits one machine and passes over all kernels.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with p-norm one.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_``: nonnegative, with sum one.
        At the optimum f_m = ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,)
        Minus the offset.
    offset_ : float
        The offset b: `decision_function` is `score_samples` minus it.
    objective_ : float
        Objective of the model.

    See Also
    --------
    sklearn.svm.OneClassSVM : The same with one kernel.

    References
    ----------
    .. [1] Sonnenburg, Rätsch, Schäfer, Schölkopf (2006). Large scale multiple kernel
       learning. JMLR 7, 1531-1565.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import OneClassMKL
    >>> X = np.random.default_rng(0).standard_normal((80, 2))
    >>> model = OneClassMKL(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> bool(model.duality_gap_ <= model.tol)
    True
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        "nu": Number(0.0, 1.0, above=True),
        "p": exponent,
    }

    kernels: Any = None
    nu: float = 0.5
    _: KW_ONLY
    p: float = 2.0
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    tol: float = 1e-3
    max_iter: int = 200
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None

    def fit(  # type: ignore[override] # no `offset`: one class has no known part
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data; with ``kernels="precomputed"`` Gram matrices of shape
            (n_samples, n_samples, n_kernels), see `stack_grams`.
        y : ignored
            Not used; there by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights of the samples. An integer weight does what as many
            copies of the sample would do, a weight of zero what leaving it out would.
        callback : callable, default=None
            Called with a `Progress` once per iteration; the fit stops where it returns
            True.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are wrong; the message says which and how.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
        """
        if X is None:
            raise ValueError("OneClassMKL requires samples X, got None.")
        refuse_frames(X, "X")
        nothing = np.zeros(_num_samples(X))
        fit_estimator(self, X, nothing, sample_weight, callback)
        return self

    def _method(self) -> OneClassMethod:
        # The machine reads the whole combination, and factors are what they are.
        source = gram_source(self, refines=False, novelty=True)
        solver = OneClass(float(self.nu), float(self.p), float(self.tol), self.max_iter)
        return OneClassMethod(source, solver)

    def decision_function(self, X: Any) -> Array:
        """Return by how much samples lie inside.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        f : ndarray of shape (n_samples,)
            Negative outside.
        """
        values: Array = self._decision_values(X)[:, 0]
        return values

    def score_samples(self, X: Any) -> Array:
        """Return the values without the offset.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        f : ndarray of shape (n_samples,)
        """
        scores: Array = self.decision_function(X) + self.offset_
        return scores

    def predict(self, X: Any) -> Indices:
        """Return which samples lie inside.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 inside and on the border, -1 outside.
        """
        inside = self.decision_function(X) >= 0.0
        return np.where(inside, 1, -1).astype(np.intp)
