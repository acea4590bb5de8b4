"""Algorithms; to add one, write a file and a line here.

Those for lp-norm learning stand in a table by name, `lp_choice`.
"""

from multikernel.solvers.base import PathSolver, Solver, alpha_grid, follow, solve_path
from multikernel.solvers.comparison import (
    UFOMKL,
    HessianMKL,
    IterativeShrinkage,
    SimpleMKL,
    ufo_exponent,
)
from multikernel.solvers.fixed_weights import FixedWeights
from multikernel.solvers.free_columns import FreeColumns
from multikernel.solvers.free_thresholds import FreeThresholds
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
from multikernel.solvers.weight_rules import alignment_weights, easy_weights

__all__ = [
    "LP_SOLVERS",
    "SILP",
    "SPARSE_ONLY",
    "UFOMKL",
    "Alternating",
    "CuttingPlane",
    "DCSolution",
    "FixedWeights",
    "FreeColumns",
    "FreeThresholds",
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
    "alignment_weights",
    "alpha_grid",
    "choose_lp_solver",
    "easy_weights",
    "follow",
    "solve_path",
    "ufo_exponent",
]
