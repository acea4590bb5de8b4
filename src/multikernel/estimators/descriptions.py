"""What parameters and attributes of many estimators mean: each is described once.

The docstring of an estimator says what is its own: parameters and attributes that mean
something else elsewhere, or are no other's; one that is described here may stand there
by its name alone. `documented` writes the rest: all parameters, in the order of the
signature, and the attributes that every fit leaves.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import cleandoc, signature
from typing import TypeVar

from sklearn.base import ClassifierMixin

Estimator = TypeVar("Estimator", bound=type)

OF_ALL = """
kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
    The candidates. None stands for `median_dictionary`: a linear kernel, and
    Gaussians of a few widths, which the samples decide, on all columns together and
    on each alone; it expects standardised columns. SpicyMKL has their `Interactions`
    too, where pairs of columns times samples are at most 2^23. On strings None is for
    `sequence_dictionary`, and on categories in a data frame for a `CategoryKernel`
    each. A mapping from names of views to columns, or to (columns,
    kernels), gives each view kernels of its own, see `multikernel.kernels.Views`;
    one may be a given matrix, see `multikernel.kernels.Grams`.
    Kernels may be functions, and names of `sklearn.metrics.pairwise`, see
    `multikernel.kernels.FunctionKernel`. For "precomputed" see `stack_grams`.
method : {"conv", "dc"}, default="conv"
    Whether the tails of the kernels are bounded one by one, or the tail of their
    combination.
normalize : str, Normalizer, list of these or None, default="variance"
    How kernels are made comparable: "variance" for unit variance in feature space,
    "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
    an object such as `multikernel.gram.TailNormalizer`; several are applied in
    order. Factors are learnt on the training data.
penalty_weights : dict, sequence of float or None, default=None
    Weights w_m > 0 of the penalties: with w_m ‖f_m‖ in place of ‖f_m‖ a kernel of
    weight 2 has to explain twice as much to enter. A dict has names of kernels or of
    views (others weigh 1; a kernel's own name goes before that of its view), a sequence
    one number a kernel. The normalised kernels are divided by w_m²: norms
    and ``kernel_weights_`` are those of these, ``variance_shares_`` those of any.
fit_intercept : bool, default=True
    Whether b is free; otherwise it is zero.
tol : float, default=1e-3
    Relative duality gap at which to stop.
max_iter : int or None, default=None
    Outer iterations at most; the default of the solver when None.
class_weight : dict, "balanced" or None, default=None
    Factors of the sample weights by class label; "balanced" gives all classes the
    same total weight.
storage : str, LowRank or MemoryMapped, default="auto"
    How Gram matrices are held while fitting, see `multikernel.gram.build_stack`:
    "dense", "dense32" (single precision), "lazy" (computed when needed),
    "low_rank" or a `multikernel.gram.LowRank` (factors by landmarks), "by_kernel"
    (kernels of high rank whole, factors of the others), "memmap" or a
    `multikernel.gram.MemoryMapped` (in a file), or "auto" for what is predicted
    to be quickest. Precomputed ones are held as they come.
max_bytes : int, default=None
    Limit on the bytes of the Gram matrices, with the copies that folds need; half
    of the memory that is free when None.
check_psd : {"auto", "active", "all", "none"}, default="auto"
    How kernels that are not this library's own, precomputed ones among them, are
    checked for a negative eigenvalue after a fit. "active" searches for that of every
    kernel of the model, "all" of every kernel, "none" of no kernel. "auto" does as
    "active" where that takes little, and otherwise looks for one with a few products
    and factorises the weighted sum of the model: so its gap holds among all weights
    whose sum is a kernel, and a matrix with an eigenvalue of minus one per cent of its
    trace may pass. See `multikernel.gram.check_definite`.
verbose : int, default=0
    Whether to write one line per iteration to standard error.
random_state : int, RandomState or None, default=None
    Draws the vectors that test precomputed matrices for symmetry, and subsamples
    of the dictionary where there are any; the rest of a fit is deterministic.
kernel_weights_ : ndarray of shape (n_kernels,)
    One for every selected kernel, zero for the others: the model's kernel is their
    sum.
kernel_names_ : list of str
    Names of all kernels.
support_ : ndarray of shape (n_support,)
    Indices of the training samples that the model uses.
storage_, storage_reason_ : str
    How Gram matrices were held, and why.
solver_ : str or ndarray of shape (n_problems,)
    The algorithms that led to the solution, in order, for every problem that was
    solved: the class of a solver, or what `multikernel.solvers.spicy` calls the steps
    of SpicyMKL, such as "newton_in_weights".
psd_checked_ : str
    What the kernels of the model are known to be kernels by, the weakest of all:
    "formula" (kernels of this library), "factors" (held as such), "full" (the lowest
    eigenvalue of each was searched for), "probe" (see ``check_psd``) or "none", as
    models on folds have it: their matrices are parts of those that are checked.
classes_ : ndarray of shape (n_classes,)
    Class labels.
n_features_in_ : int
    Number of columns; of training samples for precomputed kernels.
feature_names_in_ : ndarray of shape (n_features,)
    Column names, where X was a data frame.
view_weights_, view_shares_ : dict
    Where ``kernels`` was a mapping of views, the sums of ``kernel_weights_`` and
    of ``variance_shares_`` over the kernels of each; ``kernel_views_`` has the view
    of every kernel, and ``view_columns_`` the columns of every view.
unpenalized_coef_ : ndarray of shape (n_columns,) or (n_outputs, n_columns)
    Where ``kernels`` has `multikernel.kernels.Unpenalized` columns, the coefficients of
    these, in their own units; a category's is against the first one.
unpenalized_names_ : list of str
    What these columns are called; of categories there is one for each, such as
    ``sex=male``.
offered_ : str
    With `Interactions` of order 3, which products were offered: the duality gap is over
    these, and says nothing of others.
category_features_, categories_ : ndarray, list of ndarray
    Where columns of text are compared as categories, their positions, and the
    values of each that the training samples have.
cv : int, splitter, iterable of (train, test) or None, default=None
    The folds, as everywhere in scikit-learn; None stands for five. A single pair
    is a validation set.
n_jobs : int or None, default=None
    Folds that are fitted at the same time, by threads that share the Gram
    matrices; -1 stands for all cores.
refit : bool, default=True
    Whether to solve the path on all samples, and to be the model at ``alpha_``.
intervals : bool, default=False
    Whether to keep the models of all folds at the choice, for `predict_interval`. They
    are solved for once more, to ``cv_tol_``, which takes up to the time of the search
    again, and take the memory of as many fitted models.
alpha_ : float or ndarray of shape (n_outputs,)
    The strength in the units of the targets; with separate selections one for each
    target. Of a search that with the best mean score, the largest of several.
alphas_ : ndarray of shape (n_alphas,)
    All strengths, as ``alpha`` has them, descending.
best_params_ : dict
    The parameters that were chosen. Of several with the same score those of a
    model with kernels go before those of one without, then those with the better
    ``mean_test_loss``, and then the simplest.
best_index_ : int
    Their place in ``cv_results_``.
best_score_ : float
    Their mean score.
cv_results_ : dict of ndarray of shape (n_candidates,)
    As scikit-learn's searches have it: ``params``, ``param_`` and the name of each
    parameter, ``split0_test_score`` and so on, ``mean_test_score``,
    ``std_test_score``, ``rank_test_score``; also ``mean_n_active``, the mean number
    of kernels in use, and ``mean_test_loss``: the mean log loss of validation samples
    where the loss is a log loss, otherwise the model's own loss.
predicted_alike_ : str
    What the models that were chosen predict for all validation samples, such as one
    class; empty where predictions differ, and for regressions.
cv_tol_ : float
    Relative duality gap that folds and the path before the choice are solved to, ten
    times ``tol`` up to a hundredth: a score needs less than the model that is
    published.
n_splits_ : int
    Number of folds.
p : float, default=2.0
    Norm in the constraint on the kernel weights, from 1 to infinity, finite for
    "dc". At p = 1 most weights are zero.
solver : str, default="auto"
    "newton", "cutting_plane" or "alternating"; for p = 1 also "silp", "simple"
    and "hessian", for comparison. All reach the same optimum. "auto" is the first
    unless kernels are very many, see `multikernel.solvers.choose_lp_solver`.
C_ : float or ndarray of shape (n_outputs,)
    The C in the units of the targets; with separate selections one for each target. Of
    a search that of the candidate that was chosen.
epsilon_ : float or ndarray of shape (n_outputs,)
    For "epsilon_insensitive" and "huber" only: the epsilon in the units of y.
l1_ratio_ : float or ndarray of shape (n_outputs,)
    For an l1_ratio below 1 only: the share that belongs to ``alpha_``, in the units of
    the targets.
l1_ratio : float, default=1.0
    Share of the block l1 norm in [0, 1]; below 1 kernels that carry the same
    information are kept together. Of a regressor it is for targets with a deviation of
    one.
"""

OF_CLASSIFIERS = """
C : float or None, default=1.0
    What the sum of the losses is multiplied by, positive: the C of
    `sklearn.svm.SVC`. The larger it is, the closer the fit. None stands for 2 with one
    kernel of unit variance, less in proportion to the variance of a combination; for 8
    with "log_loss", which curves less.
Cs : sequence of float, default=None
    Values of C to try, positive. None stands for 1/32, 1/8, 1/2, 2, ..., 128 over
    M^(1 - 1/p) times the mean variance of the M kernels (p is infinite for their sum);
    four times as large for "log_loss", which curves less.
loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
    Loss, by name or as an object; targets of the squared error are -1 and 1. Only
    "log_loss" has `predict_proba`.
block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
    Norms of the functions f_m in the spaces of their normalised kernels.
variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
    Shares of the terms in the variance of the decision values on the training
    samples, see `variance_shares`: they sum to one, and one that works against
    the others is negative.
active_kernels_ : ndarray of shape (n_active,)
    Indices of the kernels with a non-zero weight (for any class), ascending.
dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
    The feasible dual point that proves ``duality_gap_``, from -C to C for the
    hinge and the logistic loss, zero at samples of weight zero. At the optimum f_m
    is ``kernel_weights_[m]`` times K_m times it.
intercept_ : ndarray of shape (1,) or (n_classes,)
    The intercept.
objective_ : float or ndarray of shape (n_classes,)
    The objective above: penalty plus C times the sum of the losses.
duality_gap_ : float or ndarray of shape (n_classes,)
    Relative duality gap.
n_iter_ : int or ndarray of shape (n_classes,)
    Outer iterations made, at least one: the look that proves a start optimal counts.
history_ : structured ndarray of shape (n_lines,)
    One line per outer iteration: output (index of the class, 0 for two classes),
    iteration, seconds, objective, duality_gap, n_active, passes, inner_steps.
status_ : str
    Why the solver stopped, the worst of all classes: the name of a `Status` in small
    letters, "converged" where the tolerance was reached.
status_message_ : str
    The same as a sentence.
scoring : str, callable or None, default=None
    What is maximised; None stands for accuracy. A function gets the fitted model
    and the validation samples; scorers that take sample weights get these too.
selection : {"shared", "separate"}, default="separate"
    What more than two classes have in common. "separate" is a problem of each
    class against the rest, with kernels and weights of its own. "shared" is one
    choice of kernels for all, by a loss of all classes at once: that of the
    softmax for "log_loss", that of Crammer and Singer for "hinge", and the sum
    over all classes for others. Share to read one selection, or for probabilities
    that are fitted together; separate where classes need different kernels. Of
    several columns of labels each counts as a class. To share changes the loss of
    classes, which the loss of targets is not changed by: so classifiers separate and
    regressors share where nothing is said.
"""

OF_REGRESSORS = """
C : float or None, default=None
    What the sum of the losses is multiplied by, positive: the C of `sklearn.svm.SVR`
    on targets with a deviation of one. For "epsilon_insensitive" and "quantile" it is
    multiplied by that of the targets. The larger it is, the closer the fit. None stands
    for 2 with one kernel of unit variance, less in proportion to the variance of a
    combination.
Cs : sequence of float, default=None
    Values of C to try, positive. None stands for 1/32, 1/8, 1/2, 2, ..., 128 over
    M^(1 - 1/p) times the mean variance of the M kernels (p is infinite for their sum).
epsilon : float or None, default=None
    For "epsilon_insensitive" the error that costs nothing, for "huber" the error from
    which on the loss is linear, as shares of the deviation of the targets. None stands
    for 0.1 and 0.7.
quantile : float, default=0.5
    For "quantile" only: the level of the quantile, between 0 and 1.
loss : str or Loss, default="epsilon_insensitive"
    "squared_error" for half the squared error, "epsilon_insensitive" for the
    absolute error beyond ``epsilon``, "quantile" for the error whose best constant is a
    quantile, "huber" for squares that go on as lines, "poisson" and "gamma" for half
    the deviance of counts and of positive amounts, whose mean is the exponential of the
    decision values; or a loss object.
block_norms_ : ndarray of shape (n_kernels,)
    Norms of the functions f_m in the spaces of their normalised kernels.
variance_shares_ : ndarray of shape (n_kernels,)
    Shares of the terms in the variance of the decision values on the training
    samples, see `variance_shares`: they sum to one, and one that works against
    the others is negative.
active_kernels_ : ndarray of shape (n_active,)
    Indices of the kernels with a non-zero weight, ascending.
dual_coef_ : ndarray of shape (n_samples,)
    The feasible dual point that proves ``duality_gap_``, from -C to C for the
    epsilon-insensitive loss, zero at samples of weight zero. At the optimum f_m is
    ``kernel_weights_[m]`` times K_m times it.
intercept_ : ndarray of shape (1,)
    The intercept.
objective_ : float
    The objective above: penalty plus C times the sum of the losses.
duality_gap_ : float
    Relative duality gap.
n_iter_ : int
    Outer iterations made, at least one: the look that proves a start optimal counts.
history_ : structured ndarray of shape (n_lines,)
    One line per outer iteration: output (always 0), iteration, seconds, objective,
    duality_gap, n_active, passes, inner_steps.
status_ : str
    Why the solver stopped: the name of a `Status` in small letters, "converged" where
    the tolerance was reached.
status_message_ : str
    The same as a sentence.
scoring : str, callable or None, default=None
    What is maximised; None stands for R^2. A function gets the fitted model and the
    validation samples; scorers that take sample weights get these too.
selection : {"shared", "separate"}, default="shared"
    What several targets have in common: "shared" is one choice of kernels, by the
    norm of all blocks of a kernel together, solved at once; "separate" a problem
    for each target, with kernels and weights of its own. Share where targets
    depend on the same kernels, which then need fewer samples to be found; with one
    target both are the same. Classifiers separate by default, as to share changes
    their loss.
"""

MEAN_LOSS_CLASSIFIER_TEXTS = """
loss : str or Loss, default="log_loss"
    "log_loss", "hinge", "squared_hinge" or "squared_error", whose targets are -1 and 1,
    or a loss object. Only
    "log_loss" has `predict_proba`.
dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
    The feasible dual point that proves ``duality_gap_``, zero at samples of weight
    zero. At the optimum f_m is a multiple of K_m times it.
"""

MEAN_LOSS_REGRESSOR_TEXTS = """
loss : str or Loss, default="squared_error"
    By name half the squared error, or the absolute error beyond ``epsilon``;
    "quantile" for the error whose best constant is a quantile, "huber" for squares that
    go on as lines, "poisson" and "gamma" for half the deviance of counts and of
    positive amounts, whose mean is the exponential of the decision values; or a loss
    object.
"""

SEVERAL_TARGETS_TEXTS = """
intercept_ : ndarray of shape (n_targets,)
    The intercepts.
duality_gap_ : float or ndarray of shape (n_targets,)
    Relative duality gap.
history_ : structured ndarray of shape (n_lines,)
    One line per outer iteration: output (index of the problem), iteration, seconds,
    objective, duality_gap, n_active, passes, inner_steps.
"""

OF_EVERY_SEARCH = (
    "best_params_",
    "best_index_",
    "best_score_",
    "cv_results_",
    "predicted_alike_",
    "cv_tol_",
    "n_splits_",
)

OF_EVERY_FIT = (
    "kernel_weights_",
    "block_norms_",
    "variance_shares_",
    "view_weights_, view_shares_",
    "category_features_, categories_",
    "active_kernels_",
    "kernel_names_",
    "dual_coef_",
    "intercept_",
    "support_",
    "objective_",
    "duality_gap_",
    "n_iter_",
    "history_",
    "status_",
    "status_message_",
    "solver_",
    "storage_, storage_reason_",
    "psd_checked_",
    "classes_",
    "n_features_in_",
    "feature_names_in_",
)


def documented(
    *texts: str, lacks: Sequence[str] = ()
) -> Callable[[Estimator], Estimator]:
    """Return what writes out the descriptions that an estimator shares with others.

    Parameters
    ----------
    *texts : str
        Descriptions beside the common ones: for a family of estimators, or for what
        means something else there.
    lacks : sequence of str, default=()
        Attributes of every search or fit that this one does not have.

    Returns
    -------
    decorate : callable
        From a class whose docstring says what is its own to the same class, with a
        docstring that has every parameter, and every attribute of a fit. What is
        described nowhere raises a KeyError.
    """

    def decorate(estimator: Estimator) -> Estimator:
        if estimator.__doc__ is None:  # Docstrings are left out by ``python -OO``.
            return estimator
        classifies = issubclass(estimator, ClassifierMixin)
        every = OF_ALL, OF_CLASSIFIERS if classifies else OF_REGRESSORS, *texts
        described = {k: entry for text in every for k, entry in _entries(text).items()}
        parameters = list(signature(estimator).parameters)
        searched = OF_EVERY_SEARCH if "cv" in parameters else ()
        missing = lacks if classifies else (*lacks, "classes_")
        attributes = [a for a in (*searched, *OF_EVERY_FIT) if a not in missing]
        heading = r"^(\w[\w ]+)\n-+\n"
        about, *rest = re.split(
            heading, cleandoc(estimator.__doc__), flags=re.MULTILINE
        )
        texts_here = dict(zip(rest[::2], rest[1::2], strict=True))
        sections = {
            "Parameters": _completed(
                texts_here.pop("Parameters", ""), parameters, described
            ),
            "Attributes": _completed(
                texts_here.pop("Attributes", ""), attributes, described
            ),
            **texts_here,
        }
        written = [f"{k}\n{'-' * len(k)}\n{text}" for k, text in sections.items()]
        estimator.__doc__ = about + "".join(written) + "\n"
        return estimator

    return decorate


@cache
def _entries(text: str) -> dict[str, str]:
    """Return the entries of a section by name."""
    parts = re.split(r"\n(?=\S)", text.strip()) if text else []
    return {entry.partition(" :")[0]: entry for entry in parts}


def _completed(text: str, names: Sequence[str], described: Mapping[str, str]) -> str:
    """Return a section with all of some entries, in their order.

    What it has besides stays behind the entry that it follows, or begins the section.
    """
    listed, order, position = _entries(text), list(names), 0
    for name in listed:
        if name not in order:
            order.insert(position, name)
        position = order.index(name) + 1
    # A name alone stands for what is described elsewhere.
    alone = {name for name, entry in listed.items() if entry == name}
    entries = [
        listed[name] if name in listed.keys() - alone else described[name]
        for name in order
    ]
    return "\n".join([*entries, "", ""])
