"""Algorithms; to add one, write a file and a line here."""

from multikernel.solvers.alternating import Alternating
from multikernel.solvers.base import PathSolver, Solver
from multikernel.solvers.cutting_plane import SILP, CuttingPlane
from multikernel.solvers.greedy_path import GreedyPath
from multikernel.solvers.group_omp import GroupOMP
from multikernel.solvers.interleaved import InterleavedNewton
from multikernel.solvers.lp_choice import LP_SOLVERS, choose_lp_solver
from multikernel.solvers.newton_weights import HessianMKL
from multikernel.solvers.path import alpha_grid, solve_path
from multikernel.solvers.recovery import (
    RecoveryCoefficient,
    rademacher_bound,
    recovery_coefficient,
)
from multikernel.solvers.reduced_gradient import SimpleMKL
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
    "RecoveryCoefficient",
    "SimpleMKL",
    "Solver",
    "SpicyMKL",
    "alpha_grid",
    "choose_lp_solver",
    "rademacher_bound",
    "recovery_coefficient",
    "solve_path",
]
