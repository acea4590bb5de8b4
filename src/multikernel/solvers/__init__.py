"""Algorithms; to add one, write a file and a line here."""

from multikernel.solvers.base import PathSolver, Solver
from multikernel.solvers.greedy_path import GreedyPath
from multikernel.solvers.group_omp import GroupOMP
from multikernel.solvers.interleaved import InterleavedNewton
from multikernel.solvers.path import alpha_grid, solve_path
from multikernel.solvers.recovery import (
    RecoveryCoefficient,
    rademacher_bound,
    recovery_coefficient,
)
from multikernel.solvers.spicy import SpicyMKL

SOLVERS: tuple[type[Solver], ...] = (SpicyMKL, InterleavedNewton)
"""Every solver of a `Problem`, read by the conformance tests.

They end with a duality gap; `GroupOMP`, which is greedy, does not.
"""

__all__ = [
    "SOLVERS",
    "GreedyPath",
    "GroupOMP",
    "InterleavedNewton",
    "PathSolver",
    "RecoveryCoefficient",
    "Solver",
    "SpicyMKL",
    "alpha_grid",
    "rademacher_bound",
    "recovery_coefficient",
    "solve_path",
]
