"""Scikit-learn's conformance checks, as parameters of a test."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

SLOW = pytest.mark.slow

OF_METHODS = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_estimator_cloneable",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_get_params_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_no_attributes_set_in_init",
    "check_non_transformer_estimators_n_iter",
    "check_parameters_default_constructible",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_set_params",
}
"""Checks whose result depends on the method. The others examine how data are read, and
all estimators share that code."""

OF_MODELS = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_methods_subset_invariance",
    "check_regressors_train",
}
"""Checks of what a model predicts. A search fits its model as the estimator without a
search does, so these are for the searches among `in_full` only."""


def each_check(estimators, in_full):
    """Parametrize a test by ``estimator`` and ``check``.

    Estimators whose class is not among `in_full` have the checks of methods only, and
    searches of these those that do not examine models; the others are slow.

    Names are short: scikit-learn's spell every parameter each time, which took a sixth
    of the time in which all tests are collected.
    """
    pairs = [pair for one in estimators for pair in estimator_checks_generator(one)]
    return pytest.mark.parametrize(
        ("estimator", "check"),
        [
            pytest.param(
                one,
                check,
                marks=[] if type(one) in in_full or _differs(one, check) else SLOW,
            )
            for one, check in pairs
        ],
        ids=lambda one: type(one).__name__ if hasattr(one, "fit") else name_of(one),
    )


def _differs(estimator, check):
    """Return whether the result of a check differs from those of other estimators."""
    name = name_of(check)
    return name in OF_METHODS and not (name in OF_MODELS and hasattr(estimator, "cv"))


def name_of(check):
    """Return a check's name, and its own arguments: some come twice."""
    own = [f"{name}={value}" for name, value in check.keywords.items()]
    return "-".join([check.func.__name__, *own])
