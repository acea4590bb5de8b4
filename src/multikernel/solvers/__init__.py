"""Algorithms; to add one, write a file and a line here."""

from multikernel.solvers.base import PathSolver, Solver
from multikernel.solvers.greedy import GreedyPath, GroupOMP
from multikernel.solvers.lp import (
    LP_SOLVERS,
    SILP,
    Alternating,
    CuttingPlane,
    HessianMKL,
    InterleavedNewton,
    SimpleMKL,
    choose_lp_solver,
)
from multikernel.solvers.path import alpha_grid, solve_path
from multikernel.solvers.spicy import SpicyMKL

SOLVERS: tuple[type[Solver], ...] = (
    SpicyMKL,
    InterleavedNewton,
    CuttingPlane,
    Alternating,
    SILP,
    SimpleMKL,
    HessianMKL,
)
"""Every solver of a `Problem`, read by the conformance tests.

They end with a duality gap; `GroupOMP`, which is greedy, does not.
"""

__all__ = [
    "LP_SOLVERS",
    "SILP",
    "SOLVERS",
    "Alternating",
    "CuttingPlane",
    "GreedyPath",
    "GroupOMP",
    "HessianMKL",
    "InterleavedNewton",
    "PathSolver",
    "SimpleMKL",
    "Solver",
    "SpicyMKL",
    "alpha_grid",
    "choose_lp_solver",
    "solve_path",
]
