"""Exact Shapley values of fitted models, relative to background samples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from multikernel._install import how_to_install
from multikernel._typing import Array, Indices
from multikernel._validation import printable
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.columns import (
    column_names,
    kernels_in_use,
    table_column_order,
)
from multikernel.inspection.games import Games
from multikernel.inspection.pipelines import data_at_model, model_of
from multikernel.inspection.units import samples_in_original_units
from multikernel.linalg.tables import row_chunks

if TYPE_CHECKING:
    from shap import Explanation


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues:
    """Shapley values, with the fields of a ``shap.Explanation``.

    `values` have shape (n_samples, n_columns), or (n_samples, n_columns, n_outputs) for
    several outputs. `base_values` are the mean decision values over the background; a
    sample's base value and the values of its columns sum to its decision value. `data`
    are the samples, in the units before the scalers of a pipeline.
    """

    values: Array
    base_values: Array
    data: NDArray[np.generic]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] = ()

    def explanation(self, output: str | None = None) -> "Explanation":
        """Return the values as a ``shap.Explanation`` (requires shap) for its plots.

        `output` is one of `output_names`, if there are several. None returns all
        outputs, which few plots support.
        """
        try:
            from shap import Explanation
        except ImportError as error:
            raise ImportError(
                f"explanation() requires shap: {how_to_install('shap')}."
            ) from error
        values, base, names = self.values, self.base_values, list(self.output_names)
        if output is not None:
            if output not in names:
                raise ValueError(
                    f"output={output!r} is not an output of these Shapley values: "
                    f"choose one of {names}."
                )
            values, base = (array[..., names.index(output)] for array in (values, base))
        return Explanation(
            values,
            base,
            self.data,
            feature_names=list(self.feature_names),
            output_names=names if values.ndim > 2 else None,
        )

    def __repr__(self) -> str:
        by_output = self.values.reshape(*self.values.shape[:2], -1)
        sizes = np.abs(by_output).mean(axis=(0, 2))
        lines = [
            f"{sizes[k]:10.3g}  {self.feature_names[k]}"
            for k in np.argsort(-sizes, kind="stable")[:10]
        ]
        return printable("\n".join([" mean size  column", *lines]))


def shapley_values(
    estimator: BaseEstimator, X: object, background: object
) -> ShapleyValues:
    r"""Return the exact Shapley values of a fitted model.

    With decision values f, the value of a coalition S of columns is the mean of
    :math:`f(x_S, z_{\bar S})` over the background samples z, from which the columns
    outside S come (eq. 1 of [1]_). A column receives its mean marginal value over all
    orders of the columns. The values are computed term by term, without sampling.

    Parameters
    ----------
    estimator : estimator
        A fitted multiple kernel model, or a pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Samples to explain.
    background : array-like or data frame of shape (n_background, n_features)
        Samples for the columns outside a coalition, such as 100 to 1000 training
        samples. For kernels on d > 2 columns, time is proportional to ``n_samples *
        n_background * n_training * d**2``.

    Returns
    -------
    values : ShapleyValues
        Values of all columns that reach the model; zero for unused columns. With the
        base values they sum to ``decision_function``, or to ``predict`` of a regressor
        (to its logarithm for a log link), without offsets.

    Raises
    ------
    ValueError
        If kernels are precomputed matrices or nodes of a graph, or a kernel on more
        than 10 columns has no exact form.

    References
    ----------
    .. [1] Lundberg, S. M. and Lee, S.-I. (2017). A unified approach to interpreting
       model predictions. Advances in Neural Information Processing Systems 30.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.inspection import shapley_values
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = SpicyMKLRegressor(alpha=0.01).fit(X, np.sin(X[:, 0]) + X[:, 1])
    >>> shapley = shapley_values(model, X[:5], X)
    >>> shapley.values.shape, shapley.feature_names
    ((5, 3), ('x0', 'x1', 'x2'))
    >>> total = shapley.base_values + shapley.values.sum(axis=1)
    >>> bool(np.allclose(total, model.predict(X[:5])))
    True
    """
    before, model = model_of("shapley_values", estimator)
    kernels_in_use(model, "Shapley values")
    rows = data_at_model(before, X)
    additive, table = model._model_and_data(rows)
    _, reference = model._model_and_data(data_at_model(before, background))
    players = _players(model, table.shape[1])
    values = np.zeros((len(table), model.n_features_in_, additive.n_outputs))
    for chunk in row_chunks(len(table), 4 * additive.coefs.shape[1]):
        Games(additive, table[chunk], reference, players).add_to(values[chunk])
    mean = additive.decision_values(reference).mean(axis=0)
    base = np.repeat(mean[None], len(table), 0)
    is_single = base.shape[1] == 1
    return ShapleyValues(
        values[..., 0] if is_single else values,
        base[:, 0] if is_single else base,
        samples_in_original_units(model, before, rows, table),
        tuple(column_names(model)),
        () if is_single else tuple(model.output_names_),
    )


def _players(model: BaseMKL, width: int) -> Indices:
    """Return, for each column of the model's table, the column of X it comes from."""
    # The numeric columns come first. Each sequence column is encoded in several columns
    # of the table, which alternate between the sequence columns.
    columns = table_column_order(model)
    n_sequences = len(getattr(model, "sequence_features_", ()))
    n_numbers = len(columns) - n_sequences
    positions = np.arange(width)
    sequences = n_numbers + (positions - n_numbers) % max(1, n_sequences)
    return columns[np.where(positions < n_numbers, positions, sequences)]
