"""The conformance suites run for every kernel and solver that the library registers."""

import inspect
import pickle

import numpy as np
import pytest
from reference.lp_problems import lp_problem
from reference.toys import LOSSES
from sklearn.base import clone

from multikernel import SpicyMKLRegressor, kernels, load, save, solvers
from multikernel.kernels.built_in import is_built_in
from multikernel.testing import check_kernel, check_solver, small_problems

GIVEN = (kernels.FunctionKernel,)
"""Kernels whose values a user supplies."""

OTHER_PROBLEMS = (solvers.GroupOMP,)
"""Solvers without a certificate: a greedy selection is no convex problem."""

PROBLEMS = [
    *small_problems(),
    *(
        lp_problem(loss, p, 2.0, fit_intercept)
        for loss, fit_intercept in zip(LOSSES, (True, False, True, False), strict=True)
        for p in (1.0, 4 / 3, np.inf)
    ),
]

TOLERANCES = {solvers.IterativeShrinkage: 1e-2, solvers.UFOMKL: 1e-2}
"""Rivals of the papers need many steps to a smaller gap."""


def required(kind):
    """Return the parameters of a class that have no default."""
    every = inspect.signature(kind).parameters.values()
    return [p for p in every if p.default is p.empty and p.kind != p.VAR_POSITIONAL]


def kernels_on_numbers():
    """Return every kernel that is no wrapper, parameters without a default being 2."""
    return [
        kind(*(2 for _ in required(kind)))
        for kind in vars_of(kernels, "diag")
        if kind not in GIVEN
        and "ernel" not in " ".join(str(p.annotation) for p in required(kind))
    ]


def vars_of(module, method):
    """Return the public classes of a module that have a method, without protocols."""
    items = [getattr(module, name) for name in module.__all__]
    return [
        item
        for item in items
        if inspect.isclass(item)
        and hasattr(item, method)
        and not getattr(item, "_is_protocol", False)
    ]


@pytest.mark.parametrize("kernel", kernels_on_numbers(), ids=lambda k: k.name)
def test_a_registered_kernel_conforms(kernel, tmp_path):
    X = np.random.default_rng(0).integers(0, 3, (20, 3)).astype(float)
    for table in (X, 1e-3 * X, 1e3 * X + 7.0):
        check_kernel(kernel, table)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert is_built_in(kernel), "kernels/built_in.py lacks it"
    y = X[:, 0] + 0.1 * np.arange(20)
    model = SpicyMKLRegressor([kernel], alpha=0.01, storage="dense").fit(X, y)
    others = clone(model).set_params(storage="low_rank").fit(X, y)
    np.testing.assert_allclose(others.objective_, model.objective_, rtol=1e-2)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "solver",
    [
        kind
        for kind in vars_of(solvers, "solve")
        if kind not in OTHER_PROBLEMS and not required(kind)
    ],
)
def test_a_registered_solver_conforms(solver):
    check_solver(solver(tol=TOLERANCES.get(solver, 1e-3)), PROBLEMS)
