"""Projected matrices: P K P' behind every storage."""

import numpy as np
import pytest
from gram.stacks import STACKS

from multikernel.gram import DenseStack
from multikernel.gram.projected import ProjectedStack, Projection
from multikernel.testing import check_gram_stack


def projection(n, weights):
    """Return what takes a constant and a column out, and its matrix."""
    rng = np.random.default_rng(1)
    B = np.column_stack([np.ones(n), rng.standard_normal(n)])
    Q = np.linalg.qr(np.sqrt(weights)[:, None] * B)[0]
    P = np.eye(n) - B @ np.linalg.solve(B.T @ (weights[:, None] * B), B.T * weights)
    roots = np.sqrt(weights)[:, None]
    return Projection(Q / roots, Q * roots), P


@pytest.mark.parametrize("storage", STACKS, ids=lambda storage: storage.__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_storage(storage, weighted):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((3, 12, 15))
    K = Z @ Z.transpose(0, 2, 1)
    weights = rng.uniform(0.5, 3.0, 12) if weighted else np.ones(12)
    free, P = projection(12, weights)
    single = storage.__name__.endswith("single")
    stack = ProjectedStack(storage(K), free)
    check_gram_stack(stack, P @ K @ P.T, tol=1e-5 if single else 1e-9)


def test_what_columns_explain_whole_is_no_wrong_matrix():
    free, _ = projection(12, np.ones(12))
    x = free.span @ np.array([2.0, 1e3])
    stack = ProjectedStack(DenseStack(np.outer(x, x)[None]), free)
    assert stack.traces()[0] > 0.0
    assert abs(stack.quadratic_forms(np.arange(12.0))[0]) < 1e-6
