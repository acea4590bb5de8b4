"""Covariates of tests: columns of the model without kernels."""

from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from multikernel._typing import Array
from multikernel.estimators.grams.training import Training
from multikernel.estimators.read.unpenalized import check_independent


def covariates_of(owner: str, training: Training, covariates: Any) -> Array | None:
    """Return the model's unpenalized columns and the covariates; None if neither."""
    design, n_samples = training.design, training.stack.shape[1]
    free = None if design is None else design(training.X)
    if covariates is None:
        return free
    values, names = _coded(owner, covariates, n_samples)
    if design is not None and free is not None:
        values, names = np.column_stack([free, values]), [*design.names, *names]
    check_independent(f"{owner}, covariates", values, names, fit_intercept=True)
    return values


def _coded(owner: str, covariates: Any, n_samples: int) -> tuple[Array, list[str]]:
    """Return covariates as numbers, with one-hot codes of categories, and names."""
    if hasattr(covariates, "iloc") and covariates.ndim == 2:
        number = make_column_selector(dtype_include=["number", "bool"])
        other = make_column_selector(dtype_exclude=["number", "bool"])
        coder = make_column_transformer(
            ("passthrough", number),
            (OneHotEncoder(drop="first", sparse_output=False), other),
            verbose_feature_names_out=False,
        )
        values = np.asarray(coder.fit_transform(covariates), dtype=np.float64)
        names = [str(name) for name in coder.get_feature_names_out()]
    else:
        try:
            values = np.asarray(covariates, np.float64).reshape(len(covariates), -1)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{owner}: covariates are not numbers ({error}): pass their values in "
                "a table of numbers, or in a pandas data frame if some are categories."
            ) from error
        names = [f"x{column}" for column in range(values.shape[1])]
    if len(values) != n_samples or not np.isfinite(values).all():
        raise ValueError(
            f"{owner}: covariates has {len(values)} rows with "
            f"{np.count_nonzero(~np.isfinite(values))} missing or infinite entries: "
            f"pass one complete row for each of the {n_samples} samples."
        )
    return values, names
