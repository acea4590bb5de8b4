"""Algorithms; to add one, write a file and a line here."""

from multikernel.solvers.base import (
    FollowingSolver,
    PathSolver,
    Solver,
    SteppingSolver,
)
from multikernel.solvers.greedy import GreedyPath, GroupOMP
from multikernel.solvers.lp import (
    SILP,
    Alternating,
    CuttingPlane,
    HessianMKL,
    InterleavedNewton,
    SimpleMKL,
    SquaredForm,
)
from multikernel.solvers.lp_choice import LP_SOLVERS, SPARSE_ONLY, choose_lp_solver
from multikernel.solvers.path import alpha_grid, solve_path
from multikernel.solvers.spicy import SpicyMKL

SOLVERS: tuple[type[Solver], ...] = (
    SpicyMKL,
    InterleavedNewton,
    SquaredForm,
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
    "SPARSE_ONLY",
    "Alternating",
    "CuttingPlane",
    "FollowingSolver",
    "GreedyPath",
    "GroupOMP",
    "HessianMKL",
    "InterleavedNewton",
    "PathSolver",
    "SimpleMKL",
    "Solver",
    "SpicyMKL",
    "SquaredForm",
    "SteppingSolver",
    "alpha_grid",
    "choose_lp_solver",
    "solve_path",
]
