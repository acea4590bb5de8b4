"""Conformance suites, for the library's components and for your own."""

from multikernel.testing.gram_stack import check_gram_stack
from multikernel.testing.kernel import check_kernel, check_kernel_graph
from multikernel.testing.loss import check_loss
from multikernel.testing.regularizer import check_regularizer
from multikernel.testing.solver import check_solution, check_solver, small_problems

__all__ = [
    "check_gram_stack",
    "check_kernel",
    "check_kernel_graph",
    "check_loss",
    "check_regularizer",
    "check_solution",
    "check_solver",
    "small_problems",
]
