"""Weights of the penalties of kernels: by name, by view, or one for each."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed, shown
from multikernel.estimators.read.dictionary import KernelNames


def penalty_factors(owner: str, given: Any, names: KernelNames) -> Array:
    r"""Return w_m^-2 for every kernel, whose multiple has the weighted penalty.

    The penalty :math:`w_m \|f_m\|` is the norm of f_m in the space of the kernel
    :math:`K_m / w_m^2`.

    Parameters
    ----------
    owner : str
        What messages call the estimator.
    given : mapping, sequence or None
        The ``penalty_weights`` of an estimator, as estimators take them.
    names : KernelNames
        The names of the kernels, and their views.

    Returns
    -------
    factors : ndarray of shape (n_kernels,)

    Raises
    ------
    ValueError
        If a name belongs to no kernel and no view, or there are not as many weights as
        kernels.
    """
    weights = np.ones(names.n_kernels)
    if given is None:
        return weights
    if not isinstance(given, Mapping):
        if len(given) != names.n_kernels:
            raise ValueError(
                f"{owner}: penalty_weights has {len(given)} numbers for "
                f"{names.n_kernels} kernels."
            )
        return np.asarray(given, dtype=np.float64) ** -2.0
    views, kernels = np.array(names.views or ()), np.array(names.everything)
    # A kernel's own name says more than the name of its view.
    for groups in (views, kernels):
        for name, weight in given.items():
            if name in groups:
                weights[groups == name] = float(weight)
    unknown = [name for name in given if name not in views and name not in kernels]
    if unknown:
        every = dict.fromkeys([*views.tolist(), *kernels.tolist()])
        raise ValueError(
            f"{owner}: penalty_weights names {shown(unknown[0])}, which is neither a "
            f"kernel nor a view; there are {listed(list(every)[:8], len(every))}."
        )
    return weights**-2.0
