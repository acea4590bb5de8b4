"""Conformance suites, for the library's components and for your own."""

from multikernel.testing.loss import check_loss
from multikernel.testing.regularizer import check_regularizer
from multikernel.testing.solver import check_solution, check_solver, small_problems

__all__ = [
    "check_loss",
    "check_regularizer",
    "check_solution",
    "check_solver",
    "small_problems",
]
