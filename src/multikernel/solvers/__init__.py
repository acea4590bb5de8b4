"""Algorithms; to add one, write a file and a line here."""

from multikernel.solvers.base import PathSolver, Solver, alpha_grid, follow, solve_path
from multikernel.solvers.comparison import (
    UFOMKL,
    HessianMKL,
    IterativeShrinkage,
    SimpleMKL,
    ufo_exponent,
)
from multikernel.solvers.group_omp import GreedyPath, GroupOMP
from multikernel.solvers.local_rademacher import DCSolution, TailConv, TailDC
from multikernel.solvers.lp import (
    SILP,
    Alternating,
    CuttingPlane,
    InterleavedNewton,
    SquaredForm,
)
from multikernel.solvers.lp_choice import LP_SOLVERS, SPARSE_ONLY, choose_lp_solver
from multikernel.solvers.spicy import SpicyMKL

__all__ = [
    "LP_SOLVERS",
    "SILP",
    "SPARSE_ONLY",
    "UFOMKL",
    "Alternating",
    "CuttingPlane",
    "DCSolution",
    "GreedyPath",
    "GroupOMP",
    "HessianMKL",
    "InterleavedNewton",
    "IterativeShrinkage",
    "PathSolver",
    "SimpleMKL",
    "Solver",
    "SpicyMKL",
    "SquaredForm",
    "TailConv",
    "TailDC",
    "alpha_grid",
    "choose_lp_solver",
    "follow",
    "solve_path",
    "ufo_exponent",
]
