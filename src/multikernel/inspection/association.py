"""Score tests of the association between kernels and targets."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from multikernel._typing import Array
from multikernel._validation import COUNT, FLAG, OneOf, check_parameter, listed
from multikernel.certificates import scores
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import read_input
from multikernel.estimators.grams.source import GramSource
from multikernel.estimators.grams.training import Training
from multikernel.estimators.parameters import loss_of
from multikernel.estimators.publish.fitted import warn_refit_without_offset
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.numbers import open_data
from multikernel.estimators.read.unpenalized import check_independent, find_design
from multikernel.estimators.spicy.estimators import (
    SpicyMKLClassifier,
    SpicyMKLRegressor,
)
from multikernel.estimators.survival.base import SurvivalMKL, regression_on_rows
from multikernel.estimators.survival.times import read_times
from multikernel.exceptions import warn_user
from multikernel.inspection.permutations import (
    OWNER,
    KernelTests,
    PermutationTests,
    false_discovery,
    permutations_of,
    tests_of_all,
    tests_of_largest,
)
from multikernel.inspection.pipelines import Naming, model_of, refitted_steps
from multikernel.inspection.resampling import warn_repeated
from multikernel.kernels.terms import MANY
from multikernel.kernels.views import Unpenalized
from multikernel.linalg import EPS
from multikernel.losses.base import is_shift_equivariant, is_smooth

# If covariates explain y exactly, this ratio is a rounding error: about 1e-10 if the
# mean of a covariate is 1e6 times its standard deviation.
ROUNDING = 1e-9
"""Norm of residuals, divided by their norm without covariates, that counts as zero."""


def kernel_tests(
    model: object,
    X: object,
    y: ArrayLike,
    *,
    covariates: object = None,
    offset: ArrayLike | None = None,
    n_permutations: int = 999,
    groups: object = None,
    permute: str = "within",
    analytic: bool = True,
    random_state: int | np.random.RandomState | None = None,
) -> KernelTests:
    r"""Test every kernel for association with the targets.

    The null hypothesis of a kernel K is that targets depend on the covariates only. The
    statistic is :math:`Q = \rho^\top K \rho`, where :math:`\rho` is minus the gradient
    of the loss at the null model: the residuals for the squared loss. For the squared
    and the logistic loss, it is the statistic of SKAT [1]_.

    Parameters
    ----------
    model : estimator or kernels
        A multiple kernel model, fitted or not, or a pipeline that ends in one, which
        defines kernels, loss and normalization; or a value of the ``kernels``
        parameter. Then the loss is logistic if `y` is text, booleans or up to 20
        different whole numbers, and squared otherwise.
    X, y : array-like
        Data and targets, as in ``fit``.
    covariates : array-like or data frame, default=None
        Variables of the null model, (n_samples, n_covariates): numbers, or categories
        in a pandas data frame. Unpenalized columns of the model are also covariates.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values, as in ``fit``, such as log(exposure).
    n_permutations : int, default=999
        Number of permutations; the smallest p-value is 1 / (n_permutations + 1).
    groups : array-like of shape (n_samples,), default=None
        Label of each sample's group, such as its batch or its patient.
    permute : {"within", "groups"}, default="within"
        "within" permutes samples within each group, such as a batch; without `groups`,
        all samples. "groups" permutes whole groups of equal size, such as patients with
        several dependent rows; a group of unique size stays in place.
    analytic : bool, default=True
        Whether to compute analytic p-values, as described in the notes. With several
        outputs or with `groups`, these p-values are NaN.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.

    Returns
    -------
    tests : KernelTests

    Raises
    ------
    ValueError
        If `y` is constant or explained exactly by the covariates, the loss is piecewise
        linear, or ``permute="groups"`` finds no two groups of equal size.

    Warns
    -----
    UserWarning
        If no permutation within groups changes the statistic of a kernel.

    Notes
    -----
    The residuals of the null model are permuted (Freedman and Lane). P-values by
    permutation are exact without covariates, and approximate with covariates. A kernel
    with the same statistic in all permutations, as on a constant column, has p = 1.

    For analytic p-values, V is the diagonal matrix of the second derivatives of the
    loss at the null model, and :math:`\lambda_j` are the eigenvalues of :math:`V^{1/2}
    K V^{1/2}`, projected onto the orthogonal complement of :math:`V^{1/2}` times the
    constant and the covariates. The logistic and the Poisson loss have the asymptotic
    p-value :math:`\Pr(\sum_j \lambda_j \chi^2_{1,j} > Q)`. All other losses use
    :math:`\Pr(\sum_j (\lambda_j - Q / \|e\|^2) \chi^2_{1,j} > 0)` with :math:`e =
    V^{-1/2} \rho`, which is exact for the squared loss with normal noise.

    Family-wise p-values compare statistics that are standardized over permutations.
    With over one million kernels, statistics are not standardized, and only the largest
    one of each permutation is stored. Then at most 1000 kernels are listed, those above
    the smallest of these maxima (q-values assume p = 1 for all others), tests of views
    are not available, and ``n_permutations=19`` is enough for a level of 0.05.

    References
    ----------
    .. [1] Wu et al. (2011). Rare-variant association testing for sequencing data with
       the sequence kernel association test. doi:10.1016/j.ajhg.2011.05.029

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.inspection import kernel_tests
    >>> from multikernel.kernels import GaussianKernel, per_column
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 100, 5))
    >>> y = np.sin(2 * X[:, 3]) + 0.5 * noise[:, 0]
    >>> tests = kernel_tests(per_column(GaussianKernel(1.0), 5), X, y, random_state=0)
    >>> np.flatnonzero(tests.family_wise_p <= 0.05)
    array([3])
    """
    check_parameter(OWNER, "n_permutations", n_permutations, COUNT)
    check_parameter(OWNER, "analytic", analytic, FLAG)
    check_parameter(OWNER, "permute", permute, OneOf(("within", "groups")))
    warn_order(OWNER, X, groups=groups, covariates=covariates, offset=offset)
    estimator, data, y, rename_kernels = _model_and_data(model, X, y, offset)
    training = _matrices(estimator, data, y, offset)
    stack = training.stack
    null = _null_model(training, estimator, covariates)  # `rho` are its residuals
    rng = check_random_state(random_state)
    if groups is None:
        advice = "pass groups and permute='groups'"
        warn_repeated(OWNER, training.samples, advice)
    draw = permutations_of(groups, permute, len(null.rho))
    # The data in their own order count as one permutation; without it, tests at the
    # level 0.05 would reject 6.5 % of true null hypotheses.
    orders = [np.arange(len(null.rho)), *draw(n_permutations, rng)]
    draws = null.permuted(orders)
    views, n_kernels = None, stack.shape[0]
    if n_kernels > MANY:
        tests = tests_of_largest(stack, draws)
    else:
        views = training.names.views
        tests = tests_of_all(stack, draws, views)
    if groups is not None and permute == "within":
        _warn_constant(training, tests)
    p_values = np.full(tests.statistics.size, np.nan)
    if analytic and groups is None and null.rho.shape[1] == 1:
        kernels = tests.kernel_index
        p_values = scores.analytic_p_values(stack, null, kernels, tests.statistics)
    tested_p = tests.permutation_p if np.isnan(p_values).any() else p_values
    names = rename_kernels(training.names)(tests.kernel_index.tolist())
    return KernelTests(
        **vars(tests),
        kernel_names=tuple(names),
        p_values=p_values,
        q_values=false_discovery(tested_p, n_kernels),
        views=views,
        n_kernels=n_kernels,
    )


def _warn_constant(training: Training, tests: PermutationTests) -> None:
    """Warn about kernels whose statistic is the same in all permutations."""
    # Zero and constant kernels (`degenerate`) have caused a warning before.
    constant = np.setdiff1d(
        tests.kernel_index[~tests.varies], training.built.degenerate
    )
    if constant.size:
        names = training.names(constant[:5].tolist())
        warn_user(
            f"{OWNER}: the p-values of {constant.size} of {tests.varies.size} kernels "
            "are 1 because no permutation within groups changes their statistics: "
            f"{listed(names, constant.size)}. If targets or columns are constant "
            "within groups, use permute='groups'."
        )


def _is_quantity(y: ArrayLike) -> bool:
    """Return True if targets are quantities, False if they are classes."""
    values = np.asarray(y)
    # As in the command line, more than 20 different integers are quantities.
    has_many_values = values.dtype.kind in "iuf" and np.unique(values).size > 20
    return has_many_values or type_of_target(y).startswith("continuous")


def _model_and_data(
    model: object, X: object, y: ArrayLike, offset: ArrayLike | None
) -> tuple[BaseMKL, object, ArrayLike, Naming]:
    """Return the estimator, its X and y, and a function that renames kernels."""
    if not (hasattr(model, "get_params") and hasattr(model, "fit")):
        estimator_class = SpicyMKLRegressor if _is_quantity(y) else SpicyMKLClassifier
        return estimator_class(model), X, y, lambda names: names
    before, estimator = model_of(OWNER, model)
    warn_refit_without_offset(OWNER, estimator, offset)
    data, rename_kernels = refitted_steps(before, X, y)
    if isinstance(estimator, SurvivalMKL):
        estimator._refuse_offset(offset)
        warn_order(OWNER, X, y=y)
        # The loss stores a table of the distinct survival times; the new targets are
        # row numbers of this table.
        _, codes, loss = regression_on_rows(read_times(OWNER, y))
        estimator, y = copy.copy(estimator), codes.astype(np.float64)
        estimator.loss = loss
    if getattr(estimator, "loss", None) is None:
        raise ValueError(
            f"{OWNER} does not support {type(estimator).__name__}: pass a classifier "
            "or a regressor with a smooth loss, such as SpicyMKLClassifier()."
        )
    return estimator, data, y, rename_kernels


def _matrices(
    estimator: BaseMKL, X: object, y: ArrayLike, offset: ArrayLike | None
) -> Training:
    """Return the samples and Gram matrices; equal samples are not merged."""
    source = estimator._method().source
    if not isinstance(source, GramSource):
        raise ValueError(
            f"{OWNER} does not support {type(estimator).__name__}, whose kernels are "
            "nodes of a graph: use an estimator with a list of kernels."
        )
    # Permutations need one row per sample, and normalized matrices of all samples. A
    # search normalizes later, within each fold (`parts`).
    source = replace(source, merges_copies=False, parts=False)
    training = source.prepare(read_input(estimator, source, X, y, offset=offset))
    if training.samples.weights is not None:
        raise ValueError(
            f"{OWNER} does not support class_weight: remove it from the model."
        )
    return training


def _null_model(
    training: Training, estimator: BaseMKL, covariates: object
) -> scores.NullModel:
    """Return the null model of every output: covariates, but no kernels."""
    loss = loss_of(estimator).unit
    if not is_smooth(loss):
        raise ValueError(
            f"{OWNER} requires a smooth loss, such as 'squared_error', 'log_loss' or "
            f"'poisson', got {estimator.loss!r}: pass a model with such a loss."
        )
    targets, offset, name = training.samples.targets.T, training.samples.offset, "y"
    if offset is not None and is_shift_equivariant(loss):
        targets, offset, name = targets - offset, None, "y minus offset"
    targets = scores.standardized_targets(loss, targets)
    if not (np.ptp(targets, axis=0) > 8.0 * EPS * np.abs(targets).max(axis=0)).any():
        raise ValueError(
            f"{OWNER}: {name} is constant, but must have at least two different "
            "values: pass other targets."
        )
    columns = _all_covariates(training, covariates)
    null = scores.null_model(loss, targets, columns, offset)
    constant = scores.null_model(loss, targets, None, offset)
    if np.linalg.norm(null.rho) <= ROUNDING * np.linalg.norm(constant.rho):
        raise ValueError(
            f"{OWNER}: the covariates and unpenalized columns explain y exactly: "
            "remove some of them."
        )
    return null


def _all_covariates(training: Training, covariates: object) -> Array | None:
    """Return the unpenalized columns and the covariates, None if there are neither."""
    design, n_samples = training.design, training.stack.shape[1]
    unpenalized = None if design is None else design(training.X)
    if covariates is None:
        return unpenalized
    values, names = _encode_covariates(covariates, n_samples)
    if design is not None and unpenalized is not None:
        values, names = np.column_stack([unpenalized, values]), [*design.names, *names]
    kind = "covariate" if design is None else "covariate or unpenalized column"
    check_independent(OWNER, values, names, fit_intercept=True, kind=kind)
    return values


def _encode_covariates(covariates: object, n_samples: int) -> tuple[Array, list[str]]:
    """Return covariates as numbers, read as unpenalized columns, and their names."""
    model = SpicyMKLRegressor({"covariates": Unpenalized(slice(None))})
    # Equal rows stay separate, because the result has one row per sample.
    source = replace(model._method().source, merges_copies=False)
    try:
        data = open_data(covariates, "X")
        data = data.reshape(-1, 1) if np.ndim(data) == 1 else data
        n_rows = _num_samples(data)
        samples = read_input(model, source, data, np.zeros(n_rows))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{OWNER}: covariates are invalid as X of a fit: {error}"
        ) from error
    if n_rows != n_samples:
        raise ValueError(
            f"{OWNER}: covariates must have one row for each of the {n_samples} "
            f"samples, got {n_rows} rows."
        )
    design = find_design(OWNER, samples, fit_intercept=True, kind="covariate")
    assert design is not None
    return design(samples.X), list(design.names)
