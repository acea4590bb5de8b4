"""Algorithms; to add one, write a file and a line here."""

from multikernel.solvers.base import Solver
from multikernel.solvers.path import alpha_grid, solve_path
from multikernel.solvers.spicy import SpicyMKL

SOLVERS: tuple[type[Solver], ...] = (SpicyMKL,)
"""Every solver of a `Problem`, read by the conformance tests."""

__all__ = ["SOLVERS", "Solver", "SpicyMKL", "alpha_grid", "solve_path"]
