"""What a fitted estimator answers from, whatever becomes of its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from multikernel._typing import Array
from multikernel.estimators.data.dictionary import KernelNames
from multikernel.estimators.fit.predict import AdditiveModel
from multikernel.estimators.fit.stages import Stages


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, and what a fit settles beside it.

    Parameters
    ----------
    model : AdditiveModel or None
        Predicts; None for a search that fits no model on all samples.
    stages : Stages or None
        The models of all prefixes, where kernels are selected one by one.
    names : KernelNames
        The names of all kernels.
    precomputed : bool
        Whether new samples come as Gram matrices.
    loss : str
        The ``loss`` of the fit, as messages write it.
    has_probabilities : bool
        Whether that loss is a likelihood.
    link : {"one_vs_rest", "joint", "labels"}, default="one_vs_rest"
        What decision values of a classifier stand for, see `find_link`.
    outputs : tuple of str, default=()
        What the outputs are called.
    known : (array-like, ndarray of shape (n_samples, n_outputs)) or None, default=None
        An X and its decision values, which need not be computed again.
    """

    model: AdditiveModel | None
    stages: Stages | None
    names: KernelNames
    precomputed: bool
    loss: str
    has_probabilities: bool
    link: str = "one_vs_rest"
    outputs: tuple[str, ...] = ()
    known: tuple[Any, Array] | None = None


def publish(estimator: BaseEstimator, attributes: Mapping[str, Any]) -> None:
    """Replace what an earlier fit left by the attributes of this one.

    Parameters
    ----------
    estimator : estimator
        Changed in place; its parameters are not.
    attributes : mapping
        All fitted attributes by name.
    """
    parameters = estimator.get_params(deep=False)
    for name in set(vars(estimator)) - set(parameters) - set(attributes):
        if name.endswith("_") and not name.startswith("_"):
            delattr(estimator, name)
    for name, value in attributes.items():
        setattr(estimator, name, value)
